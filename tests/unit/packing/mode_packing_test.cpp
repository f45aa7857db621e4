// Packings that ask a sharing mode, against its own answers to every order of parts.
#include "vgpualloc/packing/mode_packing.hpp"

#include <algorithm>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "vgpualloc/catalog/mig_layouts.hpp"
#include "vgpualloc/core/rng.hpp"
#include "vgpualloc/mode/all.hpp"
#include "vgpualloc/mode/mig.hpp"

namespace {

using namespace vgpualloc;

/// A GPU of that model cut by placements, with requests for all of its profiles by name.
struct mig_gpu {
    explicit mig_gpu(const std::string& model)
        : mode{*modes::make_mig(**find_model(built_in_mig_catalog(), model))},
          spec{mode->adapted({.model = model, .memory = mib{1}, .mode = mode.get()})} {
        for (const auto& profile : mode->model().profiles) {
            requests.push_back({.count = 1, .memory = {}, .cores = {}, .profile = profile.name});
        }
    }
    std::shared_ptr<const modes::mig> mode;
    device_spec spec;
    std::vector<device_request> requests;
};

/// Every multiset of requests that some order of parts puts onto the device.
void try_all(const device_spec& device, const std::vector<device_request>& requests, const device_state& state,
             std::vector<std::int64_t>& counts, std::set<std::pair<device_state, std::vector<std::int64_t>>>& seen,
             std::set<std::vector<std::int64_t>>& found) {
    for (std::size_t part = 0; part < requests.size(); ++part) {
        std::vector<partition> parts;
        device.mode->candidates(device, state, requests[part], parts);
        for (const partition& chosen : parts) {
            const device_state next = device.mode->with(device, state, chosen);
            ++counts[part];
            if (seen.emplace(next, counts).second) {
                found.insert(counts);
                try_all(device, requests, next, counts, seen, found);
            }
            --counts[part];
        }
    }
}

std::set<std::vector<std::int64_t>> by_trying(const device_spec& device, const std::vector<device_request>& requests) {
    std::vector<std::int64_t> counts(requests.size(), 0);
    std::set<std::pair<device_state, std::vector<std::int64_t>>> seen;
    std::set<std::vector<std::int64_t>> fitting;
    try_all(device, requests, {}, counts, seen, fitting);
    return fitting;
}

std::set<std::vector<std::int64_t>> enumerated(const device_packing& packing) {
    std::set<std::vector<std::int64_t>> result;
    const std::vector<std::int64_t> many(packing.parts(), 100);
    const auto patterns = packing.enumerate(many, 100'000).value();
    for (const device_pattern& pattern : patterns) {
        std::vector<std::int64_t> counts(packing.parts(), 0);
        for (const auto& [part, count] : pattern) counts[part] = count;
        result.insert(counts);
    }
    return result;
}

/// The best pattern for drawn worths is worth what the best of all multisets is.
void expect_best(const device_packing& packing, const std::set<std::vector<std::int64_t>>& multisets) {
    rng stream{20260101};
    for (int round = 0; round < 30; ++round) {
        std::vector<double> worth;
        for (std::size_t part = 0; part < packing.parts(); ++part) {
            worth.push_back(static_cast<double>(stream.below(20)) - 3.0);
        }
        double dearest = 0.0;
        for (const auto& counts : multisets) {
            double sum = 0.0;
            for (std::size_t part = 0; part < counts.size(); ++part)
                sum += static_cast<double>(counts[part]) * worth[part];
            dearest = std::max(dearest, sum);
        }
        const worthy_pattern best = packing.best(worth);
        EXPECT_DOUBLE_EQ(best.worth, dearest);
        std::vector<std::int64_t> counts(packing.parts(), 0);
        for (const auto& [part, count] : best.parts) counts[part] = count;
        EXPECT_TRUE(best.parts.empty() || multisets.contains(counts));
    }
}

TEST(mode_packing, mig_profiles_go_together_as_placements_allow) {
    for (const auto& [model, multisets] : {std::pair{"A100-40GB", 127U}, std::pair{"A30-24GB", 19U}}) {
        const mig_gpu gpu{model};
        const auto packing = packing_of_device(gpu.spec, gpu.requests).value();
        const auto all = enumerated(*packing);
        EXPECT_EQ(all.size(), multisets) << model; // what the catalog enumerates, but for the empty one
        expect_best(*packing, all);
    }
    const mig_gpu small{"A30-24GB"};
    EXPECT_EQ(enumerated(*packing_of_device(small.spec, small.requests).value()),
              by_trying(small.spec, small.requests));
}

TEST(mode_packing, has_the_states_that_a_gpu_can_reach) {
    const mig_gpu gpu{"A100-40GB"};
    const auto packing = state_packing::make(gpu.spec, gpu.requests);
    ASSERT_TRUE(packing.has_value());
    EXPECT_EQ(packing->states(), 2319U);
    EXPECT_FALSE(state_packing::make(gpu.spec, gpu.requests, 2000).has_value());
    EXPECT_FALSE(packing->enumerate(std::vector<std::int64_t>(packing->parts(), 7), 10).has_value());
}

device_spec shared_gpu(std::int64_t memory, std::int64_t slots) {
    return {.model = "A",
            .memory = mib{memory},
            .cores = core_percent{100},
            .slots = slots,
            .mode = *find_mode("hami_core")};
}

TEST(mode_packing, slices_add_up_in_memory_compute_and_slots) {
    const device_spec device = shared_gpu(16, 3);
    const std::vector<device_request> requests{{.count = 1, .memory = mib{4}, .cores = core_percent{30}},
                                               {.count = 1, .memory = mib{2}, .cores = {}},
                                               {.count = 1, .memory = mib{10}, .cores = {}}};
    const auto packing = packing_of_device(device, requests).value();
    EXPECT_EQ(enumerated(*packing), by_trying(device, requests));
    EXPECT_NE(dynamic_cast<const slice_packing*>(packing.get()), nullptr);
}

TEST(mode_packing, rounds_down_where_there_would_be_too_many_states) {
    // Primes: no common step, and a table of 81920 x 101 cells. What fits still fits; a little more does too.
    const device_spec device = shared_gpu(81920, 10);
    const std::vector<device_request> requests{{.count = 1, .memory = mib{40961}, .cores = core_percent{7}},
                                               {.count = 1, .memory = mib{20479}, .cores = core_percent{1}}};
    const auto packing = packing_of_device(device, requests).value();
    const auto coarse = enumerated(*packing);
    for (const auto& counts : by_trying(device, requests)) EXPECT_TRUE(coarse.contains(counts));
}

TEST(mode_packing, whole_devices_go_alone) {
    const device_spec device{.model = "A", .memory = mib{16}, .mode = *find_mode("exclusive")};
    const auto packing =
        packing_of_device(device, std::vector<device_request>{{.count = 1, .memory = mib{2}, .cores = {}}}).value();
    EXPECT_EQ(enumerated(*packing), (std::set<std::vector<std::int64_t>>{{1}}));
}

/// The multiset of parts that is worth the most of those that can still be added, by trying all orders.
std::int64_t best_by_trying(const device_spec& device, const device_state& state,
                            const std::vector<worthy_part>& parts) {
    std::int64_t best = 0;
    for (const worthy_part& part : parts) {
        std::vector<partition> places;
        device.mode->candidates(device, state, part.request, places);
        if (!places.empty()) device.mode->further_candidates(device, state, part.request, places);
        for (const partition& place : places) {
            const device_state next = device.mode->with(device, state, place);
            best = std::max(best, part.worth + best_by_trying(device, next, parts));
        }
    }
    return best;
}

TEST(rest_worths, are_those_of_the_best_parts_that_still_fit_on_a_gpu_of_mig) {
    const mig_gpu gpu{"A30"};
    std::vector<worthy_part> parts;
    std::int64_t worth = 100;
    for (const device_request& request : gpu.requests) {
        parts.push_back({.request = request, .worth = worth});
        worth = worth * 9 / 4;
    }
    auto worths = rest_worths::make(gpu.spec, parts).value();
    std::vector<device_state> states{device_state{}};
    for (std::size_t i = 0; i < states.size() && i < 200; ++i) {
        const device_state state = states[i];
        EXPECT_EQ(worths.of(state), best_by_trying(gpu.spec, state, parts)) << i;
        for (const device_request& request : gpu.requests) {
            std::vector<partition> places;
            gpu.spec.mode->candidates(gpu.spec, state, request, places);
            for (const partition& place : places) {
                const device_state next = gpu.spec.mode->with(gpu.spec, state, place);
                if (std::ranges::find(states, next) == states.end()) states.push_back(next);
            }
        }
    }
    EXPECT_GT(states.size(), 10U);
}

TEST(rest_worths, leave_out_what_the_device_never_serves) {
    const mig_gpu gpu{"A30"};
    const device_request absent{.count = 1, .memory = {}, .cores = {}, .profile = "7g.40gb"};
    const device_request elsewhere{.count = 1, .memory = {}, .cores = {}, .models = {"H100"}};
    auto worths = rest_worths::make(gpu.spec, {{absent, 100}, {elsewhere, 100}, {gpu.requests.front(), 1}}).value();
    EXPECT_EQ(worths.of({}), best_by_trying(gpu.spec, {}, {{gpu.requests.front(), 1}}));
    const device_spec slices{.model = "A", .memory = mib{1000}, .slots = 10, .mode = find_mode("hami_core").value()};
    EXPECT_EQ(rest_worths::make(slices, {{elsewhere, 100}}).value().of({}), 0);
    EXPECT_EQ(rest_worths::make(slices, {}).value().of({}), 0);
    const device_request too_large{.count = 1, .memory = mib{2000}, .cores = {}};
    EXPECT_EQ(rest_worths::make(slices, {{too_large, 100}}).value().of({}), 0);
}

TEST(rest_worths, look_at_memory_and_compute_of_slices) {
    const device_spec gpu{.model = "A", .memory = mib{1000}, .slots = 10, .mode = find_mode("hami_core").value()};
    const std::vector<worthy_part> parts{
        {.request = {.count = 1, .memory = mib{300}, .cores = core_percent{50}}, .worth = 5},
        {.request = {.count = 1, .memory = mib{500}, .cores = core_percent{10}}, .worth = 4}};
    auto worths = rest_worths::make(gpu, parts).value();
    std::int64_t differ = 0;
    for (const std::int64_t memory : {0, 100, 300, 400, 500, 600, 800, 1000}) {
        for (const std::int64_t cores : {0, 10, 40, 50, 60, 90, 100}) {
            const device_state state{.memory = mib{memory}, .cores = core_percent{cores}, .slots = 1};
            EXPECT_EQ(worths.of(state), best_by_trying(gpu, state, parts)) << memory << " " << cores;
            if (worths.of(state) > 0) ++differ;
        }
    }
    EXPECT_GT(differ, 5);
    EXPECT_EQ(worths.of({}), 10) << "two of the first, or one of each: 9";
}

} // namespace
