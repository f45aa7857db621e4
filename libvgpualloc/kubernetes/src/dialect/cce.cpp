// The cce dialect: nodes and requests.
#include "vgpualloc/dialect/cce.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "cce_parts.hpp"
#include "hami_annotation.hpp"
#include "text.hpp"
#include "vgpuformats/cursor.hpp"
#include "vgpuformats/json.hpp"

namespace vgpualloc::dialects::cce {

namespace {

using hami_text::amount_max;
using hami_text::place;
using vgpuformats::document;

device_registration gpu(std::string uuid, std::string model, mib memory, bool healthy) {
    device_registration device;
    device.uuid = std::move(uuid);
    device.model = std::move(model);
    device.family = family;
    device.mode = mode_name;
    device.memory = memory;
    device.slots = slots;
    device.healthy = healthy;
    return device;
}

void read_registered(const kubernetes::node& node, const std::string& written, node_reading& reading) {
    const std::string where = place(node, "annotation", register_annotation);
    const auto list = hami_text::read_list(written, where, "a JSON list of GPUs", reading.problems);
    if (!list) return;
    std::set<std::string> ids;
    for (std::size_t i = 0; i < list->size(); ++i) {
        std::optional<error> failure;
        const vgpuformats::cursor entry{list->items[i], where + "[" + std::to_string(i) + "]", failure};
        entry.only({"id", "model", "memory", "health"});
        auto registered =
            gpu(entry.at("id").filled_text(), entry.at("model").text(),
                mib{entry.at("memory").integer({memory_unit.count(), amount_max})}, entry.at("health").flag());
        if (registered.uuid.find_first_of(hami_text::separators) != std::string::npos) {
            entry.at("id").fail(error_code::malformed, "an id without separators");
        } else if (!ids.insert(registered.uuid).second) {
            entry.at("id").fail(error_code::duplicate, "an id that no GPU before it has");
        }
        if (failure) {
            reading.problems.push_back(*std::move(failure));
        } else {
            reading.indices.push_back(static_cast<std::int64_t>(i));
            reading.devices.push_back(std::move(registered));
        }
    }
}

/// Where nothing registers GPUs one by one, the node's amounts say how many there are and what each has.
void read_amounts(const kubernetes::node& node, const options& configured, node_reading& reading) {
    const auto memory_offer = node.allocatable.find(configured.memory_name);
    const auto cores_offer = node.allocatable.find(configured.cores_name);
    if (memory_offer == node.allocatable.end() && cores_offer == node.allocatable.end()) return;
    const std::string& memory_text = kubernetes::value_of(node.allocatable, configured.memory_name);
    const std::string& cores_text = kubernetes::value_of(node.allocatable, configured.cores_name);
    const auto units = text::quantity(memory_text);
    const auto percent = text::quantity(cores_text);
    constexpr std::int64_t percent_per_gpu = 100;
    constexpr std::int64_t gpus_max = 1024; // of one node; more is a mistake
    if (units == 0 && percent == 0) return;
    if (!percent || *percent <= 0 || *percent % percent_per_gpu != 0 || *percent > gpus_max * percent_per_gpu) {
        reading.problems.push_back(bad_value(error_code::out_of_range, "", cores_text, "100 for each GPU")
                                       .at(place(node, "allocatable", configured.cores_name)));
        return;
    }
    const std::int64_t count = *percent / percent_per_gpu;
    if (!units || *units < count || *units > count * amount_max / memory_unit.count()) {
        reading.problems.push_back(
            bad_value(error_code::out_of_range, "", memory_text,
                      "units of 128 MiB, one or more for each of " + std::to_string(count) + " GPUs")
                .at(place(node, "allocatable", configured.memory_name)));
        return;
    }
    for (std::int64_t i = 0; i < count; ++i) {
        reading.devices.push_back(gpu(node.name + "/" + std::to_string(i),
                                      kubernetes::value_of(node.labels, "accelerator"), memory_unit * (*units / count),
                                      true));
    }
}

/// An amount as limits name it, or else requests; not yet checked.
std::optional<std::int64_t> named(const kubernetes::container& container, const std::string& resource) {
    for (const kubernetes::amount_map* amounts : {&container.limits, &container.requests}) {
        if (const auto amount = amounts->find(resource); amount != amounts->end()) return amount->second;
    }
    return std::nullopt;
}

expected<device_request> read_container(const kubernetes::pod& pod, const kubernetes::container& container,
                                        const options& configured) {
    const auto bad = [&](error_code code, const std::string& field, std::string value, std::string expected_text) {
        return unexpected(text::bad_or_missing(code, field, value, std::move(expected_text))
                              .at(place(pod, "container", container.name)));
    };
    const auto units = named(container, configured.memory_name);
    const auto cores = named(container, configured.cores_name);
    if (!units) {
        return bad(error_code::missing, configured.memory_name, "",
                   "memory beside compute, which cannot be isolated alone");
    }
    constexpr std::int64_t units_max = amount_max / memory_unit.count();
    if (*units < 1 || *units > units_max) {
        return bad(error_code::out_of_range, configured.memory_name,
                   kubernetes::written_of(container, configured.memory_name, *units),
                   "1 to " + std::to_string(units_max) + " units of 128 MiB");
    }
    if (cores && (*cores < cores_step.count() || *cores > whole_compute.count() || *cores % cores_step.count() != 0)) {
        return bad(error_code::out_of_range, configured.cores_name,
                   kubernetes::written_of(container, configured.cores_name, *cores), "a multiple of 5 from 5 to 100");
    }
    device_request entry;
    entry.count = 1;
    entry.memory = memory_unit * *units;
    entry.cores = core_percent{cores.value_or(0)};
    entry.family = family;
    entry.mode = mode_name;
    return entry;
}

} // namespace

std::vector<std::string> cce_dialect::resources() const { return {options_.memory_name, options_.cores_name}; }

node_reading cce_dialect::read_node(const node_source& source) const {
    const kubernetes::node& node = source.object;
    node_reading result;
    const auto annotation = node.annotations.find(register_annotation);
    if (annotation != node.annotations.end()) {
        read_registered(node, annotation->second, result);
    } else {
        read_amounts(node, options_, result);
    }
    return result;
}

void cce_dialect::write_node(std::span<const device_registration> devices, kubernetes::node& node,
                             kubernetes::text_map& /*config_map*/) const {
    document list = document::list();
    std::int64_t units = 0;
    for (const device_registration& gpu : devices) {
        if (gpu.family != family || gpu.mode != mode_name) continue;
        list.push_back(document::map(
            {{"id", gpu.uuid}, {"model", gpu.model}, {"memory", gpu.memory.count()}, {"health", gpu.healthy}}));
        units += gpu.memory.count() / memory_unit.count();
    }
    if (list.size() == 0) return;
    node.annotations[register_annotation] = vgpuformats::print_json(list);
    for (kubernetes::text_map* offered : {&node.allocatable, &node.capacity}) {
        (*offered)[options_.memory_name] = std::to_string(units);
        (*offered)[options_.cores_name] = std::to_string(list.size() * static_cast<std::size_t>(whole_compute.count()));
    }
}

bool cce_dialect::requests(const kubernetes::pod& pod) const {
    const auto asking = [this](const kubernetes::container& container) { return asks(container, options_); };
    return std::ranges::any_of(pod.containers, asking) || std::ranges::any_of(pod.init_containers, asking);
}

expected<pod_request> cce_dialect::read_pod(const kubernetes::pod& pod) const {
    for (const kubernetes::container& container : pod.init_containers) {
        if (!asks(container, options_)) continue;
        return unexpected(
            bad_value(error_code::unsupported,
                      container.limits.contains(options_.memory_name) ? options_.memory_name : options_.cores_name, "",
                      "no virtual GPU in an init container")
                .at(place(pod, "init container", container.name)));
    }
    pod_request request;
    for (const kubernetes::container& container : pod.containers) {
        if (!asks(container, options_)) continue;
        auto entry = read_container(pod, container, options_);
        if (!entry) return unexpected(std::move(entry).error());
        request.containers.push_back(*std::move(entry));
    }
    return request;
}

std::shared_ptr<const dialect> make(options configured) {
    return std::make_shared<const cce_dialect>(std::move(configured));
}

} // namespace vgpualloc::dialects::cce
