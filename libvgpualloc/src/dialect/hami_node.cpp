// The hami dialect: the registration of a node's GPUs.
#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "../catalog/json_reader.hpp"
#include "hami_annotation.hpp"
#include "hami_parts.hpp"
#include "text.hpp"

namespace vgpualloc::dialect::hami {

namespace {

using detail::json_reader;
using hami_text::amount_max;
using nlohmann::json;

constexpr const char* register_key = "hami.io/node-nvidia-register";
constexpr const char* cordon_key = "hami.io/device-cordon";
constexpr detail::number_range any_amount{0, amount_max};
constexpr detail::number_range some_amount{1, amount_max};

struct mode_spelling {
    std::string_view written;
    std::string_view mode;
};
/// The first spelling of a mode is the one to write.
constexpr std::array<mode_spelling, 4> mode_spellings{{{.written = "hami-core", .mode = "hami_core"},
                                                       {.written = "", .mode = "hami_core"},
                                                       {.written = "mig", .mode = "mig"},
                                                       {.written = "mps", .mode = "mps"}}};

/// A GPU, and where it is among those that the node counts.
struct registered {
    device_registration device;
    std::int64_t index = 0;
};

error bad_field(const std::string& where, const char* field, std::string_view value, std::string expected_text) {
    return {.code = error_code::malformed,
            .where = where,
            .field = field,
            .value = std::string{value},
            .expected = std::move(expected_text)};
}

expected<registered> finished(device_registration made, std::int64_t index, const std::string& where,
                              std::string_view mode) {
    const auto spelled = std::ranges::find(mode_spellings, mode, &mode_spelling::written);
    if (spelled == mode_spellings.end()) {
        return unexpected(error{.code = error_code::unknown_name,
                                .where = where,
                                .field = "mode",
                                .value = std::string{mode},
                                .expected = "hami-core, mig or mps"});
    }
    if (made.uuid.empty() || made.uuid.find_first_of(hami_text::separators) != std::string::npos) {
        return unexpected(bad_field(where, "id", made.uuid, "an id without separators"));
    }
    made.mode = spelled->mode;
    made.family = family;
    return registered{.device = std::move(made), .index = index};
}

/// An entry of the JSON list. Fields are left out where they are 0, false or empty (Go's omitempty); without an index
/// it is the `position` that counts.
expected<registered> read_entry(const json& entry, std::int64_t position, const std::string& where) {
    std::optional<error> failure;
    const json_reader gpu{entry, where, failure};
    device_registration made;
    made.uuid = gpu.at("id").filled_text();
    made.slots = gpu.maybe_integer("count", any_amount).value_or(0);
    made.memory = mib{gpu.at("devmem").integer(some_amount)};
    made.cores = core_percent{gpu.at("devcore").integer(some_amount)};
    made.model = gpu.maybe_text("type");
    made.healthy = gpu.has("health") && gpu.at("health").flag();
    const std::string mode = gpu.maybe_text("mode");
    const std::int64_t index = gpu.maybe_integer("index", any_amount).value_or(position);
    if (failure) return unexpected(*std::move(failure));
    return finished(std::move(made), index, where, mode);
}

/// A piece of the older text: uuid,count,memory,cores,type,numa,health[,index,mode].
expected<registered> read_text(std::string_view piece, std::int64_t position, const std::string& where) {
    const auto fields = text::split(piece, ',');
    if (fields.size() < 7) {
        return unexpected(bad_field(where, "", piece, "uuid,count,memory,cores,type,numa,health[,index,mode]"));
    }
    const auto count = text::whole_number(fields[1], amount_max);
    if (!count) return unexpected(bad_field(where, "count", fields[1], "a whole number"));
    const auto memory = text::whole_number(fields[2], amount_max);
    if (memory.value_or(0) == 0) return unexpected(bad_field(where, "memory", fields[2], "a whole number above 0"));
    const auto cores = text::whole_number(fields[3], amount_max);
    if (cores.value_or(0) == 0) return unexpected(bad_field(where, "cores", fields[3], "a whole number above 0"));
    const auto health = text::truth(fields[6]);
    if (!health) return unexpected(bad_field(where, "health", fields[6], "true or false"));
    device_registration made;
    made.uuid = fields[0];
    made.slots = *count;
    made.memory = mib{*memory};
    made.cores = core_percent{*cores};
    made.model = fields[4];
    made.healthy = *health;
    return finished(std::move(made), position, where, fields.size() > 8 ? fields[8] : std::string_view{});
}

std::vector<expected<registered>> read_list(std::string_view annotation, const std::string& where) {
    std::vector<expected<registered>> list;
    const auto position = [&list] { return static_cast<std::int64_t>(list.size()); };
    const auto place_of = [&where, &list] { return where + "[" + std::to_string(list.size()) + "]"; };
    if (!text::trimmed(annotation).starts_with('[')) {
        for (const std::string_view piece : text::split_closed(annotation, ':')) {
            list.push_back(read_text(piece, position(), place_of()));
        }
        return list;
    }
    const auto parsed = detail::parse_json(annotation, where);
    if (!parsed) return {unexpected(parsed.error())};
    for (const json& each : *parsed) list.push_back(read_entry(each, position(), place_of()));
    return list;
}

} // namespace

node_reading read_node(const kubernetes::node& of, const options& /*with*/) {
    node_reading result;
    const auto found = of.annotations.find(register_key);
    if (found == of.annotations.end()) return result;
    const std::string where = hami_text::place(of, "annotation", register_key);
    const auto cordoned = text::items(kubernetes::value_of(of.annotations, cordon_key));
    std::set<std::string> ids;
    for (auto& each : read_list(found->second, where)) {
        if (!each) {
            result.problems.push_back(std::move(each).error());
        } else if (!ids.insert(each->device.uuid).second) {
            result.problems.push_back({.code = error_code::duplicate,
                                       .where = where,
                                       .field = "id",
                                       .value = each->device.uuid,
                                       .expected = "an id that no GPU before it has"});
        } else {
            if (std::ranges::find(cordoned, each->device.uuid) != cordoned.end()) each->device.healthy = false;
            result.indices.push_back(each->index);
            result.devices.push_back(std::move(each->device));
        }
    }
    return result;
}

void write_node(std::span<const device_registration> devices, const options& with, kubernetes::node& to) {
    auto list = nlohmann::ordered_json::array();
    std::int64_t ids = 0;
    for (const device_registration& each : devices) {
        const auto spelled = std::ranges::find(mode_spellings, each.mode, &mode_spelling::mode);
        if (each.family != family || spelled == mode_spellings.end()) continue;
        nlohmann::ordered_json entry{{"id", each.uuid}};
        if (!list.empty()) entry["index"] = list.size();
        entry["count"] = each.slots;
        entry["devmem"] = each.memory.count();
        entry["devcore"] = each.cores.count();
        entry["type"] = each.model;
        entry["mode"] = spelled->written;
        entry["health"] = each.healthy;
        list.push_back(std::move(entry));
        ids += each.slots;
    }
    if (list.empty()) return;
    to.annotations[register_key] = list.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    to.allocatable[with.count_name] = std::to_string(ids);
    to.capacity[with.count_name] = std::to_string(ids);
}

} // namespace vgpualloc::dialect::hami
