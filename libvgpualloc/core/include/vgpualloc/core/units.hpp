// Strong integer quantities: MiB, percent of compute, milli-GPU, milli-CPU, ticks. Different units do not mix.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace vgpualloc {

/// A signed 64-bit amount of one unit. Adds, subtracts and compares only with its own kind; scaling by a plain integer
/// is allowed. Signed on purpose: free capacity is compared after subtraction, and wrap-around would hide a bug.
template <class Tag>
class quantity {
public:
    using rep = std::int64_t;

    constexpr quantity() noexcept = default;
    constexpr explicit quantity(rep value) noexcept : value_{value} {}

    [[nodiscard]] constexpr rep count() const noexcept { return value_; }
    [[nodiscard]] static constexpr quantity max() noexcept { return quantity{std::numeric_limits<rep>::max()}; }

    constexpr auto operator<=>(const quantity&) const noexcept = default;

    constexpr quantity& operator+=(quantity other) noexcept {
        value_ += other.value_;
        return *this;
    }
    constexpr quantity& operator-=(quantity other) noexcept {
        value_ -= other.value_;
        return *this;
    }
    [[nodiscard]] friend constexpr quantity operator+(quantity a, quantity b) noexcept { return a += b; }
    [[nodiscard]] friend constexpr quantity operator-(quantity a, quantity b) noexcept { return a -= b; }
    [[nodiscard]] friend constexpr quantity operator*(quantity a, rep factor) noexcept {
        return quantity{a.value_ * factor};
    }
    [[nodiscard]] friend constexpr quantity operator*(rep factor, quantity a) noexcept { return a * factor; }

private:
    rep value_ = 0;
};

using mib = quantity<struct mib_tag>;                   ///< device memory, 2^20 bytes
using bytes = quantity<struct bytes_tag>;               ///< host memory
using core_percent = quantity<struct core_percent_tag>; ///< compute of one device, 100 = all of it
using milli_gpu = quantity<struct milli_gpu_tag>;       ///< thousandths of one device
using milli_cpu = quantity<struct milli_cpu_tag>;       ///< thousandths of one CPU core
using ticks = quantity<struct ticks_tag>;               ///< simulated time, microseconds

inline constexpr ticks ticks_per_second{1'000'000};
inline constexpr milli_gpu whole_gpu{1000};
inline constexpr core_percent whole_compute{100};

[[nodiscard]] constexpr double seconds_of(ticks time) noexcept {
    return static_cast<double>(time.count()) / static_cast<double>(ticks_per_second.count());
}

inline constexpr std::int64_t bytes_per_mib = std::int64_t{1} << 20U;
[[nodiscard]] constexpr bytes to_bytes(mib amount) noexcept { return bytes{amount.count() * bytes_per_mib}; }
/// Whole MiB in an amount that is not negative, a part of one left out.
[[nodiscard]] constexpr std::int64_t mib_down(bytes amount) noexcept { return amount.count() / bytes_per_mib; }
/// The same, a part of one counted as one.
[[nodiscard]] constexpr std::int64_t mib_up(bytes amount) noexcept {
    return mib_down(amount) + (amount.count() % bytes_per_mib > 0 ? 1 : 0);
}

/// ceil(part / whole * 1000): the share of a device that an amount takes, rounded up so that it never looks smaller
/// than it is. `whole` must be positive.
template <class Tag>
[[nodiscard]] constexpr milli_gpu share_of(quantity<Tag> part, quantity<Tag> whole) noexcept {
    return milli_gpu{(part.count() * 1000 + whole.count() - 1) / whole.count()};
}

} // namespace vgpualloc
