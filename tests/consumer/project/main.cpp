// What a stranger's first program looks like: the umbrella header, the installed target, nothing else.
#include <iostream>

#include <vgpualloc/vgpualloc.hpp>

namespace {

vgpualloc::expected<vgpualloc::mib> parse_memory(std::int64_t value) {
    if (value < 0) {
        return vgpualloc::unexpected(vgpualloc::error{.code = vgpualloc::error_code::out_of_range,
                                                      .field = "memory",
                                                      .value = std::to_string(value),
                                                      .expected = "an amount of at least 0"});
    }
    return vgpualloc::mib{value};
}

/// A pod as YAML, which the installed library reads without anything else on the consumer's side.
bool reads_manifests() {
    const auto objects =
        vgpualloc::kube::read_manifests("kind: Pod\nmetadata: {name: train}\nspec: {containers: []}\n", "pod.yaml");
    const auto refused = vgpualloc::kube::read_manifests("kind: [\n", "bad.yaml");
    return objects && objects->size() == 1 && objects->front().name == "train" && !refused;
}

} // namespace

int main() {
    const auto memory = parse_memory(4096);
    const auto refused = parse_memory(-1);
    if (!memory || refused) return 1;
    const auto share = vgpualloc::share_of(*memory, vgpualloc::mib{16384});
    std::cout << "4096 of 16384 MiB is " << share.count() << " milli-GPU; " << refused.error().message() << '\n';
    return share == vgpualloc::milli_gpu{250} && reads_manifests() ? 0 : 1;
}
