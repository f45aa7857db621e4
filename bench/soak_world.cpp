#include "soak_world.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "vgpualloc/catalog/catalog.hpp"
#include "vgpualloc/mode/all.hpp"
#include "vgpualloc/mode/factory.hpp"

namespace vgpusoak {

using namespace vgpualloc;

namespace {

enum class pool : std::uint8_t {
    shared_a100,
    shared_t4,
    whole_v100,
    mig_a100,
    grouped_a100,
    ascend_910b,
    ascend_310p,
    mps,
    cce,
    mixed_a100,
    no_devices,
};

constexpr std::array pools{
    pool::shared_a100, pool::mig_a100,     pool::whole_v100, pool::shared_a100, pool::ascend_910b,
    pool::mixed_a100,  pool::grouped_a100, pool::shared_t4,  pool::ascend_310p, pool::shared_a100,
    pool::mps,         pool::cce,          pool::no_devices, pool::shared_a100, pool::ascend_910b,
    pool::mig_a100,    pool::whole_v100,   pool::shared_t4,  pool::mixed_a100,  pool::shared_a100,
};

device_registration registration_of(std::string model, const char* mode, mib memory, std::int64_t slots) {
    device_registration device;
    device.model = std::move(model);
    device.family = "NVIDIA";
    device.mode = mode;
    device.memory = memory;
    device.slots = slots;
    return device;
}

device_registration example_of(const char* mode, const char* model) {
    device_registration device = (*find_mode_entry(mode))->example();
    if (device.model.empty()) device.model = model;
    return device;
}

device_registration grouped_a100() {
    device_registration device = registration_of("A100-grouped", "mig", mib{40'960}, 7);
    device.geometry = {{.name = "small", .kinds = {{.name = "1g.5gb", .memory = mib{5'120}, .count = 7}}},
                       {.name = "large",
                        .kinds = {{.name = "3g.20gb", .memory = mib{20'480}, .count = 1},
                                  {.name = "2g.10gb", .memory = mib{10'240}, .count = 2}}}};
    return device;
}

/// The device with index `index` of a machine.
device_registration registration_in(pool of, std::int64_t index) {
    switch (of) {
    case pool::shared_a100:
        return registration_of("A100", "hami_core", mib{40'960}, 10);
    case pool::shared_t4:
        return registration_of("T4", "hami_core", mib{15'360}, 4);
    case pool::whole_v100:
        return registration_of("V100", "exclusive", mib{32'768}, 1);
    case pool::mig_a100:
        return example_of("mig", "A100-mig");
    case pool::grouped_a100:
        return grouped_a100();
    case pool::ascend_910b:
        return example_of("ascend_vir", "910B");
    case pool::ascend_310p:
        return example_of("mindcluster_310p", "310P");
    case pool::mps:
        return example_of("mps", "A100-mps");
    case pool::cce:
        return example_of("cce", "A100-cce");
    case pool::mixed_a100:
        return index % 2 == 0 ? registration_of("A100", "hami_core", mib{40'960}, 10)
                              : registration_of("A100", "exclusive", mib{40'960}, 1);
    case pool::no_devices:
        break;
    }
    return {};
}

void add_device_or_end(device_kinds& kinds, node& where, const device_registration& device) {
    static const hardware_catalog catalog = built_in_catalog();
    if (const auto added = add_device(kinds, where, device, catalog.mig); !added) {
        std::fprintf(stderr, "soak: %s\n", added.error().message().c_str());
        std::exit(EXIT_FAILURE);
    }
}

pod_request on_devices(device_request container, std::int64_t cpu = 2'000) {
    return {.cpu = milli_cpu{cpu}, .memory = bytes{std::int64_t{8} << 30U}, .containers = {std::move(container)}};
}

device_request slice_of(std::int64_t count, std::int64_t memory, std::int64_t cores, const char* mode) {
    return {.count = count, .memory = mib{memory}, .cores = core_percent{cores}, .mode = mode};
}

} // namespace

soak_world::soak_world(const world_options& options) {
    node samples;
    add_device_or_end(start_, samples, registration_in(pool::mixed_a100, 0));
    add_device_or_end(start_, samples, registration_in(pool::mixed_a100, 1));
    shared_kind_ = samples.devices[0].kind;
    whole_kind_ = samples.devices[1].kind;
    for (std::int64_t i = 0; i < options.nodes + std::max<std::int64_t>(1, options.nodes / 8); ++i) {
        add_machine(options.devices);
    }
    start_.nodes.assign(machines_.begin(), machines_.begin() + options.nodes);
    add_requests();
    add_naming_requests();
}

void soak_world::add_machine(std::int64_t devices) {
    const std::size_t number = machines_.size();
    const pool of = pools[number % pools.size()];
    node described{.name = "machine-" + std::to_string(number),
                   .cpu = milli_cpu{128'000},
                   .memory = bytes{std::int64_t{512} << 30U}};
    described.host.labels.emplace_back("zone", std::string(1, static_cast<char>('a' + number % 3)));
    if (number % 16 == 7) described.host.taints.push_back({.key = "team", .value = "vision"});
    for (std::int64_t i = 0; of != pool::no_devices && i < devices; ++i) {
        device_registration device = registration_in(of, i);
        device.uuid = "GPU-" + std::to_string(number) + "-0000-4b1d-" + std::to_string(i);
        device.link_group = static_cast<std::int32_t>(i / 4);
        add_device_or_end(start_, described, device);
    }
    machines_.push_back(std::move(described));
}

void soak_world::add_request(std::uint32_t weight, pod_request request) {
    weighted_.insert(weighted_.end(), weight, static_cast<std::uint32_t>(requests_.size()));
    requests_.push_back(std::move(request));
}

void soak_world::add_requests() {
    add_request(12, on_devices(slice_of(1, 4'096, 10, "hami_core")));
    add_request(8, on_devices(slice_of(1, 8'192, 20, "hami_core")));
    add_request(6, on_devices(slice_of(2, 6'144, 15, "hami_core")));
    add_request(3, on_devices(slice_of(4, 10'240, 25, "hami_core")));
    pod_request percent = on_devices(slice_of(1, 0, 50, "hami_core"));
    percent.containers[0].memory_percent = 50;
    add_request(4, percent);
    pod_request zonal = on_devices(slice_of(1, 2'048, 5, "hami_core"), 0); // asks for no CPU
    zonal.rules.node_selector.emplace_back("zone", "b");
    add_request(3, zonal);
    pod_request tolerant = on_devices(slice_of(1, 12'288, 30, "hami_core"));
    tolerant.rules.tolerations.push_back({.key = "team", .value = "vision"});
    tolerant.containers.push_back(slice_of(1, 1'024, 5, "hami_core"));
    add_request(3, tolerant);
    add_request(6, on_devices(slice_of(1, 0, 0, "exclusive")));
    add_request(2, on_devices(slice_of(4, 0, 0, "exclusive"), 8'000));
    add_request(5, on_devices(slice_of(1, 4'000, 0, "mig")));
    add_request(4, on_devices(slice_of(1, 9'000, 0, "mig")));
    add_request(2, on_devices(slice_of(2, 18'000, 0, "mig")));
    add_request(5, on_devices(slice_of(1, 8'192, 0, "ascend_vir")));
    add_request(3, on_devices(slice_of(2, 65'536, 0, "ascend_vir")));
    add_request(2, on_devices(slice_of(1, 0, 2, "mindcluster_310p")));
    add_request(1, on_devices(slice_of(1, 0, 4, "mindcluster_310p")));
    add_request(4, on_devices(slice_of(1, 5'120, 12, "mps")));
    add_request(4, on_devices(slice_of(1, 6'400, 10, "cce")));
    add_request(4, on_devices(slice_of(1, 3'072, 0, ""))); // in whatever mode
    add_request(4, {.cpu = milli_cpu{4'000}, .memory = bytes{std::int64_t{16} << 30U}, .containers = {}});
}

void soak_world::add_naming_requests() {
    first_naming_ = requests_.size();
    pod_request apart = on_devices(slice_of(1, 4'096, 10, "hami_core"));
    apart.tags = {"training"};
    apart.avoids = {"training"};
    add_request(0, apart);
    pod_request linked = on_devices(slice_of(4, 8'192, 20, "hami_core"));
    linked.one_link_group = true;
    add_request(0, linked);
    pod_request chosen = on_devices(slice_of(1, 2'048, 5, "hami_core"));
    chosen.containers[0].uuids_denied = {machines_[0].devices.empty() ? "none" : machines_[0].devices[0].uuid};
    add_request(0, chosen);
}

pod_request soak_world::draw_new_request(rng& draw) {
    const auto memory = 512 + static_cast<std::int64_t>(draw.below(16'384));
    const auto cores = static_cast<std::int64_t>(draw.below(30));
    return on_devices(slice_of(1, memory, cores, "hami_core"), static_cast<std::int64_t>(draw.below(4'000)));
}

node soak_world::changed_machine(std::size_t number, rng& draw) const {
    node described = machines_[number];
    std::vector<device>& devices = described.devices;
    switch (draw.below(6)) {
    case 0: // as it was at first
        break;
    case 1: // so little that pods may exceed it
        described.cpu = milli_cpu{static_cast<std::int64_t>(8 + draw.below(120)) * 1'000};
        break;
    case 2:
        described.host.taints.push_back({.key = "maintenance", .effect = taint_effect::prefer_no_schedule});
        break;
    case 3:
        std::ranges::reverse(devices);
        break;
    case 4:
        if (!devices.empty()) devices.erase(devices.begin() + static_cast<std::ptrdiff_t>(draw.below(devices.size())));
        break;
    default:
        for (device& registered : devices) {
            if (registered.kind == shared_kind_) {
                registered.kind = whole_kind_;
            } else if (registered.kind == whole_kind_) {
                registered.kind = shared_kind_;
            }
        }
        break;
    }
    return described;
}

} // namespace vgpusoak
