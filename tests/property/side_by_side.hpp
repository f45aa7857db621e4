// The indexed allocator and the reference side by side: the same operations on two ledgers, the same answers demanded.
#pragma once

#include <cstdint>
#include <vector>

#include "alloc/reference.hpp"
#include "support.hpp"

namespace vgpualloc::property {

/// Fails the property where two lists of answers differ; scores are compared exactly, as decisions are.
void expect_equal(const std::vector<node_answer>& a, const std::vector<node_answer>& b);

/// Two ledgers and two sets of policies, driven alike: pods, nodes, devices and trials.
class side_by_side {
public:
    /// `nodes_at_start`: how many of the world's nodes are there from the beginning; the others come later.
    side_by_side(const policy_choice& choice, const world& in, allocator_options options, std::size_t nodes_at_start);

    void apply(const operation& what);
    /// Some operations in a trial that is undone: as if they had not been.
    void try_in_vain(const operation& what);
    void compare_answers(const pod_request& request);
    /// The ledger's recount, and the same ledger from its log.
    void check() const;

    [[nodiscard]] const ledger& book() const noexcept { return fast_book_; }
    [[nodiscard]] const allocator& decider() const noexcept { return fast_; }

private:
    [[nodiscard]] const pod_request& request_of(const operation& what) const {
        return in_->requests[what.request % in_->requests.size()];
    }
    template <class Change>
    void on_both(Change&& change) {
        change(fast_book_);
        change(reference_book_);
    }
    void place(const pod_request& request);
    void release_one(std::uint32_t salt);
    void book_by_hand(const pod_request& request, std::uint32_t salt);
    void change_node(const operation& what);
    [[nodiscard]] node changed(node described, const operation& what) const;
    void try_out(const operation& what, bool keep);

    const world* in_;
    cluster start_;
    ledger fast_book_{start_};
    ledger reference_book_{start_};
    policies_of fast_policies_;
    policies_of reference_policies_;
    allocator fast_;
    reference_allocator reference_;
    std::uint32_t pods_ = 0;
};

} // namespace vgpualloc::property
