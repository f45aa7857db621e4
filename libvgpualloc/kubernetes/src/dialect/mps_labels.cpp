// The CUDA version and compute capability that GPU feature discovery labels nodes with.
#include "mps_labels.hpp"

#include <optional>
#include <string>

#include "text.hpp"
#include "vgpualloc/catalog/mps.hpp"

namespace vgpualloc::dialects {

namespace {

std::optional<std::int64_t> number_of(const kubernetes::node& node, const std::string& label) {
    constexpr std::int64_t most = 1000; // no version is as high
    return text::whole_number(kubernetes::value_of(node.labels, label), most);
}

std::optional<cuda_version> cuda_of(const kubernetes::node& node) {
    for (const std::string label : {"nvidia.com/cuda.runtime-version", "nvidia.com/cuda.runtime"}) {
        const auto major_number = number_of(node, label + ".major");
        if (!major_number) continue;
        return cuda_version{.major_number = *major_number,
                            .minor_number = number_of(node, label + ".minor").value_or(0)};
    }
    return std::nullopt;
}

} // namespace

std::int64_t mps_clients_of(const kubernetes::node& node) {
    const auto compute_major = number_of(node, "nvidia.com/gpu.compute.major");
    return mps_clients_max(built_in_mps_limits(), cuda_of(node), compute_major).value_or(0);
}

} // namespace vgpualloc::dialects
