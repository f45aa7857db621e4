// The tables of an overview.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vgpuops/show/overview.hpp"
#include "vgpuops/show/tables.hpp"

namespace vgpuops::show {

/// "20.5": milli-GPU, in tenths of a GPU.
[[nodiscard]] std::string gpus(std::int64_t milli);
/// "1 node", "2 nodes".
[[nodiscard]] std::string several(std::int64_t count, std::string_view word);

/// How many of the names differ.
[[nodiscard]] std::int64_t count_different(std::vector<std::string> names);

/// The heading of the keys: "POOL", or the last part of a label's name.
[[nodiscard]] std::string key_heading(const std::string& by);

/// The parts of the cluster and of its rows of devices, in tenths that add up.
[[nodiscard]] rounded_rows in_tenths(const overview& seen);

/// Each is one table, without rows where there is none. `tenths` are those of in_tenths().
[[nodiscard]] printed_table first_table(const overview& seen, const rounded_rows& tenths, const table_options& options);
/// Empty where the first table has pods.
[[nodiscard]] printed_table hosts_table(const overview& seen, const rounded_rows& tenths, const table_options& options);
[[nodiscard]] printed_table idle_table(const overview& seen, const three_parts& total, const table_options& options);
/// The namespaces, unless the first table has them.
[[nodiscard]] printed_table user_table(const overview& seen, const three_parts& total, const table_options& options);

} // namespace vgpuops::show
