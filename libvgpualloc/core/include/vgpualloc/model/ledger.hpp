// The one place where use is counted, for a cluster that may change: pods and claims are reserved, committed, rolled
// back and released, nodes and devices come, change, fail and go; an event log tells it all in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpualloc/core/config.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/core/ids.hpp"
#include "vgpualloc/core/numbered_log.hpp"
#include "vgpualloc/core/small_vector.hpp"
#include "vgpualloc/core/units.hpp"
#include "vgpualloc/model/cluster.hpp"
#include "vgpualloc/model/ledger_log.hpp"
#include "vgpualloc/model/placement.hpp"
#include "vgpualloc/model/rejection.hpp"

namespace vgpualloc {

/// What a node has given out besides its devices.
struct host_use {
    milli_cpu cpu;
    bytes memory;
    std::int64_t pods = 0;

    bool operator==(const host_use&) const = default;
};

/// Records what pods and claims use of every node and device. A call checks its arguments, then applies all of the
/// change or none of it. Misuse returns a code (pod_is_live, pod_not_known, node_not_known, node_gone,
/// amount_not_valid, claim_not_known, claim_elsewhere, claim_in_use) and changes nothing.
///
/// A booking belongs to a pod or a claim. A claim has devices and nothing of the host; a pod has its host part, devices
/// of its own, and the use of claims (booking::claims). A claim may be there before its pods and after them. While a
/// live pod uses it, it cannot be rolled back or released.
/// Invariant: recorded use is the sum of all live bookings. Use exceeds capacity only where pods were adopted
/// that way or a node or device was registered again with less. A violation aborts the process. Not thread-safe.
/// Several threads may read at the same time while no thread changes the ledger.
class ledger {
public:
    using result = expected<void, rejection_detail>;

    /// Nothing runs yet. The cluster passes check_cluster(); rebuild(nodes, bookings) checks that itself.
    explicit ledger(cluster nodes);
    ~ledger();
    ledger(ledger&& other) noexcept;
    ledger& operator=(ledger&& other) noexcept;
    /// A ledger of its own, in which the same is booked and the same has happened. No trial is open.
    [[nodiscard]] ledger copy() const;

    /// Reserves memory for `count` pods, and accepts pod numbers up to `count` (plus pod_index_gap_max) at once.
    void expect_pods(std::size_t count);

    // ---- bookings

    /// Books a pod or a claim; later requests see it at once. Refused with the first check that fails: the node's
    /// presence, the claims that a pod uses, pod limit, host CPU, host memory (these three of a pod), then each share
    /// in order. Host rules (taints, selectors) are not looked at.
    VGA_HOT [[nodiscard]] expected<booking_id, rejection_detail> reserve(booking entry);
    VGA_HOT result commit(owner_id owner);  ///< confirms a reservation
    result rollback(owner_id owner);        ///< removes a reservation; restores the exact former state
    VGA_HOT result release(owner_id owner); ///< gives back what was committed

    /// Books a pod that runs already, or a claim that was given out, as a restarted scheduler finds it: what runs is
    /// counted even where another scheduler gave out too much, and on devices that are not in service. Refused only for
    /// why_not_there(), for amounts of the host that are beyond model/limits.hpp or whose sum on the node overflows,
    /// and for the owner and its claims as by reserve().
    [[nodiscard]] expected<booking_id, rejection_detail> adopt(booking running);

    // ---- nodes. What runs on something that fails or goes stays counted until it is released.

    /// Where kinds of devices are registered (mode/factory.hpp) before a node that has them is added.
    [[nodiscard]] device_kinds& kinds() noexcept { return cluster_; }
    /// Adds a node. One that was removed while something was booked there takes its place and these bookings back,
    /// device by uuid.
    /// Errors: those of check_node(), duplicate for a name that is there.
    [[nodiscard]] expected<node_index> add_node(node described);
    /// Says what a node is now; devices are the same where their uuid is (without uuids, their index). A device that is
    /// no longer named, or whose mode is another one, goes or changes when its last pod is released; until then it is
    /// counted and takes nothing new. Of availability a description says whether a device is healthy: in_service and
    /// failed leave one that set_service() drains or reconfigures as it is. False if nothing is different: the cost is
    /// one comparison, or two where a device drains. Errors: those of check_node(), unknown_name for a node that is not
    /// there or another name than it has.
    [[nodiscard]] expected<bool> update_node(node_index where, node described);
    /// Error unknown_name for a node that is not there.
    expected<void> remove_node(node_index where);
    /// What an operator, or who watches a device, orders. Errors: unknown_name for a node or device that is not there.
    /// False if it was in that state.
    expected<bool> set_service(node_index where, device_index device, service_state service);
    expected<bool> set_schedulable(node_index where, bool schedulable);
    /// The node of that name, also one that was removed while pods run there; invalid if there is none. The first call
    /// costs as much as there are nodes.
    [[nodiscard]] node_index find_node(std::string_view name);
    [[nodiscard]] bool is_present(node_index where) const noexcept {
        return where.at() < records_.size() && records_[where.at()].present;
    }

