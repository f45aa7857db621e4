// The ledger under random interleavings of reserve, commit, rollback, release and rebuild.
#include "support.hpp"

#include <set>
#include <utility>

#include "vgpualloc/core/rng.hpp"
#include "vgpualloc/mode/all.hpp"
#include "vgpualloc/model/trial.hpp"

namespace vgpualloc::property {
namespace {

/// Capacities and sums as the library's own recount, its independent verifier, and the scalar use see them.
void expect_sound(const ledger& book) {
    book.check();
    RC_ASSERT(violation(book) == "");
    for (std::size_t n = 0; n < book.nodes().nodes.size(); ++n) {
        const auto states = book.devices(node_index{n});
        for (std::size_t d = 0; d < states.size(); ++d) {
            const device_spec& spec = book.nodes().spec_of(node_index{n}, device_index{d});
            RC_ASSERT((states[d].memory >= mib{0} && states[d].memory <= spec.memory));
            RC_ASSERT((states[d].cores >= core_percent{0} && states[d].cores <= spec.cores));
            RC_ASSERT((states[d].slots >= 0 && states[d].slots <= spec.slots));
            const milli_gpu used = spec.mode->used(spec, states[d]);
            RC_ASSERT((used >= milli_gpu{0} && used <= whole_gpu));
        }
    }
}

std::vector<booking> live_bookings(const ledger& book, std::uint32_t pods) {
    std::vector<booking> live;
    for (const pod_id pod : live_pods(book, pods)) live.push_back(book.booking_of(pod));
    return live;
}

void expect_rebuilds(const world& in, const ledger& book, std::uint32_t pods, std::uint32_t salt) {
    const auto replayed = ledger::rebuild(in.owned, book.log());
    RC_ASSERT(replayed.has_value());
    RC_ASSERT((replayed->same_use(book) && book.same_use(*replayed)));
    auto live = live_bookings(book, pods);
    rng{salt}.shuffle(live);
    const auto restarted = ledger::rebuild(book.nodes(), live);
    RC_ASSERT(restarted.has_value());
    RC_ASSERT(use_of(*restarted) == use_of(book));
    RC_ASSERT(restarted->live_count() == book.live_count());
}

/// One operation on the ledger; `pods` is the number of pods that have been tried.
void apply(const operation& what, const world& in, ledger& book, std::uint32_t& pods) {
    const auto live = live_pods(book, pods);
    if (what.kind % 5 <= 1 || live.empty()) { // reserve
        const booking wanted =
            some_booking(in.owned, in.requests[what.request % in.requests.size()], pod_id{pods}, what.salt);
        const auto before = use_of(book);
        const std::size_t events = book.events().size();
        const auto booked = book.reserve(wanted);
        RC_ASSERT(booked.has_value() == book.is_live(pod_id{pods}));
        if (booked) {
            RC_ASSERT(book.booking_of(pod_id{pods}) == wanted);
            RC_ASSERT(book.host(wanted.where.node).pods == before.hosts[wanted.where.node.at()].pods + 1);
        } else {
            RC_ASSERT(booked.error().code != rejection_code::none);
            RC_ASSERT((booked.error().wanted > booked.error().available || booked.error().wanted == 0));
            RC_ASSERT((use_of(book) == before && book.events().size() == events));
        }
        ++pods;
        return;
    }
    const pod_id pod = live[what.salt % live.size()];
    if (what.kind % 5 == 2) {
        if (book.is_committed(pod)) {
            book.release(pod);
        } else {
            book.commit(pod);
        }
    } else if (what.kind % 5 == 3) {
        if (book.is_committed(pod)) {
            book.release(pod);
        } else {
            book.rollback(pod);
        }
    } else {
        expect_rebuilds(in, book, pods, what.salt);
    }
}

TEST(ledger_property, every_interleaving_keeps_the_invariants_and_can_be_rebuilt) {
    hold("sums, capacities, rebuild", [] {
        const world in = *worlds({});
        ledger book{in.owned};
        std::uint32_t pods = 0;
        for (const operation& what : in.operations) {
            apply(what, in, book, pods);
            expect_sound(book);
        }
        expect_rebuilds(in, book, pods, 1);
        for (const pod_id pod : live_pods(book, pods)) {
            if (!book.is_committed(pod)) book.commit(pod);
        }
        RC_ASSERT(ledger::rebuild(book.nodes(), live_bookings(book, pods)).value().same_use(book));
        for (const pod_id pod : live_pods(book, pods)) book.release(pod);
        RC_ASSERT(use_of(book) == use_of(ledger{in.owned}));
    });
}

TEST(ledger_property, reserve_then_rollback_and_reserve_commit_release_restore_the_exact_former_state) {
    hold("undo is exact", [] {
        const world in = *worlds({});
        ledger book{in.owned};
        std::uint32_t pods = 0;
        for (const operation& what : in.operations) {
            apply(what, in, book, pods);
            const auto before = use_of(book);
            const std::size_t live = book.live_count();
            const pod_id pod{pods++};
            if (!book.reserve(some_booking(in.owned, in.requests.front(), pod, what.salt))) continue;
            RC_ASSERT(book.live_count() == live + 1);
            if (what.salt % 2 == 0) {
                book.rollback(pod);
            } else {
                book.commit(pod);
                book.release(pod);
            }
            RC_ASSERT(use_of(book) == before);
            RC_ASSERT((book.live_count() == live && !book.is_live(pod)));
        }
    });
}

/// What is live of both kinds, shuffled.
std::vector<booking> all_live(const ledger& book, std::uint32_t salt) {
    std::vector<booking> live;
    for (const pod_id pod : book.live_pods()) live.push_back(book.booking_of(pod));
    for (const claim_id claim : book.live_claims()) live.push_back(book.booking_of(claim));
    rng{salt}.shuffle(live);
    return live;
}

/// One operation of pods that use claims; `next` is the number of the next pod and of the next claim.
void apply_with_claims(const operation& what, const world& in, ledger& book, std::uint32_t& next) {
    const auto claims = book.live_claims();
    const auto pods = book.live_pods();
    const auto& request = in.requests[what.request % in.requests.size()];
    const auto before = use_of(book);
    if (what.kind % 6 == 0 || claims.empty()) {
        const claim_id claim{next++};
        const booking wanted = some_booking(in.owned, request, claim, what.salt);
        if (!book.reserve(wanted)) return;
        for (std::size_t n = 0; n < before.hosts.size(); ++n) RC_ASSERT(book.host(node_index{n}) == before.hosts[n]);
        if (what.salt % 3 != 0) RC_ASSERT(book.commit(claim).has_value());
    } else if (what.kind % 6 <= 2) {
        const pod_id pod{next++};
        const claim_id claim = claims[what.salt % claims.size()];
        booking user = some_booking(in.owned, request, pod, what.salt);
        const bool beside = what.kind % 6 == 1;
        if (beside) user.where = {.node = book.booking_of(claim).where.node, .shares = {}};
        user.claims = {claim};
        const std::uint32_t users = book.users_of(claim);
        const bool is_there = user.where.node == book.booking_of(claim).where.node;
        const auto booked = book.reserve(user);
        RC_ASSERT((!booked || is_there));
        RC_ASSERT((is_there || booked.error().code == rejection_code::claim_elsewhere));
        RC_ASSERT(book.users_of(claim) == users + (booked ? 1 : 0));
        if (booked && beside) RC_ASSERT(use_of(book).devices == before.devices);
        if (booked && what.salt % 2 == 0) RC_ASSERT(book.commit(pod).has_value());
    } else if (what.kind % 6 == 3 && !pods.empty()) {
        const pod_id pod = pods[what.salt % pods.size()];
        RC_ASSERT((book.is_committed(pod) ? book.release(pod) : book.rollback(pod)).has_value());
    } else {
        const claim_id claim = claims[what.salt % claims.size()];
        const std::uint32_t users = book.users_of(claim);
        const auto ended = book.is_committed(claim) ? book.release(claim) : book.rollback(claim);
        RC_ASSERT(ended.has_value() == (users == 0));
        if (!ended) RC_ASSERT((ended.error().code == rejection_code::claim_in_use && use_of(book) == before));
    }
}

TEST(ledger_property, claims_are_counted_once_outlive_their_pods_and_can_be_rebuilt) {
    hold("claims", [] {
        const world in = *worlds({});
        ledger book{in.owned};
        std::uint32_t next = 0;
        for (const operation& what : in.operations) {
            const auto before = use_of(book);
            const std::size_t live = book.live_count();
            if (what.request % 4 == 0) { // tried first
                std::uint32_t tried = next;
                trial attempt{book};
                apply_with_claims(what, in, book, tried);
                book.check();
            }
            RC_ASSERT((use_of(book) == before && book.live_count() == live));
            apply_with_claims(what, in, book, next);
            expect_sound(book);
        }
        const auto replayed = ledger::rebuild(in.owned, book.log());
        RC_ASSERT((replayed.has_value() && replayed->same_use(book)));
        const auto restarted = ledger::rebuild(book.nodes(), all_live(book, next));
        RC_ASSERT((restarted.has_value() && use_of(*restarted) == use_of(book)));
        for (const pod_id pod : book.live_pods()) {
            RC_ASSERT((book.is_committed(pod) ? book.release(pod) : book.rollback(pod)).has_value());
        }
        for (const claim_id claim : book.live_claims()) {
            RC_ASSERT((book.is_committed(claim) ? book.release(claim) : book.rollback(claim)).has_value());
        }
        RC_ASSERT(use_of(book) == use_of(ledger{in.owned}));
    });
}

/// A log that was cut or edited is refused or describes a sound ledger; it never aborts.
TEST(ledger_property, a_damaged_log_is_refused_or_sound) {
    hold("damaged logs", [] {
        const world in = *worlds({});
        ledger book{in.owned};
        std::uint32_t pods = 0;
        for (const operation& what : in.operations) apply(what, in, book, pods);
        std::vector<ledger_event> events(book.events().begin(), book.events().end());
        RC_PRE(!events.empty());
        const auto at = *rc::gen::inRange<std::size_t>(0, events.size());
        switch (*rc::gen::inRange(0, 3)) {
        case 0:
            events.erase(events.begin() + static_cast<std::ptrdiff_t>(at));
            break;
        case 1:
            events[at].kind = static_cast<ledger_event_kind>(*rc::gen::inRange(0, 12));
            break;
        default:
            events[at].subject = *rc::gen::inRange<std::uint32_t>(0, 8);
            break;
        }
        const auto rebuilt = ledger::rebuild(in.owned, {.events = events, .bookings = book.bookings()});
        if (rebuilt) expect_sound(*rebuilt);
    });
}

class mode_property : public testing::TestWithParam<known_mode> {};

/// The contract of sharing_mode, for each mode of the list, on states reached by its own candidates.
TEST_P(mode_property, candidates_fit_and_undo_exactly_and_the_order_does_not_matter) {
    hold("laws of a mode", [mode = GetParam().mode] {
        const device_spec spec = draw_spec(mode);
        const int wishes = *rc::gen::inRange(1, 8);
        device_state state;
        std::vector<partition> taken;
        for (int i = 0; i < wishes; ++i) {
            device_request wanted = draw_device_request();
            std::vector<partition> parts;
            mode->candidates(spec, state, wanted, parts);
            RC_ASSERT(parts.empty() == (mode->why_not(spec, state, wanted).code != rejection_code::none));
            for (const partition& part : parts) {
                RC_ASSERT(mode->why_not(spec, state, part).code == rejection_code::none);
                const device_state after = mode->with(spec, state, part);
                RC_ASSERT(after != state);
                RC_ASSERT(mode->without(spec, after, part) == state);
                RC_ASSERT((after.memory <= spec.memory && after.cores <= spec.cores && after.slots <= spec.slots));
                RC_ASSERT(mode->used(spec, after) >= mode->used(spec, state));
                RC_ASSERT(mode->used(spec, after) <= whole_gpu);
                RC_ASSERT((mode->compromise(spec, wanted, part) == 0 || mode->may_compromise(wanted)));
            }
            if (parts.empty()) continue;
            taken.push_back(parts.front());
            state = mode->with(spec, state, parts.front());
        }
        RC_ASSERT(mode->used(spec, {}) == milli_gpu{0});
        rng{7}.shuffle(taken);
        device_state again;
        for (const partition& part : taken) {
            RC_ASSERT(mode->why_not(spec, again, part).code == rejection_code::none);
            again = mode->with(spec, again, part);
        }
        RC_ASSERT(again == state);
    });
}

/// Hand-made capacity arithmetic per device, on a cluster with this mode only that is filled with everything that fits.
TEST_P(mode_property, a_full_cluster_is_not_overcommitted) {
    hold("no overcommit", [mode = GetParam().mode] {
        const world in = *worlds({.openb = false, .mode = mode, .contains_devices_only = true});
        ledger book{in.owned};
        std::uint32_t pods = 0;
        for (std::uint32_t round = 0; round < 40; ++round) {
            std::ignore = book.reserve(
                some_booking(in.owned, in.requests[round % in.requests.size()], pod_id{pods++}, round / 3));
        }
        expect_sound(book);
    });
}

/// A booking of a pod, whatever it asks of a cluster of this mode only.
booking nth_booking(const world& in, std::uint32_t pod) {
    return some_booking(in.owned, in.requests[pod % in.requests.size()], pod_id{pod}, pod / 3);
}

/// Parts of empty devices: a legal ledger and one that overlaps.
TEST_P(mode_property, adopting_what_fits_is_booking_it) {
    hold("adopt = reserve + commit", [mode = GetParam().mode] {
        const world in = *worlds({.openb = false, .mode = mode, .contains_devices_only = true});
        ledger booked{in.owned};
        ledger adopted{in.owned};
        for (std::uint32_t pod = 0; pod < 20; ++pod) {
            const booking wanted = nth_booking(in, pod);
            if (!booked.reserve(wanted)) continue;
            booked.commit(pod_id{pod});
            RC_ASSERT(adopted.adopt(wanted).has_value());
            if (pod % 4 == 0) {
                booked.release(pod_id{pod});
                adopted.release(pod_id{pod});
            }
        }
        RC_ASSERT(adopted.same_use(booked));
        for (std::size_t n = 0; n < in.owned.nodes.size(); ++n) {
            for (std::size_t d = 0; d < in.owned.nodes[n].devices.size(); ++d) {
                RC_ASSERT(!adopted.is_overcommitted(node_index{n}, device_index{d}));
            }
        }
    });
}

TEST_P(mode_property, what_was_adopted_overlapping_comes_off_without_a_trace) {
    hold("adopt anything, release all", [mode = GetParam().mode] {
        const world in = *worlds({.openb = false, .mode = mode, .contains_devices_only = true});
        ledger book{in.owned};
        std::vector<pod_id> live;
        for (std::uint32_t pod = 0; pod < 20; ++pod) {
            if (book.adopt(nth_booking(in, pod))) live.emplace_back(pod);
            book.check();
        }
        rng{in.operations.size()}.shuffle(live);
        for (const pod_id pod : live) {
            book.release(pod);
            book.check();
        }
        RC_ASSERT(use_of(book) == use_of(ledger{in.owned}));
    });
}

INSTANTIATE_TEST_SUITE_P(all, mode_property, testing::ValuesIn(known_modes()),
                         [](const auto& instance) { return instance.param.name; });

} // namespace
} // namespace vgpualloc::property
