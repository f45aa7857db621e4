// ssp: slot-scarcity prices: the placement that costs the least in free places, each worth what its kind is scarce.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "vgpualloc/core/named.hpp"
#include "vgpualloc/policy/device_values.hpp"
#include "vgpualloc/policy/factory.hpp"
#include "vgpualloc/policy/priced.hpp"
#include "vgpualloc/policy/slot_scarcity.hpp"

namespace vgpualloc::policies {

/// A placement costs the sum over classes of requests of price x places lost (slot_scarcity has both); the cheapest
/// wins, of equally cheap ones that on the fullest device. It is mcc with prices that follow scarcity: a start of a
/// profile of which the cluster has plenty is given away, one of a profile that runs out is kept. T is 1/8 and demand
/// is learned (docs/mig.md). Not for clusters that are only filled and never emptied, where nothing is known of
/// lifetimes (mcc is better there).
///
/// The score is minus the cost, in starts, rounded to 2^-32, so that costs which differ by rounding alone are equal.
class ssp final : public named<"ssp", priced_policy> {
public:
    explicit ssp(const policy_parameters& parameters) : scarcity_{parameters.target} {}

    [[nodiscard]] double node_score(const request_view& request, const node_view& before,
                                    const node_view& after) override;
    [[nodiscard]] double device_score(const request_view& request, const node_view& before, const node_view& after,
                                      const step_view& step) override;

    [[nodiscard]] std::uint32_t change_of(const device_view& before, const device_view& after) override;
    [[nodiscard]] std::uint64_t change_generation() const noexcept override {
        return forgotten_ + scarcity_.class_generation();
    }
    void score_changes(std::span<const std::uint32_t> changes, std::span<double> scores) override;

    void note_arrival(const pod_request& request, const ledger& book) override {
        scarcity_.note_arrival(request, book);
    }
    void observe(const policy_event& event) override { scarcity_.observe(event); }
    void enter_trial() override { scarcity_.enter_trial(); }
    void leave_trial(bool keep) override { scarcity_.leave_trial(keep); }
    [[nodiscard]] std::uint64_t epoch() const noexcept override { return scarcity_.version(); }
    void forget_ids() override;

    /// The prices, for planners that value states by them.
    [[nodiscard]] slot_scarcity& scarcity() noexcept { return scarcity_; }

private:
    /// What a device, or the devices of a configuration, could still take, by class, and last how full they are.
    using count_row = std::vector<std::int32_t>;

    void follow_classes();
    [[nodiscard]] std::size_t width() const noexcept { return scarcity_.class_count() + 1; }
    void add_device(const device_view& device, std::int32_t* row);
    void copy_row(const device_config& config, count_row& row);
    [[nodiscard]] double score_of(const std::int32_t* lost, std::span<const double> prices) const noexcept;

    slot_scarcity scarcity_;
    value_memo fullness_;
    std::uint64_t forgotten_ = 0;            ///< how often ids were given anew
    std::uint64_t class_generation_ = 0;     ///< of the scarcity, when rows and changes were made
    std::vector<std::uint32_t> config_rows_; ///< by configuration id: its row + 1; 0 = none yet
    std::vector<std::int32_t> rows_;         ///< [row][class, then fullness]
    std::vector<std::int32_t> changes_;      ///< [change][class, then fullness]: what is lost
    std::unordered_map<std::uint64_t, std::uint32_t> change_numbers_; ///< by hash; the first of equal hashes
    std::vector<std::uint32_t> same_hash_;                            ///< [change]: the next one, or itself
    count_row before_row_;
    count_row after_row_;
};

} // namespace vgpualloc::policies