    /// Of a live pod: rules of other pods may come to look at sets that nobody looked at before. No event;
    /// peers_version() rises.
    void set_peers(pod_id pod, shared_peers peers);
    [[nodiscard]] std::uint64_t peers_version() const noexcept { return peers_version_; }

    // ---- reading

    [[nodiscard]] bool is_live(owner_id owner) const noexcept { return status_of(owner) != status::absent; }
    [[nodiscard]] bool is_committed(owner_id owner) const noexcept { return status_of(owner) == status::committed; }
    /// How many bookings are live, of pods and claims.
    [[nodiscard]] std::size_t live_count() const noexcept { return live_count_; }
    /// The live booking of a pod or claim; null if it is not live. Valid until the next change.
    [[nodiscard]] const booking* find_booking(owner_id owner) const noexcept {
        return is_live(owner) ? &bookings_[entry_of(owner).slot] : nullptr;
    }
    /// The same for an owner that is known to be live.
    [[nodiscard]] const booking& booking_of(owner_id owner) const {
        VGA_ASSERT(is_live(owner), "only a live pod has a booking, or a live claim");
        return bookings_[entry_of(owner).slot];
    }
    /// A booking, live or not, by what reserve() returned; null if its place has another one now.
    [[nodiscard]] const booking* find_booking(booking_id id) const noexcept {
        const bool known = id.slot < bookings_.size() && generations_[id.slot] == id.generation;
        return known ? &bookings_[id.slot] : nullptr;
    }
    /// All pods that are live, ascending.
    [[nodiscard]] std::vector<pod_id> live_pods() const;
    /// All claims that are live, ascending.
    [[nodiscard]] std::vector<claim_id> live_claims() const;
    /// How many live pods use a claim; 0 for one that is not live.
    [[nodiscard]] std::uint32_t users_of(claim_id claim) const noexcept {
        return is_live(claim) ? claim_users_[claim.at()] : 0;
    }

    [[nodiscard]] const cluster& nodes() const noexcept { return cluster_; }
    [[nodiscard]] const host_use& host(node_index where) const noexcept { return records_[where.at()].host; }
    [[nodiscard]] std::span<const device_state> devices(node_index where) const noexcept {
        return {states_.data() + records_[where.at()].first, records_[where.at()].count};
    }
    [[nodiscard]] std::span<const service_state> services(node_index where) const noexcept {
        return {services_.data() + records_[where.at()].first, records_[where.at()].count};
    }
    /// Slots in bookings() of what is live on a node, pods and claims, in no order.
    [[nodiscard]] std::span<const std::uint32_t> live_on(node_index where) const noexcept {
        const slot_list& slots = records_[where.at()].slots;
        return {slots.data(), slots.size()};
    }
    /// Changes whenever the node's device list or description changes. Compare it to find out whether a copy is stale.
    /// The nodes of the start begin with version 0; no other one is used twice, not even by two nodes or after a trial
    /// was undone.
    [[nodiscard]] std::uint64_t version_of(node_index where) const noexcept { return records_[where.at()].version; }
    /// Equal scores go to the node of lower rank. Ranks are given in the order of the nodes; a node whose set of device
    /// kinds changes, or that is new, comes after all others.
    [[nodiscard]] std::uint64_t rank_of(node_index where) const noexcept { return ranks_[where.at()]; }
    /// What of a placement the cluster does not have: its node, a device, a part that the device's mode knows, amounts
    /// within model/limits.hpp. Code none: all is there, free or not.
    [[nodiscard]] rejection_detail why_not_there(const placement& where) const;
    /// Why `request`'s host part does not fit on a node; code none when it does.
    [[nodiscard]] rejection_detail why_not_host(node_index where, milli_cpu cpu, bytes memory) const noexcept;
    /// Whether pods together exceed a budget of the device, or overlap on it, because they were adopted that way or the
    /// device was registered anew with less.
    [[nodiscard]] bool is_overcommitted(node_index where, device_index which) const noexcept {
        return overcommitted_.contains({where.value(), which.value()});
    }
    /// Whether pods together exceed the node's CPU, memory or number of pods, for the same reasons.
    [[nodiscard]] bool is_overcommitted(node_index where) const noexcept {
        return overcommitted_hosts_.contains(where.value());
    }

