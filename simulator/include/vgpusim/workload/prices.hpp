// prices.json: what rests of devices are worth, and what slots cost, as a run leaves it and another one takes it.
#pragma once

#include <string>
#include <string_view>

#include "vgpualloc/policy/learned_prices.hpp"
#include "vgpusim/workload/core_names.hpp"

namespace vgpusim {

/// An object: "cpu_milli_per_gpu", and "devices", a list of objects: "model", "mode", "memory_mib", "compute" (as the
/// mode counts it), "idle" (what an idle device is worth), "premium" (how much more a rest is worth, as a part of 1)
/// and "parts", each with "worth" and "request" (amounts of one device). Worths are numbers with at most three
/// decimals, in milli-GPU. Of bid_price also "turnover", 0 to 1, and "slots", a list of objects: "request", "devices"
/// (how many of it a pod asks for), "milli_gpu" and "cpu_milli" of such a pod, "share" of the arrivals, "price_gpu" and
/// "stock". `name` is what errors call the text.
[[nodiscard]] expected<vgpualloc::learned_prices> read_prices(std::string_view text, const std::string& name);

/// How the file begins, by which a later run knows it for one of ours.
inline constexpr std::string_view prices_beginning = "{\n  \"cpu_milli_per_gpu\": ";

/// The text of a prices.json, which read_prices() reads as the same.
[[nodiscard]] std::string write_prices(const vgpualloc::learned_prices& prices);

} // namespace vgpusim
