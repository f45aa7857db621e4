// The largest numbers a trace model may hold. They keep every sum and product of the generator within 64 bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vgputraces::limits {

inline constexpr std::int64_t nodes_max = 1'000'000;
inline constexpr std::int64_t pods_max = 10'000'000;
inline constexpr std::int64_t gpus_per_node_max = 1024;
inline constexpr std::int64_t amount_max = 1'000'000'000;     ///< milli-CPU or MiB of one node or pod
inline constexpr std::int64_t weight_max = 1'000'000'000'000; ///< times list_entries_max stays below 2^63
inline constexpr std::size_t list_entries_max = 100'000;
inline constexpr std::size_t name_chars_max = 40;
inline constexpr double load_min = 1e-6;
inline constexpr double load_max = 1000;
inline constexpr double interval_s_min = 1e-6; ///< one tick
inline constexpr double seconds_max = 1e9;     ///< of a duration or an interval
inline constexpr std::int64_t last_arrival_s_max = 1'000'000'000'000;

} // namespace vgputraces::limits
