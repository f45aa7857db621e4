// What rests of devices are worth to the policies of one run: from a file, solved before it, or learned while it goes.
#pragma once

#include <memory>
#include <optional>

#include "vgpualloc/plan/lp.hpp"
#include "vgpualloc/plan/price_program.hpp"
#include "vgpualloc/policy/learned_prices.hpp"
#include "vgpualloc/policy/policy.hpp"
#include "vgpualloc/policy/price_table.hpp"
#include "vgpusim/engine/record.hpp"
#include "vgpusim/engine/simulation.hpp"
#include "vgpusim/workload/settings.hpp"

namespace vgpusim {

class run_prices final : public arrival_listener {
public:
    run_prices() : book_{std::make_shared<vgpualloc::price_book>()} {}

    /// For policies to be made with.
    [[nodiscard]] std::shared_ptr<const vgpualloc::price_book> book() const { return book_; }

    /// Puts prices into the book, if a policy goes by them. Errors: a solver that is needed and not there; those of
    /// solve_prices().
    [[nodiscard]] expected<void> begin(const run_config& config, const loaded_input& loaded,
                                       const vgpualloc::cluster& nodes, const stop_signal& stop = {});
    void note_arrival(const pod_request& request) override;

    /// Null unless prices are learned.
    [[nodiscard]] arrival_listener* listener() noexcept { return learner_ ? this : nullptr; }
    /// What the policies went by at the end, of which `scorer` is one; none if no policy uses any. Error: what ended
    /// the learning.
    [[nodiscard]] expected<std::optional<vgpualloc::learned_prices>> at_end(const vgpualloc::policy& scorer);

private:
    std::shared_ptr<vgpualloc::price_book> book_;
    vgpualloc::cluster devices_; ///< all of them, those too that are away at first or for a while
    std::unique_ptr<vgpualloc::plan::lp_solver> solver_;
    std::optional<vgpualloc::plan::price_learner> learner_;
    std::optional<error> failure_;
    bool used_ = false;
};

} // namespace vgpusim
