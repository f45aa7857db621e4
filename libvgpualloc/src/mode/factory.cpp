// Modes for registrations. A cluster has a handful of them for its hundreds of thousands of devices.
#include "vgpualloc/mode/factory.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include "vgpualloc/catalog/mig_offers.hpp"
#include "vgpualloc/mode/all.hpp"
#include "vgpualloc/mode/ascend_vir.hpp"
#include "vgpualloc/mode/mig.hpp"
#include "vgpualloc/mode/mig_groups.hpp"
#include "vgpualloc/mode/mindcluster_310p.hpp"
#include "vgpualloc/model/limits.hpp"

namespace vgpualloc {

namespace {

using made_mode = std::shared_ptr<const sharing_mode>;

enum class mode_table { none, mig_groups, mig_model, npu, chip };

mode_table table_of(const device_registration& from) {
    if (from.mode == "mig") return from.geometry.empty() ? mode_table::mig_model : mode_table::mig_groups;
    if (from.mode == "ascend_vir") return mode_table::npu;
    return from.mode == "mindcluster_310p" ? mode_table::chip : mode_table::none;
}

/// What of a registration its mode is made from. Hangs on the mode's pointer in cluster::modes as its deleter, so that
/// equal registrations find it.
struct mode_key {
    mode_table table = mode_table::none;
    device_registration from;
    made_mode owner;

