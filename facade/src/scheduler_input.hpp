// Volcano's scheduler configuration as an input.
#pragma once

#include <string>

#include "vgpualloc/compat/all.hpp"
#include "vgpualloc/live/live_options.hpp"
#include "vgpufacade/core_names.hpp"
#include "vgpusim/workload/input_reader.hpp"

namespace vgpufacade {

/// Errors: those of reading it, and of read_scheduler_config().
[[nodiscard]] inline expected<vgpualloc::kube::scheduler_config> load_scheduler_config(const std::string& name,
                                                                                       vgpusim::input_reader& from) {
    const auto input = from.read(name);
    if (!input) return unexpected(input.error());
    return vgpualloc::read_scheduler_config(input->text, name, vgpualloc::all_policies());
}

} // namespace vgpufacade
