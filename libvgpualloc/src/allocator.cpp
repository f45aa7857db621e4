// The indexed decision path.
#include "vgpualloc/alloc/allocator.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "vgpualloc/alloc/draw.hpp"
#include "vgpualloc/core/config.hpp"

namespace vgpualloc {

/// The scores of one group's nodes for one class, and how far they have followed the group's changes.
struct class_index {
    explicit class_index(std::size_t nodes) : scores{nodes}, codes(nodes, rejection_code::none) {}

    std::uint64_t changes_read = 0;
    std::uint64_t epoch = 0;
    std::uint64_t last_use = 0;
    bool built = false;
    score_tree scores;
    std::vector<rejection_code> codes;                           ///< per slot
    std::array<std::int64_t, rejection_code_count> code_count{}; ///< how many slots have each code

    void set(std::size_t slot, const node_answer& found) {
        if (codes[slot] != found.code) {
            --code_count[static_cast<std::size_t>(codes[slot])];
            ++code_count[static_cast<std::size_t>(found.code)];
            codes[slot] = found.code;
        }
        scores.set(slot, found.score);
    }
    [[nodiscard]] std::size_t bytes() const noexcept { return scores.bytes() + codes.capacity() + sizeof *this; }
};

namespace {

std::int64_t devices_wanted(const pod_request& request) {
    std::int64_t sum = 0;
    for (const device_request& each : request.containers) sum += each.count;
    return sum;
}

std::vector<std::uint32_t> kinds_of(const node& each) {
    std::vector<std::uint32_t> kinds;
    for (const device& d : each.devices) kinds.push_back(d.kind);
    std::ranges::sort(kinds);
    const auto repeated = std::ranges::unique(kinds);
    kinds.erase(repeated.begin(), repeated.end());
    return kinds;
}

} // namespace

allocator::allocator(ledger& book, policy_pair policies, allocator_options options)
    : ledger_{&book}, policies_{policies}, options_{options}, states_{book.nodes()}, outcomes_{states_},
      chooser_{states_, policies} {
    const cluster& owned = book.nodes();
    std::map<std::vector<std::uint32_t>, std::uint32_t> group_numbers;
    for (std::size_t i = 0; i < owned.nodes.size(); ++i) {
        const node& each = owned.nodes[i];
        first_device_.push_back(physical_.size());
        physical_.resize(physical_.size() + each.devices.size());
        const auto kinds = kinds_of(each);
        const auto [at, added] = group_numbers.emplace(kinds, static_cast<std::uint32_t>(groups_.size()));
        if (added) groups_.push_back({.kinds = kinds, .slots = {}});
        node_group& group = groups_[at->second];
        place_of_.push_back({.group = at->second, .slot = static_cast<std::uint32_t>(group.slots.size())});
        node_slot slot;
        slot.cpu_capacity = each.cpu;
        slot.node = node_index{i};
        group.slots.push_back(slot);
    }
    first_device_.push_back(physical_.size());
    start_afresh();
    // What happened before this allocator was made: policies are told, the state is read as it is.
    for (const ledger_event& event : book.events()) {
        const policy_event told{.kind = event.kind, .what = &book.bookings()[event.booking], .where = &owned};
        policies_.node->observe(told);
        if (policies_.device != policies_.node) policies_.device->observe(told);
    }
    events_read_ = book.events().size();
}

allocator::~allocator() = default;

void allocator::start_afresh() {
    ++id_generation_;
    states_.clear();
    outcomes_.clear();
    policies_.node->forget_ids();
    if (policies_.device != policies_.node) policies_.device->forget_ids();
    const cluster& owned = ledger_->nodes();
    for (std::size_t i = 0; i < owned.nodes.size(); ++i) {
        const node& each = owned.nodes[i];
        const auto states = ledger_->devices(node_index{i});
        for (std::size_t d = 0; d < states.size(); ++d) {
            physical_[first_device_[i] + d] = &states_.device(each.devices[d].kind, states[d]);
        }
        const host_use& used = ledger_->host(node_index{i});
        node_slot& slot = groups_[place_of_[i].group].slots[place_of_[i].slot];
        slot.cpu_left = each.cpu - used.cpu;
        slot.memory_left = each.memory - used.memory;
        slot.pods_left = each.pods_max - used.pods;
        slot.config = &states_.config(physical(node_index{i}));
    }
}

void allocator::sync() {
    const auto events = ledger_->events();
    for (; events_read_ < events.size(); ++events_read_) {
        const ledger_event& event = events[events_read_];
        const booking& what = ledger_->bookings()[event.booking];
        if (event.kind != ledger_event_kind::commit) apply(what);
        const policy_event told{.kind = event.kind, .what = &what, .where = &ledger_->nodes()};
        policies_.node->observe(told);
        if (policies_.device != policies_.node) policies_.device->observe(told);
    }
    if (states_.config_count() > options_.configs_max) start_afresh();
}

void allocator::apply(const booking& what) {
    const node_index where = what.where.node;
    const slot_place place = place_of_[where.at()];
    node_group& group = groups_[place.group];
    node_slot& slot = group.slots[place.slot];
    const node& owned = ledger_->nodes().nodes[where.at()];
    const host_use& used = ledger_->host(where);
    slot.cpu_left = owned.cpu - used.cpu;
    slot.memory_left = owned.memory - used.memory;
    slot.pods_left = owned.pods_max - used.pods;
    const auto states = ledger_->devices(where);
    for (const device_share& share : what.where.shares) {
        const device_view*& current = physical_[first_device_[where.at()] + share.device.at()];
        const device_view& now = states_.device(current->kind, states[share.device.at()]);
        if (&now == current) continue;
        slot.config = &states_.replace(*slot.config, *current, now);
        current = &now;
    }
    mark_changed(group, place.slot);
}

/// Moves a slot to the front of the group's list of latest changes, so that a class that fell behind meets every
/// changed node once, however often it changed.
void allocator::mark_changed(node_group& group, std::uint32_t slot) {
    node_slot& changed = group.slots[slot];
    changed.changed = ++group.changes;
    if (group.newest == slot) return;
    if (changed.newer != no_slot) group.slots[changed.newer].older = changed.older;
    if (changed.older != no_slot) group.slots[changed.older].newer = changed.newer;
    changed.newer = no_slot;
    changed.older = group.newest;
    if (group.newest != no_slot) group.slots[group.newest].newer = slot;
    group.newest = slot;
}

std::uint32_t allocator::class_of(const pod_request& request) {
    const auto [at, added] = class_numbers_.emplace(request, static_cast<std::uint32_t>(classes_.size()));
    if (added) {
        request_class made;
        made.request = request;
        made.shape = outcomes_.shape_of(request.containers);
        made.view = {.request = &at->first, .devices = devices_wanted(request)};
        made.indexes.resize(groups_.size());
        classes_.push_back(std::move(made));
    }
    return at->second;
}

allocator::request_part allocator::part_for(const pod_request& request, std::uint32_t group) {
    request_part part{.group = group};
    pod_request seen = request;
    for (device_request& wanted : seen.containers) {
        const auto& kinds = groups_[group].kinds;
        if (kinds.empty()) {
            part.refused = rejection_code::too_few_devices;
            return part;
        }
        std::size_t accepted = 0;
        rejection_code refused = rejection_code::none;
        for (const std::uint32_t kind : kinds) {
            const rejection_code code = why_never(ledger_->nodes().kinds[kind], wanted);
            if (code == rejection_code::none) ++accepted;
            if (refused == rejection_code::none) refused = code;
        }
        if (accepted == 0) {
            part.refused = refused;
            return part;
        }
        if (accepted == kinds.size()) {
            wanted.models.clear();
            wanted.mode.clear();
        }
    }
    part.class_number = class_of(seen);
    return part;
}

request_id allocator::intern(const pod_request& request) {
    const auto [at, added] = request_numbers_.emplace(request, static_cast<std::uint32_t>(requests_.size()));
    if (added) {
        request_record made{.original = request, .parts = {}};
        for (std::size_t g = 0; g < groups_.size(); ++g) {
            made.parts.push_back(part_for(request, static_cast<std::uint32_t>(g)));
        }
        requests_.push_back(std::move(made));
    }
    return request_id{at->second};
}

double allocator::stepwise_score(const request_class& asked, const node_view& before) {
    const device_config* next = chooser_.choose(asked.view, before, physical(before.node), {}, false, scratch_shares_);
    if (next == nullptr) return infeasible_score;
    const node_view after{.node = before.node,
                          .cpu_capacity = before.cpu_capacity,
                          .cpu_left = before.cpu_left - asked.request.cpu,
                          .config = next};
    return policies_.node->node_score(asked.view, before, after);
}

node_answer allocator::answer(const request_class& asked, const node_slot& slot) {
    if (slot.pods_left < 1) return {.code = rejection_code::too_many_pods};
    if (asked.request.cpu > slot.cpu_left) return {.code = rejection_code::insufficient_cpu};
    if (asked.request.memory > slot.memory_left) return {.code = rejection_code::insufficient_memory};
    const outcome_list found = outcomes_.of(asked.shape, *slot.config);
    if (found.code != rejection_code::none) return {.code = found.code};
    const node_view before{
        .node = slot.node, .cpu_capacity = slot.cpu_capacity, .cpu_left = slot.cpu_left, .config = slot.config};
    double best = infeasible_score;
    if (found.stepwise) {
        best = stepwise_score(asked, before);
        if (best == infeasible_score) return {.code = rejection_code::too_few_devices};
    } else {
        node_view after = before;
        after.cpu_left = slot.cpu_left - asked.request.cpu;
        const bool compare_devices = found.ways.size() > 1 && !policies_.one_score();
        double best_device = infeasible_score;
        for (const outcome& way : found.ways) {
            after.config = way.next;
            const double score = policies_.node->node_score(asked.view, before, after);
            const double device =
                compare_devices ? policies_.device->device_score(asked.view, before, after, {way.before, way.after})
                                : 0.0;
            if (device > best_device || (device == best_device && score > best)) {
                best_device = device;
                best = score;
            }
        }
    }
    VGA_ASSERT(best > infeasible_score, "a policy's score is a number");
    return {.code = rejection_code::none, .score = best};
}

void allocator::build(class_index& index, const request_class& asked, const node_group& group) {
    const bool alike = policies_.node->scores_by_state_alone() && policies_.device->scores_by_state_alone();
    const auto same_state = [](const node_slot& a, const node_slot& b) {
        return a.config == b.config && a.cpu_left == b.cpu_left && a.memory_left == b.memory_left &&
               a.cpu_capacity == b.cpu_capacity && (a.pods_left > 0) == (b.pods_left > 0);
    };
    node_answer found;
    index.code_count.fill(0);
    index.scores.assign(group.slots.size(), [&](std::size_t i) {
        if (i == 0 || !alike || !same_state(group.slots[i - 1], group.slots[i])) found = answer(asked, group.slots[i]);
        index.codes[i] = found.code;
        ++index.code_count[static_cast<std::size_t>(found.code)];
        return found.score;
    });
}

void allocator::refresh(class_index& index, const request_class& asked, const node_group& group) {
    for (std::uint32_t at = group.newest; at != no_slot; at = group.slots[at].older) {
        const node_slot& slot = group.slots[at];
        if (slot.changed <= index.changes_read) break;
        index.set(at, answer(asked, slot));
    }
}

void allocator::make_room(std::size_t bytes) {
    while (index_bytes_ > 0 && index_bytes_ + bytes > options_.index_bytes_max) {
        std::unique_ptr<class_index>* oldest = nullptr;
        for (request_class& each : classes_) {
            for (auto& index : each.indexes) {
                if (index && (oldest == nullptr || index->last_use < (*oldest)->last_use)) oldest = &index;
            }
        }
        index_bytes_ -= (*oldest)->bytes();
        oldest->reset();
    }
}

class_index& allocator::index_of(const request_part& part, std::uint64_t epoch) {
    const node_group& group = groups_[part.group];
    auto& kept = classes_[part.class_number].indexes[part.group];
    if (!kept) {
        auto made = std::make_unique<class_index>(group.slots.size());
        make_room(made->bytes());
        index_bytes_ += made->bytes();
        kept = std::move(made);
    }
    kept->last_use = ++use_clock_;
    if (!kept->built || kept->epoch != epoch) {
        build(*kept, classes_[part.class_number], group);
        kept->built = true;
        kept->epoch = epoch;
    } else if (kept->changes_read != group.changes) {
        refresh(*kept, classes_[part.class_number], group);
    }
    kept->changes_read = group.changes;
    return *kept;
}

node_index allocator::best_node(const request_record& asked) {
    double best = infeasible_score;
    node_index winner = node_index::none();
    const std::uint64_t epoch = policies_.node->epoch() + policies_.device->epoch();
    for (const request_part& part : asked.parts) {
        if (part.refused != rejection_code::none) continue;
        const class_index& index = index_of(part, epoch);
        const double score = index.scores.max();
        if (score == infeasible_score || score < best) continue;
        const node_index first = groups_[part.group].slots[index.scores.first_max()].node;
        if (score > best || first < winner) winner = first;
        best = score;
    }
    if (winner.valid() && policies_.node->draws_node_ties()) return draw_node(asked, best);
    return winner;
}

node_index allocator::draw_node(const request_record& asked, double best) {
    const auto tied = [&](std::size_t node) {
        const slot_place place = place_of_[node];
        const request_part& part = asked.parts[place.group];
        if (part.refused != rejection_code::none) return false;
        return classes_[part.class_number].indexes[part.group]->scores.at(place.slot) == best;
    };
    const auto list_tied = [&](std::vector<std::size_t>& out) {
        for (const request_part& part : asked.parts) {
            if (part.refused != rejection_code::none) continue;
            const class_index& index = *classes_[part.class_number].indexes[part.group];
            if (index.scores.max() != best) continue;
            index.scores.for_each_max(
                [&](std::size_t slot) { out.push_back(groups_[part.group].slots[slot].node.at()); });
        }
        std::ranges::sort(out);
    };
    return node_index{draw_tied_node(*policies_.node, place_of_.size(), tied, list_tied)};
}

rejection allocator::why_nowhere(const request_record& asked) {
    rejection result;
    for (const request_part& part : asked.parts) {
        const auto nodes = static_cast<std::int64_t>(groups_[part.group].slots.size());
        if (part.refused != rejection_code::none) {
            result.nodes[static_cast<std::size_t>(part.refused)] += nodes;
            continue;
        }
        const class_index& index = *classes_[part.class_number].indexes[part.group];
        for (std::size_t code = 0; code < rejection_code_count; ++code) result.nodes[code] += index.code_count[code];
    }
    return result;
}

node_view allocator::view_of(node_index where) {
    sync();
    const node_slot& slot = groups_[place_of_[where.at()].group].slots[place_of_[where.at()].slot];
    return {.node = where, .cpu_capacity = slot.cpu_capacity, .cpu_left = slot.cpu_left, .config = slot.config};
}

expected<placement, rejection> allocator::decide(request_id request) {
    sync();
    const request_record& asked = requests_[request.at()];
    const node_index winner = best_node(asked);
    if (!winner.valid()) return unexpected(why_nowhere(asked));
    const slot_place place = place_of_[winner.at()];
    const node_slot& slot = groups_[place.group].slots[place.slot];
    const request_class& seen = classes_[asked.parts[place.group].class_number];
    const node_view before{
        .node = winner, .cpu_capacity = slot.cpu_capacity, .cpu_left = slot.cpu_left, .config = slot.config};
    placement result{.node = winner, .shares = {}};
    if (seen.view.devices == 0) return result;
    const auto ways = seen.view.devices == 1 ? outcomes_.of(seen.shape, *slot.config).ways : std::span<const outcome>{};
    const device_config* next = chooser_.choose(seen.view, before, physical(winner), ways, true, result.shares);
    VGA_ASSERT(next != nullptr, "a node that answered yes has devices for the pod");
    return result;
}

expected<placement, rejection> allocator::place(pod_id pod, request_id request) {
    auto decided = decide(request);
    if (!decided) return decided;
    const pod_request& asked = requests_[request.at()].original;
    const auto booked = ledger_->reserve({.pod = pod, .cpu = asked.cpu, .memory = asked.memory, .where = *decided});
    VGA_ASSERT(booked.has_value(), "the ledger accepts what the allocator decides");
    ledger_->commit(pod);
    return decided;
}

std::vector<node_answer> allocator::evaluate(request_id request) {
    sync();
    const request_record& asked = requests_[request.at()];
    const std::uint64_t epoch = policies_.node->epoch() + policies_.device->epoch();
    std::vector<node_answer> answers(place_of_.size());
    for (const request_part& part : asked.parts) {
        const node_group& group = groups_[part.group];
        const class_index* index = part.refused == rejection_code::none ? &index_of(part, epoch) : nullptr;
        for (std::size_t i = 0; i < group.slots.size(); ++i) {
            node_answer& out = answers[group.slots[i].node.at()];
            out.code = index == nullptr ? part.refused : index->codes[i];
            if (out.code == rejection_code::none) out.score = index->scores.at(i);
        }
    }
    return answers;
}

} // namespace vgpualloc
