// bid_price: the placement that displaces the least: what the rests of the node lose, and the slots that run out.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "vgpualloc/core/named.hpp"
#include "vgpualloc/policy/bid_demand.hpp"
#include "vgpualloc/policy/bid_slots.hpp"
#include "vgpualloc/policy/factory.hpp"
#include "vgpualloc/policy/policy.hpp"
#include "vgpualloc/policy/rest_potential.hpp"

namespace vgpualloc::policies {

/// The score of a placement, in GPUs, is what the potential of the node gains (rest_potential) less the price of the
/// slots that it costs:
///
///     gain of the potential - d * sum over classes c of V_c * (slots of c before - slots of c after)
///
/// A class is a kind of request that arrives (bid_demand), a slot of it room for one more pod of it on a node
/// (slot_stock). V_c is 0 while the cluster has many slots of c, and rises as they run out, to 3 GPUs for a slot of one
/// device and to the GPUs of the request for one of several: w_c = exp(-N_c / (T a_c)), in sixty-fourths, N_c the slots
/// of the cluster, a_c the Erlangs of c that are offered, T = 1/8 of a mean lifetime. A class of several devices has
/// besides a part of a slot where the next slot is near: s^L, L the GPUs that have to leave before it is there, s half
/// of d. So small pods go to nodes that will not be empty soon anyway. d is how far the cluster turns over: 0 where
/// nobody leaves, and 1 where releases are three quarters of bookings, in eighths. With d = 0 this is dual_price.
///
/// Prices are those at the last arrival, so that decisions depend on nothing but the ledger and the arrivals. All sums
/// are whole numbers, and no libm takes part. The potential goes by parameters.prices where these are solved or read
/// (policy_parameters::prices_are_known); otherwise by sizes, learned from the same arrivals, so that no solver and no
/// knowledge of what is still to come is needed. docs/bid-price.md says where the formula comes from.
class bid_price final : public named<"bid_price", policy> {
public:
    explicit bid_price(const policy_parameters& parameters, bid_options options = {});

    [[nodiscard]] double node_score(const request_view& request, const node_view& before,
                                    const node_view& after) override;
    [[nodiscard]] double device_score(const request_view& request, const node_view& before, const node_view& after,
                                      const step_view&) override {
        return node_score(request, before, after);
    }
    [[nodiscard]] policy_traits traits() const noexcept override {
        return {.device_score_is_node_score = true, .learns = true};
    }
    [[nodiscard]] std::uint64_t epoch() const noexcept override { return epoch_ + potential_.book().version; }

    bool take_over(const policy& other) override;
    [[nodiscard]] std::vector<score_part> score_parts(const request_view& request, const node_view& before,
                                                      const node_view& after) override;

    void note_arrival(const pod_request& request, const ledger& book) override;
    void observe(const policy_event& event) override;
    void enter_trial() override;
    void leave_trial(bool keep) override;
    void forget_ids() override;

    [[nodiscard]] std::shared_ptr<const learned_prices> learned() const override;
    /// The classes whose slots cost something now.
    [[nodiscard]] std::vector<slot_price> slot_prices() const;
    /// What rests are worth now.
    [[nodiscard]] const price_table& prices() const noexcept { return potential_.book().table; }
    /// The classes that are priced; null until a pod with devices has arrived.
    [[nodiscard]] const std::shared_ptr<const bid_classes>& classes() const noexcept { return classes_; }
    /// d: 0 to 1.
    [[nodiscard]] double turnover() const noexcept { return static_cast<double>(levels_.turnover) / 8.0; }

private:
    /// A class whose slots have a price.
    struct priced_class {
        std::size_t number = 0;
        std::int64_t price = 0; ///< of a slot, in milli-GPU / price_steps
        slot_rule rule{};
    };
    /// What prices stand at; a trial that is undone leaves it as it was.
    struct price_levels {
        std::vector<std::int32_t> of_class{}; ///< w_c in steps
        std::vector<std::int64_t> stock{};    ///< slots by class, at the last look
        std::int32_t turnover = 0;            ///< d in eighths
        /// The list of which the prices of rests are, where these are learned; null: those of the beginning.
        std::shared_ptr<const bid_classes> rests_of{};

        bool operator==(const price_levels&) const = default;
    };

    /// A node before a placement, and what it is worth then: all ways of placing all pods on it share that.
    struct seen_node {
        std::uint32_t config = not_interned;
        milli_cpu cpu_left;
        milli_cpu cpu_capacity;
        std::int64_t potential = 0; ///< rest_potential::potential()
        std::int64_t slots = 0;     ///< slot_worth()
    };

    void take_classes();
    void reprice(const ledger& book);
    void list_priced();
    void follow(const ledger& book);
    [[nodiscard]] std::int64_t price_of(std::size_t number) const;
    [[nodiscard]] std::int64_t slot_units_of(const priced_class& priced, std::int32_t offered,
                                             const node_view& node) const;
    [[nodiscard]] std::int64_t slot_worth(const node_view& node);
    [[nodiscard]] const seen_node& look_at(const node_view& node);

    bid_demand demand_;
    slot_stock slots_;
    std::shared_ptr<price_book> own_prices_; ///< null: prices are known
    price_table first_prices_;               ///< of rests, before anything was learned
    rest_potential potential_;
    std::shared_ptr<const bid_classes> classes_; ///< those of the demand when prices were last looked at
    price_levels levels_{};
    std::vector<price_levels> before_trials_; ///< for every open trial
    std::vector<priced_class> priced_;
    std::vector<std::int64_t> next_slot_; ///< by what has to leave before a next slot is there: its worth
    std::int32_t next_slot_turnover_ = 0; ///< at which that is
    const ledger* book_ = nullptr;        ///< which one is followed; compared, never read
    std::uint64_t epoch_ = 0;

    std::vector<seen_node> seen_{}; ///< the last ones, by configuration id; empty: none since prices changed
    std::uint64_t seen_at_ = 0;     ///< the version of the prices of rests, at which they were
};

} // namespace vgpualloc::policies
