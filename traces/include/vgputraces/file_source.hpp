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
    file_source() = default;
    /// Values made of files are kept there, which outlives the source.
    explicit file_source(vgpuformats::kept_values& kept) : kept_{&kept} {}

    [[nodiscard]] expected<vgpuformats::input_text> read(const std::string& name,
                                                         const vgpuformats::input_options& options) const override {
        return vgpuformats::read_input(name, options);
    }
    [[nodiscard]] bool has(const std::string& name) const override;
    [[nodiscard]] std::string resolve(const std::string& name) const override;
    [[nodiscard]] std::string resolve_from(const std::string& from, const std::string& name) const override;
    [[nodiscard]] vgpuformats::kept_values* kept() const override { return kept_; }
    /// By the size of a file and the time of its last change; empty for what is no regular file.
    [[nodiscard]] std::string version_of(const std::string& name) const override;

private:
    vgpuformats::kept_values* kept_ = nullptr;
};

} // namespace vgputraces
