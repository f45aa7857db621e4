// How much of devices something takes, in parts that add up exactly.
#pragma once

#include <cstdint>

namespace vgputraces {

/// Memory and compute, each in parts of which one whole device has `whole`.
struct device_parts {
    static constexpr std::int64_t whole = 8'400'000; ///< sevenths, eighths and hundredths are whole numbers of it
    std::int64_t memory = 0;
    std::int64_t compute = 0;

    /// `part` of `all` of a device; nothing of a device that has none of it. Both are from 0 to 2^40.
    [[nodiscard]] static constexpr std::int64_t parts_of(std::int64_t part, std::int64_t all) noexcept {
        __extension__ using wide = __int128;
        return all > 0 ? static_cast<std::int64_t>(wide{whole} * part / all) : 0;
    }
    [[nodiscard]] constexpr device_parts times(std::int64_t count) const noexcept {
        return {.memory = memory * count, .compute = compute * count};
    }
    constexpr device_parts& operator+=(const device_parts& more) noexcept {
        memory += more.memory;
        compute += more.compute;
        return *this;
    }
    constexpr device_parts& operator-=(const device_parts& less) noexcept {
        memory -= less.memory;
        compute -= less.compute;
        return *this;
    }
    bool operator==(const device_parts&) const = default;
};

} // namespace vgputraces
