// A policy that scores many nodes at once hears of every score before a decision takes it, and decides as it would one
// by one.
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "both_paths.hpp"
#include "milli_gpus.hpp"
#include "vgpualloc/core/named.hpp"
#include "vgpualloc/mode/hami_core.hpp"
#include "vgpualloc/policy/all.hpp"
#include "vgpualloc/policy/parse.hpp"
#include "vgpualloc/policy/weighted.hpp"

namespace vgpualloc {
namespace {

/// best_fit, which answers nonsense as long as nobody is to believe it.
class announced_best_fit final : public named<"announced", policy> {
public:
    [[nodiscard]] policy_traits traits() const noexcept override {
        return {.device_score_is_node_score = true, .batched = true};
    }
    [[nodiscard]] double node_score(const request_view& request, const node_view& before,
                                    const node_view& after) override {
        const auto used = (before.config->free - after.config->free).count();
        const double score =
            -static_cast<double>(after.cpu_left.count()) - static_cast<double>(after.config->free.count()) * 50.0;
        if (before.config->id == not_interned) return score; // the reference, which hears nothing before
        const asked_score asked{*request.request,        before.config->id,
                                after.config->id,        before.cpu_capacity.count(),
                                before.cpu_left.count(), used};
        if (collecting_) {
            if (answered_.insert(asked).second) ++new_ones_;
            return static_cast<double>(++nonsense_ % 7);
        }
        if (!answered_.contains(asked)) ++surprises_;
        return score;
    }
    [[nodiscard]] double device_score(const request_view& request, const node_view& before, const node_view& after,
                                      const step_view& /*step*/) override {
        return node_score(request, before, after);
    }
    void begin_batch() override { collecting_ = true; }
    [[nodiscard]] std::size_t end_batch() override {
        collecting_ = false;
        ++batches_;
        return std::exchange(new_ones_, 0U);
    }
    void forget_ids() override { answered_.clear(); }

    [[nodiscard]] int surprises() const noexcept { return surprises_; }
    [[nodiscard]] int batches() const noexcept { return batches_; }

private:
    using asked_score = std::tuple<pod_request, std::uint32_t, std::uint32_t, std::int64_t, std::int64_t, std::int64_t>;
    bool collecting_ = false;
    std::size_t new_ones_ = 0;
    int nonsense_ = 0;
    int surprises_ = 0;
    int batches_ = 0;
    std::set<asked_score> answered_;
};

cluster unlike_nodes() {
    static const modes::hami_core mode;
    cluster nodes;
    for (int i = 0; i < 6; ++i) {
        const std::string number = std::to_string(i);
        test::add_milli_node(nodes, "large-" + number, milli_cpu{96'000}, mib{393'216}, 8, "G2", mode);
        test::add_milli_node(nodes, "small-" + number, milli_cpu{16'000}, mib{65'536}, 2, "T4", mode);
    }
    return nodes;
}

pod_request drawn_request(rng& draw) {
    const milli_cpu cpu{static_cast<std::int64_t>(draw.below(4)) * 3'000};
    const auto share = static_cast<std::int64_t>(1 + draw.below(5)) * 200;
    return test::milli_request(cpu, share == 1000 ? static_cast<std::int64_t>(1 + draw.below(3)) : 1, share);
}

TEST(batched_policy, hears_of_every_score_and_decides_as_the_reference) {
    announced_best_fit by_index;
    announced_best_fit by_reference;
    test::expect_equal_decisions(unlike_nodes(), by_index, by_reference, drawn_request);
    EXPECT_EQ(by_index.surprises(), 0);
    EXPECT_GT(by_index.batches(), 0);
    EXPECT_EQ(by_reference.batches(), 0);
}

std::unique_ptr<policies::weighted> sum_with(double weight) {
    std::vector<policies::weighted::term> terms;
    terms.push_back({.scorer = std::make_unique<announced_best_fit>(), .weight = weight});
    terms.push_back({.scorer = *parse_policy("binpack", native_policies, {}), .weight = 1.0});
    return std::make_unique<policies::weighted>("sum", std::move(terms));
}

TEST(batched_policy, may_be_a_term_of_a_sum) {
    const auto by_index = sum_with(0.5);
    EXPECT_TRUE(by_index->traits().batched);
    test::expect_equal_decisions(unlike_nodes(), *by_index, *sum_with(0.5), drawn_request);
    const auto& term = static_cast<const announced_best_fit&>(*by_index->terms().front().scorer);
    EXPECT_EQ(term.surprises(), 0);
    EXPECT_GT(term.batches(), 0);
}

} // namespace
} // namespace vgpualloc
