// What is taken of the devices of a node, and what they draw.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vgpualloc/catalog/power.hpp"
#include "vgpualloc/metrics/stranded_slices.hpp"
#include "vgpualloc/model/cluster.hpp"
#include "vgpualloc/model/view.hpp"

namespace vgpusim {

/// Of one node, or of all.
struct device_use {
    std::int64_t memory_mib = 0;    ///< device memory that is given out
    std::int64_t compute_milli = 0; ///< compute that is given out, in thousandths of a device's
    std::int64_t watts = 0;         ///< what the devices draw whose power is known

    bool operator==(const device_use&) const = default;
};

/// The watts of the kinds of devices of a cluster, in their order; empty for a kind that the catalog does not know both
/// values of.
struct power_draw {
    std::int64_t idle = 0; ///< watts with nothing on the device
    std::int64_t busy = 0; ///< watts with anything on it
};
[[nodiscard]] std::vector<std::optional<power_draw>> power_of_kinds(const vgpualloc::device_kinds& cluster,
                                                                    const vgpualloc::power_catalog& catalog);

/// Adds the amounts up for a configuration of devices, and remembers them for interned ones.
class device_use_model {
public:
    /// `power` is by kind; one that ends early knows nothing of the kinds after it.
    device_use_model(const vgpualloc::device_kinds& cluster, std::vector<std::optional<power_draw>> power)
        : power_{std::move(power)}, stranded_{cluster} {}

    /// The profiles whose stranded slices are counted.
    [[nodiscard]] const std::vector<std::string>& profiles() const noexcept { return stranded_.profiles(); }

    /// The amounts of a node with these devices. stranded() is of them until the next call.
    [[nodiscard]] const device_use& of(const vgpualloc::device_config& config) {
        if (config.id < known_.size() && known_[config.id].known) {
            last_ = config.id;
            return known_[config.id].use;
        }
        return compute(config);
    }

    /// By position in profiles(): memory slices that are stranded on the devices of the last of().
    [[nodiscard]] std::span<const std::int64_t> stranded() const noexcept {
        return {last_ == vgpualloc::not_interned ? afresh_slices_.data() : slices_.data() + last_ * profiles().size(),
                profiles().size()};
    }

    /// Ids of configurations are about to change their meaning.
    void forget_ids() { known_.clear(); }

private:
    struct entry {
        device_use use;
        bool known = false;
    };

    const device_use& compute(const vgpualloc::device_config& config);

    std::vector<std::optional<power_draw>> power_;
    vgpualloc::stranded_slices stranded_;
    std::vector<entry> known_;         ///< by id of configuration
    std::vector<std::int64_t> slices_; ///< likewise, one for each profile
    device_use afresh_;                ///< of a configuration without an id
    std::vector<std::int64_t> afresh_slices_;
    std::uint32_t last_ = vgpualloc::not_interned; ///< id of the last configuration asked for
};

} // namespace vgpusim
