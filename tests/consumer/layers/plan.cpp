// Plans without Kubernetes: an A100 whose slices 4 to 7 have two small instances without pods comes to a free 3g.20gb.
#include <vgpualloc/catalog/catalog.hpp>
#include <vgpualloc/plan/transition_request.hpp>

int main() {
    const auto catalog = vgpualloc::built_in_catalog();
    const auto model = vgpualloc::find_model(catalog.mig, "A100-SXM4-40GB");
    if (!model) return 1;
    auto planner = vgpualloc::plan::mig_transitions::make(**model);
    if (!planner) return 2;
    const auto live =
        read_live_state(planner->states(), {.instances = {"4g.20gb@0", "1g.5gb@4", "1g.5gb@5"}, .busy = {"4g.20gb@0"}});
    if (!live) return 3;
    const auto plan = plan_layout(*planner, *live, {.want = "3g.20gb"});
    return plan && *plan && (*plan)->steps.size() == 3 && (*plan)->moves == 0 ? 0 : 4;
}
