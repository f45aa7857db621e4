#include "vgpualloc/policy/dual_price.hpp"

#include <array>

#include <gtest/gtest.h>

#include "vgpualloc/mode/all.hpp"

namespace vgpualloc {
namespace {

const device_spec& gpu_of_a() {
    static const device_spec device{
        .model = "A", .memory = mib{1000}, .slots = 100, .mode = find_mode("hami_core").value()};
    return device;
}

/// A node of one device with some of it used, whose configuration is not interned.
class one_device_node {
public:
    one_device_node(std::int64_t used, std::int64_t cpu_left, service_state service = service_state::in_service)
        : device_{.spec = &gpu_of_a(),
                  .state = {.memory = mib{used}, .cores = {}, .slots = used > 0 ? 1 : 0},
                  .used = milli_gpu{used},
                  .service = service} {
        config_.devices = devices_;
        add_to_totals(config_, device_);
        view_.cpu_capacity = milli_cpu{96000};
        view_.cpu_left = milli_cpu{cpu_left};
        view_.config = &config_;
    }
    one_device_node(const one_device_node&) = delete;
    one_device_node& operator=(const one_device_node&) = delete;

    void set_cpu_capacity(std::int64_t milli) noexcept { view_.cpu_capacity = milli_cpu{milli}; }
    [[nodiscard]] const node_view& view() const noexcept { return view_; }

private:
    device_view device_;
    std::array<const device_view*, 1> devices_{&device_};
    device_config config_;
    node_view view_;
};

/// Only halves of a GPU are wanted; one is worth 0.4 of an idle GPU.
policies::dual_price halves() {
    const auto book = std::make_shared<price_book>();
    book->replace({.devices = {{.model = "A",
                                .mode = "hami_core",
                                .memory = mib{1000},
                                .cores = whole_compute,
                                .idle = 1'000'000,
                                .parts = {{{.count = 1, .memory = mib{500}, .cores = {}}, 400'000}}}},
                   .cpu_per_gpu = 9900});
    return policies::dual_price{policy_parameters{.target = {}, .prices = book}};
}

TEST(dual_price, counts_what_rests_were_worth_where_cpu_is_plenty) {
    policies::dual_price scorer = halves();
    const one_device_node before{0, 90000};
    const one_device_node half{500, 80000};
    const one_device_node sliver{600, 80000};
    // Worth falls from 1 to 0.4 or to 0 GPU; 0.05 of the squares from 0.05 to 0.0125 or to 0.008.
    EXPECT_EQ(scorer.node_score({}, before.view(), half.view()), -0.6375);
    EXPECT_EQ(scorer.node_score({}, before.view(), sliver.view()), -1.042);
    EXPECT_EQ(scorer.device_score({}, before.view(), half.view(), {}), -0.6375);
}

TEST(dual_price, counts_no_rest_that_the_cpu_cannot_use) {
    policies::dual_price scorer = halves();
    const one_device_node before{500, 0};
    const one_device_node after{1000, 0};
    // Nothing is left to lose but the square of 500.
    EXPECT_EQ(scorer.node_score({}, before.view(), after.view()), -0.0125);
    // 980 milli-CPU serve 0.104199 GPU at 0.95 of the workload's CPU per GPU and 0.076146 at 1.3 of it.
    const one_device_node some_cpu{0, 980};
    const one_device_node no_cpu{0, 0};
    EXPECT_EQ(scorer.node_score({}, some_cpu.view(), no_cpu.view()), -(104'199.0 + 76'146.0) / 2e6);
}

TEST(dual_price, asks_no_more_cpu_per_gpu_than_the_node_itself_has) {
    policies::dual_price scorer = halves();
    // A node with 10,000 milli-CPU for its GPU: idle it can serve all of it, at 1.3 times the 9,900 it could not.
    one_device_node before{0, 10'000};
    one_device_node after{0, 9'500};
    before.set_cpu_capacity(10'000);
    after.set_cpu_capacity(10'000);
    // At 0.95 times: all of the GPU before and after. At its own 10,000: all of it, then 0.95.
    EXPECT_EQ(scorer.node_score({}, before.view(), after.view()), -0.05 / 2);
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
    const one_device_node before{0, 90000};
    const one_device_node half{500, 80000};
    // Half a GPU by size, half as much again, and 0.0375 of the squares.
    EXPECT_EQ(scorer.node_score({}, before.view(), half.view()), -(0.5 * 1.5 + 0.0375));
    EXPECT_EQ(scorer.epoch(), 1U);
    book->replace({});
    EXPECT_EQ(scorer.node_score({}, before.view(), half.view()), -(0.5 + 0.0375)) << "without any prices: by size";
    EXPECT_EQ(scorer.epoch(), 2U);
}

TEST(dual_price, counts_no_device_that_is_out_of_service) {
    policies::dual_price scorer = halves();
    const one_device_node failed{0, 90000, service_state::failed};
    const one_device_node draining{300, 90000, service_state::draining};
    EXPECT_EQ(scorer.node_score({}, failed.view(), draining.view()), 0.0);
}

} // namespace
} // namespace vgpualloc
