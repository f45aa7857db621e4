// Moving a few parts of MIG GPUs so that a request fits that would be lost: which moves are worth it, at the prices of
// slot scarcity.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "vgpualloc/catalog/mig_states.hpp"
#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/plan/move_plan.hpp"
#include "vgpualloc/policy/slot_scarcity.hpp"

namespace vgpualloc::plan {

/// Constants of the choice, chosen on the five mixes of docs/mig.md with seeds 101 to 106.
struct slot_repack_options {
    std::int64_t moves_max = 3;
    double least_gain_per_move = 1.2; ///< what accepting the request and the new state are worth, when tokens are short
    double worth_of_size = 1.0 / 3.0; ///< what a request for a whole device is worth more than 1
    double price_per_move = 0.8;      ///< of two plans, a move more must bring so much more
    double tokens_max = 50.0;         ///< with so many tokens every plan that loses nothing is carried out
};

/// What is asked: a request that fits nowhere, and what may be done for it.
struct repack_question {
    const ledger* book = nullptr;
    const pod_request* request = nullptr;
    double tokens = 0.0; ///< moves that may be spent now; a plan takes no more
    /// What a live pod asked for if it may move; null if it may not.
    std::function<const pod_request*(pod_id)> movable{};
};

/// Plans for requests of one MIG instance: the instances that overlap a place for it, at most moves_max, go to other
/// places of the same GPU or to GPUs of the same kind, each where the state afterwards is worth most. A state is worth
/// the sum over classes of requests of price^(3/2) x places that it has (policy/slot_scarcity.hpp): with that exponent
/// prices are those of two thirds of the stock time. A plan's gain is what all states are worth more afterwards; one of
/// k moves is allowed if
///
///     1 + worth_of_size x size + gain >= least_gain_per_move x k x max(0, 1 - (tokens - 1) / tokens_max)^2
///
/// where the size of a request is its part of a device's memory slices, and the one with the largest gain -
/// price_per_move x k is returned (docs/mig.md, "ssp with moves"). A first form had no size, the prices as they are,
/// 0.7 in place of 1.2 and no square: with these moves go to whichever request is lost first, and less memory is
/// accepted.
///
/// Every move's new place is free when the moves before it are done and while its old place is still taken, so that the
/// plan can be carried out one move after the other. Only pods with one part move; host rules, CPU and memory of nodes
/// are kept. GPUs that are cut by geometry groups have no places and are left alone (plan/defragment.hpp).
class slot_repack {
public:
    /// `prices` must outlive this and stay where it is.
    explicit slot_repack(slot_scarcity& prices, slot_repack_options options = {})
        : prices_{&prices}, options_{options} {}

    /// Empty if no plan is allowed. Changes nothing but what it remembers.
    [[nodiscard]] std::optional<move_plan> find(const repack_question& question);

private:
    struct device_place {
        node_index node;
        device_index device;
        bool operator==(const device_place&) const = default;
    };
    /// One kind of device: its states, and which of them devices are in.
    struct kind_table {
        const vgpualloc::mig_states* states = nullptr; ///< null: not a kind that this plans for
        const device_spec* spec = nullptr;
        std::vector<std::int32_t> counts;      ///< [state][class]
        std::vector<bool> counted;             ///< by state
        std::vector<double> worth;             ///< by state
        std::vector<std::uint64_t> worth_of;   ///< by state: the search that `worth` is of
        std::vector<std::uint64_t> present_of; ///< by state: the search in which a device was in it
        std::vector<mig_state_id> present;     ///< states that devices are in, in the order of their first device
        std::optional<std::size_t> wanted;     ///< the profile that the request would get; empty: none
        std::vector<std::optional<double>> best_elsewhere; ///< by profile: what the best new place on a GPU adds
    };
    /// A plan in outline: a state, and the place in it that the request takes.
    struct outline {
        std::uint32_t kind = 0;
        mig_state_id state = 0;
        std::size_t place = 0;
        std::int64_t moves = 0;
        double gain = 0.0;
    };
    struct mover {
        pod_id pod;
        std::size_t place = 0;
    };
    struct changed_device {
        device_place where;
        mig_state_id state = 0;
    };
    struct host_change {
        node_index node;
        milli_cpu cpu;
        bytes memory;
        std::int64_t pods = 0;
    };
    /// A plan while it is worked out.
    struct draft {
        std::vector<changed_device> changed; ///< devices other than the source
        std::vector<host_change> hosts;
        mig_state_id now = 0;   ///< the source as it really is after the moves so far
        mig_state_id after = 0; ///< the source with the request and without the instances that leave
    };
    struct destination {
        device_place where;
        std::size_t place = 0;
        double gain = 0.0;
    };

    void follow_kinds(const ledger& book);
    void look_at_devices(const repack_question& question);
    void look_for_outlines(const repack_question& question);
    void keep(const outline& candidate);
    [[nodiscard]] double worth(kind_table& kind, mig_state_id state);
    [[nodiscard]] double best_elsewhere(kind_table& kind, std::size_t profile);
    [[nodiscard]] double gain_of(kind_table& kind, mig_state_id state, mig_state_id after, std::uint64_t leaving);
    [[nodiscard]] std::optional<std::pair<std::size_t, double>> best_inside(kind_table& kind, mig_state_id now,
                                                                            mig_state_id after, std::size_t profile);
    [[nodiscard]] std::optional<move_plan> work_out(const repack_question& question, const outline& chosen);
    [[nodiscard]] std::optional<move_plan> move_from(const repack_question& question, const outline& chosen,
                                                     device_place source);
    [[nodiscard]] std::optional<std::vector<mover>> movers_on(const repack_question& question, kind_table& kind,
                                                              device_place source, std::uint64_t leaving) const;
    [[nodiscard]] std::optional<destination> best_destination(const repack_question& question, std::uint32_t kind,
                                                              device_place source, const mover& pod,
                                                              const draft& so_far);
    [[nodiscard]] bool has_room(const ledger& book, node_index where, const pod_request& request,
                                const draft& so_far) const;

    slot_scarcity* prices_;
    slot_repack_options options_;
    std::uint64_t class_generation_ = ~std::uint64_t{0};
    const ledger* book_ = nullptr; ///< whose kinds these are; compared, never read
    std::uint64_t search_ = 0;
    std::vector<kind_table> kinds_;
    std::vector<outline> outlines_; ///< the best, best first
};

} // namespace vgpualloc::plan
