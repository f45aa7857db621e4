// The cce dialect: what its sources share.
#pragma once

#include <optional>

#include "listed_dialect.hpp"
#include "vgpualloc/dialect/cce.hpp"

namespace vgpualloc::dialects::cce {

/// Whether the container's limits or requests name one of the resources.
[[nodiscard]] inline bool asks(const kubernetes::container& container, const options& configured) {
    return container.limits.contains(configured.memory_name) || container.limits.contains(configured.cores_name) ||
           container.requests.contains(configured.memory_name) || container.requests.contains(configured.cores_name);
}

class cce_dialect final : public listed_dialect<list_entry, options> {
public:
    using listed_dialect::listed_dialect;

    [[nodiscard]] std::vector<std::string> resources() const override;
    [[nodiscard]] std::vector<std::string> resource_prefixes() const override { return {"volcano.sh/"}; }
    [[nodiscard]] std::string_view scheduler() const noexcept override { return "volcano"; } // CCE takes no other

    [[nodiscard]] bool reads_init_containers() const noexcept override { return true; } // to refuse them
    [[nodiscard]] bool requests(const kubernetes::pod& pod) const override;
    [[nodiscard]] expected<pod_request> read_pod(const kubernetes::pod& pod) const override;

    [[nodiscard]] node_reading read_node(const node_source& node) const override;
    void write_node(std::span<const device_registration> devices, kubernetes::node& node,
                    kubernetes::text_map& config_map) const override;

    [[nodiscard]] assignment_reading read_assignment(const kubernetes::pod& pod,
                                                     std::span<const device_registration> devices) const override;
    [[nodiscard]] kubernetes::text_map write_assignment(const kubernetes::pod& pod,
                                                        std::span<const device_registration> devices,
                                                        const decision& decided) const override;
};

} // namespace vgpualloc::dialects::cce
