// compat:volcano in a run: the model of Volcano's scheduler places the pods, and the ledger counts what it gave.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpualloc/compat/volcano/scheduler.hpp"
#include "vgpualloc/dialect/dialect.hpp"
#include "vgpualloc/model/ledger.hpp"
#include "vgpusim/engine/placer.hpp"
#include "vgpusim/workload/kubernetes_objects.hpp"
#include "vgpusim/workload/workload.hpp"

namespace vgpusim {

/// How policies are asked to be this one, and what lists say of it.
inline constexpr std::string_view volcano_policy = "compat:volcano";
inline constexpr std::string_view volcano_summary =
    "Volcano's plugin deviceshare as it is, mistakes included; needs a workload of format kubernetes";

/// Whether the run can be decided by Volcano's model. Errors, unsupported: field "policy" for a workload without
/// Kubernetes objects, "events" for one in which single devices fail, which Volcano learns from what their node
/// registers.
[[nodiscard]] expected<void> check_volcano(const simulation_input& input, const vgpualloc::cluster& nodes);

/// What the configuration files say, as Volcano holds it. Without a device configuration its built-in names count;
/// without a scheduler configuration all kinds of devices are served but gpushare's, by binpack with weight 10.
[[nodiscard]] vgpualloc::compat::volcano::device_config volcano_devices(const vgpualloc::dialect_config& config);
[[nodiscard]] vgpualloc::compat::volcano::plugin_options volcano_options(const kubernetes_objects& objects);

/// Every pass is one session of the scheduler. A node is a candidate where Kubernetes lets the pod run and its CPU,
/// memory and number of pods suffice, as other plugins see to it; of these the model chooses by its scores alone, the
/// first of equals. A pod that asks for no device goes to the first candidate. What an assignment gives is read back
/// from the annotations and adopted by the ledger, which counts it even where it is given already.
class volcano_placer final : public placer {
public:
    /// The input passes check_volcano(); it and the ledger must outlive the placer.
    volcano_placer(const simulation_input& input, vgpualloc::ledger& book);

    void begin_pass() override;
    [[nodiscard]] expected<vgpualloc::placed_pod, rejection_code> place(std::uint32_t pod) override;
    void discard(std::uint32_t pod) override;
    void release(std::uint32_t pod) override;
    [[nodiscard]] rejection_code why_never(std::span<const std::uint32_t> pods, std::uint32_t minimum) override;
    [[nodiscard]] overcommitment given_beyond() override;

private:
    using scheduler = vgpualloc::compat::volcano::scheduler;

    [[nodiscard]] std::unique_ptr<scheduler> make_scheduler() const;
    [[nodiscard]] vgpualloc::kubernetes::pod object_of(std::uint32_t pod) const;
    [[nodiscard]] const pod_request& request_of(std::uint32_t pod) const {
        return input_->requests[input_->pods[pod].request];
    }
    [[nodiscard]] bool asks_for_devices(std::uint32_t pod) const;
    rejection_code find_candidates(std::uint32_t pod);
    [[nodiscard]] vgpualloc::booking read_back(std::uint32_t pod, vgpualloc::kubernetes::pod bound,
                                               const vgpualloc::compat::volcano::attempt& attempt);
    [[nodiscard]] vgpualloc::placed_pod book(vgpualloc::booking given);
    void count_overcommitted();
    void bind_allocated();

    const simulation_input* input_;
    vgpualloc::ledger* ledger_;
    std::vector<const vgpualloc::dialect*> spoken_; ///< by request: the dialect it asks for devices in; null: for none
    std::unique_ptr<scheduler> scheduler_;
    struct allocated_pod {
        std::uint32_t pod = 0;
        vgpualloc::kubernetes::pod bound; ///< with its annotations
        std::size_t node = 0;
    };
    std::vector<allocated_pod> allocated_; ///< in the open session; the scheduler's cache has them once that is over
    std::vector<bool> candidates_;         ///< by node
    std::set<std::pair<node_index, device_index>> overcommitted_; ///< some may be no longer
    overcommitment given_beyond_;
};

} // namespace vgpusim
