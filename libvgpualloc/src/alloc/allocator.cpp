// The indexed decision path.
#include "vgpualloc/alloc/allocator.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "class_index.hpp"
#include "vgpualloc/alloc/draw.hpp"
#include "vgpualloc/core/config.hpp"

namespace vgpualloc {

namespace {

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
    : ledger_{&book}, policies_{policies}, traits_{traits_of(policies)}, options_{options}, states_{book.nodes()},
      outcomes_{states_}, chooser_{states_, outcomes_, policies}, totals_{parts_, policies},
      plain_{book, policies, false} {
    const cluster& owned = book.nodes();
    std::map<std::vector<std::uint32_t>, std::uint32_t> group_numbers;
    for (std::size_t i = 0; i < owned.nodes.size(); ++i) {
        const node& each = owned.nodes[i];
        first_device_.push_back(physical_.size());
        physical_.resize(physical_.size() + each.devices.size());
        const auto kinds = kinds_of(each);
        const auto [at, added] = group_numbers.emplace(kinds, static_cast<std::uint32_t>(groups_.size()));
        if (added) groups_.push_back({.kinds = kinds, .slots = {}, .facts = {}});
        node_group& group = groups_[at->second];
        place_of_.push_back({.group = at->second, .slot = static_cast<std::uint32_t>(group.slots.size())});
        group.slots.emplace_back();
        group.facts.push_back({.memory_left = {}, .cpu_capacity = each.cpu, .node = node_index{i}});
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
    parts_.forget();
    policies_.node->forget_ids();
    if (policies_.device != policies_.node) policies_.device->forget_ids();
    const cluster& owned = ledger_->nodes();
    for (std::size_t i = 0; i < owned.nodes.size(); ++i) {
        const node& each = owned.nodes[i];
        const auto states = ledger_->devices(node_index{i});
        for (std::size_t d = 0; d < states.size(); ++d) {
            physical_[first_device_[i] + d] = &states_.device(each.devices[d].kind, states[d]);
        }
        read_host(node_index{i});
        node_slot& slot = groups_[place_of_[i].group].slots[place_of_[i].slot];
        slot.config = &states_.config(physical(node_index{i}));
        slot.config_id = slot.config->id;
    }
    devices_when_fresh_ = states_.device_count();
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
    if (states_.config_count() > options_.configs_max ||
        states_.device_count() > std::max(options_.devices_max, 4 * devices_when_fresh_)) {
        start_afresh();
    }
}

/// Takes over what the ledger says of a node's host part.
void allocator::read_host(node_index where) {
    const node& owned = ledger_->nodes().nodes[where.at()];
    const host_use& used = ledger_->host(where);
    const slot_place place = place_of_[where.at()];
    node_group& group = groups_[place.group];
    group.slots[place.slot].cpu_left = owned.cpu - used.cpu;
    group.slots[place.slot].takes_pods = used.pods < owned.pods_max;
    group.facts[place.slot].memory_left = owned.memory - used.memory;
}

void allocator::apply(const booking& what) {
    const node_index where = what.where.node;
    read_host(where);
    const slot_place place = place_of_[where.at()];
    node_slot& slot = groups_[place.group].slots[place.slot];
    const auto states = ledger_->devices(where);
    const bool several = what.where.shares.size() > 1; // configurations in between would never be seen
    for (const device_share& share : what.where.shares) {
        const device_view*& current = physical_[first_device_[where.at()] + share.device.at()];
        const device_view& now = states_.device(current->kind, states[share.device.at()]);
        if (&now == current) continue;
        if (!several) slot.config = &states_.replace(*slot.config, *current, now);
        current = &now;
    }
    if (several) slot.config = &states_.config(physical(where));
    slot.config_id = slot.config->id;
    mark_changed(groups_[place.group], place.slot);
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

double allocator::stepwise_score(const request_class& asked, const node_view& before) {
    const device_config* next = chooser_.choose(asked.view, before, physical(before.node), {}, false, scratch_shares_);
    if (next == nullptr) return infeasible_because(chooser_.refused());
    const node_view after{.node = before.node,
                          .cpu_capacity = before.cpu_capacity,
                          .cpu_left = before.cpu_left - asked.request.cpu,
                          .config = next};
    return checked_score(policies_.node->node_score(asked.view, before, after));
}

/// The score of the best way on one node: by device score, then by node score.
double allocator::best_score(const request_class& asked, const node_view& before, std::span<outcome> ways) {
    node_view after = before;
    after.cpu_left = before.cpu_left - asked.request.cpu;
    const bool compare_devices = ways.size() > 1 && !traits_.one_score;
    double best = infeasible_score;
    double best_device = infeasible_score;
    for (outcome& way : ways) {
        after.config = &outcomes_.next_of(way, *before.config);
        const double score = policies_.node->node_score(asked.view, before, after);
        const double device =
            compare_devices ? policies_.device->device_score(asked.view, before, after, {way.before, way.after}) : 0.0;
        if (device > best_device || (device == best_device && score > best)) {
            best_device = device;
            best = score;
        }
    }
    return best;
}

/// The best score on one node, or why its devices refuse.
double allocator::devices_score(const request_class& asked, const node_slot& slot, const node_view& before) {
    if (traits_.by_totals) return totals_.score({.request = asked.view, .parts = asked.parts}, before);
    const outcome_list found = outcomes_.of(asked.shape, slot.config_id, *slot.config);
    if (found.code != rejection_code::none) return infeasible_because(found.code);
    return found.stepwise ? stepwise_score(asked, before) : checked_score(best_score(asked, before, found.ways));
}

double allocator::answer(const request_class& asked, const node_group& group, std::size_t position) {
    const node_slot& slot = group.slots[position];
    if (!slot.takes_pods) return infeasible_because(rejection_code::too_many_pods);
    if (asked.request.cpu > slot.cpu_left) return infeasible_because(rejection_code::insufficient_cpu);
    const node_view before{.node = group.facts[position].node,
                           .cpu_capacity = group.facts[position].cpu_capacity,
                           .cpu_left = slot.cpu_left,
                           .config = slot.config};
    const double best = devices_score(asked, slot, before);
    if (is_feasible(best) && asked.request.memory > group.facts[position].memory_left) {
        return infeasible_because(rejection_code::insufficient_memory);
    }
    return best;
}

void allocator::build(const request_class& asked, index_head& head, node_group& group) {
    if (!head.index) {
        auto made = std::make_unique<class_index>(group.slots.size());
        make_room(made->bytes());
        index_bytes_ += made->bytes();
        head.index = std::move(made);
    }
    const auto like_previous = [&](std::size_t i) {
        const node_slot& a = group.slots[i - 1];
        const node_slot& b = group.slots[i];
        return a.config == b.config && a.cpu_left == b.cpu_left && a.takes_pods == b.takes_pods &&
               group.facts[i - 1].cpu_capacity == group.facts[i].cpu_capacity &&
               (asked.request.memory == mib{0} || group.facts[i - 1].memory_left == group.facts[i].memory_left);
    };
    double score = infeasible_score;
    auto& codes = head.index->code_count;
    codes.fill(0);
    head.index->scores.assign(group.slots.size(), [&](std::size_t i) {
        if (i == 0 || !traits_.state_alone || !like_previous(i)) score = answer(asked, group, i);
        ++codes[static_cast<std::size_t>(code_in(score))];
        return score;
    });
}

void allocator::refresh(const request_class& asked, const index_head& head, const node_group& group) {
    class_index& index = *head.index;
    for (std::uint32_t at = group.newest; at != no_slot; at = group.slots[at].older) {
        const node_slot& slot = group.slots[at];
        if (slot.changed <= head.changes_read) break;
        if (traits_.by_totals && slot.older != no_slot) {
            totals_.expect({.request = asked.view, .parts = asked.parts}, *group.slots[slot.older].config);
        }
        index.set(at, answer(asked, group, at));
    }
}

/// Scores of another epoch are void.
void allocator::enter_epoch(request_record& asked) {
    const std::uint64_t epoch = policy_epoch();
    if (asked.epoch == epoch) return;
    asked.epoch = epoch;
    for (const request_part& part : asked.parts) {
        if (part.refused != rejection_code::none) continue;
        request_class& seen = classes_[part.class_number];
        if (seen.epoch == epoch) continue;
        seen.epoch = epoch;
        for (index_head& head : seen.heads) head.changes_read = never_built;
    }
}

/// Brings the index of a part up to date.
void allocator::follow(const request_part& part) {
    node_group& group = groups_[part.group];
    index_head& head = *part.head;
    if (head.changes_read == group.changes) return;
    const request_class& asked = classes_[part.class_number];
    if (head.changes_read == never_built) {
        build(asked, head, group);
    } else {
        refresh(asked, head, group);
    }
    head.changes_read = group.changes;
    head.best = head.index->scores.max();
    head.first = no_slot;
    head.index->last_use = ++use_clock_;
}

void allocator::make_room(std::size_t bytes) {
    const auto in_use = [this](std::size_t class_number) {
        return std::ranges::any_of(deciding_->parts, [&](const request_part& part) {
            return part.refused == rejection_code::none && part.class_number == class_number;
        });
    };
    while (index_bytes_ + bytes > options_.index_bytes_max) {
        index_head* oldest = nullptr;
        for (std::size_t c = 0; c < classes_.size(); ++c) {
            if (in_use(c)) continue;
            for (index_head& head : classes_[c].heads) {
                if (head.index && (oldest == nullptr || head.index->last_use < oldest->index->last_use)) oldest = &head;
            }
        }
        if (oldest == nullptr) return; // the decision at hand needs what is left
        index_bytes_ -= oldest->index->bytes();
        *oldest = {};
    }
}

/// The first slot with a head's highest score.
std::uint32_t allocator::first_of(index_head& head) {
    if (head.first == no_slot) head.first = static_cast<std::uint32_t>(head.index->scores.first_max());
    return head.first;
}

node_index allocator::best_node(request_record& asked, double& best) {
    while (true) {
        enter_epoch(asked);
        best = infeasible_score;
        for (const request_part& part : asked.parts) {
            if (part.refused != rejection_code::none) continue;
            follow(part);
            best = std::max(best, part.head->best);
        }
        node_index winner = node_index::none();
        if (!is_feasible(best)) return winner;
        bool lacks_memory = false;
        for (request_part& part : asked.parts) {
            if (part.refused != rejection_code::none || part.head->best != best) continue;
            const node_facts& first = groups_[part.group].facts[first_of(*part.head)];
            if (first.memory_left < asked.original.memory) {
                mind_memory(asked, part);
                lacks_memory = true;
            } else if (!winner.valid() || first.node < winner) {
                winner = first.node;
            }
        }
        if (!lacks_memory) return winner;
    }
}

node_index allocator::draw_node(const request_record& asked, double best) {
    const auto tied = [&](std::size_t node) {
        const slot_place place = place_of_[node];
        const request_part& part = asked.parts[place.group];
        if (part.refused != rejection_code::none) return false;
        return part.head->index->scores.at(place.slot) == best &&
               groups_[place.group].facts[place.slot].memory_left >= asked.original.memory;
    };
    const auto list_tied = [&](std::vector<std::size_t>& out) {
        for (const request_part& part : asked.parts) {
            if (part.refused != rejection_code::none) continue;
            const auto& facts = groups_[part.group].facts;
            part.head->index->scores.for_each_equal(best, [&](std::size_t slot) {
                if (facts[slot].memory_left >= asked.original.memory) out.push_back(facts[slot].node.at());
            });
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
        const auto& codes = part.head->index->code_count;
        for (std::size_t code = 0; code < rejection_code_count; ++code) result.nodes[code] += codes[code];
    }
    return result;
}

node_view allocator::view_of(node_index where) {
    sync();
    const node_group& group = groups_[place_of_[where.at()].group];
    const std::size_t position = place_of_[where.at()].slot;
    return {.node = where,
            .cpu_capacity = group.facts[position].cpu_capacity,
            .cpu_left = group.slots[position].cpu_left,
            .config = group.slots[position].config};
}

expected<placement, rejection> allocator::decide(request_id request) {
    sync();
    request_record& asked = requests_[request.at()];
    if (asked.plain) return plain_.decide(asked.original);
    deciding_ = &asked;
    double best = infeasible_score;
    node_index winner = best_node(asked, best);
    if (!winner.valid()) return unexpected(why_nowhere(asked));
    if (traits_.draws_nodes) winner = draw_node(asked, best);
    const request_class& seen = classes_[asked.parts[place_of_[winner.at()].group].class_number];
    const node_view before = view_of(winner);
    placement result{.node = winner, .shares = {}};
    if (seen.view.devices == 0) return result;
    // A drawn device may leave none for a later container; the choice that made the node answer yes does not.
    const bool chosen =
        choose_devices(seen, before, true, result.shares) || choose_devices(seen, before, false, result.shares);
    VGA_ASSERT(chosen, "a node that answered yes has devices for the pod");
    return result;
}

bool allocator::choose_devices(const request_class& asked, const node_view& before, bool may_draw,
                               small_vector<device_share, 1>& shares) {
    if (traits_.by_totals) {
        const parts_view parts{.request = asked.view, .parts = asked.parts};
        return totals_.choose(parts, before, physical(before.node), may_draw, shares);
    }
    const bool single = asked.view.devices == 1 && asked.request.containers.size() == 1;
    const auto ways = single ? outcomes_.of(asked.shape, before.config->id, *before.config).ways : std::span<outcome>{};
    return chooser_.choose(asked.view, before, physical(before.node), ways, may_draw, shares) != nullptr;
}

expected<placement, rejection> allocator::place(pod_id pod, request_id request) {
    auto decided = decide(request);
    if (!decided) return decided;
    const pod_request& asked = requests_[request.at()].original;
    const auto booked =
        ledger_->reserve({.pod = pod, .cpu = asked.cpu, .memory = asked.memory, .where = *decided, .tags = asked.tags});
    VGA_ASSERT(booked.has_value(), "the ledger accepts what the allocator decides");
    ledger_->commit(pod);
    return decided;
}

std::vector<node_answer> allocator::evaluate(request_id request) {
    sync();
    request_record& asked = requests_[request.at()];
    if (asked.plain) return plain_.evaluate(asked.original);
    deciding_ = &asked;
    enter_epoch(asked);
    std::vector<node_answer> answers(place_of_.size());
    for (const request_part& part : asked.parts) {
        const auto& facts = groups_[part.group].facts;
        const class_index* index = nullptr;
        if (part.refused == rejection_code::none) {
            follow(part);
            index = part.head->index.get();
        }
        for (std::size_t i = 0; i < facts.size(); ++i) {
            const double score = index == nullptr ? infeasible_because(part.refused) : index->scores.at(i);
            node_answer& out = answers[facts[i].node.at()];
            out.code = code_in(score);
            if (out.code == rejection_code::none && facts[i].memory_left < asked.original.memory) {
                out.code = rejection_code::insufficient_memory;
            }
            if (out.code == rejection_code::none) out.score = score;
        }
    }
    return answers;
}

} // namespace vgpualloc
