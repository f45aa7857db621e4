// The list of dialects, and those of one cluster. A new dialect is one pair of files and one line here.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/dialect/ascend_hami.hpp"
#include "vgpualloc/dialect/cce.hpp"
#include "vgpualloc/dialect/config.hpp"
#include "vgpualloc/dialect/dialect.hpp"
#include "vgpualloc/dialect/gpushare.hpp"
#include "vgpualloc/dialect/hami.hpp"
#include "vgpualloc/dialect/mindcluster.hpp"
#include "vgpualloc/dialect/nvidia.hpp"
#include "vgpualloc/dialect/openb.hpp"
#include "vgpualloc/dialect/volcano_vgpu.hpp"

namespace vgpualloc {

/// Every dialect. Where a device is registered in several, it counts in the one that comes first.
inline constexpr std::array dialect_list{
    dialects::volcano_vgpu::list_entry, dialects::gpushare::list_entry,
    dialects::hami::list_entry,         dialects::ascend_hami::list_entry,
    dialects::mindcluster::list_entry,  dialects::cce::list_entry,
    dialects::nvidia::list_entry,       openb::list_entry,
};

/// The dialects of one cluster, in the order of the list. A value: copies share the dialects, which never change.
class dialect_set {
public:
    using members = std::vector<std::shared_ptr<const dialect>>;

    /// Those of the list, as they are without a configuration, or as `config` has them.
    dialect_set() : dialect_set{make_dialect_config()} {}
    explicit dialect_set(dialect_config config);
    /// These only; names are different.
    dialect_set(members dialects, dialect_config config);

    [[nodiscard]] const dialect_config& config() const noexcept { return *config_; }
    [[nodiscard]] std::size_t size() const noexcept { return dialects_.size(); }
    [[nodiscard]] const dialect& operator[](std::size_t position) const { return *dialects_[position]; }
    [[nodiscard]] members::const_iterator begin() const noexcept { return dialects_.begin(); }
    [[nodiscard]] members::const_iterator end() const noexcept { return dialects_.end(); }

    /// The dialect of that name; null: there is none.
    [[nodiscard]] const dialect* find(std::string_view name) const;
    /// Those in which a pod asks for devices, by their positions.
    [[nodiscard]] std::vector<std::size_t> asked_by(const kubernetes::pod& pod) const;
    /// dialect::binding_node(), of the first that knows one.
    [[nodiscard]] std::string binding_node(const kubernetes::pod& pod) const;
    /// These dialects for a cluster of these nodes (dialect::trait_of, for_traits).
    [[nodiscard]] dialect_set for_nodes(std::span<const kubernetes::node* const> nodes) const;
    /// The same where the traits are known, by position in this set.
    [[nodiscard]] dialect_set for_traits(std::span<const std::set<std::string>> traits) const;

    /// Resources that are most likely mistyped, or that the dialect they belong to does not take for a request. The
    /// errors name the container.
    [[nodiscard]] std::vector<error> mistaken_resources(const kubernetes::pod& pod) const;
    /// The other resources with a domain (nvidia.com/…, also example.kubernetes.io/…) that nothing here reads.
    [[nodiscard]] std::vector<unread_resource> resources_not_read(const kubernetes::pod& pod) const;
    /// The extended resources of which a node has to offer some for the pod to go there: those that its containers
    /// name, and what dialects add. Ascending.
    [[nodiscard]] std::vector<std::string> resources_needed(const kubernetes::pod& pod) const;
    /// The extended resources that the node offers some of: allocatable, or counted by a dialect. Ascending.
    [[nodiscard]] std::vector<std::string> resources_offered(const kubernetes::node& node) const;
    /// Whether pods of the dialect of that name may name this scheduler. Error mismatch; where is empty.
    [[nodiscard]] expected<void> check_scheduler(std::string_view name, const std::string& scheduler) const;
    /// Whether plugin deviceshare is told to serve this pod, which asks in the dialect of that name; empty: it asks for
    /// no device. Error unsupported, which names the argument; where is empty.
    [[nodiscard]] expected<void> check_enabled(const dialects::volcano::plugin_arguments& arguments,
                                               std::string_view name, const kubernetes::pod& pod) const;
    /// The same of plugin vgpualloc: without anything enabled it serves every dialect, and dialects that deviceshare
    /// does not know always; pods of MindCluster's only where NPUs are cut as pods come.
    [[nodiscard]] expected<void> check_served(const dialects::volcano::plugin_arguments& arguments,
                                              std::string_view name, const kubernetes::pod& pod) const;

private:
    /// The position of the first dialect that reads the resource; size(): none does.
    [[nodiscard]] std::size_t first_reader(std::string_view resource) const;
    /// first_reader() of what the dialects list.
    [[nodiscard]] std::map<std::string, std::size_t, std::less<>> listed_owners() const;
    /// The first dialect that reads the resource; null: none does.
    [[nodiscard]] const dialect* owner_of(std::string_view resource) const;
    [[nodiscard]] std::string likely_meant(const std::string& resource) const;

    members dialects_;
    std::shared_ptr<const dialect_config> config_;
    std::map<std::string, std::size_t, std::less<>> owners_; ///< listed_owners(); for_traits() changes none of it
};

} // namespace vgpualloc
