// What becomes of reservations on a living cluster, and trials of them.
#include <algorithm>
#include <compare>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "live/parts.hpp"
#include "vgpualloc/live/live_cluster.hpp"
#include "vgpualloc/model/host_rules.hpp"
#include "vgpualloc/model/trial.hpp"

namespace vgpualloc {

rejection_detail live_cluster::commit(std::string_view uid) {
    const auto done = view_.book().commit(id_of(uid));
    return done ? rejection_detail{} : done.error();
}

rejection_detail live_cluster::rollback(std::string_view uid) {
    const auto done = view_.book().rollback(id_of(uid));
    return done ? rejection_detail{} : done.error();
}

rejection_detail live_cluster::release(std::string_view uid) {
    const auto done = view_.book().release(id_of(uid));
    return done ? rejection_detail{} : done.error();
}

rejection_detail live_cluster::suspend(std::string_view uid) {
    auto holding = holding_of(uid);
    if (!holding) return release(uid); // says why
    const rejection_detail released = release(uid);
    if (released.code == rejection_code::none) suspended_.insert_or_assign(*name_of(uid), *std::move(holding));
    return released;
}

rejection_detail live_cluster::resume(std::string_view uid) {
    const std::string* const name = name_of(uid);
    const auto kept = name == nullptr ? suspended_.end() : suspended_.find(*name);
    if (kept == suspended_.end()) return {.code = rejection_code::pod_not_known};
    const live_holding holding = kept->second;
    return give_again(uid, holding);
}

std::optional<live_holding> live_cluster::holding_of(std::string_view uid) const {
    const pod_id id = id_of(uid);
    const booking* const held = book().find_booking(id);
    if (held == nullptr || !book().is_committed(id)) return std::nullopt;
    const node& host = book().nodes().nodes[held->where.node.at()];
    live_holding result{.held = *held, .node = host.name, .uuids = {}};
    for (const device_share& share : held->where.shares) result.uuids.push_back(host.devices[share.device.at()].uuid);
    return result;
}

rejection_detail live_cluster::give_again(std::string_view uid, const live_holding& holding) {
    const pod_id id = id_of(uid);
    if (!id.valid()) return {.code = rejection_code::pod_not_known};
    booking again = holding.held;
    again.owner = id;
    again.where.node = find_node(holding.node);
    if (!again.where.node.valid()) return {.code = rejection_code::node_gone};
    for (std::size_t i = 0; i < holding.uuids.size(); ++i) {
        const auto same = find_device(again.where.node, holding.uuids[i]);
        if (!same) return {.code = rejection_code::node_gone};
        again.where.shares[i].device = *same;
    }
    // Both at once: where the former parts cannot be had again, what is there now stays.
    trial attempt{view_.book()};
    if (book().is_live(id)) {
        const auto gone = book().is_committed(id) ? view_.book().release(id) : view_.book().rollback(id);
        if (!gone) return gone.error();
    }
    const auto adopted = view_.book().adopt(std::move(again)); // it runs, whatever was given out meanwhile
    if (!adopted) return adopted.error();
    attempt.keep();
    suspended_.erase(*name_of(uid));
    return {};
}

// ---- what would be

namespace {

/// Orders nodes by what their answer to one request depends on while nothing is booked there: equal ones answer alike.
class empty_node_order {
public:
    empty_node_order(const cluster& nodes, const pod_request& request)
        : nodes_{&nodes}, by_uuid_{std::ranges::any_of(request.containers, [](const device_request& wanted) {
              return !wanted.uuids_allowed.empty() || !wanted.uuids_denied.empty();
          })} {
        for (const node& considered : nodes.nodes) {
            rules_.push_back(why_not_host(request.rules, considered.host, considered.name));
        }
    }

    [[nodiscard]] bool operator()(node_index a, node_index b) const { return compare(a, b) < 0; }

private:
    [[nodiscard]] std::strong_ordering compare(node_index a, node_index b) const {
        const node& first = nodes_->nodes[a.at()];
        const node& second = nodes_->nodes[b.at()];
        if (const auto by_size = std::tuple{first.cpu, first.memory, first.pods_max, first.devices.size()} <=>
                                 std::tuple{second.cpu, second.memory, second.pods_max, second.devices.size()};
            by_size != 0) {
            return by_size;
        }
        for (std::size_t i = 0; i < first.devices.size(); ++i) {
            if (const auto by_device = compare(first.devices[i], second.devices[i]); by_device != 0) return by_device;
        }
        // A device that is closed may be one that goes, or changes, when its last pod does.
        const bool is_open = std::ranges::all_of(
            first.devices, [](const device& present) { return present.service == service_state::in_service; });
        if (!is_open) return a.value() <=> b.value();
        return rules_[a.at()] <=> rules_[b.at()];
    }

    [[nodiscard]] std::strong_ordering compare(const device& a, const device& b) const {
        const auto by_state =
            std::tuple{a.kind, a.link_group, a.service} <=> std::tuple{b.kind, b.link_group, b.service};
        return by_state != 0 || !by_uuid_ ? by_state : a.uuid <=> b.uuid;
    }

    const cluster* nodes_;
    bool by_uuid_;
    std::vector<rejection_code> rules_{}; ///< by node: what the pod's host rules say of it
};

} // namespace

/// One node's opinion if no pod had anything there.
node_opinion live_cluster::ask_empty(std::string_view uid, node_index where) {
    const trial attempt{view_.book()};
    const auto slots = book().live_on(where);
    const std::vector<std::uint32_t> held{slots.begin(), slots.end()};
    for (const std::uint32_t slot : held) {
        const owner_id pod = book().bookings()[slot].owner;
        const auto gone = book().is_committed(pod) ? view_.book().release(pod) : view_.book().rollback(pod);
        VGA_ASSERT(gone.has_value(), "what is live can be given back");
    }
    return ask_node(uid, where);
}

rejection_detail live_cluster::evaluate_empty(std::string_view uid,
                                              const std::function<void(const node_opinion&)>& visit) {
    known_pod* const known = read(uid);
    if (known == nullptr) return {.code = rejection_code::pod_not_known};
    const empty_node_order order{book().nodes(), known->pod.request};
    std::map<node_index, node_opinion, empty_node_order> answered{order};
    for (std::size_t n = 0; n < book().nodes().nodes.size(); ++n) {
        const node_index where{n};
        const rejection_code refusal = why_not_asked(known, where);
        if (refusal != rejection_code::none) {
            visit({.refusal = {.code = refusal}});
            continue;
        }
        auto alike = answered.find(where);
        if (alike == answered.end()) {
            alike = answered.emplace(where, ask_empty(uid, where)).first;
            static_cast<void>(view_of(where)); // reads what was tried, so that the log need not keep it
            trim_log();
        }
        node_opinion opinion = alike->second;
        opinion.rank = book().rank_of(where);
        visit(opinion);
    }
    return {};
}

// ---- trials

void live_cluster::begin_trial() {
    trials_.push_back({.scope = std::make_unique<trial>(view_.book()), .suspended = suspended_});
}

bool live_cluster::end_trial(bool keep) {
    if (trials_.empty()) return false;
    open_trial& innermost = trials_.back();
    if (keep) {
        innermost.scope->keep();
    } else {
        innermost.scope->undo();
        suspended_ = std::move(innermost.suspended);
    }
    trials_.pop_back();
    return true;
}

} // namespace vgpualloc
