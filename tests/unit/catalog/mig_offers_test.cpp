// Models made from what GPUs say of themselves: what the catalog still adds, and what cannot be a model.
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vgpualloc/catalog/mig_offers.hpp"

namespace {

using namespace vgpualloc;
using testing::SizeIs;

mig_offer offer(const std::string& name, std::int64_t slices, std::int64_t size, std::vector<std::int64_t> starts) {
    return {.name = name,
            .memory = mib{1000 * size},
            .cores = core_percent{10},
            .compute_slices = slices,
            .size = size,
            .starts = std::move(starts)};
}

device_registration gpu(const std::string& model, std::vector<mig_offer> offers) {
    device_registration result;
    result.model = model;
    result.mode = "mig";
    result.offers = std::move(offers);
    return result;
}

TEST(mig_offers, without_offers_the_catalog_answers) {
    const auto& catalog = built_in_mig_catalog();
    const auto model = model_of(catalog, gpu("NVIDIA A30", {}));
    ASSERT_TRUE(model);
    EXPECT_EQ(*model, **find_model(catalog, "NVIDIA A30"));
    EXPECT_EQ(model_of(catalog, gpu("NVIDIA Z1", {})).error().code, error_code::unknown_name);
}

TEST(mig_offers, of_a_known_model_only_what_the_gpu_says_is_replaced) {
    const auto& catalog = built_in_mig_catalog();
    const mig_model& known = **find_model(catalog, "A100-40GB");
    const auto model =
        model_of(catalog, gpu("NVIDIA A100-SXM4-40GB", {offer("3g.20gb", 3, 4, {4}), offer("2g.99gb", 2, 3, {0, 5})}));
    ASSERT_TRUE(model);
    EXPECT_EQ(model->name, known.name);
    EXPECT_EQ(model->units, known.units);
    EXPECT_EQ(model->compute_slices, known.compute_slices);
    EXPECT_EQ(model->engines, known.engines);
    ASSERT_THAT(model->profiles, SizeIs(2));
    const mig_profile& in_catalog = **find_profile(known, "3g.20gb");
    EXPECT_EQ(model->profiles[0].sm, in_catalog.sm);
    EXPECT_EQ(model->profiles[0].memory, mib{4000});
    EXPECT_EQ(model->profiles[0].starts, std::vector{mig_units{4}});
    EXPECT_EQ(model->profiles[0].max_instances, 1) << "as many as there are places";
    EXPECT_EQ(model->profiles[1].size, mig_units{3});
    EXPECT_EQ(model->profiles[1].max_instances, 2);
}

TEST(mig_offers, an_unknown_model_is_as_large_as_its_offers) {
    const auto model =
        model_of({}, gpu("NVIDIA Z1", {offer("3g.4gb", 3, 4, {0, 4}), offer("1g.1gb", 1, 1, {0, 1, 2, 3, 4, 5, 6}),
                                       offer("1g.1gb+me", 1, 1, {0})}));
    ASSERT_TRUE(model);
    EXPECT_EQ(model->name, "NVIDIA Z1");
    EXPECT_EQ(model->units, mig_units{8});
    EXPECT_EQ(model->compute_slices, mig_compute{7}) << "seven 1g stand side by side";
    EXPECT_EQ(model->profiles[2].kind, mig_profile_kind::media);
}

TEST(mig_offers, what_the_catalog_does_not_know_of_a_profile_stays_unknown) {
    const auto& catalog = built_in_mig_catalog();
    const mig_model& b200 = **find_model(catalog, "B200");
    const std::vector<std::string> names{"1g.23gb", "3g.90gb", "9g.99gb"};
    const auto offers = offers_of(b200, names);
    ASSERT_THAT(offers, SizeIs(2));
    EXPECT_EQ(offers[0].memory, mib{20992});
    EXPECT_EQ(offers[1].memory, mib{0});
    EXPECT_EQ(offers[1].starts, (std::vector<std::int64_t>{0, 4}));
    const auto model = model_of(catalog, gpu("NVIDIA B200", offers));
    ASSERT_TRUE(model);
    EXPECT_EQ(model->profiles[0].memory, mib{20992});
    EXPECT_EQ(model->profiles[1].memory, std::nullopt);
}

TEST(mig_offers, offers_without_places_are_errors) {
    for (const mig_offer& wrong : {offer("1g", 1, 1, {}), offer("1g", 1, 0, {0}), offer("1g", 0, 1, {0}),
                                   offer("1g", 1, 2, {63}), offer("1g", 1, 1, {-1}), offer("1g", 1, 1, {3, 2})}) {
        const auto model = model_of({}, gpu("NVIDIA Z1", {wrong}));
        ASSERT_FALSE(model);
        EXPECT_EQ(model.error().code, error_code::out_of_range);
        EXPECT_EQ(model.error().value, "1g");
    }
}

} // namespace
