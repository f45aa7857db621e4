// Quota of Kueue's ClusterQueues and of the cohorts above them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace vgpualloc::kube {

/// Flavor and resource.
using quota_name = std::pair<std::string, std::string>;

struct quota_limits {
    std::int64_t nominal = 0;
    std::optional<std::int64_t> borrowing{}; ///< at most so much of others
    std::optional<std::int64_t> lending{};   ///< at most so much to others
};

/// ClusterQueues are leaves, cohorts are above them and may be below other cohorts. Source: resource_node.go in
/// pkg/cache/scheduler of Kueue, and the height of the lowest subtree that fits in pkg/scheduler/preemption/classical.
class quota_tree {
public:
    using quotas = std::map<quota_name, quota_limits>;

    /// A queue or a cohort with quota of its own; its index.
    std::size_t add(quotas own);
    /// False, and nothing is changed: the parent is below the child.
    [[nodiscard]] bool put_under(std::size_t child, std::size_t parent);
    /// The member that is above it and below none; itself, where none is above.
    [[nodiscard]] std::size_t root_of(std::size_t member) const;
    /// Sums up what there is. Before anything is used, and after the last member is there.
    void sum_up();

    /// What a member uses of its own quota first and then of what its cohorts share.
    void use(std::size_t member, const quota_name& name, std::int64_t amount);
    /// What a member can still have, with what it can borrow.
    [[nodiscard]] std::int64_t available(std::size_t member, const quota_name& name) const;
    /// What it could have if nothing were used.
    [[nodiscard]] std::int64_t capacity(std::size_t member, const quota_name& name) const;
    /// From how far up it has to borrow to use so much more: 0 is its own quota, then the height of a cohort.
    [[nodiscard]] int borrowing_height(std::size_t member, const quota_name& name, std::int64_t amount) const;

private:
    struct node {
        std::optional<std::size_t> parent{};
        std::vector<std::size_t> children{};
        quotas own{};
        std::map<quota_name, std::int64_t> subtree{}; ///< own quota, and what the children lend
        std::map<quota_name, std::int64_t> used{};    ///< of a cohort: what its children use above what they keep
    };

    void sum_up_below(std::size_t member);
    /// What of a member's quota no other can have.
    [[nodiscard]] std::int64_t kept(const node& of, const quota_name& name) const;
    [[nodiscard]] std::int64_t kept_unused(const node& of, const quota_name& name) const;
    [[nodiscard]] std::int64_t left(std::size_t member, const quota_name& name) const;
    [[nodiscard]] int height(std::size_t member) const;

    std::vector<node> nodes_{};
};

} // namespace vgpualloc::kube
