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
    if (change.device) {
        order(change.node, *change.device, here);
        return;
    }
    const auto ordered = ledger_->set_schedulable(change.node, here.stopped == 0 && here.draining == 0);
    VGA_ASSERT(ordered.has_value(), "a workload's events are of nodes that it has");
}

void cluster_service::order(node_index node, device_index device, const reasons& why) {
    const service_state service = why.stopped > 0    ? service_state::failed
                                  : why.draining > 0 ? service_state::draining
                                  : why.closed > 0   ? service_state::reconfiguring
                                                     : service_state::in_service;
    const auto ordered = ledger_->set_service(node, device, service);
    VGA_ASSERT(ordered.has_value(), "a workload's events are of devices that it has");
}

void cluster_service::close(node_index node, device_index device) {
    reasons& here = reasons_[{node.value(), device.value()}];
    ++here.closed;
    order(node, device, here);
}

void cluster_service::reopen(node_index node, device_index device) {
    reasons& here = reasons_[{node.value(), device.value()}];
    VGA_ASSERT(here.closed > 0, "what is opened was closed");
    --here.closed;
    order(node, device, here);
}

} // namespace vgpusim
