// What the pods of a workload can take together at one moment, as linear conditions: the packing program of its nodes,
// with values that whoever asks chooses.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "vgpualloc/plan/cluster_packing.hpp"
#include "vgpualloc/plan/lp.hpp"
#include "vgpusim/workload/workload.hpp"

namespace vgpusim {

/// The packing program (plan/cluster_packing.hpp) of all pods of an input. Its fractional packings contain every set of
/// pods that can run together, and what is less than a packing is one. A pod is one or several entries of types; what
/// is said by type is said of one entry.
class workload_packing {
public:
    /// Errors: those of pack_cluster().
    [[nodiscard]] static expected<workload_packing> of(const simulation_input& input);

    [[nodiscard]] std::size_t types() const noexcept { return packing_.program.types.size(); }
    /// The types that a pod of the request counts in, each with how many entries it is.
    [[nodiscard]] const std::vector<std::pair<std::uint32_t, double>>& entries_of(std::size_t request) const noexcept {
        return entries_[request];
    }
    /// Entries of all pods of the input.
    [[nodiscard]] const std::vector<double>& all_entries() const noexcept { return all_entries_; }
    /// What an entry asks for, in milli-GPU.
    [[nodiscard]] const std::vector<double>& milli() const noexcept { return milli_; }
    /// What an entry takes of a host resource (0: CPU, 1: memory), of what all nodes have; 0 where they have none.
    [[nodiscard]] std::vector<double> host_share(std::size_t resource) const;
    /// The sum of what a pod's entries have.
    [[nodiscard]] double sum_of(std::size_t request, const std::vector<double>& of_type) const;

    /// The most that packings of at most `demand` entries are worth, and what the entries are worth beyond their cost.
    [[nodiscard]] expected<vgpualloc::plan::packing_prices>
    solve(const std::vector<double>& value, const std::vector<double>& demand, vgpualloc::plan::lp_solver& solver);

private:
    vgpualloc::plan::cluster_packing packing_;
    std::vector<std::vector<std::pair<std::uint32_t, double>>> entries_; ///< by request
    std::vector<double> all_entries_;
    std::vector<double> milli_;
};

/// A condition that every set of pods which can run together meets: their entries at these prices are worth at most
/// `most`.
struct packing_cut {
    std::vector<double> price{}; ///< by type, at least 0
    double most = 0.0;
};

/// The condition with these prices, whatever they are. `most` is infinite where the solver proves nothing.
[[nodiscard]] expected<packing_cut> cut_at(std::vector<double> price, workload_packing& packing,
                                           vgpualloc::plan::lp_solver& solver);

/// What entries cost by the prices of a solution that packs them for what they are worth: their value less what one
/// more of them would add.
[[nodiscard]] std::vector<double> costs_of(const vgpualloc::plan::packing_prices& prices,
                                           const std::vector<double>& value);

} // namespace vgpusim
