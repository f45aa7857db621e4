// Volcano's 310P object of a node: filter, allocation, ledger, and the score over all nodes.
#include "vgpualloc/compat/volcano/mindcluster_310p.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "mindcluster_node.hpp"

namespace vgpualloc::compat::volcano {

namespace {

using namespace mindcluster;

/// What upstream keeps in the scheduler cache and every session sees as it is.
struct node_memory {
    bool device_info_known = false; ///< some session init has seen the device info
    /// Template -> pods; "" = whole cards. A template without pods is not kept.
    std::map<std::string, std::set<std::string>, std::less<>> con_cache;
    kubernetes::text_map pod_allocation; ///< uid -> annotation
};

/// One container's part of the annotation: `0-vir01`, or `0,1` for whole cards.
picked_chips parse_part(std::string_view part) {
    const auto pieces = split(part, '-');
    picked_chips parsed;
    if (pieces.size() == 2) parsed.template_name = pieces[1];
    for (const std::string_view id : split(pieces[0], ',')) {
        if (const auto chip = number(id)) parsed.chips.push_back(*chip);
    }
    return parsed;
}

/// Q29: the annotation is one part; off: one for every container that asks, between semicolons.
std::vector<picked_chips> parse_annotation(std::string_view annotation, const quirk_set& quirks) {
    std::vector<picked_chips> parsed;
    if (quirks.has(quirk::q29)) {
        parsed.push_back(parse_part(annotation));
    } else {
        for (const std::string_view part : split(annotation, ';')) parsed.push_back(parse_part(part));
    }
    return parsed;
}

std::string text_of(const picked_chips& picked) {
    std::string text;
    for (const std::int64_t chip : picked.chips) text += (text.empty() ? "" : ",") + std::to_string(chip);
    return picked.template_name.empty() ? text : text + '-' + picked.template_name;
}

filter_answer refused(std::string reason, std::string error, std::string message = {}) {
    return {.fits = false,
            .code = 1,
            .message = std::move(message),
            .error = std::move(error),
            .reason = std::move(reason)};
}

/// A resource as Go prints it with %#v.
std::string as_printed(const npu_resource& resource) {
    return "vnpu.VResource{Aicore:" + std::to_string(resource.core) + ", Aicpu:" + std::to_string(resource.cpu) +
           ", DVPP:\"" + resource.dvpp + "\"}";
}

class npu_object final : public mindcluster_object {
public:
    npu_object(const node& where, npu_node_info info, const plugin_options& options)
        : name_{where.name}, info_{std::move(info)}, options_{&options}, memory_{std::make_shared<node_memory>()} {
        node_.idle = mindcluster::idle_cores(where, {});
    }

    [[nodiscard]] std::unique_ptr<device_object> copy() const override { return std::make_unique<npu_object>(*this); }

    [[nodiscard]] bool requested_by(const pod& pending) const override {
        return options_->ascend_mindcluster && asks_for_npu(pending);
    }
    [[nodiscard]] filter_answer filter(const pod& pending, const std::string& policy) override;
    [[nodiscard]] double score(const pod&, const std::string&) override { return 0; } // see batch_score()
    [[nodiscard]] allocate_answer allocate(const pod& pending, const std::string& policy) override;
    void add_resource(const pod& bound) override;
    void sub_resource(const pod& bound) override;
    void unallocate(const pod& pending) override;
    void open_session(const node& where, std::span<const pod* const> on_node) override;
    [[nodiscard]] ledger_state state() const override;

    [[nodiscard]] std::int64_t idle_cores() const override { return node_.idle.value_or(0); }
    [[nodiscard]] bool downgraded(const std::string& pod_name) const override {
        return node_.downgraded.contains(pod_name);
    }

private:
    [[nodiscard]] bool has(quirk which) const { return options_->quirks.has(which); }
    [[nodiscard]] filter_answer check_node(const pod& pending) const;
    [[nodiscard]] filter_answer check_chips(const pod& pending, const std::vector<npu_resource>& requests);
    [[nodiscard]] filter_answer check_other_pods(const pod& pending, const npu_resource& request) const;
    [[nodiscard]] npu_resource request_to_place(const pod& pending, std::size_t position, npu_resource request) const;
    [[nodiscard]] npu_resource charge_of(const npu_resource& request, const picked_chips& held) const;
    [[nodiscard]] std::vector<npu_resource> charges_of(const pod& holder, const std::vector<picked_chips>& held) const;
    void book(const pod& holder, const std::string& annotation);
    void unbook(const pod& holder, const std::string& annotation);
    void change_idle(std::int64_t by) {
        if (node_.idle) *node_.idle += by;
    }

