// A cluster for programs that decide placements themselves: nodes, devices and pods by name, in one object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/catalog/mig.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/model/pod_registry.hpp"
#include "vgpualloc/model/registration.hpp"
#include "vgpualloc/model/request.hpp"
#include "vgpualloc/model/trial.hpp"
#include "vgpualloc/policy/all.hpp"
#include "vgpualloc/policy/parse.hpp"

namespace vgpualloc {

struct local_options {
    std::string policy = "best_fit";                          ///< a name or weighted sum, as parse_policy() reads it
    std::string device_policy{};                              ///< for the devices of a node; empty: as `policy`
    std::span<const policy_entry> policies = native_policies; ///< that may be named; outlives the cluster
    policy_parameters parameters{};                           ///< typical workload, random seed, prices
    mig_catalog mig = built_in_mig_catalog();                 ///< GPU models that can be cut by MIG
};

/// A node as a program describes it. Every device has a uuid.
struct local_node {
    std::string name;
    milli_cpu cpu;
    bytes memory;
    std::int64_t pods_max = 110;
    host_facts host{};
    std::vector<device_registration> devices{};

    bool operator==(const local_node&) const = default;
};

/// A part of a device that a container has.
struct local_share {
    std::size_t container = 0; ///< position in pod_request::containers
    std::string uuid;          ///< of the device
    partition part;
    part_description amounts; ///< memory and compute of the part, and the name of its profile or template
};

/// Where a pod runs, or why it fits nowhere.
struct local_decision {
    std::string node; ///< empty: no node fits
    std::vector<local_share> shares{};
    rejection refused{}; ///< nodes by reason, where no node fits

    [[nodiscard]] bool fits() const noexcept { return !node.empty(); }
};

/// Why one node does not take a pod.
struct local_refusal {
    std::string node;
    rejection_detail refusal{}; ///< code none: the pod fits. Amounts are in `unit`, of the device that comes closest
    std::string_view unit = ""; ///< a literal; empty where there are no amounts
    std::string uuid{};         ///< of the device that comes closest; empty where the refusal is not about one
    std::string words{};        ///< all of that in one line, "fits" if it does
};

/// Owns ledger, policies, allocator and the names of pods; stays where it is. A call that gets a bad argument returns
/// an error that names it (`field`: "name", "node", "uuid", "containers[0].memory", …) and changes nothing. That a pod
/// fits nowhere is not an error. Not thread-safe.
class local_cluster {
public:
    /// Errors: those of parse_policies().
    [[nodiscard]] static expected<std::unique_ptr<local_cluster>> make(local_options options = {});
    local_cluster(const local_cluster&) = delete;
    local_cluster& operator=(const local_cluster&) = delete;
    ~local_cluster() = default;

    // ---- nodes and devices. What runs on something that fails or goes stays counted until it is released.

    /// Errors: missing (a name, a uuid), duplicate, and those of add_device() and ledger::add_node().
    expected<void> add_node(const local_node& described);
    /// What the node is now; devices are the same where their uuid is. What drain() and fail() ordered stays. False if
    /// nothing is different. Errors: unknown_name for "node", and as above.
    expected<bool> update_node(const local_node& described);
    expected<void> remove_node(std::string_view name);
    expected<void> add_device(std::string_view node, const device_registration& described);
    expected<void> remove_device(std::string_view node, std::string_view uuid);

    /// The node or device accepts no more pods until restore(). These return the names of the pods that run there,
    /// sorted: release them if they end with it, or place them elsewhere. Errors: unknown_name for "node" or "uuid".
    expected<std::vector<std::string>> drain(std::string_view node);
    expected<std::vector<std::string>> drain(std::string_view node, std::string_view uuid);
    expected<std::vector<std::string>> fail(std::string_view node);
    expected<std::vector<std::string>> fail(std::string_view node, std::string_view uuid);
    /// Ends drain() and fail(). Error unknown_name. False if the node or device was in service.
    expected<bool> restore(std::string_view node);
    expected<bool> restore(std::string_view node, std::string_view uuid);

    // ---- pods, known by any text that names one of them at a time

    /// Places a pod. Errors: missing for an empty name, duplicate for one that is placed, those of check_request().
    [[nodiscard]] expected<local_decision> place(std::string_view pod, const pod_request& request);
    /// Error unknown_name.
    expected<void> release(std::string_view pod);
    /// Where a pod runs. Error unknown_name.
    [[nodiscard]] expected<local_decision> find(std::string_view pod) const;
    /// The names of all pods that are placed, sorted.
    [[nodiscard]] std::vector<std::string> pods() const;
    /// Of every node, by name, why the request does not fit there. Changes nothing. Errors: those of check_request().
    [[nodiscard]] expected<std::vector<local_refusal>> why_not(const pod_request& request);

    // ---- trials

    /// While it lives everything may be tried; at its end all of it is undone, unless keep() was called. Trials nest.
    class trial_scope {
    public:
        explicit trial_scope(local_cluster& cluster);
        ~trial_scope();
        trial_scope(const trial_scope&) = delete;
        trial_scope& operator=(const trial_scope&) = delete;
        void keep() noexcept { kept_ = true; }

    private:
        local_cluster* cluster_;
        trial scope_;
        std::size_t first_change_;
        bool kept_ = false;
    };
    [[nodiscard]] trial_scope begin_trial() { return trial_scope{*this}; }

    /// What is used, for everything else that a program wants to read.
    [[nodiscard]] const ledger& book() const noexcept { return book_; }

private:
    /// A node as it was described, and what was ordered since.
    struct known_node {
        local_node described;
        bool drained = false;
        bool failed = false;
        std::set<std::string, std::less<>> failed_devices{};
    };
    using known_nodes = std::map<std::string, known_node, std::less<>>;

    local_cluster(owned_policies policies, mig_catalog mig);
    [[nodiscard]] expected<node> read(const known_node& known);
    void set_known(std::string_view name, std::optional<known_node> now);
    [[nodiscard]] expected<bool> change(std::string_view name, const std::function<void(known_node&)>& apply);
    [[nodiscard]] expected<device_index> find_device(std::string_view node, std::string_view uuid);
    [[nodiscard]] expected<std::vector<std::string>> pods_on(std::string_view node, device_index only);
    [[nodiscard]] bool is_placed(std::string_view pod) const { return book_.is_live(names_.find(pod)); }
    [[nodiscard]] local_decision describe(const placement& where) const;
    [[nodiscard]] local_refusal refusal_of(node_index where, const pod_request& request);
    void forget_if_gone(std::string_view pod);
    void end_trial(std::size_t first_change, bool kept);
    void trim_log();

    owned_policies policies_;
    mig_catalog mig_;
    ledger book_{cluster{}};
    allocator alloc_;
    pod_registry names_{};
    known_nodes nodes_{};
    std::size_t trials_ = 0; ///< that are open
    /// Of the open trials: nodes that changed, and as what they were known before.
    std::vector<std::pair<std::string, std::optional<known_node>>> changes_{};
    std::vector<std::string> names_in_doubt_{}; ///< of pods that may be gone when the open trials have ended
};

} // namespace vgpualloc