    // ---- the log

    /// The events since the last checkpoint, in order. They are numbered from 0; first_event() is the first one's
    /// number.
    [[nodiscard]] std::span<const ledger_event> events() const noexcept { return events_.items(); }
    [[nodiscard]] std::uint64_t first_event() const noexcept { return events_.first(); }
    [[nodiscard]] std::uint64_t next_event() const noexcept { return events_.next(); }
    [[nodiscard]] const ledger_event& event(std::uint64_t number) const noexcept { return events_[number]; }
    /// All bookings, indexed by slot, including those that have ended.
    [[nodiscard]] std::span<const booking> bookings() const noexcept { return bookings_; }
    /// What an event of a node says.
    [[nodiscard]] const node_change& change(const ledger_event& event) const noexcept {
        return changes_[number_of_low(changes_.first(), event.subject)];
    }
    [[nodiscard]] ledger_log log() const noexcept {
        return {.events = events_.items(),
                .bookings = bookings_,
                .changes = changes_.items(),
                .first_change = changes_.first()};
    }
    /// Drops the events before number `read`, which every reader has read, and lets the places of bookings that ended
    /// there be used again. Nothing is dropped while a trial is open. Costs as much as is dropped, on average.
    void checkpoint(std::uint64_t read);

    /// The same ledger from a log and the cluster as it was at the log's start: equal state, bit for bit. Fails if the
    /// log does not belong to the cluster.
    [[nodiscard]] static expected<ledger> rebuild(cluster start, const ledger_log& log);
    /// The same counted use from the live bookings alone, as a restarted scheduler finds them on the pods.
    [[nodiscard]] static expected<ledger> rebuild(cluster now, std::span<const booking> live);

    /// Whether the counted use, the live pods and the nodes agree; logs may differ.
    [[nodiscard]] bool same_use(const ledger& other) const;
    /// The same where nodes may have other indices: they are matched by name.
    [[nodiscard]] bool same_use_by_name(const ledger& other) const;

    /// Recounts everything from the live bookings and aborts if a count differs or a capacity is exceeded.
    void check() const;

private:
    friend class trial;

    ledger(const ledger& other);

    enum class status : std::uint8_t { absent, reserved, committed };
    struct live_entry {
        std::uint32_t slot = 0;
        std::uint32_t generation = 0;
        status state = status::absent;
    };
    /// In place for as many pods as most nodes run: 100,000 small blocks that outlive all else would keep the memory
    /// between them.
    using slot_list = small_vector<std::uint32_t, 12>;
    /// A node's share of the tables.
    struct node_record {
        host_use host;
        slot_list slots;       ///< of the live bookings
        std::size_t first = 0; ///< of its devices in states_ and services_
        std::uint32_t count = 0;
        std::uint64_t version = 0;
        std::shared_ptr<const node> described; ///< what it was last said to be, where pods keep it from being that
        std::uint64_t saved_in = 0;            ///< the trial that keeps its former use
        bool present = true;
    };
    /// What a trial needs to take one step back (ledger_trial.cpp).
    struct undo_log;

