// Rounding that keeps a sum: the method of largest remainders.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

namespace vgpualloc {

/// Puts `values`, none of them negative, as multiples of `step` that add up to `total` into `into`, which is as long
/// and may be the same: each is rounded down, then the largest remainders are rounded up, of equal ones the first.
/// `total` is a multiple of `step`, at least the sum of the values rounded down, and at most one step per value above
/// that.
template <class Value>
void round_to_total(std::span<const Value> values, std::int64_t step, std::int64_t total,
                    std::span<std::int64_t> into) {
    std::vector<Value> rest(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        const Value value = values[i];
        into[i] = static_cast<std::int64_t>(value / static_cast<Value>(step)) * step;
        rest[i] = value - static_cast<Value>(into[i]);
    }
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t i) { return rest[i]; });
    std::int64_t left = total - std::accumulate(into.begin(), into.end(), std::int64_t{0});
    for (const std::size_t i : order) {
        if (left <= 0) break;
        into[i] += step;
        left -= step;
    }
}

} // namespace vgpualloc
