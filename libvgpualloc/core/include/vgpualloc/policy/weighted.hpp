// weighted: a sum of other policies' scores, each times a weight.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpualloc/core/config.hpp"
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

    /// At least one term, each of which scores nodes and settles ties in order (`can_be_a_term`).
    weighted(std::string spelling, std::vector<term> terms)
        : spelling_{std::move(spelling)}, terms_{std::move(terms)}, traits_{traits_of_sum(terms_)} {}

    /// Whether the policy's scores can be added to others': a placement has no node score, and what is drawn among
    /// equal scores is lost in a sum.
    [[nodiscard]] static bool can_be_a_term(const policy& scorer) noexcept {
        const policy_traits traits = scorer.traits();
        return traits.view != looks_at::positions && traits.nodes == ties::in_order && traits.devices == ties::in_order;
    }

    /// In the order given, for those who explain a score.
    [[nodiscard]] std::span<const term> terms() const noexcept { return terms_; }

    [[nodiscard]] std::string_view name() const noexcept override { return spelling_; }
    [[nodiscard]] double node_score(const request_view& request, const node_view& before,
                                    const node_view& after) override {
        double sum = 0.0;
        for (const term& summand : terms_) sum += summand.weight * summand.scorer->node_score(request, before, after);
        return sum;
    }
    [[nodiscard]] double device_score(const request_view& request, const node_view& before, const node_view& after,
                                      const step_view& step) override {
        double sum = 0.0;
        for (const term& summand : terms_)
            sum += summand.weight * summand.scorer->device_score(request, before, after, step);
        return sum;
    }
    [[nodiscard]] policy_traits traits() const noexcept override { return traits_; }
    void observe(const policy_event& event) override {
        for (const term& summand : terms_) summand.scorer->observe(event);
    }
    void note_arrival(const pod_request& request, const ledger& book) override {
        for (const term& summand : terms_) summand.scorer->note_arrival(request, book);
    }
    [[nodiscard]] std::shared_ptr<const learned_prices> learned() const override {
        for (const term& summand : terms_) {
            if (auto prices = summand.scorer->learned()) return prices;
        }
        return nullptr;
    }
    bool take_over(const policy& other) override {
        const auto* const from = dynamic_cast<const weighted*>(&other);
        if (from == nullptr || from->terms_.size() != terms_.size()) return false;
        bool has_taken = false;
        for (std::size_t i = 0; i < terms_.size(); ++i) {
            has_taken = terms_[i].scorer->take_over(*from->terms_[i].scorer) || has_taken;
        }
        return has_taken;
    }
    [[nodiscard]] std::uint64_t epoch() const noexcept override {
        std::uint64_t sum = 0;
        for (const term& summand : terms_) sum += summand.scorer->epoch();
        return sum;
    }
    void begin_batch() override {
        for (const term& summand : terms_) summand.scorer->begin_batch();
    }
    [[nodiscard]] std::size_t end_batch() override {
        std::size_t computed = 0;
        for (const term& summand : terms_) computed += summand.scorer->end_batch();
        return computed;
    }
    void forget_ids() override {
        for (const term& summand : terms_) summand.scorer->forget_ids();
    }

    void enter_trial() override {
        for (const term& summand : terms_) summand.scorer->enter_trial();
    }
    void leave_trial(bool keep) override {
        for (const term& summand : terms_) summand.scorer->leave_trial(keep);
    }

private:
    /// A sum looks at what any of its terms looks at; its two scores are one where this holds for every term.
    [[nodiscard]] static policy_traits traits_of_sum(const std::vector<term>& terms) {
        VGA_ASSERT(!terms.empty(), "a weighted sum has terms");
        policy_traits sum{.view = looks_at::totals, .device_score_is_node_score = true};
        for (const term& summand : terms) {
            VGA_ASSERT(can_be_a_term(*summand.scorer), "the terms of a sum score nodes and draw nothing");
            const policy_traits traits = summand.scorer->traits();
            sum.view = std::max(sum.view, traits.view);
            sum.device_score_is_node_score = sum.device_score_is_node_score && traits.device_score_is_node_score;
            sum.history = sum.history || traits.history;
            sum.batched = sum.batched || traits.batched;
            sum.learns = sum.learns || traits.learns;
        }
        return sum;
    }

    std::string spelling_;
    std::vector<term> terms_;
    policy_traits traits_;
};

} // namespace vgpualloc::policies
