// Prices of GPUs and of energy.
#include "vgpuops/show/prices.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "near_names.hpp"
#include "overview_tables.hpp"
#include "vgpualloc/metrics/round_to_total.hpp"
#include "vgpuformats/cursor.hpp"
#include "vgpuformats/json.hpp"
#include "vgpuformats/some_names.hpp"
#include "vgpuops/show/names.hpp"

namespace vgpuops::show {

namespace {

using vgpuformats::cursor;

constexpr std::int64_t hours_a_day = 24;
constexpr std::int64_t micro = 1'000'000;
constexpr std::int64_t micro_of_a_unit = micro / price_units;
constexpr double gpu_hour_max = 100'000;
constexpr double kwh_max = 10'000;
constexpr std::int64_t priced_gpus_max = 300'000; ///< at gpu_hour_max their sum has 63 bits

/// A price in 1 / price_units.
std::int64_t price_at(const cursor& value, double price_max) {
    const double price = value.real(0, price_max);
    const double units = std::round(price * static_cast<double>(price_units));
    constexpr double slack = 1e-6; // of a number that decimal digits spelled
    if (std::abs(price * static_cast<double>(price_units) - units) > slack) {
        value.fail(error_code::malformed, "a price with at most four decimals");
    }
    return static_cast<std::int64_t>(units);
}

/// A model's price by its full name, else by its short one.
const std::int64_t* price_for(const model_use& model, const std::string& short_name, const price_list& prices) {
    for (const std::string* const name : {&model.model, &model.name, &short_name}) {
        const auto entry = prices.gpu_hour.find(*name);
        if (entry != prices.gpu_hour.end()) return &entry->second;
    }
    return nullptr;
}

/// Names of the list that no model of the cluster has.
std::vector<std::string> unused_names(std::span<const model_use> models, const price_list& prices) {
    std::set<std::string> used_names;
    for (const model_use& model : models) used_names.insert({model.model, model.name, short_model(model.model)});
    std::vector<std::string> names;
    for (const auto& [name, price] : prices.gpu_hour) {
        if (!used_names.contains(name)) names.push_back(name);
    }
    return names;
}

error no_price(const model_use& model, std::span<const model_use> models, const price_list& prices) {
    constexpr std::size_t names_max = 3;
    const auto near = near_names(model.name, unused_names(models, prices), names_max);
    const std::string more = near.empty() ? std::string{} : "; near: " + vgpuformats::joined(near);
    return bad_input(error_code::unknown_name, "gpu_hour",
                     fmt::format("no price for {} ({})", model.name, several(model.gpus, "GPU")),
                     fmt::format("a number for \"{}\", 0 if it costs nothing{}", model.name, more))
        .at(prices.source);
}

std::optional<std::int64_t> watts_of(const model_use& model, const vgpualloc::power_catalog& power) {
    const vgpualloc::device_power* const board = find_power(power, model.model);
    if (board == nullptr || !board->is_known()) return std::nullopt;
    return model.busy_at_most * *board->busy_w + (model.gpus - model.busy_at_most) * *board->idle_w;
}

/// Millionths of the currency for an energy, at a price of a kWh in 1 / price_units.
std::int64_t energy_cost(std::int64_t energy_wh, std::int64_t price) {
    constexpr std::int64_t wh_per_kwh = 1000;
    constexpr std::int64_t part_of_micro = wh_per_kwh / micro_of_a_unit;
    const std::int64_t of_rest = rounded(energy_wh % wh_per_kwh * price, part_of_micro) / part_of_micro;
    return energy_wh / wh_per_kwh * price * micro_of_a_unit + of_rest;
}

/// Amounts in micro-units to multiples of `step` that add up to the nearest one of their sum.
three_parts rounded_parts(const three_parts& parts, std::int64_t step) {
    const std::int64_t total = std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
    three_parts result{};
    vgpualloc::round_to_total(std::span<const std::int64_t>{parts}, step, rounded(total, step), result);
    return result;
}

/// "968.40".
std::string money(std::int64_t amount_micro) {
    constexpr std::int64_t cent = micro / 100;
    const std::int64_t cents = rounded(amount_micro, cent) / cent;
    return fmt::format("{}.{:02}", cents / 100, cents % 100);
}

} // namespace

daily_energy energy_of(std::span<const model_use> models, const vgpualloc::power_catalog& power) {
    daily_energy result;
    for (const model_use& model : models) {
        const auto watts = watts_of(model, power);
        result.wh += watts.value_or(0) * hours_a_day;
        if (!watts) result.no_watts.emplace_back(model.name, model.gpus);
    }
    return result;
}

namespace {

std::string without_watts(const daily_energy& energy) {
    std::string words;
    for (const auto& [model, gpu_count] : energy.no_watts) {
        words += fmt::format("{}{} {}", words.empty() ? "" : ", ", gpu_count, printable(model));
    }
    return words;
}

std::string without_line(const std::string& gpus) {
    return gpus.empty() ? gpus : fmt::format("without the energy of {}, whose watts the catalog does not have", gpus);
}

} // namespace

std::string without_energy_line(const daily_energy& energy) { return without_line(without_watts(energy)); }

std::string without_energy_line(const daily_energy& before, const daily_energy& after) {
    const std::string gpus_before = without_watts(before);
    const std::string gpus_after = without_watts(after);
    if (gpus_before == gpus_after) return without_line(gpus_before);
    const auto words = [](const std::string& gpus) { return gpus.empty() ? std::string{"none"} : gpus; };
    return without_line(fmt::format("{} before and {} after", words(gpus_before), words(gpus_after)));
}

expected<price_list> read_prices(std::string_view text, const std::string& name) {
    const auto file = vgpuformats::parse_json(text, name);
    if (!file) return unexpected(file.error());
    std::optional<error> failure;
    const cursor root{*file, name, failure, vgpuformats::place_style::line};
    root.only({"gpu_hour", "kwh", "currency"});
    price_list result{.source = name};
    for (const auto& [model, price] : root.at("gpu_hour").entries())
        result.gpu_hour.emplace(model, price_at(price, gpu_hour_max));
    if (root.has("kwh")) result.kwh = price_at(root.at("kwh"), kwh_max);
    result.currency = root.at("currency").filled_text();
    constexpr std::size_t currency_max = 12; // bytes
    if (result.currency.size() > currency_max) {
        root.at("currency").fail(error_code::out_of_range, "a short name, as EUR");
    }
    if (failure) return unexpected(*std::move(failure));
    return result;
}

expected<daily_cost> cost_of(std::span<const model_use> models, const price_list& prices,
                             const vgpualloc::power_catalog& power) {
    daily_cost result{.currency = prices.currency};
    std::vector<three_parts> rows;
    for (const model_use& model : models) rows.push_back(model.parts);
    const rounded_rows tenths = round_rows(rows, tenth);
    three_parts sums{}; // milli-GPU times price units
    std::int64_t gpu_count = 0;
    for (std::size_t m = 0; m < models.size(); ++m) {
        const model_use& model = models[m];
        const three_parts& parts = tenths.rows[m];
        const std::int64_t* const price = price_for(model, short_model(model.model), prices);
        if (price == nullptr) return unexpected(no_price(model, models, prices));
        gpu_count += model.gpus;
        if (gpu_count > priced_gpus_max) {
            return unexpected(bad_input(error_code::out_of_range, "gpu_hour", "more GPUs than sums have room for",
                                        fmt::format("at most {}; -l chooses nodes", priced_gpus_max))
                                  .at(prices.source));
        }
        for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += parts[i] * *price * hours_a_day;
        result.models.push_back({.name = model.name,
                                 .gpus = model.gpus,
                                 .parts = parts,
                                 .busy_at_most = model.busy_at_most,
                                 .hour_micro = *price * micro_of_a_unit,
                                 .watts = watts_of(model, power)});
    }
    result.energy_wh = energy_of(models, power).wh;
    constexpr std::int64_t of_a_micro = vgpualloc::whole_gpu.count() / micro_of_a_unit;
    result.parts_micro = rounded_parts(sums, of_a_micro);
    for (std::int64_t& part : result.parts_micro) part /= of_a_micro;
    result.total_micro = std::accumulate(result.parts_micro.begin(), result.parts_micro.end(), std::int64_t{0});
    if (prices.kwh) result.energy_micro = energy_cost(result.energy_wh, *prices.kwh);
    return result;
}

std::string cost_line(const daily_cost& cost) {
    constexpr std::int64_t cent = micro / 100;
    const three_parts parts = rounded_parts(cost.parts_micro, cent);
    constexpr std::int64_t tenth_of_kwh = 100; // Wh
    const std::int64_t tenths = rounded(cost.energy_wh, tenth_of_kwh) / tenth_of_kwh;
    std::string line = fmt::format("{} A DAY  used {} + free {} + out {} = {}; energy at most {}.{} kWh", cost.currency,
                                   money(parts[0]), money(parts[1]), money(parts[2]), money(cost.total_micro),
                                   tenths / 10, tenths % 10);
    if (cost.energy_micro) line += ", " + money(*cost.energy_micro);
    daily_energy energy;
    for (const model_cost& model : cost.models) {
        if (!model.watts) energy.no_watts.emplace_back(model.name, model.gpus);
    }
    if (const std::string without = without_energy_line(energy); !without.empty()) line += "\n" + without;
    return line + "\n";
}

document cost_json(const daily_cost& cost) {
    document models = document::list();
    for (const model_cost& model : cost.models) {
        models.push_back(document::map({{"model", model.name},
                                        {"gpus", model.gpus},
                                        {"used", model.parts[0]},
                                        {"free", model.parts[1]},
                                        {"out", model.parts[2]},
                                        {"busy_at_most", model.busy_at_most},
                                        {"hour_micro", model.hour_micro},
                                        {"watts_at_most", model.watts ? document{*model.watts} : document{}}}));
    }
    return document::map({{"currency", cost.currency},
                          {"used_micro", cost.parts_micro[0]},
                          {"free_micro", cost.parts_micro[1]},
                          {"out_micro", cost.parts_micro[2]},
                          {"total_micro", cost.total_micro},
                          {"energy_at_most_wh", cost.energy_wh},
                          {"energy_at_most_micro", cost.energy_micro ? document{*cost.energy_micro} : document{}},
                          {"models", std::move(models)}});
}

} // namespace vgpuops::show
