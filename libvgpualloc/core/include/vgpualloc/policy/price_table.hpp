// What rests of devices are worth, as plain data: whoever solves a packing program of the workload hands it in.
#pragma once

#include <cstdint>
#include <memory>
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

/// A table that lists no device and needs no solver: rests are worth their size, capped by the CPU per GPU that
/// requests ask for. A request's part of a GPU is that on the first kind of device in the cluster that takes it;
/// requests that no kind takes are left out, and those for no device count for cpu_scarce alone.
[[nodiscard]] price_table prices_by_size(const workload& demand, const cluster& nodes);
/// A book with these, for whoever has no solver.
[[nodiscard]] std::shared_ptr<const price_book> book_by_size(const workload& demand, const cluster& nodes);

} // namespace vgpualloc
