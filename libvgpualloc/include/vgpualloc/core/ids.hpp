// Dense indices, each its own type, so that a node index cannot be passed for a device index.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace vgpualloc {

/// A zero-based position in the sequence that `Tag` names.
template <class Tag>
class dense_id {
public:
    using rep = std::uint32_t;

    constexpr dense_id() noexcept = default;
    constexpr explicit dense_id(rep value) noexcept : value_{value} {}
    constexpr explicit dense_id(std::size_t value) noexcept : value_{static_cast<rep>(value)} {}

    /// The position itself, for subscripting.
    [[nodiscard]] constexpr std::size_t at() const noexcept { return value_; }
    [[nodiscard]] constexpr rep value() const noexcept { return value_; }
    [[nodiscard]] constexpr bool valid() const noexcept { return value_ != none_value; }
    [[nodiscard]] static constexpr dense_id none() noexcept { return dense_id{none_value}; }

    constexpr auto operator<=>(const dense_id&) const noexcept = default;

private:
    static constexpr rep none_value = std::numeric_limits<rep>::max();
    rep value_ = none_value;
};

using node_index = dense_id<struct node_index_tag>;     ///< position in cluster::nodes, which is also the tie rank
using device_index = dense_id<struct device_index_tag>; ///< position in node::devices
using pod_id = dense_id<struct pod_id_tag>;             ///< given by the caller, dense from 0

} // namespace vgpualloc
