// The cce dialect: nodes and requests.
#include "vgpualloc/dialect/cce.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "../catalog/json_reader.hpp"
#include "cce_parts.hpp"
#include "hami_annotation.hpp"
#include "text.hpp"

namespace vgpualloc::dialect::cce {

namespace {

using hami_text::amount_max;
using hami_text::place;

device_registration gpu(std::string uuid, std::string model, mib memory, bool healthy) {
    device_registration made;
    made.uuid = std::move(uuid);
    made.model = std::move(model);
    made.family = family;
    made.mode = mode_name;
    made.memory = memory;
    made.slots = slots;
    made.healthy = healthy;
    return made;
}

void read_registered(const kubernetes::node& of, const std::string& annotation, node_reading& into) {
    const std::string where = place(of, "annotation", register_annotation);
    const auto list = detail::parse_json(annotation, where);
    if (!list || !list->is_array()) {
        into.problems.push_back(list ? error{.code = error_code::malformed,
                                             .where = where,
                                             .field = "",
                                             .value = "",
                                             .expected = "a JSON list of GPUs"}
                                     : list.error());
        return;
    }
    std::set<std::string> ids;
    for (std::size_t i = 0; i < list->size(); ++i) {
        std::optional<error> failure;
        const detail::json_reader entry{(*list)[i], where + "[" + std::to_string(i) + "]", failure};
        entry.only({"id", "model", "memory", "health"});
        auto made = gpu(entry.at("id").filled_text(), entry.at("model").text(),
                        mib{entry.at("memory").integer({memory_unit.count(), amount_max})}, entry.at("health").flag());
        if (made.uuid.find_first_of(hami_text::separators) != std::string::npos) {
            entry.at("id").fail(error_code::malformed, "an id without separators");
        } else if (!ids.insert(made.uuid).second) {
            entry.at("id").fail(error_code::duplicate, "an id that no GPU before it has");
        }
        if (failure) {
            into.problems.push_back(*std::move(failure));
        } else {
            into.indices.push_back(static_cast<std::int64_t>(i));
            into.devices.push_back(std::move(made));
        }
    }
}

/// Where nothing registers GPUs one by one, the node's amounts say how many there are and what each has.
void read_amounts(const kubernetes::node& of, const options& with, node_reading& into) {
    const auto memory_found = of.allocatable.find(with.memory_name);
    const auto cores_found = of.allocatable.find(with.cores_name);
    if (memory_found == of.allocatable.end() && cores_found == of.allocatable.end()) return;
    const std::string& memory_text = kubernetes::value_of(of.allocatable, with.memory_name);
    const std::string& cores_text = kubernetes::value_of(of.allocatable, with.cores_name);
    const auto units = text::quantity(memory_text);
    const auto percent = text::quantity(cores_text);
    constexpr std::int64_t percent_per_gpu = 100;
    constexpr std::int64_t gpus_max = 1024; // of one node; more is a mistake
    if (units == 0 && percent == 0) return;
    if (!percent || *percent <= 0 || *percent % percent_per_gpu != 0 || *percent > gpus_max * percent_per_gpu) {
        into.problems.push_back({.code = error_code::out_of_range,
                                 .where = place(of, "allocatable", with.cores_name),
                                 .field = "",
                                 .value = cores_text,
                                 .expected = "100 for each GPU"});
        return;
    }
    const std::int64_t count = *percent / percent_per_gpu;
    if (!units || *units < count || *units > count * amount_max / memory_unit.count()) {
        into.problems.push_back(
            {.code = error_code::out_of_range,
             .where = place(of, "allocatable", with.memory_name),
             .field = "",
             .value = memory_text,
             .expected = "units of 128 MiB, one or more for each of " + std::to_string(count) + " GPUs"});
        return;
    }
    for (std::int64_t i = 0; i < count; ++i) {
        into.devices.push_back(gpu(of.name + "/" + std::to_string(i), kubernetes::value_of(of.labels, "accelerator"),
                                   memory_unit * (*units / count), true));
    }
}

/// An amount as limits name it, or else requests; not yet checked.
std::optional<std::int64_t> named(const kubernetes::container& in, const std::string& resource) {
    for (const kubernetes::amount_map* each : {&in.limits, &in.requests}) {
        if (const auto found = each->find(resource); found != each->end()) return found->second;
    }
    return std::nullopt;
}

expected<device_request> read_container(const kubernetes::pod& of, const kubernetes::container& in,
                                        const options& with) {
    const auto bad = [&](error_code code, const std::string& field, std::string value, std::string expected_text) {
        return unexpected(error{.code = code,
                                .where = place(of, "container", in.name),
                                .field = field,
                                .value = std::move(value),
                                .expected = std::move(expected_text)});
    };
    const auto units = named(in, with.memory_name);
    const auto cores = named(in, with.cores_name);
    if (!units) {
        return bad(error_code::missing, with.memory_name, "",
                   "memory beside compute (rule 4: compute cannot be isolated alone)");
    }
    constexpr std::int64_t units_max = amount_max / memory_unit.count();
    if (*units < 1 || *units > units_max) {
        return bad(error_code::out_of_range, with.memory_name, std::to_string(*units),
                   "1 to " + std::to_string(units_max) + " units of 128 MiB (rules 5, 6)");
    }
    if (cores && (*cores < cores_step.count() || *cores > whole_compute.count() || *cores % cores_step.count() != 0)) {
        return bad(error_code::out_of_range, with.cores_name, std::to_string(*cores),
                   "a multiple of 5 from 5 to 100 (rule 8)");
    }
    device_request asked;
    asked.count = 1;
    asked.memory = memory_unit * *units;
    asked.cores = core_percent{cores.value_or(0)};
    asked.family = family;
    asked.mode = mode_name;
    return asked;
}

} // namespace

node_reading read_node(const kubernetes::node& of, const options& with) {
    node_reading result;
    const auto found = of.annotations.find(register_annotation);
    if (found != of.annotations.end()) {
        read_registered(of, found->second, result);
    } else {
        read_amounts(of, with, result);
    }
    return result;
}

void write_node(std::span<const device_registration> devices, const options& with, kubernetes::node& to) {
    auto list = nlohmann::ordered_json::array();
    std::int64_t units = 0;
    for (const device_registration& each : devices) {
        if (each.family != family || each.mode != mode_name) continue;
        list.push_back(
            {{"id", each.uuid}, {"model", each.model}, {"memory", each.memory.count()}, {"health", each.healthy}});
        units += each.memory.count() / memory_unit.count();
    }
    if (list.empty()) return;
    to.annotations[register_annotation] = list.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    for (kubernetes::text_map* each : {&to.allocatable, &to.capacity}) {
        (*each)[with.memory_name] = std::to_string(units);
        (*each)[with.cores_name] = std::to_string(list.size() * static_cast<std::size_t>(whole_compute.count()));
    }
}

bool requests(const kubernetes::pod& of, const options& with) {
    const auto asking = [&with](const kubernetes::container& in) { return asks(in, with); };
    return std::ranges::any_of(of.containers, asking) || std::ranges::any_of(of.init_containers, asking);
}

expected<pod_request> read_pod(const kubernetes::pod& of, const options& with) {
    for (const kubernetes::container& in : of.init_containers) {
        if (!asks(in, with)) continue;
        return unexpected(error{.code = error_code::unsupported,
                                .where = place(of, "init container", in.name),
                                .field = in.limits.contains(with.memory_name) ? with.memory_name : with.cores_name,
                                .value = "",
                                .expected = "no virtual GPU in an init container (rule 2)"});
    }
    pod_request request;
    for (const kubernetes::container& in : of.containers) {
        if (!asks(in, with)) continue;
        auto asked = read_container(of, in, with);
        if (!asked) return unexpected(std::move(asked).error());
        request.containers.push_back(*std::move(asked));
    }
    return request;
}

} // namespace vgpualloc::dialect::cce