    [[nodiscard]] bool is_for(const device_registration& other) const {
        if (table != table_of(other)) return false;
        switch (table) {
        case mode_table::mig_groups:
            return from.memory_factor == other.memory_factor && from.geometry == other.geometry;
        case mode_table::mig_model:
            return from.model == other.model && from.offers == other.offers;
        case mode_table::npu:
            return from.soft == other.soft && from.npu == other.npu;
        case mode_table::chip:
            return from.cores == other.cores && from.npu.ai_cpu == other.npu.ai_cpu;
        case mode_table::none:
            break;
        }
        return false;
    }
    void operator()(const sharing_mode*) const noexcept {} // `owner` goes with the key
};

error out_of_range(const char* field, std::int64_t value, const char* allowed) {
    return {.code = error_code::out_of_range,
            .where = "",
            .field = field,
            .value = std::to_string(value),
            .expected = allowed};
}

constexpr std::int64_t amount_max = 1'000'000;
constexpr mib memory_max{std::int64_t{1} << 40U}; // of any device, so that products and sums fit

expected<made_mode> make_groups(const device_registration& from) {
    if (from.memory_factor < 1) return unexpected(out_of_range("memory_factor", from.memory_factor, "at least 1"));
    std::int64_t slots = 0;
    for (const mig_group& group : from.geometry) {
        for (const mig_kind& kind : group.kinds) {
            if (kind.count < 0) return unexpected(out_of_range("geometry count", kind.count, "0 or more"));
            if (kind.memory < mib{0} || kind.memory > memory_max) {
                return unexpected(out_of_range("geometry memory", kind.memory.count(), "0 to 2^40 MiB"));
            }
            slots += std::min(kind.count, modes::mig_groups::slots_max + 1); // the sum of any counts stays small
        }
    }
    if (slots > modes::mig_groups::slots_max) {
        return unexpected(error{.code = error_code::unsupported,
                                .where = "",
                                .field = "geometry",
                                .value = std::to_string(slots) + " instances or more",
                                .expected = "at most 64 over all groups of a GPU"});
    }
    return std::make_shared<const modes::mig_groups>(from.geometry, from.memory_factor);
}

template <class Mode>
expected<made_mode> as_mode(expected<std::shared_ptr<const Mode>> made) {
    if (!made) return unexpected(std::move(made).error());
    return made_mode{*std::move(made)};
}

expected<made_mode> make_mode(const device_registration& from, const mig_catalog& catalog) {
    switch (table_of(from)) {
    case mode_table::mig_groups:
        return make_groups(from);
    case mode_table::mig_model: {
        const auto model = model_of(catalog, from);
        if (!model) return unexpected(model.error());
        return as_mode(modes::make_mig(*model));
    }
    case mode_table::npu:
        return as_mode(modes::make_ascend_vir(from.npu, from.soft));
    case mode_table::chip: {
        constexpr std::int64_t ai_cpu_of_known_chips = 7;
        return as_mode(
            modes::make_mindcluster_310p(from.cores, from.npu.ai_cpu > 0 ? from.npu.ai_cpu : ai_cpu_of_known_chips));
    }
    case mode_table::none:
        break;
    }
    return unexpected(error{.code = error_code::unknown_name,
                            .where = "",
                            .field = "mode",
                            .value = from.mode,
                            .expected = "a mode with a table"});
}

expected<const sharing_mode*> mode_for(device_kinds& to, const device_registration& from, const mig_catalog& catalog) {
    if (table_of(from) == mode_table::none) return find_mode(from.mode);
    for (const made_mode& each : to.modes) {
        const auto* key = std::get_deleter<mode_key>(each);
        if (key != nullptr && key->is_for(from)) return each.get();
    }
    auto made = make_mode(from, catalog);
    if (!made) return unexpected(std::move(made).error());
    const sharing_mode* mode = made->get();
    to.modes.emplace_back(mode, mode_key{.table = table_of(from), .from = from, .owner = *std::move(made)});
    return mode;
}

expected<void> check_amounts(const device_registration& from) {
    if (from.memory < mib{1} || from.memory > memory_max) {
        return unexpected(out_of_range("memory", from.memory.count(), "1 to 2^40 MiB"));
    }
    if (from.cores < core_percent{1} || from.cores > core_percent{amount_max}) {
        return unexpected(out_of_range("cores", from.cores.count(), "1 to 1000000"));
    }
    if (from.slots < 1 || from.slots > amount_max) {
        return unexpected(out_of_range("slots", from.slots, "1 to 1000000"));
    }
    return {};
}

device_spec spec_of(const device_registration& from, const sharing_mode& mode) {
    device_spec spec{.model = from.model,
                     .family = from.family,
                     .memory = from.memory,
                     .cores = from.cores,
                     .slots = from.slots,
                     .mode = &mode};
    // A registered NPU says what it has; a table says it only of the kind.
    return table_of(from) == mode_table::npu ? spec : mode.adapted(std::move(spec));
}

/// A device that nothing can be given of, in a mode that needs no table.
device_spec placeholder(const device_registration& from) {
    return {.model = from.model,
            .family = from.family,
            .memory = std::clamp(from.memory, mib{1}, memory_max),
            .cores = std::clamp(from.cores, core_percent{1}, core_percent{amount_max}),
            .slots = std::clamp<std::int64_t>(from.slots, 1, amount_max),
            .mode = &modes::instance<modes::exclusive>()};
}

expected<device_spec> read_spec(device_kinds& to, const device_registration& from, const mig_catalog& catalog) {
    if (auto amounts = check_amounts(from); !amounts) return unexpected(std::move(amounts).error());
    const auto mode = mode_for(to, from, catalog);
    if (!mode) return unexpected(mode.error());
    return spec_of(from, **mode);
}

std::uint32_t kind_for(device_kinds& to, const node& where, const device_spec& spec) {
    if (!where.devices.empty()) { // mostly like its neighbour
        const std::uint32_t kind = where.devices.back().kind;
        if (kind < to.kinds.size() && to.kinds[kind] == spec) return kind;
    }
    return to.kind_of(spec);
}

} // namespace

expected<void> add_device(device_kinds& to, node& where, const device_registration& from, const mig_catalog& catalog) {
    const auto refuse = [&](error why) {
        why.where = "device " + from.uuid + (why.where.empty() ? "" : ": " + why.where);
        return unexpected(std::move(why));
    };
    if (static_cast<std::int64_t>(where.devices.size()) >= devices_per_node_max) {
        return refuse({.code = error_code::out_of_range,
                       .where = "",
                       .field = "devices",
                       .value = std::to_string(where.devices.size() + 1),
                       .expected = "at most " + std::to_string(devices_per_node_max) + " devices on a node"});
    }
    const bool known = std::ranges::find(where.devices, from.uuid, &device::uuid) != where.devices.end();
    if (known && !from.uuid.empty()) {
        return refuse({.code = error_code::duplicate,
                       .where = "",
                       .field = "uuid",
                       .value = from.uuid,
                       .expected = "every device of a node once"});
    }
    auto spec = read_spec(to, from, catalog);
    if (!spec && from.healthy) return refuse(std::move(spec).error());
    const std::uint32_t kind = kind_for(to, where, spec ? *spec : placeholder(from));
    where.devices.push_back({.uuid = from.uuid,
                             .kind = kind,
                             .link_group = from.link_group,
                             .service = from.healthy ? service_state::in_service : service_state::failed});
    return {};
}

} // namespace vgpualloc
