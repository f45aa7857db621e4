#include "vgpusim/engine/mig_instances.hpp"

#include <algorithm>
#include <variant>

namespace vgpusim {

using vgpualloc::mig_instance;

namespace {

bool is_same(const mig_instance& a, const mig_instance& b) { return a.profile == b.profile && a.start == b.start; }

} // namespace

std::vector<mig_instance>& mig_instances::existing_on(node_index node, device_index device) {
    if (node.at() >= existing_.size()) existing_.resize(node.at() + 1);
    auto& devices = existing_[node.at()];
    if (device.at() >= devices.size()) devices.resize(device.at() + 1);
    return devices[device.at()];
}

std::int64_t mig_instances::provide(const vgpualloc::ledger& book, const vgpualloc::placement& where) {
    std::int64_t created = 0;
    for (const auto& share : where.shares) {
        const mig_instance* const wanted = std::get_if<mig_instance>(&share.part);
        if (wanted == nullptr) continue;
        // What a device plugin offers as units is there already.
        if (book.nodes().spec_of(where.node, share.device).mode->units().in_units()) continue;
        auto& instances = existing_on(where.node, share.device);
        const auto is_wanted = [wanted](const mig_instance& there) { return is_same(there, *wanted); };
        if (std::ranges::any_of(instances, is_wanted)) continue;
        ++created;
        // What fits beside all that is in use, the new one among it, stays; a busy one is in the state already, and its
        // place in the list says so by not fitting once more.
        const auto& spec = book.nodes().spec_of(where.node, share.device);
        std::vector<mig_instance> busy;
        for (const std::uint32_t slot : book.live_on(where.node)) {
            for (const auto& other : book.bookings()[slot].where.shares) {
                if (other.device != share.device) continue;
                if (const auto* part = std::get_if<mig_instance>(&other.part)) busy.push_back(*part);
            }
        }
        auto state = book.devices(where.node)[share.device.at()];
        std::vector<mig_instance> kept = busy;
        for (const mig_instance& idle : instances) {
            if (std::ranges::any_of(busy, [&idle](const mig_instance& part) { return is_same(part, idle); })) continue;
            if (spec.mode->why_not(spec, state, vgpualloc::partition{idle}).code != rejection_code::none) {
                continue;
            }
            state = spec.mode->with(spec, state, vgpualloc::partition{idle});
            kept.push_back(idle);
        }
        instances = std::move(kept);
    }
    return created;
}

} // namespace vgpusim
