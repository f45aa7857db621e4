// Memory slices of MIG GPUs that are free but of no use to a profile, because of where they lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "vgpualloc/model/cluster.hpp"
#include "vgpualloc/model/view.hpp"

namespace vgpualloc {

/// What is stranded by profile. A profile's stranded slices on a GPU are those of the instances that its free slices
/// would be enough for and that no start is left for: 2g.10gb on slices 0 and 1 of an A100 strands the four slices of
/// one 4g.20gb, which may start at 0 only. An empty or full GPU strands nothing, and neither does one that is not in
/// service.
///
/// Counted are the profiles that a mode's instances have places for (placed_parts::placed_profiles()); profiles of one
/// name are counted together, whatever the models. GPUs that are cut by geometry groups are not counted: their slices
/// have no places.
class stranded_slices {
public:
    /// For devices of the kinds that `cluster` has now; it need not outlive this.
    explicit stranded_slices(const device_kinds& cluster);

    /// Names of the profiles, in the order of kinds and then of the models' lists; empty where nothing is counted.
    [[nodiscard]] const std::vector<std::string>& profiles() const noexcept { return profiles_; }

    /// Adds the memory slices that are stranded on `device` to `sums`, which has a number for each of profiles().
    void add(const device_view& device, std::span<std::int64_t> sums);

private:
    /// What one kind of device counts.
    struct kind_profiles {
        const placed_parts* parts = nullptr;
        std::vector<std::size_t> of_sums; ///< by position in the mode's profiles: positions in profiles()
        /// By layout, the stranded slices of each of these profiles: layouts come again and again.
        std::unordered_map<std::uint64_t, std::vector<std::int64_t>> known;
    };

    std::vector<std::string> profiles_;
    std::vector<kind_profiles> kinds_;
};

} // namespace vgpualloc
