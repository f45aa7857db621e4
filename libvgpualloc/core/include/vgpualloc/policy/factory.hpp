// How policies are listed and made.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>

#include "vgpualloc/metrics/fragmentation.hpp"
#include "vgpualloc/model/request.hpp"
#include "vgpualloc/policy/policy.hpp"
#include "vgpualloc/policy/price_table.hpp"

namespace vgpualloc {

/// What any policy may need to be made. Policies that need neither ignore them.
struct policy_parameters {
    workload target;        ///< typical requests, for fgd and its kin
    std::uint64_t seed = 0; ///< for policies that draw
    /// Of `target`, if the caller measures fragmentation too and works on the same allocator's ids: what one computes
    /// the other need not. Null: a policy that needs one makes its own.
    std::shared_ptr<fragmentation_model> fragmentation = nullptr;
    /// What rests of devices are worth, for dual_price and bid_price. Null: rests are worth their size and CPU never
    /// runs out.
    std::shared_ptr<const price_book> prices = nullptr;
    /// Whether `prices` were solved or read; if not, bid_price begins with them and learns its own.
    bool prices_are_known = false;
    /// What an earlier run learned, which bid_price goes on from. Null: it begins with nothing.
    std::shared_ptr<const learned_prices> learned = nullptr;

    [[nodiscard]] std::shared_ptr<fragmentation_model> fragmentation_or_new() const {
        return fragmentation ? fragmentation : std::make_shared<fragmentation_model>(target);
    }
};

/// One entry of a policy list.
struct policy_entry {
    std::string_view name;
    std::string_view summary; ///< one sentence for lists
    std::unique_ptr<policy> (*make)(const policy_parameters& parameters);
    std::string_view advice = {}; ///< when to take it, or that it is a baseline; docs/policies.md says why
};

/// The advice on policies that are there to compare with.
inline constexpr std::string_view a_baseline = "a baseline, to compare with";

/// The entry of a policy class, which is named<> and constructed from policy_parameters or nothing.
template <class Policy>
[[nodiscard]] constexpr policy_entry make_policy_entry(std::string_view summary, std::string_view advice = {}) {
    return {.name = Policy::id,
            .summary = summary,
            .make =
                [](const policy_parameters& parameters) {
                    if constexpr (std::is_constructible_v<Policy, const policy_parameters&>) {
                        return std::unique_ptr<policy>{std::make_unique<Policy>(parameters)};
                    } else {
                        static_cast<void>(parameters);
                        return std::unique_ptr<policy>{std::make_unique<Policy>()};
                    }
                },
            .advice = advice};
}

} // namespace vgpualloc
