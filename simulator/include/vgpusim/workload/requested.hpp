// What the pods of a run ask for, in units in which their sums are exact.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "vgpualloc/model/requested_amount.hpp"
#include "vgpusim/workload/core_names.hpp"

namespace vgpusim {

/// Memory and compute of devices. A whole device has requested_table::whole() units of each.
template <class Integer>
struct basic_requested_units {
    Integer memory = 0;
    Integer compute = 0;

    /// What counts where one number is wanted: the dimension of which more is asked for.
    [[nodiscard]] constexpr Integer larger() const noexcept { return std::max(memory, compute); }
    template <class Other>
    constexpr basic_requested_units& operator+=(const basic_requested_units<Other>& more) noexcept {
        memory += more.memory;
        compute += more.compute;
        return *this;
    }
    constexpr basic_requested_units& operator-=(const basic_requested_units& less) noexcept {
        memory -= less.memory;
        compute -= less.compute;
        return *this;
    }
    [[nodiscard]] constexpr basic_requested_units times(Integer factor) const noexcept {
        return {.memory = memory * factor, .compute = compute * factor};
    }
    template <class Other>
    [[nodiscard]] constexpr basic_requested_units<Other> as() const noexcept {
        return {.memory = static_cast<Other>(memory), .compute = static_cast<Other>(compute)};
    }
    bool operator==(const basic_requested_units&) const = default;
};

__extension__ using wide_integer = __int128;
using requested_units = basic_requested_units<std::int64_t>;      ///< of pods that run at one time
using wide_requested_units = basic_requested_units<wide_integer>; ///< of all pods that arrive, or over time

/// What every request of a workload asks for (vgpualloc::requested_amount), over all its devices, and what counts of it
/// as served. These differ where units by number alone may be whole devices or parts of one. The unit is the
/// common part of all shares that occur and of a thousandth of a device. If it were so small that the units of all
/// devices pass 64 bits, it is a fixed one, and every share is rounded to it.
class requested_table {
public:
    requested_table() = default;
    /// `devices`: that the cluster has.
    requested_table(std::span<const vgpualloc::requested_amount> amounts, std::int64_t devices);

    /// Units of each dimension that a device has.
    [[nodiscard]] std::int64_t whole() const noexcept { return whole_; }
    [[nodiscard]] const requested_units& operator[](std::size_t request) const noexcept { return asked_[request].sum; }
    /// What it takes at the least, so that what runs never counts more than there is.
    [[nodiscard]] const requested_units& served(std::size_t request) const noexcept { return served_[request].sum; }
    [[nodiscard]] std::size_t size() const noexcept { return asked_.size(); }
    [[nodiscard]] double milli_of_unit() const noexcept {
        return static_cast<double>(whole_gpu.count()) / static_cast<double>(whole_);
    }
    /// By container of a request that wants devices, what it asks for of one device.
    [[nodiscard]] const std::vector<requested_units>& parts(std::size_t request) const noexcept {
        return asked_[request].parts;
    }
    [[nodiscard]] const std::vector<requested_units>& served_parts(std::size_t request) const noexcept {
        return served_[request].parts;
    }
    /// Requests of which vgpualloc::requested_amount::has_uneven_devices holds.
    [[nodiscard]] std::int64_t uneven_requests() const noexcept { return uneven_requests_; }
    /// Requests of which vgpualloc::requested_amount::has_uneven_units holds.
    [[nodiscard]] std::int64_t requests_for_uneven_units() const noexcept { return requests_for_uneven_units_; }
    /// Another request, rounded to the unit.
    void add(const vgpualloc::requested_amount& amount);

    /// Rounded half up.
    [[nodiscard]] std::int64_t milli(wide_integer units) const noexcept { return milli_of_units(units, whole_); }
    [[nodiscard]] static std::int64_t milli_of_units(wide_integer units, std::int64_t whole) noexcept {
        constexpr std::int64_t milli = whole_gpu.count();
        if (whole == milli) return static_cast<std::int64_t>(units);
        constexpr std::int64_t units_max = 1'000'000'000'000'000; // times 2,000 they fit in 64 bits
        if (units < units_max) return (static_cast<std::int64_t>(units) * milli * 2 + whole) / (whole * 2);
        return static_cast<std::int64_t>((units * milli * 2 + whole) / (wide_integer{whole} * 2));
    }

private:
    struct units_of_request {
        requested_units sum;
        std::vector<requested_units> parts{};

        void add(std::int64_t count, const vgpualloc::requested_share& share, std::int64_t whole);
    };

    std::int64_t whole_ = whole_gpu.count();
    std::vector<units_of_request> asked_;
    std::vector<units_of_request> served_;
    std::int64_t uneven_requests_ = 0;
    std::int64_t requests_for_uneven_units_ = 0;
};

/// What a pod asks for whose devices are each asked for by so many thousandths, as openb says them.
[[nodiscard]] vgpualloc::requested_amount requested_milli(std::int64_t devices, milli_gpu each);

/// The devices of all nodes.
[[nodiscard]] std::int64_t device_count(const vgpualloc::cluster& nodes);

} // namespace vgpusim
