// Where something has become free, and for whom that could be enough.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "vgpualloc/model/ledger.hpp"
#include "vgpusim/workload/core_names.hpp"

namespace vgpusim {

/// The nodes on which pods have ended, in the order of ends, and who may fit there by what the node alone can say: its
/// host, and enough of its devices. How many of a node's devices serve a container is kept until the node changes,
/// because many requests have containers of one kind.
class freed_nodes {
public:
    struct known_container;
    /// A request with what is known of its containers; null: none.
    struct asker {
        const pod_request* request = nullptr;
        std::vector<known_container*> containers;
    };

    /// The request has to stay where it is.
    [[nodiscard]] asker enter(const pod_request& request);

    /// A pod has started on the node.
    void on_start(node_index where, const vgpualloc::ledger& book);
    /// A pod on the node has ended, or is about to before anybody asks.
    void on_end(node_index where, const vgpualloc::ledger& book);

    /// How many ends there were.
    [[nodiscard]] std::size_t size() const noexcept { return ends_.size(); }
    /// The nodes of the ends from number `read` on.
    [[nodiscard]] std::span<const node_index> since(std::size_t read) const noexcept {
        return std::span{ends_}.subspan(read);
    }
    /// Whether the request may fit on a node on which a pod has ended, from end number `read` on. `read` goes on to the
    /// first such end, or to size(): a node that would do is looked at again the next time, because somebody else may
    /// have taken it by then. A node that has freed something once more is looked at there.
    [[nodiscard]] bool may_fit(const asker& asking, std::size_t& read, const vgpualloc::ledger& book);

    struct known_container {
        struct serving_devices {
            std::uint64_t change = 0; ///< the node's last one when they were counted
            std::int64_t count = 0;
        };
        const vgpualloc::device_request* container = nullptr;
        std::array<serving_devices, 4> counts{}; ///< by number of the change: those of the nodes that changed last
    };

private:
    struct node_changes {
        std::uint64_t last_change = 0; ///< a number that no other change of any node has
        std::size_t last_end = 0;      ///< where it last stands in ends_
    };

    [[nodiscard]] bool is_served(known_container& known, node_index where, const vgpualloc::ledger& book) const;
    node_changes& note_change(node_index where, const vgpualloc::ledger& book);

    std::vector<node_index> ends_;
    std::vector<node_changes> nodes_;
    std::map<vgpualloc::device_request, known_container> containers_;
    std::uint64_t changes_ = 0;
};

} // namespace vgpusim
