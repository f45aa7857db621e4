// A dialect: how a cluster spells devices, requests for them and their assignment to pods. It reads and writes, and it
// never decides. Implementations are in dialect/, one pair of files each; all.hpp lists them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "vgpualloc/core/error.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/dialect/decision.hpp"
#include "vgpualloc/dialect/kubernetes.hpp"
#include "vgpualloc/dialect/reading.hpp"
#include "vgpualloc/model/registration.hpp"
#include "vgpualloc/model/rejection.hpp"
#include "vgpualloc/model/request.hpp"

namespace vgpualloc {

class dialect;
struct dialect_config; // dialect/config.hpp

/// One entry of the list of dialects.
struct dialect_entry {
    std::string_view name;
    std::string_view summary; ///< one sentence for lists
    /// The dialect as a cluster configures it. Null: it spells lists of a trace, and no Kubernetes objects.
    std::shared_ptr<const dialect> (*make)(const dialect_config& config);
};

/// The entry of a dialect that is made of options: Make(options), which Configure(config) takes from a configuration.
/// Without the latter the dialect is the same in every cluster.
template <auto Make, auto Configure = nullptr>
[[nodiscard]] constexpr dialect_entry make_dialect_entry(std::string_view name, std::string_view summary) {
    return {.name = name, .summary = summary, .make = []([[maybe_unused]] const dialect_config& config) {
                if constexpr (std::is_null_pointer_v<decltype(Configure)>) {
                    return Make({});
                } else {
                    return Make(Configure(config));
                }
            }};
}

/// What is known of a node when its devices are read.
struct node_source {
    const kubernetes::node& object;
    /// Data of the ConfigMap that dialect::config_map_of() names; null: there is none.
    const kubernetes::text_map* config_map = nullptr;
    std::span<const kubernetes::pod* const> pods{}; ///< bound to the node
};

/// What a device that nothing runs on answers to one device's worth of a request. Dialects do not know the sharing
/// modes; whoever asks them to check a request hands this in.
using idle_answer = std::function<rejection_detail(const device_registration& device, const device_request& request)>;

/// What of a request no cluster, or only some nodes can serve.
struct request_findings {
    std::vector<error> errors;
    std::vector<std::string> notes;
};

/// An extended resource that a container asks for and no dialect reads there.
struct unread_resource {
    std::string container{}; ///< with its kind: "container main", "init container warm-up", "sidecar proxy"
    std::string resource{};
    std::string amount{};  ///< as the file has it
    std::string ignored{}; ///< the dialect that reads it elsewhere, but not in init containers; empty: none does
    std::string off_by{};  ///< the configuration that switches off the dialect of the resource; empty: none does
};

/// How Volcano's plugin deviceshare ranks nodes and devices.
enum class deviceshare_ranking : std::uint8_t {
    first_fit, ///< the first devices that fit, on the first node
    gpus,      ///< by memory and containers of every card taken
    npus,      ///< by memory share of the first card of every container, and link groups
    npu_chips, ///< best fit by AI cores, nodes by idle AI cores (dialect::extended_of)
};

/// What plugin deviceshare has for the pods of a dialect.
struct deviceshare_service {
    std::string_view argument{}; ///< that enables it, without "deviceshare."; empty: the plugin does not serve them
    deviceshare_ranking ranking = deviceshare_ranking::first_fit;
};

/// Immutable and without state beside its options, so that one serves any number of clusters and threads.
class dialect {
public:
    virtual ~dialect() = default;

    [[nodiscard]] virtual std::string_view name() const noexcept = 0; ///< as the list has it

    // --- its words

    /// The resources that its pods can name.
    [[nodiscard]] virtual std::vector<std::string> resources() const = 0;
    /// Whether it reads `resource`: one of resources(), unless they are too many to list.
    [[nodiscard]] virtual bool reads_resource(std::string_view resource) const;
    /// What resources of its vendor begin with ("volcano.sh/"): a resource that begins so and that no dialect reads is
    /// most likely a mistake.
    [[nodiscard]] virtual std::vector<std::string> resource_prefixes() const { return {}; }
    /// What a pod that names `resource` lacks to be a request in this dialect.
    [[nodiscard]] virtual std::string what_else_it_takes(const std::string& /*resource*/) const {
        return "what else makes it a request of dialect " + std::string{name()};
    }
    /// The only scheduler that serves its pods; empty: not said.
    [[nodiscard]] virtual std::string_view scheduler() const noexcept { return {}; }
    /// The scheduler of its system, without which only one that asks this library knows which devices a pod gets;
    /// empty: not said.
    [[nodiscard]] virtual std::string_view usual_scheduler() const noexcept { return {}; }
    /// What a reader of its amounts has to know, such as their unit where that is configured.
    [[nodiscard]] virtual std::vector<std::string> notes() const { return {}; }

    // --- what pods ask for

