// What a node is worth by the rests of its devices and the CPU that they can use: the potential of dual_price and
// bid_price.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "vgpualloc/policy/policy.hpp"
#include "vgpualloc/policy/price_table.hpp"

namespace vgpualloc::policies {

/// A node's potential is the worth of its devices' rests, each as a part of what an idle device of its kind is worth
/// (price_table), but no more than its CPU can make use of, at 0.95 times the workload's CPU per GPU; a hundredth of
/// the worth needs 1.5 times the workload's, which decides between placements that are nearly as good. Neither counts
/// for more than what the node itself has per GPU. The rest of a device in use needs 1.6 times as much as an idle
/// device of the same worth. To this come the premiums of scarce kinds and 0.2 times the sum of squares of the rests.
/// Everything is counted in whole numbers: equal states compare equal on every machine. Of nodes that are as good a pod
/// with devices goes to the one with the least CPU left, in GPUs' worth and less 0.3 for each of its devices. Where
/// pods of the workload name models all of the worth needs 0.95 times the workload's CPU per GPU, whatever the node
/// has. Where the cluster is short of CPU (price_table::cpu_scarce), whether or not pods name models, half of the worth
/// needs 0.2 times the workload's CPU per GPU and half 1.3 times it, whatever the node has, rests need no more than
/// idle devices of that worth, and equals keep the order of nodes. docs/price-policy.md says where the formula comes
/// from and what each term gains.
class rest_potential {
public:
    explicit rest_potential(std::shared_ptr<const price_book> book) : book_{std::move(book)} {}

    /// What the potential of the node gains, in GPUs; less the order among equals for a request with devices.
    [[nodiscard]] double gain(const request_view& request, const node_view& before, const node_view& after);
    /// What a node is worth, in points, a hundred for a millionth of a GPU.
    [[nodiscard]] std::int64_t potential(const node_view& node);
    /// gain() from a node whose potential is known.
    [[nodiscard]] double gain_from(std::int64_t potential_before, const request_view& request, const node_view& after);
    /// What a node is worth, in GPUs.
    [[nodiscard]] double worth(const node_view& node);

    [[nodiscard]] const price_book& book() const noexcept { return *book_; }
    void forget_ids() {
        sums_.clear();
        kinds_.clear();
    }

private:
    /// Of a device, or of all devices of a node.
    struct rest_sums {
        std::int64_t worth = -1;  ///< millionths of a GPU; -1 = not known yet
        std::int64_t premium = 0; ///< likewise
        std::int64_t need = 0;    ///< how much of an idle GPU's CPU the worth needs, in millionths
        std::int64_t squares = 0; ///< of the rests in milli-GPU
    };
    /// Of a kind of device.
    struct kind_prices {
        bool known = false;
        std::int64_t premium = 0; ///< thousandths of the worth of a rest
        std::int64_t idle = 0;    ///< thousandths; 0 = a rest is worth its size
        std::optional<rest_worths> worths{};
    };

    [[nodiscard]] kind_prices prices_of(const device_spec& device) const;
    [[nodiscard]] rest_sums worth_of(const device_view& device);
    [[nodiscard]] rest_sums sum_of(const device_config& config);
    [[nodiscard]] rest_sums sums_of(const device_config& config);
    [[nodiscard]] std::int64_t tie(const node_view& node) const noexcept;

    std::shared_ptr<const price_book> book_;
    std::uint64_t version_ = 0;
    std::vector<rest_sums> sums_;    ///< by configuration id
    std::vector<kind_prices> kinds_; ///< by kind
};

} // namespace vgpualloc::policies