    [[nodiscard]] const std::vector<live_entry>& entries_of(owner_id owner) const noexcept {
        return owner.is_claim() ? live_claims_ : live_;
    }
    [[nodiscard]] const live_entry& entry_of(owner_id owner) const noexcept { return entries_of(owner)[owner.at()]; }
    [[nodiscard]] live_entry& entry_of(owner_id owner) noexcept {
        return owner.is_claim() ? live_claims_[owner.at()] : live_[owner.at()];
    }
    [[nodiscard]] status status_of(owner_id owner) const noexcept {
        const std::vector<live_entry>& entries = entries_of(owner);
        const bool known = owner.at() < entries.size() && entries[owner.at()].generation == owner.generation();
        return known ? entries[owner.at()].state : status::absent;
    }
    [[nodiscard]] rejection_detail why_no_owner(owner_id owner) const noexcept;
    [[nodiscard]] rejection_detail why_not_claims(const booking& entry) const noexcept;
    void count_users(const booking& entry, bool booked);
    [[nodiscard]] rejection_detail why_misused(const booking& entry) const noexcept;
    [[nodiscard]] rejection_detail why_unknown(const placement& where) const noexcept;
    [[nodiscard]] rejection_detail why_foreign(const placement& where) const;
    [[nodiscard]] bool is_within(node_index where) const noexcept; ///< the host's use its capacity
    void expect_pods_of(std::span<const booking> bookings);
    VGA_HOT [[nodiscard]] std::uint32_t new_slot(booking&& entry);
    VGA_HOT [[nodiscard]] booking_id record(booking&& entry, ledger_event_kind kind, status state);
    VGA_HOT [[nodiscard]] rejection_detail add_shares(const placement& where);
    void remove_shares(const placement& where, std::size_t count);
    result take_back(owner_id owner, ledger_event_kind kind, status needed);
    void recount(node_index where, std::uint32_t device);
    void recount_overcommitted(node_index where);
    void check_use(node_index where) const;
    void verify_step([[maybe_unused]] node_index where) const {
#if VGA_VERIFY_ENABLED
        check_use(where);
#endif
    }
    // nodes (ledger_nodes.cpp)
    struct layout;
    [[nodiscard]] expected<void> check_described(const node& described) const;
    [[nodiscard]] const node& last_described(node_index where) const noexcept;
    void keep_orders(node_index where, node& described) const;
    [[nodiscard]] expected<bool> describe_anew(node_index where, node described);
    void renew_version(node_index where) noexcept { records_[where.at()].version = ++versions_; }
    [[nodiscard]] layout plan_layout(node_index where, const node& described) const;
    void describe(node_index where, const node& described, node_change& change);
    void lay_out(node_index where, layout planned, node_change& change);
    void move_shares(node_index where, const layout& planned, node_change& change);
    void place_devices(node_index where, const std::vector<device>& devices);
    void settle(node_index where);
    void note_change(ledger_event_kind kind, node_change change);
    void free_node(node_index where);
    [[nodiscard]] node_index new_node_index();
    void name_nodes();
    /// Whether a node is there, or was removed while something is booked on it.
    [[nodiscard]] static bool counts(const node_record& owner) noexcept {
        return owner.present || !owner.slots.empty();
    }
    // trials (ledger_trial.cpp)
    std::size_t begin_trial();
    void end_trial(std::size_t begin, bool keep);
    void save_use(node_index where);
    void save_structure(node_index where, bool counted);
    void note_added_node(node_index where);
    void note_owner(owner_id owner);
    [[nodiscard]] bool in_trial() const noexcept { return trial_ != 0; }

    cluster cluster_;
    std::vector<node_record> records_;                               ///< by node
    std::vector<std::uint64_t> ranks_;                               ///< by node; apart, as all are read at once
    std::vector<device_state> states_;                               ///< by place of the device
    std::vector<service_state> services_;                            ///< by place of the device
    std::map<std::uint32_t, std::vector<std::size_t>> free_extents_; ///< by number of devices
    std::vector<std::uint32_t> free_nodes_;
    std::map<std::string, std::uint32_t, std::less<>> names_; ///< of nodes; empty until it is needed
    std::uint64_t next_rank_ = 0;                             ///< never given twice, not even after a trial was undone
    std::uint64_t versions_ = 0;                              ///< how many were given to nodes, of trials as well
    std::vector<live_entry> live_;                            ///< by pod
    std::vector<live_entry> live_claims_;                     ///< by claim
    std::vector<std::uint32_t> claim_users_;                  ///< by claim: live pods that use it
    std::size_t expected_pods_ = 0;                           ///< numbers up to there are taken in any case
    std::size_t live_count_ = 0;
    std::vector<booking> bookings_;
    std::vector<std::uint32_t> generations_; ///< by slot
    std::vector<std::uint32_t> free_slots_;
    numbered_log<ledger_event> events_;
    numbered_log<node_change> changes_;
    std::set<std::pair<std::uint32_t, std::uint32_t>> overcommitted_; ///< node and device
    std::set<std::uint32_t> overcommitted_hosts_;                     ///< nodes
    std::shared_ptr<undo_log> undo_;                                  ///< null until there is a trial; never shared
    std::uint64_t trial_ = 0;       ///< the number of the innermost open trial; 0 = none
    std::uint64_t trial_count_ = 0; ///< how many there were
    std::uint64_t peers_version_ = 0;
};

} // namespace vgpualloc
