// The indexed decision path.
#include "alloc/indexed_allocator.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "alloc/draw.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpualloc/model/limits.hpp"

namespace vgpualloc {

namespace {

rejection refused_because(rejection_code code) {
    rejection result;
    result.nodes[static_cast<std::size_t>(code)] = 1;
    return result;
}

} // namespace

indexed_allocator::indexed_allocator(const ledger& book, policy_pair policies, allocator_options options)
    : policies_{policies}, traits_{traits_of(policies)}, mirror_{book, options.interned},
      scorer_{mirror_.states(), policies, traits_}, indexes_{options.index_bytes_max},
      requests_{mirror_, scorer_, indexes_, traits_, options.requests_max},
      reference_{book, policies, &mirror_.states()} {
    scorer_.forget_ids(); // of another allocator
    for (const ledger_event& event : book.events()) tell_policies(book, event, policies_);
    mirror_.skip_log();
}

void indexed_allocator::follow_ledger() {
    if (scorer_.is_crowded()) mirror_.crowd();
    mirror_.follow(policies_, [this] { scorer_.forget_ids(); });
}

/// why_not_host(), asked once for every class of nodes.
rejection_code indexed_allocator::host_refusal(const request_class& wanted, cached_index& index,
                                               const node_facts& facts) const {
    const host_classes& hosts = mirror_.hosts();
    std::uint8_t& kept = index.answer_of_class(facts.host_class, hosts.generation(), hosts.number_limit());
    if (kept == 0) {
        const node& described = mirror_.book().nodes().nodes[facts.node.at()];
        const rejection_code code = why_not_host(wanted.scored.request.rules, described.host, described.name);
        kept = static_cast<std::uint8_t>(static_cast<int>(code) + 1);
    }
    return static_cast<rejection_code>(kept - 1);
}

/// Why a node takes no such pod, whatever is free there: it is gone, its host rules, its limit of pods.
rejection_code indexed_allocator::entry_refusal(const request_class& wanted, cached_index& index,
                                                const node_slot& owner, const node_facts& facts) const {
    if (owner.config == nullptr) return rejection_code::node_gone;
    const rejection_code code = host_refusal(wanted, index, facts);
    if (code != rejection_code::none) return code;
    return owner.is_full ? rejection_code::too_many_pods : rejection_code::none;
}

/// The score of a node that is asked for no device by name, or infeasible_because(code).
inline double indexed_allocator::plain_key(const request_class& wanted, cached_index& index, const node_group& group,
                                           std::size_t slot) {
    const node_slot& owner = group.slots[slot];
    if (owner.needs_look || wanted.restricts) {
        const rejection_code code = entry_refusal(wanted, index, owner, group.facts[slot]);
        if (code != rejection_code::none) return infeasible_because(code);
    }
    const rejection_code known = known_refusal(wanted, owner);
    if (known != rejection_code::none) return infeasible_because(known);
    return new_key(wanted, owner, group.facts[slot]);
}

inline double indexed_allocator::new_key(const request_class& wanted, const node_slot& owner, const node_facts& facts) {
    const node_view before{
        .node = facts.node, .cpu_capacity = facts.cpu_capacity, .cpu_left = owner.cpu_left, .config = owner.config};
    double score =
        wanted.scored.by_changes ? scorer_.fit(wanted.scored, *before.config) : scorer_.score(wanted.scored, before);
    if (!is_feasible(score) && scorer_.may_fit_otherwise(wanted.scored, *before.config)) {
        const node_answer answer = reference_.answer(wanted.scored.request, facts.node); // looks ahead
        score = answer.code == rejection_code::none ? answer.score : infeasible_because(answer.code);
    }
    if (is_feasible(score) && !facts.has_memory(wanted.scored.request.memory)) {
        return infeasible_because(rejection_code::insufficient_memory);
    }
    return score;
}

/// Looking for every device of every node in a list of names is what such requests would spend their time with.
rejection_code indexed_allocator::fixed_refusal(const request_class& wanted, cached_index& index, std::size_t slot,
                                                node_index where) {
    lasting_answers::fixed_answer& kept = index.fixed_of(slot);
    const std::uint64_t version = mirror_.book().version_of(where);
    if (!kept.known || kept.version != version) {
        kept = {.version = version, .known = true, .code = reference_.fixed_refusal(*wanted.named, where)};
    }
    return kept.code;
}

/// What a node answers where names of devices may matter.
node_answer indexed_allocator::named_answer(const request_class& wanted, cached_index& index, const node_group& group,
                                            std::size_t slot) {
    const node_index where = group.facts[slot].node;
    const bool here = group.slots[slot].config != nullptr;
    if (here && (wanted.always_named || reference_.names_matter(*wanted.named, where))) {
        const rejection_code fixed =
            wanted.lists_uuids ? fixed_refusal(wanted, index, slot, where) : rejection_code::none;
        if (fixed == rejection_code::none) return reference_.answer(*wanted.named, where);
        const rejection_code refusal = reference_.why_not_node(*wanted.named, where).code;
        return {.code = refusal != rejection_code::none ? refusal : fixed};
    }
    const double key = plain_key(wanted, index, group, slot);
    if (!is_feasible(key)) return {.code = code_in(key)};
    return {.score = key};
}

/// Asks the nodes of a group that changed after an index read it.
void indexed_allocator::follow_changes(const request_class& wanted, index_head& head, const node_group& group) {
    cached_index& index = *head.index;
    const auto for_each_changed = [&](auto&& visit) {
        for (std::uint32_t slot = group.newest; slot != no_slot; slot = group.slots[slot].older) {
            const node_slot& changed = group.slots[slot];
            if (changed.changed <= head.changes_read) break;
            if (changed.older != no_slot) {
                prefetch(&group.slots[changed.older]);
                index.expect(changed.older);
            }
            visit(slot);
        }
    };
    if (wanted.named) {
        for_each_changed([&](std::uint32_t slot) { index.set(slot, named_answer(wanted, index, group, slot)); });
    } else if (traits_.by_totals) {
        for_each_changed([&](std::uint32_t slot) {
            const std::uint32_t next = group.slots[slot].older;
            if (next != no_slot && group.slots[next].config != nullptr) {
                scorer_.expect(wanted.scored, *group.slots[next].config);
            }
            index.set_key(slot, plain_key(wanted, index, group, slot));
        });
    } else {
        for_each_changed([&](std::uint32_t slot) { index.set_key(slot, plain_key(wanted, index, group, slot)); });
    }
}

/// Brings the index of a request's part up to date. The group has changed since.
void indexed_allocator::refresh_index(const request_record& request, const request_part& part,
                                      const node_group& group) {
    index_head& head = *part.head;
    const request_class& wanted = requests_.class_of(part);
    const bool from_nothing = head.changes_read == index_head::never_built || head.changes_read < group.renumbered;
    if (from_nothing || !head.index->has_room_for(group.slots.size())) {
        for (const request_part& other : request.parts) { // making room must not drop what this decision needs
            if (other.head != nullptr) indexes_.use(*other.head);
        }
    }
    if (from_nothing) {
        if (!head.index) head.index = std::make_unique<cached_index>(group.slots.size(), head);
        head.index->forget_slots();
        build_index(wanted, *head.index, group);
        indexes_.use(head);
        indexes_.count(head);
    } else {
        indexes_.use(head);
        if (!head.index->has_room_for(group.slots.size())) {
            head.index->grow(group.slots.size());
            indexes_.count(head);
        }
        follow_changes(wanted, head, group);
    }
    head.changes_read = group.changes;
    head.best_key = head.index->best_key();
    head.first = index_head::first_unknown;
}

/// Nodes in the same state answer alike, if nothing but their state is looked at; many are idle.
void indexed_allocator::build_index(const request_class& wanted, cached_index& index, const node_group& group) {
    if (wanted.named) {
        index.build(group.slots.size(), [&](std::size_t slot) { return named_answer(wanted, index, group, slot); });
        return;
    }
    if (!traits_.state_alone) {
        index.build(group.slots.size(), [&](std::size_t slot) { return plain_key(wanted, index, group, slot); });
        return;
    }
    const bool looks_at_memory = wanted.scored.request.memory != bytes{0};
    const auto are_alike = [&](std::size_t one, std::size_t other) {
        const node_slot& a = group.slots[one];
        const node_slot& b = group.slots[other];
        const node_facts& facts_a = group.facts[one];
        const node_facts& facts_b = group.facts[other];
        const bool rules_matter = wanted.restricts || a.needs_look || b.needs_look;
        return a.config == b.config && a.cpu_left == b.cpu_left && facts_a.cpu_capacity == facts_b.cpu_capacity &&
               (!rules_matter || (facts_a.host_class == facts_b.host_class && a.is_full == b.is_full)) &&
               (!looks_at_memory || facts_a.memory_left == facts_b.memory_left);
    };
    struct slot_key {
        std::size_t slot = no_slot;
        double key = 0.0;
    };
    constexpr std::size_t answers_max = 64;
    std::array<slot_key, answers_max> answers{}; // the last ones, by state
    index.build(group.slots.size(), [&](std::size_t slot) {
        slot_key& known = answers[group.slots[slot].hash() % answers_max];
        if (known.slot == no_slot || !are_alike(known.slot, slot)) {
            known = {.slot = slot, .key = plain_key(wanted, index, group, slot)};
        }
        return known.key;
    });
}

/// The first slot with a head's best answer.
std::uint32_t indexed_allocator::first_of(index_head& head) {
    if (head.first == index_head::first_unknown) head.first = head.index->first_best();
    return head.first;
}

/// The best answer among those with the best key.
node_answer indexed_allocator::best_with(const request_record& request, double key) {
    if (!class_index::is_compromised(key)) return {.score = key};
    node_answer best{.code = rejection_code::no_nodes};
    for (const request_part& part : request.parts) {
        if (part.head == nullptr || part.head->best_key != key) continue;
        const node_answer candidate = part.head->index->best();
        if (best.code != rejection_code::none || candidate.score > best.score) best = candidate;
    }
    return best;
}

/// Among the nodes of a group that can serve the request, the best score of a step and the first slot that has it.
void indexed_allocator::decide_by_changes(request_class& wanted, index_head& head, std::size_t group) {
    if (buckets_.size() <= group) buckets_.resize(group + 1);
    state_buckets& states = buckets_[group];
    states.follow(mirror_.groups()[group], mirror_.id_generation());
    scorer_.refresh_changes(wanted.scored, mirror_.id_generation());
    const auto is_open = [&](std::uint32_t slot) { return head.index->at(slot).code == rejection_code::none; };
    double highest = change_scores::nothing;
    std::uint32_t first = no_slot;
    for (const std::uint32_t id : states.present()) {
        const double score = scorer_.best_change(wanted.scored, states.device(id));
        if (score < highest || score == change_scores::nothing) continue;
        const std::uint32_t slot = states.first_slot(id, is_open);
        if (slot == no_slot || (score == highest && slot > first)) continue;
        highest = score;
        first = slot;
    }
    VGA_ASSERT(first != no_slot, "a node that can serve a request has a device that does");
    head.decided_key = checked_score(highest);
    head.first = first;
}

node_index indexed_allocator::best_node(request_record& request, node_answer& best) {
    const std::uint64_t epoch = policies_.node->epoch() + policies_.device->epoch();
    const std::span<const node_group> groups = mirror_.groups();
    while (true) {
        requests_.use(request, epoch);
        if (traits_.batched) rehearse(request);
        const std::span<const request_part> parts = request.parts;
        double best_key = infeasible_score;
        std::size_t first_group = groups.size(); // with the best key
        std::size_t last_group = 0;
        for (std::size_t g = 0; g < groups.size(); ++g) {
            const request_part& part = parts[g];
            if (part.head == nullptr) continue;
            if (part.head->changes_read != groups[g].changes) refresh_index(request, part, groups[g]);
            part.head->decided_key = part.head->best_key;
            request_class& wanted = requests_.class_of(part);
            if (wanted.scored.by_changes && is_feasible(part.head->best_key)) decide_by_changes(wanted, *part.head, g);
            if (part.head->decided_key < best_key) continue;
            if (part.head->decided_key > best_key) first_group = g;
            best_key = part.head->decided_key;
            last_group = g;
        }
        if (!is_feasible(best_key)) return node_index::none();
        best = best_with(request, best_key);
        const node_facts* winner = nullptr;
        bool lacks_memory = false;
        for (std::size_t g = first_group; g <= last_group; ++g) {
            const request_part& part = parts[g];
            if (part.head == nullptr || part.head->decided_key != best_key) continue;
            if (best.compromise != 0 && !are_equally_good(part.head->index->best(), best)) continue;
            const node_facts& first = groups[g].facts[first_of(*part.head)];
            if (!first.has_memory(request.original->memory)) {
                requests_.split_class_by_memory(request, static_cast<std::uint32_t>(g));
                lacks_memory = true;
            } else if (winner == nullptr || first.rank < winner->rank) {
                winner = &first;
            }
        }
        if (!lacks_memory) return winner->node;
    }
}

node_index indexed_allocator::draw_node(const request_record& request, const node_answer& best) {
    const auto is_tied = [&](std::size_t node) {
        const cluster_mirror::slot_place& place = mirror_.place_of(node_index{node});
        if (place.group == no_slot) return false;
        const request_part& part = request.parts[place.group];
        if (part.refused != rejection_code::none) return false;
        const node_answer answer = part.head->index->at(place.slot);
        return answer.code == rejection_code::none && are_equally_good(answer, best) &&
               mirror_.groups()[place.group].facts[place.slot].has_memory(request.original->memory);
    };
    const auto list_tied = [&](std::vector<std::size_t>& out) {
        for (std::size_t group = 0; group < request.parts.size(); ++group) {
            if (request.parts[group].refused != rejection_code::none) continue;
            const auto& facts = mirror_.groups()[group].facts;
            request.parts[group].head->index->for_each_as_good_as(best, [&](std::size_t slot) {
                if (facts[slot].has_memory(request.original->memory)) out.push_back(facts[slot].node.at());
            });
        }
        std::ranges::sort(out);
    };
    return node_index{draw_tied_node(*policies_.node, mirror_.node_count(), is_tied, list_tied)};
}

rejection indexed_allocator::why_nowhere(const request_record& request) const {
    rejection result;
    for (std::size_t g = 0; g < request.parts.size(); ++g) {
        const node_group& group = mirror_.groups()[g];
        const request_part& part = request.parts[g];
        if (part.refused != rejection_code::none) {
            result.nodes[static_cast<std::size_t>(part.refused)] +=
                static_cast<std::int64_t>(group.slots.size() - group.holes);
            continue;
        }
        part.head->index->add_counts(result.nodes);
    }
    result.nodes[static_cast<std::size_t>(rejection_code::node_gone)] = 0; // no nodes of the cluster any more
    return result;
}

node_view indexed_allocator::view_of(node_index where) {
    follow_ledger();
    return mirror_.view_of(where);
}

void indexed_allocator::note_arrival(request_id id) {
    follow_ledger();
    const request_record* const request = requests_.find(id);
    if (request == nullptr) return;
    policies_.note_arrival(*request->original, mirror_.book());
}

expected<placement, rejection> indexed_allocator::decide(request_id id) {
    follow_ledger();
    request_record* const request = requests_.find(id);
    if (request == nullptr) return unexpected(refused_because(rejection_code::request_not_known));
    return decide_known(*request);
}

/// decide() for a request that was found, in a ledger that was followed.
expected<placement, rejection> indexed_allocator::decide_known(request_record& request) {
    if (!request.original->peers.empty()) return decide_beside_peers(request);
    indexes_.begin_decision();
    node_answer best;
    node_index winner = best_node(request, best);
    if (!winner.valid()) return unexpected(why_nowhere(request));
    if (traits_.draws_nodes) winner = draw_node(request, best);
    return choose_on(request, winner, true);
}

/// The devices on a node that answered yes.
placement indexed_allocator::choose_on(const request_record& request, node_index where, bool may_draw) {
    const request_class& wanted = requests_.class_of(request.parts[mirror_.place_of(where).group]);
    if (wanted.named && (wanted.always_named || reference_.names_matter(*wanted.named, where))) {
        return reference_.choose(*wanted.named, where, may_draw);
    }
    placement result{.node = where, .shares = {}};
    if (wanted.scored.devices == 0) return result;
    const node_view before = mirror_.view_of(where);
    const auto choose = [&](bool drawing) {
        return scorer_.choose(wanted.scored, before, mirror_.devices(where), drawing, result.shares);
    };
    // A drawn device may leave none for a later container; the choice that made the node answer yes does not.
    const bool chosen = (may_draw && choose(true)) || choose(false);
    // What the greedy choice has no room for was found by looking ahead.
    return chosen ? result : reference_.choose(wanted.scored.request, where, false);
}

expected<placed_pod, rejection> indexed_allocator::place(ledger& book, pod_id pod, request_id id) {
    VGA_ASSERT(&book == &mirror_.book(), "pods are placed in the ledger that the allocator reads");
    follow_ledger();
    request_record* const record = requests_.find(id);
    if (record == nullptr) return unexpected(refused_because(rejection_code::request_not_known));
    auto decided = decide_known(*record);
    if (!decided) return unexpected(std::move(decided).error());
    const auto booked = book.reserve(booking_for(pod, *record->original, *decided));
    if (!booked) {
        const rejection_code code = booked.error().code;
        VGA_ASSERT(code == rejection_code::pod_is_live || code == rejection_code::pod_not_known,
                   "the ledger accepts what the allocator decides");
        return unexpected(refused_because(code));
    }
    book.commit(pod);
    return placed_pod{*std::move(decided), *booked};
}

} // namespace vgpualloc
