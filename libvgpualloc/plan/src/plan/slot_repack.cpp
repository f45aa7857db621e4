// Looking through the states that GPUs are in for moves that are worth a request.
#include "vgpualloc/plan/slot_repack.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <variant>

#include "vgpualloc/core/bits.hpp"
#include "vgpualloc/mode/mig.hpp"
#include "vgpualloc/model/host_rules.hpp"

namespace vgpualloc::plan {

namespace {

/// The place of an instance; place_count() if it has none.
std::size_t place_of(const vgpualloc::mig_states& states, const partition& part) {
    const auto* instance = std::get_if<mig_instance>(&part);
    if (instance == nullptr) return states.place_count();
    return states.place_of({.profile = instance->profile, .start = mig_units{instance->start}});
}

partition part_at(const vgpualloc::mig_states& states, std::size_t place, core_percent cores) {
    const mig_slot& slot = states.place(place);
    return mig_instance{.profile = static_cast<std::uint32_t>(slot.profile),
                        .start = static_cast<std::uint32_t>(slot.start.count()),
                        .cores = cores};
}

const device_request* only_device_of(const pod_request& request) {
    const bool one = request.containers.size() == 1 && request.containers.front().count == 1;
    return one && !request.names_devices() ? &request.containers.front() : nullptr;
}

} // namespace

/// Makes the tables of kinds that are new, and counts places anew where classes are other ones.
void slot_repack::follow_kinds(const ledger& book) {
    if (book_ != &book || class_generation_ != prices_->class_generation()) kinds_.clear();
    book_ = &book;
    class_generation_ = prices_->class_generation();
    const auto& specs = book.nodes().kinds;
    for (std::size_t k = kinds_.size(); k < specs.size(); ++k) {
        kind_table& kind = kinds_.emplace_back();
        kind.spec = &specs[k];
        const auto* const mig = dynamic_cast<const modes::mig*>(specs[k].mode);
        kind.states = mig != nullptr ? mig->states() : nullptr;
        if (kind.states == nullptr) continue;
        kind.counts.assign(kind.states->size() * prices_->class_count(), 0);
        kind.counted.assign(kind.states->size(), false);
        kind.worth.assign(kind.states->size(), 0.0);
        kind.worth_of.assign(kind.states->size(), 0);
        kind.present_of.assign(kind.states->size(), 0);
    }
}

double slot_repack::worth(kind_table& kind, mig_state_id state) {
    if (kind.worth_of[state] == search_) return kind.worth[state];
    const std::size_t classes = prices_->class_count();
    std::int32_t* const counts = kind.counts.data() + state * classes;
    if (!kind.counted[state]) {
        device_view device;
        device.spec = kind.spec;
        device.kind = static_cast<std::uint32_t>(&kind - kinds_.data());
        for (std::uint64_t rest = kind.states->layout_of(state); rest != 0; rest &= rest - 1) {
            const partition part = part_at(*kind.states, lowest_bit(rest), {});
            device.state = kind.spec->mode->with(*kind.spec, device.state, part);
        }
        std::ranges::copy(prices_->counts_of(device), counts);
        kind.counted[state] = true;
    }
    const auto prices = prices_->prices();
    double sum = 0.0;
    for (std::size_t c = 0; c < classes; ++c) {
        sum += prices[c] * std::sqrt(prices[c]) * static_cast<double>(counts[c]);
    }
    kind.worth_of[state] = search_;
    kind.worth[state] = sum;
    return sum;
}

/// Which states there are, and what the request would get on each kind.
void slot_repack::look_at_devices(const repack_question& question) {
    const ledger& book = *question.book;
    const device_request& wanted = *only_device_of(*question.request);
    std::vector<partition> parts;
    for (kind_table& kind : kinds_) {
        kind.present.clear();
        kind.wanted.reset();
        if (kind.states == nullptr) continue;
        kind.best_elsewhere.assign(kind.states->profile_count(), std::nullopt);
        if (why_never(*kind.spec, wanted) != rejection_code::none) continue;
        parts.clear();
        kind.spec->mode->candidates(*kind.spec, {}, wanted, parts);
        if (!parts.empty()) kind.wanted = std::get<mig_instance>(parts.front()).profile;
    }
    for (std::size_t i = 0; i < book.nodes().nodes.size(); ++i) {
        const node_index where{i};
        if (!book.is_present(where)) continue;
        const auto devices = book.devices(where);
        for (std::size_t d = 0; d < devices.size(); ++d) {
            kind_table& kind = kinds_[book.nodes().nodes[i].devices[d].kind];
            if (kind.states == nullptr || book.services(where)[d] != service_state::in_service) continue;
            const mig_state_id state = kind.states->id_of(devices[d].layout);
            if (state == no_mig_state || kind.present_of[state] == search_) continue;
            kind.present_of[state] = search_;
            kind.present.push_back(state);
        }
    }
}

/// What one more instance of a profile adds at the best place that any GPU of the kind has.
double slot_repack::best_elsewhere(kind_table& kind, std::size_t profile) {
    auto& kept = kind.best_elsewhere[profile];
    if (kept) return *kept;
    constexpr double nowhere = -0x1p100;
    double best = nowhere;
    for (const mig_state_id state : kind.present) {
        for (std::uint64_t rest = kind.states->free_places(state, profile); rest != 0; rest &= rest - 1) {
            best = std::max(best, worth(kind, kind.states->next(state, lowest_bit(rest))) - worth(kind, state));
        }
    }
    kept = best;
    return best;
}

/// The best place inside a GPU for an instance that has to leave its own: free as the GPU is now, as both are held
/// while it is copied, and free when the request is there.
std::optional<std::pair<std::size_t, double>> slot_repack::best_inside(kind_table& kind, mig_state_id now,
                                                                       mig_state_id after, std::size_t profile) {
    std::optional<std::pair<std::size_t, double>> best;
    const std::uint64_t free = kind.states->free_places(now, profile) & kind.states->free_places(after, profile);
    for (std::uint64_t rest = free; rest != 0; rest &= rest - 1) {
        const std::size_t place = lowest_bit(rest);
        const double gain = worth(kind, kind.states->next(after, place)) - worth(kind, after);
        if (!best || gain > best->second) best = {place, gain};
    }
    return best;
}

/// What the states are worth more if the instances at `leaving` go and the GPU becomes `after` with the request.
double slot_repack::gain_of(kind_table& kind, mig_state_id state, mig_state_id after, std::uint64_t leaving) {
    double gain = worth(kind, after) - worth(kind, state);
    mig_state_id now = state;
    for (std::uint64_t rest = leaving; rest != 0; rest &= rest - 1) {
        const std::size_t profile = kind.states->place(lowest_bit(rest)).profile;
        const double elsewhere = best_elsewhere(kind, profile);
        const auto inside = best_inside(kind, now, after, profile);
        if (inside && inside->second >= elsewhere) {
            gain += inside->second;
            now = kind.states->next(now, inside->first);
            after = kind.states->next(after, inside->first);
        } else {
            gain += elsewhere;
        }
    }
    return gain;
}

void slot_repack::keep(const outline& candidate) {
    constexpr std::size_t outlines_max = 4; // a plan may turn out to be impossible when it is worked out
    const auto rank = [this](const outline& plan) {
        return plan.gain - options_.price_per_move * static_cast<double>(plan.moves);
    };
    if (outlines_.size() == outlines_max && rank(outlines_.back()) >= rank(candidate)) return;
    if (outlines_.size() == outlines_max) outlines_.pop_back();
    const auto worse = std::ranges::find_if(outlines_, [&](const outline& o) { return rank(o) < rank(candidate); });
    outlines_.insert(worse, candidate);
}

void slot_repack::look_for_outlines(const repack_question& question) {
    outlines_.clear();
    const double tokens_lacking = std::max(0.0, 1.0 - (question.tokens - 1.0) / options_.tokens_max);
    const double needed_per_move = options_.least_gain_per_move * tokens_lacking * tokens_lacking;
    for (std::uint32_t k = 0; k < kinds_.size(); ++k) {
        kind_table& kind = kinds_[k];
        if (!kind.wanted) continue;
        const vgpualloc::mig_states& states = *kind.states;
        const mig_state_id empty = states.id_of(0);
        for (const mig_state_id state : kind.present) {
            for (std::size_t place = states.first_place(*kind.wanted); place < states.first_place(*kind.wanted + 1);
                 ++place) {
                const std::uint64_t leaving = states.layout_of(state) & states.overlapping(place);
                const std::int64_t moves = std::popcount(leaving);
                if (moves == 0 || moves > options_.moves_max || static_cast<double>(moves) > question.tokens) continue;
                const mig_state_id without = states.id_of(states.layout_of(state) & ~leaving);
                const mig_state_id after = states.next(without, place);
                if (after == no_mig_state) continue;
                const double gain = gain_of(kind, state, after, leaving);
                const double size = static_cast<double>(states.free_units(without) - states.free_units(after)) /
                                    static_cast<double>(states.free_units(empty));
                if (1.0 + options_.worth_of_size * size + gain >= needed_per_move * static_cast<double>(moves)) {
                    keep({.kind = k, .state = state, .place = place, .moves = moves, .gain = gain});
                }
            }
        }
    }
}

std::optional<move_plan> slot_repack::find(const repack_question& question) {
    if (question.tokens < 1.0 || only_device_of(*question.request) == nullptr) return std::nullopt;
    ++search_;
    follow_kinds(*question.book);
    look_at_devices(question);
    look_for_outlines(question);
    for (const outline& chosen : outlines_) {
        if (auto plan = work_out(question, chosen)) return plan;
    }
    return std::nullopt;
}

/// Carries an outline over to the first GPU in its state for which that can be done.
std::optional<move_plan> slot_repack::work_out(const repack_question& question, const outline& chosen) {
    constexpr int tries_max = 8; // pods that may not move, or nodes without CPU, are not seen in states
    const ledger& book = *question.book;
    const std::uint64_t layout = kinds_[chosen.kind].states->layout_of(chosen.state);
    int tries = 0;
    for (std::size_t i = 0; i < book.nodes().nodes.size(); ++i) {
        const node_index where{i};
        if (!book.is_present(where)) continue;
        const auto devices = book.devices(where);
        for (std::size_t d = 0; d < devices.size(); ++d) {
            const bool alike = devices[d].layout == layout && book.nodes().nodes[i].devices[d].kind == chosen.kind &&
                               book.services(where)[d] == service_state::in_service;
            if (!alike) continue;
            if (auto plan = move_from(question, chosen, {.node = where, .device = device_index{d}})) return plan;
            if (++tries == tries_max) return std::nullopt;
        }
    }
    return std::nullopt;
}

/// The pods whose instances have to leave, largest instances first; empty if one of them may not move.
std::optional<std::vector<slot_repack::mover>> slot_repack::movers_on(const repack_question& question, kind_table& kind,
                                                                      device_place source,
                                                                      std::uint64_t leaving) const {
    std::vector<mover> movers;
    for (const std::uint32_t slot : question.book->live_on(source.node)) {
        const booking& entry = question.book->bookings()[slot];
        const bool one_part = entry.where.shares.size() == 1;
        for (const device_share& share : entry.where.shares) {
            if (share.device != source.device) continue;
            const std::size_t place = place_of(*kind.states, share.part);
            if (place >= kind.states->place_count() || (leaving & bit_at(place)) == 0) continue;
            const bool may_move = one_part && entry.claims.empty(); // what a pod uses of a claim stays
            const pod_request* const request = may_move ? question.movable(entry.owner.pod()) : nullptr;
            if (request == nullptr || only_device_of(*request) == nullptr) return std::nullopt;
            movers.push_back({.pod = entry.owner.pod(), .place = place});
        }
    }
    if (movers.size() != static_cast<std::size_t>(std::popcount(leaving))) return std::nullopt;
    std::ranges::sort(movers, [&](const mover& a, const mover& b) {
        const auto units = [&](const mover& one) { return std::popcount(kind.states->overlapping(one.place)); };
        return units(a) != units(b) ? units(a) > units(b) : a.place < b.place;
    });
    return movers;
}

bool slot_repack::has_room(const ledger& book, node_index where, const pod_request& request,
                           const draft& so_far) const {
    const node& described = book.nodes().nodes[where.at()];
    if (why_not_host(request.rules, described.host, described.name) != rejection_code::none) return false;
    milli_cpu cpu = request.cpu;
    bytes memory = request.memory;
    std::int64_t pods = book.host(where).pods;
    for (const host_change& change : so_far.hosts) {
        if (change.node != where) continue;
        cpu += change.cpu;
        memory += change.memory;
        pods += change.pods;
    }
    return pods < described.pods_max && book.why_not_host(where, cpu, memory).code == rejection_code::none;
}

/// Where an instance goes: inside its GPU, or to the GPU that is then worth most more, the first of equal ones.
std::optional<slot_repack::destination> slot_repack::best_destination(const repack_question& question,
                                                                      std::uint32_t number, device_place source,
                                                                      const mover& pod, const draft& so_far) {
    const ledger& book = *question.book;
    kind_table& kind = kinds_[number];
    const std::size_t profile = kind.states->place(pod.place).profile;
    const pod_request& request = *question.movable(pod.pod);
    std::optional<destination> best;
    if (const auto inside = best_inside(kind, so_far.now, so_far.after, profile)) {
        best = {.where = source, .place = inside->first, .gain = inside->second};
    }
    for (std::size_t i = 0; i < book.nodes().nodes.size(); ++i) {
        const node_index where{i};
        if (!book.is_present(where)) continue;
        const auto devices = book.devices(where);
        bool room_known = false;
        for (std::size_t d = 0; d < devices.size(); ++d) {
            const device_place there{.node = where, .device = device_index{d}};
            if (there == source || book.nodes().nodes[i].devices[d].kind != number) continue;
            if (book.services(where)[d] != service_state::in_service) continue;
            const auto changed = std::ranges::find(so_far.changed, there, &changed_device::where);
            const mig_state_id state =
                changed != so_far.changed.end() ? changed->state : kind.states->id_of(devices[d].layout);
            if (state == no_mig_state) continue;
            for (std::uint64_t rest = kind.states->free_places(state, profile); rest != 0; rest &= rest - 1) {
                const std::size_t place = lowest_bit(rest);
                const double gain = worth(kind, kind.states->next(state, place)) - worth(kind, state);
                if (best && gain <= best->gain) continue;
                if (!room_known && !has_room(book, where, request, so_far)) break;
                room_known = true;
                best = {.where = there, .place = place, .gain = gain};
            }
        }
    }
    return best;
}

std::optional<move_plan> slot_repack::move_from(const repack_question& question, const outline& chosen,
                                                device_place source) {
    kind_table& kind = kinds_[chosen.kind];
    const vgpualloc::mig_states& states = *kind.states;
    draft so_far{.changed = {}, .hosts = {}, .now = chosen.state};
    if (!has_room(*question.book, source.node, *question.request, so_far)) return std::nullopt;
    const std::uint64_t leaving = states.layout_of(chosen.state) & states.overlapping(chosen.place);
    so_far.after = states.next(states.id_of(states.layout_of(chosen.state) & ~leaving), chosen.place);
    so_far.hosts.push_back(
        {.node = source.node, .cpu = question.request->cpu, .memory = question.request->memory, .pods = 1});
    const auto movers = movers_on(question, kind, source, leaving);
    if (!movers) return std::nullopt;
    move_plan plan;
    for (const mover& pod : *movers) {
        const auto target = best_destination(question, chosen.kind, source, pod, so_far);
        if (!target) return std::nullopt;
        const placement& from = question.book->booking_of(pod.pod).where;
        placement to{.node = target->where.node, .shares = from.shares};
        to.shares[0].device = target->where.device;
        to.shares[0].part = part_at(states, target->place, std::get<mig_instance>(from.shares[0].part).cores);
        so_far.now = states.id_of(states.layout_of(so_far.now) & ~bit_at(pod.place));
        if (target->where == source) {
            so_far.now = states.next(so_far.now, target->place);
            so_far.after = states.next(so_far.after, target->place);
        } else {
            auto changed = std::ranges::find(so_far.changed, target->where, &changed_device::where);
            if (changed == so_far.changed.end()) {
                const auto layout = question.book->devices(target->where.node)[target->where.device.at()].layout;
                so_far.changed.push_back({.where = target->where, .state = states.id_of(layout)});
                changed = so_far.changed.end() - 1;
            }
            changed->state = states.next(changed->state, target->place);
            const pod_request& request = *question.movable(pod.pod);
            so_far.hosts.push_back(
                {.node = target->where.node, .cpu = request.cpu, .memory = request.memory, .pods = 1});
        }
        plan.moves.push_back({.pod = pod.pod, .from = from, .to = std::move(to)});
    }
    plan.where = {.node = source.node, .shares = {}};
    plan.where.shares.push_back({.container = 0, .device = source.device, .part = part_at(states, chosen.place, {})});
    return plan;
}

} // namespace vgpualloc::plan
