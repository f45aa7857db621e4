// The FGD reference simulator's policies with their integer scores (hkust-adsl/kubernetes-scheduler-simulator). Proven
// by recorded placements: tests/golden.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "vgpualloc/compat/fgd/sigmoid.hpp"
#include "vgpualloc/core/named.hpp"
#include "vgpualloc/policy/drawn_stream.hpp"
#include "vgpualloc/policy/factory.hpp"
#include "vgpualloc/policy/fgd.hpp"
#include "vgpualloc/policy/policy.hpp"

namespace vgpualloc::compat {

/// What the reference reads off a request: milli-GPU per GPU and how many.
struct reference_request {
    std::int64_t gpu_milli = 0;
    std::int64_t num_gpu = 0;
    [[nodiscard]] bool is_share() const noexcept { return num_gpu == 1 && gpu_milli < 1000; }
    [[nodiscard]] std::int64_t total() const noexcept { return gpu_milli * num_gpu; }
};

[[nodiscard]] inline reference_request reference_view(const request_view& request, const node_view& before,
                                                      const node_view& after) noexcept {
    if (request.devices == 0) return {};
    return {.gpu_milli = (before.config->free - after.config->free).count() / request.devices,
            .num_gpu = request.devices};
}

/// The reference truncates toward zero.
[[nodiscard]] inline double truncated(double x) noexcept { return static_cast<double>(static_cast<std::int64_t>(x)); }

/// Device choice "best": the fitting GPU with the least left, the first of equals. For whole GPUs all are equal, so the
/// lowest indices are taken, as the reference does under every policy.
class best_gpu : public policy {
public:
    [[nodiscard]] policy_traits traits() const noexcept override { return {.view = looks_at::totals}; }
    [[nodiscard]] double device_score(const request_view&, const node_view&, const node_view&,
                                      const step_view& step) override {
        return -static_cast<double>(step.before->free().count());
    }
};

class reference_fgd final : public named<"compat:fgd", policies::fragmentation_policy<reference_fgd>> {
public:
    using named::named;

    [[nodiscard]] double node_score(const request_view&, const node_view& before, const node_view& after) override {
        const double fall = fragmentation().unusable(*before.config, before.cpu_left) -
                            fragmentation().unusable(*after.config, after.cpu_left);
        return sigmoid_score(fall / 1000.0);
    }
};

class reference_best_fit final : public named<"compat:bestfit", best_gpu> {
public:
    [[nodiscard]] double node_score(const request_view&, const node_view&, const node_view& after) override {
        double left = 0.0;
        left += static_cast<double>(after.cpu_left.count()) / 128000.0 * 0.5;
        left += static_cast<double>(after.config->free.count()) / 8000.0 * 0.5;
        return truncated(100.0 * (1.0 - left));
    }
};

class reference_dot_product final : public named<"compat:dotprod", best_gpu> {
public:
    [[nodiscard]] double node_score(const request_view& request, const node_view& before,
                                    const node_view& after) override {
        const auto gpus_wanted = static_cast<double>(reference_view(request, before, after).total());
        const auto cpu_wanted = static_cast<double>(request.request->cpu.count());
        double product = 0.0;
        product += static_cast<double>(before.cpu_left.count()) / 128000.0 * (cpu_wanted / 128000.0);
        product += static_cast<double>(before.config->free.count()) / 8000.0 * (gpus_wanted / 8000.0);
        return truncated(100.0 * (1.0 - product / 2.0));
    }
};

class reference_gpu_packing final : public named<"compat:gpupacking", best_gpu> {
public:
    [[nodiscard]] double node_score(const request_view& request, const node_view& before,
                                    const node_view& after) override {
        const reference_request reference = reference_view(request, before, after);
        if (reference.num_gpu == 0) return 0.0;
        const auto& devices = before.config->devices;
        const std::int64_t free_whole = before.config->devices_free_whole;
        if (free_whole == static_cast<std::int64_t>(devices.size())) {
            return static_cast<double>(std::max(33 - free_whole, free_whole));
        }
        left_.clear();
        for (const device_view* device : devices) {
            if (device->free().count() >= reference.gpu_milli) left_.push_back(device->free().count());
        }
        std::ranges::sort(left_);
        std::int64_t whole_taken = 0;
        std::int64_t percent_taken = 0;
        // Containers that ask for unlike shares, which the reference does not know, may find fewer devices for the
        // mean.
        const auto takes = std::min(static_cast<std::size_t>(reference.num_gpu), left_.size());
        for (const std::int64_t left : std::span{left_}.first(takes)) {
            if (left == 1000) ++whole_taken;
            percent_taken += left * 100 / 1000;
        }
        if (whole_taken > 0) return static_cast<double>(std::max<std::int64_t>(50 - whole_taken, 33));
        return static_cast<double>(std::max<std::int64_t>(100 - percent_taken / 10, 50));
    }

private:
    std::vector<std::int64_t> left_;
};

class reference_gpu_clustering final : public named<"compat:gpuclustering", best_gpu> {
public:
    [[nodiscard]] double node_score(const request_view& request, const node_view& before,
                                    const node_view& after) override {
        const reference_request reference = reference_view(request, before, after);
        if (reference.num_gpu == 0) return 0.0;
        const std::int64_t fullness = 25 * (8000 - before.config->free.count()) / 8000;
        const auto* here = before.node.at() < tags_.size() ? &tags_[before.node.at()] : nullptr;
        std::int64_t kinds = 0;
        bool alike = false;
        if (here != nullptr) {
            for (const tag_count& count : *here) {
                ++kinds;
                alike = alike || count.tag == tag_of(reference);
            }
        }
        if (alike) return static_cast<double>(fullness + (kinds == 1 ? 75 : 50));
        return static_cast<double>(kinds == 0 ? fullness + 25 : fullness);
    }

