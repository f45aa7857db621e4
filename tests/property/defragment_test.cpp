// Plans of moves against the ledger that they are carried out on, and against every sequence of moves there is.
#include "support.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "vgpualloc/mode/all.hpp"
#include "vgpualloc/model/trial.hpp"
#include "vgpualloc/plan/defragment.hpp"

namespace vgpualloc::property {
namespace {

using plan::movable_pod;
using plan::move_budget;

constexpr pod_id spare_pod{1000};
constexpr pod_id blocked_pod{1001};

/// A cluster that is partly filled, what its pods asked for, and a request.
struct filled_cluster {
    ledger book;
    std::vector<pod_request> requests; ///< by pod
    std::vector<movable_pod> movable;
    pod_request blocked;
};

/// Every way to place a request on one node of the ledger as it is now, told from the modes alone.
class placements_there {
public:
    placements_there(const ledger& book, const pod_request& request, int compromise_max)
        : book_{&book}, request_{&request}, compromise_max_{compromise_max} {}

    std::vector<placement> all() {
        for (std::size_t n = 0; n < book_->nodes().nodes.size(); ++n) {
            const node& described = book_->nodes().nodes[n];
            where_ = {.node = node_index{n}, .shares = {}};
            if (why_not_host(request_->rules, described.host, described.name) != rejection_code::none) continue;
            if (book_->why_not_host(where_.node, request_->cpu, request_->memory).code != rejection_code::none)
                continue;
            const auto states = book_->devices(where_.node);
            states_.assign(states.begin(), states.end());
            next(0, 0, 0);
        }
        return std::move(found_);
    }

private:
    void next(std::size_t container, std::int64_t already, std::size_t from) {
        if (container == request_->containers.size()) {
            found_.push_back(where_);
            return;
        }
        const device_request& wanted = request_->containers[container];
        if (already == wanted.count) {
            next(container + 1, 0, 0);
            return;
        }
        for (std::size_t d = from; d < states_.size(); ++d) {
            const device_spec& spec = book_->nodes().spec_of(where_.node, device_index{d});
            if (why_not(spec, states_[d], book_->services(where_.node)[d], wanted).code != rejection_code::none)
                continue;
            std::vector<partition> parts;
            spec.mode->candidates(spec, states_[d], wanted, parts);
            spec.mode->further_candidates(spec, states_[d], wanted, parts);
            for (const partition& part : parts) {
                if (spec.mode->compromise(spec, wanted, part) > compromise_max_) continue;
                const device_state before = states_[d];
                states_[d] = spec.mode->with(spec, before, part);
                where_.shares.push_back(
                    {.container = static_cast<std::uint32_t>(container), .device = device_index{d}, .part = part});
                next(container, already + 1, d + 1);
                where_.shares.pop_back();
                states_[d] = before;
            }
        }
    }

