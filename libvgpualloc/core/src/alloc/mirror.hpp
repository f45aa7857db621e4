// The cluster as an allocator sees it: every node's devices as one interned configuration, nodes of the same kinds of
// devices in one group, and which of them changed last. Follows a ledger through its log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "alloc/host_classes.hpp"
#include "alloc/state_table.hpp"
#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/policy/pair.hpp"

namespace vgpualloc {

inline constexpr std::uint32_t no_slot = not_interned;

/// What a node's score depends on, and its place in the group's list of latest changes: what scanning touches.
struct node_slot {
    milli_cpu cpu_left;
    const device_config* config = nullptr; ///< null: no node is here any more
    std::uint64_t changed = 0;             ///< the group's change count when it last changed
    std::uint32_t config_id = 0;
    std::uint32_t newer = no_slot;
    std::uint32_t older = no_slot;
    bool is_full = false;    ///< of pods
    bool needs_look = false; ///< gone, full of pods or not host_facts::is_open(): not every pod may enter

    [[nodiscard]] bool has_cpu(milli_cpu amount) const noexcept { return amount <= cpu_left || amount == milli_cpu{0}; }
    /// Of the node's state.
    [[nodiscard]] std::size_t hash() const noexcept {
        constexpr std::uint64_t mixer = 0x9e3779b97f4a7c15U;
        constexpr int shift = 48;
        const auto cpu = static_cast<std::uint64_t>(cpu_left.count());
        return static_cast<std::size_t>(((config_id + cpu * mixer) * mixer) >> shift);
    }
};
/// The rest of what is known of a node.
struct node_facts {
    bytes memory_left;
    milli_cpu cpu_capacity;
    node_index node;
    std::uint32_t host_class = host_classes::none; ///< none: no node is here any more
    std::uint64_t rank = 0;                        ///< ledger::rank_of()

    [[nodiscard]] bool has_memory(bytes amount) const noexcept { return amount <= memory_left || amount == bytes{0}; }
};
/// Nodes whose devices are of the same set of kinds: a request's model and mode filter treats them alike.
struct node_group {
    std::uint64_t changes = 0;       ///< how many there were
    std::uint64_t renumbered = 0;    ///< the change count when slots last got new numbers
    std::uint32_t newest = no_slot;  ///< the slot that changed last; `older` leads to the one before
    std::vector<node_slot> slots{};  ///< by ascending rank of their nodes
    std::vector<node_facts> facts{}; ///< by slot
    std::vector<std::uint32_t> kinds{};
    std::size_t holes = 0; ///< slots without a node
};

class cluster_mirror {
public:
    struct slot_place {
        std::uint32_t group = no_slot; ///< no_slot: the node is gone
        std::uint32_t slot = 0;
        std::uint64_t version = 0; ///< ledger::version_of() when it was read
        std::uint32_t count = 0;   ///< of devices
        std::size_t first = 0;     ///< in the list of all devices
    };

    /// `book` must outlive the mirror and stay where it is.
    cluster_mirror(const ledger& book, mirror_limits limits);

    /// Takes over what the ledger has logged since the last call and tells it to the policies. Calls forget() before
    /// ids are given anew. A reader that has missed events, because the log was cut before it read them, reads the
    /// whole ledger instead; its policies then do not hear of what it missed.
    template <class Forget>
    void follow(const policy_pair& policies, Forget&& forget) {
        if (next_event_ < ledger_->next_event()) read_log(policies);
        if (is_crowded()) {
            forget();
            intern_all();
        }
    }
    /// The log so far was told to the policies by somebody else.
    void skip_log() noexcept { next_event_ = ledger_->next_event(); }
    /// Makes the next follow() intern everything afresh.
    void crowd() noexcept { crowded_ = true; }
    /// The number of the first event that was not read yet: what ledger::checkpoint() may be given.
    [[nodiscard]] std::uint64_t next_event() const noexcept { return next_event_; }

    [[nodiscard]] const std::vector<node_group>& groups() const noexcept { return groups_; }
    [[nodiscard]] std::size_t node_count() const noexcept { return places_.size(); }
    [[nodiscard]] const slot_place& place_of(node_index where) const noexcept { return places_[where.at()]; }
    /// What the nodes' classes are told apart by.
    [[nodiscard]] const host_classes& hosts() const noexcept { return hosts_; }
    /// A request with these rules is known from now on.
    void add_rules(const host_rules& rules) {
        if (hosts_.add_rules(rules)) sort_hosts();
    }
    void remove_rules(const host_rules& rules) { hosts_.remove_rules(rules); }
    /// A node as policies see it.
    VGA_HOT [[nodiscard]] node_view view_of(node_index where) const noexcept;
    /// A node's devices by index.
    [[nodiscard]] std::span<const device_view* const> devices(node_index where) const noexcept {
        return {devices_.data() + places_[where.at()].first, places_[where.at()].count};
    }
    [[nodiscard]] const ledger& book() const noexcept { return *ledger_; }
    [[nodiscard]] state_table& states() noexcept { return states_; }
    [[nodiscard]] const state_table& states() const noexcept { return states_; }
    /// Rises when configurations and devices get new ids.
    [[nodiscard]] std::uint64_t id_generation() const noexcept { return id_generation_; }

private:
    VGA_HOT void read_log(const policy_pair& policies);
    void read_event(const ledger_event& event, const policy_pair& policies);
    VGA_HOT void take_over(const booking& entry);
    VGA_HOT void read_host(node_index where);
    void read_node(node_index where);
    void read_all_nodes();
    void intern_all();
    void pack_devices();
    void sort_host(node_index where);
    void sort_hosts();
    void leave_group(slot_place& place);
    void enter_group(node_index where, slot_place& place);
    void put_between(node_group& group, const node_facts& facts, std::size_t position);
    void renumber(node_group& group);
    static void forget_changes(node_group& group);
    static void mark_changed(node_group& group, std::uint32_t slot);
    [[nodiscard]] bool is_crowded() const noexcept {
        return crowded_ || states_.config_count() > configs_max_ || states_.device_count() > devices_max_;
    }

    const ledger* ledger_;
    mirror_limits limits_;
    state_table states_;
    host_classes hosts_;
    std::uint64_t next_event_ = 0;
    std::vector<slot_place> places_; ///< by node
    std::vector<const device_view*> devices_;
    std::size_t devices_unused_ = 0; ///< entries of devices_ that no node has any more
    std::vector<node_group> groups_;
    std::map<std::vector<std::uint32_t>, std::uint32_t> group_numbers_; ///< by kinds
    std::uint64_t id_generation_ = 0;
    std::size_t devices_max_ = 0; ///< how many may be interned until everything is interned afresh
    std::size_t configs_max_ = 0;
    bool crowded_ = false;
};

} // namespace vgpualloc
