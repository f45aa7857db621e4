// The allocator's index of one group of nodes for one request class.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "vgpualloc/alloc/score_tree.hpp"
#include "vgpualloc/model/rejection.hpp"

namespace vgpualloc {

/// The scores of one group's nodes for one class.
struct class_index {
    explicit class_index(std::size_t nodes) : scores{nodes} {}

    score_tree scores;
    std::array<std::int64_t, rejection_code_count> code_count{}; ///< how many slots have each code
    std::uint64_t last_use = 0;

    void set(std::size_t slot, double score) {
        if (scores.at(slot) == score) return;
        --code_count[static_cast<std::size_t>(code_in(scores.at(slot)))];
        ++code_count[static_cast<std::size_t>(code_in(score))];
        scores.set(slot, score);
    }
    [[nodiscard]] std::size_t bytes() const noexcept { return scores.bytes() + sizeof *this; }
};

} // namespace vgpualloc
