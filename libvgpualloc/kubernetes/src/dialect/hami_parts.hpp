// The hami dialect: what its sources share.
#pragma once

#include <cstdint>
#include <optional>

#include "hami_containers.hpp"
#include "listed_dialect.hpp"
#include "vgpualloc/dialect/hami.hpp"

namespace vgpualloc::dialects::hami {

inline constexpr const char* mig_mode = "mig";
inline constexpr std::int64_t percent_max = 100; ///< of a GPU's memory, or of its compute

/// What one container asks for; none if it does not ask.
[[nodiscard]] expected<std::optional<device_request>>
read_container(const kubernetes::pod& pod, const kubernetes::container& container, const options& configured);

/// What the containers of a pod ask for, init containers too.
[[nodiscard]] expected<hami_text::container_entries> read_all_containers(const kubernetes::pod& pod,
                                                                         const options& configured);

class hami_dialect final : public listed_dialect<list_entry, options> {
public:
    using listed_dialect::listed_dialect;

    [[nodiscard]] bool is_of_hami() const noexcept override { return true; }
    [[nodiscard]] std::vector<std::string> resources() const override;
    [[nodiscard]] std::vector<std::string> resource_prefixes() const override { return {"nvidia.com/"}; }
    [[nodiscard]] std::string what_else_it_takes(const std::string& resource) const override;
    [[nodiscard]] std::string binding_node(const kubernetes::pod& pod) const override;

    [[nodiscard]] bool reads_init_containers() const noexcept override { return true; }
    [[nodiscard]] bool requests(const kubernetes::pod& pod) const override;
    [[nodiscard]] request_findings check_pod(const kubernetes::pod& pod) const override;
    [[nodiscard]] expected<pod_request> read_pod(const kubernetes::pod& pod) const override;

    [[nodiscard]] std::vector<std::string> resources_added(const kubernetes::pod& pod) const override;
    [[nodiscard]] bool counts_init_apart(const kubernetes::pod& pod) const override;
    [[nodiscard]] std::string trait_of(const kubernetes::node& node) const override;
    [[nodiscard]] std::shared_ptr<const dialect> for_traits(const std::set<std::string>& traits) const override;
    [[nodiscard]] std::vector<std::string> resources_counted(const kubernetes::node& node) const override;
    [[nodiscard]] node_reading read_node(const node_source& node) const override;
    void write_node(std::span<const device_registration> devices, kubernetes::node& node,
                    kubernetes::text_map& config_map) const override;

    [[nodiscard]] assignment_reading read_assignment(const kubernetes::pod& pod,
                                                     std::span<const device_registration> devices) const override;
    [[nodiscard]] kubernetes::text_map write_assignment(const kubernetes::pod& pod,
                                                        std::span<const device_registration> devices,
                                                        const decision& decided) const override;
};

} // namespace vgpualloc::dialects::hami
