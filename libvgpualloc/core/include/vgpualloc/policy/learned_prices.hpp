// What a policy goes by that it has learned of arrivals: to be shown, kept, and gone on from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vgpualloc/model/request.hpp"
#include "vgpualloc/policy/price_table.hpp"

namespace vgpualloc {

/// One kind of request: so many devices, each with one such part.
struct bid_class {
    device_request request;   ///< one device's worth, of the pod's first container with devices
    std::int64_t devices = 1; ///< of that container
    std::int64_t milli = 0;   ///< milli-GPU of all of them
    std::int64_t cpu = 0;     ///< milli-CPU of its mean pod
    double share = 0.0;       ///< of the arrivals with devices

    [[nodiscard]] bool is_alike(const bid_class& other) const {
        return devices == other.devices && request == other.request;
    }
    bool operator==(const bid_class&) const = default;
};

/// What pods of a class ask for: "a whole GPU", "8 whole GPUs", "0.5 of a GPU", "2 x 1g.5gb".
[[nodiscard]] std::string words_of(const bid_class& of);

/// What one more pod of a class costs the cluster.
struct slot_price {
    bid_class of{};
    double price = 0.0;     ///< GPUs for a slot of it, at the turnover
    std::int64_t stock = 0; ///< slots that the cluster had at the last look; 0 while prices are not looked at

    bool operator==(const slot_price&) const = default;
};

struct learned_prices {
    price_table rests{};   ///< what rests of devices are worth
    double turnover = 0.0; ///< how far the cluster turns over, 0 to 1
    std::vector<slot_price> slots{};

    bool operator==(const learned_prices&) const = default;
};

} // namespace vgpualloc
