// The one place where use is counted: reserve, commit, rollback, release, with an event log that rebuilds it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "vgpualloc/core/config.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/core/ids.hpp"
#include "vgpualloc/core/units.hpp"
#include "vgpualloc/model/cluster.hpp"
#include "vgpualloc/model/placement.hpp"
#include "vgpualloc/model/rejection.hpp"

namespace vgpualloc {

/// What a node has given out besides its devices.
struct host_use {
    milli_cpu cpu;
    mib memory;
    std::int64_t pods = 0;

    bool operator==(const host_use&) const = default;
};

/// `adopt` is a reserve and commit of what runs already, whether it fits or not.
enum class ledger_event_kind : std::uint8_t { reserve, commit, rollback, release, adopt };

/// Whether the event books what its booking says, or gives it back; a commit does neither.
[[nodiscard]] constexpr bool books(ledger_event_kind kind) noexcept {
    return kind == ledger_event_kind::reserve || kind == ledger_event_kind::adopt;
}
[[nodiscard]] constexpr bool gives_back(ledger_event_kind kind) noexcept {
    return kind == ledger_event_kind::rollback || kind == ledger_event_kind::release;
}

/// One booking of one pod. A pod that was rolled back or released may be booked again, under a new booking.
struct booking {
    pod_id pod;
    milli_cpu cpu;
    mib memory;
    placement where;
    std::vector<std::string> tags{}; ///< of pod_request::tags: what other pods may avoid
    bool operator==(const booking&) const = default;
};

struct ledger_event {
    ledger_event_kind kind;
    std::uint32_t booking; ///< position in ledger::bookings()
};

/// Counts use per node and device for one cluster. Every operation checks first and then changes all or nothing.
/// Invariant: the sum of all live bookings equals the counted use, and nothing exceeds its capacity but what was
/// adopted that way; a break aborts. Not thread-safe. The cluster must outlive the ledger and not change.
class ledger {
public:
    explicit ledger(const cluster& owned);

    /// Makes room for that many pods, as a caller who knows the number saves the copies of growing.
    void expect_pods(std::size_t count);

    /// Books a pod; later requests see it at once. Refused with the first check that fails: pod limit, host CPU, host
    /// memory, then each share in order. `pod` must not be live.
    [[nodiscard]] expected<void, rejection_detail> reserve(booking wanted);
    void commit(pod_id pod);   ///< `pod` must be reserved
    void rollback(pod_id pod); ///< `pod` must be reserved; restores the exact former state
    void release(pod_id pod);  ///< `pod` must be committed

    /// Books a pod that runs already, as a restarted scheduler finds it: what runs is counted even where another
    /// scheduler gave out too much. Refused only if the placement names a device the node does not have or a partition
    /// its mode does not know. `pod` must not be live.
    [[nodiscard]] expected<void, rejection_detail> adopt(booking found);
    /// Whether adopted pods together exceed a budget of the device, or overlap on it.
    [[nodiscard]] bool is_overcommitted(node_index where, device_index which) const noexcept {
        return overcommitted_.contains(device_position(where, which));
    }

    /// Whether adopted pods exceed the node's CPU, memory or number of pods, with all that is on it now.
    [[nodiscard]] bool is_overcommitted(node_index where) const noexcept {
        return overcommitted_hosts_.contains(where.at());
    }

    [[nodiscard]] bool is_live(pod_id pod) const noexcept { return status_of(pod) != status::absent; }
    [[nodiscard]] bool is_committed(pod_id pod) const noexcept { return status_of(pod) == status::committed; }
    [[nodiscard]] std::size_t live_count() const noexcept { return live_count_; }
    /// The live booking of a pod; the pod must be live. Invalidated by the next reserve().
    [[nodiscard]] const booking& booking_of(pod_id pod) const;

    [[nodiscard]] const cluster& nodes() const noexcept { return *cluster_; }
    [[nodiscard]] const host_use& host(node_index where) const noexcept { return hosts_[where.at()]; }
    [[nodiscard]] std::span<const device_state> devices(node_index where) const noexcept {
        return {devices_.data() + first_device_[where.at()], first_device_[where.at() + 1] - first_device_[where.at()]};
    }
    /// Positions in bookings() of the pods that are live on a node, in no order.
    [[nodiscard]] std::span<const std::uint32_t> live_on(node_index where) const noexcept {
        return pods_on_node_[where.at()];
    }
    /// Why `request`'s host part does not fit on a node; code none when it does.
    [[nodiscard]] rejection_detail why_not_host(node_index where, milli_cpu cpu, mib memory) const noexcept;

    /// Everything that happened, in order. Grows only.
    [[nodiscard]] std::span<const ledger_event> events() const noexcept { return events_; }
    [[nodiscard]] std::span<const booking> bookings() const noexcept { return bookings_; }

    /// The same ledger from its own log: equal state, bit for bit. Fails if the log does not belong to the cluster.
    [[nodiscard]] static expected<ledger> rebuild(const cluster& owned, std::span<const ledger_event> events,
                                                  std::span<const booking> bookings);
    /// The same counted use from the live bookings alone, as a restarted scheduler finds them on the pods.
    [[nodiscard]] static expected<ledger> rebuild(const cluster& owned, std::span<const booking> live);

    /// Whether the counted use and the live pods agree; logs may differ.
    [[nodiscard]] bool same_use(const ledger& other) const;

    /// Recounts everything from the live bookings and aborts if a count differs or a capacity is exceeded.
    void check() const;

private:
    enum class status : std::uint8_t { absent, reserved, committed };
    struct live_entry {
        std::uint32_t booking = 0;
        status state = status::absent;
    };

    [[nodiscard]] status status_of(pod_id pod) const noexcept {
        return pod.at() < live_.size() ? live_[pod.at()].state : status::absent;
    }
    [[nodiscard]] std::size_t device_position(node_index where, device_index which) const noexcept {
        return first_device_[where.at()] + which.at();
    }
    void record(booking what, ledger_event_kind kind, status state);
    void recount_overcommitted(node_index where);
    [[nodiscard]] bool is_within(node_index where) const noexcept; ///< the host's use its capacity
    [[nodiscard]] rejection_detail add_shares(const placement& where);
    void remove_shares(const placement& where, std::size_t count);
    void take_back(pod_id pod, ledger_event_kind kind);
    void check_node(node_index where) const;
    void verify_step(node_index where) const {
#if VGA_VERIFY_ENABLED
        check_node(where);
#else
        static_cast<void>(where);
#endif
    }

    const cluster* cluster_;
    std::vector<std::size_t> first_device_; ///< per node, position of its first device in devices_; one more at the end
    std::vector<host_use> hosts_;
    std::vector<device_state> devices_;
    std::set<std::size_t> overcommitted_hosts_; ///< nodes on which adopted pods exceeded the host's resources
    std::set<std::size_t> overcommitted_;       ///< positions in devices_; only adopted pods get a device here
    std::vector<std::vector<std::uint32_t>> pods_on_node_; ///< live bookings per node, unordered
    std::vector<live_entry> live_;                         ///< by pod id
    std::size_t live_count_ = 0;
    std::vector<booking> bookings_;
    std::vector<ledger_event> events_;
};

} // namespace vgpualloc
