// What rests of devices are worth, learned without a solver: descent on the dual of the packing program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "vgpualloc/model/cluster.hpp"
#include "vgpualloc/model/request.hpp"
#include "vgpualloc/packing/device_packing.hpp"
#include "vgpualloc/policy/price_table.hpp"

namespace vgpualloc {

/// One kind of part that is asked for, and how much of it.
struct weighted_part {
    device_request request; ///< one device's worth
    double weight = 0.0;    ///< devices with such a part that are asked for, in any unit
};

/// The dual of the packing program of docs/bound.md: the fewest milli-GPU that prices pi of the parts and theta of the
/// devices add up to,
///
///     minimise  sum over kinds of devices n_c theta_c + sum over parts d_t pi_t
///     where     theta_c >= what any set of parts that fits on a device of kind c is worth, each at v_t - pi_t
///
/// v_t is the size of a part, d_t the demand, which asks for as many milli-GPU as the devices have. For given pi the
/// best sets are the theta, and what they leave of the demand is the slope of pi: a step follows it, in shorter and
/// shorter steps. At the optimum pi and theta are the LP's prices. One step costs a knapsack for each kind of device.
/// Additions, multiplications and comparisons alone, in a fixed order: the same on any machine.
class price_descent {
public:
    /// `any_model`: parts as any family, model and type of device could serve them.
    explicit price_descent(bool any_model) : any_model_{any_model} {}

    /// Other demand, or another cluster; prices of parts that stay go on from where they are. Of more than 64 kinds of
    /// parts those that ask for most count.
    void set_demand(std::span<const weighted_part> parts, const cluster& nodes);
    void step(std::int64_t steps);

    /// Puts the prices that the steps have come to into a table: of every kind of device that costs something theta
    /// and what parts are worth beyond pi. Kinds that cost nothing, as they are asked for less than others, and those
    /// with more states than a step can look at stay worth their size.
    void put_prices(price_table& into) const;
    /// Puts the premiums of the kinds into it: how much more than the cheapest kind one costs, as a part of the
    /// dearest.
    void put_premiums(price_table& into) const;

private:
    struct part {
        device_request request;
        double value = 0.0;  ///< v, milli-GPU
        double demand = 0.0; ///< d, devices
        double price = 0.0;  ///< pi
        double mean = 0.0;   ///< of pi, over the steps that count
    };
    /// Devices that are alike for the parts, and the kinds of which they are.
    struct device_group {
        double devices = 0.0;
        std::vector<device_spec> kinds{};
        std::vector<std::size_t> parts{}; ///< those that a device serves: the packing's parts
        std::shared_ptr<const device_packing> packing{};
    };

    void take_parts(std::span<const weighted_part> parts);
    void group_devices(const cluster& nodes);
    void pack_groups();
    [[nodiscard]] std::vector<double> worths_of(const device_group& group, double part::* price) const;
    [[nodiscard]] std::vector<double> thetas() const;

    bool any_model_;
    std::vector<part> parts_;
    std::vector<device_group> groups_;
    double devices_ = 0.0;
    std::int64_t steps_ = 0;
};

} // namespace vgpualloc
