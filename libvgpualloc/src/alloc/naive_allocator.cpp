// The plain path. Shares no structure with allocator.cpp but the policies, the modes and the draw protocol.
#include "vgpualloc/alloc/naive_allocator.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "step_refusal.hpp"
#include "vgpualloc/alloc/draw.hpp"
#include "vgpualloc/core/config.hpp"

namespace vgpualloc {

struct naive_allocator::node_state {
    node_index node;
    milli_cpu cpu_capacity;
    milli_cpu cpu_left;
    std::vector<device_view> devices; ///< by index

    /// Calls use(view) with a view of this state; the view does not outlive the call.
    template <class Use>
    auto seen(Use&& use) const {
        std::vector<const device_view*> pointers;
        for (const device_view& each : devices) pointers.push_back(&each);
        device_config config{.devices = pointers};
        for (const device_view& each : devices) add_to_totals(config, each);
        return use(node_view{.node = node, .cpu_capacity = cpu_capacity, .cpu_left = cpu_left, .config = &config});
    }
    [[nodiscard]] node_state with(std::size_t index, const partition& part) const {
        node_state result = *this;
        device_view& changed = result.devices[index];
        changed.state = changed.spec->mode->with(*changed.spec, changed.state, part);
        changed.used = changed.spec->mode->used(*changed.spec, changed.state);
        return result;
    }
};

struct naive_allocator::step {
    std::size_t index = 0;
    partition part;
    int compromise = 0;
    double device_score = 0.0;
    double node_score = 0.0;
};

struct naive_allocator::choice {
    node_state state; ///< with what was chosen so far
    small_vector<device_share, 1> shares;
    std::vector<device_view> taken;  ///< per share
    std::vector<device_view> became; ///< per share
    int compromise = 0;              ///< the largest of the shares'
};

struct naive_allocator::question {
    request_view view;
    node_state start;
    std::vector<bool> avoided; ///< by device; empty = none
    bool may_draw = false;
    bool positional = false; ///< the policies look at which device it is

