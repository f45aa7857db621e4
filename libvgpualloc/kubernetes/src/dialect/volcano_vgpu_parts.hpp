// The volcano_vgpu dialect: what its sources share.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "listed_dialect.hpp"
#include "vgpualloc/dialect/volcano_vgpu.hpp"

namespace vgpualloc::dialects::volcano_vgpu {

// Names of sharing modes, as device_registration::mode has them.
inline constexpr std::string_view hami_core_mode = "hami_core";
inline constexpr std::string_view mig_mode = "mig";
inline constexpr std::string_view mps_mode = "mps";

inline constexpr std::int64_t amount_max = std::numeric_limits<std::int32_t>::max(); ///< upstream counts in 32 bits

/// What an id or a group name cannot contain, because assignments are made of it.
inline constexpr std::string_view separators = "[]:;,";

class vgpu_dialect final : public listed_dialect<list_entry, options> {
public:
    using listed_dialect::listed_dialect;

    [[nodiscard]] std::string_view usual_scheduler() const noexcept override { return "volcano"; }

    [[nodiscard]] std::vector<std::string> resources() const override;
    [[nodiscard]] std::vector<std::string> resource_prefixes() const override { return {"volcano.sh/"}; }
    [[nodiscard]] std::string what_else_it_takes(const std::string& resource) const override;
    [[nodiscard]] std::vector<std::string> notes() const override;

    [[nodiscard]] bool requests(const kubernetes::pod& pod) const override;
    [[nodiscard]] expected<pod_request> read_pod(const kubernetes::pod& pod) const override;
    [[nodiscard]] request_findings check(const device_request& request, const std::string& container,
                                         const idle_answer& ask) const override;
    [[nodiscard]] request_findings check_pod(const kubernetes::pod& pod) const override;
    [[nodiscard]] std::vector<std::string> tags_of(const kubernetes::pod& pod, const pod_request& request,
                                                   std::span<const device_share> shares) const override;

    [[nodiscard]] std::vector<std::string> resources_counted(const kubernetes::node& node) const override;
    [[nodiscard]] node_reading read_node(const node_source& node) const override;
    void write_node(std::span<const device_registration> devices, kubernetes::node& node,
                    kubernetes::text_map& config_map) const override;

    [[nodiscard]] std::string binding_node(const kubernetes::pod& pod) const override;
    [[nodiscard]] assignment_reading read_assignment(const kubernetes::pod& pod,
                                                     std::span<const device_registration> devices) const override;
    [[nodiscard]] kubernetes::text_map write_assignment(const kubernetes::pod& pod,
                                                        std::span<const device_registration> devices,
                                                        const decision& decided) const override;

    [[nodiscard]] deviceshare_service deviceshare(const kubernetes::pod&) const override {
        return {.argument = "VGPUEnable", .ranking = deviceshare_ranking::gpus};
    }

private:
    /// Whether the container limits the count or the memory.
    [[nodiscard]] bool asks(const kubernetes::container& container) const;
    /// What a container names although it does not ask, which nobody looks at.
    void check_silent_container(const kubernetes::container& container, request_findings& findings) const;
};

} // namespace vgpualloc::dialects::volcano_vgpu
