// Dense indices, each its own type, so that a node index cannot be passed for a device index.
#pragma once

#include <compare>
#include <concepts>
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
    /// From any integer, so that `node_index{3}` compiles; `value` is at least 0 and below 2^32 - 1.
    template <std::integral Integer>
    constexpr explicit dense_id(Integer value) noexcept : value_{static_cast<rep>(value)} {}

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

using node_index = dense_id<struct node_index_tag>;     ///< position in cluster::nodes; ties: ledger::rank_of()
using device_index = dense_id<struct device_index_tag>; ///< position in node::devices

/// A pod as its owner numbers it: dense from 0, and a generation that tells the pods apart that one number is given to
/// after the other. A replay that never uses a number again leaves the generation at 0; pod_registry gives both for
/// pods that have names of their own.
class pod_id {
public:
    constexpr pod_id() noexcept = default;
    template <std::integral Integer>
    constexpr explicit pod_id(Integer index, std::uint32_t generation = 0) noexcept
        : index_{static_cast<std::uint32_t>(index)}, generation_{generation} {}

    /// The number itself, for subscripting.
    [[nodiscard]] constexpr std::size_t at() const noexcept { return index_; }
    [[nodiscard]] constexpr std::uint32_t value() const noexcept { return index_; }
    [[nodiscard]] constexpr std::uint32_t generation() const noexcept { return generation_; }
    [[nodiscard]] constexpr bool valid() const noexcept { return index_ != none_value; }

    constexpr auto operator<=>(const pod_id&) const noexcept = default;

private:
    static constexpr std::uint32_t none_value = std::numeric_limits<std::uint32_t>::max();
    std::uint32_t index_ = none_value;
    std::uint32_t generation_ = 0;
};

} // namespace vgpualloc
