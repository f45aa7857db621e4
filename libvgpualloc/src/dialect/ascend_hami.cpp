// The ascend_hami dialect: nodes and requests.
#include "vgpualloc/dialect/ascend_hami.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "../catalog/json_reader.hpp"
#include "ascend_hami_parts.hpp"
#include "hami_annotation.hpp"
#include "text.hpp"

namespace vgpualloc::dialect::ascend_hami {

namespace {

using detail::json_reader;
using nlohmann::json;

constexpr const char* soft_annotation = "hami-vnpu-core";
constexpr detail::number_range any_amount{0, hami_text::amount_max};

struct registered {
    std::int64_t index = 0;
    device_registration device;
};

/// One entry of the list. Its fields are left out where they are 0, false or empty (Go's omitempty).
std::optional<registered> read_card(const json& entry, const std::string& where, const kind& of, error& problem) {
    std::optional<error> failure;
    const json_reader card{entry, where, failure};
    registered made;
    made.device.uuid = card.at("id").filled_text();
    made.index = card.maybe_integer("index", any_amount).value_or(0);
    made.device.slots = card.maybe_integer("count", any_amount).value_or(0);
    made.device.memory = mib{card.at("devmem").integer({1, hami_text::amount_max})};
    made.device.cores = core_percent{card.at("devcore").integer({1, hami_text::amount_max})};
    made.device.model = card.maybe_text("type");
    made.device.healthy = card.has("health") && card.at("health").flag();
    if (card.has("custominfo") && card.at("custominfo").has("NetworkID")) {
        made.device.link_group = static_cast<std::int32_t>(
            card.at("custominfo").at("NetworkID").integer({0, std::numeric_limits<std::int32_t>::max()}));
    }
    if (made.device.uuid.find_first_of(hami_text::separators) != std::string::npos) {
        card.at("id").fail(error_code::malformed, "an id without separators");
    }
    if (failure) {
        problem = *std::move(failure);
        return std::nullopt;
    }
    made.device.family = of.npu.name;
    made.device.mode = mode_name;
    made.device.npu = of.npu;
    return made;
}

/// The dies of a module are a link group of their own, and none is given out without the other. All cards of the node
/// say the same NetworkID, so that nothing is lost.
void pair_up(std::vector<registered>& cards) {
    for (registered& each : cards) each.device.link_group = static_cast<std::int32_t>(each.index / 2);
    std::vector<bool> complete;
    complete.reserve(cards.size());
    for (const registered& each : cards) {
        complete.push_back(std::ranges::any_of(cards, [&each](const registered& other) {
            return other.index == (each.index ^ 1) && other.device.healthy;
        }));
    }
    for (std::size_t i = 0; i < cards.size(); ++i) cards[i].device.healthy = cards[i].device.healthy && complete[i];
}

/// The node's own word beats the configuration; any text but "true" is no.
bool soft_node(const kubernetes::node& of, const options& with) {
    const auto found = of.annotations.find(soft_annotation);
    return found == of.annotations.end() ? with.soft_by_default : found->second == "true";
}

void read_kind(const kubernetes::node& of, const kind& which, bool soft, node_reading& into) {
    const std::string key = register_key(which);
    const auto found = of.annotations.find(key);
    if (found == of.annotations.end()) return;
    const std::string where = hami_text::place(of, "annotation", key);
    const auto list = detail::parse_json(found->second, where);
    if (!list || !list->is_array()) {
        into.problems.push_back(list ? error{.code = error_code::malformed,
                                             .where = where,
                                             .field = "",
                                             .value = "",
                                             .expected = "a JSON list of devices"}
                                     : list.error());
        return;
    }
    std::vector<registered> cards;
    std::set<std::string> ids;
    for (std::size_t i = 0; i < list->size(); ++i) {
        error problem;
        auto card = read_card((*list)[i], where + "[" + std::to_string(i) + "]", which, problem);
        if (card && !ids.insert(card->device.uuid).second) {
            problem = {.code = error_code::duplicate,
                       .where = where + "[" + std::to_string(i) + "]",
                       .field = "id",
                       .value = card->device.uuid,
                       .expected = "an id that no device before it has"};
            card.reset();
        }
        if (!card) {
            into.problems.push_back(std::move(problem));
            continue;
        }
        card->device.soft = soft;
        cards.push_back(*std::move(card));
    }
    std::ranges::stable_sort(cards, {}, &registered::index);
    if (which.super_pod) pair_up(cards);
    for (registered& each : cards) {
        into.indices.push_back(each.index);
        into.devices.push_back(std::move(each.device));
    }
}

} // namespace

node_reading read_node(const kubernetes::node& of, const options& with) {
    node_reading result;
    const bool soft = soft_node(of, with);
    for (const kind& each : with.kinds) {
        const auto offered = of.allocatable.find(resource_of(each));
        if (offered == of.allocatable.end()) continue;
        const auto amount = text::quantity(offered->second);
        if (!amount) {
            result.problems.push_back({.code = error_code::malformed,
                                       .where = hami_text::place(of, "allocatable", offered->first),
                                       .field = "",
                                       .value = offered->second,
                                       .expected = "a quantity"});
        } else if (*amount > 0) {
            read_kind(of, each, soft, result);
        }
    }
    return result;
}

void write_node(std::span<const device_registration> devices, const options& with, kubernetes::node& to) {
    for (const kind& each : with.kinds) {
        auto list = nlohmann::ordered_json::array();
        std::int64_t ids = 0;
        bool soft = false;
        for (const device_registration& device : devices) {
            if (device.family != each.npu.name || device.mode != mode_name) continue;
            nlohmann::ordered_json entry{{"id", device.uuid}};
            if (!list.empty()) entry["index"] = list.size();
            entry["count"] = device.slots;
            entry["devmem"] = device.memory.count();
            entry["devcore"] = device.cores.count();
            entry["type"] = device.model;
            entry["health"] = device.healthy;
            if (each.super_pod) {
                entry["custominfo"] = {{"NetworkID", 0}}; // ascend-device-plugin: the same for all of them
            } else if (device.link_group != no_link_group) {
                entry["custominfo"] = {{"NetworkID", device.link_group}};
            }
            list.push_back(std::move(entry));
            ids += device.slots;
            soft = soft || device.soft;
        }
        if (list.empty()) continue;
        using handler = nlohmann::ordered_json::error_handler_t;
        to.annotations[register_key(each)] = list.dump(-1, ' ', false, handler::replace);
        if (soft != with.soft_by_default) to.annotations[soft_annotation] = soft ? "true" : "false";
        to.allocatable[resource_of(each)] = std::to_string(ids);
        to.capacity[resource_of(each)] = std::to_string(ids);
    }
}

bool requests(const kubernetes::pod& of, const options& with) {
    return std::ranges::any_of(with.kinds, [&of](const kind& each) {
        return std::ranges::any_of(of.containers, [&each](const kubernetes::container& in) {
            return in.limits.contains(resource_of(each)) || in.limits.contains(memory_resource_of(each));
        });
    });
}

bool soft_pod(const kubernetes::pod& of) {
    return kubernetes::value_of(of.annotations, "huawei.com/vnpu-mode") == "hami-core";
}

namespace {

/// How many cards a container that names `written` of them gets.
expected<std::int64_t> count_of(const kubernetes::pod& of, const kubernetes::container& in, const kind& which,
                                std::int64_t written) {
    if (!which.super_pod || written % 2 == 0) return written;
    if (written == 1) return 2;
    return unexpected(error{.code = error_code::out_of_range,
                            .where = hami_text::place(of, "container", in.name),
                            .field = resource_of(which),
                            .value = std::to_string(written),
                            .expected = "1, which is 2, or an even number: " + which.npu.name + " comes in pairs"});
}

} // namespace

expected<std::optional<device_request>> read_container(const kubernetes::pod& of, const kubernetes::container& in,
                                                       const kind& which, const options& with) {
    const bool counted = in.limits.contains(resource_of(which));
    if (!counted && !in.limits.contains(memory_resource_of(which))) return std::nullopt;
    const auto count = hami_text::amount(of, in, resource_of(which));
    if (!count) return unexpected(count.error());
    const auto memory = hami_text::amount(of, in, memory_resource_of(which));
    if (!memory) return unexpected(memory.error());
    const auto cores = hami_text::amount(of, in, core_resource_of(which));
    if (!cores) return unexpected(cores.error());
    if (counted && *count == 0) return std::nullopt;
    const auto cards = count_of(of, in, which, counted ? **count : 1);
    if (!cards) return unexpected(cards.error());
    device_request asked;
    asked.count = *cards;
    asked.memory = mib{memory->value_or(0) * which.memory_factor};
    asked.cores = core_percent{cores->value_or(0)};
    asked.family = which.npu.name;
    asked.mode = mode_name;
    asked.soft = soft_pod(of);
    asked.memory_of_first = asked.soft && with.memory_of_first;
    if (with.uuid_lists) {
        const std::string word = which.npu.name + "-uuid";
        asked.uuids_allowed = text::items(kubernetes::value_of(of.annotations, "hami.io/use-" + word));
        asked.uuids_denied = text::items(kubernetes::value_of(of.annotations, "hami.io/no-use-" + word));
    }
    return asked;
}

expected<pod_request> read_pod(const kubernetes::pod& of, const options& with) {
    pod_request request;
    for (const kind& each : with.kinds) {
        for (const kubernetes::container& in : of.containers) {
            auto asked = read_container(of, in, each, with);
            if (!asked) return unexpected(std::move(asked).error());
            if (!*asked) continue;
            // The chips of a 910 board have fast links within their network only.
            if (each.super_pod || each.npu.name.starts_with("Ascend910")) request.one_link_group = true;
            request.containers.push_back(**std::move(asked));
        }
    }
    request.containers_apart = with.containers_apart && !request.containers.empty();
    return request;
}

} // namespace vgpualloc::dialect::ascend_hami
