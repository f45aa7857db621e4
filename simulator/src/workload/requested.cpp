#include "vgpusim/workload/requested.hpp"

#include <numeric>
#include <optional>

namespace vgpusim {

using vgpualloc::fraction;
using vgpualloc::requested_amount;
using vgpualloc::requested_devices;

namespace {

/// Every share of up to sixteenths is a whole number of it.
constexpr std::int64_t fixed_whole = 720'720'000'000;

/// The least common multiple of what shares are parts of and of a thousand; none where it passes `most`.
std::optional<std::int64_t> common_whole(std::span<const requested_amount> amounts, std::int64_t most) {
    std::int64_t whole = whole_gpu.count();
    for (const requested_amount& amount : amounts) {
        for (const requested_devices& part : amount.devices) {
            const vgpualloc::requested_share& taken = part.taken();
            for (const fraction& share : {part.share.memory, part.share.compute, taken.memory, taken.compute}) {
                const wide_integer multiple = wide_integer{whole} / std::gcd(whole, share.whole) * share.whole;
                if (multiple > most) return std::nullopt;
                whole = static_cast<std::int64_t>(multiple);
            }
        }
    }
    return whole;
}

std::int64_t units_of(const fraction& share, std::int64_t whole) {
    const wide_integer twice = wide_integer{share.part} * whole * 2;
    return static_cast<std::int64_t>((twice + share.whole) / (wide_integer{share.whole} * 2));
}

} // namespace

requested_table::requested_table(std::span<const requested_amount> amounts, std::int64_t devices) {
    constexpr std::int64_t units_max = 4'000'000'000'000'000'000;
    const std::int64_t most = std::min(fixed_whole, units_max / std::max<std::int64_t>(devices, 1));
    whole_ = common_whole(amounts, most).value_or(most);
    asked_.reserve(amounts.size());
    served_.reserve(amounts.size());
    for (const requested_amount& amount : amounts) add(amount);
}

void requested_table::units_of_request::add(std::int64_t count, const vgpualloc::requested_share& share,
                                            std::int64_t whole) {
    parts.push_back({.memory = units_of(share.memory, whole), .compute = units_of(share.compute, whole)});
    sum += parts.back().times(count);
}

void requested_table::add(const requested_amount& amount) {
    units_of_request& asked = asked_.emplace_back();
    units_of_request& served = served_.emplace_back();
    if (amount.has_uneven_devices) ++uneven_requests_;
    if (amount.has_uneven_units) ++requests_for_uneven_units_;
    for (const requested_devices& part : amount.devices) {
        asked.add(part.count, part.share, whole_);
        served.add(part.count, part.taken(), whole_);
    }
}

requested_amount requested_milli(std::int64_t devices, milli_gpu each) {
    if (devices == 0 || each == milli_gpu{}) return {};
    const fraction share = fraction::of(each.count(), whole_gpu.count());
    return {.devices = {{.count = devices, .share = {.memory = share, .compute = share}}}};
}

std::int64_t device_count(const vgpualloc::cluster& nodes) {
    std::int64_t devices = 0;
    for (const vgpualloc::node& described : nodes.nodes) devices += static_cast<std::int64_t>(described.devices.size());
    return devices;
}

} // namespace vgpusim
