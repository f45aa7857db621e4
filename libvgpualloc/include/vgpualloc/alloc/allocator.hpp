// The allocator: for a pod, the best node and devices by a policy, from an index that is kept up to date pod by pod.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "vgpualloc/alloc/device_chooser.hpp"
#include "vgpualloc/alloc/naive_allocator.hpp"
#include "vgpualloc/alloc/node_answer.hpp"
#include "vgpualloc/alloc/outcome_table.hpp"
#include "vgpualloc/alloc/part_table.hpp"
#include "vgpualloc/alloc/score_tree.hpp"
#include "vgpualloc/alloc/state_table.hpp"
#include "vgpualloc/alloc/totals_chooser.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/policy/policy.hpp"

namespace vgpualloc {

using request_id = dense_id<struct request_id_tag>; ///< a distinct request known to one allocator

struct allocator_options {
    std::size_t configs_max = 4'000'000;                ///< interned configurations kept before starting afresh
    std::size_t index_bytes_max = std::size_t{3} << 29; ///< score trees kept before dropping the least used (1.5 GiB)
    /// Interned device states kept before starting afresh, or four times those of the cluster if that is more: each
    /// costs memory for every request class.
    std::size_t devices_max = std::size_t{1} << 16;
};

/// Decides placements on one ledger. Placing a pod changes one node, so per request class a tree keeps every node's
/// score and a decision re-scores only the nodes that changed since the class was last asked for (DESIGN §5). Gives the
/// decisions of naive_allocator, always; asks it where it matters which device it is (pod_request::names_devices,
/// positional_policy).
///
/// The ledger may also be changed by others between calls: the allocator reads its event log. Ledger and policies must
/// outlive the allocator. Not thread-safe.
class allocator {
public:
    allocator(ledger& book, policy_pair policies, allocator_options options = {});
    ~allocator();
    allocator(const allocator&) = delete;
    allocator& operator=(const allocator&) = delete;

    /// A dense number for a request; equal requests get the same one.
    [[nodiscard]] request_id intern(const pod_request& request);

    /// The best placement, without booking it. The ledger is unchanged.
    [[nodiscard]] expected<placement, rejection> decide(request_id request);

    /// decide(), then reserve and commit. `pod` must not be live.
    [[nodiscard]] expected<placement, rejection> place(pod_id pod, request_id request);

    /// Feasibility and score of every node, in node order.
    [[nodiscard]] std::vector<node_answer> evaluate(request_id request);

    /// A node as policies see it now. Valid until the ledger changes or a decision is made.
    [[nodiscard]] node_view view_of(node_index where);
    /// Rises when configurations get new ids, which voids whatever was kept by id.
    [[nodiscard]] std::uint64_t id_generation() const noexcept { return id_generation_; }

    [[nodiscard]] const pod_request& request_of(request_id request) const { return requests_[request.at()].original; }
    /// Distinct configurations of devices interned so far: what the work depends on.
    [[nodiscard]] std::size_t config_count() const noexcept { return states_.config_count(); }

private:
    /// What a node's score depends on, and its place in the group's list of latest changes: what scanning touches.
    struct node_slot {
        milli_cpu cpu_left;
        const device_config* config = nullptr;
        std::uint64_t changed = 0; ///< the group's change count when it last changed
        std::uint32_t config_id = 0;
        std::uint32_t newer = no_slot;
        std::uint32_t older = no_slot;
        bool takes_pods = true; ///< below its pod limit
    };
    /// The rest of what is known of a node.
    struct node_facts {
        mib memory_left;
        milli_cpu cpu_capacity;
        node_index node;
    };
    static constexpr std::uint32_t no_slot = not_interned;
    /// Nodes whose devices are of the same set of kinds: a request's model and mode filter treats them alike.
    struct node_group {
        std::vector<std::uint32_t> kinds;
        std::vector<node_slot> slots;   ///< in node order
        std::vector<node_facts> facts;  ///< by slot
        std::uint64_t changes = 0;      ///< how many there were
        std::uint32_t newest = no_slot; ///< the slot that changed last; `older` leads to the one before
    };
    struct slot_place {
        std::uint32_t group = 0;
        std::uint32_t slot = 0;
    };
    /// A class's index of one group, with what every decision looks at in front.
    struct index_head {
        std::uint64_t changes_read = never_built; ///< the group's change count that the index has followed
        double best = infeasible_score;           ///< its highest score
        std::uint32_t first = no_slot;            ///< the first slot that has it; no_slot = not looked up yet
        std::unique_ptr<struct class_index> index;
    };
    static constexpr std::uint64_t never_built = ~std::uint64_t{0};

