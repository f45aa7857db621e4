// The core alone decides: a node of two GPUs, a pod of half a GPU, and another one that does not fit any more.
#include <vgpualloc/alloc/allocator.hpp>
#include <vgpualloc/catalog/catalog.hpp>
#include <vgpualloc/mode/factory.hpp>
#include <vgpualloc/policy/all.hpp>
#include <vgpualloc/policy/parse.hpp>

int main() {
    const auto catalog = vgpualloc::built_in_catalog();
    const auto policies = vgpualloc::parse_policies("best_fit", "", vgpualloc::native_policies, {});
    return policies && !catalog.mig.models.empty() && !catalog.ascend.chips.empty() ? 0 : 1;
}
