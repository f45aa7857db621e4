// The rules against a count of slices that shares no code with them, for every MIG model of the catalog.
#include <algorithm>
#include <map>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules.hpp"

namespace {

using namespace fake_nvml; // NOLINT(google-build-using-namespace)

[[nodiscard]] machine one_gpu(const vgpualloc::mig_model* model) {
    machine host;
    host.gpus.push_back({.uuid = "GPU-0",
                         .name = "GPU",
                         .memory_bytes = 80ULL << 30U,
                         .mig_capable = true,
                         .mig_enabled = true,
                         .table = model});
    return host;
}

/// What is taken of a GPU, slice by slice and kind by kind.
struct occupancy {
    std::vector<bool> slices;
    std::int64_t compute = 0;
    std::map<std::int64_t, std::int64_t> instances; ///< by profile id
    std::int64_t copy = 0, decoder = 0, encoder = 0, jpeg = 0, ofa = 0;
};

[[nodiscard]] occupancy counted(const machine& host, const vgpualloc::mig_model& model) {
    occupancy sum;
    sum.slices.assign(static_cast<std::size_t>(model.units.count()), false);
    for (const instance& made : host.instances) {
        for (std::uint32_t slice = made.start; slice < made.start + made.size; ++slice) {
            EXPECT_FALSE(sum.slices.at(slice)) << "slice " << slice << " is taken twice";
            sum.slices.at(slice) = true;
        }
        for (const vgpualloc::mig_profile& profile : model.profiles) {
            if (profile.profile_id != made.profile_id) continue;
            sum.compute += profile.compute_slices.count();
            ++sum.instances[profile.profile_id];
            sum.copy += profile.engines.copy.value_or(0);
            sum.decoder += profile.engines.decoder.value_or(0);
            sum.encoder += profile.engines.encoder.value_or(0);
            sum.jpeg += profile.engines.jpeg.value_or(0);
            sum.ofa += profile.engines.ofa.value_or(0);
        }
    }
    return sum;
}

[[nodiscard]] bool enough(std::optional<std::int64_t> whole, std::int64_t taken, std::optional<std::int64_t> more) {
    return !whole || taken + more.value_or(0) <= *whole;
}

/// Whether one more instance fits, by counting.
[[nodiscard]] bool has_room(const occupancy& sum, const vgpualloc::mig_model& model,
                            const vgpualloc::mig_profile& profile, std::uint32_t start) {
    for (std::size_t slice = start; slice < start + static_cast<std::size_t>(profile.size.count()); ++slice) {
        if (slice >= sum.slices.size() || sum.slices[slice]) return false;
    }
    const auto same = sum.instances.find(profile.profile_id);
    if (same != sum.instances.end() && same->second >= profile.max_instances) return false;
    if (sum.compute + profile.compute_slices.count() > model.compute_slices.count()) return false;
    return enough(model.engines.copy, sum.copy, profile.engines.copy) &&
           enough(model.engines.decoder, sum.decoder, profile.engines.decoder) &&
           enough(model.engines.encoder, sum.encoder, profile.engines.encoder) &&
           enough(model.engines.jpeg, sum.jpeg, profile.engines.jpeg) &&
           enough(model.engines.ofa, sum.ofa, profile.engines.ofa);
}

/// All tables: the catalog's models and those of the recordings.
class rules : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] static const vgpualloc::mig_model& model() {
        const vgpualloc::mig_model* found = table_of(GetParam(), "");
        if (found == nullptr) throw std::runtime_error{"no table " + GetParam()};
        return *found;
    }
};

[[nodiscard]] std::vector<std::string> all_tables() {
    std::vector<std::string> names{"a100-40", "a100-80", "h100-80", "a30"};
    for (const vgpualloc::mig_model& model : vgpualloc::built_in_mig_catalog().models) names.push_back(model.name);
    return names;
}

TEST_P(rules, every_place_of_every_profile_can_be_taken_on_an_empty_gpu_and_no_other) {
    for (const vgpualloc::mig_profile& profile : model().profiles) {
        const auto size = static_cast<std::uint32_t>(profile.size.count());
        for (std::uint32_t start = 0; start <= static_cast<std::uint32_t>(model().units.count()); ++start) {
            machine host = one_gpu(&model());
            const bool offered = std::ranges::find(profile.starts, vgpualloc::mig_units{start}) != profile.starts.end();
            const auto made =
                create_instance(host, 0, static_cast<std::uint32_t>(profile.profile_id), place{start, size});
            ASSERT_EQ(made.has_value(), offered) << profile.name << " at " << start;
            if (!offered) {
                EXPECT_EQ(made.error(), result::invalid_argument);
                EXPECT_TRUE(host.instances.empty());
                continue;
            }
            EXPECT_EQ(made->start, start);
            EXPECT_EQ(host.instances.size(), 1U);
            EXPECT_FALSE(
                create_instance(host, 0, static_cast<std::uint32_t>(profile.profile_id), place{start, size + 1}));
        }
    }
}