    std::string name_;
    npu_node_info info_;
    const plugin_options* options_;
    std::shared_ptr<node_memory> memory_;
    npu_node node_;
    bool first_session_ = false;
    std::map<std::string, std::int64_t> placed_; ///< in this session: uid -> cores taken from idle
    std::map<std::string, std::map<std::int64_t, npu_chip>> chips_before_; ///< allocate(), by pod uid; with Q3 off
};

/// What is asked of the node before its chips are looked at.
filter_answer npu_object::check_node(const pod& pending) const {
    const std::string message = "preCheckNodePredicate failure";
    if (node_.noded_status == "PreSeparate") {
        return refused("noded_preseparate", "node is PreSeparate, due to nodeD reported node status", message);
    }
    if (!node_.idle) return refused("no_npu_core_resource", "not have " + core_name, message);
    const std::int64_t cores = requested_cores(pending, options_->quirks);
    if (*node_.idle < cores) {
        return refused("idle_core_insufficient",
                       "node not meet task request " + core_name + ":" + std::to_string(cores), message);
    }
    return {};
}

/// The request that Allocate looks for a chip with: a mark of the session counts, whoever left it. `position` is that
/// of the request among the pod's.
npu_resource npu_object::request_to_place(const pod& pending, std::size_t position, npu_resource request) const {
    const auto marked = node_.downgraded.find(pending.name);
    const bool reduced = marked != node_.downgraded.end() && marked->second.contains(position);
    return reduced ? mindcluster::downgraded(std::move(request)) : request;
}

filter_answer npu_object::check_chips(const pod& pending, const std::vector<npu_resource>& requests) {
    npu_node trial = node_; // with the chips that earlier requests of the pod would get
    for (std::size_t position = 0; position < requests.size(); ++position) {
        npu_resource request = requests[position];
        if (!sufficient(trial, request) && can_downgrade(request)) {
            node_.downgraded[pending.name].insert(position); // stays for the session, whatever becomes of the pod
            request = mindcluster::downgraded(std::move(request));
        }
        const npu_resource placed = request_to_place(pending, position, request);
        chip_choice chosen = choose_chips(trial, placed, options_->quirks);
        // Q17: upstream goes on where not even that is there, and Allocate fails. A request for nothing is Q16's
        // affair.
        if (!has(quirk::q17) && request.core != 0 && !chosen.error.empty()) {
            return refused(std::move(chosen.reason), std::move(chosen.error));
        }
        if (filter_answer answer = check_other_pods(pending, request); !answer.fits) return answer;
        const picked_chips picked{.chips = std::move(chosen.chips), .template_name = std::string{template_of(placed)}};
        charge_chips(trial, picked.chips, picked.template_name.empty(), charge_of(requests[position], picked));
    }
    return {};
}

/// While pods are on the node it takes only more of the one template they have.
filter_answer npu_object::check_other_pods(const pod& pending, const npu_resource& request) const {
    // Q18: so one template at a time, and a single whole-card pod, whose template is none at all.
    if (!has(quirk::q18) || memory_->con_cache.empty()) return {};
    const std::string_view name = template_of(request);
    if (name.empty()) {
        return refused("template_not_found_with_busy_node", as_printed(request) + " not get template");
    }
    if (memory_->con_cache.size() == 1 && memory_->con_cache.contains(name)) return {};
    return refused("different_template_on_node", pending.name + " is using " + name_ + ", and not rewrite");
}

filter_answer npu_object::filter(const pod& pending, const std::string& /*policy*/) {
    if (filter_answer answer = check_node(pending); !answer.fits) return answer;
    pod_requests requests = requests_of(node_, pending, options_->quirks);
    if (!requests.error.empty()) return refused("bad_dvpp", std::move(requests.error));
    if (!node_.valid) return refused("invalid_vnode", "checkNodeNPUByDyTask invalid VNode");
    const bool asks_for_nothing = std::ranges::any_of(requests.resources, [](const auto& r) { return r.core == 0; });
    // Q16: upstream lets a request for nothing pass, and Allocate fails.
    if (!has(quirk::q16) && asks_for_nothing) {
        return refused("bad_core_count", "no template and no whole chips for " + core_name + ":" +
                                             std::to_string(requested_cores(pending, options_->quirks)));
    }
    return check_chips(pending, requests.resources);
}

allocate_answer npu_object::allocate(const pod& pending, const std::string& /*policy*/) {
    allocate_answer answer;
    pod_requests requests = requests_of(node_, pending, options_->quirks);
    if (!requests.error.empty()) {
        answer.error = std::move(requests.error);
        answer.reason = "bad_dvpp";
        return answer;
    }
    npu_node trial = node_; // with the chips of the requests before
    std::vector<picked_chips> picked;
    bool noted = true;
    for (std::size_t position = 0; position < requests.resources.size(); ++position) {
        const npu_resource& request = requests.resources[position];
        const npu_resource placed = request_to_place(pending, position, request);
        chip_choice chosen = choose_chips(trial, placed, options_->quirks);
        if (!chosen.error.empty()) {
            answer.error = std::move(chosen.error);
            answer.reason = std::move(chosen.reason);
            return answer;
        }
        const bool whole = node_.whole_chips(placed.core);
        picked.push_back({.chips = std::move(chosen.chips),
                          .template_name = whole ? std::string{} : std::string{template_of(placed)}});
        // A mark left by another pod of that name can make a request that is no template: upstream then notes nothing.
        noted = noted && (whole || !picked.back().template_name.empty());
        charge_chips(trial, picked.back().chips, whole, charge_of(request, picked.back()));
    }
    answer.ok = true;
    change_idle(-occupied_cores(pending));
    placed_[pending.uid] = occupied_cores(pending);
    if (!has(quirk::q3)) chips_before_[pending.uid] = node_.chips;

    if (!noted) return answer;
    std::string annotation;
    for (const picked_chips& part : picked) annotation += (annotation.empty() ? "" : ";") + text_of(part);
    answer.chips = picked.front().chips;
    answer.template_name = picked.front().template_name;
    answer.more_chips.assign(picked.begin() + 1, picked.end());
    answer.annotations = {{core_name, annotation}, {"predicate-time", "<time>"}};
    book(pending, annotation);
    return answer;
}

/// What the ledger of a chip is charged for a part that was requested as `request`.
npu_resource npu_object::charge_of(const npu_resource& request, const picked_chips& held) const {
    if (held.template_name.empty()) return node_.whole_chip();
    // Q19: what the pod asked for, though a downgraded one got a smaller template.
    if (has(quirk::q19)) return request;
    return template_resource(held.template_name).value_or(npu_resource{});
}

/// The same for all parts that a pod holds.
std::vector<npu_resource> npu_object::charges_of(const pod& holder, const std::vector<picked_chips>& held) const {
    const pod_requests requests = requests_of(node_, holder, options_->quirks);
    std::vector<npu_resource> charges;
    for (std::size_t i = 0; i < held.size(); ++i) {
        const bool known = i < requests.resources.size();
        charges.push_back(charge_of(known ? requests.resources[i] : npu_resource{}, held[i]));
    }
    return charges;
}

/// The pod holds these chips: template cache, list of allocations and, in a session, the chips' ledger.
void npu_object::book(const pod& holder, const std::string& annotation) {
    const auto held = parse_annotation(annotation, options_->quirks);
    const auto charges = charges_of(holder, held);
    memory_->pod_allocation[holder.uid] = annotation;
    for (std::size_t i = 0; i < held.size(); ++i) {
        memory_->con_cache[held[i].template_name].insert(holder.uid);
        charge_chips(node_, held[i].chips, held[i].template_name.empty(), charges[i]);
    }
}

void npu_object::unbook(const pod& holder, const std::string& annotation) {
    const auto held = parse_annotation(annotation, options_->quirks);
    const auto charges = charges_of(holder, held);
    memory_->pod_allocation.erase(holder.uid);
    for (std::size_t i = 0; i < held.size(); ++i) {
        if (const auto same = memory_->con_cache.find(held[i].template_name); same != memory_->con_cache.end()) {
            same->second.erase(holder.uid);
            if (same->second.empty()) memory_->con_cache.erase(same);
        }
        for (const std::int64_t id : held[i].chips) {
            const auto chip = node_.chips.find(id);
            if (chip != node_.chips.end()) chip->second.give_back(charges[i]);
        }
    }
}

void npu_object::add_resource(const pod& bound) {
    change_idle(-occupied_cores(bound));
    const auto annotation = bound.annotations.find(core_name);
    if (requested_by(bound) && annotation != bound.annotations.end()) book(bound, annotation->second);
}

void npu_object::sub_resource(const pod& bound) {
    change_idle(occupied_cores(bound));
    if (!requested_by(bound)) return;
    const auto annotated = bound.annotations.find(core_name);
    const auto known = memory_->pod_allocation.find(bound.uid);
    if (annotated != bound.annotations.end()) {
        unbook(bound, annotated->second);
    } else if (known != memory_->pod_allocation.end()) {
        unbook(bound, std::string{known->second}); // a copy: unbook() drops the entry
    }
}

void npu_object::unallocate(const pod& pending) {
    // After a failed allocate() there is nothing to give back.
    const auto placed = placed_.find(pending.uid);
    if (placed == placed_.end()) return;
    placed_.erase(placed);
    sub_resource(pending);
    // Q3: chips stay marked as cut, and their video units as asked for, for the rest of the session.
    if (auto before = chips_before_.extract(pending.uid)) node_.chips = std::move(before.mapped());
}

void npu_object::open_session(const node& where, std::span<const pod* const> on_node) {
    const bool first = !std::exchange(memory_->device_info_known, true);
    node_ = open_node(where, on_node, info_, first, options_->quirks);
    first_session_ = first;
    placed_.clear();
    chips_before_.clear();
}

ledger_state npu_object::state() const {
    ledger_state result;
    result.present = true;
    // It does not change, and the recordings have it once: in the state that the first session begins with.
    if (first_session_) result.mode = node_.server_type;
    for (const auto& [id, chip] : node_.chips) {
        card_state card;
        card.index = id;
        card.type = std::string{chip_kind} + '-' + std::to_string(id);
        card.npu_total = chip.total;
        card.npu_used = chip.used;
        card.npu_free = chip.free;
        card.segment = chip.segment;
        card.unstable = chip.unstable;
        card.ids = chip.ids;
        std::ranges::sort(card.ids); // upstream's order is that of its map of pods
        result.devices.push_back(std::move(card));
    }
    for (const auto& [name, uids] : memory_->con_cache) result.con_cache[name].assign(uids.begin(), uids.end());
    for (const auto& [name, positions] : node_.downgraded) result.downgrade_cache.push_back(name);
    result.pod_allocation = memory_->pod_allocation;
    result.valid_vnode = node_.valid;
    result.idle_npu_core = node_.idle.value_or(0);
    result.unhealthy_chips.assign(node_.unhealthy.begin(), node_.unhealthy.end());
    return result;
}

} // namespace

std::unique_ptr<mindcluster_object> make_mindcluster_310p(const node& where, npu_node_info info,
                                                          const plugin_options& options) {
    if (!options.ascend_mindcluster) return nullptr;
    return std::make_unique<npu_object>(where, std::move(info), options);
}

std::vector<double> batch_score(std::span<const mindcluster_object* const> candidates, const pod& pending,
                                const plugin_options& options) {
    constexpr double full = 8;
    std::vector<double> scores(candidates.size());
    if (options.weight <= 0 || candidates.empty()) return scores;
    std::vector<std::size_t> order(candidates.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    // Upstream's sort keeps equal nodes in order up to 12 of them; beyond that we keep doing so.
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return candidates[i]->idle_cores(); });

    const auto marked = [&](std::size_t i) { return candidates[i]->downgraded(pending.name); };
    if (std::ranges::none_of(order, marked)) {
        scores[order.front()] = full;
        return scores;
    }
    for (const std::size_t i : order) {
        const bool downgraded_here = marked(i);
        scores[i] = downgraded_here ? full : 2 * full;
        if (!downgraded_here) break;
    }
    return scores;
}

} // namespace vgpualloc::compat::volcano
