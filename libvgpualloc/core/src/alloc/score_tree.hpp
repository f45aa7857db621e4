// The maximum of many scores, one of which changes at a time: a tree of wide blocks, its first maximum found by
// descent.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "vgpualloc/core/config.hpp"
#include "vgpualloc/model/rejection.hpp"

namespace vgpualloc {

/// Below every score of a policy. A node that cannot take a pod is scored infeasible_because(code), so that one array
/// holds both answers; the padding of a tree is lower still.
inline constexpr double infeasible_score = -0x1p1000;
inline constexpr double score_magnitude_max = 0x1p900;

[[nodiscard]] constexpr bool is_feasible(double score) noexcept { return score > infeasible_score; }
[[nodiscard]] constexpr double infeasible_because(rejection_code code) noexcept {
    return infeasible_score * static_cast<double>(code);
}
/// A score as a policy gave it, which must be told from a refusal.
[[nodiscard]] inline double checked_score(double score) noexcept {
    VGA_ASSERT(score > -score_magnitude_max && score < score_magnitude_max, "a policy's score is a number below 2^900");
    return score;
}
/// The code in a score; none for a feasible one.
[[nodiscard]] constexpr rejection_code code_in(double score) noexcept {
    // Without a branch on what cannot be predicted: a feasible score is less than half a code away from 0.
    return static_cast<rejection_code>(static_cast<int>(score * (1.0 / infeasible_score)));
}

/// Numbers at the positions 0..size-1, lowest at first. Most changes do not move a block's maximum and stop there.
class score_tree {
public:
    explicit score_tree(std::size_t size) {
        for (std::size_t count = size;; count = (count + fanout - 1) / fanout) {
            const std::size_t padded = (count + fanout - 1) / fanout * fanout;
            levels_.emplace_back(std::max(padded, fanout), lowest);
            if (count <= fanout) break;
        }
        root_ = lowest;
    }

    /// How many positions there is room for.
    [[nodiscard]] std::size_t capacity() const noexcept { return levels_[0].size(); }
    /// Makes room for positions up to size-1; new ones are lowest.
    void grow(std::size_t size) {
        if (size <= capacity()) return;
        score_tree wider{std::max(size, 2 * levels_[0].size())};
        std::copy(levels_[0].begin(), levels_[0].end(), wider.levels_[0].begin());
        wider.add_up();
        *this = std::move(wider);
    }

    /// Sets every position at once: score_of(position) for each, then the maxima bottom-up.
    template <class ScoreOf>
    void assign(std::size_t size, ScoreOf&& score_of) {
        for (std::size_t i = 0; i < size; ++i) levels_[0][i] = score_of(i);
        for (std::size_t i = size; i < levels_[0].size(); ++i) levels_[0][i] = lowest;
        add_up();
    }

    [[nodiscard]] double max() const noexcept { return root_; }
    [[nodiscard]] double at(std::size_t position) const noexcept { return levels_[0][position]; }

    /// Says that a position will be read or set soon.
    void expect(std::size_t position) const noexcept { prefetch(&levels_[0][position]); }
    void set(std::size_t position, double score) {
        for (auto& level : levels_) {
            const double old = level[position];
            if (old == score) return;
            level[position] = score;
            const std::size_t block = position / fanout;
            const double block_max = &level == &levels_.back() ? root_ : (&level)[1][block];
            if (score <= block_max && old < block_max) return;
            if (score < block_max) { // the maximum may be gone; often another position has it too
                score = max_of_block(level, block);
                if (score == block_max) return;
            }
            position = block;
        }
        root_ = score;
    }

    /// The first position whose score is max(). The tree is not empty.
    [[nodiscard]] std::size_t first_max() const noexcept {
        std::size_t block = 0;
        for (std::size_t i = levels_.size(); i-- > 0;) {
            const double* begin = levels_[i].data() + block * fanout;
            block = block * fanout + static_cast<std::size_t>(std::find(begin, begin + fanout, root_) - begin);
        }
        return block;
    }

    /// Calls visit(position) for every position with that score, ascending.
    template <class Visit>
    void for_each_equal(double score, Visit&& visit) const {
        descend_equal(levels_.size() - 1, 0, score, visit);
    }

    [[nodiscard]] std::size_t bytes() const noexcept {
        std::size_t total = 0;
        for (const auto& level : levels_) total += level.capacity() * sizeof(double);
        return total;
    }

    static constexpr double lowest = -std::numeric_limits<double>::infinity();

private:
    static constexpr std::size_t fanout = 8;

    /// The maxima of all blocks, bottom-up.
    void add_up() {
        for (std::size_t l = 1; l < levels_.size(); ++l) {
            for (std::size_t b = 0; b * fanout < levels_[l - 1].size(); ++b) {
                levels_[l][b] = max_of_block(levels_[l - 1], b);
            }
        }
        root_ = max_of_block(levels_.back(), 0);
    }

    [[nodiscard]] static double max_of_block(const std::vector<double>& level, std::size_t block) noexcept {
        const double* begin = level.data() + block * fanout;
        std::array<double, 4> lanes{begin[0], begin[1], begin[2], begin[3]}; // four chains: no waiting on one maximum
        for (std::size_t i = 4; i < fanout; i += 4) {
            for (std::size_t lane = 0; lane < 4; ++lane) lanes[lane] = std::max(lanes[lane], begin[i + lane]);
        }
        return std::max(std::max(lanes[0], lanes[1]), std::max(lanes[2], lanes[3]));
    }

    template <class Visit>
    void descend_equal(std::size_t level, std::size_t block, double score, Visit& visit) const {
        for (std::size_t i = block * fanout; i < (block + 1) * fanout; ++i) {
            if (level > 0 && levels_[level][i] >= score) descend_equal(level - 1, i, score, visit);
            if (level == 0 && levels_[level][i] == score) visit(i);
        }
    }

    double root_;
    std::vector<std::vector<double>> levels_; ///< [0] the scores, [i + 1] the maxima of the blocks of [i]
};

} // namespace vgpualloc
