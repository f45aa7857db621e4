#include "vgpualloc/policy/dual_price.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "vgpualloc/mode/all.hpp"

namespace vgpualloc {
namespace {

const device_spec& gpu_of_a() {
    static const device_spec device{
        .model = "A", .memory = mib{1000}, .slots = 100, .mode = find_mode("hami_core").value()};
    return device;
}

/// A node of one device with some of it used, and of idle ones, whose configuration is not interned.
class test_node {
public:
    test_node(std::int64_t used, std::int64_t cpu_left, service_state service = service_state::in_service,
              std::size_t idle = 0)
        : device_{.spec = &gpu_of_a(),
                  .state = {.memory = mib{used}, .cores = {}, .slots = used > 0 ? 1 : 0},
                  .used = milli_gpu{used},
                  .service = service} {
        devices_.push_back(&device_);
        devices_.insert(devices_.end(), idle, &idle_);
        config_.devices = devices_;
        for (const device_view* device : devices_) add_to_totals(config_, *device);
        view_.cpu_capacity = milli_cpu{96000};
        view_.cpu_left = milli_cpu{cpu_left};
        view_.config = &config_;
    }
    test_node(const test_node&) = delete;
    test_node& operator=(const test_node&) = delete;

    void set_cpu_capacity(std::int64_t milli) noexcept { view_.cpu_capacity = milli_cpu{milli}; }
    [[nodiscard]] const node_view& view() const noexcept { return view_; }

private:
    device_view device_;
    device_view idle_{.spec = &gpu_of_a(), .service = service_state::in_service};
    std::vector<const device_view*> devices_;
    device_config config_;
    node_view view_;
};

policies::dual_price scorer_of(price_table table) {
    const auto book = std::make_shared<price_book>();
    book->replace(std::move(table));
    return policies::dual_price{policy_parameters{.target = {}, .prices = book}};
}

/// Only halves of a GPU are wanted; one is worth 0.4 of an idle GPU.
policies::dual_price halves() {
    return scorer_of({.devices = {{.model = "A",
                                   .mode = "hami_core",
                                   .memory = mib{1000},
                                   .cores = whole_compute,
                                   .idle = 1'000'000,
                                   .parts = {{{.count = 1, .memory = mib{500}, .cores = {}}, 400'000}}}},
                      .cpu_per_gpu = 9900});
}

TEST(dual_price, counts_what_rests_were_worth_where_cpu_is_plenty) {
    policies::dual_price scorer = halves();
    const test_node before{0, 96'000};
    const test_node half{500, 80'000};
    const test_node sliver{600, 80'000};
    // Worth falls from 1 to 0.4 or to 0 GPU; 0.2 of the squares from 0.2 to 0.05 or to 0.032.
    EXPECT_EQ(scorer.node_score({}, before.view(), half.view()), -0.75);
    EXPECT_EQ(scorer.node_score({}, before.view(), sliver.view()), -1.168);
    EXPECT_EQ(scorer.device_score({}, before.view(), half.view(), {}), -0.75);
}

TEST(dual_price, counts_no_rest_that_the_cpu_cannot_use) {
    policies::dual_price scorer = halves();
    const test_node before{500, 0};
    const test_node after{1000, 0};
    // Nothing is left to lose but the square of 500.
    EXPECT_EQ(scorer.node_score({}, before.view(), after.view()), -0.05);
    // 980 milli-CPU serve 0.104199 GPU at 0.95 of the workload's CPU per GPU and 0.065993 at 1.5 times it.
    const test_node some_cpu{0, 980};
    const test_node no_cpu{0, 0};
    EXPECT_EQ(scorer.node_score({}, some_cpu.view(), no_cpu.view()), -(99 * 104'199.0 + 65'993.0) / 1e8);
}

TEST(dual_price, rests_need_more_cpu_than_their_worth) {
    policies::dual_price scorer = halves();
    // Half a device is worth 0.4 GPU and needs the CPU of 0.64: 6,019.2 milli-CPU at 0.95 of the workload's, 9,504 at
    // 1.5 times it.
    const test_node usable{500, 10'000};
    const test_node below_high{500, 6'100};
    EXPECT_NEAR(scorer.node_score({}, usable.view(), below_high.view()), 0.01 * 0.4 * (6'100 / 9'504.0 - 1.0), 1e-6);
    const test_node half_short{500, 3'050};
    EXPECT_NEAR(scorer.node_score({}, below_high.view(), half_short.view()),
                0.99 * 0.4 * (3'050 / 6'019.2 - 1.0) - 0.01 * 0.4 * 3'050 / 9'504.0, 2e-6);
}

TEST(dual_price, where_cpu_is_scarce_half_of_the_worth_needs_little_and_the_other_half_more_than_the_node_has) {
    // A node with a device and 96,000 milli-CPU, of which 90,000 are left, where the workload asks for 100,000 a GPU:
    // half of the worth needs 20,000, the other half 130,000; where CPU is not scarce 95,000, and a hundredth 96,000.
    const auto loss = [](bool cpu_scarce, std::int64_t cpu_left, std::int64_t used = 0, bool models_named = false) {
        policies::dual_price scorer =
            scorer_of({.devices = {}, .cpu_per_gpu = 100'000, .models_named = models_named, .cpu_scarce = cpu_scarce});
        const test_node before{used, 90'000};
        const test_node after{used, cpu_left};
        return -scorer.node_score({}, before.view(), after.view());
    };
    EXPECT_NEAR(loss(true, 20'000), 70.0 / 130.0 / 2.0, 1e-5);
    EXPECT_NEAR(loss(true, 10'000), (0.5 + 80.0 / 130.0) / 2.0, 1e-5);
    EXPECT_EQ(loss(true, 10'000, 0, true), loss(true, 10'000)) << "whether or not pods name models";
    // Half a device in use needs half as much: 65,000, and 1.6 times as much where CPU is not scarce.
    EXPECT_NEAR(loss(true, 32'500, 500), 0.25 / 2.0, 1e-5);
    EXPECT_NEAR(loss(false, 33'600, 500), 0.5 * (1.0 - 0.99 * 33.6 / 76.0 - 0.01 * 33.6 / 76.8), 1e-5);
    EXPECT_NEAR(loss(false, 20'000), 0.99 * 70.0 / 95.0 + 0.01 * 70.0 / 96.0, 1e-5);
}

TEST(dual_price, of_nodes_that_are_as_good_takes_the_one_with_the_least_cpu_left) {
    const auto better_of = [](const request_view& request, bool models_named, bool cpu_scarce = false) {
        policies::dual_price scorer =
            scorer_of({.devices = {}, .cpu_per_gpu = 1000, .models_named = models_named, .cpu_scarce = cpu_scarce});
        const auto score = [&](std::int64_t cpu_capacity) {
            test_node before{0, cpu_capacity};
            test_node after{900, cpu_capacity - 1'000};
            before.set_cpu_capacity(cpu_capacity);
            after.set_cpu_capacity(cpu_capacity);
            return scorer.node_score(request, before.view(), after.view());
        };
        const double more = score(60'000);
        const double less = score(50'000);
        EXPECT_NEAR(more, less, 5e-9) << "less than anything else counts";
        return more == less ? "none" : more > less ? "more" : "less";
    };
    EXPECT_EQ(std::string{better_of({.devices = 1}, false)}, "less");
    EXPECT_EQ(std::string{better_of({.devices = 1}, true)}, "less");
    EXPECT_EQ(std::string{better_of({.devices = 1}, false, true)}, "none");
    EXPECT_EQ(std::string{better_of({.devices = 0}, false)}, "none");
}

TEST(dual_price, of_nodes_with_as_much_cpu_left_takes_the_one_with_more_devices) {
    policies::dual_price scorer = scorer_of({.devices = {}, .cpu_per_gpu = 1000});
    const request_view request{.devices = 1};
    const auto with_idle = [&](std::size_t idle, std::int64_t cpu_more) {
        test_node before{0, 60'000 + cpu_more, service_state::in_service, idle};
        test_node after{900, 59'000 + cpu_more, service_state::in_service, idle};
        before.set_cpu_capacity(60'000 + cpu_more);
        after.set_cpu_capacity(60'000 + cpu_more);
        return scorer.node_score(request, before.view(), after.view());
    };
    EXPECT_GT(with_idle(1, 0), with_idle(0, 0));
    EXPECT_GT(with_idle(1, 299), with_idle(0, 0)) << "a device is as much as 0.3 GPUs' CPU";
    EXPECT_EQ(with_idle(1, 300), with_idle(0, 0));
    EXPECT_LT(with_idle(1, 301), with_idle(0, 0));
}

TEST(dual_price, asks_no_more_cpu_per_gpu_than_the_node_itself_has) {
    // What a pod costs that takes `taken` milli-CPU of a node with one GPU, where the workload asks for 9,900 a GPU.
    const auto loss = [](std::int64_t cpu_capacity, std::int64_t taken, bool models_named, std::int64_t used = 0,
                         std::size_t idle = 0) {
        policies::dual_price scorer = scorer_of({.devices = {}, .cpu_per_gpu = 9'900, .models_named = models_named});
        test_node before{used, cpu_capacity, service_state::in_service, idle};
        test_node after{used, cpu_capacity - taken, service_state::in_service, idle};
        before.set_cpu_capacity(cpu_capacity);
        after.set_cpu_capacity(cpu_capacity);
        return -scorer.node_score({}, before.view(), after.view());
    };
    // 0.95 times 9,900 is 9,405: with 9,500 of its 10,000 left only the hundredth for which it needs all of them falls.
    EXPECT_NEAR(loss(10'000, 500, false), 0.01 * 0.05, 1e-9);
    EXPECT_EQ(loss(10'000, 500, true), 0.0) << "nor that, where pods name models";
    // With no more than 5,000 it is whole until some are taken, unless pods name models.
    EXPECT_NEAR(loss(5'000, 2'500, false), 0.5, 1e-9);
    EXPECT_NEAR(loss(5'000, 2'500, true), 2'500.0 / 9'405.0, 2e-6);
    EXPECT_NEAR(loss(10'000, 5'000, false, 0, 1), 1.0, 1e-9) << "two GPUs have half of it each";
    EXPECT_EQ(loss(0, 0, false), 0.0);
    // Half a GPU in use needs 0.8 times 9,405.
    EXPECT_NEAR(loss(10'000, 6'238, true, 500), 0.5 * (1.0 - 3'762.0 / 7'524.0), 2e-6);
}

TEST(dual_price, adds_the_premium_of_a_kind_that_is_asked_for_by_name) {
    const auto book = std::make_shared<price_book>();
    book->replace({.devices = {{.model = "A",
                                .mode = "hami_core",
                                .memory = mib{1000},
                                .cores = whole_compute,
                                .idle = 0,
                                .premium = 500}},
                   .cpu_per_gpu = 0});
    policies::dual_price scorer{policy_parameters{.target = {}, .prices = book}};
    const test_node before{0, 90'000};
    const test_node half{500, 80'000};
    // Half a GPU by size, half as much again, and 0.15 of the squares.
    EXPECT_EQ(scorer.node_score({}, before.view(), half.view()), -(0.5 * 1.5 + 0.15));
    EXPECT_EQ(scorer.epoch(), 1U);
    book->replace({});
    EXPECT_EQ(scorer.node_score({}, before.view(), half.view()), -(0.5 + 0.15)) << "without any prices: by size";
    EXPECT_EQ(scorer.epoch(), 2U);
}

TEST(dual_price, scores_the_same_whatever_the_scale_of_worths) {
    // A hundred parts of a GPU fit: at the greater worth of one an idle GPU is worth 10^17.
    const auto loss = [](std::int64_t worth) {
        policies::dual_price scorer =
            scorer_of({.devices = {{.model = "A",
                                    .mode = "hami_core",
                                    .memory = mib{1000},
                                    .cores = whole_compute,
                                    .idle = 1,
                                    .parts = {{{.count = 1, .memory = mib{10}, .cores = {}}, worth}}}},
                       .cpu_per_gpu = 0});
        const test_node before{0, 90'000};
        const test_node half{500, 80'000};
        return -scorer.node_score({}, before.view(), half.view());
    };
    EXPECT_NEAR(loss(100'000), 0.5 + 0.15, 1e-9);
    EXPECT_NEAR(loss(1'000'000'000'000'000), loss(100'000), 1e-6);
}

TEST(dual_price, counts_no_device_that_is_out_of_service) {
    policies::dual_price scorer = halves();
    const test_node failed{0, 90000, service_state::failed};
    const test_node draining{300, 90000, service_state::draining};
    EXPECT_EQ(scorer.node_score({}, failed.view(), draining.view()), 0.0);
}

} // namespace
} // namespace vgpualloc