    /// Whether a pod asks as one, and not container by container.
    [[nodiscard]] virtual bool asks_as_one() const noexcept { return false; }
    /// Whether read_pod() reads what init containers ask for. Others look at the containers alone.
    [[nodiscard]] virtual bool reads_init_containers() const noexcept { return false; }
    /// Whether the pod asks for devices in this dialect.
    [[nodiscard]] virtual bool requests(const kubernetes::pod& pod) const = 0;
    /// What the pod asks for; the host's part stays 0. Errors: what of it cannot be read; where names the pod.
    [[nodiscard]] virtual expected<pod_request> read_pod(const kubernetes::pod& pod) const = 0;
    /// Resources that are added to the pod at admission, beside those that it names.
    [[nodiscard]] virtual std::vector<std::string> resources_added(const kubernetes::pod& /*pod*/) const { return {}; }
    /// What of `request`, one entry of a pod's that read_pod() read, can be served nowhere or only on some nodes.
    /// `container` is its name.
    [[nodiscard]] virtual request_findings check(const device_request& /*request*/, const std::string& /*container*/,
                                                 const idle_answer& /*ask*/) const {
        return {};
    }

    /// What of a pod that asks in this dialect its components refuse, or pass over.
    [[nodiscard]] virtual request_findings check_pod(const kubernetes::pod& /*pod*/) const { return {}; }

    // --- what nodes offer

    /// The name of the ConfigMap in which components say more of a node's devices; empty: there is none.
    [[nodiscard]] virtual std::string config_map_of(std::string_view /*node*/) const { return {}; }
    /// The devices that the node registers; none, and no problem, for a node of other dialects.
    [[nodiscard]] virtual dialects::node_reading read_node(const node_source& node) const = 0;
    /// Registers those of `devices` that are of this dialect on `node`, as its device plugin does; what that plugin
    /// writes into the node's ConfigMap goes to `config_map`.
    virtual void write_node(std::span<const device_registration> devices, kubernetes::node& node,
                            kubernetes::text_map& config_map) const = 0;
    /// Resources that pods may name on this node although it has none of them allocatable: the dialect's scheduler
    /// counts them by what the node registers.
    [[nodiscard]] virtual std::vector<std::string> resources_counted(const kubernetes::node& /*node*/) const {
        return {};
    }
    /// Whether read_node() looks at node_source::pods.
    [[nodiscard]] virtual bool looks_at_pods() const noexcept { return false; }
    /// What of a node says how pods of the whole cluster are to be read; empty: nothing.
    [[nodiscard]] virtual std::string trait_of(const kubernetes::node& /*node*/) const { return {}; }
    /// This dialect for a cluster whose nodes have these traits; null: as it is. Only which pods it reads, and
    /// read_pod(), may differ: what nodes offer and what pods have does not depend on other nodes.
    [[nodiscard]] virtual std::shared_ptr<const dialect> for_traits(const std::set<std::string>& /*traits*/) const {
        return nullptr;
    }

    /// Whether what init containers need beyond the other containers is an entry of the pod's own, as kube-scheduler
    /// counts it: it belongs to no container.
    [[nodiscard]] virtual bool counts_init_apart(const kubernetes::pod& /*pod*/) const { return false; }

    // --- what pods have

    /// The node that a scheduler is binding the pod to, before spec.nodeName says it; empty: none.
    [[nodiscard]] virtual std::string binding_node(const kubernetes::pod& /*pod*/) const { return {}; }
    /// Whether the kubelet chooses which devices a pod gets, and no annotation says so: bound pods are counted by the
    /// amounts that they ask for.
    [[nodiscard]] virtual bool assigned_by_kubelet() const noexcept { return false; }
    /// What a bound pod has of `devices`, those that its node registers in this dialect.
    [[nodiscard]] virtual dialects::assignment_reading
    read_assignment(const kubernetes::pod& pod, std::span<const device_registration> devices) const = 0;
    /// The annotations that carry a decision on a pod that read_pod() reads to the device plugin. Shares are of
    /// `devices`, as above.
    [[nodiscard]] virtual kubernetes::text_map write_assignment(const kubernetes::pod& pod,
                                                                std::span<const device_registration> devices,
                                                                const dialects::decision& decided) const = 0;
    /// Whether the time of a decision is in nanoseconds of Unix time; else it is in seconds.
    [[nodiscard]] virtual bool times_in_nanoseconds() const noexcept { return false; }
    /// The tags of a bound pod that asks for `request` and has `shares`.
    [[nodiscard]] virtual std::vector<std::string> tags_of(const kubernetes::pod& /*pod*/, const pod_request& request,
                                                           std::span<const device_share> /*shares*/) const {
        return request.tags;
    }

    // --- what others count

    /// An extended resource that Kubernetes itself counts per node beside the devices: what a node has of it, and what
    /// a pod takes of it. 0 = there is none.
    [[nodiscard]] virtual std::int64_t extended_of(const kubernetes::node& /*node*/) const { return 0; }
    [[nodiscard]] virtual std::int64_t extended_of(const kubernetes::pod& /*pod*/) const { return 0; }
    /// Whether its pods are served by HAMi's scheduler, unless something else is said.
    [[nodiscard]] virtual bool is_of_hami() const noexcept { return false; }
    /// What Volcano's plugin deviceshare has for `pod`, which asks in this dialect.
    [[nodiscard]] virtual deviceshare_service deviceshare(const kubernetes::pod& /*pod*/) const { return {}; }
};

} // namespace vgpualloc
