// The tables of an overview.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "vgpuops/show/overview.hpp"

namespace vgpuops::show {

/// "20.5": milli-GPU, in tenths of a GPU.
[[nodiscard]] std::string gpus(std::int64_t milli);
/// "1 node", "2 nodes".
[[nodiscard]] std::string several(std::int64_t count, std::string_view word);

/// The parts of the cluster and of its rows of devices, in tenths that add up.
[[nodiscard]] rounded_rows in_tenths(const overview& seen);

/// Each adds one table, or nothing where it has no row. `tenths` are those of in_tenths().
void add_first_table(const overview& seen, const rounded_rows& tenths, const table_options& options, std::string& text);
void add_idle_table(const overview& seen, const three_parts& total, const table_options& options, std::string& text);
/// The namespaces, unless the first table has them.
void add_user_table(const overview& seen, const three_parts& total, const table_options& options, std::string& text);

} // namespace vgpuops::show
