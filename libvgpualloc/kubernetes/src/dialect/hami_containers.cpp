// Which of a pod's containers has which entry of its request.
#include "hami_containers.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace vgpualloc::dialects::hami_text {

namespace {

/// How memory is asked for. Amounts of one kind can be compared.
enum class memory_kind : std::uint8_t { amount, percent, all };

memory_kind kind_of(const device_request& request) {
    if (request.memory_percent) return memory_kind::percent;
    return request.memory.count() > 0 ? memory_kind::amount : memory_kind::all;
}

/// The request that is no less than either; none where a share of the memory and an amount cannot be compared.
std::optional<device_request> larger_of(const device_request& one, const device_request& other) {
    device_request result = one;
    result.count = std::max(one.count, other.count);
    result.cores = std::max(one.cores, other.cores);
    if (kind_of(one) == kind_of(other)) {
        result.memory = std::max(one.memory, other.memory);
        result.memory_percent = std::max(one.memory_percent, other.memory_percent);
    } else if (kind_of(one) == memory_kind::all || kind_of(other) == memory_kind::all) {
        result.memory = mib{0};
        result.memory_percent.reset();
    } else {
        return std::nullopt;
    }
    return result;
}

/// How much an entry grows: devices first, then compute and memory.
struct growth {
    std::int64_t devices = 0;
    std::int64_t cores = 0;
    bool memory = false;

    auto operator<=>(const growth&) const = default;
};

/// How much an entry grows when it becomes larger_of(entry, own).
std::optional<growth> growth_of(const device_request& entry, const device_request& own) {
    const memory_kind before = kind_of(entry);
    const memory_kind wanted = kind_of(own);
    const bool one_is_all = before == memory_kind::all || wanted == memory_kind::all;
    if (before != wanted && !one_is_all) return std::nullopt;
    const bool memory = before == wanted ? own.memory > entry.memory || own.memory_percent > entry.memory_percent
                                         : before != memory_kind::all;
    return growth{.devices = std::max<std::int64_t>(own.count - entry.count, 0),
                  .cores = std::max<std::int64_t>((own.cores - entry.cores).count(), 0),
                  .memory = memory};
}

/// The entry for an init container, raised to what it asks for.
std::uint32_t entry_at_init(const device_request& own, std::size_t sidecars, std::vector<device_request>& entries) {
    std::optional<std::uint32_t> best;
    growth least;
    // A pod has many containers or an init container that asks, and hardly ever both.
    for (std::size_t i = sidecars; i < entries.size(); ++i) {
        const std::optional<growth> grown = growth_of(entries[i], own);
        if (!grown || (best && *grown >= least)) continue;
        best = static_cast<std::uint32_t>(i);
        least = *grown;
        if (least == growth{}) break;
    }
    if (!best) {
        entries.push_back(own);
        return static_cast<std::uint32_t>(entries.size() - 1);
    }
    entries[*best] = *larger_of(entries[*best], own);
    return *best;
}

} // namespace

expected<container_entries> read_containers(const kubernetes::pod& pod, const container_reader& read) {
    container_entries result;
    result.init_containers = pod.init_containers.size();
    for (const auto* const list : {&pod.init_containers, &pod.containers}) {
        for (const kubernetes::container& container : *list) {
            auto own = read(container);
            if (!own) return unexpected(std::move(own).error());
            result.own.push_back(*std::move(own));
            result.at_init.push_back(list == &pod.init_containers && !container.stays);
        }
    }
    result.owners.resize(result.own.size());
    std::size_t sidecars = 0;
    for (std::size_t i = 0; i < result.own.size(); ++i) {
        if (!result.own[i] || result.at_init[i]) continue;
        result.owners[i] = static_cast<std::uint32_t>(result.entries.size());
        result.entries.push_back(*result.own[i]);
        if (i < result.init_containers) ++sidecars;
    }
    for (std::size_t i = 0; i < result.init_containers; ++i) {
        if (result.own[i] && result.at_init[i]) {
            result.owners[i] = entry_at_init(*result.own[i], sidecars, result.entries);
        }
    }
    return result;
}

container_entries or_nothing(expected<container_entries> containers, const kubernetes::pod& pod) {
    if (containers) return *std::move(containers);
    const std::size_t all = pod.init_containers.size() + pod.containers.size();
    container_entries nothing;
    nothing.init_containers = pod.init_containers.size();
    nothing.own.resize(all);
    nothing.owners.resize(all);
    nothing.at_init.resize(all, false);
    return nothing;
}

std::vector<std::optional<std::size_t>> containers_of_parts(std::size_t parts, const container_entries& containers,
                                                            const std::string& where, std::vector<error>& problems) {
    const std::size_t all = containers.own.size();
    std::vector<std::size_t> asking;
    for (std::size_t i = 0; i < all; ++i) {
        if (containers.own[i]) asking.push_back(i);
    }
    std::vector<std::optional<std::size_t>> result;
    const std::size_t regular = all - containers.init_containers;
    if (parts != asking.size() && (parts == regular || parts == all)) {
        for (std::size_t part = 0; part < parts; ++part) result.emplace_back(all - parts + part);
        return result;
    }
    if (parts != asking.size()) {
        problems.push_back(bad_value(error_code::mismatch, "", std::to_string(parts) + " container parts",
                                     std::to_string(asking.size()) + " (containers that ask) or " +
                                         std::to_string(all) + " (all containers)")
                               .at(where));
    }
    for (std::size_t part = 0; part < parts; ++part) {
        result.push_back(part < asking.size() ? std::optional{asking[part]} : std::nullopt);
    }
    return result;
}

bool has_all_its_devices(const container_entries& containers, std::size_t container, std::int64_t devices) {
    const device_request& own = *containers.own[container];
    return own != containers.entries[*containers.owners[container]] && devices >= own.count;
}

partition part_of_container(const container_entries& containers, std::size_t container, const partition& part,
                            mib device_memory) {
    const device_request& own = *containers.own[container];
    const slice* const amounts = std::get_if<slice>(&part);
    if (amounts == nullptr || own == containers.entries[*containers.owners[container]]) return part;
    constexpr std::int64_t whole_percent = 100;
    slice result = *amounts;
    if (kind_of(own) == memory_kind::amount) result.memory = std::min(result.memory, own.memory);
    if (kind_of(own) == memory_kind::percent) {
        result.memory = std::min(result.memory, mib{device_memory.count() * *own.memory_percent / whole_percent});
    }
    result.cores = std::min(result.cores, own.cores);
    return result;
}

void add_at_init(const device_share& share, std::vector<device_share>& shares) {
    const auto same = std::ranges::find_if(shares, [&share](const device_share& other) {
        return other.container == share.container && other.device == share.device;
    });
    if (same == shares.end()) {
        shares.push_back(share);
        return;
    }
    slice* const held = std::get_if<slice>(&same->part);
    const slice* const at_init = std::get_if<slice>(&share.part);
    if (held == nullptr || at_init == nullptr) return; // an instance or a template is given for the longer of both
    held->memory = std::max(held->memory, at_init->memory);
    held->cores = std::max(held->cores, at_init->cores);
}

} // namespace vgpualloc::dialects::hami_text
