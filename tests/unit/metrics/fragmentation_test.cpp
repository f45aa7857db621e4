// F and its seven buckets: one bucket at a time by hand, then the recorded vectors of the reference.
#include "vgpualloc/metrics/fragmentation.hpp"

#include "metrics/recorded_vectors.hpp"
#include "milli_gpus.hpp"
#include "support.hpp"

#include "alloc/state_table.hpp"

namespace vgpualloc {
namespace {

using namespace test;
using enum fragmentation_bucket;

/// One node's devices as a policy sees them, interned or not.
class devices_of {
public:
    devices_of(const std::vector<std::int64_t>& left_milli, const std::string& model, bool interned) : states_{owned_} {
        add_milli_node(owned_, "n", milli_cpu{0}, mib{0}, 1, model, mode("hami_core"));
        for (const std::int64_t left : left_milli) {
            const device_state state{
                .memory = mib{1000 - left}, .cores = {}, .slots = left == 1000 ? 0 : 1, .layout = 0};
            const device_view& view = states_.device(0, state, service_state::in_service);
            views_.push_back(view);
        }
        for (device_view& view : views_) {
            if (interned) {
                pointers_.push_back(&states_.device(view, view.state));
            } else {
                view.id = not_interned;
                pointers_.push_back(&view);
            }
        }
        if (interned) {
            config_ = states_.config(pointers_);
            return;
        }
        config_.devices = pointers_;
        for (const device_view* device : pointers_) add_to_totals(config_, *device);
    }
    devices_of(const devices_of&) = delete;
    devices_of& operator=(const devices_of&) = delete;

