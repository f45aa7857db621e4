// The gpushare dialect.
#include "vgpualloc/dialect/gpushare.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "text.hpp"

namespace vgpualloc::dialect::gpushare {

namespace {

constexpr std::int64_t whole_percent = 100;

error out_of_range(const kubernetes::pod& of, const std::string& name, std::string value) {
    return {error_code::out_of_range, "pod " + of.ns + "/" + of.name, name, std::move(value),
            "whole numbers from 0, their sum below 2^63"};
}

/// The larger of the sum of the containers and of the largest init container.
expected<std::int64_t> amount_of(const kubernetes::pod& of, const std::string& name) {
    std::int64_t sum = 0;
    std::int64_t largest = 0;
    for (const auto* const list : {&of.containers, &of.init_containers}) {
        for (const kubernetes::container& each : *list) {
            const auto found = each.limits.find(name);
            if (found == each.limits.end()) continue;
            if (found->second < 0) return unexpected(out_of_range(of, name, std::to_string(found->second)));
            if (list == &of.init_containers) {
                largest = std::max(largest, found->second);
            } else if (__builtin_add_overflow(sum, found->second, &sum)) {
                return unexpected(out_of_range(of, name, std::to_string(found->second)));
            }
        }
    }
    return std::max(sum, largest);
}

void mark_unhealthy(const kubernetes::node& of, node_reading& made) {
    const auto listed = of.annotations.find(unhealthy_annotation);
    if (listed == of.annotations.end()) return;
    for (const std::string& item : text::items(listed->second)) {
        const auto position = text::whole_number(item, cards_max);
        if (position && static_cast<std::size_t>(*position) < made.devices.size()) {
            made.devices[static_cast<std::size_t>(*position)].healthy = false;
        } else {
            made.problems.push_back({error_code::malformed, "node " + of.name, unhealthy_annotation, item,
                                     "the position of a card, below " + std::to_string(made.devices.size())});
        }
    }
}

} // namespace

node_reading read_node(const kubernetes::node& of, const options& with) {
    node_reading made;
    if (!of.capacity.contains(with.memory_name) && !of.capacity.contains(with.number_name)) return made;
    const auto read = [&](const std::string& name, std::int64_t most) -> std::optional<std::int64_t> {
        const std::string& written = kubernetes::value_of(of.capacity, name);
        const auto amount = text::quantity(written);
        if (amount && *amount <= most) return amount;
        made.problems.push_back({error_code::malformed, "node " + of.name, "capacity " + name, written,
                                 "a quantity up to " + std::to_string(most)});
        return std::nullopt;
    };
    const auto memory = read(with.memory_name, std::numeric_limits<std::int64_t>::max());
    const auto number = read(with.number_name, cards_max);
    if (!memory || !number || *number == 0) return made;
    const mib each{*memory / *number};
    const bool too_small = each == mib{0};
    if (too_small) {
        made.problems.push_back({error_code::out_of_range, "node " + of.name, "capacity " + with.memory_name,
                                 std::to_string(*memory), "at least 1 for every card"});
    }
    for (std::int64_t i = 0; i < *number; ++i) {
        made.devices.push_back({.uuid = of.name + "/" + std::to_string(i),
                                .model = "",
                                .family = std::string{family},
                                .mode = "hami_core",
                                .memory = too_small ? mib{1} : each, // the ledger counts shares of it
                                .slots = slots,
                                .healthy = !too_small,
                                .geometry = {},
                                .npu = {}});
    }
    mark_unhealthy(of, made);
    return made;
}

void write_node(std::span<const device_registration> devices, const options& with, kubernetes::node& to) {
    mib each;
    std::string unhealthy;
    for (std::size_t i = 0; i < devices.size(); ++i) {
        each = i == 0 ? devices[i].memory : std::min(each, devices[i].memory);
        if (!devices[i].healthy) unhealthy += (unhealthy.empty() ? "" : ",") + std::to_string(i);
    }
    const auto number = static_cast<std::int64_t>(devices.size());
    for (auto* const offered : {&to.capacity, &to.allocatable}) {
        (*offered)[with.memory_name] = std::to_string(each.count() * number);
        (*offered)[with.number_name] = std::to_string(number);
    }
    to.annotations.erase(unhealthy_annotation);
    if (!unhealthy.empty()) to.annotations[unhealthy_annotation] = unhealthy;
}

bool requests(const kubernetes::pod& of, const options& with) {
    // An amount that cannot be read asks for something too: read_pod() says what is wrong with it.
    const auto asked = [&of](bool enabled, const std::string& name) {
        return enabled && amount_of(of, name).value_or(1) > 0;
    };
    return asked(with.memory_enabled, with.memory_name) || asked(with.number_enabled, with.number_name);
}

expected<pod_request> read_pod(const kubernetes::pod& of, const options& with) {
    if (with.memory_enabled && with.number_enabled) {
        return unexpected(error{error_code::unsupported, "gpushare", "", "",
                                "sharing by memory and by number cannot be enabled together"});
    }
    pod_request made;
    if (!with.memory_enabled && !with.number_enabled) return made;
    const auto amount = amount_of(of, with.memory_enabled ? with.memory_name : with.number_name);
    if (!amount) return unexpected(amount.error());
    if (*amount == 0) return made;
    device_request wanted;
    wanted.family = family;
    if (with.memory_enabled) {
        wanted.count = 1;
        wanted.memory = mib{*amount};
    } else {
        wanted.count = *amount;
        wanted.memory_percent = whole_percent;
        wanted.cores = whole_compute;
    }
    made.containers.push_back(std::move(wanted));
    return made;
}

assignment_reading read_assignment(const kubernetes::pod& of, std::span<const device_registration> devices,
                                   const options& with) {
    assignment_reading made;
    const auto written = of.annotations.find(index_annotation);
    if (written == of.annotations.end()) return made;
    const auto problem = [&](error_code code, std::string_view value, std::string expected) {
        made.problems.push_back(
            {code, "pod " + of.ns + "/" + of.name, index_annotation, std::string{value}, std::move(expected)});
    };
    const auto request = read_pod(of, with);
    if (!request) {
        made.problems.push_back(request.error());
        return made;
    }
    if (request->containers.empty()) return made; // upstream books nothing for a pod that asks for nothing
    const device_request& wanted = request->containers.front();
    for (const auto item : text::split(written->second, ',')) {
        const auto position = text::whole_number(text::trimmed(item), cards_max);
        if (!position || static_cast<std::size_t>(*position) >= devices.size()) {
            problem(error_code::malformed, item, "the position of a card, below " + std::to_string(devices.size()));
            continue;
        }
        const device_index card{static_cast<std::size_t>(*position)};
        if (std::ranges::find(made.shares, card, &device_share::device) != made.shares.end()) {
            problem(error_code::duplicate, item, "every card once");
            continue;
        }
        const mib memory = with.memory_enabled ? wanted.memory : devices[card.at()].memory;
        made.shares.push_back({.device = card, .part = slice{.memory = memory, .cores = wanted.cores}});
    }
    if (static_cast<std::int64_t>(made.shares.size()) != wanted.count && made.problems.empty()) {
        problem(error_code::mismatch, written->second, std::to_string(wanted.count) + " cards, as the pod asks for");
    }
    return made;
}

kubernetes::text_map write_assignment(const decision& made) {
    std::string cards;
    for (const device_share& each : made.shares) {
        cards += (cards.empty() ? "" : ",") + std::to_string(each.device.value());
    }
    return {{"volcano.sh/predicate-time", made.time}, {index_annotation, cards}};
}

} // namespace vgpualloc::dialect::gpushare