    [[nodiscard]] policy_traits traits() const noexcept override { return {.view = looks_at::totals, .history = true}; }

    void observe(const policy_event& event) override {
        const bool counts = books(event.kind) || gives_back(event.kind);
        if (!counts || event.entry->where.shares.empty()) return;
        if (tags_.size() <= event.where.at()) tags_.resize(event.where.at() + 1);
        const std::int64_t tag = tag_of(*event.entry);
        auto& here = tags_[event.where.at()];
        const auto count = std::ranges::find(here, tag, &tag_count::tag);
        if (books(event.kind)) {
            if (count == here.end()) {
                here.push_back({.tag = tag, .pods = 1});
            } else {
                ++count->pods;
            }
        } else if (count != here.end() && --count->pods == 0) {
            here.erase(count);
        }
    }

private:
    struct tag_count {
        std::int64_t tag = 0; ///< 0 = a share, else the number of whole GPUs
        std::int64_t pods = 0;
    };
    [[nodiscard]] static std::int64_t tag_of(const reference_request& reference) noexcept {
        return reference.is_share() ? 0 : reference.num_gpu;
    }
    /// From the booking alone: the node may have other devices by now. openb's GPUs have 1000 units of memory.
    [[nodiscard]] static std::int64_t tag_of(const booking& booked) {
        const auto& shares = booked.where.shares;
        const auto* const part = std::get_if<slice>(&shares[0].part);
        return tag_of(reference_request{.gpu_milli = part == nullptr ? whole_gpu.count() : part->memory.count(),
                                        .num_gpu = static_cast<std::int64_t>(shares.size())});
    }

    std::vector<std::vector<tag_count>> tags_; ///< by node
};

class reference_random final : public named<"compat:random", policies::drawing_policy> {
public:
    explicit reference_random(const policy_parameters& parameters) : named{parameters.seed, "compat/random"} {}

    /// Only the GPU of a share is drawn; whole GPUs are taken by lowest index under every policy of the reference.
    [[nodiscard]] bool draws_device_for(const request_view& request) const noexcept override {
        if (request.devices != 1) return false;
        const device_request& container = request.request->containers.front();
        return container.memory < mib{1000};
    }
};

/// Sorted by name.
inline constexpr std::array fgd_policies{
    make_policy_entry<reference_best_fit>("BestFit of the reference simulator: least CPU and GPU left (exact model)"),
    make_policy_entry<reference_dot_product>("DotProd of the reference simulator: small products first (exact model)"),
    make_policy_entry<reference_fgd>("FGD of the reference simulator: truncated sigmoid score (exact model)",
                                     "take it to reproduce published results of FGD"),
    make_policy_entry<reference_gpu_clustering>(
        "GpuClustering of the reference simulator: alike pods together (exact model)"),
    make_policy_entry<reference_gpu_packing>(
        "GpuPacking of the reference simulator: partly used GPUs first (exact model)"),
    make_policy_entry<reference_random>("Random of the reference simulator, from our own stream (statistical model)"),
};

} // namespace vgpualloc::compat
