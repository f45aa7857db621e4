// From Kubernetes objects to placements: what the tests of the seeds' statements share. Nodes and pods go through a
// dialect, devices through the factory of modes, decisions through the allocator.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "dialect/support.hpp"
#include "requirements.hpp"
#include "support.hpp"
#include "vgpualloc/catalog/mig.hpp"
#include "vgpualloc/dialect/kubernetes.hpp"
#include "vgpualloc/dialect/reading.hpp"
#include "vgpualloc/dialect/volcano_vgpu.hpp"
#include "vgpualloc/mode/factory.hpp"

namespace vgpualloc::test {

/// Nodes as they register, and pods placed on them by one policy. All nodes are added before the first pod.
class site {
public:
    explicit site(std::string_view spelling = "binpack") : ranking_{test::make(spelling)} {}
    explicit site(std::unique_ptr<policy> ranking) : ranking_{std::move(ranking)} {}

    site& add(const std::string& name, const dialects::node_reading& read) {
        EXPECT_TRUE(placing_ == nullptr);
        for (const error& problem : read.problems) ADD_FAILURE() << name << ": " << problem.message();
        node described{.name = name, .cpu = milli_cpu{64000}, .memory = to_bytes(mib{512000}), .pods_max = 110};
        for (const device_registration& device : read.devices) {
            const auto added = add_device(owned_, described, device, built_in_mig_catalog());
            EXPECT_TRUE(added) << added.error().message();
        }
        owned_.nodes.push_back(std::move(described));
        registered_.push_back(read.devices);
        return *this;
    }

    /// The node's name, or why there is none: a code of rejection_code, or "error" for a pod that cannot be read.
    std::string place(const expected<pod_request>& request) {
        shares_.clear();
        if (!request) return "error";
        const auto placed = decider().place(*request);
        if (!placed) return std::string{to_string(placed.error().main_code())};
        last_ = placed->node;
        shares_.assign(placed->shares.begin(), placed->shares.end());
        return owned_.nodes[placed->node.at()].name;
    }
    /// How many of `pods` equal ones find a place.
    int place_many(const expected<pod_request>& request, int pods) {
        int placed = 0;
        for (int i = 0; i < pods; ++i) placed += place(request).empty() || shares_.empty() ? 0 : 1;
        return placed;
    }

    /// Of the pod placed last.
    [[nodiscard]] const std::vector<device_share>& shares() const { return shares_; }
    [[nodiscard]] const partition& part() const { return shares_.at(0).part; }
    [[nodiscard]] std::size_t device() const { return shares_.at(0).device.at(); }
    [[nodiscard]] std::string_view mode() const { return owned_.spec_of(last_, shares_.at(0).device).mode->name(); }
    [[nodiscard]] std::span<const device_registration> registered() const { return registered_.at(last_.at()); }

    [[nodiscard]] placer& decider() {
        if (placing_ == nullptr) placing_ = std::make_unique<placer>(owned_, std::move(ranking_));
        return *placing_;
    }
    [[nodiscard]] const cluster& owned() const { return owned_; }
    [[nodiscard]] device_state state(std::size_t at, std::size_t device) {
        return decider().book.devices(node_index{at})[device];
    }

private:
    std::unique_ptr<policy> ranking_; ///< until there is a placer
    cluster owned_;
    std::vector<std::vector<device_registration>> registered_; ///< by node
    std::unique_ptr<placer> placing_;
    node_index last_{0U};
    std::vector<device_share> shares_;
};

// --- Volcano's vGPU ------------------------------------------------------------------------------------------------

namespace vgpu = dialects::volcano_vgpu;

inline constexpr std::string_view a100 = "NVIDIA-NVIDIA A100-SXM4-40GB";
inline constexpr std::string_view v100 = "NVIDIA-Tesla V100-PCIE-32GB";

/// One entry of node annotation volcano.sh/node-vgpu-register, 40960 MiB and ten containers.
[[nodiscard]] inline std::string card(const std::string& uuid, std::string_view mode, std::string_view type = a100) {
    return uuid + ",10,40960," + std::string{type} + ",true," + std::string{mode} + ":";
}

[[nodiscard]] inline dialects::node_reading vgpu_node(const std::string& cards, const vgpu::options& with = {}) {
    kubernetes::node object;
    object.name = "n";
    object.annotations[vgpu::register_annotation] = cards;
    object.allocatable = {{"volcano.sh/vgpu-number", "8"},
                          {"volcano.sh/vgpu-cores", "800"},
                          {"volcano.sh/vgpu-memory", "89424"}}; // number and memory as documented
    return test::spoken<vgpu::options>::read_node(object, with);
}

[[nodiscard]] inline kubernetes::pod pod_with(kubernetes::amount_map limits) {
    kubernetes::pod result;
    result.name = "p";
    result.ns = "default";
    result.containers.resize(1);
    result.containers[0].name = "c";
    result.containers[0].limits = std::move(limits);
    return result;
}

/// Amounts of 0 are not written; a mode that is empty is no annotation.
[[nodiscard]] inline kubernetes::pod vgpu_pod(std::int64_t number, std::int64_t memory, std::int64_t cores = 0,
                                              const std::string& mode = "") {
    kubernetes::amount_map limits{{"volcano.sh/vgpu-number", number}};
    if (memory > 0) limits["volcano.sh/vgpu-memory"] = memory;
    if (cores > 0) limits["volcano.sh/vgpu-cores"] = cores;
    auto result = pod_with(std::move(limits));
    if (!mode.empty()) result.annotations[vgpu::mode_annotation] = mode;
    return result;
}
[[nodiscard]] inline expected<pod_request> vgpu_ask(std::int64_t number, std::int64_t memory, std::int64_t cores = 0,
                                                    const std::string& mode = "") {
    return test::spoken<vgpu::options>::read_pod(vgpu_pod(number, memory, cores, mode), {});
}

/// What an A100-40GB may be cut into, as the device plugin's shipped configuration orders it.
[[nodiscard]] inline vgpu::options a100_geometry() {
    const auto kind = [](const char* name, std::int64_t memory_mib, std::int64_t count) {
        return mig_kind{.name = name, .memory = mib{memory_mib}, .count = count};
    };
    vgpu::options result;
    result.geometries = {{.models = {"A100-SXM4-40GB"},
                          .groups = {{.name = "group1", .kinds = {kind("1g.5gb", 5120, 7)}},
                                     {.name = "group2", .kinds = {kind("2g.10gb", 10240, 3), kind("1g.5gb", 5120, 1)}},
                                     {.name = "group3", .kinds = {kind("3g.20gb", 20480, 2)}},
                                     {.name = "group4", .kinds = {kind("7g.40gb", 40960, 1)}}}}};
    return result;
}

} // namespace vgpualloc::test
