// Quota of queues and cohorts.
#include "vgpualloc/kube/quota_tree.hpp"

#include <algorithm>

namespace vgpualloc::kube {

namespace {

std::int64_t amount_in(const std::map<quota_name, std::int64_t>& amounts, const quota_name& name) {
    const auto entry = amounts.find(name);
    return entry == amounts.end() ? 0 : entry->second;
}

quota_limits limits_in(const quota_tree::quotas& own, const quota_name& name) {
    const auto entry = own.find(name);
    return entry == own.end() ? quota_limits{} : entry->second;
}

} // namespace

std::size_t quota_tree::add(quotas own) {
    nodes_.push_back({.own = std::move(own)});
    return nodes_.size() - 1;
}

bool quota_tree::put_under(std::size_t child, std::size_t parent) {
    for (std::optional<std::size_t> above = parent; above; above = nodes_[*above].parent) {
        if (*above == child) return false;
    }
    nodes_[child].parent = parent;
    nodes_[parent].children.push_back(child);
    return true;
}

std::size_t quota_tree::root_of(std::size_t member) const {
    while (nodes_[member].parent) member = *nodes_[member].parent;
    return member;
}

void quota_tree::sum_up() {
    for (std::size_t member = 0; member < nodes_.size(); ++member) {
        if (!nodes_[member].parent) sum_up_below(member);
    }
}

void quota_tree::sum_up_below(std::size_t member) { // NOLINT(misc-no-recursion): as deep as cohorts are
    node& of = nodes_[member];
    for (const auto& [name, limits] : of.own) of.subtree[name] = limits.nominal;
    for (const std::size_t child : of.children) {
        sum_up_below(child);
        for (const auto& [name, amount] : nodes_[child].subtree) of.subtree[name] += amount - kept(nodes_[child], name);
    }
}

std::int64_t quota_tree::kept(const node& of, const quota_name& name) const {
    const auto lending = limits_in(of.own, name).lending;
    return lending ? std::max<std::int64_t>(amount_in(of.subtree, name) - *lending, 0) : 0;
}

std::int64_t quota_tree::kept_unused(const node& of, const quota_name& name) const {
    return std::max<std::int64_t>(kept(of, name) - amount_in(of.used, name), 0);
}

void quota_tree::use(std::size_t member, const quota_name& name, std::int64_t amount) {
    for (std::optional<std::size_t> at = member; at && amount > 0; at = nodes_[*at].parent) {
        node& of = nodes_[*at];
        const std::int64_t of_kept = std::min(kept_unused(of, name), amount);
        of.used[name] += amount;
        amount -= of_kept;
    }
}

std::int64_t quota_tree::left(std::size_t member, const quota_name& name) const { // NOLINT(misc-no-recursion)
    const node& of = nodes_[member];
    const std::int64_t most = amount_in(of.subtree, name);
    const std::int64_t used = amount_in(of.used, name);
    if (!of.parent) return most - used;
    std::int64_t of_parent = left(*of.parent, name);
    if (const auto borrowing = limits_in(of.own, name).borrowing) {
        const std::int64_t own = kept(of, name);
        of_parent = std::min(of_parent, most - own - std::max<std::int64_t>(used - own, 0) + *borrowing);
    }
    return kept_unused(of, name) + of_parent;
}

std::int64_t quota_tree::available(std::size_t member, const quota_name& name) const {
    return std::max<std::int64_t>(left(member, name), 0);
}

std::int64_t quota_tree::capacity(std::size_t member, const quota_name& name) const { // NOLINT(misc-no-recursion)
    const node& of = nodes_[member];
    const std::int64_t own = amount_in(of.subtree, name);
    if (!of.parent) return own;
    const std::int64_t most = kept(of, name) + capacity(*of.parent, name);
    const auto borrowing = limits_in(of.own, name).borrowing;
    return borrowing ? std::min(most, own + *borrowing) : most;
}

int quota_tree::height(std::size_t member) const { // NOLINT(misc-no-recursion)
    int result = 0;
    for (const std::size_t child : nodes_[member].children) result = std::max(result, height(child) + 1);
    return result;
}

int quota_tree::borrowing_height(std::size_t member, const quota_name& name, std::int64_t amount) const {
    std::size_t at = member;
    while (amount_in(nodes_[at].used, name) + amount > amount_in(nodes_[at].subtree, name) && nodes_[at].parent) {
        amount -= kept_unused(nodes_[at], name);
        at = *nodes_[at].parent;
    }
    return height(at);
}

} // namespace vgpualloc::kube
