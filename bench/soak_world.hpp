// The cluster that the soak runs on: machines of every sharing mode, what they may register as, and what pods ask for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vgpualloc/core/rng.hpp"
#include "vgpualloc/model/cluster.hpp"
#include "vgpualloc/model/request.hpp"

namespace vgpusoak {

struct world_options {
    std::int64_t nodes = 128;
    std::int64_t devices = 8; ///< of each node that has any
};

/// Machines come in twenties: five with A100s and two with T4s shared in software, two with whole V100s, two with A100s
/// cut by MIG and one by groups of MIG, two with Ascend 910B, one each with Ascend 310P, MPS and CCE, two with A100s
/// half of which are given out whole, and one without devices. One in eight more than there are nodes at the start.
class soak_world {
public:
    explicit soak_world(const world_options& options);

    /// The nodes at the start and all kinds of devices.
    [[nodiscard]] const vgpualloc::cluster& start() const noexcept { return start_; }
    [[nodiscard]] std::size_t machine_count() const noexcept { return machines_.size(); }
    /// What a machine registers as when nothing is special about it.
    [[nodiscard]] const vgpualloc::node& machine(std::size_t number) const noexcept { return machines_[number]; }
    /// The same with something else about it: its CPU, its taint, the order of its devices, one device less, or whole
    /// GPUs where they were shared (and the other way round).
    [[nodiscard]] vgpualloc::node changed_machine(std::size_t number, vgpualloc::rng& draw) const;

    /// What pods ask for, over and over again: the position of one of requests().
    [[nodiscard]] std::uint32_t draw_request(vgpualloc::rng& draw) const {
        return weighted_[static_cast<std::size_t>(draw.below(weighted_.size()))];
    }
    /// One of those that name devices, tags or link groups, which cost as much as asking every device.
    [[nodiscard]] std::uint32_t draw_naming_request(vgpualloc::rng& draw) const {
        return static_cast<std::uint32_t>(first_naming_ + draw.below(requests_.size() - first_naming_));
    }
    /// A request that was probably never made before.
    [[nodiscard]] static vgpualloc::pod_request draw_new_request(vgpualloc::rng& draw);
    [[nodiscard]] const std::vector<vgpualloc::pod_request>& requests() const noexcept { return requests_; }

private:
    void add_machine(std::int64_t devices);
    void add_requests();
    void add_naming_requests();
    void add_request(std::uint32_t weight, vgpualloc::pod_request request);

    vgpualloc::cluster start_;
    std::uint32_t shared_kind_ = 0; ///< of A100s
    std::uint32_t whole_kind_ = 0;  ///< of the same A100s
    std::vector<vgpualloc::node> machines_;
    std::vector<vgpualloc::pod_request> requests_;
    std::size_t first_naming_ = 0;
    std::vector<std::uint32_t> weighted_;
};

} // namespace vgpusoak
