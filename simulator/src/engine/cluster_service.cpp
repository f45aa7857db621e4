#include "vgpusim/engine/cluster_service.hpp"

namespace vgpusim {

using vgpualloc::service_state;

void cluster_service::apply(const cluster_event& change) {
    const std::uint32_t which = change.device ? change.device->value() : no_device;
    reasons& here = reasons_[{change.node.value(), which}];
    switch (change.what) {
    case cluster_change::stops:
        ++here.stopped;
        break;
    case cluster_change::drains:
        ++here.draining;
        break;
    case cluster_change::resumes: // ends the failure first: a node that is drained is repaired before it is uncordoned
        if (here.stopped > 0) {
            --here.stopped;
        } else if (here.draining > 0) {
            --here.draining;
        }
        break;
    }
    const bool closed = here.stopped > 0 || here.draining > 0;
    if (!change.device) {
        const auto ordered = ledger_->set_schedulable(change.node, !closed);
        VGA_ASSERT(ordered.has_value(), "a workload's events are of nodes that it has");
        return;
    }
    const service_state service = here.stopped > 0    ? service_state::failed
                                  : here.draining > 0 ? service_state::draining
                                                      : service_state::in_service;
    const auto ordered = ledger_->set_service(change.node, *change.device, service);
    VGA_ASSERT(ordered.has_value(), "a workload's events are of devices that it has");
}

} // namespace vgpusim
