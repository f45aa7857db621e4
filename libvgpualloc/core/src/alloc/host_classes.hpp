// Classes of nodes that the host rules of all known requests treat alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "vgpualloc/model/cluster.hpp"
#include "vgpualloc/model/host_rules.hpp"

namespace vgpualloc {

/// Two nodes are of one class if they have the same taints and the same values of the labels that some known request
/// looks at, and if they are alike in being cordoned, ready or out of reach. A label that no request looks at, as
/// mostly the node's name, tells none apart: so there are few classes, and why_not_host() is asked once for each of
/// them.
class host_classes {
public:
    static constexpr std::uint32_t none = ~std::uint32_t{0};

    /// A request with these rules is known from now on. True if it looks at what no request did before: then the
    /// classes are too wide, and start_over() comes next.
    [[nodiscard]] bool add_rules(const host_rules& rules);
    void remove_rules(const host_rules& rules);

    /// Forgets all classes: every node has to join anew, and every number that was given is void.
    void start_over();
    /// The number of a node's class, which has one node more now.
    [[nodiscard]] std::uint32_t join(const node& described);
    /// A class has one node less.
    void leave(std::uint32_t number);
    /// Whether most of the numbers belong to classes that have no nodes any more: start_over() gives fewer.
    [[nodiscard]] bool is_crowded() const noexcept { return users_.size() > 2 * numbers_.size() + 1024; }

    /// All numbers are below.
    [[nodiscard]] std::size_t number_limit() const noexcept { return users_.size(); }
    [[nodiscard]] std::size_t size() const noexcept { return numbers_.size(); }
    /// How many labels the known requests look at.
    [[nodiscard]] std::size_t label_count() const noexcept { return label_users_.size(); }
    /// Rises with start_over().
    [[nodiscard]] std::uint64_t generation() const noexcept { return generation_; }

private:
    struct class_users {
        const std::string* description = nullptr; ///< the key in numbers_
        std::size_t nodes = 0;
    };
    void describe(const node& described);
    void describe_labels(const host_facts& facts);

    std::map<std::string, std::size_t> label_users_; ///< how many known requests look at a label
    std::size_t name_users_ = 0;                     ///< how many look at the node's name
    std::vector<std::string> labels_;                ///< what the classes were told apart by, ascending
    bool by_name_ = false;
    std::unordered_map<std::string, std::uint32_t> numbers_; ///< by what describe() writes
    std::vector<class_users> users_;                         ///< by number
    std::string description_;
    std::uint64_t generation_ = 0;
};

} // namespace vgpualloc
