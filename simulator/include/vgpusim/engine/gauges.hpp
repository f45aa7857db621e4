// The cluster's state in numbers, kept up to date node by node.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "vgpualloc/core/units.hpp"
#include "vgpualloc/metrics/fragmentation.hpp"
#include "vgpualloc/model/view.hpp"
#include "vgpusim/engine/device_use.hpp"

namespace vgpusim {

/// Sums over all nodes. Fragmentation is summed as integers (micro-milli-GPU, rounded per node), so that the value
/// after an event depends on the state alone and not on the path to it.
class gauges {
public:
    /// `model` may be shared with the policy that works on the same allocator's ids.
    gauges(std::shared_ptr<vgpualloc::fragmentation_model> model, device_use_model use, std::size_t nodes)
        : stranded(use.profiles().size()), fragmentation_{std::move(model)}, use_{std::move(use)}, nodes_(nodes),
          stranded_of_(nodes * stranded.size()) {}

    /// Takes in a node's state, replacing what was known of it. A node that is off draws nothing.
    void update(const vgpualloc::node_view& node, bool is_off = false) {
        node_gauge now{.used = node.config->used.count(),
                       .unusable_micro = in_micro(fragmentation_->unusable(*node.config, node.cpu_left)),
                       .used_gpus = static_cast<std::int32_t>(static_cast<std::int64_t>(node.config->devices.size()) -
                                                              node.config->devices_free_whole),
                       .devices = use_.of(*node.config)};
        now.active = now.used_gpus > 0 || node.cpu_left < node.cpu_capacity;
        if (is_off && !now.active) now.devices.watts = 0;
        node_gauge& before = nodes_[node.node.at()];
        allocated_milli += now.used - before.used;
        unusable_micro += now.unusable_micro - before.unusable_micro;
        used_gpus += now.used_gpus - before.used_gpus;
        used_nodes += static_cast<int>(now.active) - static_cast<int>(before.active);
        devices.memory_mib += now.devices.memory_mib - before.devices.memory_mib;
        devices.compute_milli += now.devices.compute_milli - before.devices.compute_milli;
        devices.watts += now.devices.watts - before.devices.watts;
        before = now;
        if (!stranded.empty()) update_stranded(node.node.at());
    }

    /// Ids of configurations are about to change their meaning.
    void forget_ids() {
        fragmentation_->forget_ids();
        use_.forget_ids();
    }

    /// Names of the MIG profiles whose stranded slices are counted.
    [[nodiscard]] const std::vector<std::string>& profiles() const noexcept { return use_.profiles(); }

    /// The seven buckets of one node.
    [[nodiscard]] vgpualloc::fragmentation_buckets buckets(const vgpualloc::node_view& node) {
        return fragmentation_->buckets(*node.config, node.cpu_left);
    }

    std::int64_t allocated_milli = 0;
    std::int64_t unusable_micro = 0; ///< F over all nodes, in millionths of a milli-GPU
    std::int64_t used_gpus = 0;      ///< GPUs with anything used
    std::int64_t used_nodes = 0;     ///< nodes with any GPU or CPU used
    device_use devices;
    std::vector<std::int64_t> stranded; ///< memory slices of MIG GPUs, by position in profiles()

    [[nodiscard]] static std::int64_t in_micro(double milli) noexcept {
        return static_cast<std::int64_t>(milli * 1e6 + 0.5);
    }

private:
    struct node_gauge {
        std::int64_t used = 0;
        std::int64_t unusable_micro = 0;
        std::int32_t used_gpus = 0;
        bool active = false;
        device_use devices{};
    };

    /// Takes in what is stranded on the node whose amounts were asked for last.
    void update_stranded(std::size_t node) {
        const auto now = use_.stranded();
        const auto before = std::span{stranded_of_}.subspan(node * now.size(), now.size());
        for (std::size_t profile = 0; profile < now.size(); ++profile) {
            stranded[profile] += now[profile] - before[profile];
            before[profile] = now[profile];
        }
    }

    std::shared_ptr<vgpualloc::fragmentation_model> fragmentation_;
    device_use_model use_;
    std::vector<node_gauge> nodes_;
    std::vector<std::int64_t> stranded_of_; ///< by node, one for each profile
};

} // namespace vgpusim
