// Any order of node and pod events ends in the same ledger. What happens to one node, one device or one pod has an
// order of its own; between them there is none. Whoever tells a ledger of a cluster holds back what cannot be booked
// yet.
#include "support.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "vgpualloc/core/rng.hpp"

namespace vgpualloc::property {
namespace {

std::uint32_t natural(std::uint32_t least, std::uint32_t most) { return *rc::gen::inRange(least, most + 1); }

/// One thing that happens; false if it cannot happen yet.
using event = std::function<bool(ledger&)>;
using chain = std::vector<event>;

std::uint32_t index_of(const std::vector<device>& devices, const std::string& uuid) {
    return static_cast<std::uint32_t>(std::ranges::find(devices, uuid, &device::uuid) - devices.begin());
}

/// A pod that runs on devices which its events know by uuid.
struct running_pod {
    booking entry; ///< with indices in the node's last description
    std::string node_name{};
    std::vector<std::string> uuids{}; ///< by share
};

/// The nodes' last descriptions, and what must be left alone until then because something else happens to it.
class story {
public:
    story() : in_{*worlds({.names = true, .nodes_max = 4})} {
        for (std::uint32_t pod = natural(0, 8); pod > 0; --pod) add_pod(pod);
        for (const node& last : in_.owned.nodes) add_services(last);
        for (const node& last : in_.owned.nodes) add_node(last);
    }

    /// The ledger after all of it, in an order drawn by `order`.
    [[nodiscard]] ledger told(rng order) const {
        cluster start = in_.owned;
        start.nodes.clear();
        ledger book{std::move(start)};
        std::vector<std::size_t> told(chains_.size(), 0);
        const auto tell_next = [&](std::size_t c) {
            if (told[c] == chains_[c].size() || !chains_[c][told[c]](book)) return false;
            ++told[c];
            book.check();
            return true;
        };
        std::vector<std::size_t> turns;
        for (std::size_t c = 0; c < chains_.size(); ++c) turns.push_back(c);
        do {
            order.shuffle(turns);
        } while (std::ranges::any_of(turns, tell_next));
        for (std::size_t c = 0; c < chains_.size(); ++c) RC_ASSERT(told[c] == chains_[c].size());
        return book;
    }

private:
    void add_pod(std::uint32_t number_of_pod) {
        const pod_request& request = in_.requests[natural(0, 100) % in_.requests.size()];
        running_pod running{.entry = some_booking(in_.owned, request, pod_id{number_of_pod}, natural(0, 100))};
        const node& owner = in_.owned.nodes[running.entry.where.node.at()];
        running.node_name = owner.name;
        for (const device_share& share : running.entry.where.shares) {
            running.uuids.push_back(owner.devices[share.device.at()].uuid);
            used_.insert(running.uuids.back());
        }
        occupied_.insert(owner.name);
        const event adopted = [running](ledger& book) { return adopt(book, running); };
        const event released = [pod = running.entry.owner](ledger& book) { return book.release(pod).has_value(); };
        chains_.push_back({adopted});
        if (natural(0, 2) > 0) return;
        chains_.back().push_back(released);
        if (natural(0, 1) == 0) chains_.back().push_back(adopted);
    }

    static bool adopt(ledger& book, const running_pod& running) {
        booking entry = running.entry;
        entry.where.node = book.find_node(running.node_name);
        if (!entry.where.node.valid()) return false;
        const std::vector<device>& devices = book.nodes().nodes[entry.where.node.at()].devices;
        for (std::size_t i = 0; i < running.uuids.size(); ++i) {
            entry.where.shares[i].device = device_index{index_of(devices, running.uuids[i])};
        }
        return book.adopt(entry).has_value();
    }

