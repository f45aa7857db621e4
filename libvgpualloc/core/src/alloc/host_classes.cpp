// Telling classes of nodes apart by what requests look at.
#include "alloc/host_classes.hpp"

#include <algorithm>
#include <string_view>

#include "vgpualloc/core/config.hpp"

namespace vgpualloc {

namespace {

template <class Visit>
void for_each_label(const host_rules& rules, Visit&& visit) {
    for (const auto& entry : rules.node_selector) visit(entry.first);
    for (const node_selector_term& term : rules.affinity) {
        for (const label_requirement& requirement : term.labels) visit(requirement.key);
    }
}

bool looks_at_name(const host_rules& rules) {
    return std::ranges::any_of(rules.affinity, [](const node_selector_term& term) { return !term.names.empty(); });
}

/// With its length before it, so that two texts in a row are told from two others.
void append(std::string& to, std::string_view text) {
    to += std::to_string(text.size());
    to += ':';
    to += text;
}

} // namespace

bool host_classes::add_rules(const host_rules& rules) {
    bool is_new = false;
    for_each_label(rules, [&](const std::string& label) {
        ++label_users_[label];
        is_new = is_new || !std::ranges::binary_search(labels_, label);
    });
    if (looks_at_name(rules)) {
        ++name_users_;
        is_new = is_new || !by_name_;
    }
    return is_new;
}

void host_classes::remove_rules(const host_rules& rules) {
    for_each_label(rules, [&](const std::string& label) {
        const auto users = label_users_.find(label);
        VGA_ASSERT(users != label_users_.end(), "the rules that are removed were added");
        if (--users->second == 0) label_users_.erase(users);
    });
    if (looks_at_name(rules)) --name_users_;
}

void host_classes::start_over() {
    ++generation_;
    numbers_.clear();
    users_.clear();
    labels_.clear();
    for (const auto& [label, users] : label_users_) labels_.push_back(label);
    by_name_ = name_users_ > 0;
}

/// The labels that somebody looks at, each with its number: those that a node does not have cost nothing.
void host_classes::describe_labels(const host_facts& facts) {
    const auto append_label = [this](std::size_t number, const std::string& value) {
        append(description_, std::to_string(number));
        append(description_, value);
    };
    if (labels_.size() < facts.labels.size()) {
        for (std::size_t i = 0; i < labels_.size(); ++i) {
            if (const std::string* const value = facts.label(labels_[i])) append_label(i, *value);
        }
        return;
    }
    for (const auto& [label, value] : facts.labels) {
        const auto at = std::ranges::lower_bound(labels_, label);
        if (at != labels_.end() && *at == label) append_label(static_cast<std::size_t>(at - labels_.begin()), value);
    }
}

/// Writes into description_ all that rules may look at.
void host_classes::describe(const node& described) {
    const host_facts& facts = described.host;
    description_.clear();
    description_ += !facts.unreadable.empty() ? 'x' : facts.unschedulable ? 'c' : '-';
    description_ += facts.ready ? 'r' : facts.unreachable ? 'u' : '-';
    for (const taint& repelling : facts.taints) {
        append(description_, repelling.key);
        append(description_, repelling.value);
        description_ += static_cast<char>('0' + static_cast<int>(repelling.effect));
    }
    description_ += ';';
    for (const std::string& resource : facts.resources) append(description_, resource);
    description_ += ';';
    describe_labels(facts);
    description_ += ';';
    if (by_name_) description_ += described.name;
}

std::uint32_t host_classes::join(const node& described) {
    describe(described);
    const auto [at, added] = numbers_.try_emplace(description_, static_cast<std::uint32_t>(users_.size()));
    if (added) users_.push_back({.description = &at->first});
    ++users_[at->second].nodes;
    return at->second;
}

void host_classes::leave(std::uint32_t number) {
    VGA_ASSERT(number < users_.size() && users_[number].nodes > 0, "a node leaves the class that it is in");
    class_users& left = users_[number];
    if (--left.nodes > 0) return;
    numbers_.erase(numbers_.find(*left.description));
    left.description = nullptr;
}

} // namespace vgpualloc
