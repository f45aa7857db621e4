// The reference path. Shares no structure with the index but the policies, the modes and the draw protocol.
#include "alloc/reference.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "alloc/draw.hpp"
#include "alloc/step_rules.hpp"
#include "reference_parts.hpp"
#include "vgpualloc/core/config.hpp"

namespace vgpualloc {

namespace {

bool lists(const std::vector<std::string>& list, const std::string& value) {
    return std::ranges::find(list, value) != list.end();
}

bool has_avoided_tag(const pod_request& request, const booking& other) {
    return std::ranges::any_of(other.tags, [&](const std::string& tag) { return lists(request.avoids, tag); });
}

/// Why a device never serves a container, whatever is used of it.
rejection_code why_never_this(const device_spec& spec, const device& registered, const device_request& container) {
    if (const auto code = why_never(spec, container); code != rejection_code::none) return code;
    const bool allowed = container.uuids_allowed.empty() || lists(container.uuids_allowed, registered.uuid);
    const bool accepted = allowed && !lists(container.uuids_denied, registered.uuid);
    return accepted ? rejection_code::none : rejection_code::uuid_not_accepted;
}

std::vector<const device_view*> pointers_to(const std::vector<device_view>& devices) {
    std::vector<const device_view*> pointers;
    pointers.reserve(devices.size());
    for (const device_view& device : devices) pointers.push_back(&device);
    return pointers;
}

} // namespace

reference_allocator::reference_allocator(const ledger& book, policy_pair policies, state_table* states)
    : ledger_{&book}, policies_{policies}, traits_{traits_of(policies)}, states_{states},
      census_{std::make_unique<peer_census>(book)} {}

void reference_allocator::observe() {
    next_event_ = std::max(next_event_, ledger_->first_event());
    for (; next_event_ < ledger_->next_event(); ++next_event_) {
        tell_policies(*ledger_, ledger_->event(next_event_), policies_);
    }
}

reference_allocator::node_state reference_allocator::state_of(node_index where) const {
    const node& described = ledger_->nodes().nodes[where.at()];
    node_state result{.node = where,
                      .cpu_capacity = described.cpu,
                      .cpu_left = described.cpu - ledger_->host(where).cpu,
                      .devices = {}};
    const auto use = ledger_->devices(where);
    const auto services = ledger_->services(where);
    result.devices.reserve(use.size());
    for (std::size_t d = 0; d < use.size(); ++d) {
        const device_spec& spec = ledger_->nodes().kinds[described.devices[d].kind];
        result.devices.push_back({.spec = &spec,
                                  .state = use[d],
                                  .kind = described.devices[d].kind,
                                  .id = not_interned,
                                  .used = spec.mode->used(spec, use[d]),
                                  .service = services[d]});
    }
    return result;
}

/// Devices on which a pod runs whose tags this one avoids.
std::vector<bool> reference_allocator::avoided_devices(const pod_request& request, node_index where) const {
    if (request.avoids.empty()) return {};
    std::vector<bool> avoided(ledger_->devices(where).size(), false);
    for (const std::uint32_t slot : ledger_->live_on(where)) {
        const booking& other = ledger_->bookings()[slot];
        if (!has_avoided_tag(request, other)) continue;
        const auto avoid = [&](const booking& held) {
            for (const device_share& share : held.where.shares) avoided[share.device.at()] = true;
        };
        avoid(other);
        for (const claim_id claim : other.claims) avoid(ledger_->booking_of(claim));
    }
    return avoided;
}

bool reference_allocator::names_matter(const pod_request& request, node_index where) const {
    const auto& devices = ledger_->nodes().nodes[where.at()].devices;
    for (const device_request& container : request.containers) {
        if (!container.uuids_allowed.empty()) return true;
        if (container.uuids_denied.empty()) continue;
        const auto is_denied = [&](const device& registered) { return lists(container.uuids_denied, registered.uuid); };
        if (std::ranges::any_of(devices, is_denied)) return true;
    }
    const auto has_group = [](const device& registered) { return registered.link_group != no_link_group; };
    if (request.one_link_group && std::ranges::all_of(devices, has_group)) return true;
    if (request.avoids.empty()) return false;
    return std::ranges::any_of(ledger_->live_on(where),
                               [&](std::uint32_t slot) { return has_avoided_tag(request, ledger_->bookings()[slot]); });
}

rejection_code reference_allocator::fixed_refusal(const pod_request& request, node_index where) const {
    const auto first =
        std::ranges::find_if(request.containers, [](const auto& container) { return container.count > 0; });
    if (first == request.containers.end()) return rejection_code::none;
    rejection reasons;
    for (const device& registered : ledger_->nodes().nodes[where.at()].devices) {
        const device_spec& spec = ledger_->nodes().kinds[registered.kind];
        const rejection_code code = why_never_this(spec, registered, *first);
        if (code == rejection_code::none) return rejection_code::none;
        ++reasons.nodes[static_cast<std::size_t>(code)];
    }
    return step_refusal(reasons, 0);
}

/// Why a container may not have a device, whatever is left of it.
rejection_code reference_allocator::why_not_admitted(const question& attempt, std::size_t index,
                                                     const device_request& container) const {
    const device_view& device = attempt.start.devices[index];
    const auto& registered = ledger_->nodes().nodes[attempt.start.node.at()].devices[index];
    const auto never = why_never_this(*device.spec, registered, container);
    if (never != rejection_code::none) return never;
    if (const auto code = why_closed(device.service); code != rejection_code::none) return code;
    const bool avoided = !attempt.avoided.empty() && attempt.avoided[index];
    return avoided ? rejection_code::device_avoided : rejection_code::none;
}

rejection_detail reference_allocator::why_not_device(const question& attempt, const node_state& now, std::size_t index,
                                                     const device_request& container) const {
    const auto code = why_not_admitted(attempt, index, container);
    if (code != rejection_code::none) return {.code = code};
    const device_view& device = now.devices[index];
    return device.spec->mode->why_not(*device.spec, device.state, container);
}

/// `container` with the amount that depends on the node filled in (device_request::memory_of_first). The order of the
/// devices is that from before the pod.
device_request reference_allocator::settled(const question& attempt, const device_request& container) const {
    if (!container.memory_of_first || container.memory_percent || container.memory > mib{0}) return container;
    const device_view* first = nullptr;
    double best = 0.0;
    const node_state& start = attempt.start;
    const seen_state seen{*this, start};
    for (std::size_t d = 0; d < start.devices.size(); ++d) {
        const device_view& device = start.devices[d];
        if (!container.family.empty() && device.spec->family != container.family) continue;
        const double score = policies_.device->device_score(attempt.view, seen.view, seen.view,
                                                            {.before = &device, .after = &device, .index = d});
        if (first != nullptr && score <= best) continue;
        first = &device;
        best = score;
    }
    device_request result = container;
    if (first != nullptr) result.memory = first->spec->memory;
    return result;
}

/// `start` is attempt.start as policies see it, and `current` is `now`.
void reference_allocator::score(const question& attempt, const seen_state& start, seen_state& current,
                                const node_state& now, step& candidate) const {
    if (attempt.positional && !traits_.one_score && policies_.device->positional() != nullptr) {
        // Such policies look at the device alone, so nothing is copied for each of a node's many devices.
        const device_view& before = now.devices[candidate.index];
        const device_view after = with_part(before, candidate.part);
        candidate.device_score = policies_.device->device_score(
            attempt.view, start.view, start.view, {.before = &before, .after = &after, .index = candidate.index});
        return;
    }
    const device_view* before = current.pointers[candidate.index];
    const device_view after = with_part(*before, candidate.part);
    const device_view* const became =
        states_ == nullptr ? &after : &states_->device(after.kind, after.state, after.service);
    // The node as it would be is looked at in place: of a thousand devices each makes another one.
    current.pointers[candidate.index] = became;
    device_config config = totals_after(current.config, *before, *became);
    config.devices = current.pointers;
    const node_view node{.node = now.node,
                         .cpu_capacity = now.cpu_capacity,
                         .cpu_left = attempt.start.cpu_left - attempt.request().cpu,
                         .config = &config};
    if (!attempt.positional) candidate.node_score = policies_.node->node_score(attempt.view, start.view, node);
    candidate.device_score =
        traits_.one_score
            ? candidate.node_score
            : policies_.device->device_score(attempt.view, start.view, node,
                                             {.before = before, .after = became, .index = candidate.index});
    current.pointers[candidate.index] = before;
}

/// Where states are interned and no position matters, devices in one state have the same parts and scores: a node of a
/// thousand equal GPUs scores one of them.
std::vector<reference_allocator::step>
reference_allocator::possible_steps(const question& attempt, const node_state& now, const device_request& container,
                                    const std::vector<bool>& taken, rejection& reasons) const {
    std::vector<step> possible;
    struct steps_of_state {
        std::size_t begin = 0;
        std::size_t end = 0;
    };
    std::map<std::uint32_t, steps_of_state> steps_by_state; // by id of the state, in `possible`
    const bool alike = states_ != nullptr && !attempt.positional;
    const seen_state start{*this, attempt.start};
    seen_state current{*this, now};
    std::vector<partition> parts;
    for (std::size_t d = 0; d < now.devices.size(); ++d) {
        if (taken[d]) continue;
        const device_view& device = now.devices[d];
        if (const auto code = why_not_device(attempt, now, d, container).code; code != rejection_code::none) {
            ++reasons.nodes[static_cast<std::size_t>(code)];
            continue;
        }
        steps_of_state* steps_of_this = nullptr;
        if (alike) {
            const std::uint32_t id = states_->device(device.kind, device.state, device.service).id;
            steps_of_this = &steps_by_state.try_emplace(id).first->second;
            for (std::size_t i = steps_of_this->begin; i < steps_of_this->end; ++i) {
                step candidate = possible[i];
                candidate.index = d;
                possible.push_back(candidate);
            }
            if (steps_of_this->begin != steps_of_this->end) continue;
            steps_of_this->begin = possible.size();
        }
        parts.clear();
        device.spec->mode->candidates(*device.spec, device.state, container, parts);
        for (const partition& part : parts) {
            step candidate{.index = d,
                           .part = part,
                           .compromise = device.spec->mode->compromise(*device.spec, container, part),
                           .unit_rank = unit_rank(*device.spec->mode, device.state, part)};
            score(attempt, start, current, now, candidate);
            possible.push_back(candidate);
        }
        if (steps_of_this != nullptr) steps_of_this->end = possible.size();
    }
    return possible;
}

const reference_allocator::step& reference_allocator::best_step(const question& attempt, const node_state& now,
                                                                std::vector<step>& possible) const {
    const auto rank = [](const step& s) {
        return std::tuple{-s.compromise, -s.unit_rank, s.device_score, s.node_score};
    };
    const auto best = rank(*std::ranges::max_element(possible, {}, rank));
    std::vector<step>& tied = possible; // by device index
    std::erase_if(tied, [&](const step& s) { return rank(s) != best; });
    if (attempt.may_draw && traits_.draws_devices && policies_.device->draws_device_for(attempt.view)) {
        std::vector<std::size_t> indices;
        for (const step& candidate : tied) {
            if (indices.empty() || indices.back() != candidate.index) indices.push_back(candidate.index);
        }
        const std::size_t index = indices[static_cast<std::size_t>(policies_.device->draw(indices.size()))];
        return *std::ranges::find(tied, index, &step::index);
    }
    if (attempt.view.devices <= 1 || attempt.positional) return tied.front();
    const auto state_after = [&](const step& s) {
        const device_view& device = now.devices[s.index];
        return device.spec->mode->with(*device.spec, device.state, s.part);
    };
    return *std::ranges::min_element(tied, [&](const step& a, const step& b) {
        return goes_first(now.devices[a.index], state_after(a), now.devices[b.index], state_after(b));
    });
}

/// The devices that a container can have, those of the link group with the most of them first; within a group the best
/// first. Empty where link groups say nothing: some device of the node has none.
std::vector<std::size_t> reference_allocator::by_link_group(const question& attempt, const node_state& now,
                                                            const std::vector<step>& possible) const {
    if (!attempt.request().one_link_group) return {};
    const auto& devices = ledger_->nodes().nodes[now.node.at()].devices;
    const auto has_none = [](const device& registered) { return registered.link_group == no_link_group; };
    if (std::ranges::any_of(devices, has_none)) return {};
    std::vector<step> ordered = possible;
    std::ranges::stable_sort(ordered, [](const step& a, const step& b) { return a.device_score > b.device_score; });
    std::map<std::int32_t, std::vector<std::size_t>> groups;
    for (const step& candidate : ordered) {
        auto& group = groups[devices[candidate.index].link_group];
        if (std::ranges::find(group, candidate.index) == group.end()) group.push_back(candidate.index);
    }
    std::vector<const std::vector<std::size_t>*> by_size;
    for (const auto& [id, group] : groups) by_size.push_back(&group);
    std::ranges::stable_sort(by_size, [](const auto* a, const auto* b) { return a->size() > b->size(); });
    std::vector<std::size_t> order;
    for (const auto* group : by_size) order.insert(order.end(), group->begin(), group->end());
    return order;
}

bool reference_allocator::choose_for(const question& attempt, std::size_t container_number, choice& chosen,
                                     rejection_code& refused) const {
    const device_request container = settled(attempt, attempt.request().containers[container_number]);
    std::vector<bool> taken(chosen.state.devices.size(), false);
    if (attempt.request().containers_apart) {
        for (const device_share& share : chosen.shares) taken[share.device.at()] = true;
    }
    std::vector<std::size_t> planned;
    for (std::int64_t n = 0; n < container.count; ++n) {
        rejection reasons;
        std::vector<step> possible = possible_steps(attempt, chosen.state, container, taken, reasons);
        if (n == 0) planned = by_link_group(attempt, chosen.state, possible);
        if (!planned.empty()) {
            if (static_cast<std::size_t>(n) >= planned.size()) possible.clear();
            std::erase_if(possible, [&](const step& s) { return s.index != planned[static_cast<std::size_t>(n)]; });
        }
        if (possible.empty()) {
            refused = step_refusal(reasons, n);
            return false;
        }
        const step& best = best_step(attempt, chosen.state, possible);
        chosen.take(container_number, best);
        taken[best.index] = true;
    }
    return true;
}

bool reference_allocator::choose_greedily(const question& attempt, choice& chosen, rejection_code& refused) const {
    chosen = {.state = attempt.start};
    for (std::size_t c = 0; c < attempt.request().containers.size(); ++c) {
        if (!choose_for(attempt, c, chosen, refused)) return false;
    }
    return true;
}

bool reference_allocator::choose_all(const question& attempt, choice& chosen, rejection_code& refused) const {
    return choose_greedily(attempt, chosen, refused) || (!attempt.may_draw && choose_ahead(attempt, chosen));
}

double reference_allocator::score_of(const question& attempt, const choice& chosen) const {
    const seen_state before{*this, attempt.start};
    if (attempt.positional) {
        const auto taken = pointers_to(chosen.taken);
        const auto became = pointers_to(chosen.became);
        return traits_.positional->placement_score(attempt.view,
                                                   {.before = before.view,
                                                    .described = &ledger_->nodes().nodes[attempt.start.node.at()],
                                                    .shares = {chosen.shares.begin(), chosen.shares.end()},
                                                    .taken = taken,
                                                    .became = became,
                                                    .compromised = chosen.compromise > 0});
    }
    node_state state = chosen.state;
    state.cpu_left = state.cpu_left - attempt.request().cpu;
    const seen_state after{*this, state};
    return policies_.node->node_score(attempt.view, before.view, after.view);
}

rejection_detail reference_allocator::why_not_node(const pod_request& request, node_index where) const {
    if (!ledger_->is_present(where)) return {.code = rejection_code::node_gone};
    const node& described = ledger_->nodes().nodes[where.at()];
    for (const device_request& container : request.containers) {
        if (described.devices.empty()) {
            return {.code = rejection_code::too_few_devices, .wanted = container.count, .available = 0};
        }
        std::uint32_t lowest_kind = not_interned;
        rejection_code refused = rejection_code::none;
        bool accepted = false;
        for (const device& registered : described.devices) {
            const rejection_code code = why_never(ledger_->nodes().kinds[registered.kind], container);
            accepted = accepted || code == rejection_code::none;
            if (registered.kind < lowest_kind) refused = code;
            lowest_kind = std::min(lowest_kind, registered.kind);
        }
        if (!accepted) return {.code = refused};
    }
    if (const auto code = why_not_host(request.rules, described.host, described.name); code != rejection_code::none) {
        return {.code = code};
    }
    const rejection_detail refusal = ledger_->why_not_host(where, request.cpu, bytes{0});
    if (refusal.code != rejection_code::none) return refusal;
    const auto devices = static_cast<std::int64_t>(described.devices.size());
    for (const device_request& container : request.containers) {
        if (container.count > devices) {
            return {.code = rejection_code::too_few_devices, .wanted = container.count, .available = devices};
        }
    }
    return {};
}

node_answer reference_allocator::attempt_on(const question& attempt, choice& chosen, rejection_detail& refusal) const {
    const pod_request& request = attempt.request();
    if (!choose_all(attempt, chosen, refusal.code)) return {.code = refusal.code};
    refusal = ledger_->why_not_host(attempt.start.node, request.cpu, request.memory);
    if (refusal.code != rejection_code::none) return {.code = refusal.code};
    return {.score = score_of(attempt, chosen), .compromise = attempt.positional ? 0 : chosen.compromise};
}

reference_allocator::question reference_allocator::question_for(const pod_request& request, node_index where) const {
    return {.view = {.request = &request, .devices = count_devices(request)},
            .start = state_of(where),
            .avoided = avoided_devices(request, where),
            .may_draw = false,
            .positional = traits_.positional != nullptr};
}

node_answer reference_allocator::answer(const pod_request& request, node_index where) const {
    rejection_detail refusal = why_not_node(request, where);
    if (refusal.code != rejection_code::none) return {.code = refusal.code};
    choice chosen;
    node_answer result = attempt_on(question_for(request, where), chosen, refusal);
    if (result.code == rejection_code::none) result.code = why_not_beside_peers(request, where).code;
    return result;
}

std::vector<node_answer> reference_allocator::evaluate(const pod_request& request) const {
    std::vector<node_answer> answers;
    const std::size_t nodes = ledger_->nodes().nodes.size();
    answers.reserve(nodes);
    for (std::size_t i = 0; i < nodes; ++i) answers.push_back(answer(request, node_index{i}));
    return answers;
}

expected<placement, rejection> reference_allocator::decide(const pod_request& request) const {
    const auto answers = evaluate(request);
    const auto rank = [](const node_answer& a) { return std::pair{-a.compromise, a.score}; };
    rejection reasons;
    std::vector<std::size_t> tied;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        if (answers[i].code == rejection_code::node_gone) continue;
        if (answers[i].code != rejection_code::none) {
            ++reasons.nodes[static_cast<std::size_t>(answers[i].code)];
            continue;
        }
        if (!tied.empty() && rank(answers[i]) < rank(answers[tied.front()])) continue;
        if (!tied.empty() && rank(answers[i]) > rank(answers[tied.front()])) tied.clear();
        tied.push_back(i);
    }
    if (tied.empty()) return unexpected(reasons);
    std::size_t winner =
        *std::ranges::min_element(tied, {}, [this](std::size_t i) { return ledger_->rank_of(node_index{i}); });
    if (traits_.draws_nodes) {
        winner = draw_tied_node(
            *policies_.node, answers.size(), [&](std::size_t i) { return std::ranges::binary_search(tied, i); },
            [&](std::vector<std::size_t>& out) { out = tied; });
    }
    return choose(request, node_index{winner}, true);
}

placement reference_allocator::choose(const pod_request& request, node_index where, bool may_draw) const {
    question attempt = question_for(request, where);
    attempt.may_draw = may_draw;
    choice chosen;
    rejection_code refused = rejection_code::none;
    bool fits = choose_all(attempt, chosen, refused);
    if (!fits) { // a drawn device left none for a later container
        attempt.may_draw = false;
        fits = choose_all(attempt, chosen, refused);
    }
    VGA_ASSERT(fits, "a node that answered yes has devices for the pod");
    return {.node = where, .shares = std::move(chosen.shares)};
}

} // namespace vgpualloc