    const ledger* book_;
    const pod_request* request_;
    int compromise_max_;
    placement where_;
    std::vector<device_state> states_;
    std::vector<placement> found_;
};

constexpr int any_compromise = 1 << 30;

bool fits_now(const ledger& book, const pod_request& request) {
    return !placements_there{book, request, any_compromise}.all().empty();
}

int compromise_of(const ledger& book, const pod_request& request, const placement& where) {
    int result = 0;
    for (const device_share& share : where.shares) {
        const device_spec& spec = book.nodes().spec_of(where.node, share.device);
        result = std::max(result, spec.mode->compromise(spec, request.containers[share.container], share.part));
    }
    return result;
}

/// Tries every sequence of at most `moves` moves.
bool some_sequence_helps(filled_cluster& in, std::int64_t moves, std::int64_t& tries_left) {
    if (fits_now(in.book, in.blocked)) return true;
    if (moves == 0) return false;
    for (const movable_pod& entry : in.movable) {
        const booking now = in.book.booking_of(entry.pod);
        const int compromise_max = compromise_of(in.book, *entry.request, now.where);
        for (const placement& target : placements_there{in.book, *entry.request, compromise_max}.all()) {
            if (target == now.where) continue;
            if (--tries_left < 0) return false;
            trial scope{in.book};
            RC_ASSERT(in.book.release(entry.pod).has_value());
            booking moved = now;
            moved.where = target;
            RC_ASSERT((in.book.reserve(std::move(moved)).has_value() && in.book.commit(entry.pod).has_value()));
            if (some_sequence_helps(in, moves - 1, tries_left)) return true;
        }
    }
    return false;
}

/// Of one device, now and then of two or for two containers; half of them a third to two thirds of a device, where
/// moves help most, since two of one and one of another fill two devices in more than one way.
pod_request draw_small_request(const sharing_mode* mode) {
    pod_request request{.cpu = milli_cpu{500 * number(0, 3)}, .memory = bytes{500 * number(0, 3)}, .containers = {}};
    device_request container;
    if (number(0, 1) == 0) {
        container = draw_device_request();
        container.models = {};
        container.mode = {};
    } else if (mode != nullptr && mode->name() == "mig") {
        container.memory = mib{one_of<std::int64_t>({4000, 9000, 19000, 39000})};
    } else {
        container.memory_percent = one_of<std::int64_t>({25, 33, 40, 50, 60});
    }
    container.count = number(0, 7) == 0 ? 2 : 1;
    request.containers.push_back(std::move(container));
    if (number(0, 9) == 0) {
        request.containers.push_back(request.containers.front());
        request.containers.back().count = 1;
    }
    if (number(0, 6) == 0) { // as units of a resource, which are equal containers of one device each
        request.containers.front().count = 1;
        request.containers.assign(static_cast<std::size_t>(number(2, 3)), request.containers.front());
    }
    return request;
}

struct bounds {
    const sharing_mode* mode = nullptr; ///< null: any
    std::int64_t nodes_max = 2;
    std::int64_t devices_max = 2;
    std::int64_t pods_max = 7;
};

filled_cluster draw_filled(const bounds& most) {
    cluster owned;
    const std::uint32_t kind = owned.kind_of(draw_spec(most.mode));
    const std::uint32_t other_kind = number(0, 2) == 0 ? owned.kind_of(draw_spec(most.mode)) : kind;
    const auto nodes = number(1, most.nodes_max);
    for (std::int64_t n = 0; n < nodes; ++n) {
        node described{.name = "n" + std::to_string(n),
                       .cpu = milli_cpu{1000 * number(3, 16)},
                       .memory = bytes{1000 * number(3, 16)},
                       .pods_max = number(2, 8)};
        if (number(0, 6) == 0) described.host.labels.emplace_back("zone", "a");
        const auto devices = number(1, most.devices_max);
        described.pods_max = std::max(described.pods_max, number(0, 20));
        for (std::int64_t d = 0; d < devices; ++d) {
            described.devices.push_back(
                {.uuid = "",
                 .kind = number(0, 2) == 0 ? other_kind : kind,
                 .service = number(0, 15) == 0 ? service_state::failed : service_state::in_service});
        }
        owned.nodes.push_back(std::move(described));
    }
    filled_cluster result{.book = ledger{std::move(owned)}, .requests = {}, .movable = {}, .blocked = {}};
    std::vector<pod_request> kinds;
    for (int i = 0; i < 3; ++i) kinds.push_back(draw_small_request(most.mode));
    const auto pods = number(most.pods_max / 2, most.pods_max);
    result.requests.reserve(static_cast<std::size_t>(pods));
    for (std::int64_t p = 0; p < pods; ++p) {
        const pod_request request = one_of(kinds);
        const auto places = placements_there{result.book, request, any_compromise}.all();
        if (places.empty()) continue;
        const pod_id pod{result.requests.size()};
        const booking entry{.owner = pod, .cpu = request.cpu, .memory = request.memory, .where = one_of(places)};
        RC_ASSERT((result.book.reserve(entry).has_value() && result.book.commit(pod).has_value()));
        result.requests.push_back(request);
    }
    for (std::size_t p = 0; p < result.requests.size(); ++p) {
        if (number(0, 3) == 0) { // gaps
            RC_ASSERT(result.book.release(pod_id{p}).has_value());
        } else if (number(0, 7) > 0) {
            result.movable.push_back({.pod = pod_id{p}, .request = &result.requests[p]});
        }
    }
    for (int tries = 0; tries < 6; ++tries) { // most of those that fit as it is are of no interest
        result.blocked = number(0, 1) == 0 ? one_of(kinds) : draw_small_request(most.mode);
        if (!fits_now(result.book, result.blocked)) break;
    }
    return result;
}

/// The plan, carried out step by step, never overcommits and ends with the blocked request at its place; nothing of it
/// stays behind.
void expect_carried_out(filled_cluster& in, const plan::move_plan& planned) {
    const auto before = use_of(in.book);
    const booking waiting{.owner = blocked_pod, .cpu = in.blocked.cpu, .memory = in.blocked.memory};
    RC_ASSERT(plan::try_moves(in.book, planned, &waiting, spare_pod).has_value());
    RC_ASSERT(use_of(in.book) == before);
    trial scope{in.book};
    for (const plan::pod_move& move : planned.moves) {
        const booking now = in.book.booking_of(move.pod);
        const auto entry = std::ranges::find(in.movable, move.pod, &movable_pod::pod);
        RC_ASSERT((entry != in.movable.end() && now.where == move.from));
        const auto places = placements_there{in.book, *entry->request, any_compromise}.all();
        const bool is_offered = std::ranges::any_of(places, [&](const placement& where) {
            return where.node == move.to.node && where.shares.size() == move.to.shares.size();
        });
        RC_ASSERT(is_offered);
        booking copy = now;
        copy.owner = spare_pod;
        copy.where = move.to;
        RC_ASSERT(in.book.reserve(copy).has_value());
        in.book.check();
        RC_ASSERT(violation(in.book) == "");
        RC_ASSERT((in.book.rollback(spare_pod).has_value() && in.book.release(move.pod).has_value()));
        booking moved = now;
        moved.where = move.to;
        RC_ASSERT((in.book.reserve(std::move(moved)).has_value() && in.book.commit(move.pod).has_value()));
        RC_ASSERT(violation(in.book) == "");
    }
    booking placed = waiting;
    placed.where = planned.where;
    RC_ASSERT(in.book.reserve(std::move(placed)).has_value());
    in.book.check();
    RC_ASSERT(violation(in.book) == "");
}

class defragment_property : public testing::TestWithParam<known_mode> {};

TEST_P(defragment_property, plans_can_be_carried_out_and_end_with_the_blocked_pod_placed) {
    hold("plans hold", [mode = GetParam().mode] {
        filled_cluster in = draw_filled({.mode = mode, .nodes_max = 4, .devices_max = 4, .pods_max = 24});
        const move_budget budget{.moves_max = number(0, 6)};
        const auto room = plan::find_room(in.book, in.blocked, in.movable, budget);
        if (!room) {
            RC_TAG("none");
            return;
        }
        RC_TAG(std::to_string(room->planned.moves.size()));
        RC_ASSERT(std::ssize(room->planned.moves) <= budget.moves_max);
        RC_ASSERT(room->cost == plan::cost_of_moves(in.book.nodes(), room->planned, {}));
        expect_carried_out(in, room->planned);
    });
}

TEST_P(defragment_property, small_plans_are_found_exactly_where_a_sequence_of_moves_exists) {
    hold("as few moves as by trying all", [mode = GetParam().mode] {
        filled_cluster in = draw_filled({.mode = mode});
        const std::int64_t moves_max = number(0, 9) == 0 ? 3 : 2;
        const auto room =
            plan::find_room(in.book, in.blocked, in.movable, {.moves_max = moves_max, .steps_max = 5'000'000});
        std::int64_t fewest = -1;
        std::int64_t tries_left = 20'000;
        for (std::int64_t moves = 0; moves <= moves_max && fewest < 0; ++moves) {
            if (some_sequence_helps(in, moves, tries_left)) fewest = moves;
        }
        RC_PRE(tries_left >= 0);
        RC_ASSERT(room.has_value() == (fewest >= 0));
        if (!room) {
            RC_ASSERT(room.error().reason == plan::no_room_reason::none_within_moves);
            RC_ASSERT(room.error().moves_ruled_out == moves_max);
            return;
        }
        RC_TAG(std::to_string(fewest));
        RC_ASSERT((std::ssize(room->planned.moves) == fewest && room->fewest_moves));
        expect_carried_out(in, room->planned);
    });
}

TEST_P(defragment_property, consolidation_empties_what_it_says_and_can_be_carried_out) {
    hold("consolidation", [mode = GetParam().mode] {
        filled_cluster in = draw_filled({.mode = mode, .nodes_max = 4, .devices_max = 3, .pods_max = 16});
        const auto unit = one_of<plan::emptied_unit>({plan::emptied_unit::device, plan::emptied_unit::node});
        const move_budget budget{.moves_max = number(0, 8)};
        const auto result = plan::consolidate(in.book, in.movable, unit, budget);
        RC_ASSERT(std::ssize(result.planned.moves) <= budget.moves_max);
        RC_ASSERT(plan::try_moves(in.book, result.planned, nullptr, spare_pod).has_value());
        const auto used_units = [&] {
            std::set<std::pair<std::size_t, std::size_t>> used;
            for (std::size_t n = 0; n < in.book.nodes().nodes.size(); ++n) {
                const auto states = in.book.devices(node_index{n});
                for (std::size_t d = 0; d < states.size(); ++d) {
                    if (states[d] != device_state{}) used.insert({n, unit == plan::emptied_unit::device ? d : 0});
                }
            }
            return std::ssize(used);
        };
        const auto before = used_units();
        const trial scope{in.book};
        for (const plan::pod_move& move : result.planned.moves) {
            booking moved = in.book.booking_of(move.pod);
            moved.where = move.to;
            RC_ASSERT(in.book.release(move.pod).has_value());
            RC_ASSERT((in.book.reserve(std::move(moved)).has_value() && in.book.commit(move.pod).has_value()));
        }
        RC_ASSERT(used_units() == before - result.emptied);
        RC_TAG(std::to_string(result.emptied));
    });
}

INSTANTIATE_TEST_SUITE_P(modes, defragment_property, testing::ValuesIn(known_modes()),
                         [](const auto& param) { return param.param.name; });

} // namespace
} // namespace vgpualloc::property
