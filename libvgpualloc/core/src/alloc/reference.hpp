// The reference: asks every node about every pod and remembers nothing. What allocator must agree with, and what
// answers for one node where it matters which device it is.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "alloc/fit_search.hpp"
#include "alloc/peer_census.hpp"
#include "alloc/state_table.hpp"
#include "vgpualloc/alloc/answer.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/model/request.hpp"
#include "vgpualloc/policy/pair.hpp"

namespace vgpualloc {

/// Decides from the ledger's states and the policies' and modes' functions alone. Chooses devices greedily: containers
/// in order, devices one by one, a container's devices all different. Each step takes the part that falls short of the
/// request least, then the highest device score, then the highest node score, then (only where several steps follow
/// each other, so that the outcome does not depend on which of two unlike devices has the lower index) the smallest
/// state, then the lowest index. Where that leaves nothing for a later container, the walk is repeated with steps only
/// after which the rest of the pod still fits (fit_search). Nodes: the least compromise, the highest score, the lowest
/// rank.
///
/// Does not tell the policies of the ledger's events; observe() does. Requests must pass check_request().
class reference_allocator {
public:
    /// Ledger and policies must outlive the allocator. With a table of states policies see interned views, which lets
    /// them remember; the decisions are the same.
    reference_allocator(const ledger& book, policy_pair policies, state_table* states = nullptr);

    /// Tells the policies what the ledger has logged since the last call. Not needed where somebody else does.
    void observe();

    [[nodiscard]] expected<placement, rejection> decide(const pod_request& request) const;
    /// Every node, in node order; code node_gone for one that was removed.
    [[nodiscard]] std::vector<node_answer> evaluate(const pod_request& request) const;

    [[nodiscard]] node_answer answer(const pod_request& request, node_index where) const;
    /// Whether and where it fits on a node, and why not.
    [[nodiscard]] node_decision try_node(node_index where, const pod_request& request) const;
    /// Everything that one node has to say, as far as it can be said: also what each device answers to each container.
    [[nodiscard]] node_decision ask_node(node_index where, const pod_request& request) const;
    /// The devices of a node that answered yes. Draws among equal devices if `may_draw` and the policy does.
    [[nodiscard]] placement choose(const pod_request& request, node_index where, bool may_draw) const;

    /// What a policy, which need not be one of this allocator's, thinks of a placement on a node as it is now.
    [[nodiscard]] double score_placement(policy& scorer, const pod_request& request, const placement& where) const;
    [[nodiscard]] std::vector<score_part> parts_of_placement(policy& scorer, const pod_request& request,
                                                             const placement& where) const;

    /// Whether the answer of a node may depend on which device it is, given what the request names: uuids, tags that
    /// other pods left there, link groups. If not, the node answers as if nothing were named.
    [[nodiscard]] bool names_matter(const pod_request& request, node_index where) const;

    /// The checks of a node that do not depend on the use of its devices. Host memory comes last of all, after these.
    [[nodiscard]] rejection_detail why_not_node(const pod_request& request, node_index where) const;
    /// What answer() says of a node that passes why_not_node(), if that cannot change while the node is described as it
    /// is: none of its devices is what the first container that wants any accepts. none: it depends on their use.
    [[nodiscard]] rejection_code fixed_refusal(const pod_request& request, node_index where) const;
    /// Why the pods that are booked keep the pod off a node, whatever is free there (peer_census). Comes after all
    /// else.
    [[nodiscard]] rejection_detail why_not_beside_peers(const pod_request& request, node_index where) const {
        return census_->why_not(request, where);
    }
    [[nodiscard]] std::map<std::string, std::int64_t> count_peers(const pod_request& request, std::size_t rule) const {
        return census_->counts_of(request, rule);
    }

private:
    struct node_state; ///< a node's devices, built for one question
    struct seen_state; ///< the same as policies see it
    struct step;
    struct choice;   ///< the shares of a pod on one node
    struct question; ///< what one attempt on one node needs at every step

    template <class Ask>
    [[nodiscard]] auto ask_about(const pod_request& request, const placement& where, Ask ask) const;

    [[nodiscard]] node_state state_of(node_index where) const;
    [[nodiscard]] question question_for(const pod_request& request, node_index where) const;
    [[nodiscard]] std::vector<bool> avoided_devices(const pod_request& request, node_index where) const;
    [[nodiscard]] rejection_code why_not_admitted(const question& attempt, std::size_t index,
                                                  const device_request& container) const;
    [[nodiscard]] rejection_detail why_not_device(const question& attempt, const node_state& now, std::size_t index,
                                                  const device_request& container) const;
    [[nodiscard]] node_answer attempt_on(const question& attempt, choice& chosen, rejection_detail& refusal) const;
    [[nodiscard]] device_request settled(const question& attempt, const device_request& container) const;
    void score(const question& attempt, const seen_state& start, seen_state& current, const node_state& now,
               step& candidate) const;
    [[nodiscard]] std::vector<step> possible_steps(const question& attempt, const node_state& now,
                                                   const device_request& container, const std::vector<bool>& taken,
                                                   rejection& reasons) const;
    [[nodiscard]] const step& best_step(const question& attempt, const node_state& now,
                                        std::vector<step>& possible) const;
    [[nodiscard]] std::vector<std::size_t> by_link_group(const question& attempt, const node_state& now,
                                                         const std::vector<step>& possible) const;
    [[nodiscard]] bool choose_all(const question& attempt, choice& chosen, rejection_code& refused) const;
    [[nodiscard]] bool choose_greedily(const question& attempt, choice& chosen, rejection_code& refused) const;
    [[nodiscard]] bool choose_ahead(const question& attempt, choice& chosen) const;
    [[nodiscard]] std::vector<step> steps_ahead(const question& attempt, const choice& chosen, fit_search& search,
                                                std::size_t container_number, const device_request& container,
                                                const std::vector<bool>& taken) const;
    [[nodiscard]] bool choose_for(const question& attempt, std::size_t container_number, choice& chosen,
                                  rejection_code& refused) const;
    [[nodiscard]] double score_of(const question& attempt, const choice& chosen) const;
    [[nodiscard]] std::vector<device_answer> ask_devices(const question& attempt, const node_state& now,
                                                         const device_request& container) const;
    void explain_stop(const question& attempt, node_decision& decision) const;

    const ledger* ledger_;
    policy_pair policies_;
    pair_traits traits_;
    state_table* states_;
    std::unique_ptr<peer_census> census_;
    std::uint64_t next_event_ = 0;
};

} // namespace vgpualloc
