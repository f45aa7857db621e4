#include "vgpualloc/policy/dual_price.hpp"

#include <array>

#include <gtest/gtest.h>

namespace vgpualloc {
namespace {

/// A node of one device with some of it used, whose configuration is not interned.
class one_device_node {
public:
    one_device_node(std::int64_t used, std::int64_t cpu_left, service_state service = service_state::in_service)
        : device_{.used = milli_gpu{used}, .service = service} {
        config_.devices = devices_;
        add_to_totals(config_, device_);
        view_.cpu_capacity = milli_cpu{96000};
        view_.cpu_left = milli_cpu{cpu_left};
        view_.config = &config_;
    }
    one_device_node(const one_device_node&) = delete;
    one_device_node& operator=(const one_device_node&) = delete;

    [[nodiscard]] const node_view& view() const noexcept { return view_; }

private:
    device_view device_;
    std::array<const device_view*, 1> devices_{&device_};
    device_config config_;
    node_view view_;
};

price_table halves() { return {.steps = {{milli_gpu{500}, 400000}, {milli_gpu{1000}, 1000000}}, .cpu_per_gpu = 9900}; }

TEST(dual_price, counts_what_rests_were_worth_where_cpu_is_plenty) {
    policies::dual_price scorer{halves()};
    const one_device_node before{0, 90000};
    const one_device_node half{500, 80000};
    const one_device_node sliver{600, 80000};
    // Worth falls from 1 to 0.4 or to 0 GPU; 0.05 of the squares from 0.05 to 0.0125 or to 0.008.
    EXPECT_EQ(scorer.node_score({}, before.view(), half.view()), -0.6375);
    EXPECT_EQ(scorer.node_score({}, before.view(), sliver.view()), -1.042);
    EXPECT_EQ(scorer.device_score({}, before.view(), half.view(), {}), -0.6375);
}

TEST(dual_price, counts_no_rest_that_the_cpu_cannot_use) {
    policies::dual_price scorer{halves()};
    const one_device_node before{500, 0};
    const one_device_node after{1000, 0};
    // Nothing is left to lose but the square of 500.
    EXPECT_EQ(scorer.node_score({}, before.view(), after.view()), -0.0125);
    // 980.1 milli-CPU serve 0.11 GPU at 0.9 of the workload's CPU per GPU and 0.09 at 1.1 of it; in whole millionths
    // for 980: (109,988 + 89,990) / 2.
    const one_device_node some_cpu{0, 980};
    const one_device_node no_cpu{0, 0};
    EXPECT_EQ(scorer.node_score({}, some_cpu.view(), no_cpu.view()), -(109'988.0 + 89'990.0) / 2e6);
}

TEST(dual_price, counts_no_device_that_is_out_of_service) {
    policies::dual_price scorer{halves()};
    const one_device_node failed{0, 90000, service_state::failed};
    const one_device_node draining{300, 90000, service_state::draining};
    EXPECT_EQ(scorer.node_score({}, failed.view(), draining.view()), 0.0);
}

} // namespace
} // namespace vgpualloc
