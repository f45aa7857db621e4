// Inputs that are files, as a command line names them.
#pragma once

#include <string>

#include "vgpuformats/input_source.hpp"
#include "vgputraces/core_names.hpp"

namespace vgputraces {

/// Reads files, pipes and standard input. A list with a bare name that is not here is looked for where traces lie
/// (resolve_trace_path()); one that a scenario names, beside the scenario first.
class file_source final : public vgpuformats::input_source {
public:
    [[nodiscard]] expected<vgpuformats::input_text> read(const std::string& name,
                                                         const vgpuformats::input_options& options) const override {
        return vgpuformats::read_input(name, options);
    }
    [[nodiscard]] bool has(const std::string& name) const override;
    [[nodiscard]] std::string resolve(const std::string& name) const override;
    [[nodiscard]] std::string resolve_from(const std::string& from, const std::string& name) const override;
};

} // namespace vgputraces
