// The hami dialect: requests.
#include "vgpualloc/dialect/hami.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "counted_resources.hpp"
#include "hami_annotation.hpp"
#include "hami_parts.hpp"
#include "text.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpualloc/dialect/config.hpp"
#include "vgpualloc/model/limits.hpp"

namespace vgpualloc::dialects::hami {

namespace {

using kubernetes::value_of;

constexpr const char* mode_annotation = "nvidia.com/vgpu-mode";

/// The amounts that a container names.
struct amounts {
    std::optional<std::int64_t> count, memory, percent, cores;

    [[nodiscard]] bool none() const { return !count && !memory && !percent && !cores; }
};

expected<amounts> read_amounts(const kubernetes::pod& pod, const kubernetes::container& container,
                               const options& configured) {
    amounts read;
    const std::array<std::pair<const std::string*, std::optional<std::int64_t>*>, 4> fields{
        {{&configured.count_name, &read.count},
         {&configured.memory_name, &read.memory},
         {&configured.memory_percentage_name, &read.percent},
         {&configured.cores_name, &read.cores}}};
    for (const auto& [name, amount_read] : fields) {
        const auto amount = hami_text::amount(pod, container, *name,
                                              mib{name == &configured.memory_name ? configured.memory_factor : 0});
        if (!amount) return unexpected(amount.error());
        *amount_read = *amount;
    }
    if (read.percent.value_or(0) > percent_max) { // the webhook refuses such a pod
        return unexpected(bad_value(error_code::out_of_range, configured.memory_percentage_name,
                                    kubernetes::written_of(container, configured.memory_percentage_name, *read.percent),
                                    "a percentage from 0 to 100")
                              .at(hami_text::place(pod, "container", container.name)));
    }
    return read;
}

/// Memory wins over percentage; an amount of 0 is as good as none.
void set_memory(device_request& entry, const amounts& from, const options& configured) {
    if (from.memory.value_or(0) > 0) {
        entry.memory = mib{*from.memory * configured.memory_factor};
    } else if (from.percent.value_or(0) > 0) {
        entry.memory_percent = from.percent;
    } else {
        entry.memory = configured.memory_default;
    }
}

/// The mode that the annotation's list comes to; empty: any. Both modes of HAMi's device plugin together are any.
expected<std::string> read_mode(const kubernetes::pod& pod) {
    const std::string& list = value_of(pod.annotations, mode_annotation);
    bool core = false;
    bool mig = false;
    bool mps = false;
    for (const std::string& word : text::items(list)) {
        core = core || word == "hami-core";
        mig = mig || word == "mig";
        mps = mps || word == "mps";
        if (word == "hami-core" || word == "mig" || word == "mps") continue;
        return unexpected(bad_value(error_code::unknown_name, "", word, "hami-core, mig or mps")
                              .at(hami_text::place(pod, "annotation", mode_annotation)));
    }
    if (core && mig) return std::string{};
    if (mps && (core || mig)) {
        return unexpected(bad_value(error_code::unsupported, "", list, "one mode, or both hami-core and mig")
                              .at(hami_text::place(pod, "annotation", mode_annotation)));
    }
    if (core) return std::string{"hami_core"};
    if (mig) return std::string{mig_mode};
    return std::string{mps ? "mps" : ""};
}

/// What the annotations of a pod say for all its containers.
expected<device_request> read_filters(const kubernetes::pod& pod) {
    device_request entry;
    auto mode = read_mode(pod);
    if (!mode) return unexpected(std::move(mode).error());
    entry.mode = *std::move(mode);
    entry.family = family;
    entry.types_allowed = text::items(value_of(pod.annotations, "nvidia.com/use-gputype"));
    entry.types_denied = text::items(value_of(pod.annotations, "nvidia.com/nouse-gputype"));
    entry.uuids_allowed = text::items(value_of(pod.annotations, "nvidia.com/use-gpuuuid"));
    entry.uuids_denied = text::items(value_of(pod.annotations, "nvidia.com/nouse-gpuuuid"));
    return entry;
}

/// Whether the pod asks for GPUs by nothing but their number: for whole ones.
bool names_counts_only(const kubernetes::pod& pod, const options& configured) {
    return !text::names_any(pod, amount_names(configured));
}

} // namespace

std::vector<std::string> amount_names(const options& configured) {
    return {configured.memory_name, configured.memory_percentage_name, configured.cores_name};
}

std::vector<std::string> hami_dialect::resources() const {
    return {options_.count_name, options_.memory_name, options_.memory_percentage_name, options_.cores_name,
            "nvidia.com/priority"};
}

/// HAMi's webhook adds the count to all of the others but the priority.
std::string hami_dialect::what_else_it_takes(const std::string& resource) const {
    return options_.count_name + " beside it: without that " + resource + " asks for no GPU";
}

std::string hami_dialect::binding_node(const kubernetes::pod& pod) const { return hami_text::binding_node(pod); }

bool hami_dialect::requests(const kubernetes::pod& pod) const {
    // Whole GPUs of NVIDIA's own plugin: dialect nvidia reads them.
    if (options_.count_name == nvidia::gpu_resource && counts_init_apart(pod)) return false;
    const auto asks = [&configured = options_](const kubernetes::container& container) {
        const auto limited = [&container](const std::string& name) { return container.limits.contains(name); };
        if (limited(configured.count_name) || container.requests.contains(configured.count_name)) return true;
        return configured.admission && (limited(configured.memory_name) || limited(configured.memory_percentage_name) ||
                                        limited(configured.cores_name));
    };
    return std::ranges::any_of(pod.containers, asks) || std::ranges::any_of(pod.init_containers, asks);
}

expected<std::optional<device_request>>
read_container(const kubernetes::pod& pod, const kubernetes::container& container, const options& configured) {
    VGA_ASSERT(configured.memory_factor >= 1 && configured.memory_factor <= std::int64_t{1} << 20U,
               "a unit is 1 MiB to 1 TiB");
    auto from = read_amounts(pod, container, configured);
    if (!from) return unexpected(std::move(from).error());
    if (from->none() || (!from->count && !configured.admission)) return std::nullopt;
    if (!from->count) from->count = configured.count_default;
    if (*from->count == 0) return std::nullopt;
    auto entry = read_filters(pod);
    if (!entry) return unexpected(std::move(entry).error());
    entry->count = *from->count;
    set_memory(*entry, *from, configured);
    const bool all_memory = from->percent == percent_max || (!from->percent && !from->memory);
    const std::int64_t cores_default =
        configured.admission && all_memory ? percent_max : configured.cores_default.count();
    entry->cores = core_percent{std::min(from->cores.value_or(cores_default), percent_max)};
    return *std::move(entry);
}

expected<hami_text::container_entries> read_all_containers(const kubernetes::pod& pod, const options& configured) {
    return hami_text::read_containers(
        pod, [&](const kubernetes::container& container) { return read_container(pod, container, configured); });
}

bool hami_dialect::counts_init_apart(const kubernetes::pod& pod) const {
    return options_.counted_by_kubernetes && names_counts_only(pod, options_);
}

expected<pod_request> hami_dialect::read_pod(const kubernetes::pod& pod) const {
    auto containers = read_all_containers(pod, options_);
    if (!containers) return unexpected(std::move(containers).error());
    pod_request request;
    if (!counts_init_apart(pod)) {
        request.containers = std::move(containers->entries);
        return request;
    }
    const auto add = [&](device_request entry) {
        if (options_.counts_units) return split_units(std::move(entry), request.containers);
        request.containers.push_back(std::move(entry));
    };
    const device_request* at_init = nullptr;
    for (std::size_t i = 0; i < containers->own.size(); ++i) {
        if (!containers->own[i]) continue;
        if (options_.counts_units && containers->own[i]->count > devices_per_node_max) { // an entry for every unit
            return unexpected(
                bad_value(error_code::out_of_range, options_.count_name, std::to_string(containers->own[i]->count),
                          "at most " + std::to_string(devices_per_node_max) + " devices; no node has more"));
        }
        if (containers->at_init[i])
            at_init = &*containers->own[i];
        else
            add(*containers->own[i]);
    }
    const auto counts = [this](const std::string& resource) { return resource == options_.count_name; };
    const auto more = needed_at_init(pod, counts);
    if (at_init == nullptr || more.empty()) return request;
    device_request beyond = *at_init;
    beyond.count = more.at(options_.count_name);
    add(std::move(beyond));
    return request;
}

std::vector<std::string> hami_dialect::resources_added(const kubernetes::pod& pod) const {
    const bool asks = std::ranges::any_of(pod.containers, [&](const kubernetes::container& container) {
        const auto entry = read_container(pod, container, options_);
        return entry && *entry;
    });
    return asks ? std::vector{options_.count_name} : std::vector<std::string>{};
}

std::shared_ptr<const dialect> make(options configured) {
    VGA_ASSERT(configured.catalog != nullptr, "models are looked up in a catalog");
    return std::make_shared<const hami_dialect>(std::move(configured));
}

options options_of(const dialect_config& config) {
    options configured = config.devices.hami.value_or(options{});
    configured.catalog = config.mig;
    if (config.devices.nvidia_plugin) configured.plugin_sharing = config.devices.nvidia_plugin->sharing;
    return configured;
}

} // namespace vgpualloc::dialects::hami
