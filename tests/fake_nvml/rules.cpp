#include "rules.hpp"

#include <algorithm>
#include <array>

#include "vgpualloc/catalog/mig_layouts.hpp"

namespace fake_nvml {

namespace {

using vgpualloc::mig_profile_kind;

/// NVML's index of a profile by its kind and compute slices; gpu_profile_count where NVML has none.
[[nodiscard]] std::uint32_t defined_index(const vgpualloc::mig_profile& profile) noexcept {
    struct entry {
        mig_profile_kind kind;
        std::int64_t slices;
        std::uint32_t index;
    };
    constexpr std::array<entry, 17> entries{{{mig_profile_kind::core, 1, 0x0},
                                             {mig_profile_kind::core, 2, 0x1},
                                             {mig_profile_kind::core, 3, 0x2},
                                             {mig_profile_kind::core, 4, 0x3},
                                             {mig_profile_kind::core, 7, 0x4},
                                             {mig_profile_kind::core, 8, 0x5},
                                             {mig_profile_kind::core, 6, 0x6},
                                             {mig_profile_kind::media, 1, 0x7},
                                             {mig_profile_kind::media, 2, 0x8},
                                             {mig_profile_kind::double_memory, 1, 0x9},
                                             {mig_profile_kind::graphics, 1, 0xA},
                                             {mig_profile_kind::graphics, 2, 0xB},
                                             {mig_profile_kind::graphics, 4, 0xC},
                                             {mig_profile_kind::no_media, 1, 0xD},
                                             {mig_profile_kind::no_media, 2, 0xE},
                                             {mig_profile_kind::all_media, 1, 0xF},
                                             {mig_profile_kind::all_media, 2, 0x10}}};
    for (const entry& known : entries) {
        if (known.kind == profile.kind && known.slices == profile.compute_slices.count()) return known.index;
    }
    return abi::gpu_profile_count;
}

[[nodiscard]] std::uint64_t slices_at(std::uint32_t start, std::uint32_t size) noexcept {
    const std::uint64_t low = size >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << size) - 1;
    return start >= 64 ? 0 : low << start;
}

[[nodiscard]] std::uint64_t slices_taken(const machine& host, std::size_t gpu_index) noexcept {
    std::uint64_t taken = 0;
    for (const instance& made : host.instances) {
        if (made.gpu == gpu_index) taken |= slices_at(made.start, made.size);
    }
    return taken;
}

/// The instances of a GPU as the catalog sees them; those of unknown profiles only take their slices.
[[nodiscard]] vgpualloc::mig_layout layout_of(const machine& host, std::size_t gpu_index) {
    vgpualloc::mig_layout layout;
    const auto& profiles = host.gpus[gpu_index].table->profiles;
    for (const instance& made : host.instances) {
        if (made.gpu != gpu_index) continue;
        const auto profile =
            std::ranges::find(profiles, std::int64_t{made.profile_id}, &vgpualloc::mig_profile::profile_id);
        if (profile == profiles.end()) continue;
        layout.push_back({static_cast<std::size_t>(profile - profiles.begin()), vgpualloc::mig_units{made.start}});
    }
    std::ranges::sort(layout, {}, &vgpualloc::mig_slot::start);
    return layout;
}

[[nodiscard]] bool fits(const machine& host, std::size_t gpu_index, const vgpualloc::mig_profile& profile,
                        std::uint32_t start) {
    const auto size = static_cast<std::uint32_t>(profile.size.count());
    if ((slices_taken(host, gpu_index) & slices_at(start, size)) != 0) return false;
    const vgpualloc::mig_model& model = *host.gpus[gpu_index].table;
    const vgpualloc::mig_slot slot{static_cast<std::size_t>(&profile - model.profiles.data()),
                                   vgpualloc::mig_units{start}};
    return vgpualloc::may_join(model, layout_of(host, gpu_index), slot);
}

/// Half of a GPU counts from 1, a quarter from 3, an eighth from 7, each by its place: the same place has the same
/// number.
[[nodiscard]] std::uint32_t number_of(const machine& host, std::size_t gpu_index, std::uint32_t start,
                                      std::uint32_t size) {
    const auto units = static_cast<std::uint32_t>(host.gpus[gpu_index].table->units.count());
    std::uint32_t number = units / size - 1 + start / size;
    while (host.find(gpu_index, number) != nullptr) ++number;
    return number;
}

[[nodiscard]] std::optional<std::uint32_t> first_start(const machine& host, std::size_t gpu_index,
                                                       const vgpualloc::mig_profile& profile) {
    for (const vgpualloc::mig_units start : profile.starts) {
        const auto candidate = static_cast<std::uint32_t>(start.count());
        if (fits(host, gpu_index, profile, candidate)) return candidate;
    }
    return std::nullopt;
}

[[nodiscard]] std::uint64_t mixed(std::uint64_t hash, std::string_view text) noexcept {
    for (const char letter : text) {
        hash ^= static_cast<unsigned char>(letter);
        hash *= 0x100000001b3U; // FNV-1a
    }
    return hash ^ (hash >> 29U);
}

} // namespace