    [[nodiscard]] const device_config& config() const noexcept { return config_; }

private:
    cluster owned_;
    state_table states_;
    std::vector<device_view> views_;
    std::vector<const device_view*> pointers_;
    device_config config_;
};

workload typical(std::int64_t cpu, std::vector<device_request> containers) {
    workload target;
    target.typical.push_back({.cpu = milli_cpu{cpu}, .containers = std::move(containers), .frequency = 1.0});
    return target;
}

/// GPUs with 1000, 400 and 0 left (L = 1400), 8000 milli-CPU left, and one typical pod with all the weight.
TEST(fragmentation, every_bucket_and_the_amount_that_goes_there) {
    device_request of_other_model = want(1, 100);
    of_other_model.models = {"T4"};
    device_request of_other_family = want(1, 100);
    of_other_family.family = "Ascend910B4";
    device_request of_other_type = want(1, 100);
    of_other_type.types_allowed = {"A100"};
    device_request of_denied_type = want(1, 100);
    of_denied_type.types_denied = {"g2"};
    device_request of_other_mode = want(1, 100);
    of_other_mode.mode = "mig";
    struct row {
        const char* why;
        workload target;
        std::vector<std::pair<fragmentation_bucket, double>> expected;
    };
    const std::vector<row> rows{
        {"no GPU wanted, fits", typical(8000, {}), {{xl_satisfied, 1400}}},
        {"no GPU wanted, does not fit", typical(8001, {}), {{xr_lack_cpu, 1400}}},
        // Only a model that is not accepted was counted as no access; everything else read as too few GPUs.
        {"model not accepted", typical(9000, {of_other_model}), {{no_access, 1400}}},
        {"family not offered", typical(9000, {of_other_family}), {{no_access, 1400}}},
        {"type not accepted", typical(8000, {of_other_type}), {{no_access, 1400}}},
        {"type denied", typical(8000, {of_denied_type}), {{no_access, 1400}}},
        {"mode not offered", typical(8000, {of_other_mode}), {{no_access, 1400}}},
        {"usable, with a rest that is too small", typical(8000, {want(1, 500)}), {{satisfied, 1000}, {lack_gpu, 400}}},
        {"usable without rest", typical(8000, {want(2, 400)}), {{satisfied, 1400}}},
        {"GPUs suffice, CPU does not", typical(8001, {want(1, 500)}), {{lack_cpu, 1400}}},
        {"CPU suffices, GPUs do not", typical(8000, {want(2, 500)}), {{lack_gpu, 1400}}},
        {"neither", typical(8001, {want(2, 500)}), {{lack_both, 1400}}},
        {"containers are judged each by its own need, a rest is what fits none of them",
         typical(8000, {want(1, 900), want(2, 300)}),
         {{satisfied, 1400}}},
        {"one container finds too few", typical(8000, {want(1, 900), want(3, 300)}), {{lack_gpu, 1400}}},
    };
    for (const row& line : rows) {
        std::array<double, fragmentation_bucket_count> expected{};
        for (const auto& [bucket, amount] : line.expected) expected.at(static_cast<std::size_t>(bucket)) = amount;
        for (const bool interned : {false, true}) {
            const devices_of node{{1000, 400, 0}, "G2", interned};
            fragmentation_model model{line.target};
            EXPECT_EQ(model.buckets(node.config(), milli_cpu{8000}).milli, expected) << line.why;
            const double unusable = 1400 - expected.at(static_cast<std::size_t>(satisfied));
            for (int ask = 0; ask < 2; ++ask) { // computed, then remembered
                EXPECT_EQ(model.unusable(node.config(), milli_cpu{8000}), unusable) << line.why;
            }
            model.forget_ids();
            EXPECT_EQ(model.unusable(node.config(), milli_cpu{8000}), unusable) << line.why;
        }
    }
}

TEST(fragmentation, a_node_without_devices_and_a_workload_without_pods_have_none) {
    fragmentation_model model{typical(0, {want(1, 500)})};
    EXPECT_EQ(model.unusable(device_config{}, milli_cpu{1000}), 0.0);
    EXPECT_EQ(model.buckets(device_config{}, milli_cpu{1000}).milli, fragmentation_buckets{}.milli);
    fragmentation_model nothing{workload{}};
    const devices_of node{{1000, 400}, "G2", true};
    EXPECT_EQ(nothing.unusable(node.config(), milli_cpu{0}), 0.0);
}

TEST(fragmentation, a_container_that_is_repeated_lacks_no_more_than_once) {
    const device_request small = want(1, 300);
    const device_request large = want(2, 900);
    const devices_of node{{1000, 500, 1000}, "G2", false};
    fragmentation_model once{typical(1000, {small, large})};
    fragmentation_model often{typical(1000, {small, small, large, small, large})};
    fragmentation_model three{typical(1000, {small, large, want(3, 900)})};
    EXPECT_EQ(once.buckets(node.config(), milli_cpu{1000}).milli, often.buckets(node.config(), milli_cpu{1000}).milli);
    EXPECT_NE(once.buckets(node.config(), milli_cpu{1000}).milli, three.buckets(node.config(), milli_cpu{1000}).milli);
}

TEST(fragmentation, remembers_by_every_cpu_step) {
    workload target;
    for (const std::int64_t cpu : {0, 1, 1000, 5000, 90000}) {
        target.typical.push_back({.cpu = milli_cpu{cpu}, .containers = {want(1, 500)}, .frequency = 0.2});
    }
    const devices_of kept{{1000, 400}, "G2", true};
    const devices_of fresh{{1000, 400}, "G2", false};
    fragmentation_model remembering{target};
    for (const std::int64_t cpu : {0, 1, 2, 999, 1000, 1001, 4999, 5000, 89999, 90000, 128000}) {
        fragmentation_model once{target};
        const double expected = once.buckets(fresh.config(), milli_cpu{cpu}).unusable();
        EXPECT_EQ(remembering.unusable(kept.config(), milli_cpu{cpu}), expected) << cpu;
        EXPECT_EQ(remembering.unusable(kept.config(), milli_cpu{cpu}), expected) << cpu;
    }
}

TEST(fragmentation, the_weighted_sum_is_f_times_the_weights_and_equal_where_f_is) {
    workload target;
    const std::vector<std::int64_t> weights{7, 11, 13, 17, 23};
    const std::vector<std::vector<device_request>> needs{
        {want(1, 100)}, {want(1, 500)}, {want(2, 1000)}, {want(1, 900), want(2, 300)}, {}};
    for (std::size_t i = 0; i < weights.size(); ++i) {
        target.typical.push_back({.cpu = milli_cpu{2000 * static_cast<std::int64_t>(i)},
                                  .containers = needs[i],
                                  .frequency = static_cast<double>(weights[i]) / 71.0,
                                  .weight = weights[i]});
    }
    for (const std::vector<std::int64_t>& left :
         std::vector<std::vector<std::int64_t>>{{1000, 400, 0}, {1000, 1000}, {50}, {300, 299, 950}, {0}}) {
        for (const bool interned : {false, true}) {
            const devices_of node{left, "G2", interned};
            fragmentation_model model{target};
            EXPECT_EQ(model.total_weight(), 71.0);
            for (const std::int64_t cpu : {0, 1999, 2000, 4000, 6000, 7999, 8000, 128000}) {
                const double weighted = model.unusable_weighted(node.config(), milli_cpu{cpu});
                EXPECT_NEAR(weighted / model.total_weight(), model.unusable(node.config(), milli_cpu{cpu}), 1e-9)
                    << cpu;
                EXPECT_EQ(weighted, static_cast<double>(static_cast<std::int64_t>(weighted))) << cpu;
            }
        }
    }
}

/// One recorded node: its buckets and F.
void expect_recorded(const std::vector<std::string>& cells, const workload& target) {
    using namespace recorded_vectors;
    const std::string where = "order " + cells[0] + " node " + cells[5];
    const milli_cpu cpu_left{integer(cells[7])};
    const auto left = lefts(cells[8]);
    const devices_of devices{left, cells[6], false};
    fragmentation_model model{target};
    const fragmentation_buckets buckets = model.buckets(devices.config(), cpu_left);
    double sum = 0.0;
    for (std::size_t i = 0; i < fragmentation_bucket_count; ++i) {
        EXPECT_EQ(buckets.milli[i], exact(cells[9 + i])) << where << " bucket " << i;
        sum += buckets.milli[i];
    }
    EXPECT_NEAR(sum, static_cast<double>(devices.config().free.count()), 1e-6) << where;
    EXPECT_EQ(buckets.unusable(), exact(cells[16])) << where;
}

TEST(fragmentation, equals_the_recorded_vectors_of_the_reference_bit_by_bit) {
    const auto recorded = recorded_vectors::read();
    if (!recorded) {
        if (recorded_vectors::are_required()) FAIL() << "CI=true needs " << recorded_vectors::file();
        GTEST_SKIP() << "VGPUALLOC_EVIDENCE names no folder with golden/fgd_unit_vectors_seed42.csv";
    }
    ASSERT_EQ(recorded->target.typical.size(), 35U);
    ASSERT_GT(recorded->rows.size(), 100U);
    for (const auto& line : recorded->rows) expect_recorded(line, recorded->target);
}

} // namespace
} // namespace vgpualloc
