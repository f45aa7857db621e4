// What a pod asks of a node of 310P chips: cores, templates, the downgrade.
#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "mindcluster_node.hpp"

namespace vgpualloc::compat::volcano::mindcluster {

namespace {

struct npu_template {
    std::string_view name;
    std::int64_t core;
    std::int64_t cpu;
    std::string_view dvpp;

    [[nodiscard]] npu_resource resource() const { return {.core = core, .cpu = cpu, .dvpp = std::string{dvpp}}; }
};

constexpr std::array<npu_template, 7> templates{{{.name = "vir01", .core = 1, .cpu = 1, .dvpp = dvpp_null},
                                                 {.name = "vir02", .core = 2, .cpu = 2, .dvpp = dvpp_null},
                                                 {.name = "vir02_1c", .core = 2, .cpu = 1, .dvpp = dvpp_null},
                                                 {.name = "vir04", .core = 4, .cpu = 4, .dvpp = dvpp_null},
                                                 {.name = "vir04_3c", .core = 4, .cpu = 3, .dvpp = dvpp_null},
                                                 {.name = "vir04_3c_ndvpp", .core = 4, .cpu = 3, .dvpp = dvpp_no},
                                                 {.name = "vir04_4c_dvpp", .core = 4, .cpu = 4, .dvpp = dvpp_yes}}};

/// The template for part of a chip; empty for a core count that has none. The video unit counts for 4 cores only.
std::string_view template_for(std::int64_t cores, bool high_level, std::string_view dvpp) {
    if (cores == 1) return "vir01";
    if (cores == 2) return high_level ? "vir02" : "vir02_1c";
    if (cores != 4) return {};
    if (dvpp == dvpp_yes) return "vir04_4c_dvpp";
    if (dvpp == dvpp_no) return "vir04_3c_ndvpp";
    return high_level ? "vir04" : "vir04_3c";
}

std::int64_t amount_of(const kubernetes::container& container) {
    const auto amount = container.requests.find(core_name);
    return amount == container.requests.end() ? 0 : amount->second;
}

/// Cores by container; at least one. Q29: upstream makes the pod's request of the first container that asks for some.
std::vector<std::int64_t> asking_containers(const pod& pending, const quirk_set& quirks) {
    std::vector<std::int64_t> cores;
    for (const auto& container : pending.containers) {
        if (const std::int64_t amount = amount_of(container); amount != 0) cores.push_back(amount);
        if (quirks.has(quirk::q29) && !cores.empty()) break;
    }
    if (cores.empty()) cores.push_back(0);
    return cores;
}

/// One request for less than a chip.
pod_requests part_of_chip(const pod& pending, std::int64_t cores, const quirk_set& quirks) {
    const auto label = pending.labels.find("vnpu-dvpp");
    const std::string_view dvpp = label == pending.labels.end() ? dvpp_null : std::string_view{label->second};
    if (dvpp != dvpp_yes && dvpp != dvpp_no && dvpp != dvpp_null) {
        return {.resources = {}, .error = "err dvpp value:" + std::string{dvpp}};
    }
    // Q28: the published table has templates of 1 and 2 cores for null only; upstream does not look at the word there.
    if (!quirks.has(quirk::q28) && dvpp != dvpp_null && (cores == 1 || cores == 2)) {
        return {.resources = {},
                .error = "no template of " + std::to_string(cores) + " cores for vnpu-dvpp " + std::string{dvpp}};
    }
    const bool high_level = kubernetes::value_of(pending.labels, "vnpu-level") == "high";
    // Q16: a count without a template becomes a request for nothing.
    return {.resources = {template_resource(template_for(cores, high_level, dvpp)).value_or(npu_resource{})},
            .error = {}};
}

} // namespace

std::optional<npu_resource> template_resource(std::string_view name) {
    const auto row = std::ranges::find(templates, name, &npu_template::name);
    if (row == templates.end()) return std::nullopt;
    return row->resource();
}

std::string_view template_of(const npu_resource& request) {
    const auto row = std::ranges::find(templates, request, &npu_template::resource);
    return row == templates.end() ? std::string_view{} : row->name;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> pieces;
    for (;;) {
        const std::size_t end = text.find(separator);
        pieces.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return pieces;
        text.remove_prefix(end + 1);
    }
}

std::optional<std::int64_t> number(std::string_view text) {
    std::int64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stop != end) return std::nullopt;
    return value;
}

bool asks_for_npu(const pod& pending) {
    return kubernetes::value_of(pending.labels, "ring-controller.atlas") == "ascend-310P" &&
           std::ranges::any_of(pending.containers,
                               [](const auto& container) { return container.limits.contains(core_name); });
}

std::int64_t requested_cores(const pod& pending, const quirk_set& quirks) {
    if (!quirks.has(quirk::q29)) return occupied_cores(pending);
    return asking_containers(pending, quirks).front();
}

std::int64_t occupied_cores(const pod& pending) {
    std::int64_t cores = 0;
    for (const auto& container : pending.containers) cores += amount_of(container);
    return cores;
}

pod_requests requests_of(const npu_node& where, const pod& pending, const quirk_set& quirks) {
    if (where.total_core == 0) return {.resources = {npu_resource{}}, .error = {}};
    pod_requests requests;
    for (const std::int64_t cores : asking_containers(pending, quirks)) {
        if (where.whole_chips(cores)) {
            requests.resources.push_back(
                {.core = cores, .cpu = cores * where.total_cpu / where.total_core, .dvpp = std::string{dvpp_null}});
            continue;
        }
        auto part = part_of_chip(pending, cores, quirks);
        if (!part.error.empty()) return part;
        requests.resources.push_back(std::move(part.resources.front()));
    }
    return requests;
}

bool can_downgrade(const npu_resource& request) {
    return (request.core == 2 && request.cpu == 2) ||
           (request.core == 4 && request.cpu == 4 && request.dvpp != dvpp_yes);
}

npu_resource downgraded(npu_resource request) {
    if (request.core == 2) request.cpu = 1;
    if (request.core == 4) request.cpu = 3;
    return request;
}

} // namespace vgpualloc::compat::volcano::mindcluster