    /// A request as a group sees it: model and mode filters that every device passes are gone, and so is the host
    /// memory, which no score depends on.
    struct request_class {
        pod_request request;
        request_view view;
        std::uint32_t shape = 0;          ///< where a policy looks at whole configurations
        std::vector<std::uint32_t> parts; ///< by container, where both policies score by totals
        std::uint64_t epoch = 0;          ///< of the policies when the indexes were built
        std::vector<index_head> heads;    ///< by group
    };
    struct request_part {
        std::uint32_t group = 0;
        std::uint32_t class_number = 0;
        rejection_code refused = rejection_code::none; ///< the whole group is out of the question
        index_head* head = nullptr;                    ///< of the class and the group; null if refused
    };
    struct request_record {
        pod_request original;
        bool plain = false;              ///< answered by the plain path
        std::vector<request_part> parts; ///< one per group
        std::uint64_t epoch = no_epoch;  ///< of the policies that the classes of the parts have entered
    };
    static constexpr std::uint64_t no_epoch = ~std::uint64_t{0};

    void sync();
    void apply(const booking& what);
    void read_host(node_index where);
    static void mark_changed(node_group& group, std::uint32_t slot);
    void start_afresh();
    [[nodiscard]] std::uint32_t class_of(const pod_request& request);
    [[nodiscard]] request_part part_for(const pod_request& request, std::uint32_t group);
    void follow(const request_part& part);
    void build(const request_class& asked, index_head& head, node_group& group);
    void refresh(const request_class& asked, const index_head& head, const node_group& group);
    void set_class(request_part& part, const pod_request& seen);
    void enter_epoch(request_record& asked);
    [[nodiscard]] double answer(const request_class& asked, const node_group& group, std::size_t position);
    [[nodiscard]] double best_score(const request_class& asked, const node_view& before, std::span<outcome> ways);
    [[nodiscard]] double devices_score(const request_class& asked, const node_slot& slot, const node_view& before);
    [[nodiscard]] bool choose_devices(const request_class& asked, const node_view& before, bool may_draw,
                                      small_vector<device_share, 1>& shares);
    [[nodiscard]] double stepwise_score(const request_class& asked, const node_view& before);
    [[nodiscard]] node_index best_node(request_record& asked, double& best);
    void mind_memory(request_record& asked, request_part& part);
    [[nodiscard]] static std::uint32_t first_of(index_head& head);
    [[nodiscard]] node_index draw_node(const request_record& asked, double best);
    [[nodiscard]] rejection why_nowhere(const request_record& asked);
    [[nodiscard]] std::uint64_t policy_epoch() const noexcept {
        return policies_.node->epoch() + policies_.device->epoch();
    }
    void make_room(std::size_t bytes);
    [[nodiscard]] std::span<const device_view* const> physical(node_index where) const {
        return {physical_.data() + first_device_[where.at()],
                first_device_[where.at() + 1] - first_device_[where.at()]};
    }

    ledger* ledger_;
    policy_pair policies_;
    pair_traits traits_; ///< by totals: parts_ and totals_ decide instead of outcomes_ and chooser_
    allocator_options options_;
    state_table states_;
    outcome_table outcomes_;
    device_chooser chooser_;
    part_table parts_;
    totals_chooser totals_;
    naive_allocator plain_;
    std::vector<std::size_t> first_device_;
    std::vector<const device_view*> physical_; ///< by node, then device index
    std::vector<node_group> groups_;
    std::vector<slot_place> place_of_; ///< by node
    std::map<pod_request, std::uint32_t> class_numbers_;
    std::vector<request_class> classes_;
    std::map<pod_request, std::uint32_t> request_numbers_;
    std::vector<request_record> requests_;
    const request_record* deciding_ = nullptr; ///< the request being answered, whose indexes must stay
    std::size_t events_read_ = 0;
    std::size_t index_bytes_ = 0;
    std::uint64_t use_clock_ = 0;
    std::uint64_t id_generation_ = 0;
    std::size_t devices_when_fresh_ = 0; ///< device states just after the last start
    small_vector<device_share, 1> scratch_shares_;
};

} // namespace vgpualloc
