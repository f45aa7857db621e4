// Which pods are where, as far as rules about other pods look at it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpualloc/core/config.hpp"
#include "vgpualloc/core/ids.hpp"
#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/model/request.hpp"

namespace vgpualloc {

/// Follows a ledger: after each change of a node's bookings that node alone is counted again. Decides as
/// kube-scheduler's plugins PodTopologySpread and InterPodAffinity filter
/// (pkg/scheduler/framework/plugins/{podtopologyspread, interpodaffinity}/filtering.go).
class peer_census {
public:
    explicit peer_census(const ledger& book) : ledger_{&book} {}

    /// Why the pods that are booked keep a pod with such peers off a node, whatever is free there; code none where they
    /// do not. For spread: how much more than the fewest the domain may have, and would have.
    [[nodiscard]] rejection_detail why_not(const pod_request& request, node_index where);
    /// What allocator::count_peers() says.
    [[nodiscard]] std::map<std::string, std::int64_t> counts_of(const pod_request& request, std::size_t rule);

private:
    /// Of one node, by set, and by topology key and set.
    struct node_census {
        std::vector<std::pair<pod_set, std::int64_t>> members{};
        std::vector<std::pair<std::string_view, pod_set>> repels{}; ///< texts of live bookings
    };
    /// What one request finds at one moment: by value of a rule's topology key, how many pods of its set.
    using domain_counts = std::map<std::string_view, std::int64_t>;
    struct rule_counts {
        domain_counts by_value{};
        std::int64_t fewest = 0; ///< of spread
    };
    struct domain {
        std::string_view key;
        std::string_view value;
        auto operator<=>(const domain&) const = default;
    };

    void follow();
    void count(node_index where);
    void look(const pod_request& request);
    void count_rule(const pod_request& request, const peer_rule& rule, rule_counts& to) const;
    [[nodiscard]] bool makes_domains(const pod_request& request, const peer_rule& rule, node_index where) const;
    [[nodiscard]] std::int64_t members_on(std::size_t position, pod_set set) const;
    [[nodiscard]] rejection_detail why_not_spread(const host_facts& facts) const;
    [[nodiscard]] bool is_together(const host_facts& facts) const;
    [[nodiscard]] bool is_apart(const host_facts& facts) const;

    const ledger* ledger_;
    bool has_counted_ = false;
    std::uint64_t next_event_ = 0;
    std::uint64_t peers_version_ = 0; ///< ledger::peers_version() when it counted
    std::vector<node_census> nodes_;
    // of the last request
    std::uint64_t looked_at_ = 0; ///< the ledger's next event then
    host_rules rules_;
    shared_peers peers_;
    std::vector<rule_counts> counts_; ///< by rule
    std::vector<domain> repelled_;    ///< by anti-affinity of pods that are booked; ascending
    bool is_first_of_set_ = false;    ///< no pod of the set of its affinity is in any domain
};

} // namespace vgpualloc
