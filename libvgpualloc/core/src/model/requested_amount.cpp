#include "vgpualloc/model/requested_amount.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "vgpualloc/model/device.hpp"

namespace vgpualloc {

bool is_of_units_alone(const device_request& container) {
    return container.profile.empty() && container.memory == mib{0} && !container.memory_percent &&
           container.cores == whole_compute;
}

bool names_uuids(const device_request& container) {
    return !container.uuids_allowed.empty() || !container.uuids_denied.empty();
}

bool accepts_uuid(const device_request& container, const std::string& uuid) {
    const auto lists = [&uuid](const std::vector<std::string>& uuids) {
        return std::ranges::find(uuids, uuid) != uuids.end();
    };
    return (container.uuids_allowed.empty() || lists(container.uuids_allowed)) && !lists(container.uuids_denied);
}

namespace {

/// Whether the rules allow the node, whatever state it is in.
bool allows(const host_rules& rules, const node& described, bool looks_at_taints) {
    if (described.host.is_open()) return why_not_host(rules, described.host, described.name) == rejection_code::none;
    host_facts facts = described.host;
    facts.unschedulable = false;
    facts.ready = true;
    facts.unreadable.clear();
    if (looks_at_taints) {
        std::erase_if(facts.taints, [](const taint& repelling) { return is_state_taint(repelling.key); });
    } else {
        facts.taints.clear();
    }
    return why_not_host(rules, facts, described.name) == rejection_code::none;
}

bool can_hold(const device_spec& device, const device_request& container) {
    return why_not(device, {}, service_state::in_service, container).code == rejection_code::none;
}

/// The shares of those devices that can hold the container, and how their memory is spread.
class shares_of_devices {
public:
    void add(const device_spec& device, std::int64_t count, const device_request& container) {
        if (count == 0 || !can_hold(device, container)) return;
        const requested_share share = device.mode->requested(device, container);
        smallest_ = devices_ == 0 ? share : smaller(smallest_, share);
        largest_ = larger(largest_, share);
        devices_ += count;
        memory_ += wide{device.memory.count()} * count;
        memory_max_ = std::max(memory_max_, device.memory);
    }
    [[nodiscard]] bool has_devices() const noexcept { return devices_ > 0; }
    [[nodiscard]] const requested_share& smallest() const noexcept { return smallest_; }
    [[nodiscard]] const requested_share& largest() const noexcept { return largest_; }
    /// Whether the largest share is more than 1.5 times the smallest.
    [[nodiscard]] bool has_uneven_shares() const noexcept {
        return wide{largest_.memory.part} * smallest_.memory.whole * 2 >
               wide{smallest_.memory.part} * largest_.memory.whole * 3;
    }
    /// Whether the largest memory is more than 1.5 times the mean.
    [[nodiscard]] bool is_uneven() const noexcept { return wide{memory_max_.count()} * devices_ * 2 > memory_ * 3; }

private:
    __extension__ using wide = __int128;
    requested_share smallest_;
    requested_share largest_;
    std::int64_t devices_ = 0;
    wide memory_ = 0;
    mib memory_max_;
};

} // namespace

/// By rules of which those that are not kept are left out; of `container`, if any, the uuids count.
requested_amounts::device_counts requested_amounts::count_devices(const host_rules& rules, rules_kept kept,
                                                                  const device_request* container) const {
    device_counts counts(nodes_->kinds.size());
    for (const node& described : nodes_->nodes) {
        if (described.devices.empty() || !allows(rules, described, kept == rules_kept::all)) continue;
        for (const device& board : described.devices) {
            if (container == nullptr || accepts_uuid(*container, board.uuid)) ++counts[board.kind];
        }
    }
    return counts;
}

requested_amounts::device_counts requested_amounts::counts_for(const host_rules& rules, const device_request& container,
                                                               rules_kept kept) {
    host_rules looked_at = kept == rules_kept::resources_only ? host_rules{} : rules;
    if (kept != rules_kept::all) looked_at.tolerations.clear();
    looked_at.resources = rules.resources;
    if (names_uuids(container)) return count_devices(looked_at, kept, &container);
    const auto [known, is_new] = counts_.try_emplace({std::move(looked_at), kept});
    if (is_new) known->second = count_devices(std::get<host_rules>(known->first), kept, nullptr);
    return known->second;
}

requested_devices requested_amounts::share_of_container(const pod_request& request, const device_request& container,
                                                        requested_amount& result) {
    for (const rules_kept kept : {rules_kept::all, rules_kept::without_tolerations, rules_kept::resources_only}) {
        const device_counts counts = counts_for(request.rules, container, kept);
        shares_of_devices shares;
        for (std::size_t kind = 0; kind < counts.size(); ++kind) {
            shares.add(nodes_->kinds[kind], counts[kind], container);
        }
        if (!shares.has_devices()) continue;
        const bool names_memory = container.memory > mib{0} && !container.memory_percent;
        if (names_memory && shares.is_uneven()) result.has_uneven_devices = true;
        if (!is_of_units_alone(container)) return {.count = container.count, .share = shares.smallest()};
        if (shares.has_uneven_shares()) result.has_uneven_units = true;
        requested_devices units{.count = container.count, .share = shares.largest()};
        if (shares.smallest() != shares.largest()) units.least = shares.smallest();
        return units;
    }
    result.can_be_served = false;
    return {.count = container.count, .share = requested_share::all()};
}

requested_amount requested_amounts::of(const pod_request& request) {
    requested_amount result;
    for (const device_request& container : request.containers) {
        if (container.count == 0) continue;
        result.devices.push_back(share_of_container(request, container, result));
    }
    return result;
}

} // namespace vgpualloc
