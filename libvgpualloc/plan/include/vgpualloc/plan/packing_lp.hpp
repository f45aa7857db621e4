// The packing program of a workload on a cluster, aggregated: pods by type, nodes by group, devices by class. Its
// linear relaxation over patterns of whole devices (a configuration LP) bounds what any policy could allocate, and its
// dual prices say what devices, host resources and types of pods are worth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/packing/device_packing.hpp"
#include "vgpualloc/plan/lp.hpp"

namespace vgpualloc::plan {

/// Pods that are alike. A pod that wants parts of several devices is as many entries of demand as parts, each with its
/// share of the host amounts and of the value: that loosens the program and keeps a bound a bound.
struct packing_type {
    double demand = 0.0; ///< how many there are at most
    double forced = 0.0; ///< how many of them have to be placed, at most `demand`
    double value = 0.0;  ///< what one adds to the objective, at least 0: milli-GPU, memory units, 1 to count pods
    std::vector<double> host{}; ///< what one takes of each host resource, at least 0
};

/// Nodes whose host resources are counted together, which is looser than node by node unless it is one node.
struct packing_group {
    std::vector<double> host{}; ///< what they have of each host resource; lp_infinity where that is not to count
};

/// Devices that are alike, on the nodes of one group.
struct packing_devices {
    std::uint32_t group = 0;
    double count = 0.0;
    /// How parts go together on one of them; null where only blocks take them.
    std::shared_ptr<const device_packing> packing{};
    std::vector<std::uint32_t> type_of_part{}; ///< by part of the packing: the type that it serves
    std::vector<double> value_of_part{};       ///< on these devices; empty: the value of its type
};

/// A way to place one pod of a type that takes whole devices, or none: CPU-only pods are blocks without devices.
struct packing_block {
    std::uint32_t type = 0;
    std::uint32_t group = 0;
    std::uint32_t devices = 0; ///< class of devices, one of the group; says nothing where `count` is 0
    double count = 0.0;        ///< devices that it takes whole
    double pods = 1.0;         ///< entries of the type's demand that it places; above 1 where these are parts of pods
    std::optional<double> value{}; ///< of all of it on these devices; absent: the value of its type for each of `pods`
};

/// Plain data that knows no pods and no nodes; whoever makes it keeps the orders of the lists, which decide which of
/// several optimal solutions comes out.
struct packing_program {
    std::vector<packing_type> types{};
    std::vector<packing_group> groups{};
    std::vector<packing_devices> devices{};
    std::vector<packing_block> blocks{};
};

/// What the configuration LP says. `theta` and prices are derivatives of the objective and rounded to 10^-3 (prices),
/// which is how they are the same on every machine; `objective` and `bound` are not rounded.
struct packing_prices {
    lp_status status = lp_status::optimal; ///< optimal; infeasible: the forced pods do not fit; limit: rounds or solver
    double objective = 0.0;                ///< of the LP
    /// An upper bound on the program's value that follows from the prices alone, by weak duality with every pattern
    /// priced exactly: it holds whatever the solver's tolerances. Infinite where there are no prices.
    double bound = 0.0;
    double shortage = 0.0;                   ///< infeasible: how many forced pods stay out at least, at fractions
    std::vector<double> type{};              ///< by type: what one pod more of the demand adds
    std::vector<double> theta{};             ///< by class of devices: what one device more adds
    std::vector<std::vector<double>> host{}; ///< by group and resource: what one unit more adds
    std::vector<double> placed{};            ///< by type, how many the LP places
    std::size_t rounds = 0;                  ///< of column generation
    std::size_t columns = 0;
};

struct packing_options {
    std::size_t rounds_max = 2000;
    lp_limits limits{};
};

/// Solves the configuration LP by column generation:
///   max  sum value_t x,  over columns x >= 0: patterns of a class of devices, and blocks
///   s.t. forced_t <= pods of type t in columns <= demand_t           (type)
///        host amounts of the columns of group g <= what the group has (host)
///        devices of class c that columns take <= count_c              (theta)
/// Columns come from exact pricing (device_packing::best) in the order of the classes, then of the blocks; one solver
/// call a round, each from the last one's basis. Where pods are forced a first phase minimises how many of them stay
/// out. Source: Gilmore and Gomory, "A linear programming approach to the cutting-stock problem" (1961); the bound is
/// that of Farley (1990) per class. Errors: a program that check_packing() refuses; those of the solver.
[[nodiscard]] expected<packing_prices> solve_packing_lp(const packing_program& program, lp_solver& solver,
                                                        const packing_options& options = {});

/// The best integer placement of a program.
struct exact_packing {
    lp_status status = lp_status::optimal; ///< limit: `bound` is still one, `objective` what was found
    double objective = 0.0;
    double bound = 0.0;
    std::vector<double> placed{}; ///< by type
    std::size_t columns = 0;
};

struct exact_options {
    std::size_t columns_max = 20'000; ///< patterns and blocks of all classes; more are refused
    lp_limits limits{};
};

/// Solves the program itself, all patterns enumerated and every column an integer. With one group per node that is the
/// placement problem exactly, as long as no pod wants parts of several devices. Errors (unsupported): more patterns
/// than allowed; otherwise as above.
[[nodiscard]] expected<exact_packing> solve_packing_exactly(const packing_program& program, lp_solver& solver,
                                                            const exact_options& options = {});

/// A price as it is written down and used: to the nearest 10^-3, halves away from zero, and no negative zero.
[[nodiscard]] double rounded_price(double price) noexcept;

/// Refuses positions outside the lists, amounts that are negative or not numbers, host lists of other lengths, parts
/// without a type.
[[nodiscard]] expected<void> check_packing(const packing_program& program);

} // namespace vgpualloc::plan
