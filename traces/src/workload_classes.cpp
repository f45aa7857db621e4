#include "workload_classes.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "generator_limits.hpp"
#include "model_parts.hpp"
#include "vgpualloc/catalog/ascend.hpp"
#include "vgpualloc/model/device.hpp"
#include "vgpualloc/model/requested_amount.hpp"
#include "vgpuformats/json.hpp"

namespace vgputraces {

using vgpualloc::device_spec;

namespace {

constexpr vgpuformats::number_range memory_range{1, 1'000'000'000};
constexpr vgpuformats::number_range cores_range{1, 1000};
constexpr std::string_view name_chars = "abcdefghijklmnopqrstuvwxyz0123456789-.";

/// The pod that a short form stands for, as far as it is written.
struct pod_form {
    document limits = document::map();
    document labels = document::map();
    document annotations = document::map();
    std::string scheduler;
    std::string part; ///< what an idle device has to give for it; empty: any part
};

/// The kind of node that a short form is for: the one that it names, or else the first of its mode.
const workload_node_kind* kind_for(const cursor& request, std::span<const workload_node_kind> kinds) {
    std::vector<std::string_view> modes;
    for (const workload_node_kind& kind : kinds) {
        if (!kind.mode.empty() && std::ranges::find(modes, kind.mode) == modes.end()) modes.push_back(kind.mode);
    }
    if (modes.empty()) {
        request.fail(error_code::unsupported, "no request, because no node has devices");
        return nullptr;
    }
    if (!request.has("mode") && modes.size() > 1) {
        request.fail_key(error_code::missing, "mode", "a mode of the nodes, because they have several");
        return nullptr;
    }
    const std::string_view mode = modes[request.has("mode") ? request.at("mode").one_of(modes) : 0];
    const std::string family = request.maybe_text("kind");
    const auto is_it = [&](const workload_node_kind& kind) {
        return kind.mode == mode && (family.empty() || kind.device.family == family || kind.kind == family);
    };
    const auto match = std::ranges::find_if(kinds, is_it);
    if (match != kinds.end()) return &*match;
    request.at("kind").fail(error_code::unknown_name, "the kind of the devices of a node in this mode");
    return nullptr;
}

void allow(const cursor& request, const workload_node_kind& kind, std::initializer_list<std::string_view> keys) {
    for (const std::string_view key : {"count", "memory_mib", "memory_percent", "cores", "profile", "template"}) {
        if (request.has(key) && std::ranges::find(keys, key) == keys.end()) {
            request.fail_key(error_code::unsupported, key, "keys that mode " + kind.mode + " has");
        }
    }
}

std::int64_t count_of(const cursor& request) {
    return request.maybe_integer("count", {1, limits::gpus_per_node_max}).value_or(1);
}

void put_amount(document& limits_of_pod, const char* resource, std::optional<std::int64_t> amount) {
    if (amount) limits_of_pod[resource] = *amount;
}

/// The memory of the profile that a request names, which is how pods of HAMi and Volcano ask for one.
std::optional<std::int64_t> memory_of_profile(const cursor& request, const workload_node_kind& kind, pod_form& pod) {
    if (!request.has("profile")) return std::nullopt;
    if (request.has("memory_mib"))
        request.fail_key(error_code::unsupported, "memory_mib", "either profile or memory_mib");
    std::vector<std::string_view> names;
    for (const auto& offer : kind.device.offers) names.push_back(offer.name);
    const auto& offer = kind.device.offers[request.at("profile").one_of(names)];
    pod.part = offer.name;
    return offer.memory.count();
}

/// What a system that shares GPUs calls what pods ask for, and the annotation with their mode.
struct vgpu_names {
    const char* number;
    const char* memory;
    const char* percentage;
    const char* cores;
    const char* mode;
};

void fill_vgpu(const cursor& request, const workload_node_kind& kind, pod_form& pod, const vgpu_names& called) {
    const bool is_mig = kind.mode == "mig";
    if (is_mig) {
        allow(request, kind, {"count", "memory_mib", "profile"});
    } else {
        allow(request, kind, {"count", "memory_mib", "memory_percent", "cores"});
    }
    pod.limits[called.number] = count_of(request);
    put_amount(pod.limits, called.memory, request.maybe_integer("memory_mib", memory_range));
    put_amount(pod.limits, called.percentage, request.maybe_integer("memory_percent", {1, 100}));
    put_amount(pod.limits, called.cores, request.maybe_integer("cores", {1, 100}));
    pod.annotations[called.mode] = is_mig ? "mig" : kind.mode == "mps" ? "mps" : "hami-core";
    if (is_mig) put_amount(pod.limits, called.memory, memory_of_profile(request, kind, pod));
}

void fill_volcano(const cursor& request, const workload_node_kind& kind, pod_form& pod) {
    fill_vgpu(request, kind, pod,
              {"volcano.sh/vgpu-number", "volcano.sh/vgpu-memory", "volcano.sh/vgpu-memory-percentage",
               "volcano.sh/vgpu-cores", "volcano.sh/vgpu-mode"});
    pod.scheduler = "volcano";
}

void fill_hami(const cursor& request, const workload_node_kind& kind, pod_form& pod) {
    fill_vgpu(request, kind, pod,
              {"nvidia.com/gpu", "nvidia.com/gpumem", "nvidia.com/gpumem-percentage", "nvidia.com/gpucores",
               "nvidia.com/vgpu-mode"});
}

void fill_npu(const cursor& request, const workload_node_kind& kind, pod_form& pod) {
    allow(request, kind, {"count", "memory_mib", "template"});
    const auto chip = vgpualloc::find_chip(vgpualloc::built_in_ascend_catalog(), kind.device.family);
    VGA_ASSERT(chip.has_value(), "the chips of a model's nodes are those of the catalog");
    pod.limits[(*chip)->resource] = count_of(request);
    auto memory = request.maybe_integer("memory_mib", memory_range);
    if (request.has("template")) {
        if (memory) request.fail_key(error_code::unsupported, "memory_mib", "either template or memory_mib");
        std::vector<std::string_view> names;
        for (const auto& entry : (*chip)->templates) names.push_back(entry.name);
        if (names.empty()) return request.at("template").fail(error_code::unknown_name, "a chip that has templates");
        const auto& entry = (*chip)->templates[request.at("template").one_of(names)];
        memory = entry.memory.count();
        pod.part = entry.name;
    }
    put_amount(pod.limits, (*chip)->resource_memory.c_str(), memory);
}

/// The row of MindCluster's table that gives a template where nothing is short.
const vgpualloc::mindcluster_selection* row_for(const cursor& wanted, const std::string& chip) {
    std::string known;
    for (const auto& row : vgpualloc::built_in_ascend_catalog().mindcluster.selection) {
        if (row.chip != chip || !row.template_name || row.downgrade.value_or(false)) continue;
        if (*row.template_name == wanted.text()) return &row;
        known += (known.empty() ? "" : ", ") + *row.template_name;
    }
    wanted.fail(error_code::unknown_name, "one of " + known);
    return nullptr;
}

void fill_310p(const cursor& request, const workload_node_kind& kind, pod_form& pod) {
    allow(request, kind, {"cores", "template"});
    pod.labels["ring-controller.atlas"] = "ascend-310P";
    pod.scheduler = "volcano";
    std::int64_t cores = kind.device.cores.count();
    if (request.has("cores")) cores = request.at("cores").integer(cores_range);
    if (request.has("template")) {
        if (request.has("cores")) request.fail_key(error_code::unsupported, "cores", "either template or cores");
        const auto* const row = row_for(request.at("template"), kind.device.family);
        if (row == nullptr) return;
        cores = row->ai_core.value_or(cores);
        pod.part = *row->template_name;
        if (row->level) pod.labels["vnpu-level"] = *row->level == vgpualloc::vnpu_level::high ? "high" : "low";
        if (row->dvpp) {
            pod.labels["vnpu-dvpp"] = *row->dvpp == vgpualloc::dvpp_use::yes  ? "yes"
                                      : *row->dvpp == vgpualloc::dvpp_use::no ? "no"
                                                                              : "null";
        }
    }
    pod.limits["huawei.com/npu-core"] = cores;
}

void fill_cce(const cursor& request, const workload_node_kind& kind, pod_form& pod) {
    allow(request, kind, {"memory_mib", "cores"});
    constexpr std::int64_t unit_mib = 128;
    const std::int64_t memory = request.at("memory_mib").integer(memory_range);
    if (memory % unit_mib != 0) request.at("memory_mib").fail(error_code::out_of_range, "a multiple of 128");
    pod.limits["volcano.sh/gpu-mem.128Mi"] = memory / unit_mib;
    put_amount(pod.limits, "volcano.sh/gpu-core.percentage", request.maybe_integer("cores", {5, 100}));
    pod.scheduler = "volcano";
}

void fill_whole(const cursor& request, const workload_node_kind& kind, pod_form& pod) {
    allow(request, kind, {"count"});
    pod.limits["nvidia.com/gpu"] = count_of(request);
}

using filler = void (*)(const cursor&, const workload_node_kind&, pod_form&);
struct dialect_filler {
    std::string_view dialect;
    filler fill;
};
constexpr std::array<dialect_filler, 6> fillers{{{.dialect = "volcano_vgpu", .fill = fill_volcano},
                                                 {.dialect = "hami", .fill = fill_hami},
                                                 {.dialect = "ascend_hami", .fill = fill_npu},
                                                 {.dialect = "mindcluster", .fill = fill_310p},
                                                 {.dialect = "cce", .fill = fill_cce},
                                                 {.dialect = "nvidia", .fill = fill_whole}}};

/// The Pod of a class in its short form.
document pod_manifest(const cursor& object, const std::string& name, pod_form pod) {
    document manifest = document::map({{"apiVersion", "v1"}, {"kind", "Pod"}});
    manifest["metadata"]["name"] = name;
    if (pod.labels.size() > 0) manifest["metadata"]["labels"] = std::move(pod.labels);
    if (pod.annotations.size() > 0) manifest["metadata"]["annotations"] = std::move(pod.annotations);
    document& spec = manifest["spec"];
    if (!pod.scheduler.empty()) spec["schedulerName"] = pod.scheduler;
    const auto selector = object.maybe_dictionary("node_selector");
    if (!selector.empty()) spec["nodeSelector"] = document::map_of(selector);
    spec["restartPolicy"] = "Never";
    document container = document::map({{"name", "main"}, {"image", "registry.k8s.io/pause:3.10"}});
    document requests = document::map();
    if (const auto cpu = object.maybe_integer("cpu_milli", {0, limits::amount_max})) {
        requests["cpu"] = std::to_string(*cpu) + "m";
    }
    if (const auto memory = object.maybe_integer("memory_mib", {0, limits::amount_max})) {
        requests["memory"] = std::to_string(*memory) + "Mi";
    }
    if (requests.size() > 0) container["resources"]["requests"] = std::move(requests);
    if (pod.limits.size() > 0) container["resources"]["limits"] = std::move(pod.limits);
    spec["containers"].push_back(std::move(container));
    return manifest;
}

/// The name of the part that the first idle device which serves the request gives for it; empty: none serves it.
std::string part_given(const vgpualloc::kube::snapshot& sample, const vgpualloc::device_request& request,
                       std::string_view mode) {
    for (const device_spec& spec : sample.nodes().kinds) {
        const auto refusal = vgpualloc::why_not(spec, {}, vgpualloc::service_state::in_service, request);
        if (spec.mode->name() != mode || refusal.code != vgpualloc::rejection_code::none) continue;
        std::vector<vgpualloc::partition> parts;
        spec.mode->candidates(spec, {}, request, parts);
        if (!parts.empty()) return spec.mode->describe(spec, parts.front()).name;
    }
    return {};
}

/// What an instance takes of the GPU: memory slices and compute slices.
device_parts share_of(const vgpualloc::mig_model& gpu, const vgpualloc::mig_profile& profile) {
    return {.memory = device_parts::parts_of(profile.size.count(), gpu.units.count()),
            .compute = device_parts::parts_of(profile.compute_slices.count(), gpu.compute_slices.count())};
}

/// What a pod asks for, on the devices of the sample.
device_parts shares_of(const vgpualloc::pod_request& pod, const class_checker& checker) {
    device_parts sum;
    vgpualloc::requested_amounts requested_of{checker.sample.nodes()};
    for (const vgpualloc::requested_devices& part : requested_of.of(pod).devices) {
        const auto& [memory, compute] = part.share;
        sum += device_parts{.memory = device_parts::parts_of(memory.part, memory.whole),
                            .compute = device_parts::parts_of(compute.part, compute.whole)}
                   .times(part.count);
    }
    return sum;
}

/// Reads a manifest back. The error names the entry of the model, and what of the manifest is wrong.
std::vector<vgpualloc::kube::manifest> read_back(const cursor& entry, const document& manifest,
                                                 const class_checker& checker,
                                                 std::vector<vgpualloc::pod_request>& requests) {
    auto objects = vgpualloc::kube::read_manifests(vgpuformats::print_json(manifest), "manifest");
    if (!objects) {
        entry.fail(objects.error().code, "a manifest: " + objects.error().message());
        return {};
    }
    for (const auto& object : *objects) {
        if (!object.pod && object.problems.empty()) {
            entry.fail(error_code::unsupported, "a Pod, or an object with a template for pods");
            return {};
        }
        const auto mistaken =
            object.pod ? checker.sample.dialects.mistaken_resources(*object.pod) : std::vector<error>{};
        const auto pod = vgpualloc::kube::read_snapshot_pod(object, checker.sample.dialects);
        if (!pod || !mistaken.empty()) {
            entry.fail(error_code::malformed,
                       "a manifest that can be read: " + (pod ? mistaken.front() : pod.error()).message());
            return {};
        }
        requests.push_back(pod->request);
    }
    return *std::move(objects);
}

void read_short_form(const cursor& object, const class_checker& checker, workload_class& result) {
    result.name = read_name(object.at("name"), name_chars, "1 to 40 lower-case letters, digits, '-' or '.'");
    pod_form pod;
    const workload_node_kind* kind = nullptr;
    if (object.has("request")) {
        const cursor request = object.at("request");
        request.only({"mode", "kind", "count", "memory_mib", "memory_percent", "cores", "profile", "template"});
        kind = kind_for(request, checker.kinds);
        if (kind == nullptr || object.failed()) return;
        std::ranges::find(fillers, kind->dialect, &dialect_filler::dialect)->fill(request, *kind, pod);
    }
    const std::string part = pod.part;
    result.manifest = pod_manifest(object, result.name, std::move(pod));
    if (object.failed()) return;
    std::vector<vgpualloc::pod_request> requests;
    const cursor entry = object.has("request") ? object.at("request") : object;
    if (read_back(entry, result.manifest, checker, requests).empty()) return;
    const bool is_profile = kind != nullptr && kind->mode == "mig" && !part.empty();
    if (is_profile && kind->dialect == "volcano_vgpu") { // gets what the groups have for the profile's memory
        const auto gpu = vgpualloc::find_model(checker.gpus, kind->device.model);
        const auto profile = vgpualloc::find_profile(**gpu, part);
        result.demand.share += share_of(**gpu, **profile).times(requests.front().containers.front().count);
        return;
    }
    if (is_profile && checker.profiles == profile_wish::by_name) {
        result.demand.profile = part;
        requests.front().containers.front().profile = part;
    }
    result.demand.share = shares_of(requests.front(), checker);
    if (part.empty()) return;
    const std::string given = part_given(checker.sample, requests.front().containers.front(), kind->mode);
    if (given == part) return;
    entry.at(kind->mode == "mig" ? "profile" : "template")
        .fail(error_code::unsupported,
              "a part that pods can ask for: by what they can say they get " + (given.empty() ? "none" : given));
}

void read_manifest(const cursor& object, const class_checker& checker, workload_class& result) {
    const cursor entry = object.at("manifest");
    for (const std::string_view key : {"name", "request", "cpu_milli", "memory_mib", "node_selector"}) {
        if (object.has(key)) object.fail_key(error_code::unsupported, key, "either a manifest or the short form");
    }
    if (entry.value() == nullptr || object.failed()) return;
    result.manifest = *entry.value();
    std::vector<vgpualloc::pod_request> requests;
    const auto objects = read_back(entry, result.manifest, checker, requests);
    if (objects.empty()) return entry.fail(error_code::malformed, "one Kubernetes object");
    for (std::size_t i = 0; i < requests.size(); ++i) {
        result.demand.share += shares_of(requests[i], checker).times(objects[i].replicas);
    }
    result.name = objects.front().name.substr(0, objects.front().name.find('/'));
    const auto differs = [&](const auto& other) { return other.name.substr(0, other.name.find('/')) != result.name; };
    if (std::ranges::any_of(objects, differs)) entry.fail(error_code::unsupported, "one object, and no list");
}

std::optional<std::pair<double, double>> read_factor(const cursor& object) {
    if (!object.has("estimate_factor")) return std::nullopt;
    constexpr double factor_max = 1000.0;
    const cursor factor = object.at("estimate_factor");
    if (factor.value() == nullptr || !factor.value()->is_list()) {
        const double both = factor.real(0.0, factor_max);
        return std::pair{both, both};
    }
    const auto ends = factor.items(2, 2);
    if (ends.size() != 2) return std::nullopt;
    const std::pair range{ends[0].real(0.0, factor_max), ends[1].real(0.0, factor_max)};
    if (range.first > range.second) ends[1].fail(error_code::out_of_range, "no less than the first number");
    return range;
}

} // namespace

duration_model read_duration_model(const cursor& object) {
    duration_model model;
    std::string_view first;
    for (const std::string_view key : duration_keys) {
        if (!object.has(key)) continue;
        if (!first.empty()) object.fail_key(error_code::unsupported, key, "one way of drawing durations, not two");
        first = key;
    }
    if (first == duration_keys[0]) model.constant_s = object.at(first).real(0.0, limits::seconds_max);
    if (first == duration_keys[1]) model.mean_s = object.at(first).real(limits::interval_s_min, limits::seconds_max);
    if (first == duration_keys[2]) model.quantiles = read_durations(object.at(first));
    return model;
}

workload_class read_workload_class(const cursor& object, const class_checker& checker) {
    object.only({"name", "weight", "request", "cpu_milli", "memory_mib", "node_selector", "manifest", "duration_s",
                 "mean_duration_s", "duration_quantiles_s", "estimate_factor", "queue", "priority"});
    workload_class result;
    result.weight = read_weight(object);
    if (object.has("manifest")) {
        read_manifest(object, checker, result);
    } else {
        read_short_form(object, checker, result);
    }
    result.durations = read_duration_model(object);
    result.estimate_factor = read_factor(object);
    if (object.has("queue")) result.queue = object.at("queue").filled_text();
    if (result.queue.find_first_of(",\"") != std::string::npos) {
        object.at("queue").fail(error_code::malformed, "a name without commas and quotes");
    }
    using priorities = std::numeric_limits<std::int32_t>;
    result.priority =
        static_cast<std::int32_t>(object.maybe_integer("priority", {priorities::min(), priorities::max()}).value_or(0));
    return result;
}

} // namespace vgputraces
