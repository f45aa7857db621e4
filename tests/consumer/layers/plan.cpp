// Plans without Kubernetes: what there is to plan on an empty cluster.
#include <vgpualloc/plan/defragment.hpp>
#include <vgpualloc/plan/mig_transition.hpp>

int main() { return vgpualloc::plan::move_plan{}.moves.empty() ? 0 : 1; }
