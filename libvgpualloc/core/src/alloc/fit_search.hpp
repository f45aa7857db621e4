// Whether what is left of a pod fits on one node in any way at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "vgpualloc/model/device.hpp"
#include "vgpualloc/model/request.hpp"

namespace vgpualloc {

/// Devices are chosen greedily, container by container, and the greedy choice may take what a later container needs:
/// of 3000 and 20000 MiB on an empty A100 that is cut by groups, the first takes an instance of a group that has none
/// for the second. Where that happens, each step is checked against the rest of the pod by this search over containers,
/// devices and parts. It is exact for pods of at most `containers_max` containers and up to `steps_max` questions to
/// devices for one pod on one node; beyond that the answer is no.
///
/// Devices in the same state that the same containers may have are tried once, and so are parts that leave a device in
/// the same state. Assumes of modes that a part that was given out makes no device take more than before.
class fit_search {
public:
    static constexpr std::size_t containers_max = 64;
    static constexpr std::int64_t steps_max = 1 << 14;

    struct candidate {
        const device_spec* spec = nullptr;
        device_state state;
        std::vector<bool> admitted{}; ///< by container: whether it may have the device, as far as use does not decide

        bool operator==(const candidate&) const = default;
    };

    /// The containers of a pod, with amounts that do not depend on the node any more; both spans outlive the search.
    fit_search(std::span<const device_request> containers, bool containers_apart, std::span<const candidate> devices);

    /// Whether it is worth while to search: the pod is not too large, and each container alone fits.
    [[nodiscard]] bool each_fits_alone();

    /// Takes a way to serve one device of a container, and goes back to before it; last in, first out.
    void take(std::size_t container, std::size_t device, const partition& part);
    void undo();

    /// Whether all containers from `container` on still fit; this one has as many devices as were taken for it.
    [[nodiscard]] bool rest_fits(std::size_t container);

private:
    struct step {
        std::size_t container = 0;
        std::size_t device = 0;
        device_state before;
    };

    [[nodiscard]] bool is_taken(std::size_t container, std::size_t device) const;
    [[nodiscard]] std::vector<device_state> states_after(std::size_t container, std::size_t device);
    [[nodiscard]] bool takes(std::size_t container, const candidate& considered);
    [[nodiscard]] bool later_fit_alone(std::size_t container);
    [[nodiscard]] bool looks_like_one_before(std::size_t container, std::size_t device, std::size_t from) const;
    [[nodiscard]] bool fits_from(std::size_t container, std::int64_t left, std::size_t from);
    [[nodiscard]] bool next_container_fits(std::size_t container, std::size_t device);

    std::span<const device_request> containers_;
    bool apart_;
    std::vector<candidate> devices_;
    std::vector<step> taken_;
    std::vector<partition> parts_; ///< of one call, kept for its room
    std::int64_t steps_left_ = steps_max;
};

} // namespace vgpualloc
