// The reference path. Shares no structure with allocator.cpp but the policies, the modes and the draw protocol.
#include "vgpualloc/alloc/naive_allocator.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

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
    double device_score = 0.0;
    double node_score = 0.0;
};

namespace {

std::int64_t count_devices(const pod_request& request) {
    std::int64_t sum = 0;
    for (const device_request& each : request.containers) sum += each.count;
    return sum;
}

} // namespace

naive_allocator::naive_allocator(ledger& book, policy_pair policies) : ledger_{&book}, policies_{policies} {}

void naive_allocator::observe_events() {
    for (; events_read_ < ledger_->events().size(); ++events_read_) {
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

bool naive_allocator::next_step(const request_view& request, const node_state& start, const node_state& now,
                                const device_request& wanted, const std::vector<bool>& taken, bool may_draw, step& best,
                                rejection& reasons) {
    std::vector<step> tied; // of the highest scores, by device index
    const auto state_key = [&](const step& s) {
        const node_state after = now.with(s.index, s.part);
        return std::tuple{now.devices[s.index].kind, now.devices[s.index].state, after.devices[s.index].state};
    };
    for (std::size_t d = 0; d < now.devices.size(); ++d) {
        if (taken[d]) continue;
        const device_view& device = now.devices[d];
        if (const auto code = why_not(*device.spec, device.state, wanted).code; code != rejection_code::none) {
            ++reasons.nodes[static_cast<std::size_t>(code)];
            continue;
        }
        std::vector<partition> parts;
        device.spec->mode->candidates(*device.spec, device.state, wanted, parts);
        for (const partition& part : parts) {
            node_state after = now.with(d, part);
            after.cpu_left = start.cpu_left - request.request->cpu;
            step candidate{.index = d, .part = part};
            start.seen([&](const node_view& before_view) {
                after.seen([&](const node_view& after_view) {
                    candidate.node_score = policies_.node->node_score(request, before_view, after_view);
                    candidate.device_score = policies_.device->device_score(
                        request, before_view, after_view, {.before = &device, .after = &after.devices[d]});
                });
            });
            const auto scores = [](const step& s) { return std::pair{s.device_score, s.node_score}; };
            if (!tied.empty() && scores(candidate) < scores(tied.front())) continue;
            if (!tied.empty() && scores(candidate) > scores(tied.front())) tied.clear();
            tied.push_back(candidate);
        }
    }
    if (tied.empty()) return false;
    if (may_draw && policies_.device->draws_device_ties(request)) {
        std::vector<std::size_t> indices;
        for (const step& each : tied) {
            if (indices.empty() || indices.back() != each.index) indices.push_back(each.index);
        }
        const std::size_t index = indices[static_cast<std::size_t>(policies_.device->draw(indices.size()))];
        best = *std::ranges::find(tied, index, &step::index);
    } else if (request.devices > 1) {
        best = *std::ranges::min_element(tied, {}, state_key);
    } else {
        best = tied.front();
    }
    return true;
}

bool naive_allocator::choose(const request_view& request, node_state& state, bool may_draw,
                             small_vector<device_share, 1>& shares, rejection_code& refused) {
    const node_state start = state;
    const auto& containers = request.request->containers;
    for (std::size_t c = 0; c < containers.size(); ++c) {
        std::vector<bool> taken(state.devices.size(), false);
        for (std::int64_t n = 0; n < containers[c].count; ++n) {
            step chosen;
            rejection reasons;
            if (!next_step(request, start, state, containers[c], taken, may_draw, chosen, reasons)) {
                refused = n > 0 ? rejection_code::too_few_devices : reasons.main_code();
                return false;
            }
            shares.push_back({.container = static_cast<std::uint32_t>(c),
                              .device = device_index{chosen.index},
                              .part = chosen.part});
            state = state.with(chosen.index, chosen.part);
            taken[chosen.index] = true;
        }
    }
    return true;
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
    node_state state = state_of(where);
    for (const device_request& each : request.containers) {
        if (each.count > static_cast<std::int64_t>(state.devices.size())) {
            return {.code = rejection_code::too_few_devices};
        }
    }
    const request_view view{.request = &request, .devices = count_devices(request)};
    const node_state before = state;
    small_vector<device_share, 1> shares;
    node_answer result;
    if (!choose(view, state, false, shares, result.code)) return result;
    result.code = ledger_->why_not_host(where, request.cpu, request.memory).code;
    if (result.code != rejection_code::none) return result;
    state.cpu_left = state.cpu_left - request.cpu;
    before.seen([&](const node_view& before_view) {
        state.seen([&](const node_view& after_view) {
            result.score = policies_.node->node_score(view, before_view, after_view);
        });
    });
    return result;
}

std::vector<node_answer> naive_allocator::evaluate(const pod_request& request) {
    observe_events();
    std::vector<node_answer> answers;
    for (std::size_t i = 0; i < ledger_->nodes().nodes.size(); ++i) answers.push_back(ask(request, node_index{i}));
    return answers;
}

expected<placement, rejection> naive_allocator::decide(const pod_request& request) {
    const auto answers = evaluate(request);
    rejection reasons;
    std::vector<std::size_t> tied;
    double best = infeasible_score;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        if (answers[i].code != rejection_code::none) {
            ++reasons.nodes[static_cast<std::size_t>(answers[i].code)];
            continue;
        }
        if (answers[i].score > best) tied.clear();
        if (answers[i].score >= best) tied.push_back(i);
        best = std::max(best, answers[i].score);
    }
    if (tied.empty()) return unexpected(reasons);
    std::size_t winner = tied.front();
    if (policies_.node->draws_node_ties()) {
        winner = draw_tied_node(
            *policies_.node, answers.size(), [&](std::size_t i) { return std::ranges::binary_search(tied, i); },
            [&](std::vector<std::size_t>& out) { out = tied; });
    }
    placement result{.node = node_index{winner}, .shares = {}};
    node_state state = state_of(result.node);
    rejection_code refused = rejection_code::none;
    const request_view view{.request = &request, .devices = count_devices(request)};
    bool chosen = choose(view, state, true, result.shares, refused);
    if (!chosen) { // a drawn device left none for a later container
        state = state_of(result.node);
        result.shares.clear();
        chosen = choose(view, state, false, result.shares, refused);
    }
    VGA_ASSERT(chosen, "a node that answered yes has devices for the pod");
    return result;
}

expected<placement, rejection> naive_allocator::place(pod_id pod, const pod_request& request) {
    auto decided = decide(request);
    if (!decided) return decided;
    const auto booked = ledger_->reserve({.pod = pod, .cpu = request.cpu, .memory = request.memory, .where = *decided});
    VGA_ASSERT(booked.has_value(), "the ledger accepts what the allocator decides");
    ledger_->commit(pod);
    return decided;
}

} // namespace vgpualloc
