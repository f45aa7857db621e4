// The same workload under several policies, as a call.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "vgpufacade/core_names.hpp"
#include "vgpufacade/simulate.hpp"
#include "vgpusim/study/compare.hpp"

namespace vgpufacade {

/// Finished runs of one input, by policy.
struct comparison {
    vgpusim::loaded_input loaded;
    std::vector<vgpusim::run_record> records;

    /// What `vgpusim compare --out` writes, byte for byte.
    [[nodiscard]] vgpusim::named_texts files() const { return vgpusim::comparison_files(records, loaded); }
    /// The same for a caller that may want an end: error stopped.
    [[nodiscard]] expected<vgpusim::named_texts> files(const progress& follow) const;
};

/// A comparison whose inputs are read and checked.
class prepared_comparison {
public:
    /// Errors: those of vgpusim::check_policies() and check_policy_names(), and of the inputs; stopped.
    [[nodiscard]] static expected<prepared_comparison> prepare(const vgpuformats::input_source& source,
                                                               vgpusim::run_config config,
                                                               std::vector<std::string> policies,
                                                               const progress& follow = {});

    [[nodiscard]] const vgpusim::loaded_input& input() const noexcept { return loaded_; }
    /// The names of the comparison's files.
    [[nodiscard]] std::vector<std::string> file_names() const {
        return vgpusim::comparison_file_names(config_, policies_);
    }
    /// Errors: those of the replays; stopped.
    [[nodiscard]] expected<comparison> run(const progress& follow = {}) &&;

private:
    prepared_comparison(vgpusim::run_config config, std::vector<std::string> policies, vgpusim::loaded_input loaded)
        : config_{std::move(config)}, policies_{std::move(policies)}, loaded_{std::move(loaded)} {}

    vgpusim::run_config config_;
    std::vector<std::string> policies_;
    vgpusim::loaded_input loaded_;
};

} // namespace vgpufacade
