// Modes for registrations. A cluster has a handful of them for its hundreds of thousands of devices.
#include "vgpualloc/mode/factory.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "errors.hpp"
#include "vgpualloc/mode/all.hpp"
#include "vgpualloc/model/limits.hpp"

namespace vgpualloc {

namespace {

/// The registration that a mode was made for. Hangs on the mode's pointer in cluster::modes as its deleter, so that
/// registrations with an equal key find it.
struct made_for {
    const mode_entry* entry = nullptr;
    device_registration device;
    shared_mode owner;

    [[nodiscard]] bool serves(const mode_entry& other, const device_registration& registration) const {
        return entry == &other && entry->key(device, registration);
    }
    void operator()(const sharing_mode*) const noexcept {} // `owner` goes with the deleter
};

expected<const sharing_mode*> mode_for(device_kinds& known, const device_registration& device,
                                       const mig_catalog& catalog) {
    const auto entry = find_mode_entry(device.mode);
    if (!entry) return unexpected(entry.error());
    for (const shared_mode& mode : known.modes) {
        const auto* origin = std::get_deleter<made_for>(mode);
        if (origin != nullptr && origin->serves(**entry, device)) return mode.get();
    }
    auto mode = (*entry)->make(device, catalog);
    if (!mode) return unexpected(std::move(mode).error());
    const sharing_mode* const result = mode->get();
    if (mode->use_count() == 0) return result; // lives as long as the program
    known.modes.emplace_back(result, made_for{.entry = *entry, .device = device, .owner = *std::move(mode)});
    return result;
}

expected<void> check_amounts(const device_registration& device) {
    if (device.memory < mib{1} || device.memory > device_memory_max) {
        return unexpected(modes::out_of_range("memory", device.memory.count(), "1 to 2^40 MiB"));
    }
    if (device.cores < core_percent{1} || device.cores > device_cores_max) {
        return unexpected(modes::out_of_range("cores", device.cores.count(), "1 to 1000000"));
    }
    if (device.slots < 1 || device.slots > device_slots_max) {
        return unexpected(modes::out_of_range("slots", device.slots, "1 to 1000000"));
    }
    return {};
}

device_spec spec_of(const device_registration& device, const sharing_mode& mode) {
    return mode.adapted({.model = device.model,
                         .family = device.family,
                         .memory = device.memory,
                         .cores = device.cores,
                         .slots = device.slots,
                         .mode = &mode});
}

/// A device that nothing can be given of, whatever it registered.
device_spec placeholder(const device_registration& device) {
    return {.model = device.model,
            .family = device.family,
            .memory = std::clamp(device.memory, mib{1}, device_memory_max),
            .cores = std::clamp(device.cores, core_percent{1}, device_cores_max),
            .slots = std::clamp<std::int64_t>(device.slots, 1, device_slots_max),
            .mode = *find_mode("exclusive")};
}

expected<device_spec> read_spec(device_kinds& known, const device_registration& device, const mig_catalog& catalog) {
    if (auto amounts = check_amounts(device); !amounts) return unexpected(std::move(amounts).error());
    const auto mode = mode_for(known, device, catalog);
    if (!mode) return unexpected(mode.error());
    return spec_of(device, **mode);
}

std::uint32_t kind_for(device_kinds& known, const node& where, const device_spec& spec) {
    if (!where.devices.empty()) { // mostly like its neighbour
        const std::uint32_t kind = where.devices.back().kind;
        if (kind < known.kinds.size() && known.kinds[kind] == spec) return kind;
    }
    return known.kind_of(spec);
}

} // namespace

expected<shared_mode> make_mode(const device_registration& device, const mig_catalog& catalog) {
    const auto entry = find_mode_entry(device.mode);
    if (!entry) return unexpected(entry.error());
    return (*entry)->make(device, catalog);
}

expected<void> add_device(device_kinds& known, node& where, const device_registration& device,
                          const mig_catalog& catalog) {
    const auto refuse = [&](error why) {
        why.where = "device " + device.uuid + (why.where.empty() ? "" : ": " + why.where);
        return unexpected(std::move(why));
    };
    if (static_cast<std::int64_t>(where.devices.size()) >= devices_per_node_max) {
        return refuse(bad_value(error_code::out_of_range, "devices", std::to_string(where.devices.size() + 1),
                                "at most " + std::to_string(devices_per_node_max) + " devices on a node"));
    }
    const bool twice = std::ranges::find(where.devices, device.uuid, &vgpualloc::device::uuid) != where.devices.end();
    if (twice && !device.uuid.empty()) {
        return refuse(bad_value(error_code::duplicate, "uuid", device.uuid, "every device of a node once"));
    }
    auto spec = read_spec(known, device, catalog);
    if (!spec && device.healthy) return refuse(std::move(spec).error());
    const std::uint32_t kind = kind_for(known, where, spec ? *spec : placeholder(device));
    where.devices.push_back({.uuid = device.uuid,
                             .kind = kind,
                             .link_group = device.link_group,
                             .service = device.healthy ? service_state::in_service : service_state::failed});
    return {};
}

} // namespace vgpualloc
