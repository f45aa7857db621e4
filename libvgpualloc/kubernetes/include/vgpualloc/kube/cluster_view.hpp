// A cluster as a watch of its objects shows it: told one object at a time, in any order, it keeps the ledger that a
// snapshot of all objects makes.
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
#include <vector>

#include "vgpualloc/core/error.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/core/ids.hpp"
#include "vgpualloc/dialect/all.hpp"
#include "vgpualloc/kube/cluster_objects.hpp"
#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/model/pod_registry.hpp"

namespace vgpualloc::kube {

/// Nodes, pods and ConfigMaps of a living cluster, and the ledger of them. A node is known by its name, a pod by
/// "<namespace>/<name>". A pod whose node is not known waits for it and counts nowhere until then.
///
/// What a pod has is what its annotations say. A scheduler that decides on this ledger reserves under id_of(pod); when
/// the pod's object then says the same, the booking is committed and stays, otherwise the object's word replaces it.
/// The view takes back only what it adopted itself, or what an object contradicts.
///
/// Labels, taints, cordons and readiness of a node are told to the ledger as its devices are; pods that are bound stay
/// whatever these are now.
///
/// An object costs what belongs to its node: an unchanged one a comparison, a pod a reading of its own and of its node
/// where a dialect looks at pods, a node with other devices the bookings on it.
class cluster_view {
public:
    explicit cluster_view(dialect_set dialects = {});
    ~cluster_view();
    cluster_view(cluster_view&& other) noexcept;
    cluster_view& operator=(cluster_view&& other) noexcept;

    /// The object as it is now; false if it says what it said before. Kinds other than Node, Pod and ConfigMap are
    /// passed over. A pod that has ended is as good as removed.
    bool upsert(const manifest& object);
    /// False if it was not there. Pods of a node that is removed wait for it.
    bool remove_node(std::string_view name);
    bool remove_pod(std::string_view full_name);
    bool remove_config_map(std::string_view full_name); ///< "<namespace>/<name>"

    /// The address stays the same, also when the view is moved.
    [[nodiscard]] ledger& book() noexcept { return *book_; }
    [[nodiscard]] const ledger& book() const noexcept { return *book_; }

    /// The number under which the ledger has, or would have, a pod; not valid() if the pod is not known.
    [[nodiscard]] pod_id id_of(std::string_view full_name) const { return ids_.find(full_name); }
    /// What a pod asks for, read as the nodes that there are now have it. None if the pod is not known.
    [[nodiscard]] std::optional<snapshot_pod> pod(std::string_view full_name) const;
    /// Known pods that no object binds to a node, by name.
    [[nodiscard]] std::vector<std::string> unbound_pods() const;
    /// Known pods whose node is not known, by name.
    [[nodiscard]] std::vector<std::string> waiting_pods() const;
    /// What the devices of a node are registered as, by device index of what its object says. Empty if it is not known.
    [[nodiscard]] std::vector<snapshot_device> devices_of(std::string_view node) const;
    /// What could not be read of the objects that are there, nodes first, each by name.
    [[nodiscard]] std::vector<error> warnings() const;
    /// The dialects as the nodes that there are now have them.
    [[nodiscard]] const dialect_set& dialects() const noexcept { return adapted_; }
    /// Rises when dialects() changes, and with it what pods ask for.
    [[nodiscard]] std::uint64_t dialects_version() const noexcept { return dialects_version_; }

    /// The object of a pod; null if it is not known. Valid until the pod is told of again.
    [[nodiscard]] const manifest* find_pod(std::string_view full_name) const;
    /// The same objects in other dialects, nodes in the order of their ranks. What a scheduler booked and no object
    /// says is not there.
    [[nodiscard]] cluster_view read_as(dialect_set dialects) const;
    /// The cluster as it is now, with what a scheduler has booked and no object says yet: nodes in the order of their
    /// ranks, so that equal scores are settled alike. Costs as much as there is; `read` is pod() by somebody who has it
    /// at hand, as reading all pods is most of that.
    [[nodiscard]] snapshot to_snapshot(const std::function<snapshot_pod(const std::string& full_name)>& read) const;
    [[nodiscard]] snapshot to_snapshot() const;

private:
    struct node_entry;
    struct pod_entry;

    bool upsert_node(const manifest& object);
    bool upsert_pod(const manifest& object);
    bool upsert_config_map(const manifest& object);

    [[nodiscard]] std::vector<dialects::node_reading> read_devices(const node_entry& entry) const;
    [[nodiscard]] std::vector<const node_entry*> nodes_by_rank() const;
    [[nodiscard]] const std::set<std::string>& names_on(std::string_view node) const;
    [[nodiscard]] expected<node_index> tell(node_index where, const node& described);
    void refresh_node(node_entry& entry);
    void keep_former(node_entry& entry, std::span<const snapshot_device> earlier) const;
    [[nodiscard]] std::vector<snapshot_device> devices_on(const node_entry& entry) const;
    void refresh_devices(const std::string& node);
    void refresh_users_of(const std::string& config_map);
    void unbook_pods_of(std::string_view node);
    void book_pods_of(std::string_view node);
    void book(pod_entry& entry);
    void unbook(pod_entry& entry);
    void unbind(pod_entry& entry);
    void count_traits(const kubernetes::node& object, int change);

    dialect_set dialects_; ///< as configured
    dialect_set adapted_;  ///< as the nodes have them
    std::uint64_t dialects_version_ = 0;
    std::unique_ptr<ledger> book_;
    pod_registry ids_;
    std::map<std::string, node_entry, std::less<>> nodes_;
    std::map<std::string, pod_entry, std::less<>> pods_;
    std::map<std::string, by_namespace<kubernetes::text_map>, std::less<>> config_maps_; ///< data, by name
    std::map<std::string, std::set<std::string>, std::less<>> config_map_users_; ///< by ConfigMap: nodes that it is of
    std::map<std::string, std::set<std::string>, std::less<>> pods_on_node_;     ///< also of nodes that are not known
    std::vector<std::map<std::string, std::size_t>> traits_; ///< by dialect: how many nodes have a trait
};

} // namespace vgpualloc::kube
