// What a pod requires of the pods around it, as Kubernetes decides it: required pod affinity and anti-affinity, and
// topology spread that is not only a wish.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace vgpualloc {

/// A set of pods that some rule looks at, such as those with a label in a namespace. Whoever reads the rules numbers
/// the sets; one number is one set for all pods of a ledger.
using pod_set = std::uint32_t;

enum class peer_rule_kind : std::uint8_t {
    spread,   ///< topologySpreadConstraints with DoNotSchedule: no domain has many more pods of the set than another
    together, ///< required podAffinity: a pod of the set is in the domain
    apart,    ///< required podAntiAffinity: no pod of the set is in the domain, and none may follow
};

/// A domain is made of the nodes with one value of the label `topology_key`.
struct peer_rule {
    peer_rule_kind kind = peer_rule_kind::spread;
    std::string topology_key;
    pod_set set = 0;
    // of spread alone
    std::int64_t max_skew = 1;    ///< how many more the domain may have than the one with the fewest
    std::int64_t min_domains = 1; ///< with fewer domains the fewest counts as 0
    bool allowed_only = true;     ///< nodes that the pod's selector or affinity excludes do not count
    bool tolerated_only = false;  ///< nor those with a taint that it does not tolerate

    auto operator<=>(const peer_rule&) const = default;
};

struct pod_peers {
    std::vector<pod_set> member_of{}; ///< ascending, each once
    std::vector<peer_rule> rules{};   ///< by kind; of `together` all have the same set

    [[nodiscard]] bool is_in(pod_set set) const noexcept;
    [[nodiscard]] bool empty() const noexcept { return member_of.empty() && rules.empty(); }
    auto operator<=>(const pod_peers&) const = default;
};

/// The peers of a request and of its bookings, which nearly always are none: in the room of a pointer, compared by what
/// they are.
class shared_peers {
public:
    shared_peers() noexcept = default;
    explicit shared_peers(pod_peers peers)
        : peers_{peers.empty() ? nullptr : std::make_shared<const pod_peers>(std::move(peers))} {}

    [[nodiscard]] bool empty() const noexcept { return peers_ == nullptr; }
    /// None may be empty.
    [[nodiscard]] const pod_peers& operator*() const noexcept { return *peers_; }
    [[nodiscard]] const pod_peers* operator->() const noexcept { return peers_.get(); }

    friend bool operator==(const shared_peers& left, const shared_peers& right) {
        return left.peers_ == right.peers_ || (left.peers_ && right.peers_ && *left == *right);
    }
    friend std::strong_ordering operator<=>(const shared_peers& left, const shared_peers& right) {
        if (left.peers_ == right.peers_) return std::strong_ordering::equal;
        if (!left.peers_) return std::strong_ordering::less;
        return right.peers_ ? *left <=> *right : std::strong_ordering::greater;
    }

private:
    std::shared_ptr<const pod_peers> peers_;
};

} // namespace vgpualloc
