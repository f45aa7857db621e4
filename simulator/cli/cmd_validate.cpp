// vgpusim validate: what every object of a manifest asks for or offers, in which dialect, and what is wrong with it.
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cluster_inputs.hpp"
#include "commands.hpp"
#include "vgpualloc/core/printable.hpp"
#include "vgpualloc/dialect/config.hpp"
#include "vgpualloc/explain/answers.hpp"
#include "vgpualloc/explain/validate.hpp"

namespace vgpusim::cli {

namespace {

using vgpualloc::device_registration;
using vgpualloc::device_request;
using vgpualloc::printable;

struct options {
    std::vector<std::string> files;
    dialect_files dialects;
    std::string scheduler_config;
    bool json = false;
};

const char* word(vgpualloc::dvpp_use use) {
    if (use == vgpualloc::dvpp_use::unstated) return "null";
    return use == vgpualloc::dvpp_use::yes ? "yes" : "no";
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& entry : words) text += (text.empty() ? "" : "|") + entry;
    return text;
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
        if (!items.empty()) text += fmt::format(", {} {}", name, joined(items));
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
void print_devices(const vgpualloc::explaining::dialect_report& from) {
    std::map<std::tuple<std::string, std::string, std::int64_t, bool>, std::size_t> alike;
    for (const device_registration& entry : from.devices) {
        ++alike[{entry.model, entry.mode, entry.memory.count(), entry.healthy}];
    }
    for (const auto& [what, count] : alike) {
        const auto& [model, mode, memory, healthy] = what;
        fmt::print("  {}: {} x {}, {} MiB, mode {}{}\n", from.dialect, count,
                   model.empty() ? "unnamed" : printable(model), memory, printable(mode),
                   healthy ? "" : ", not healthy");
    }
}

/// "init container warm-up"; empty for the pod as a whole.
std::string words_of(const vgpualloc::explaining::container_role& from) {
    if (from.container.empty()) return {};
    return fmt::format("{} {}", from.role == "init_container" ? "init container" : from.role, from.container);
}

void print_asks(const vgpualloc::explaining::named_resources& from) {
    std::string text;
    for (const auto& [resource, amount] : from.amounts) {
        text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", resource, amount);
    }
    for (const std::string& claim : from.claims) text += fmt::format("{}claim {}", text.empty() ? "" : ", ", claim);
    fmt::print("  {} asks for {}\n", printable(words_of(from)), printable(text));
}

std::string pods_words(const vgpualloc::explaining::object_report& from) {
    if (from.one_per_node) return "1 pod for every node that takes one";
    return fmt::format("{} {}", from.replicas, from.replicas == 1 ? "pod" : "pods");
}

void print(const vgpualloc::explaining::object_report& from) {
    const std::string kind = from.kind.empty() ? "object without a kind" : from.kind;
    const std::string name = (from.ns.empty() ? "" : from.ns + "/") + from.name;
    fmt::print("{}\n", printable(fmt::format("{} {}{}{}", from.place, kind, name.empty() ? "" : " ", name)));
    if (from.is_pod) {
        fmt::print("  {}, {} mCPU, {} MiB of memory{}\n", pods_words(from), from.cpu.count(), from.memory_mib(),
                   from.replicas == 1 && !from.one_per_node ? "" : " each");
    }
    for (const auto& named : from.asks) print_asks(named);
    for (const vgpualloc::explaining::dialect_report& entry : from.dialects) {
        for (const auto& request : entry.requests) {
            fmt::print("  {}: {}{}{}\n", entry.dialect, printable(words_of(request)),
                       request.container.empty() ? "" : ": ", printable(describe(request.request)));
        }
        for (const auto& refused : entry.refused) {
            fmt::print("  {}: {}: not read, there is an error in it\n", entry.dialect, printable(words_of(refused)));
        }
        print_devices(entry);
    }
    for (const std::string& entry : from.notes) fmt::print("  note: {}\n", printable(entry));
    for (const auto& entry : from.errors) fmt::print("  error: {}\n", entry.message());
}

void print_not_considered(const std::vector<std::string>& rules) {
    if (rules.empty()) return;
    fmt::print("not looked at:\n");
    for (const std::string& rule : rules) fmt::print("  {}\n", printable(rule));
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
        const std::string policy =
            from.own->policy.empty() ? std::string{vgpualloc::explaining::default_policy} : from.own->policy;
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

int run(const options& chosen) {
    std::vector<named_input> inputs;
    add_inputs(inputs, "FILE", chosen.files);
    add_inputs(inputs, chosen.dialects);
    if (!chosen.scheduler_config.empty()) inputs.push_back({"--scheduler-config", chosen.scheduler_config});
    if (inputs.empty()) {
        return report_error({.code = vgpualloc::error_code::missing,
                             .where = "FILE",
                             .field = "",
                             .value = "",
                             .expected = "missing; expected manifests, or a configuration to check: --config, "
                                         "--scheduler-config or --file"});
    }
    if (const auto once = read_stdin_once(inputs); !once) return report_error(once.error());
    auto config = load_dialects(chosen.dialects);
    if (!config) return report_error(config.error());
    std::vector<vgpualloc::explaining::object_report> of_files;
    for (const std::string& path : chosen.dialects.config) {
        if (chosen.files.empty()) of_files.push_back(report_of(path, *config));
    }
    if (!chosen.scheduler_config.empty()) {
        const auto scheduler = load_scheduler_config(chosen.scheduler_config);
        if (!scheduler) return report_error(scheduler.error());
        of_files.push_back(report_of(chosen.scheduler_config, *scheduler));
    }
    const auto objects = load_objects(chosen.files);
    if (!objects) return report_error(objects.error());
    if (objects->empty() && !chosen.files.empty()) {
        return report_error({.code = vgpualloc::error_code::missing,
                             .where = chosen.files.front(),
                             .field = "",
                             .value = "",
                             .expected = "empty; expected at least one object"});
    }
    auto reports = vgpualloc::explaining::validate(*objects, vgpualloc::dialect_set{*std::move(config)});
    if (chosen.files.empty() &&
        !of_files.empty()) { // what is doubtful in device configurations stands with the first of them
        for (const auto& doubtful : reports) {
            of_files.front().notes.insert(of_files.front().notes.end(), doubtful.notes.begin(), doubtful.notes.end());
        }
        reports.clear();
    }
    reports.insert(reports.begin(), of_files.begin(), of_files.end());
    std::size_t errors = 0;
    std::size_t wrong = 0;
    for (const vgpualloc::explaining::object_report& entry : reports) {
        errors += entry.errors.size();
        if (!entry.errors.empty()) ++wrong;
        if (!chosen.json) print(entry);
    }
    const auto ignored = vgpualloc::explaining::not_considered(*objects);
    if (chosen.json)
        fmt::print("{}", vgpualloc::explaining::validate_json(reports, ignored));
    else
        print_not_considered(ignored);
    if (errors == 0) return exit_done;
    fmt::print(stderr, "vgpusim: {} {} in {} of {} {}\n", errors, errors == 1 ? "error" : "errors", wrong,
               reports.size(), reports.size() == 1 ? "object" : "objects");
    return exit_bad_input;
}

} // namespace

void add_validate(CLI::App& app, int& exit_code) {
    auto chosen = std::make_shared<options>();
    CLI::App* command = app.add_subcommand(
        "validate",
        "Check Kubernetes manifests, and configurations of devices and scheduler: which dialect each object "
        "speaks, what it asks for, what is wrong");
    command
        ->add_option("FILE", chosen->files,
                     "Manifests, YAML or JSON; also what kubectl get -o yaml prints; - is standard input. May be left "
                     "out where configurations alone are to be checked")
        ->type_name("");
    add_dialect_files(*command, chosen->dialects);
    command
        ->add_option("--scheduler-config", chosen->scheduler_config,
                     "Volcano's volcano-scheduler.conf, or its ConfigMap: whether plugin vgpualloc or deviceshare "
                     "takes its arguments")
        ->type_name("FILE")
        ->check(filled());
    command->add_flag("--json", chosen->json, "As JSON");
    command->callback([chosen, &exit_code] { exit_code = run(*chosen); });
}

} // namespace vgpusim::cli
