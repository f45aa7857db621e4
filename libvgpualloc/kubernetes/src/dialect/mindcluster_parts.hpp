// The mindcluster dialect: what its sources share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "listed_dialect.hpp"
#include "vgpualloc/catalog/mindcluster_310p.hpp"
#include "vgpualloc/dialect/mindcluster.hpp"

namespace vgpualloc::dialects::mindcluster {

inline const std::string core_resource = "huawei.com/npu-core"; ///< also the annotation of what a pod has
inline const std::string list_key = "huawei.com/Ascend310P";
inline constexpr std::string_view family = "Ascend310P";
inline constexpr std::string_view uuid_prefix = "Ascend310P-";
inline constexpr std::int64_t chip_number_max = 1023; ///< far beyond any board; a larger number is a mistake
inline constexpr std::int64_t vgroups_max = 4;        ///< of a chip

class chip_dialect final : public listed_dialect<list_entry, options> {
public:
    using listed_dialect::listed_dialect;

    [[nodiscard]] std::string_view usual_scheduler() const noexcept override { return "volcano"; }

    [[nodiscard]] std::vector<std::string> resources() const override { return {core_resource}; }
    [[nodiscard]] std::vector<std::string> resource_prefixes() const override { return {"huawei.com/"}; }
    [[nodiscard]] std::string what_else_it_takes(const std::string&) const override {
        return "label ring-controller.atlas: ascend-310P beside it";
    }

    [[nodiscard]] bool requests(const kubernetes::pod& pod) const override;
    [[nodiscard]] expected<pod_request> read_pod(const kubernetes::pod& pod) const override;

    [[nodiscard]] std::string config_map_of(std::string_view node) const override {
        return "mindx-dl-deviceinfo-" + std::string{node};
    }
    [[nodiscard]] node_reading read_node(const node_source& source) const override;
    void write_node(std::span<const device_registration> devices, kubernetes::node& node,
                    kubernetes::text_map& config_map) const override;
    [[nodiscard]] bool looks_at_pods() const noexcept override { return true; }
    [[nodiscard]] std::string trait_of(const kubernetes::node& node) const override;
    [[nodiscard]] std::shared_ptr<const dialect> for_traits(const std::set<std::string>& traits) const override;

    [[nodiscard]] assignment_reading read_assignment(const kubernetes::pod& pod,
                                                     std::span<const device_registration> devices) const override;
    [[nodiscard]] bool times_in_nanoseconds() const noexcept override { return true; }
    [[nodiscard]] kubernetes::text_map write_assignment(const kubernetes::pod& pod,
                                                        std::span<const device_registration> devices,
                                                        const decision& decided) const override;

    [[nodiscard]] std::int64_t extended_of(const kubernetes::node& node) const override;
    [[nodiscard]] std::int64_t extended_of(const kubernetes::pod& pod) const override;
    [[nodiscard]] deviceshare_service deviceshare(const kubernetes::pod&) const override {
        return {.argument = "AscendMindClusterVNPUEnable", .ranking = deviceshare_ranking::npu_chips};
    }
};

} // namespace vgpualloc::dialects::mindcluster
