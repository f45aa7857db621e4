// What each state of a device could become for one class of requests, and how a priced policy scores that now.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "alloc/part_table.hpp"
#include "alloc/state_table.hpp"
#include "vgpualloc/policy/priced.hpp"

namespace vgpualloc {

/// Of a request for one device. What a state becomes is found out once; each change is scored once per decision,
/// however many states share it.
class change_scores {
public:
    /// A new decision: scores are those of the prices of now.
    void refresh(priced_policy& scorer, std::uint64_t id_generation);

    /// The best score of a step on a device; infeasible_score if it takes none.
    [[nodiscard]] double best(const device_view& device, std::uint32_t part, part_table& parts, state_table& states,
                              priced_policy& scorer) {
        if (device.id >= ways_.size() || ways_[device.id].count == unknown) learn(device, part, parts, states, scorer);
        const way_list& list = ways_[device.id];
        double highest = list.count == 0 ? nothing : scores_[pool_[list.first]];
        for (std::uint32_t i = 1; i < list.count; ++i) {
            const double score = scores_[pool_[list.first + i]];
            if (score > highest) highest = score;
        }
        return highest;
    }

    static constexpr double nothing = -0x1p1000;

private:
    static constexpr std::uint32_t unknown = ~std::uint32_t{0};
    struct way_list {
        std::uint32_t first = 0; ///< in pool_
        std::uint32_t count = unknown;
    };
    void learn(const device_view& device, std::uint32_t part, part_table& parts, state_table& states,
               priced_policy& scorer);

    std::uint64_t id_generation_ = ~std::uint64_t{0};
    std::uint64_t change_generation_ = ~std::uint64_t{0};
    std::vector<way_list> ways_;           ///< by device id
    std::vector<std::uint32_t> pool_;      ///< positions in changes_
    std::vector<std::uint32_t> changes_;   ///< the policy's numbers of the changes met
    std::vector<double> scores_;           ///< of these
    std::vector<std::uint32_t> positions_; ///< by the policy's number: position in changes_ + 1
};

} // namespace vgpualloc
