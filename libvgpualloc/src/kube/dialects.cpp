// The dialects of manifests.
#include "dialects.hpp"

#include <utility>

#include "vgpualloc/dialect/cce.hpp"
#include "vgpualloc/dialect/gpushare.hpp"
#include "vgpualloc/dialect/volcano_config.hpp"
#include "vgpualloc/kube/objects.hpp"

namespace vgpusim {

namespace dialect = vgpualloc::dialect;

namespace {

using pod = vgpualloc::kubernetes::pod;
using node = vgpualloc::kubernetes::node;
using registrations = std::span<const vgpualloc::device_registration>;
using device_info = dialect::mindcluster::device_info;
using decision = dialect::decision;
using pods_on_node = std::span<const pod* const>;

/// Memory and number are two plugin settings; a manifest is read by the one whose resource it names.
dialect::gpushare::options gpushare_for(const pod& of) {
    dialect::gpushare::options with;
    for (const auto& in : of.containers) {
        if (in.limits.contains(with.memory_name)) return with;
        if (in.limits.contains(with.number_name)) with.number_enabled = true;
    }
    with.memory_enabled = !with.number_enabled;
    return with;
}

manifest_dialect gpushare() {
    const dialect::gpushare::options names;
    return {.name = "gpushare",
            .whole_pod = true,
            .scheduler = {},
            .resources = {names.memory_name, names.number_name},
            .requests = [](const pod& of) { return dialect::gpushare::requests(of, gpushare_for(of)); },
            .read_pod = [](const pod& of) { return dialect::gpushare::read_pod(of, gpushare_for(of)); },
            .read_node = [](const node& of, const device_info&,
                            pods_on_node) { return dialect::gpushare::read_node(of, {}); },
            .read_assignment =
                [](const pod& of, registrations devices) {
                    return dialect::gpushare::read_assignment(of, devices, gpushare_for(of));
                },
            .write_assignment = [](const pod&, registrations,
                                   const decision& made) { return dialect::gpushare::write_assignment(made); }};
}

/// A dialect whose functions take one options value.
template <class Requests, class ReadPod, class ReadNode, class ReadAssignment, class WriteAssignment, class Options>
manifest_dialect plain(std::string name, std::vector<std::string> resources, const Options& with, Requests requests,
                       ReadPod read_pod, ReadNode read_node, ReadAssignment read_assignment,
                       WriteAssignment write_assignment) {
    return {.name = std::move(name),
            .whole_pod = false,
            .scheduler = {},
            .resources = std::move(resources),
            .requests = [=, &with](const pod& of) { return requests(of, with); },
            .read_pod = [=, &with](const pod& of) { return read_pod(of, with); },
            .read_node = [=, &with](const node& of, const device_info&, pods_on_node) { return read_node(of, with); },
            .read_assignment = [=, &with](const pod& of,
                                          registrations devices) { return read_assignment(of, devices, with); },
            .write_assignment = [=, &with](const pod& of, registrations devices,
                                           const decision& made) { return write_assignment(of, devices, made, with); }};
}

manifest_dialect mindcluster(const dialect::mindcluster::options& with) {
    namespace words = dialect::mindcluster;
    auto made = plain(
        "mindcluster", {"huawei.com/npu-core"}, with, words::requests, words::read_pod,
        [](const node& of, const words::options& options) { return words::read_node(of, {}, {}, options); },
        words::read_assignment,
        [](const pod&, registrations devices, const decision& made_for, const words::options&) {
            return words::write_assignment(devices, made_for);
        });
    made.read_node = [&with](const node& of, const device_info& info, pods_on_node on_node) {
        // Nodes without such chips are none of its business; a chip's node says so in its capacity.
        if (!of.capacity.contains("huawei.com/npu-core")) return dialect::node_reading{};
        return words::read_node(of, info, on_node, with);
    };
    return made;
}

std::vector<std::string> ascend_resources(const dialect::ascend_hami::options& with) {
    std::vector<std::string> names;
    for (const auto& each : with.kinds) {
        const npu_resources own = resources_of(each);
        names.insert(names.end(), {own.count, own.memory, own.core});
    }
    return names;
}

} // namespace

npu_resources resources_of(const dialect::ascend_hami::kind& kind) {
    const std::string count = kind.resource.empty() ? "huawei.com/" + kind.npu.name : kind.resource;
    return {.count = count,
            .memory = kind.resource_memory.empty() ? count + "-memory" : kind.resource_memory,
            .core = kind.resource_core.empty() ? count + "-core" : kind.resource_core};
}

std::vector<manifest_dialect> manifest_dialects(const validate_options& with) {
    namespace vgpu = dialect::volcano_vgpu;
    namespace hami = dialect::hami;
    namespace ascend = dialect::ascend_hami;
    namespace cce = dialect::cce;
    static const cce::options cce_names;
    std::vector<manifest_dialect> all;
    all.push_back(plain("volcano_vgpu",
                        {with.vgpu.count_name, with.vgpu.memory_name, with.vgpu.cores_name,
                         with.vgpu.memory_percentage_name, "volcano.sh/vgpu-priority"},
                        with.vgpu, vgpu::requests, vgpu::read_pod, vgpu::read_node, vgpu::read_assignment,
                        vgpu::write_assignment));
    all.back().tags_of = [&with](const pod& of, std::span<const vgpualloc::device_share> has) {
        return vgpu::tags_of(of, has, with.vgpu);
    };
    all.push_back(gpushare());
    all.push_back(plain("hami",
                        {with.hami.count_name, with.hami.memory_name, with.hami.memory_percentage_name,
                         with.hami.cores_name, "nvidia.com/priority"},
                        with.hami, hami::requests, hami::read_pod, hami::read_node, hami::read_assignment,
                        hami::write_assignment));
    all.push_back(plain("ascend_hami", ascend_resources(with.ascend), with.ascend, ascend::requests, ascend::read_pod,
                        ascend::read_node, ascend::read_assignment, ascend::write_assignment));
    all.push_back(mindcluster(with.mindcluster));
    all.push_back(plain("cce", {cce_names.memory_name, cce_names.cores_name}, cce_names, cce::requests, cce::read_pod,
                        cce::read_node, cce::read_assignment, cce::write_assignment));
    all.back().scheduler = "volcano"; // SPEC-cce, rule 12
    return all;
}

namespace {

/// Whether resources of this vendor are ones that a dialect could be expected to know.
bool is_accelerator(const std::string& resource) {
    return resource.starts_with("nvidia.com/") || resource.starts_with("volcano.sh/") ||
           resource.starts_with("huawei.com/");
}

} // namespace

std::vector<vgpualloc::error> resources_not_read(const std::vector<manifest_dialect>& dialects, const pod& of) {
    std::vector<vgpualloc::error> found;
    for (const auto& in : of.containers) {
        for (const auto& [resource, amount] : in.requests) {
            if (!is_accelerator(resource)) continue;
            const auto owner = std::ranges::find_if(dialects, [&resource](const manifest_dialect& each) {
                return std::ranges::find(each.resources, resource) != each.resources.end();
            });
            if (owner != dialects.end() && owner->requests(of)) continue;
            std::string expected = "a resource that a dialect knows (see --config for other names)";
            if (owner != dialects.end()) expected = "what else makes it a request of dialect " + owner->name;
            if (resource == "huawei.com/npu-core") expected = "label ring-controller.atlas: ascend-310P beside it";
            found.push_back({.code = vgpualloc::error_code::unknown_name,
                             .where = "container " + in.name,
                             .field = "resources",
                             .value = resource,
                             .expected = expected});
        }
    }
    return found;
}

validate_options default_validate_options() { return default_validate_options(vgpualloc::built_in_catalog()); }

validate_options default_validate_options(const vgpualloc::hardware_catalog& catalog) {
    validate_options made;
    made.mig = std::make_shared<const vgpualloc::mig_catalog>(catalog.mig);
    made.hami.catalog = made.mig.get();
    for (const auto& each : catalog.ascend.chips) {
        dialect::ascend_hami::kind kind{.npu = {.name = each.name,
                                                .memory_allocatable = each.memory_allocatable,
                                                .memory_capacity = each.memory_capacity,
                                                .ai_core = each.ai_core,
                                                .ai_cpu = each.ai_cpu.value_or(0),
                                                .templates = {}},
                                        .resource = each.resource,
                                        .resource_memory = each.resource_memory,
                                        .resource_core = each.resource_core,
                                        .super_pod = each.super_pod};
        for (const auto& part : each.templates) {
            kind.npu.templates.push_back(
                {.name = part.name, .memory = part.memory, .ai_core = part.ai_core, .ai_cpu = part.ai_cpu.value_or(0)});
        }
        made.ascend.kinds.push_back(std::move(kind));
    }
    return made;
}

vgpualloc::expected<validate_options> configured(validate_options base, const std::string& text,
                                                 const std::string& name) {
    std::string yaml = text;
    std::string place = name;
    if (const auto objects = vgputraces::read_manifests(text, name)) {
        for (const auto& each : *objects) {
            const auto found = each.data.find("device-config.yaml");
            if (each.kind != "ConfigMap" || found == each.data.end()) continue;
            yaml = found->second;
            place = each.place + ": device-config.yaml";
        }
    }
    const auto json = vgputraces::yaml_to_json_text(yaml, place);
    if (!json) return vgpualloc::unexpected(json.error());
    const auto read = dialect::volcano::parse_device_config(*json, place);
    if (!read) return vgpualloc::unexpected(read.error());
    if (read->hami) {
        const auto* const catalog = base.hami.catalog;
        base.hami = *read->hami;
        base.hami.catalog = catalog;
    } else {
        base.vgpu = read->vgpu;
    }
    base.warnings = read->warnings;
    base.ascend.soft_by_default = read->hami_vnpu_core;
    base.ascend.kinds.clear();
    for (const auto& each : read->vnpus) {
        base.ascend.kinds.push_back({.npu = each.kind,
                                     .resource = each.resource_name,
                                     .resource_memory = each.resource_memory_name,
                                     .resource_core = each.resource_core_name,
                                     .memory_factor = each.memory_factor,
                                     .super_pod = each.super_pod});
    }
    return base;
}

} // namespace vgpusim