    [[nodiscard]] const pod_request& request() const noexcept { return *view.request; }
};

namespace {

std::int64_t count_devices(const pod_request& request) {
    std::int64_t sum = 0;
    for (const device_request& each : request.containers) sum += each.count;
    return sum;
}

bool lists(const std::vector<std::string>& list, const std::string& value) {
    return std::ranges::find(list, value) != list.end();
}

std::vector<const device_view*> pointers_to(const std::vector<device_view>& devices) {
    std::vector<const device_view*> result;
    for (const device_view& each : devices) result.push_back(&each);
    return result;
}

} // namespace

naive_allocator::naive_allocator(ledger& book, policy_pair policies, bool observes)
    : ledger_{&book}, policies_{policies}, traits_{traits_of(policies)}, observes_{observes} {}

void naive_allocator::observe_events() {
    for (; observes_ && events_read_ < ledger_->events().size(); ++events_read_) {
        const ledger_event& event = ledger_->events()[events_read_];
        const policy_event told{
            .kind = event.kind, .what = &ledger_->bookings()[event.booking], .where = &ledger_->nodes()};
        policies_.node->observe(told);
        if (policies_.device != policies_.node) policies_.device->observe(told);
    }
}

naive_allocator::node_state naive_allocator::state_of(node_index where) const {
    const node& owned = ledger_->nodes().nodes[where.at()];
    node_state result{
        .node = where, .cpu_capacity = owned.cpu, .cpu_left = owned.cpu - ledger_->host(where).cpu, .devices = {}};
    const auto states = ledger_->devices(where);
    for (std::size_t d = 0; d < states.size(); ++d) {
        const device_spec& spec = ledger_->nodes().kinds[owned.devices[d].kind];
        result.devices.push_back({.spec = &spec,
                                  .state = states[d],
                                  .kind = owned.devices[d].kind,
                                  .id = not_interned,
                                  .used = spec.mode->used(spec, states[d])});
    }
    return result;
}

/// Devices on which a pod runs whose tags this one avoids.
std::vector<bool> naive_allocator::avoided_devices(const pod_request& request, node_index where) const {
    if (request.avoids.empty()) return {};
    std::vector<bool> result(ledger_->devices(where).size(), false);
    for (const std::uint32_t position : ledger_->live_on(where)) {
        const booking& other = ledger_->bookings()[position];
        const bool avoided =
            std::ranges::any_of(other.tags, [&](const std::string& tag) { return lists(request.avoids, tag); });
        if (!avoided) continue;
        for (const device_share& share : other.where.shares) result[share.device.at()] = true;
    }
    return result;
}

rejection_detail naive_allocator::why_not_device(const question& asked, const node_state& now, std::size_t index,
                                                 const device_request& wanted) const {
    const device_view& view = now.devices[index];
    if (const auto code = why_never(*view.spec, wanted); code != rejection_code::none) return {.code = code};
    if (!wanted.uuids_allowed.empty() || !wanted.uuids_denied.empty()) {
        const std::string& uuid = ledger_->nodes().nodes[now.node.at()].devices[index].uuid;
        const bool allowed = wanted.uuids_allowed.empty() || lists(wanted.uuids_allowed, uuid);
        if (!allowed || lists(wanted.uuids_denied, uuid)) return {.code = rejection_code::uuid_not_accepted};
    }
    if (!asked.avoided.empty() && asked.avoided[index]) return {.code = rejection_code::device_avoided};
    return view.spec->mode->why_not(*view.spec, view.state, wanted);
}

/// `wanted` with the amount that depends on the node filled in (device_request::memory_of_first).
/// Upstream's order of the devices is that from before the pod.
device_request naive_allocator::settled(const question& asked, const device_request& wanted) const {
    if (!wanted.memory_of_first || wanted.memory_percent || wanted.memory > mib{0}) return wanted;
    const device_view* first = nullptr;
    double best = 0.0;
    const node_state& start = asked.start;
    start.seen([&](const node_view& view) {
        for (std::size_t d = 0; d < start.devices.size(); ++d) {
            const device_view& device = start.devices[d];
            if (!wanted.family.empty() && device.spec->family != wanted.family) continue;
            const double score = policies_.device->device_score(asked.view, view, view,
                                                                {.before = &device, .after = &device, .index = d});
            if (first != nullptr && score <= best) continue;
            first = &device;
            best = score;
        }
    });
    device_request result = wanted;
    if (first != nullptr) result.memory = first->spec->memory;
    return result;
}

void naive_allocator::score(const question& asked, const node_state& now, step& candidate) const {
    node_state after = now.with(candidate.index, candidate.part);
    after.cpu_left = asked.start.cpu_left - asked.request().cpu;
    asked.start.seen([&](const node_view& before_view) {
        after.seen([&](const node_view& after_view) {
            if (!asked.positional) {
                candidate.node_score = policies_.node->node_score(asked.view, before_view, after_view);
            }
            candidate.device_score = policies_.device->device_score(asked.view, before_view, after_view,
                                                                    {.before = &now.devices[candidate.index],
                                                                     .after = &after.devices[candidate.index],
                                                                     .index = candidate.index});
        });
    });
}

std::vector<naive_allocator::step> naive_allocator::possible_steps(const question& asked, const node_state& now,
                                                                   const device_request& wanted,
                                                                   const std::vector<bool>& taken,
                                                                   rejection& reasons) const {
    std::vector<step> possible;
    for (std::size_t d = 0; d < now.devices.size(); ++d) {
        if (taken[d]) continue;
        const device_view& device = now.devices[d];
        if (const auto code = why_not_device(asked, now, d, wanted).code; code != rejection_code::none) {
            ++reasons.nodes[static_cast<std::size_t>(code)];
            continue;
        }
        std::vector<partition> parts;
        device.spec->mode->candidates(*device.spec, device.state, wanted, parts);
        for (const partition& part : parts) {
            step candidate{
                .index = d, .part = part, .compromise = device.spec->mode->compromise(*device.spec, wanted, part)};
            score(asked, now, candidate);
            possible.push_back(candidate);
        }
    }
    return possible;
}

naive_allocator::step naive_allocator::best_step(const question& asked, const node_state& now,
                                                 std::vector<step> possible) {
    const auto rank = [](const step& s) { return std::tuple{-s.compromise, s.device_score, s.node_score}; };
    const auto best = rank(*std::ranges::max_element(possible, {}, rank));
    std::vector<step>& tied = possible; // by device index
    std::erase_if(tied, [&](const step& s) { return rank(s) != best; });
    if (asked.may_draw && traits_.draws_devices && policies_.device->draws_device_for(asked.view)) {
        std::vector<std::size_t> indices;
        for (const step& each : tied) {
            if (indices.empty() || indices.back() != each.index) indices.push_back(each.index);
        }
        const std::size_t index = indices[static_cast<std::size_t>(policies_.device->draw(indices.size()))];
        return *std::ranges::find(tied, index, &step::index);
    }
    if (asked.view.devices <= 1 || asked.positional) return tied.front();
    return *std::ranges::min_element(tied, {}, [&](const step& s) {
        const node_state after = now.with(s.index, s.part);
        return std::tuple{now.devices[s.index].kind, now.devices[s.index].state, after.devices[s.index].state};
    });
}

/// The devices that a container can have, those of the link group with the most of them first; within a group the best
/// first. Empty where link groups say nothing: some device of the node has none.
std::vector<std::size_t> naive_allocator::by_link_group(const question& asked, const node_state& now,
                                                        const std::vector<step>& possible) const {
    if (!asked.request().one_link_group) return {};
    const auto& devices = ledger_->nodes().nodes[now.node.at()].devices;
    if (std::ranges::any_of(devices, [](const device& each) { return each.link_group == no_link_group; })) return {};
    std::vector<step> ordered = possible;
    std::ranges::stable_sort(ordered, [](const step& a, const step& b) { return a.device_score > b.device_score; });
    std::map<std::int32_t, std::vector<std::size_t>> groups;
    for (const step& each : ordered) {
        auto& group = groups[devices[each.index].link_group];
        if (std::ranges::find(group, each.index) == group.end()) group.push_back(each.index);
    }
    std::vector<const std::vector<std::size_t>*> by_size;
    for (const auto& [id, group] : groups) by_size.push_back(&group);
    std::ranges::stable_sort(by_size, [](const auto* a, const auto* b) { return a->size() > b->size(); });
    std::vector<std::size_t> result;
    for (const auto* group : by_size) result.insert(result.end(), group->begin(), group->end());
    return result;
}

bool naive_allocator::choose_for(const question& asked, std::size_t container, choice& made, rejection_code& refused) {
    const device_request wanted = settled(asked, asked.request().containers[container]);
    std::vector<bool> taken(made.state.devices.size(), false);
    if (asked.request().containers_apart) {
        for (const device_share& share : made.shares) taken[share.device.at()] = true;
    }
    std::vector<std::size_t> planned;
    for (std::int64_t n = 0; n < wanted.count; ++n) {
        rejection reasons;
        std::vector<step> possible = possible_steps(asked, made.state, wanted, taken, reasons);
        if (n == 0) planned = by_link_group(asked, made.state, possible);
        if (!planned.empty()) {
            if (static_cast<std::size_t>(n) >= planned.size()) possible.clear();
            std::erase_if(possible, [&](const step& s) { return s.index != planned[static_cast<std::size_t>(n)]; });
        }
        if (possible.empty()) {
            refused = step_refusal(reasons, n);
            return false;
        }
        const step chosen = best_step(asked, made.state, std::move(possible));
        made.taken.push_back(made.state.devices[chosen.index]);
        made.shares.push_back({.container = static_cast<std::uint32_t>(container),
                               .device = device_index{chosen.index},
                               .part = chosen.part});
        made.state = made.state.with(chosen.index, chosen.part);
        made.became.push_back(made.state.devices[chosen.index]);
        made.compromise = std::max(made.compromise, chosen.compromise);
        taken[chosen.index] = true;
    }
    return true;
}

bool naive_allocator::choose(const question& asked, choice& made, rejection_code& refused) {
    made = {.state = asked.start, .shares = {}, .taken = {}, .became = {}};
    for (std::size_t c = 0; c < asked.request().containers.size(); ++c) {
        if (!choose_for(asked, c, made, refused)) return false;
    }
    return true;
}

double naive_allocator::score_of(const question& asked, const choice& made) const {
    node_state after = made.state;
    after.cpu_left = after.cpu_left - asked.request().cpu;
    return asked.start.seen([&](const node_view& before_view) {
        if (asked.positional) {
            const auto taken = pointers_to(made.taken);
            const auto became = pointers_to(made.became);
            return traits_.positional->placement_score(asked.view, {.before = before_view,
                                                                    .shares = {made.shares.begin(), made.shares.end()},
                                                                    .taken = taken,
                                                                    .became = became,
                                                                    .compromised = made.compromise > 0});
        }
        return after.seen([&](const node_view& after_view) {
            return policies_.node->node_score(asked.view, before_view, after_view);
        });
    });
}

rejection_code naive_allocator::why_never_here(const pod_request& request, node_index where) const {
    const node& owned = ledger_->nodes().nodes[where.at()];
    for (const device_request& wanted : request.containers) {
        if (owned.devices.empty()) return rejection_code::too_few_devices;
        std::uint32_t lowest_kind = not_interned;
        rejection_code refused = rejection_code::none;
        bool accepted = false;
        for (const device& each : owned.devices) {
            const rejection_code code = why_never(ledger_->nodes().kinds[each.kind], wanted);
            accepted = accepted || code == rejection_code::none;
            if (each.kind < lowest_kind) refused = code;
            lowest_kind = std::min(lowest_kind, each.kind);
        }
        if (!accepted) return refused;
    }
    return rejection_code::none;
}

node_answer naive_allocator::ask(const pod_request& request, node_index where) {
    if (const auto code = why_never_here(request, where); code != rejection_code::none) return {.code = code};
    if (const auto code = ledger_->why_not_host(where, request.cpu, mib{0}).code; code != rejection_code::none) {
        return {.code = code};
    }
    question asked = question_for(request, where);
    for (const device_request& each : request.containers) {
        if (each.count > static_cast<std::int64_t>(asked.start.devices.size())) {
            return {.code = rejection_code::too_few_devices};
        }
    }
    choice made;
    node_answer result;
    if (!choose(asked, made, result.code)) return result;
    result.code = ledger_->why_not_host(where, request.cpu, request.memory).code;
    if (result.code != rejection_code::none) return result;
    result.score = score_of(asked, made);
    result.compromise = asked.positional ? 0 : made.compromise;
    return result;
}

naive_allocator::question naive_allocator::question_for(const pod_request& request, node_index where) const {
    return {.view = {.request = &request, .devices = count_devices(request)},
            .start = state_of(where),
            .avoided = avoided_devices(request, where),
            .may_draw = false,
            .positional = traits_.positional != nullptr};
}

std::vector<node_answer> naive_allocator::evaluate(const pod_request& request) {
    observe_events();
    std::vector<node_answer> answers;
    for (std::size_t i = 0; i < ledger_->nodes().nodes.size(); ++i) answers.push_back(ask(request, node_index{i}));
    return answers;
}

expected<placement, rejection> naive_allocator::decide(const pod_request& request) {
    const auto answers = evaluate(request);
    const auto rank = [](const node_answer& a) { return std::pair{-a.compromise, a.score}; };
    rejection reasons;
    std::vector<std::size_t> tied;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        if (answers[i].code != rejection_code::none) {
            ++reasons.nodes[static_cast<std::size_t>(answers[i].code)];
            continue;
        }
        if (!tied.empty() && rank(answers[i]) < rank(answers[tied.front()])) continue;
        if (!tied.empty() && rank(answers[i]) > rank(answers[tied.front()])) tied.clear();
        tied.push_back(i);
    }
    if (tied.empty()) return unexpected(reasons);
    std::size_t winner = tied.front();
    if (traits_.draws_nodes) {
        winner = draw_tied_node(
            *policies_.node, answers.size(), [&](std::size_t i) { return std::ranges::binary_search(tied, i); },
            [&](std::vector<std::size_t>& out) { out = tied; });
    }
    question asked = question_for(request, node_index{winner});
    asked.may_draw = true;
    choice made;
    rejection_code refused = rejection_code::none;
    bool chosen = choose(asked, made, refused);
    if (!chosen) { // a drawn device left none for a later container
        asked.may_draw = false;
        chosen = choose(asked, made, refused);
    }
    VGA_ASSERT(chosen, "a node that answered yes has devices for the pod");
    return placement{.node = node_index{winner}, .shares = std::move(made.shares)};
}

