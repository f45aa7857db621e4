// The plain path: ask every node about every pod, remember nothing. The reference for allocator, and what it turns to
// where it matters which device it is.
#pragma once

#include <vector>

#include "vgpualloc/alloc/device_chooser.hpp"
#include "vgpualloc/alloc/node_answer.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/policy/policy.hpp"

namespace vgpualloc {

/// What a node's devices answer to one container, before the choice among them.
struct device_answer {
    rejection_detail refused; ///< code none: it fits
    std::vector<partition> ways;
    double score = 0.0; ///< of the policy's choice among devices, for the best of the ways
};

/// Gives the same decisions as allocator, from the ledger's states and the policies' and modes' functions alone.
class naive_allocator {
public:
    /// `observes`: it tells the policies of the ledger's events; false where the caller does.
    naive_allocator(ledger& book, policy_pair policies, bool observes = true);

    [[nodiscard]] expected<placement, rejection> decide(const pod_request& request);
    [[nodiscard]] expected<placement, rejection> place(pod_id pod, const pod_request& request);
    [[nodiscard]] std::vector<node_answer> evaluate(const pod_request& request);

    /// Every device of a node, by index, asked for one of the devices of a container while the pod has none yet.
    [[nodiscard]] std::vector<device_answer> ask_devices(node_index where, const pod_request& request,
                                                         std::size_t container);

private:
    struct node_state; ///< a node's devices and totals, built for one question
    struct step;
    struct choice;   ///< the shares of a pod on one node
    struct question; ///< what one attempt on one node needs at every step

    void observe_events();
    [[nodiscard]] node_state state_of(node_index where) const;
    [[nodiscard]] question question_for(const pod_request& request, node_index where) const;
    [[nodiscard]] std::vector<bool> avoided_devices(const pod_request& request, node_index where) const;
    [[nodiscard]] rejection_code why_never_here(const pod_request& request, node_index where) const;
    [[nodiscard]] rejection_detail why_not_device(const question& asked, const node_state& now, std::size_t index,
                                                  const device_request& wanted) const;
    [[nodiscard]] node_answer ask(const pod_request& request, node_index where);
    [[nodiscard]] device_request settled(const question& asked, const device_request& wanted) const;
    void score(const question& asked, const node_state& now, step& candidate) const;
    [[nodiscard]] std::vector<step> possible_steps(const question& asked, const node_state& now,
                                                   const device_request& wanted, const std::vector<bool>& taken,
                                                   rejection& reasons) const;
    [[nodiscard]] step best_step(const question& asked, const node_state& now, std::vector<step> possible);
    [[nodiscard]] std::vector<std::size_t> by_link_group(const question& asked, const node_state& now,
                                                         const std::vector<step>& possible) const;
    [[nodiscard]] bool choose(const question& asked, choice& made, rejection_code& refused);
    [[nodiscard]] bool choose_for(const question& asked, std::size_t container, choice& made, rejection_code& refused);
    [[nodiscard]] double score_of(const question& asked, const choice& made) const;

    ledger* ledger_;
    policy_pair policies_;
    pair_traits traits_;
    bool observes_;
    std::size_t events_read_ = 0;
};

} // namespace vgpualloc