const vgpualloc::mig_profile* profile_of(const gpu& card, std::uint32_t profile_id) noexcept {
    if (card.table == nullptr) return nullptr;
    const auto& profiles = card.table->profiles;
    const auto profile = std::ranges::find(profiles, std::int64_t{profile_id}, &vgpualloc::mig_profile::profile_id);
    return profile == profiles.end() ? nullptr : &*profile;
}

std::uint32_t profile_index(const vgpualloc::mig_model& model, const vgpualloc::mig_profile& profile) {
    std::uint64_t taken = 0;
    for (const vgpualloc::mig_profile& other : model.profiles) {
        const std::uint32_t index = defined_index(other);
        if (index < abi::gpu_profile_count) taken |= std::uint64_t{1} << index;
    }
    // Profiles that NVML has no index for follow in the gaps, in the model's order.
    for (const vgpualloc::mig_profile& other : model.profiles) {
        std::uint32_t index = defined_index(other);
        if (index == abi::gpu_profile_count) {
            index = 0;
            while ((taken & (std::uint64_t{1} << index)) != 0) ++index;
            taken |= std::uint64_t{1} << index;
        }
        if (&other == &profile) return index;
    }
    return abi::gpu_profile_count;
}

answer<instance> create_instance(machine& host, std::size_t gpu_index, std::uint32_t profile_id,
                                 const std::optional<place>& at) {
    const gpu& card = host.gpus[gpu_index];
    if (!card.mig_enabled) return vgpualloc::unexpected(result::not_supported);
    const vgpualloc::mig_profile* profile = profile_of(card, profile_id);
    if (profile == nullptr) return vgpualloc::unexpected(result::invalid_argument);
    const auto size = static_cast<std::uint32_t>(profile->size.count());
    if (at) {
        const bool offered = at->size == size && std::ranges::find(profile->starts, vgpualloc::mig_units{at->start}) !=
                                                     profile->starts.end();
        if (!offered) return vgpualloc::unexpected(result::invalid_argument);
        if (!fits(host, gpu_index, *profile, at->start)) return vgpualloc::unexpected(result::insufficient_resources);
    }
    const std::optional<std::uint32_t> start = at ? at->start : first_start(host, gpu_index, *profile);
    if (!start) return vgpualloc::unexpected(result::insufficient_resources);
    instance made{.gpu = gpu_index,
                  .gi = number_of(host, gpu_index, *start, size),
                  .profile_id = profile_id,
                  .start = *start,
                  .size = size};
    host.instances.push_back(made);
    return made;
}

result destroy_instance(machine& host, std::size_t gpu_index, std::uint32_t gi) {
    const instance* gone = host.find(gpu_index, gi);
    if (gone == nullptr) return result::not_found;
    if (is_busy(host, *gone) || !gone->compute.empty()) return result::in_use;
    host.instances.erase(host.instances.begin() + (gone - host.instances.data()));
    return result::success;
}

answer<compute_instance> create_compute(machine& host, std::size_t gpu_index, std::uint32_t gi, std::uint32_t profile) {
    instance* parent = host.find(gpu_index, gi);
    if (parent == nullptr) return vgpualloc::unexpected(result::not_found);
    const std::uint32_t slices = compute_slices_of(profile);
    const std::uint32_t whole = compute_slices_of(host, *parent);
    if (slices == 0) return vgpualloc::unexpected(result::invalid_argument);
    if (slices > whole) return vgpualloc::unexpected(result::not_supported);
    std::uint32_t taken = 0;
    std::uint32_t number = 0;
    for (const compute_instance& other : parent->compute) taken += compute_slices_of(other.profile);
    if (taken + slices > whole) return vgpualloc::unexpected(result::insufficient_resources);
    while (std::ranges::find(parent->compute, number, &compute_instance::id) != parent->compute.end()) ++number;
    return parent->compute.emplace_back(compute_instance{number, profile});
}