expected<placement, rejection> naive_allocator::place(pod_id pod, const pod_request& request) {
    auto decided = decide(request);
    if (!decided) return decided;
    const auto booked = ledger_->reserve(
        {.pod = pod, .cpu = request.cpu, .memory = request.memory, .where = *decided, .tags = request.tags});
    VGA_ASSERT(booked.has_value(), "the ledger accepts what the allocator decides");
    ledger_->commit(pod);
    return decided;
}

std::vector<device_answer> naive_allocator::ask_devices(node_index where, const pod_request& request,
                                                        std::size_t container) {
    observe_events();
    const question asked = question_for(request, where);
    const device_request wanted = settled(asked, request.containers[container]);
    std::vector<device_answer> answers(asked.start.devices.size());
    for (std::size_t d = 0; d < answers.size(); ++d) {
        answers[d].refused = why_not_device(asked, asked.start, d, wanted);
    }
    rejection ignored;
    const std::vector<bool> none_taken(answers.size(), false);
    for (const step& each : possible_steps(asked, asked.start, wanted, none_taken, ignored)) {
        device_answer& of = answers[each.index];
        of.score = of.ways.empty() ? each.device_score : std::max(of.score, each.device_score);
        of.ways.push_back(each.part);
    }
    return answers;
}

} // namespace vgpualloc
