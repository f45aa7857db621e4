// Volcano's scheduling of one pod after another with the deviceshare plugin: cache, sessions, choice of a node
// (docs/compat.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "vgpualloc/compat/volcano/device.hpp"
#include "vgpualloc/compat/volcano/mindcluster_310p.hpp"
#include "vgpualloc/compat/volcano/vgpu.hpp"

namespace vgpualloc::compat::volcano {

/// One node's answer to one attempt.
struct node_answer {
    bool requested = false; ///< the node has a device object that the pod asks for
    filter_answer verdict;  ///< of the first object that refuses; meaningful if requested
    double raw = 0.0;       ///< sum of ScoreNode, or the batch score of 310P
    std::int64_t rounded = 0;
    std::int64_t weighted = 0;

    [[nodiscard]] bool fits() const noexcept { return requested && verdict.fits; }
};

struct attempt {
    std::vector<node_answer> nodes;
    std::optional<std::size_t> chosen; ///< highest weighted score, the first of equals
    std::optional<allocate_answer> allocated;
    bool bound = false;
};

/// One scheduler with its cache and one session. Only what the plugin contributes decides; upstream draws among equal
/// scores, here the first node wins.
class scheduler {
public:
    scheduler(device_config config, plugin_options options);
    ~scheduler();
    scheduler(const scheduler&) = delete;
    scheduler& operator=(const scheduler&) = delete;

    void add_node(node where, npu_node_info info = {});

    /// Replaces every session ledger by a copy of the cache's.
    void open_session();

    /// One attempt in the open session: filter and score everywhere, choose, Allocate, bind. With `roll_back` the
    /// allocation is undone and the pod not bound. `bind_annotations` are what the device plugin adds to the bound pod.
    attempt schedule(const pod& pending, bool roll_back, const kubernetes::text_map& bind_annotations = {});
    /// The same without binding: the session has the allocation, the cache does not.
    attempt try_in_session(const pod& pending, bool roll_back);

    /// What other plugins leave: nodes that are not admitted are not asked. Holds until the next call; by default all.
    void admit_only(std::vector<bool> nodes) { admitted_ = std::move(nodes); }
    /// Takes back what try_in_session() allocated on a node, as the gang plugin does for a job that is not complete: as
    /// with `roll_back`, but later in the session.
    void discard(const pod& pending, std::size_t where) { unallocate(*nodes_[where], pending); }

    /// A pod that carries its annotations already runs on a node (a restarted scheduler finds it).
    void restore(pod bound, std::size_t where);
    /// A bound pod leaves. Returns its node; none when no such pod is bound.
    std::optional<std::size_t> remove(const std::string& uid);
    /// The Node object is set again. Q8: its ledger is rebuilt from the annotations of the pods bound there; off:
    /// nothing.
    void update_node(std::size_t where);

    // What the recordings have no event for.

    /// A bound pod is told to end, and its process still runs until remove(). Q9: the device ledger drops it at once;
    /// off: only remove() does. False when no such pod is bound.
    bool terminate(const std::string& uid);
    /// From here on the informer is late: Q21: what a pod was given is not in the cache until deliver_updates(), so
    /// another session gives it again; off: it is there at once.
    void hold_updates() noexcept { holding_ = true; }
    void deliver_updates();

    [[nodiscard]] std::size_t node_count() const noexcept { return nodes_.size(); }
    [[nodiscard]] ledger_state session_state(std::size_t where) const;
    [[nodiscard]] ledger_state cache_state(std::size_t where) const;
    /// The cache of a node as it would be with one more pod bound there.
    [[nodiscard]] ledger_state cache_state_with(const pod& bound, std::size_t where) const;

private:
    using objects = std::vector<std::unique_ptr<device_object>>;
    struct managed_node {
        node what;
        npu_node_info info;
        objects cache; ///< in the order of registration
        objects session;
        std::vector<pod> pods;             ///< bound, in the order of binding
        std::set<std::string> terminating; ///< uids
    };
    struct late_update {
        pod bound;
        std::size_t where = 0;
    };

    [[nodiscard]] objects make_objects(const managed_node& where) const;
    [[nodiscard]] node_answer ask(managed_node& where, const pod& pending);
    void score_in_batch(const pod& pending, std::vector<node_answer>& answers);
    [[nodiscard]] allocate_answer allocate(managed_node& where, const pod& pending);
    void unallocate(managed_node& where, const pod& pending);
    void bind(const pod& pending, const kubernetes::text_map& annotations, std::size_t where);

    device_config config_;
    plugin_options options_;
    std::vector<bool> admitted_; ///< by node; empty: all
    std::shared_ptr<exclusive_memory> exclusive_;
    std::vector<std::unique_ptr<managed_node>> nodes_;
    bool holding_ = false;
    std::vector<late_update> late_;
};

} // namespace vgpualloc::compat::volcano
