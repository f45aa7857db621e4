// The exclusive rules: pods that match a rule do not share a card with other pods that match it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "vgpu_cards.hpp"
#include "vgpualloc/compat/volcano/vgpu.hpp"

namespace vgpualloc::compat::volcano {

/// By node name and pod (namespace/name): the cards of the pod at its Allocate, and the rules it matched then.
class exclusive_memory {
public:
    struct remembered {
        std::set<std::int64_t> cards;
        std::set<std::size_t> rules;
    };
    std::map<std::string, std::map<std::string, remembered>> by_node;
};

namespace vgpu {

/// What a session knows of the rules on one node. Rules are numbered, cards named by their index.
class exclusive_rules {
public:
    /// Opens it for a session: reserves the cards of the pods on the node. `memory` outlives the session.
    exclusive_rules(std::vector<kubernetes::text_map> rules, const node_ledger& node,
                    std::span<const pod* const> on_node, std::shared_ptr<exclusive_memory> memory,
                    const settings& setup);

    /// The cards that the pod must not get.
    [[nodiscard]] std::set<std::int64_t> blocked_for(const pod& pending) const;

    /// AddResource: the pod is on the node now; its cards are reserved as far as the pod maps have them.
    void track(const pod& added, const node_ledger& node);
    /// After a successful Allocate: as track(), and remembers it beyond the session.
    void track_allocated(const pod& pending, const node_ledger& node);
    /// SubResource or Release.
    void untrack(const pod& leaving, const node_ledger& node);

    [[nodiscard]] std::map<std::int64_t, std::vector<std::int64_t>> reserved() const;

private:
    [[nodiscard]] std::set<std::size_t> rules_of(const pod& pending) const;
    [[nodiscard]] bool holds_tracked_pod(const pod_map& on_card, const std::string& but_uid, std::size_t rule) const;
    void reserve(const std::set<std::size_t>& rules, const std::set<std::int64_t>& cards);

    std::vector<kubernetes::text_map> rules_;
    std::shared_ptr<exclusive_memory> memory_;
    bool q20_;
    std::map<std::size_t, std::set<std::int64_t>> reserved_;
    std::map<std::string, std::set<std::size_t>> tracked_; ///< namespace/name -> its rules
    std::map<std::string, std::string> uids_;              ///< namespace/name -> uid, also of pods without rules
};

} // namespace vgpu
} // namespace vgpualloc::compat::volcano