TEST_P(rules, as_many_instances_of_a_profile_as_the_catalog_says) {
    for (const vgpualloc::mig_profile& profile : model().profiles) {
        machine host = one_gpu(&model());
        const auto id = static_cast<std::uint32_t>(profile.profile_id);
        const std::uint32_t remaining = remaining_instances(host, 0, id);
        std::uint32_t count = 0;
        answer<instance> last = vgpualloc::unexpected(result::unknown);
        while ((last = create_instance(host, 0, id, std::nullopt))) ++count;
        EXPECT_EQ(last.error(), result::insufficient_resources);
        EXPECT_EQ(count, remaining);
        const auto by_places = static_cast<std::int64_t>(profile.starts.size());
        EXPECT_EQ(count, std::min(by_places, profile.max_instances)) << profile.name;
    }
}

TEST_P(rules, random_changes_agree_with_a_count_of_slices) {
    std::mt19937 random{17}; // NOLINT(bugprone-random-generator-seed): the same each time
    machine host = one_gpu(&model());
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::string> uuids; // of a place, which keeps it
    for (int step = 0; step < 3000; ++step) {
        if (random() % 3 == 0 && !host.instances.empty()) {
            const instance gone = host.instances[random() % host.instances.size()];
            EXPECT_EQ(destroy_instance(host, 0, gone.gi), result::success);
            EXPECT_EQ(host.find(0, gone.gi), nullptr);
            continue;
        }
        const vgpualloc::mig_profile& profile = model().profiles[random() % model().profiles.size()];
        const auto start = static_cast<std::uint32_t>(profile.starts[random() % profile.starts.size()].count());
        const auto size = static_cast<std::uint32_t>(profile.size.count());
        const bool room = has_room(counted(host, model()), model(), profile, start);
        const auto made = create_instance(host, 0, static_cast<std::uint32_t>(profile.profile_id), place{start, size});
        ASSERT_EQ(made.has_value(), room) << profile.name << " at " << start << ", step " << step;
        if (!made) {
            EXPECT_EQ(made.error(), result::insufficient_resources);
            continue;
        }
        const auto key = std::tuple{made->gi, made->profile_id, start};
        const auto [entry, fresh] = uuids.emplace(key, uuid_of(host, *made, 0));
        EXPECT_EQ(entry->second, uuid_of(host, *made, 0));
        std::set<std::uint32_t> numbers;
        for (const instance& other : host.instances)
            EXPECT_TRUE(numbers.insert(other.gi).second) << "two instances " << other.gi;
    }
    std::set<std::string> different;
    for (const auto& [key, uuid] : uuids) EXPECT_TRUE(different.insert(uuid).second) << uuid;
}

TEST_P(rules, each_profile_has_an_index_of_its_own) {
    std::set<std::uint32_t> indexes;
    for (const vgpualloc::mig_profile& profile : model().profiles) {
        const std::uint32_t index = profile_index(model(), profile);
        EXPECT_LT(index, fake_nvml::abi::gpu_profile_count) << profile.name;
        EXPECT_TRUE(indexes.insert(index).second) << profile.name;
        const std::uint32_t whole = compute_profile_of(static_cast<std::uint32_t>(profile.compute_slices.count()));
        ASSERT_LT(whole, fake_nvml::abi::compute_profile_count) << profile.name;
        EXPECT_EQ(compute_slices_of(whole), static_cast<std::uint32_t>(profile.compute_slices.count()));
    }
}

INSTANTIATE_TEST_SUITE_P(tables, rules, testing::ValuesIn(all_tables()),
                         [](const testing::TestParamInfo<std::string>& table) {
                             std::string name = table.param;
                             std::ranges::replace_if(
                                 name,
                                 [](char letter) { return std::isalnum(static_cast<unsigned char>(letter)) == 0; },
                                 '_');
                             return name;
                         });

