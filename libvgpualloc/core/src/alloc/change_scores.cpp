// Scoring changes instead of nodes.
#include "alloc/change_scores.hpp"

namespace vgpualloc {

void change_scores::refresh(priced_policy& scorer, std::uint64_t id_generation) {
    if (id_generation != id_generation_ || scorer.change_generation() != change_generation_) {
        id_generation_ = id_generation;
        change_generation_ = scorer.change_generation();
        ways_.clear();
        pool_.clear();
        changes_.clear();
        positions_.clear();
        scores_.clear();
        return;
    }
    scorer.score_changes(changes_, scores_);
}

void change_scores::learn(const device_view& device, std::uint32_t part, part_table& parts, state_table& states,
                          priced_policy& scorer) {
    if (device.id >= ways_.size()) ways_.resize(device.id + std::size_t{64});
    way_list list{.first = static_cast<std::uint32_t>(pool_.size()), .count = 0};
    parts.forget_passing();
    const part_table::answer answer = parts.of(part, device);
    for (std::uint32_t way = 0; way < answer.count; ++way) {
        const std::uint32_t change = scorer.change_of(device, states.device(device, answer.after[way].state));
        if (change >= positions_.size()) positions_.resize(change + std::size_t{64}, 0);
        if (positions_[change] == 0) {
            changes_.push_back(change);
            scores_.emplace_back();
            scorer.score_changes({&change, 1}, {&scores_.back(), 1});
            positions_[change] = static_cast<std::uint32_t>(changes_.size());
        }
        pool_.push_back(positions_[change] - 1);
        ++list.count;
    }
    ways_[device.id] = list;
}

} // namespace vgpualloc
