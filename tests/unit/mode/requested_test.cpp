// What requests ask for of a device, mode by mode, as they are written and whatever they are rounded up to.
#include <gtest/gtest.h>

#include "../support.hpp"
#include "vgpualloc/catalog/catalog.hpp"
#include "vgpualloc/mode/ascend_vir.hpp"
#include "vgpualloc/mode/factory.hpp"
#include "vgpualloc/mode/mig.hpp"
#include "vgpualloc/mode/mindcluster_310p.hpp"

namespace {

using namespace vgpualloc;
using namespace vgpualloc::test;

requested_share asked(fraction memory, fraction compute = {}) { return {.memory = memory, .compute = compute}; }

requested_share of(const device_spec& spec, const device_request& request) {
    return spec.mode->requested(spec, request);
}

/// The only device of a cluster made of that registration.
struct registered {
    explicit registered(const device_registration& device) {
        node where{.name = "n", .cpu = {}, .memory = {}};
        const auto added = add_device(nodes, where, device, built_in_catalog().mig);
        EXPECT_TRUE(added.has_value());
    }
    [[nodiscard]] const device_spec& spec() const { return nodes.kinds.front(); }
    cluster nodes;
};

TEST(requested_of_modes, slices_count_as_they_are_written) {
    for (const char* mode_name : {"hami_core", "mps"}) {
        const device_spec spec = gpu("A", 10, mode_name);
        EXPECT_EQ(of(spec, want(1, 2500)), asked({1, 4})) << mode_name;
        EXPECT_EQ(of(spec, want(1, 2500, 60)), asked({1, 4}, {3, 5})) << mode_name;
        EXPECT_EQ(of(spec, want(1, 0)), asked({1, 1})) << mode_name << ": no compute is asked for";
    }
}

TEST(requested_of_modes, a_part_asked_of_a_whole_device_is_a_part) {
    const device_spec spec = gpu("A", 1, "exclusive");
    EXPECT_EQ(of(spec, want(1, 2500)), asked({1, 4}));
    EXPECT_EQ(of(spec, want(1, 0)), requested_share::all());
}

TEST(requested_of_modes, a_replica_is_one_of_so_many) {
    EXPECT_EQ(of(gpu("A", 4, "time_slicing"), want(1, 0, 100)), asked({1, 4}, {1, 4}));
}

TEST(requested_of_modes, an_instance_that_is_named_counts_its_slices_and_memory_its_mib) {
    const registered device{modes::mig::example()};
    device_request by_name = want(1, 0);
    by_name.profile = "1g.5gb";
    EXPECT_EQ(of(device.spec(), by_name), asked({1, 8}, {1, 7}));
    by_name.profile = "7g.40gb";
    EXPECT_EQ(of(device.spec(), by_name), requested_share::all());
    EXPECT_EQ(of(device.spec(), want(1, 3000)), asked(fraction::of(3000, device.spec().memory.count())));
    EXPECT_EQ(of(device.spec(), want(1, 0)), requested_share::all());
}

TEST(requested_of_modes, npus_count_memory_or_ai_cores) {
    const registered npu{modes::ascend_vir::example()};
    EXPECT_EQ(of(npu.spec(), want(1, 1000)), asked(fraction::of(1000, npu.spec().memory.count())));
    EXPECT_EQ(of(npu.spec(), want(1, 0)), requested_share::all());
    const registered chip{modes::mindcluster_310p::example()};
    EXPECT_EQ(of(chip.spec(), want(1, 0, 2)), asked({}, {1, 4}));
    EXPECT_EQ(of(chip.spec(), want(1, 0, 8)), requested_share::all());
}

TEST(requested_of_modes, templates_and_whole_cards_use_their_ai_cores) {
    const registered npu{modes::ascend_vir::example()}; // a 910B3: 20 AI cores
    const device_spec& spec = npu.spec();
    const auto used_by = [&](const device_request& request) {
        std::vector<partition> parts;
        spec.mode->candidates(spec, {}, request, parts);
        return spec.mode->used_compute(spec, spec.mode->with(spec, {}, parts.at(0)));
    };
    EXPECT_EQ(used_by(want(1, 16384)), milli_gpu{250}) << "vir05_1c_16g has 5 AI cores";
    EXPECT_EQ(used_by(want(1, 32768)), milli_gpu{500});
    EXPECT_EQ(used_by(want(1, 0)), whole_gpu);
}

} // namespace