TEST(recorded_tables, are_as_the_recordings_describe_them) {
    struct row {
        std::int64_t id, compute, size;
        std::vector<std::uint32_t> starts;
    };
    const std::vector<row> seven{{19, 1, 1, {0, 1, 2, 3, 4, 5, 6}},
                                 {20, 1, 1, {0, 1, 2, 3, 4, 5, 6}},
                                 {15, 1, 2, {0, 2, 4, 6}},
                                 {14, 2, 2, {0, 2, 4}},
                                 {9, 3, 4, {0, 4}},
                                 {5, 4, 4, {0}},
                                 {0, 7, 8, {0}}};
    const std::map<std::string, std::vector<row>> described{
        {"a100-40", seven},
        {"a100-80", seven},
        {"h100-80", seven},
        {"a30", {{14, 1, 1, {0, 1, 2, 3}}, {5, 2, 2, {0, 2}}, {0, 4, 4, {0}}}}};
    for (const auto& [name, rows] : described) {
        const vgpualloc::mig_model* model = table_of(name, "");
        ASSERT_NE(model, nullptr) << name;
        EXPECT_EQ(model->profiles.size(), rows.size());
        for (const row& expected : rows) {
            const machine host = one_gpu(model);
            const vgpualloc::mig_profile* profile = profile_of(host.gpus[0], static_cast<std::uint32_t>(expected.id));
            ASSERT_NE(profile, nullptr) << name << ' ' << expected.id;
            EXPECT_EQ(profile->compute_slices.count(), expected.compute);
            EXPECT_EQ(profile->size.count(), expected.size);
            std::vector<std::uint32_t> starts;
            for (const auto start : profile->starts) starts.push_back(static_cast<std::uint32_t>(start.count()));
            EXPECT_EQ(starts, expected.starts);
        }
    }
    machine host = one_gpu(table_of("a100-40", ""));
    for (int count = 0; count < 7; ++count)
        EXPECT_TRUE(create_instance(host, 0, 20, std::nullopt)) << "engines do not bind here";
    EXPECT_EQ(create_instance(host, 0, 20, std::nullopt).error(), result::insufficient_resources);
}

TEST(recorded_tables, number_instances_by_their_places) {
    machine host = one_gpu(table_of("a100-40", ""));
    EXPECT_EQ(create_instance(host, 0, 9, std::nullopt)->gi, 1U);
    EXPECT_EQ(create_instance(host, 0, 14, place{4, 2})->gi, 5U);
    EXPECT_EQ(create_instance(host, 0, 19, place{6, 1})->gi, 13U);
    machine a30 = one_gpu(table_of("a30", ""));
    EXPECT_EQ(create_instance(a30, 0, 5, place{2, 2})->gi, 2U);
    EXPECT_EQ(create_instance(a30, 0, 14, std::nullopt)->gi, 3U);
    EXPECT_EQ(create_instance(a30, 0, 0, std::nullopt).error(), result::insufficient_resources);
}

TEST(instances, are_made_where_the_first_start_is_free) {
    machine host = one_gpu(table_of("A100-40GB", ""));
    EXPECT_EQ(create_instance(host, 0, 19, place{0, 1})->start, 0U);
    EXPECT_EQ(create_instance(host, 0, 14, std::nullopt)->start, 2U);
    EXPECT_EQ(create_instance(host, 0, 9, std::nullopt)->start, 4U);
    EXPECT_EQ(create_instance(host, 0, 9, std::nullopt).error(), result::insufficient_resources);
}

TEST(instances, of_unknown_profiles_take_their_slices) {
    machine host = one_gpu(table_of("A100-40GB", ""));
    host.instances.push_back({.gpu = 0, .gi = 99, .profile_id = 12345, .start = 0, .size = 4});
    EXPECT_EQ(create_instance(host, 0, 9, place{0, 4}).error(), result::insufficient_resources);
    EXPECT_TRUE(create_instance(host, 0, 9, place{4, 4}));
}

TEST(instances, are_destroyed_only_when_nothing_is_in_them) {
    machine host = one_gpu(table_of("A100-40GB", ""));
    const std::uint32_t gi = create_instance(host, 0, 9, place{0, 4})->gi;
    EXPECT_EQ(create_compute(host, 0, gi, 2)->id, 0U);
    EXPECT_EQ(destroy_instance(host, 0, gi), result::in_use) << "it has a compute instance";
    host.instances[0].busy = true;
    EXPECT_EQ(destroy_compute(host, 0, gi, 0), result::in_use);
    host.instances[0].busy = false;
    host.gpus[0].processes.push_back({.pid = 1, .gi = gi});
    EXPECT_EQ(destroy_compute(host, 0, gi, 0), result::in_use) << "a process runs on it";
    host.gpus[0].processes[0].gi = gi + 1;
    EXPECT_EQ(destroy_compute(host, 0, gi, 0), result::success);
    EXPECT_EQ(destroy_compute(host, 0, gi, 0), result::not_found);
    EXPECT_EQ(destroy_instance(host, 0, gi), result::success);
    EXPECT_EQ(destroy_instance(host, 0, gi), result::not_found);
}

