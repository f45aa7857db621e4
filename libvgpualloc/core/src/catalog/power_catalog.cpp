// Catalog files of what boards draw, and looking a board up.
#include "vgpualloc/catalog/power.hpp"

#include <algorithm>
#include <utility>

#include "built_in.hpp"
#include "file_checks.hpp"
#include "matching.hpp"
#include "merging.hpp"
#include "mig_checks.hpp"

namespace vgpualloc {

namespace {

using vgpuformats::cursor;

constexpr vgpuformats::number_range watts{.least = 1, .most = 100'000};

device_power read_device_power(const cursor& item) {
    device_power result;
    result.name = item.at("key").filled_text();
    const cursor in = item.called("power '" + result.name + "'");
    in.only({"key", "card_types", "idle_w", "busy_w", "provenance"});
    result.card_types = in.maybe_texts("card_types");
    result.idle_w = in.maybe_integer("idle_w", watts);
    result.busy_w = in.maybe_integer("busy_w", watts);
    if (result.is_known() && *result.busy_w < *result.idle_w) {
        in.at("busy_w").fail(error_code::out_of_range, "no less than idle_w, " + std::to_string(*result.idle_w));
    }
    result.from = in.maybe_dictionary("provenance");
    detail::check_provenance(in, result.from, {"key", "card_types", "idle_w", "busy_w"});
    return result;
}

/// What keeps a board from standing beside the others of a catalog.
std::optional<detail::clash> clash_with(const std::vector<device_power>& others, const device_power& device) {
    for (const device_power& other : others) {
        if (other.name == device.name) return detail::clash{"key", device.name, "every board once"};
        const auto names = [](const device_power& board, const std::string& text) {
            return std::ranges::find(board.card_types, text) != board.card_types.end();
        };
        if (names(other, device.name)) {
            return detail::clash{"key", device.name, "a key of its own: it is a card type of " + other.name};
        }
        if (names(device, other.name)) {
            return detail::clash{"card_types", other.name,
                                 "card types of its own: '" + other.name + "' is the key of a board"};
        }
        if (const auto type = detail::common_text(device.card_types, other.card_types)) {
            return detail::clash{"card_types", *type, "card types of its own: '" + *type + "' is one of " + other.name};
        }
    }
    return std::nullopt;
}

} // namespace

expected<power_catalog> read_power_catalog(const vgpuformats::document& file, std::string_view name) {
    return detail::read_file<power_catalog>(file, name, [](const cursor& root, power_catalog& catalog) {
        for (const auto& item : root.at("power").items(1)) {
            device_power device = read_device_power(item);
            if (item.failed()) break;
            if (const auto clash = clash_with(catalog.devices, device)) {
                item.called("power '" + device.name + "'")
                    .at(clash->field)
                    .fail(error_code::duplicate, clash->expected);
            }
            catalog.devices.push_back(std::move(device));
        }
    });
}

const power_catalog& built_in_power_catalog() {
    static const power_catalog catalog =
        detail::well_formed(read_power_catalog(built_in::device_power(), "data/device-power.json"));
    return catalog;
}

expected<power_catalog> merge(const power_catalog& base, const power_catalog& more) {
    power_catalog result = base;
    for (const device_power& device : more.devices) {
        for (device_power& before : result.devices) {
            std::erase_if(before.card_types, [&device](const std::string& text) {
                return text == device.name || std::ranges::find(device.card_types, text) != device.card_types.end();
            });
        }
    }
    detail::put(result.devices, more.devices);
    std::vector<device_power> checked;
    for (const device_power& device : result.devices) {
        if (const auto clash = clash_with(checked, device)) {
            return unexpected(bad_value(error_code::duplicate, clash->field, clash->value, clash->expected)
                                  .at("power '" + device.name + "'"));
        }
        checked.push_back(device);
    }
    for (const auto& [code, meaning] : more.sources) result.sources.insert_or_assign(code, meaning);
    return result;
}

const device_power* find_power(const power_catalog& catalog, std::string_view model) {
    for (const device_power& device : catalog.devices) {
        if (device.name == model || std::ranges::find(device.card_types, model) != device.card_types.end()) {
            return &device;
        }
    }
    const auto [best, rival] = detail::longest_match(catalog.devices, model);
    return rival == nullptr ? best : nullptr;
}

} // namespace vgpualloc
