// Thinning of a long curve to what a screen can show.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace vgpureport {

/// At most `limit` (at least 4) of the indices 0 .. count-1, ascending: the first, the last, and of each of
/// equally many neighbours the one with the least and the one with the greatest value. So no peak and no dip is lost,
/// whatever the horizontal axis is, and a zoomed curve has the right envelope.
template <class Value>
[[nodiscard]] std::vector<std::size_t> thin(std::size_t count, std::size_t limit, Value value) {
    std::vector<std::size_t> kept;
    if (count <= limit) {
        kept.resize(count);
        for (std::size_t i = 0; i < count; ++i) kept[i] = i;
        return kept;
    }
    kept.reserve(limit);
    kept.push_back(0);
    const std::size_t inner = count - 2;
    const std::size_t buckets = (limit - 2) / 2;
    for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
        const std::size_t begin = 1 + bucket * inner / buckets;
        const std::size_t end = 1 + (bucket + 1) * inner / buckets;
        std::size_t least = begin;
        std::size_t greatest = begin;
        auto least_value = value(begin);
        auto greatest_value = least_value;
        for (std::size_t i = begin + 1; i < end; ++i) {
            const auto now = value(i);
            if (now < least_value) {
                least = i;
                least_value = now;
            }
            if (greatest_value < now) {
                greatest = i;
                greatest_value = now;
            }
        }
        kept.push_back(std::min(least, greatest));
        if (least != greatest) kept.push_back(std::max(least, greatest));
    }
    kept.push_back(count - 1);
    return kept;
}

} // namespace vgpureport