TEST(compute_instances, share_the_slices_of_theirs) {
    machine host = one_gpu(table_of("A100-40GB", ""));
    const std::uint32_t gi = create_instance(host, 0, 9, place{0, 4})->gi;
    EXPECT_EQ(create_compute(host, 0, gi, 3).error(), result::not_supported) << "4 slices of 3";
    EXPECT_EQ(create_compute(host, 0, gi, 7).error(), result::invalid_argument);
    EXPECT_EQ(create_compute(host, 0, gi, 1)->id, 0U);
    EXPECT_EQ(create_compute(host, 0, gi, 1).error(), result::insufficient_resources);
    EXPECT_EQ(create_compute(host, 0, gi, 0)->id, 1U);
    EXPECT_EQ(create_compute(host, 0, gi, 0).error(), result::insufficient_resources);
    EXPECT_EQ(destroy_compute(host, 0, gi, 0), result::success);
    EXPECT_EQ(create_compute(host, 0, gi, 0)->id, 0U) << "the lowest number that is free";
    EXPECT_EQ(create_compute(host, 0, 77, 0).error(), result::not_found);
}

TEST(mig_devices, are_listed_by_number_and_backwards) {
    machine host = one_gpu(table_of("A100-40GB", ""));
    for (const auto& [profile, at] :
         std::vector<std::pair<std::uint32_t, place>>{{19U, {6, 1}}, {14U, {4, 2}}, {9U, {0, 4}}}) {
        const std::uint32_t gi = create_instance(host, 0, profile, at)->gi;
        EXPECT_TRUE(create_compute(host, 0, gi, 0));
    }
    const auto numbers = [&] {
        std::vector<std::uint32_t> list;
        for (const mig_device& device : mig_devices(host, 0)) list.push_back(device.gi);
        return list;
    };
    EXPECT_THAT(numbers(), testing::ElementsAre(1, 5, 13));
    host.reverse_index_order = true;
    EXPECT_THAT(numbers(), testing::ElementsAre(13, 5, 1));
    host.gpus[0].mig_enabled = false;
    EXPECT_THAT(numbers(), testing::IsEmpty());
}

TEST(mig_devices, have_the_uuid_of_the_table_or_one_like_it) {
    machine host = one_gpu(table_of("A100-40GB", ""));
    const instance made = *create_instance(host, 0, 9, place{0, 4});
    EXPECT_THAT(uuid_of(host, made, 0),
                testing::MatchesRegex("MIG-[0-9a-f]+-[0-9a-f]+-5[0-9a-f]+-[89ab][0-9a-f]+-[0-9a-f]+"));
    EXPECT_EQ(uuid_of(host, made, 0).size(), 40U);
    EXPECT_NE(uuid_of(host, made, 0), uuid_of(host, made, 1));
    host.mig_uuids.push_back({"GPU-0", made.gi, 0, 9, "MIG-recorded"});
    EXPECT_EQ(uuid_of(host, made, 0), "MIG-recorded");
    EXPECT_NE(uuid_of(host, made, 1), "MIG-recorded");
}

TEST(mig_mode, is_switched_at_once_or_waits) {
    gpu card{.mig_capable = true};
    EXPECT_EQ(set_mig_mode(card, false, true).activation, result::success);
    EXPECT_TRUE(card.mig_enabled);
    EXPECT_EQ(set_mig_mode(card, true, false).code, result::in_use);
    EXPECT_EQ(set_mig_mode(card, true, true).code, result::success) << "nothing to do";
    card.mig_needs_reset = true;
    EXPECT_EQ(set_mig_mode(card, false, false).activation, result::reset_required);
    EXPECT_TRUE(card.mig_enabled);
    EXPECT_EQ(card.mig_pending, false);
    card.mig_needs_reset = false;
    card.processes.push_back({.pid = 1});
    EXPECT_EQ(set_mig_mode(card, false, false).activation, result::in_use);
    EXPECT_EQ(set_mig_mode(card, false, true).code, result::success) << "back to what it is";
    EXPECT_EQ(card.mig_pending, std::nullopt);
    gpu other;
    EXPECT_EQ(set_mig_mode(other, false, true).code, result::not_supported);
    machine off = one_gpu(table_of("A100-40GB", ""));
    off.gpus[0].mig_enabled = false;
    EXPECT_EQ(create_instance(off, 0, 9, std::nullopt).error(), result::not_supported);
}

} // namespace
