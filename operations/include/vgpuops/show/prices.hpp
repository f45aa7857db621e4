// What the GPUs of a cluster cost a day, by what becomes of them, and the energy that they draw at most.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpualloc/catalog/power.hpp"
#include "vgpuops/core_names.hpp"
#include "vgpuops/show/rounding.hpp"

namespace vgpuops::show {

/// The GPUs of one model. Milli-GPU.
struct model_use {
    std::string name{};  ///< as tables have it
    std::string model{}; ///< in full
    std::int64_t gpus = 0;
    three_parts parts{}; ///< used, free, out of service
    /// GPUs on which something may run. Where a device plugin does not tell on which GPU of a node a pod is, each
    /// instance and replica counts as on a GPU of its own, as far as the node has so many.
    std::int64_t busy_at_most = 0;
};

/// What the GPUs of some models draw in a day, at most: GPUs on which something may run draw the catalog's busy watts,
/// the others its idle watts.
struct daily_energy {
    std::int64_t wh = 0;                                          ///< of the GPUs whose watts are known
    std::vector<std::pair<std::string, std::int64_t>> no_watts{}; ///< models without known watts, and their GPUs
};
[[nodiscard]] daily_energy energy_of(std::span<const model_use> models, const vgpualloc::power_catalog& power);

/// "without the energy of 4 X100, whose watts the catalog does not have"; empty where all watts are known.
[[nodiscard]] std::string without_energy_line(const daily_energy& energy);
/// The same of a change: "without the energy of 4 X100 before and 8 X100 after, whose watts …".
[[nodiscard]] std::string without_energy_line(const daily_energy& before, const daily_energy& after);

/// Prices have at most four decimals.
inline constexpr std::int64_t price_units = 10'000;

struct price_list {
    std::string source{};                           ///< how errors call it
    std::map<std::string, std::int64_t> gpu_hour{}; ///< by name of a model, short or in full; 1 / price_units
    std::optional<std::int64_t> kwh{};              ///< 1 / price_units; absent: energy has no price
    std::string currency{};                         ///< as "EUR"
};

/// Reads {"gpu_hour": {"A100-80GB": 2.10, "T4": 0.30}, "kwh": 0.25, "currency": "EUR"}, of which kwh may be missing.
/// `name` is how errors call the text. Errors name the member and its value: malformed, missing, out_of_range,
/// unknown_name for members that are not known.
[[nodiscard]] expected<price_list> read_prices(std::string_view text, const std::string& name);

/// The GPUs of one model and what one of them costs and draws.
struct model_cost {
    std::string name{};
    std::int64_t gpus = 0;
    three_parts parts{}; ///< in tenths of a GPU, as tables have them: what its cost is counted of; milli-GPU
    std::int64_t busy_at_most = 0;
    std::int64_t hour_micro = 0;         ///< millionths of the currency for a GPU and an hour
    std::optional<std::int64_t> watts{}; ///< of all of them, at most; absent: the catalog does not know
};

/// Of one day. Amounts of money are millionths of the currency; used, free and out of service add up to the total.
struct daily_cost {
    std::string currency{};
    three_parts parts_micro{};
    std::int64_t total_micro = 0;
    std::int64_t energy_wh = 0;                 ///< at most, of the GPUs whose watts are known
    std::optional<std::int64_t> energy_micro{}; ///< absent: energy has no price
    std::vector<model_cost> models{};           ///< by name
};

/// A GPU costs the same whether it is used or not. Parts of GPUs are counted to the tenth, as tables print them, so
/// that price x GPUs x 24 of what is printed is the cost that is printed. The energy is that of energy_of(). Errors:
/// unknown_name for a model without a price, with the names that are spelt nearly so; out_of_range for more GPUs than
/// sums have room for.
[[nodiscard]] expected<daily_cost> cost_of(std::span<const model_use> models, const price_list& prices,
                                           const vgpualloc::power_catalog& power);

/// "EUR A DAY  used 968.40 + free 471.60 + out 201.60 = 1641.60; energy at most 241.1 kWh, 60.28", with a line end.
/// The parts add up to the total as they are printed.
[[nodiscard]] std::string cost_line(const daily_cost& cost);
[[nodiscard]] document cost_json(const daily_cost& cost);

} // namespace vgpuops::show
