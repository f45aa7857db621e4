#include "vgpufacade/validate.hpp"

#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "scheduler_input.hpp"
#include "vgpualloc/dialect/config.hpp"
#include "vgpualloc/explain/answers.hpp"

namespace vgpufacade {

using vgpualloc::device_registration;
using vgpualloc::device_request;
using vgpusim::input_reader;

namespace {

const char* word(vgpualloc::dvpp_use use) {
    if (use == vgpualloc::dvpp_use::unstated) return "null";
    return use == vgpualloc::dvpp_use::yes ? "yes" : "no";
}

/// "2 devices, each 10240 MiB, 50 cores, mode hami_core"
std::string describe(const device_request& request) {
    std::string text = fmt::format("{} {}", request.count, request.count == 1 ? "device" : "devices");
    if (request.memory_percent)
        text += fmt::format(", {} % of memory", *request.memory_percent);
    else if (request.memory.count() > 0)
        text += fmt::format(", {} MiB", request.memory.count());
    else
        text += ", all memory";
    if (request.cores.count() > 0) text += fmt::format(", cores {}", request.cores.count());
    text += request.mode.empty() ? ", any mode" : ", mode " + request.mode;
    if (!request.family.empty()) text += ", family " + request.family;
    const auto list = [&text](const char* name, const std::vector<std::string>& items) {
        if (!items.empty()) text += fmt::format(", {} {}", name, fmt::join(items, "|"));
    };
    list("models", request.models);
    list("types", request.types_allowed);
    list("types not", request.types_denied);
    list("uuids", request.uuids_allowed);
    list("uuids not", request.uuids_denied);
    if (!request.profile.empty()) text += ", profile " + request.profile;
    if (request.soft) text += ", in software";
    if (request.dvpp != vgpualloc::dvpp_use::unstated) text += fmt::format(", dvpp {}", word(request.dvpp));
    if (request.high_level) text += ", level high";
    return text;
}

/// Equal devices count together.
void add_devices(std::string& text, const vgpualloc::explaining::dialect_report& from) {
    std::map<std::tuple<std::string, std::string, std::int64_t, bool>, std::size_t> alike;
    for (const device_registration& entry : from.devices) {
        ++alike[{entry.model, entry.mode, entry.memory.count(), entry.healthy}];
    }
    for (const auto& [what, count] : alike) {
        const auto& [model, mode, memory, healthy] = what;
        text += fmt::format("  {}: {} x {}, {} MiB, mode {}{}\n", from.dialect, count,
                            model.empty() ? "unnamed" : printable(model), memory, printable(mode),
                            healthy ? "" : ", not healthy");
    }
}

/// "init container warm-up"; empty for the pod as a whole.
std::string words_of(const vgpualloc::explaining::container_role& from) {
    if (from.container.empty()) return {};
    return fmt::format("{} {}", from.role == "init_container" ? "init container" : from.role, from.container);
}

void add_asks(std::string& text, const vgpualloc::explaining::named_resources& from) {
    std::string asks;
    for (const auto& [resource, amount] : from.amounts) {
        asks += fmt::format("{}{}: {}", asks.empty() ? "" : ", ", resource, amount);
    }
    for (const std::string& claim : from.claims) asks += fmt::format("{}claim {}", asks.empty() ? "" : ", ", claim);
    text += fmt::format("  {} asks for {}\n", printable(words_of(from)), printable(asks));
}

std::string pods_words(const vgpualloc::explaining::object_report& from) {
    if (from.one_per_node) return "1 pod for every node that takes one";
    return fmt::format("{} {}", from.replicas, from.replicas == 1 ? "pod" : "pods");
}

void add_report(std::string& text, const vgpualloc::explaining::object_report& from) {
    const std::string kind = from.kind.empty() ? "object without a kind" : from.kind;
    const std::string name = (from.ns.empty() ? "" : from.ns + "/") + from.name;
    text += fmt::format("{}\n", printable(fmt::format("{} {}{}{}", from.place, kind, name.empty() ? "" : " ", name)));
    if (from.is_pod) {
        text += fmt::format("  {}, {} mCPU, {} MiB of memory{}\n", pods_words(from), from.cpu.count(),
                            from.memory_mib(), from.replicas == 1 && !from.one_per_node ? "" : " each");
    }
    for (const auto& named : from.asks) add_asks(text, named);
    for (const vgpualloc::explaining::dialect_report& entry : from.dialects) {
        for (const auto& request : entry.requests) {
            text += fmt::format("  {}: {}{}{}\n", entry.dialect, printable(words_of(request)),
                                request.container.empty() ? "" : ": ", printable(describe(request.request)));
        }
        for (const auto& refused : entry.refused) {
            text += fmt::format("  {}: {}: not read, there is an error in it\n", entry.dialect,
                                printable(words_of(refused)));
        }
        add_devices(text, entry);
    }
    for (const std::string& entry : from.notes) text += fmt::format("  note: {}\n", printable(entry));
    for (const auto& entry : from.errors) text += fmt::format("  error: {}\n", entry.message());
}

void add_not_considered(std::string& text, const std::vector<std::string>& rules) {
    if (rules.empty()) return;
    text += fmt::format("not looked at:\n");
    for (const std::string& rule : rules) text += fmt::format("  {}\n", printable(rule));
}

/// Whether a configuration is the file, or a ConfigMap in it.
bool is_of(const std::string& path, const std::string& place) {
    return place.starts_with(path) && (place.size() == path.size() || place[path.size()] == ':');
}

/// What a file configures of devices, once it is known to be good.
vgpualloc::explaining::object_report report_of(const std::string& path, const vgpualloc::dialect_config& sum) {
    using vgpualloc::configured_system;
    vgpualloc::explaining::object_report report;
    report.place = path;
    report.kind = "device configuration";
    const auto& devices = sum.devices;
    for (const auto& [system, file] : sum.configured_by) {
        if (!is_of(path, file)) continue;
        if (system == configured_system::vgpu) {
            report.notes.push_back(fmt::format("vGPUs of Volcano: {}, geometries of MIG for {} lists of models",
                                               devices.vgpu.count_name, devices.vgpu.geometries.size()));
        } else if (system == configured_system::hami && devices.hami) {
            report.notes.push_back(fmt::format("GPUs of HAMi: {}", devices.hami->count_name));
        }
    }
    std::vector<std::string> npus;
    for (const auto& [word, file] : sum.npu_configured_by) {
        if (is_of(path, file)) npus.push_back(word);
    }
    if (!npus.empty()) report.notes.push_back(fmt::format("NPUs: {}", fmt::join(npus, ", ")));
    return report;
}

/// What a configuration of the scheduler says, once it is known to be good.
vgpualloc::explaining::object_report report_of(const std::string& place,
                                               const vgpualloc::kube::scheduler_config& from) {
    vgpualloc::explaining::object_report report;
    report.place = place;
    report.kind = "scheduler configuration";
    const auto& deviceshare = from.deviceshare;
    if (from.own) {
        const std::string policy = from.own->policy.empty() ? std::string{vgpualloc::default_policy} : from.own->policy;
        report.notes.push_back(fmt::format("plugin vgpualloc: policy {}, device policy {}, weight {}", policy,
                                           from.own->device_policy.empty() ? policy : from.own->device_policy,
                                           from.own->weight));
    } else {
        report.notes.push_back(
            fmt::format("plugin deviceshare: SchedulePolicy {}, ScheduleWeight {}",
                        deviceshare.schedule_policy.empty() ? "none" : deviceshare.schedule_policy,
                        deviceshare.weight_assumed ? "not given" : std::to_string(deviceshare.schedule_weight)));
    }
    report.notes.push_back(fmt::format("device configuration: ConfigMap {}/{}", deviceshare.config_map_namespace,
                                       deviceshare.config_map_name));
    return report;
}

} // namespace

expected<validation> validate(const validate_question& chosen, const vgpuformats::input_source& source,
                              const stop_signal& stop) {
    input_reader from{source, vgpusim::records_kept::none, stop};
    auto config = load_dialects(chosen.dialects, from);
    if (!config) return unexpected(config.error());
    std::vector<vgpualloc::explaining::object_report> of_files;
    for (const std::string& path : chosen.dialects.config) {
        if (chosen.files.empty()) of_files.push_back(report_of(path, *config));
    }
    if (!chosen.scheduler_config.empty()) {
        const auto scheduler = load_scheduler_config(chosen.scheduler_config, from);
        if (!scheduler) return unexpected(scheduler.error());
        of_files.push_back(report_of(chosen.scheduler_config, *scheduler));
    }
    const auto objects = load_objects(chosen.files, from);
    if (!objects) return unexpected(objects.error());
    if (objects->empty() && !chosen.files.empty()) {
        return unexpected(bad_input(error_code::missing, "", "empty", "at least one object").at(chosen.files.front()));
    }
    auto reports = vgpualloc::explaining::validate(*objects, vgpualloc::dialect_set{*std::move(config)}, stop);
    if (stop.raised()) return unexpected(stop_signal::stopped());
    if (chosen.files.empty() &&
        !of_files.empty()) { // what is doubtful in device configurations stands with the first of them
        for (const auto& doubtful : reports) {
            of_files.front().notes.insert(of_files.front().notes.end(), doubtful.notes.begin(), doubtful.notes.end());
        }
        reports.clear();
    }
    reports.insert(reports.begin(), of_files.begin(), of_files.end());
    validation result{.reports = std::move(reports), .ignored = vgpualloc::explaining::not_considered(*objects)};
    for (const vgpualloc::explaining::object_report& entry : result.reports) {
        result.errors += entry.errors.size();
        if (!entry.errors.empty()) ++result.objects_with_errors;
    }
    return result;
}

std::string validation_text(const validation& result) {
    std::string text;
    for (const auto& report : result.reports) add_report(text, report);
    add_not_considered(text, result.ignored);
    return text;
}

std::string validation_json(const validation& result) {
    return vgpualloc::explaining::validate_json(result.reports, result.ignored);
}

std::string complaint_of(const validation& result) {
    if (result.errors == 0) return {};
    return fmt::format("{} {} in {} of {} {}", result.errors, result.errors == 1 ? "error" : "errors",
                       result.objects_with_errors, result.reports.size(),
                       result.reports.size() == 1 ? "object" : "objects");
}

} // namespace vgpufacade
