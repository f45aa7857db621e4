// A node of 310P chips as a session of upstream holds it, and the steps that read or change it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/compat/volcano/config.hpp"
#include "vgpualloc/compat/volcano/device.hpp"
#include "vgpualloc/compat/volcano/mindcluster_310p.hpp"

namespace vgpualloc::compat::volcano::mindcluster {

/// The resource a pod asks for, and the annotation that says which chips or which template it got.
inline const std::string core_name = "huawei.com/npu-core";
/// What the device plugin notes on the pod once the vNPU exists; its last `_` part is the vGroup.
inline const std::string real_name = "huawei.com/AscendReal";
inline constexpr std::string_view chip_kind = "Ascend310P";

/// States of a chip's video unit. A request says yes (needs it), no (never uses it) or null (does not care).
inline constexpr std::string_view dvpp_yes = "yes";
inline constexpr std::string_view dvpp_no = "no";
inline constexpr std::string_view dvpp_null = "null";

/// The resource of a template of the 310P; none for an unknown name.
[[nodiscard]] std::optional<npu_resource> template_resource(std::string_view name);
/// The template that is exactly `request`; empty when there is none.
[[nodiscard]] std::string_view template_of(const npu_resource& request);
/// Enough cores and CPUs; the video unit is another question.
[[nodiscard]] bool covers(const npu_resource& free, const npu_resource& request);
/// Pieces between separators; a text without one is one piece.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);
/// A whole decimal number; none for anything else.
[[nodiscard]] std::optional<std::int64_t> number(std::string_view text);

struct npu_chip {
    std::int64_t id = 0;
    npu_resource total, used, free;
    bool segment = false;         ///< cut into vNPUs; no longer for whole-card pods
    bool unstable = false;        ///< some pod's vNPU is not confirmed yet
    std::vector<std::string> ids; ///< AscendReal of the pods cut from it; its own id when taken whole

    npu_chip() = default;
    npu_chip(std::int64_t its_id, std::int64_t cores, std::int64_t cpus);

    /// Whether a vNPU that was requested fits beside what is on the chip.
    [[nodiscard]] bool meets(const npu_resource& request) const;
    void take(const npu_resource& amount);
    void give_back(const npu_resource& amount);
    /// The state of the video unit once a pod that asks for it as `dvpp` is on the chip.
    void note_dvpp(std::string_view dvpp);
};

/// Valid or not, this is what a session init leaves; the object of the scheduler cache never had one.
struct npu_node {
    std::optional<std::int64_t> idle; ///< npu-core; none when the node offers none
    std::string noded_status;
    std::string server_type;
    bool valid = false;
    std::int64_t total_core = 0; ///< by capacity, also when fewer chips are listed
    std::int64_t total_cpu = 0;
    std::int64_t total_chips = 0;
    std::int64_t cores_per_chip = 0;
    std::map<std::int64_t, npu_chip> chips;
    std::set<std::int64_t> unhealthy;
    /// Names of pods that get fewer CPUs here, and for which of their requests.
    std::map<std::string, std::set<std::size_t>> downgraded;

    /// Whether so many cores are whole chips (0 cores are).
    [[nodiscard]] bool whole_chips(std::int64_t cores) const;
    /// What a whole-card pod takes of each of its chips.
    [[nodiscard]] npu_resource whole_chip() const;
};

/// What a pod asks of a node. With an `error` there is nothing else.
struct pod_requests {
    /// At least one; all zero for a core count without a template, and on a node without cores. Q29: that of the first
    /// container stands for the pod; off: one for every container that asks.
    std::vector<npu_resource> resources;
    std::string error;
};

[[nodiscard]] bool asks_for_npu(const pod& pending);
/// Cores that the filter compares with the node's idle ones. Q29: of the first container that asks for some; off: of
/// all.
[[nodiscard]] std::int64_t requested_cores(const pod& pending, const quirk_set& quirks);
/// Cores of all containers; what the node's idle amount is lowered by.
[[nodiscard]] std::int64_t occupied_cores(const pod& pending);
/// The node's npu-core less what pods on it occupy; none when the node offers none.
[[nodiscard]] std::optional<std::int64_t> idle_cores(const node& where, std::span<const pod* const> on_node);
[[nodiscard]] pod_requests requests_of(const npu_node& where, const pod& pending, const quirk_set& quirks);
[[nodiscard]] bool can_downgrade(const npu_resource& request);
[[nodiscard]] npu_resource downgraded(npu_resource request);

/// The session init of a node. `first` says that the device info has just arrived.
[[nodiscard]] npu_node open_node(const node& where, std::span<const pod* const> on_node, const npu_node_info& info,
                                 bool first, const quirk_set& quirks);

/// Upstream's test in the filter: enough over all chips, and on single ones.
[[nodiscard]] bool sufficient(const npu_node& where, const npu_resource& request);

struct chip_choice {
    std::vector<std::int64_t> chips; ///< in the order they were taken; empty with an error
    std::string error;
    std::string reason;
};
[[nodiscard]] chip_choice choose_chips(const npu_node& where, const npu_resource& request, const quirk_set& quirks);
/// The chips' ledger is charged `amount` each. `whole` says that they are not cut.
void charge_chips(npu_node& where, const std::vector<std::int64_t>& chips, bool whole, const npu_resource& amount);

} // namespace vgpualloc::compat::volcano::mindcluster
