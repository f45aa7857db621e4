// Answers read back from an index, and the cache of indexes.
#include "alloc/index.hpp"

#include <algorithm>

namespace vgpualloc {

node_answer class_index::at(std::size_t slot) const noexcept {
    const double key = scores_.at(slot);
    if (!is_feasible(key)) return {.code = code_in(key)};
    if (is_compromised(key)) return fallbacks_[slot];
    return {.score = key};
}

node_answer class_index::best() const {
    const double key = scores_.max();
    if (!is_feasible(key)) return {.code = key == score_tree::lowest ? rejection_code::no_nodes : code_in(key)};
    if (!is_compromised(key)) return {.score = key};
    node_answer best{.code = rejection_code::no_nodes};
    scores_.for_each_equal(key, [&](std::size_t slot) {
        const node_answer& answer = fallbacks_[slot];
        if (best.code != rejection_code::none || answer.score > best.score) best = answer;
    });
    return best;
}

std::uint32_t class_index::first_best() const {
    if (!is_compromised(scores_.max())) return static_cast<std::uint32_t>(scores_.first_max());
    const node_answer answer = best();
    auto first = ~std::uint32_t{0};
    for_each_as_good_as(answer, [&](std::size_t slot) { first = std::min(first, static_cast<std::uint32_t>(slot)); });
    return first;
}

void index_cache::count(const index_head& head) {
    cached_index& index = *head.index;
    const std::size_t bytes = index.bytes();
    bytes_ += bytes - index.bytes_counted;
    if (index.bytes_counted == 0) indexes_.link(index, now_);
    index.bytes_counted = bytes;
    index.has_grown = false;
    while (bytes_ > bytes_max_) {
        cached_index* const victim = indexes_.victim(now_);
        if (victim == nullptr) return; // the decision at hand needs what is left
        drop(*victim->owner);
    }
}

void index_cache::drop(index_head& head) noexcept {
    head.invalidate();
    if (head.index == nullptr) return;
    if (head.index->bytes_counted > 0) indexes_.unlink(*head.index);
    bytes_ -= head.index->bytes_counted;
    head.index.reset();
}

} // namespace vgpualloc
