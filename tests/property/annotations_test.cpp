// Restarting from what pods and nodes say: every placement that is live after any order of placing and releasing is
// written as the annotations of its dialect, read back, and adopted by an empty ledger, which then counts the same.
#include "support.hpp"

#include <functional>
#include <memory>
#include <utility>

#include "vgpualloc/catalog/ascend.hpp"
#include "vgpualloc/core/rng.hpp"
#include "vgpualloc/dialect/ascend_hami.hpp"
#include "vgpualloc/dialect/cce.hpp"
#include "vgpualloc/dialect/gpushare.hpp"
#include "vgpualloc/dialect/hami.hpp"
#include "vgpualloc/dialect/mindcluster.hpp"
#include "vgpualloc/dialect/volcano_vgpu.hpp"
#include "vgpualloc/mode/factory.hpp"
#include "vgpualloc/policy/all.hpp"
#include "vgpualloc/policy/parse.hpp"

namespace vgpualloc::property {
namespace {

using registrations = std::vector<device_registration>;

/// One dialect with its options, and how nodes and pods are drawn in it.
struct spelling {
    std::string name; ///< for people
    std::shared_ptr<const dialect> spoken;
    std::function<device_registration()> draw_device;
    std::function<kubernetes::pod()> draw_pod;
};
void PrintTo(const spelling& entry, std::ostream* out) { *out << entry.name; }

/// A pod of one to three containers, each of which asks by `limits`, or for nothing.
kubernetes::pod pod_with(const std::function<kubernetes::amount_map()>& limits) {
    kubernetes::pod result;
    result.name = "p";
    result.ns = "default";
    for (std::int64_t i = number(1, 3); i > 0; --i) {
        const bool asks = number(0, 4) > 0;
        result.containers.push_back(
            {.name = "c", .limits = asks ? limits() : kubernetes::amount_map{}, .requests = {}});
    }
    return result;
}

// ---- volcano_vgpu

spelling volcano() {
    namespace vgpu = dialects::volcano_vgpu;
    vgpu::options with;
    with.geometries.push_back(
        {.models = {"A100"},
         .groups = {{.name = "small", .kinds = {{.name = "1g.5gb", .memory = mib{5120}, .count = 7}}},
                    {.name = "mixed",
                     .kinds = {{.name = "3g.20gb", .memory = mib{20480}, .count = 1},
                               {.name = "1g.5gb", .memory = mib{5120}, .count = 2},
                               {.name = "2g.10gb", .memory = mib{10240}, .count = 1}}}}});
    spelling result{.name = "volcano_vgpu", .spoken = vgpu::make(with), .draw_device = {}, .draw_pod = {}};
    result.draw_device = [geometry = with.geometries.front().groups] {
        device_registration drawn;
        drawn.mode = one_of<std::string>({"hami_core", "mig"});
        drawn.model = drawn.mode == "mig" ? "NVIDIA-A100" : one_of<std::string>({"NVIDIA-A100", "Tesla-V100"});
        drawn.family = vgpu::family;
        drawn.memory = mib{40960};
        drawn.slots = number(1, 10);
        if (drawn.mode == "mig") drawn.geometry = geometry;
        return drawn;
    };
    result.draw_pod = [] {
        kubernetes::pod drawn = pod_with([] {
            return kubernetes::amount_map{{"volcano.sh/vgpu-number", number(1, 2)},
                                          {"volcano.sh/vgpu-memory", number(0, 40) * 512},
                                          {"volcano.sh/vgpu-cores", one_of<std::int64_t>({0, 10, 25, 100})}};
        });
        const auto mode = one_of<std::string>({"", "hami-core", "mig"});
        if (!mode.empty()) drawn.annotations[vgpu::mode_annotation] = mode;
        return drawn;
    };
    return result;
}

// ---- hami

spelling hami() {
    namespace nvidia = dialects::hami;
    spelling result{.name = "hami", .spoken = nvidia::make({}), .draw_device = {}, .draw_pod = {}};
    result.draw_device = [] {
        device_registration drawn;
        drawn.mode = one_of<std::string>({"hami_core", "mig"});
        drawn.model = one_of<std::string>({"NVIDIA A100-SXM4-40GB", "NVIDIA A30", "NVIDIA B200"});
        drawn.family = nvidia::family;
        drawn.memory = mib{40960};
        drawn.slots = number(1, 10);
        return drawn;
    };
    result.draw_pod = [] {
        kubernetes::pod drawn = pod_with([] {
            kubernetes::amount_map limits{{"nvidia.com/gpu", number(1, 2)}};
            if (number(0, 3) > 0) limits["nvidia.com/gpumem"] = number(1, 40) * 512;
            if (number(0, 3) == 0) limits["nvidia.com/gpumem-percentage"] = number(1, 100);
            if (number(0, 1) == 0) limits["nvidia.com/gpucores"] = number(0, 100);
            return limits;
        });
        const auto mode = one_of<std::string>({"", "hami-core", "mig"});
        if (!mode.empty()) drawn.annotations["nvidia.com/vgpu-mode"] = mode;
        return drawn;
    };
    return result;
}

// ---- ascend_hami

/// One chip of the catalog, cut by its templates or, where `soft`, in software as well.
spelling ascend(const ascend_chip& chip, bool soft) {
    namespace npu = dialects::ascend_hami;
    npu::options with;
    with.kinds.push_back({.npu = npu_of(chip.name),
                          .resource = chip.resource,
                          .resource_memory = chip.resource_memory,
                          .resource_core = chip.resource_core});
    spelling result{.name = "ascend_hami_" + chip.name + (soft ? "_soft" : ""),
                    .spoken = npu::make(with),
                    .draw_device = {},
                    .draw_pod = {}};
    result.draw_device = [=, kind = with.kinds.front().npu] {
        device_registration drawn;
        drawn.mode = npu::mode_name;
        drawn.model = chip.name;
        drawn.family = chip.name;
        drawn.memory = chip.memory_allocatable;
        drawn.cores = core_percent{soft ? 100 : chip.ai_core};
        drawn.slots = number(1, 8);
        drawn.link_group = static_cast<std::int32_t>(number(0, 1));
        drawn.npu = kind;
        drawn.soft = soft;
        return drawn;
    };
    result.draw_pod = [=] {
        kubernetes::pod drawn = pod_with([&] {
            kubernetes::amount_map limits{{chip.resource, number(1, 2)}};
            if (number(0, 3) > 0) limits[chip.resource_memory] = number(1, 64) * 1024;
            if (soft && number(0, 1) == 0) limits[chip.resource_core] = number(1, 100);
            return limits;
        });
        if (soft && number(0, 3) > 0) drawn.annotations["huawei.com/vnpu-mode"] = "hami-core";
        return drawn;
    };
    return result;
}

// ---- mindcluster

spelling mindcluster(std::int64_t cores_per_chip) {
    namespace chips = dialects::mindcluster;
    chips::options with;
    with.chip_cores = {cores_per_chip};
    with.slots = cores_per_chip;
    spelling result{.name = "mindcluster_" + std::to_string(cores_per_chip) + "_cores",
                    .spoken = chips::make(with),
                    .draw_device = {},
                    .draw_pod = {}};
    result.draw_device = [=] {
        device_registration drawn;
        drawn.mode = chips::mode_name;
        drawn.model = "310P3";
        drawn.family = "Ascend310P";
        drawn.memory = with.memory;
        drawn.cores = core_percent{cores_per_chip};
        return drawn;
    };
    result.draw_pod = [=] {
        kubernetes::pod drawn = pod_with([&] {
            return kubernetes::amount_map{
                {"huawei.com/npu-core", one_of<std::int64_t>({1, 1, 2, 2, 4, cores_per_chip, 2 * cores_per_chip})}};
        });
        drawn.labels["ring-controller.atlas"] = "ascend-310P";
        drawn.labels["vnpu-dvpp"] = one_of<std::string>({"null", "null", "yes", "no"});
        drawn.labels["vnpu-level"] = one_of<std::string>({"low", "high"});
        return drawn;
    };
    return result;
}

// ---- cce

spelling cce() {
    namespace cloud = dialects::cce;
    const cloud::options with;
    spelling result{.name = "cce", .spoken = cloud::make(with), .draw_device = {}, .draw_pod = {}};
    result.draw_device = [] {
        device_registration drawn;
        drawn.mode = cloud::mode_name;
        drawn.model = "V100";
        drawn.family = cloud::family;
        drawn.memory = mib{one_of<std::int64_t>({16160, 16384})};
        drawn.slots = cloud::slots;
        return drawn;
    };
    result.draw_pod = [=] {
        return pod_with([&] {
            kubernetes::amount_map limits{{with.memory_name, one_of<std::int64_t>({1, 8, 30, 60, 126})}};
            if (number(0, 1) == 0) limits[with.cores_name] = 5 * number(1, 20);
            return limits;
        });
    };
    return result;
}

// ---- gpushare

spelling gpushare(bool by_memory) {
    namespace cards = dialects::gpushare;
    cards::options with;
    with.memory_enabled = by_memory;
    with.number_enabled = !by_memory;
    spelling result{.name = by_memory ? "gpushare_by_memory" : "gpushare_by_number",
                    .spoken = cards::make(with),
                    .draw_device = {},
                    .draw_pod = {}};
    result.draw_device = [] {
        device_registration drawn;
        drawn.mode = "hami_core";
        drawn.family = cards::family;
        drawn.memory = mib{8192};
        drawn.slots = cards::slots;
        return drawn;
    };
    result.draw_pod = [=] {
        return pod_with([&] {
            return by_memory ? kubernetes::amount_map{{with.memory_name, number(1, 16) * 512}}
                             : kubernetes::amount_map{{with.number_name, number(1, 2)}};
        });
    };
    return result;
}

std::vector<spelling> spellings() {
    std::vector<spelling> result{volcano(), hami(),         mindcluster(8), mindcluster(10),
                                 cce(),     gpushare(true), gpushare(false)};
    for (const ascend_chip& chip : built_in_ascend_catalog().chips) {
        result.push_back(ascend(chip, false));
        result.push_back(ascend(chip, true));
    }
    return result;
}

// ---- the property

/// A cluster as its nodes register it, with the registrations by node.
struct registered_cluster {
    cluster owned;
    std::vector<registrations> devices;
};

registered_cluster draw_cluster(const spelling& in) {
    registered_cluster result;
    const std::int64_t nodes = number(1, 3);
    for (std::int64_t n = 0; n < nodes; ++n) {
        registrations written;
        const std::int64_t count = number(1, 4);
        for (std::int64_t d = 0; d < count; ++d) {
            written.push_back(in.draw_device());
            const bool numbered = written.back().mode == "mindcluster_310p";
            written.back().uuid =
                numbered ? "Ascend310P-" + std::to_string(d) : "GPU-" + std::to_string(n) + "-" + std::to_string(d);
        }
        kubernetes::node registering;
        registering.name = "n" + std::to_string(n);
        kubernetes::text_map config_map;
        in.spoken->write_node(written, registering, config_map);
        auto read = in.spoken->read_node({.object = registering, .config_map = &config_map});
        RC_ASSERT(read.problems.empty());
        RC_ASSERT(read.devices.size() == written.size());
        node offered{.name = registering.name,
                     .cpu = milli_cpu{1'000'000},
                     .memory = to_bytes(mib{1'000'000}),
                     .pods_max = 1'000};
        for (const device_registration& entry : read.devices) {
            RC_ASSERT(add_device(result.owned, offered, entry, built_in_mig_catalog()).has_value());
        }
        result.owned.nodes.push_back(std::move(offered));
        result.devices.push_back(std::move(read.devices));
    }
    return result;
}

/// A pod as it is bound, and where.
struct bound_pod {
    pod_id id;
    node_index where;
    kubernetes::pod manifest; ///< with the annotations of its assignment
};

bound_pod bind(const spelling& in, const registered_cluster& to, pod_id id, kubernetes::pod manifest,
               const placement& given) {
    const registrations& devices = to.devices[given.node.at()];
    const dialects::decision what{
        .node = to.owned.nodes[given.node.at()].name, .time = "1700000000", .shares = given.shares};
    for (const auto& [key, text] : in.spoken->write_assignment(manifest, devices, what))
        manifest.annotations[key] = text;
    return {.id = id, .where = given.node, .manifest = std::move(manifest)};
}

/// An empty ledger that has read the pods in the order given.
ledger restarted(const spelling& in, const registered_cluster& of, const std::vector<bound_pod>& pods) {
    ledger book{of.owned};
    for (const bound_pod& entry : pods) {
        const auto read = in.spoken->read_assignment(entry.manifest, of.devices[entry.where.at()]);
        RC_ASSERT(read.problems.empty());
        booking found{.owner = entry.id, .cpu = {}, .memory = {}, .where = {}};
        found.where.node = entry.where;
        for (const device_share& share : read.shares) found.where.shares.push_back(share);
        RC_ASSERT(book.adopt(std::move(found)).has_value());
    }
    return book;
}

class annotations_property : public testing::TestWithParam<spelling> {};

TEST_P(annotations_property, a_ledger_read_from_the_annotations_is_the_one_that_wrote_them) {
    int placed = 0;
    hold("restart = never stopped", [&placed, &in = GetParam()] {
        const registered_cluster world = draw_cluster(in);
        ledger book{world.owned};
        const auto binpack = parse_policy("binpack", native_policies, {}).value();
        allocator decides{book, {.node = binpack.get(), .device = binpack.get()}};
        std::vector<bound_pod> live;
        const std::int64_t steps = number(1, 16);
        for (std::int64_t step = 0; step < steps; ++step) {
            if (!live.empty() && number(0, 3) == 0) { // release any
                const auto gone = live.begin() + number(0, std::ssize(live) - 1);
                book.release(gone->id);
                live.erase(gone);
                continue;
            }
            kubernetes::pod manifest = in.draw_pod();
            const auto request = in.spoken->read_pod(manifest);
            if (!request || request->containers.empty()) continue;
            const pod_id id{static_cast<std::size_t>(step)};
            const auto given = decides.place(book, id, decides.intern(*request).value());
            if (!given) continue;
            live.push_back(bind(in, world, id, std::move(manifest), *given));
            ++placed;
        }
        rng{static_cast<std::uint64_t>(steps)}.shuffle(live);
        ledger again = restarted(in, world, live);
        RC_ASSERT(use_of(again).devices == use_of(book).devices);
        for (const bound_pod& entry : live) again.release(entry.id);
        RC_ASSERT(use_of(again) == use_of(ledger{world.owned}));
    });
    EXPECT_GT(placed, 0) << "the property is about nothing if nothing is placed";
}

INSTANTIATE_TEST_SUITE_P(all, annotations_property, testing::ValuesIn(spellings()), [](const auto& entry) {
    std::string name = entry.param.name;
    for (char& c : name) c = c == '-' ? '_' : c;
    return name;
});

} // namespace
} // namespace vgpualloc::property
