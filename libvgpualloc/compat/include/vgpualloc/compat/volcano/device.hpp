// What Volcano keeps of one kind of device on one node, and what its deviceshare plugin asks of it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "vgpualloc/compat/volcano/config.hpp"
#include "vgpualloc/dialect/kubernetes.hpp"

namespace vgpualloc::compat::volcano {

using kubernetes::node;
using kubernetes::pod;

/// Upstream's answer to "does the pod fit on this node", with its texts. `reason` is the normalised name of the text
/// (conformance/SCHEMA.md), empty when it fits.
struct filter_answer {
    bool fits = true;
    int code = 0; ///< 0 success, 1 error, 2 unschedulable, 3 unschedulable and unresolvable
    std::string message;
    std::string error;
    std::string reason;
};

/// The MIG instance in a device id `uuid[group-position]`.
struct picked_mig {
    std::string group;
    std::int64_t group_index = 0; ///< first group of that name
    std::int64_t position = 0;
    std::int64_t instance_index = 0; ///< of the kind in the group, in the order of the configuration
    std::string instance_name;
    std::int64_t slot = 0;
    std::int64_t memory = 0; ///< MiB
    bool operator==(const picked_mig&) const = default;
};
/// One card's part in a container's devices.
struct picked_card {
    std::int64_t index = 0;
    std::string uuid;
    std::string id; ///< empty unless it differs from the uuid
    std::string type;
    std::int64_t memory = 0;
    std::int64_t cores = 0;
    std::optional<picked_mig> mig;
    bool operator==(const picked_card&) const = default;
};

/// The chips of one container, 310P.
struct picked_chips {
    std::vector<std::int64_t> chips;
    std::string template_name; ///< empty = whole chips
    bool operator==(const picked_chips&) const = default;
};

struct allocate_answer {
    bool ok = false;
    std::string error;
    std::string reason; ///< normalised, empty when ok
    /// What the pod gets at bind. Points in time are written `<time>`: the core knows no clock.
    kubernetes::text_map annotations;
    std::vector<std::vector<picked_card>> containers; ///< per requesting container; vGPU and Ascend HAMi
    std::vector<std::int64_t> chips;                  ///< gpushare and 310P
    std::string template_name;                        ///< 310P; empty = whole card
    std::vector<picked_chips> more_chips;             ///< 310P with Q29 off: of the containers after the first
};

struct npu_resource {
    std::int64_t core = 0;
    std::int64_t cpu = 0;
    std::string dvpp;
    bool operator==(const npu_resource&) const = default;
};

struct mig_usage {
    std::string name;
    std::int64_t memory = 0; ///< MiB
    std::vector<std::int64_t> used;
    bool operator==(const mig_usage&) const = default;
};

/// One card as upstream holds it (conformance/SCHEMA.md, "State"). What a kind of device does not have stays empty.
struct card_state {
    std::int64_t index = 0;
    std::int64_t used_num = 0;
    std::int64_t used_mem = 0;
    std::int64_t used_core = 0;
    std::map<std::string, std::pair<std::int64_t, std::int64_t>> pods; ///< uid -> memory, cores
    std::optional<std::int64_t> mig_index;                             ///< of cards with geometries; -1 = none chosen
    std::vector<mig_usage> usage;                                      ///< sorted by name
    std::vector<std::string> pod_uids;                                 ///< gpushare
    std::optional<npu_resource> npu_total, npu_used, npu_free;         ///< 310P
    bool segment = false;
    bool unstable = false;
    std::vector<std::string> ids;
    // What does not change:
    std::string uuid;
    std::int64_t memory = 0;
    std::int64_t number = 0;
    std::int64_t cores = 0;
    std::string type;
    bool health = false;
    std::vector<std::string> mig_groups;
    std::optional<std::int64_t> network_id;
};

struct ledger_state {
    bool present = false;
    std::string mode;
    std::vector<card_state> devices; ///< by index
    // 310P:
    std::map<std::string, std::vector<std::string>> con_cache; ///< template -> pod uids
    std::vector<std::string> downgrade_cache;                  ///< pod names
    kubernetes::text_map pod_allocation;                       ///< uid -> annotation
    bool valid_vnode = false;
    std::int64_t idle_npu_core = 0;
    std::vector<std::int64_t> unhealthy_chips;
    // hami-core with exclusive rules, sessions only:
    std::map<std::int64_t, std::vector<std::int64_t>> rule_gpus; ///< rule index -> cards
};

/// Devices of one kind on one node: an object of the scheduler cache, or a session's copy of it.
class device_object {
public:
    virtual ~device_object() = default;

    /// A deep copy, for a session.
    [[nodiscard]] virtual std::unique_ptr<device_object> copy() const = 0;

    [[nodiscard]] virtual bool requested_by(const pod& pending) const = 0;
    [[nodiscard]] virtual filter_answer filter(const pod& pending, const std::string& policy) = 0;
    /// ScoreNode; asked only after a filter() that fitted.
    [[nodiscard]] virtual double score(const pod& pending, const std::string& policy) = 0;
    /// Allocate in the session: changes this object, also where that is upstream's mistake on failure.
    [[nodiscard]] virtual allocate_answer allocate(const pod& pending, const std::string& policy) = 0;

    virtual void add_resource(const pod& bound) = 0; ///< AddResource: the pod with its annotations is on the node
    virtual void sub_resource(const pod& bound) = 0; ///< SubResource: it leaves
    /// The session gives back what allocate() took: RemoveTask (SubResource), then Release. `asked` has no annotations
    /// of the allocation.
    virtual void unallocate(const pod& pending) = 0;

    /// A session begins with this copy; `on_node` are the pods bound there, with their annotations.
    virtual void open_session(const node& /*where*/, std::span<const pod* const> /*on_node*/) {}

    [[nodiscard]] virtual ledger_state state() const = 0;
};

} // namespace vgpualloc::compat::volcano