    /// Some devices are drained, and some of these are put back in service.
    void add_services(const node& last) {
        if (natural(0, 2) == 0) { // it goes and returns instead, which ends every drain
            returning_.insert(last.name);
            return;
        }
        for (const device& registered : last.devices) {
            if (registered.service != service_state::in_service || natural(0, 3) > 0) continue;
            const auto set = [name = last.name, uuid = registered.uuid](service_state service) -> event {
                return [=](ledger& book) {
                    const node_index where = book.find_node(name);
                    if (!where.valid()) return false;
                    const std::uint32_t which = index_of(book.nodes().nodes[where.at()].devices, uuid);
                    return book.set_service(where, device_index{which}, service).value_or(false);
                };
            };
            ordered_.insert(registered.uuid);
            chains_.push_back({set(service_state::draining)});
            if (natural(0, 1) == 0) chains_.back().push_back(set(service_state::in_service));
        }
    }

    /// It comes as something else, is described anew some times, may go and return, and is at last what it is.
    void add_node(const node& last) {
        chain events;
        events.push_back([described = draft_of(last)](ledger& book) { return book.add_node(described).has_value(); });
        const auto update = [&events](const node& described) {
            events.push_back([described](ledger& book) {
                return book.update_node(book.find_node(described.name), described).has_value();
            });
        };
        for (std::uint32_t updates = natural(0, 3); updates > 0; --updates) update(draft_of(last));
        const event removed = [name = last.name](ledger& book) {
            return book.remove_node(book.find_node(name)).has_value();
        };
        if (returning_.contains(last.name)) {
            events.push_back(removed);
            events.push_back(
                [described = draft_of(last)](ledger& book) { return book.add_node(described).has_value(); });
        }
        update(last);
        const bool goes = !occupied_.contains(last.name) && returning_.contains(last.name) && natural(0, 2) == 0;
        if (goes) events.push_back(removed);
        chains_.push_back(std::move(events));
    }

    /// Another description of the node. A device that is used keeps its kind, one that is drained stays as well.
    [[nodiscard]] node draft_of(const node& last) const {
        node draft = last;
        if (natural(0, 1) == 0) draft.cpu = milli_cpu{natural(0, 16) * 1000};
        if (natural(0, 1) == 0) draft.memory = bytes{natural(0, 32) * 1000};
        if (natural(0, 1) == 0) draft.host = {};
        std::erase_if(draft.devices, [&](const device& registered) {
            return !ordered_.contains(registered.uuid) && natural(0, 3) == 0;
        });
        for (device& registered : draft.devices) {
            const auto kinds = static_cast<std::uint32_t>(in_.owned.kinds.size());
            if (!used_.contains(registered.uuid) && natural(0, 3) == 0) registered.kind = natural(0, kinds - 1);
        }
        rng{natural(0, 1000)}.shuffle(draft.devices);
        return draft;
    }

    world in_;
    std::vector<chain> chains_;
    std::set<std::string> used_;      ///< uuids of devices with pods
    std::set<std::string> ordered_;   ///< uuids of devices that are drained
    std::set<std::string> occupied_;  ///< nodes with pods
    std::set<std::string> returning_; ///< nodes that are removed once
};

bool same_overcommitment(ledger& a, ledger& b) {
    for (const node& owner : a.nodes().nodes) {
        const node_index here = a.find_node(owner.name);
        const node_index there = b.find_node(owner.name);
        if (!here.valid()) continue;
        if (a.is_overcommitted(here) != b.is_overcommitted(there)) return false;
        for (std::size_t d = 0; d < owner.devices.size(); ++d) {
            if (a.is_overcommitted(here, device_index{d}) != b.is_overcommitted(there, device_index{d})) return false;
        }
    }
    return true;
}

TEST(orders_property, any_order_of_node_and_pod_events_ends_in_the_same_ledger) {
    hold("order does not matter", [] {
        const story events;
        ledger first = events.told(rng{natural(0, 1000)});
        ledger second = events.told(rng{1000 + natural(0, 1000)});
        RC_ASSERT(first.same_use_by_name(second));
        RC_ASSERT(second.same_use_by_name(first));
        RC_ASSERT(same_overcommitment(first, second));
    });
}

} // namespace
} // namespace vgpualloc::property
