#include "vgpusim/workload/prices.hpp"

#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "vgpualloc/mode/all.hpp"
#include "vgpuformats/cursor.hpp"
#include "vgpuformats/json.hpp"

namespace vgpusim {

using vgpualloc::core_percent;
using vgpualloc::device_request;
using vgpualloc::learned_prices;
using vgpualloc::mib;
using vgpualloc::price_table;
using vgpualloc::slot_price;
using vgpualloc::worthy_part;
using vgpuformats::cursor;

namespace {

constexpr double per_unit = 1000.0; // worths are whole thousandths
constexpr double worth_max = 1e5;   // an idle device has 1,000 milli
constexpr std::int64_t amount_max = 1'000'000'000'000;
constexpr std::size_t devices_max = 10'000;
constexpr std::size_t parts_max = 10'000;
constexpr std::size_t slots_max = 10'000;
constexpr std::size_t names_max = 1000;
constexpr std::int64_t devices_max_of_pod = 1024;

std::int64_t read_worth(const cursor& from) { return std::llround(from.real(0.0, worth_max) * per_unit); }

document worth_of(std::int64_t thousandths) { return static_cast<double>(thousandths) / per_unit; }

using names_of_request = std::vector<std::string> device_request::*;
constexpr std::array<std::pair<const char*, names_of_request>, 3> name_lists{
    {{"models", &device_request::models},
     {"types_allowed", &device_request::types_allowed},
     {"types_denied", &device_request::types_denied}}};

device_request read_request(const cursor& from) {
    from.only({"memory_mib", "memory_percent", "compute", "profile", "mode", "soft", "high_level", "dvpp", "pair",
               "family", "models", "types_allowed", "types_denied"});
    device_request request{.count = 1, .memory = {}, .cores = {}};
    request.memory = mib{from.maybe_integer("memory_mib", {0, amount_max}).value_or(0)};
    request.memory_percent = from.maybe_integer("memory_percent", {0, 100});
    request.cores = core_percent{from.maybe_integer("compute", {0, amount_max}).value_or(0)};
    request.profile = from.maybe_text("profile");
    request.mode = from.maybe_text("mode");
    request.soft = from.has("soft") && from.at("soft").flag();
    request.high_level = from.has("high_level") && from.at("high_level").flag();
    request.pair = from.has("pair") && from.at("pair").flag();
    request.family = from.maybe_text("family");
    for (const auto& [key, list] : name_lists) {
        if (!from.has(key)) continue;
        for (const cursor& name : from.at(key).items(0, names_max)) (request.*list).push_back(name.filled_text());
    }
    if (from.has("dvpp")) {
        request.dvpp = from.at("dvpp").flag() ? vgpualloc::dvpp_use::yes : vgpualloc::dvpp_use::no;
    }
    return request;
}

/// Of one device; what says nothing is left out.
document request_of(const device_request& request) {
    document result = document::map();
    if (request.memory > mib{0}) result["memory_mib"] = request.memory.count();
    if (request.memory_percent) result["memory_percent"] = *request.memory_percent;
    if (request.cores > core_percent{0}) result["compute"] = request.cores.count();
    if (!request.profile.empty()) result["profile"] = request.profile;
    if (!request.mode.empty()) result["mode"] = request.mode;
    if (request.soft) result["soft"] = true;
    if (request.high_level) result["high_level"] = true;
    if (request.dvpp != vgpualloc::dvpp_use::unstated) result["dvpp"] = request.dvpp == vgpualloc::dvpp_use::yes;
    if (request.pair) result["pair"] = true;
    if (!request.family.empty()) result["family"] = request.family;
    for (const auto& [key, list] : name_lists) {
        if ((request.*list).empty()) continue;
        document names = document::list();
        for (const std::string& name : request.*list) names.push_back(name);
        result[key] = std::move(names);
    }
    return result;
}

price_table::device_prices read_device(const cursor& from) {
    from.only({"model", "mode", "memory_mib", "compute", "idle", "premium", "parts"});
    price_table::device_prices prices{.model = from.at("model").text(),
                                      .mode = from.at("mode").filled_text(),
                                      .memory = mib{from.at("memory_mib").integer({0, amount_max})},
                                      .cores = core_percent{from.at("compute").integer({0, amount_max})},
                                      .idle = read_worth(from.at("idle")),
                                      .premium = std::llround(from.at("premium").real(0.0, 1.0) * per_unit)};
    if (const auto mode = vgpualloc::find_mode(prices.mode); !mode) {
        from.at("mode").fail(mode.error().code, mode.error().expected);
    }
    for (const cursor& part : from.at("parts").items(0, parts_max)) {
        part.only({"worth", "request"});
        prices.parts.push_back({.request = read_request(part.at("request")), .worth = read_worth(part.at("worth"))});
    }
    return prices;
}

slot_price read_slot(const cursor& from) {
    from.only({"request", "devices", "milli_gpu", "cpu_milli", "share", "price_gpu", "stock"});
    return {.of = {.request = read_request(from.at("request")),
                   .devices = from.at("devices").integer({1, devices_max_of_pod}),
                   .milli = from.at("milli_gpu").integer({0, amount_max}),
                   .cpu = from.at("cpu_milli").integer({0, amount_max}),
                   .share = from.at("share").real(0.0, 1.0)},
            .price = from.at("price_gpu").real(0.0, worth_max),
            .stock = from.at("stock").integer({0, amount_max})};
}

document slot_of(const slot_price& slot) {
    document entry = document::map();
    entry["request"] = request_of(slot.of.request);
    entry["devices"] = slot.of.devices;
    entry["milli_gpu"] = slot.of.milli;
    entry["cpu_milli"] = slot.of.cpu;
    entry["share"] = slot.of.share;
    entry["price_gpu"] = slot.price;
    entry["stock"] = slot.stock;
    return entry;
}

} // namespace

expected<learned_prices> read_prices(std::string_view text, const std::string& name) {
    const auto value = vgpuformats::parse_json(text, name);
    if (!value) return unexpected(value.error());
    std::optional<error> failure;
    const cursor from{*value, name, failure, vgpuformats::place_style::line};
    from.only({"cpu_milli_per_gpu", "models_named", "cpu_scarce", "devices", "turnover", "slots"});
    learned_prices result;
    price_table& prices = result.rests;
    prices.cpu_per_gpu = from.at("cpu_milli_per_gpu").integer({0, amount_max});
    prices.models_named = !from.has("models_named") || from.at("models_named").flag();
    prices.cpu_scarce = from.has("cpu_scarce") && from.at("cpu_scarce").flag();
    std::set<std::tuple<std::string, std::string, mib, core_percent>> kinds;
    for (const cursor& device : from.at("devices").items(0, devices_max)) {
        const auto& of_kind = prices.devices.emplace_back(read_device(device));
        if (!kinds.emplace(of_kind.model, of_kind.mode, of_kind.memory, of_kind.cores).second) {
            device.at("model").fail(error_code::duplicate,
                                    "every kind of device (model, mode, memory_mib and compute) once");
        }
    }
    if (from.has("turnover")) result.turnover = from.at("turnover").real(0.0, 1.0);
    if (from.has("slots")) {
        for (const cursor& slot : from.at("slots").items(0, slots_max)) result.slots.push_back(read_slot(slot));
    }
    if (failure) return unexpected(*std::move(failure));
    return result;
}

std::string write_prices(const learned_prices& learned) {
    const price_table& prices = learned.rests;
    document result = document::map();
    result["cpu_milli_per_gpu"] = prices.cpu_per_gpu;
    result["models_named"] = prices.models_named;
    result["cpu_scarce"] = prices.cpu_scarce;
    document devices = document::list();
    for (const price_table::device_prices& device : prices.devices) {
        document parts = document::list();
        for (const worthy_part& part : device.parts) {
            document entry = document::map();
            entry["worth"] = worth_of(part.worth);
            entry["request"] = request_of(part.request);
            parts.push_back(std::move(entry));
        }
        document entry = document::map();
        entry["model"] = device.model;
        entry["mode"] = device.mode;
        entry["memory_mib"] = device.memory.count();
        entry["compute"] = device.cores.count();
        entry["idle"] = worth_of(device.idle);
        entry["premium"] = worth_of(device.premium);
        entry["parts"] = std::move(parts);
        devices.push_back(std::move(entry));
    }
    result["devices"] = std::move(devices);
    if (!learned.slots.empty()) {
        result["turnover"] = learned.turnover;
        document slots = document::list();
        for (const slot_price& slot : learned.slots) slots.push_back(slot_of(slot));
        result["slots"] = std::move(slots);
    }
    return vgpuformats::print_json(result, 2) + "\n";
}

} // namespace vgpusim
