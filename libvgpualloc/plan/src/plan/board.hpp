// A cluster on which pods are taken up and put down to see what would fit: states and sums of its own, so that the
// ledger stays as it is and its readers hear nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "vgpualloc/core/small_vector.hpp"
#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/plan/defragment.hpp"

namespace vgpualloc::plan {

/// A pod of the board; its number is its position.
struct board_pod {
    owner_id id;
    std::uint32_t request = 0;        ///< position in board::requests(); meaningless where the pod stays
    bool movable = false;             ///< it may be taken up
    int compromise = 0;               ///< how far what it has falls short of what it asked for
    const placement* where = nullptr; ///< null while it is in nobody's place
    const placement* from = nullptr;  ///< where it was at the beginning; null for the blocked pod
    plan_cost cost{};                 ///< of a move
};

/// A request as the board asks about it.
struct board_request {
    const pod_request* asked = nullptr;
    bool simple = false;                    ///< one device, whichever: a device answers by its state alone
    std::vector<std::int8_t> node_allows{}; ///< by node: 1 yes, 0 no, -1 not asked yet
    std::vector<std::int8_t> fits{};        ///< by class of devices, likewise
};

/// Devices that answer alike to simple requests: of a kind, in a state, in service or not.
struct device_class {
    std::uint32_t kind = 0;
    device_state state;
    bool open = false;
    milli_gpu used;
    std::vector<std::uint32_t> members{}; ///< places of devices that are in it at the beginning, ascending
};

class board {
public:
    board(const ledger& book, const pod_request* blocked, std::span<const movable_pod> movable,
          const move_costs& costs);

    [[nodiscard]] const ledger& book() const noexcept { return *book_; }
    [[nodiscard]] std::vector<board_pod>& pods() noexcept { return pods_; }
    [[nodiscard]] const board_pod& pod(std::uint32_t number) const noexcept { return pods_[number]; }
    [[nodiscard]] std::uint32_t blocked() const noexcept { return static_cast<std::uint32_t>(pods_.size() - 1); }
    [[nodiscard]] board_request& request_of(std::uint32_t pod) noexcept { return requests_[pods_[pod].request]; }
    [[nodiscard]] const std::vector<device_class>& classes() const noexcept { return classes_; }
    /// Positions in classes(), those with the least room first.
    [[nodiscard]] const std::vector<std::uint32_t>& fullest_first() const noexcept { return fullest_first_; }

    // Devices by place: first_of(node) + index.
    [[nodiscard]] std::size_t node_count() const noexcept { return first_.size() - 1; }
    [[nodiscard]] std::size_t device_count() const noexcept { return states_.size(); }
    [[nodiscard]] std::size_t first_of(node_index where) const noexcept { return first_[where.at()]; }
    [[nodiscard]] std::size_t end_of(node_index where) const noexcept { return first_[where.at() + 1]; }
    [[nodiscard]] node_index node_of(std::size_t place) const noexcept { return node_index{owner_[place]}; }
    [[nodiscard]] const device_spec& spec_of(std::size_t place) const noexcept { return *specs_[place]; }
    [[nodiscard]] device_state& state_of(std::size_t place) noexcept { return states_[place]; }
    [[nodiscard]] const device_state& state_of(std::size_t place) const noexcept { return states_[place]; }
    [[nodiscard]] std::span<const std::uint32_t> residents(std::size_t place) const noexcept {
        return {residents_[place].data(), residents_[place].size()};
    }
    /// Pods that are on the node now, with devices or without.
    [[nodiscard]] std::span<const std::uint32_t> pods_on(node_index where) const noexcept {
        return on_node_[where.at()];
    }
    /// What pods that are on the node now take of its host.
    [[nodiscard]] const host_use& host_of(node_index where) const noexcept { return hosts_[where.at()]; }
    /// Whether a device takes nothing here: out of service, with more on it than it has, or closed.
    [[nodiscard]] bool is_shut(std::size_t place) const noexcept { return shut_[place] != 0; }
    void shut(std::size_t place) noexcept { shut_[place] = 1; }
    void open(std::size_t place) noexcept { shut_[place] = classes_[class_of_[place]].open ? 0 : 1; }
    /// Whether the device is in another state than at the beginning, or may be.
    [[nodiscard]] bool is_touched(std::size_t place) const noexcept { return touches_[place] > 0; }
    [[nodiscard]] const std::vector<std::uint32_t>& touched() const noexcept { return touched_; }

