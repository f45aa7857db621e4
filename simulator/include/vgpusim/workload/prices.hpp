// prices.json: what rests of devices are worth to dual_price, as a run leaves it and another one takes it.
#pragma once

#include <string>
#include <string_view>

#include "vgpualloc/policy/price_table.hpp"
#include "vgpusim/workload/core_names.hpp"

namespace vgpusim {

/// An object: "cpu_milli_per_gpu", and "devices", a list of objects: "model", "mode", "memory_mib", "compute" (as the
/// mode counts it), "idle" (what an idle device is worth), "premium" (how much more a rest is worth, as a part of 1)
/// and "parts", each with "worth" and "request" (amounts of one device). Worths are numbers with at most three
/// decimals, in milli-GPU. `name` is what errors call the text.
[[nodiscard]] expected<vgpualloc::price_table> read_prices(std::string_view text, const std::string& name);

/// How the file begins, by which a later run knows it for one of ours.
inline constexpr std::string_view prices_beginning = "{\n  \"cpu_milli_per_gpu\": ";

/// The text of a prices.json, which read_prices() reads as the same.
[[nodiscard]] std::string write_prices(const vgpualloc::price_table& prices);

} // namespace vgpusim
