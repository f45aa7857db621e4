// The ascend_hami dialect: what its sources share.
#pragma once

#include <optional>
#include <string>

#include "hami_containers.hpp"
#include "listed_dialect.hpp"
#include "vgpualloc/dialect/ascend_hami.hpp"

namespace vgpualloc::dialects::ascend_hami {

[[nodiscard]] inline std::string register_key(const kind& npus) { return "hami.io/node-register-" + npus.npu.name; }

/// Whether the pod's NPUs are limited in software instead of by a template.
[[nodiscard]] bool soft_pod(const kubernetes::pod& pod);

/// What one container asks of one kind of the dialect's, which has the names of all its resources; none if it does not
/// ask.
[[nodiscard]] expected<std::optional<device_request>> read_container(const kubernetes::pod& pod,
                                                                     const kubernetes::container& container,
                                                                     const kind& npus, const options& configured);

/// What the containers of a pod ask of one kind, init containers too.
[[nodiscard]] expected<hami_text::container_entries> read_all_containers(const kubernetes::pod& pod, const kind& npus,
                                                                         const options& configured);

class ascend_dialect final : public listed_dialect<list_entry, options> {
public:
    explicit ascend_dialect(options configured);

    [[nodiscard]] std::vector<std::string> resources() const override;
    [[nodiscard]] std::vector<std::string> resource_prefixes() const override { return {"huawei.com/"}; }
    [[nodiscard]] std::string binding_node(const kubernetes::pod& pod) const override;
    [[nodiscard]] request_findings check(const device_request& request, const std::string& container,
                                         const idle_answer& ask) const override;
    [[nodiscard]] deviceshare_service deviceshare(const kubernetes::pod&) const override {
        return {.argument = "AscendHAMiVNPUEnable", .ranking = deviceshare_ranking::npus};
    }

    [[nodiscard]] bool reads_init_containers() const noexcept override { return true; }
    [[nodiscard]] bool requests(const kubernetes::pod& pod) const override;
    [[nodiscard]] request_findings check_pod(const kubernetes::pod& pod) const override;
    [[nodiscard]] expected<pod_request> read_pod(const kubernetes::pod& pod) const override;

    [[nodiscard]] std::vector<std::string> resources_added(const kubernetes::pod& pod) const override;
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

} // namespace vgpualloc::dialects::ascend_hami
