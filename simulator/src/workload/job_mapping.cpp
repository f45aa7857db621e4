#include "vgpusim/workload/job_mapping.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "vgpualloc/core/hash.hpp"
#include "vgpualloc/core/rng.hpp"
#include "vgpualloc/mode/all.hpp"
#include "vgpualloc/model/limits.hpp"
#include "vgpuformats/json.hpp"
#include "vgpusim/workload/cluster_files.hpp"

namespace vgpusim {

namespace {

error bad_member(const std::string& field, const document& value, std::string expectation) {
    return bad_value(error_code::malformed, field,
                     value.is_list() || value.is_map() ? vgpuformats::print_json(value) : value.text,
                     std::move(expectation))
        .at("mapping");
}

expected<std::int64_t> whole(const std::string& field, const document& value, std::int64_t min, std::int64_t max) {
    const auto number = value.integer();
    if (number && *number >= min && *number <= max) return *number;
    return unexpected(
        bad_member(field, value, "a whole number from " + std::to_string(min) + " to " + std::to_string(max)));
}

expected<std::string> nonempty_text(const std::string& field, const document& value) {
    if (value.is_text() && !value.text.empty()) return value.text;
    return unexpected(bad_member(field, value, "a text"));
}

/// Sets a member of the short form of a request.
expected<void> take_amount(pod_request& pod, vgpualloc::device_request& device, const std::string& field,
                           std::string_view key, const document& value) {
    constexpr std::array amounts{"count",         "memory_mib", "memory_percent",
                                 "cores_percent", "cpu_milli",  "host_memory_mib"};
    if (std::ranges::find(amounts, key) != amounts.end()) {
        std::int64_t most = 1'000'000'000;
        if (key == "count") most = vgpualloc::devices_per_node_max;
        if (key == "memory_percent" || key == "cores_percent") most = 100; // of each device
        const auto amount = whole(field, value, key == "memory_percent" ? 1 : 0, most);
        if (!amount) return unexpected(amount.error());
        if (key == "count") device.count = *amount;
        if (key == "memory_mib") device.memory = vgpualloc::mib{*amount};
        if (key == "memory_percent") device.memory_percent = *amount;
        if (key == "cores_percent") device.cores = vgpualloc::core_percent{*amount};
        if (key == "cpu_milli") pod.cpu = vgpualloc::milli_cpu{*amount};
        if (key == "host_memory_mib") pod.memory = to_bytes(vgpualloc::mib{*amount});
        return {};
    }
    if (key == "models") {
        if (!value.is_list()) return unexpected(bad_member(field, value, "a list of models"));
        for (const document& item : value.items) {
            auto model = nonempty_text(field, item);
            if (!model) return unexpected(std::move(model.error()));
            device.models.push_back(*std::move(model));
        }
        return {};
    }
    if (key != "profile" && key != "mode") {
        return unexpected(bad_value(error_code::unknown_name, field, key,
                                    "one of count, profile, mode, memory_mib, memory_percent, cores_percent, "
                                    "models, cpu_milli, host_memory_mib")
                              .at("mapping"));
    }
    auto text = nonempty_text(field, value);
    if (!text) return unexpected(std::move(text.error()));
    if (key == "profile") {
        device.profile = *std::move(text);
        return {};
    }
    if (auto mode = vgpualloc::find_mode(*text); !mode) {
        mode.error().where = "mapping";
        mode.error().field = field;
        return unexpected(std::move(mode.error()));
    }
    device.mode = *std::move(text);
    return {};
}

expected<pod_class> short_form(const std::string& field, const document& members) {
    pod_request pod;
    vgpualloc::device_request device{.count = 1, .memory = {}, .cores = {}};
    for (const auto& [key, value] : members.members) {
        if (auto taken = take_amount(pod, device, field + "." + key, key, value); !taken) {
            return unexpected(std::move(taken.error()));
        }
    }
    // A MIG profile means nothing to devices that are cut in another way, which would give out something else.
    const bool is_mig = device.profile.size() > 1 && device.profile[0] >= '1' && device.profile[0] <= '9' &&
                        device.profile.find("g.") != std::string::npos;
    if (is_mig && device.mode.empty()) device.mode = "mig";
    if (device.count > 0) pod.containers.push_back(std::move(device));
    if (auto checked = check_request(pod); !checked) {
        checked.error().where = "mapping: " + field;
        return unexpected(std::move(checked.error()));
    }
    return pod_class{.name = field, .place = "mapping", .templates = {{.suffix = "", .pods = 1, .request = pod}}};
}

/// The one class that manifests make.
expected<pod_class> class_of(std::string_view text, const std::string& name, const vgpualloc::dialect_set& dialects) {
    const auto objects = vgpualloc::kube::read_manifests(text, name);
    if (!objects) return unexpected(objects.error());
    auto classes = read_pod_classes(*objects, dialects, name);
    if (!classes) return unexpected(std::move(classes.error()));
    if (classes->size() == 1) return std::move(classes->front());
    return unexpected(
        bad_value(error_code::duplicate, "metadata.name", classes->back().name, "one object with pods for a rule")
            .at(classes->back().place));
}

expected<pod_class> read_request(const std::string& field, const document& value,
                                 const vgpualloc::dialect_set& dialects, input_reader& from) {
    if (value.is_map() && value.find("kind") != nullptr) {
        return class_of(vgpuformats::print_json(value), "mapping: " + field, dialects);
    }
    if (value.is_map()) return short_form(field, value);
    const auto path = nonempty_text(field, value);
    if (!path || *path == vgpuformats::standard_input) {
        return unexpected(bad_member(field, value, "a manifest, the path of one, or what a container asks for"));
    }
    const auto file = from.read(*path);
    if (!file) return unexpected(file.error());
    return class_of(file->text, file->name, dialects);
}

expected<void> take_devices(mapping_rule& rule, const std::string& field, const document& value) {
    const bool is_range = value.is_list() && value.items.size() == 2;
    if (value.is_list() && !is_range) return unexpected(bad_member(field, value, "a number or [least, most]"));
    const auto least = whole(field, is_range ? value.items.front() : value, 0, vgputraces::job_devices_max);
    if (!least) return unexpected(least.error());
    const auto most = is_range ? whole(field, value.items.back(), *least, vgputraces::job_devices_max) : least;
    if (!most) return unexpected(most.error());
    rule.devices_min = *least;
    rule.devices_max = *most;
    return {};
}

expected<mapping_rule> read_rule(const std::string& place, const document& members,
                                 const vgpualloc::dialect_set& dialects, input_reader& from) {
    if (!members.is_map() || members.find("request") == nullptr) {
        return unexpected(bad_member(place, members, "an object with a member request"));
    }
    mapping_rule rule;
    for (const auto& [key, value] : members.members) {
        const std::string field = place + "." + key;
        if (key == "devices") {
            if (auto taken = take_devices(rule, field, value); !taken) return unexpected(std::move(taken.error()));
        } else if (key == "queue") {
            auto queue = nonempty_text(field, value);
            if (!queue) return unexpected(std::move(queue.error()));
            rule.queue = *std::move(queue);
        } else if (key == "fraction") {
            const auto fraction = value.real();
            if (!fraction || !(*fraction >= 0.0 && *fraction <= 1.0)) {
                return unexpected(bad_member(field, value, "a number from 0 to 1"));
            }
            rule.fraction = *fraction;
        } else if (key == "per") {
            if (!value.is_text() || (value.text != "job" && value.text != "device")) {
                return unexpected(bad_member(field, value, "job or device"));
            }
            rule.once_per_device = value.text == "device";
        } else if (key == "request") {
            auto request = read_request(field, value, dialects, from);
            if (!request) return unexpected(std::move(request.error()));
            rule.request = *std::move(request);
        } else {
            return unexpected(
                bad_value(error_code::unknown_name, place, key, "one of devices, queue, fraction, per, request")
                    .at("mapping"));
        }
    }
    return rule;
}

} // namespace

expected<std::vector<mapping_rule>> read_mapping(std::string_view text, const vgpualloc::dialect_set& dialects,
                                                 input_reader& from) {
    const auto list = vgpuformats::parse_json(text, "mapping");
    if (!list) return unexpected(list.error());
    if (!list->is_list()) return unexpected(bad_member("", *list, "a list of rules"));
    std::vector<mapping_rule> rules;
    for (std::size_t i = 0; i < list->items.size(); ++i) {
        auto rule = read_rule("[" + std::to_string(i) + "]", list->items[i], dialects, from);
        if (!rule) return unexpected(std::move(rule.error()));
        rules.push_back(*std::move(rule));
    }
    return rules;
}

const mapping_rule* rule_for(std::span<const mapping_rule> rules, const vgputraces::trace_job& job,
                             std::uint64_t seed) {
    if (rules.empty()) return nullptr;
    const vgpualloc::rng of_job{vgpualloc::hash_combine(seed, static_cast<std::uint64_t>(job.row))};
    vgpualloc::rng draws = of_job.fork("mapping");
    for (const mapping_rule& rule : rules) {
        const bool is_drawn = draws.unit() < rule.fraction; // also of rules for other jobs, whose draws stay the same
        const bool is_for_it = job.devices >= rule.devices_min && job.devices <= rule.devices_max &&
                               (!rule.queue || *rule.queue == job.queue);
        if (is_drawn && is_for_it) return &rule;
    }
    return nullptr;
}

} // namespace vgpusim