result destroy_compute(machine& host, std::size_t gpu_index, std::uint32_t gi, std::uint32_t ci) {
    instance* parent = host.find(gpu_index, gi);
    if (parent == nullptr) return result::not_found;
    const auto gone = std::ranges::find(parent->compute, ci, &compute_instance::id);
    if (gone == parent->compute.end()) return result::not_found;
    if (is_busy(host, *parent)) return result::in_use;
    parent->compute.erase(gone);
    return result::success;
}

mode_change set_mig_mode(gpu& card, bool has_instances, bool enabled) {
    if (!card.mig_capable) return {.code = result::not_supported};
    if (card.mig_enabled == enabled) {
        card.mig_pending.reset();
        return {};
    }
    if (has_instances) return {.code = result::in_use};
    if (card.mig_needs_reset || !card.processes.empty()) {
        card.mig_pending = enabled;
        return {.activation = card.mig_needs_reset ? result::reset_required : result::in_use};
    }
    card.mig_enabled = enabled;
    card.mig_pending.reset();
    return {};
}

bool is_busy(const machine& host, const instance& made) {
    return made.busy || std::ranges::any_of(host.gpus[made.gpu].processes,
                                            [&](const process& running) { return running.gi == made.gi; });
}

bool has_instances(const machine& host, std::size_t gpu_index) {
    return std::ranges::any_of(host.instances, [&](const instance& made) { return made.gpu == gpu_index; });
}

std::uint32_t remaining_instances(const machine& host, std::size_t gpu_index, std::uint32_t profile_id) {
    machine trial = host;
    std::uint32_t count = 0;
    while (create_instance(trial, gpu_index, profile_id, std::nullopt)) ++count;
    return count;
}

std::uint32_t compute_slices_of(std::uint32_t profile) noexcept {
    constexpr std::array<std::uint32_t, 7> slices{1, 2, 3, 4, 7, 8, 6};
    return profile < slices.size() ? slices[profile] : 0;
}

std::uint32_t compute_profile_of(std::uint32_t slices) noexcept {
    for (std::uint32_t profile = 0; profile < abi::compute_profile_count; ++profile) {
        if (slices != 0 && compute_slices_of(profile) == slices) return profile;
    }
    return abi::compute_profile_count;
}

std::uint32_t compute_slices_of(const machine& host, const instance& made) noexcept {
    const vgpualloc::mig_profile* profile = profile_of(host.gpus[made.gpu], made.profile_id);
    return profile == nullptr ? 0 : static_cast<std::uint32_t>(profile->compute_slices.count());
}

std::vector<mig_device> mig_devices(const machine& host, std::size_t gpu_index) {
    std::vector<mig_device> devices;
    if (!host.gpus[gpu_index].mig_enabled) return devices;
    for (const instance& made : host.instances) {
        if (made.gpu != gpu_index) continue;
        for (const compute_instance& part : made.compute) devices.push_back({made.gi, part.id});
    }
    std::ranges::sort(devices, {}, [](const mig_device& device) { return std::pair{device.gi, device.ci}; });
    if (host.reverse_index_order) std::ranges::reverse(devices);
    return devices;
}

std::string uuid_of(const machine& host, const instance& made, std::uint32_t ci) {
    const std::string& parent = host.gpus[made.gpu].uuid;
    for (const mig_uuid& given : host.mig_uuids) {
        if (given.gpu_uuid == parent && given.gi == made.gi && given.ci == ci && given.profile_id == made.profile_id)
            return given.uuid;
    }
    const std::string key =
        parent + '/' + std::to_string(made.gi) + '/' + std::to_string(ci) + '/' + std::to_string(made.profile_id);
    std::array<std::uint64_t, 2> hash{mixed(0xcbf29ce484222325U, key), mixed(0x84222325cbf29ce4U, key)};
    hash[0] = (hash[0] & ~std::uint64_t{0xF000}) | 0x5000U;          // version 5: of a name
    hash[1] = (hash[1] & 0x3FFFFFFFFFFFFFFFU) | 0x8000000000000000U; // RFC 4122's variant
    std::string text = "MIG-";
    for (std::size_t digit = 0; digit < 32; ++digit) {
        if (digit == 8 || digit == 12 || digit == 16 || digit == 20) text += '-';
        text += "0123456789abcdef"[(hash[digit / 16] >> (60 - 4 * (digit % 16))) & 0xFU];
    }
    return text;
}

} // namespace fake_nvml
