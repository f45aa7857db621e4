// weighted: a sum of other policies' scores, each times a weight.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpualloc/policy/policy.hpp"

namespace vgpualloc::policies {

/// Adds the terms in the order given, on the node level and on the device level alike. Native scores are in GPUs or in
/// shares of a node, both of the order of 1, so weights of the order of 1 mix them.
class weighted final : public policy {
public:
    struct term {
        std::unique_ptr<policy> scorer;
        double weight = 1.0;
    };

    weighted(std::string spelling, std::vector<term> terms) : spelling_{std::move(spelling)}, terms_{std::move(terms)} {
        for (const term& each : terms_) by_node_ = by_node_ && each.scorer->scores_devices_by_node();
    }

    /// In the order given, for those who explain a score.
    [[nodiscard]] std::span<const term> terms() const noexcept { return terms_; }

    [[nodiscard]] std::string_view name() const noexcept override { return spelling_; }
    [[nodiscard]] double node_score(const request_view& request, const node_view& before,
                                    const node_view& after) override {
        double sum = 0.0;
        for (const term& each : terms_) sum += each.weight * each.scorer->node_score(request, before, after);
        return sum;
    }
    [[nodiscard]] double device_score(const request_view& request, const node_view& before, const node_view& after,
                                      const step_view& step) override {
        double sum = 0.0;
        for (const term& each : terms_) sum += each.weight * each.scorer->device_score(request, before, after, step);
        return sum;
    }
    [[nodiscard]] bool scores_devices_by_node() const noexcept override { return by_node_; }
    [[nodiscard]] bool scores_by_totals() const noexcept override {
        return std::ranges::all_of(terms_, [](const term& each) { return each.scorer->scores_by_totals(); });
    }
    [[nodiscard]] bool scores_by_state_alone() const noexcept override {
        return std::ranges::all_of(terms_, [](const term& each) { return each.scorer->scores_by_state_alone(); });
    }
    void observe(const policy_event& event) override {
        for (const term& each : terms_) each.scorer->observe(event);
    }
    [[nodiscard]] std::uint64_t epoch() const noexcept override {
        std::uint64_t sum = 0;
        for (const term& each : terms_) sum += each.scorer->epoch();
        return sum;
    }
    void forget_ids() override {
        for (const term& each : terms_) each.scorer->forget_ids();
    }

private:
    std::string spelling_;
    std::vector<term> terms_;
    bool by_node_ = true;
};

} // namespace vgpualloc::policies
