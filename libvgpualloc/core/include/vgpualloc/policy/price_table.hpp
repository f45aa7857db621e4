// What rests of devices are worth, as plain data: whoever solves a packing program of the workload hands it in.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "vgpualloc/core/units.hpp"
#include "vgpualloc/model/cluster.hpp"
#include "vgpualloc/model/request.hpp"
#include "vgpualloc/packing/mode_packing.hpp"

namespace vgpualloc {

/// Prices are whole thousandths of the unit of the program's objective, so that they are the same on every machine.
/// Devices of kinds that are not listed, or whose idle device is worth nothing, are worth their size.
struct price_table {
    /// Of one kind of device.
    struct device_prices {
        std::string model;
        std::string mode; ///< name of the sharing mode
        mib memory;
        core_percent cores;
        std::int64_t idle = 0; ///< what one device more is worth: the dual price of devices
        /// What a rest is worth besides, in thousandths of its worth, because pods ask for this kind of device by name.
        std::int64_t premium = 0;
        /// What each part of the workload is worth beyond its own price. A rest is worth the parts that make the most
        /// of it.
        std::vector<worthy_part> parts{};

        bool operator==(const device_prices&) const = default;
        [[nodiscard]] bool is_of(const device_spec& device) const;
    };
    std::vector<device_prices> devices{};
    std::int64_t cpu_per_gpu = 0; ///< milli-CPU that a GPU's worth of the workload asks for; 0 = CPU never runs out
    /// Whether more than a hundredth of what is asked for names models and so keeps away from kinds of device in the
    /// cluster that would serve it.
    bool models_named = false;
    /// Whether devices are short of CPU. With every device full of the workload's average pods, and pods without
    /// devices there in proportion, a node lacks what its devices need beyond its CPU, and the cluster besides what
    /// pods without devices need beyond the spare CPU of all nodes; CPU is scarce if that is more than 3 % of what all
    /// devices need.
    bool cpu_scarce = false;

    /// The entry of a kind of device; a new one, of nothing, where there is none.
    [[nodiscard]] device_prices& entry_of(const device_spec& device);
    bool operator==(const price_table&) const = default;
};

/// A table that may be replaced while policies use it.
struct price_book {
    price_table table{};
    std::uint64_t version = 0; ///< rises with every replacement

    void replace(price_table prices) {
        table = std::move(prices);
        ++version;
    }
};

/// What one pod asks for, by size.
struct pod_size {
    std::int64_t cpu = 0;       ///< milli-CPU
    std::int64_t milli = 0;     ///< milli-GPU; a request's part of a GPU is that on the first kind that takes it
    std::int64_t kept_away = 0; ///< of these, what names models and so keeps away from devices that would serve it
    bool has_devices = false;
};
[[nodiscard]] pod_size size_of(milli_cpu cpu, std::span<const device_request> containers, const cluster& nodes);

/// Sums over pods, each with a weight. Pods whose requests no kind takes are left out.
struct sized_demand {
    double cpu = 0.0; ///< of pods that take devices
    double milli = 0.0;
    double kept_away = 0.0;
    double cpu_without_devices = 0.0; ///< of pods that ask for none; counts for price_table::cpu_scarce alone

    void add(const pod_size& pod, double weight) noexcept {
        if (!pod.has_devices) cpu_without_devices += weight * static_cast<double>(pod.cpu);
        if (pod.milli == 0) return;
        milli += weight * static_cast<double>(pod.milli);
        kept_away += weight * static_cast<double>(pod.kept_away);
        cpu += weight * static_cast<double>(pod.cpu);
    }
    void scale(double factor) noexcept {
        cpu *= factor;
        milli *= factor;
        kept_away *= factor;
        cpu_without_devices *= factor;
    }
    /// Milli-CPU that a GPU's worth of the demand asks for; 0 if none is.
    [[nodiscard]] std::int64_t cpu_per_gpu() const noexcept;
};

/// A table that lists no device and needs no solver: rests are worth their size, capped by the CPU per GPU that
/// requests ask for.
[[nodiscard]] price_table prices_of(const sized_demand& demand, const cluster& nodes);
[[nodiscard]] price_table prices_by_size(const workload& demand, const cluster& nodes);
/// A book with these, for whoever has no solver.
[[nodiscard]] std::shared_ptr<const price_book> book_by_size(const workload& demand, const cluster& nodes);

} // namespace vgpualloc