    /// Takes a pod up, and puts it down; undo in the opposite order. `where` stays where it is while the pod is there.
    void lift(std::uint32_t pod);
    void undo_lift(std::uint32_t pod, const placement* where);
    void put(std::uint32_t pod, const placement* where);
    void undo_put(std::uint32_t pod);

    /// A pod like another one that is nowhere, and the last of these again gone: what a pod holds beside its old place.
    std::uint32_t add_copy(std::uint32_t pod);
    void drop_copy();

    /// Whether host rules let the pod onto the node.
    [[nodiscard]] bool allows(std::uint32_t pod, node_index where);
    /// Whether CPU, memory and the limit of pods hold the pod.
    [[nodiscard]] bool host_holds(std::uint32_t pod, node_index where) const noexcept;
    /// Of what the host lacks for the pod, whether `leaving` gives some back.
    [[nodiscard]] bool host_gains(std::uint32_t pod, std::uint32_t leaving, node_index where) const noexcept;
    /// Whether a device answers yes to one device's worth of the container, as far as use does not decide.
    [[nodiscard]] bool admits(std::uint32_t pod, const device_request& container, std::size_t place) const;
    /// Whether tags of pods on the device, or what they avoid, keep the pod away.
    [[nodiscard]] bool tags_agree(std::uint32_t pod, std::size_t place) const;
    /// Of a simple request: whether devices of the class serve it.
    [[nodiscard]] bool class_fits(std::uint32_t pod, std::uint32_t device_class);
    /// Whether the host would hold the pod if all pods of the node that may leave had left; where none leaves, whether
    /// it does now.
    [[nodiscard]] bool host_may_hold(std::uint32_t pod, node_index where, bool some_leave) const noexcept;
    /// Whether it makes no difference which of two devices of a node a pod gets: they are of a kind, in a state and
    /// were so at the beginning. Where residents may still leave, these have to be the same as well.
    [[nodiscard]] bool are_alike(std::size_t one, std::size_t other, bool residents_stay) const {
        return states_[one] == states_[other] && are_alike_but_for_states(one, other, residents_stay);
    }
    /// The same of devices whose states now the caller compares.
    [[nodiscard]] bool are_alike_but_for_states(std::size_t one, std::size_t other, bool residents_stay) const;
    /// Whether all of a placement is free for the pod now.
    [[nodiscard]] bool fits(std::uint32_t pod, const placement& where);

    /// Counts a step; false when there are none left, or an end is wanted.
    bool step() {
        if (stop.poll()) steps_left = 0;
        return --steps_left >= 0;
    }
    std::int64_t steps_left = 0;
    stop_signal stop;

private:
    void add_devices();
    void add_pods(std::span<const movable_pod> movable, const move_costs& costs);
    void note_only_residents();
    [[nodiscard]] bool has_host_for(std::uint32_t pod, const node& capacity, const host_use& used) const noexcept;
    [[nodiscard]] std::uint32_t request_number(const pod_request* request);
    void touch(std::size_t place);
    void untouch(std::size_t place);
    void add_shares(std::uint32_t pod, const placement& where);
    void remove_shares(std::uint32_t pod, const placement& where);

    const ledger* book_;
    std::vector<board_pod> pods_;
    std::vector<const booking*> bookings_; ///< by pod; null for the blocked one
    std::deque<board_request> requests_;
    std::vector<std::size_t> first_; ///< by node, and the end
    std::vector<std::uint32_t> owner_;
    std::vector<const device_spec*> specs_;
    std::vector<device_state> states_;
    std::vector<std::uint8_t> shut_;
    std::vector<std::uint32_t> class_of_; ///< at the beginning
    std::vector<small_vector<std::uint32_t, 4>> residents_;
    std::vector<std::uint32_t> only_resident_; ///< at the beginning; no_pod where it was idle, many_pods for several
    bool tells_devices_apart_ = false;         ///< a request names devices, or tags on them
    std::vector<std::vector<std::uint32_t>> on_node_;
    std::vector<host_use> hosts_;
    std::vector<std::uint32_t> touches_;
    std::vector<std::uint32_t> touched_;
    std::vector<device_class> classes_;
    std::vector<std::uint32_t> fullest_first_;
    std::vector<std::uint32_t> request_order_; ///< positions in requests_ by request, to find equal ones
};

} // namespace vgpualloc::plan
