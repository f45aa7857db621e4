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

/// A pod or a claim as the caller numbers it: dense from 0, and a generation that tells apart those that one number is
/// given to after the other. A replay that never uses a number again leaves the generation at 0; pod_registry gives
/// both for pods that have names of their own.
template <class Tag>
class numbered_id {
public:
    constexpr numbered_id() noexcept = default;
    template <std::integral Integer>
    constexpr explicit numbered_id(Integer index, std::uint32_t generation = 0) noexcept
        : index_{static_cast<std::uint32_t>(index)}, generation_{generation} {}

    /// The number itself, for subscripting.
    [[nodiscard]] constexpr std::size_t at() const noexcept { return index_; }
    [[nodiscard]] constexpr std::uint32_t value() const noexcept { return index_; }
    [[nodiscard]] constexpr std::uint32_t generation() const noexcept { return generation_; }
    [[nodiscard]] constexpr bool valid() const noexcept { return index_ != none_value; }

    constexpr auto operator<=>(const numbered_id&) const noexcept = default;

private:
    static constexpr std::uint32_t none_value = std::numeric_limits<std::uint32_t>::max();
    std::uint32_t index_ = none_value;
    std::uint32_t generation_ = 0;
};

using pod_id = numbered_id<struct pod_tag>;
/// Devices that were given out under a name of their own (a ResourceClaim): several pods may use them, one after the
/// other or at once, and they are taken from the first reservation until the claim is released, with or without pods.
using claim_id = numbered_id<struct claim_tag>;

/// Who has a booking: a pod or a claim. Numbers from 2^31 on are nobody's. Pods come before claims, each by number.
class owner_id {
public:
    constexpr owner_id() noexcept = default;
    // NOLINTNEXTLINE(google-explicit-constructor): a pod is an owner
    constexpr owner_id(pod_id pod) noexcept
        : index_{pod.value() < claim_bit ? pod.value() : none_value}, generation_{pod.generation()} {}
    // NOLINTNEXTLINE(google-explicit-constructor): a claim is an owner
    constexpr owner_id(claim_id claim) noexcept
        : index_{claim.value() < claim_bit - 1 ? claim.value() | claim_bit : none_value},
          generation_{claim.generation()} {}

    [[nodiscard]] constexpr bool valid() const noexcept { return index_ != none_value; }
    [[nodiscard]] constexpr bool is_claim() const noexcept { return valid() && (index_ & claim_bit) != 0; }
    [[nodiscard]] constexpr bool is_pod() const noexcept { return (index_ & claim_bit) == 0; }
    /// The pod; of a claim one that is not valid().
    [[nodiscard]] constexpr pod_id pod() const noexcept { return is_pod() ? pod_id{index_, generation_} : pod_id{}; }
    /// The claim; of a pod one that is not valid().
    [[nodiscard]] constexpr claim_id claim() const noexcept {
        return is_claim() ? claim_id{number(), generation_} : claim_id{};
    }
    /// The number of the pod or claim, for subscripting.
    [[nodiscard]] constexpr std::size_t at() const noexcept { return number(); }
    [[nodiscard]] constexpr std::uint32_t generation() const noexcept { return generation_; }

    constexpr auto operator<=>(const owner_id&) const noexcept = default;

private:
    static constexpr std::uint32_t none_value = std::numeric_limits<std::uint32_t>::max();
    static constexpr std::uint32_t claim_bit = std::uint32_t{1} << 31U;
    [[nodiscard]] constexpr std::uint32_t number() const noexcept { return index_ & ~claim_bit; }

    std::uint32_t index_ = none_value;
    std::uint32_t generation_ = 0;
};

} // namespace vgpualloc
