// Carries out plans of moves on a ledger, one move after the other, while pods and nodes go on changing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "vgpualloc/core/ids.hpp"
#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/plan/move_plan.hpp"

namespace vgpualloc::plan {

/// How many moves may be made. Each costs a token.
struct move_allowance {
    double per_accepted = 0.01; ///< tokens that each accepted pod brings
    double saved_max = 50.0;    ///< tokens that may be saved
};

/// How moves are carried out.
struct move_executor_options {
    move_allowance allowance{};
    /// Moves take no time: start() makes all of them and ends the plan before it returns. No device is closed and no
    /// copy is booked.
    bool instant = false;
};

/// One step of a plan that was announced to the host. The plan's next step makes it void.
struct move_ticket {
    std::uint32_t plan = 0;
    std::uint32_t step = 0;
    bool operator==(const move_ticket&) const = default;
};

/// A plan that is no longer carried out.
struct ended_plan {
    std::optional<booking_id> booked{}; ///< the arriving pod's booking, if it has its place; it is committed
    std::optional<pod_id> arriving{};   ///< the pod that the plan makes room for
    bool dropped = false;               ///< not all of it was done; what was moved stays where it is
    bool closed_devices = false;        ///< devices were closed while it was carried out, and are open again
};

/// What the executor requires of the program that moves pods: a simulation, or a scheduler of a live cluster. No call
/// may call the executor back, except where it says so.
class move_host {
public:
    move_host() = default;
    virtual ~move_host() = default;
    move_host(const move_host&) = delete;
    move_host& operator=(const move_host&) = delete;

    /// The device accepts only the plan's pods, or all pods again. Several plans may close one device.
    virtual void set_closed(node_index node, device_index device, bool closed) = 0;
    /// A pod_id for the booking of a copy: no pod has it or will have it. The executor uses it again and again.
    [[nodiscard]] virtual pod_id new_copy() = 0;
    /// Begin to copy the pod; its new place is booked. Call copied() when the copy is complete, cancel() if it fails.
    virtual void begin_copy(move_ticket ticket, const pod_move& move) = 0;
    /// Call copied() soon, after this call: the pod that was being copied has ended.
    virtual void go_on_soon(move_ticket ticket) = 0;
    /// The ledger has the pod at its old place, and has it at the new one after the next call.
    virtual void leaves(const pod_move& move) = 0;
    virtual void arrives(const pod_move& move, booking_id booked) = 0;
    /// What the ledger counts on the node has changed.
    virtual void use_changed(node_index node) = 0;
    /// Whether the arriving pod may still have its place, for reasons that the ledger does not know, such as a quota.
    [[nodiscard]] virtual bool may_start(pod_id arriving) = 0;
    /// The plan has ended and the executor has forgotten it: this call may call the executor.
    virtual void ended(const ended_plan& plan) = 0;
};

/// Holds the plans under way with their copies and the tokens. While a pod is copied the ledger has its old place and,
/// under the pod_id of a copy, its new one. A plan is dropped as soon as something keeps it from being carried out: a
/// node that it needs changes, a fault hits a copy, or the CPU, memory or part that it needs is no longer free.
/// Ledger and host must outlive the executor. Not thread-safe.
class move_executor {
public:
    move_executor(ledger& book, move_host& host, move_executor_options options)
        : ledger_{&book}, host_{&host}, options_{options} {}

    /// Moves that may be made now, as a number that may be a fraction.
    [[nodiscard]] double tokens() const noexcept { return tokens_; }
    /// A pod was accepted.
    void note_accepted() noexcept {
        tokens_ = std::min(options_.allowance.saved_max, tokens_ + options_.allowance.per_accepted);
    }
    [[nodiscard]] bool is_idle() const noexcept { return active_.empty(); }
    /// Whether a plan under way moves the pod.
    [[nodiscard]] bool moves(pod_id pod) const noexcept;

    /// Begins to carry out a plan, for an arriving pod (its place is move_plan::where, whatever `arriving` has) or,
    /// without one, to empty devices. False, and nothing has happened, if the plan has no moves, there are not enough
    /// tokens, or the moves and the arrival would not succeed one after the other on the ledger as it is.
    [[nodiscard]] bool start(move_plan planned, std::optional<booking> arriving);

    /// Whether the ticket is the latest one of a plan under way.
    [[nodiscard]] bool is_current(move_ticket ticket) const noexcept;
    /// The copy is complete, or the pod that was copied has ended. Nothing happens if the ticket is void.
    void copied(move_ticket ticket);
    /// A pod has ended and the ledger has released it: it needs no move.
    void pod_ended(pod_id pod);
    /// A node or its devices have changed, or are about to: plans that involve it are dropped.
    void node_changes(node_index node);
    /// A fault hits these pods; pods that are no copies are ignored.
    void fault_hits(std::span<const pod_id> pods);
    /// Drops the plan, for example because its copy has failed. False if it is not under way.
    bool cancel(std::uint32_t plan);

private:
    /// Moves that are carried out one after the other.
    struct active_plan {
        std::uint32_t number = 0;
        std::optional<booking> arriving{};
        move_plan planned;
        std::uint32_t next = 0;       ///< the move that is under way, or the number of moves
        std::uint32_t steps = 0;      ///< how many were announced; only the last one counts
        std::vector<bool> obsolete{}; ///< by move: its pod has ended first
        std::optional<pod_id> copy{}; ///< as what the copy under way is booked
        std::vector<std::pair<node_index, device_index>> closed{};
    };

    [[nodiscard]] bool is_possible(const move_plan& planned, const std::optional<booking>& arriving);
    [[nodiscard]] std::vector<active_plan>::iterator find(std::uint32_t number) noexcept;
    void close_devices(active_plan& active);
    void go_on(std::uint32_t number);
    [[nodiscard]] bool book_copy(active_plan& active, const pod_move& move);
    void end_copy(active_plan& active);
    void relocate(const pod_move& move);
    active_plan close(std::uint32_t number);
    void complete(std::uint32_t number);
    void drop(std::uint32_t number);
    template <class Predicate>
    void drop_where(Predicate concerns);

    ledger* ledger_;
    move_host* host_;
    move_executor_options options_;
    std::vector<active_plan> active_;
    std::vector<pod_id> free_copies_;
    std::uint32_t next_plan_ = 0;
    double tokens_ = 0.0;
};

} // namespace vgpualloc::plan
