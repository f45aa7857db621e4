// The scores of a group's nodes for one class of requests, and the cache that bounds how many of them are kept.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "alloc/score_tree.hpp"
#include "alloc/use_list.hpp"
#include "vgpualloc/alloc/answer.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpualloc/model/rejection.hpp"

namespace vgpualloc {

/// What the nodes of one group answer to one class of requests.
class class_index {
public:
    explicit class_index(std::size_t slots) : scores_{slots} {}

    /// Sets all answers at once: answer_of(slot) for each of `slots`, as in set() or as in set_key().
    template <class AnswerOf>
    void build(std::size_t slots, AnswerOf&& answer_of) {
        counts_.fill(0);
        codes_ = 0;
        fallbacks_.clear();
        scores_.grow(slots);
        double previous = score_tree::lowest; // neighbours often answer alike: they are counted together
        std::int32_t alike = 0;
        scores_.assign(slots, [&](std::size_t slot) {
            double key = 0.0;
            if constexpr (std::is_same_v<decltype(answer_of(slot)), double>) {
                key = answer_of(slot);
            } else {
                key = key_of(slot, answer_of(slot));
            }
            if (key != previous) {
                if (alike > 0) count(code_in(previous), alike);
                previous = key;
                alike = 0;
            }
            ++alike;
            return key;
        });
        if (alike > 0) count(code_in(previous), alike);
    }
    /// Makes room for that many slots.
    void grow(std::size_t slots) { scores_.grow(slots); }
    [[nodiscard]] std::size_t capacity() const noexcept { return scores_.capacity(); }
    /// Says that a slot's answer will be read or set soon.
    void expect(std::size_t slot) const noexcept { scores_.expect(slot); }
    void set(std::size_t slot, const node_answer& answer) { set_key(slot, key_of(slot, answer)); }
    /// The same for a score or infeasible_because(code): an answer without compromise.
    void set_key(std::size_t slot, double key) {
        const double before = scores_.at(slot);
        if (before == key) return;
        if (!is_feasible(before) || !is_feasible(key)) {
            if (before != score_tree::lowest) --counts_[static_cast<std::size_t>(code_in(before))];
            count(code_in(key), 1);
        }
        scores_.set(slot, key);
    }

    [[nodiscard]] node_answer at(std::size_t slot) const noexcept;
    /// The answer that goes before all others, and the first slot that gives it. Refused if all are.
    [[nodiscard]] node_answer best() const;
    VGA_HOT [[nodiscard]] std::uint32_t first_best() const;
    /// What best() is compared by among groups: its score; one for every compromise if it has any, which leaves the
    /// scores to be compared; infeasible if it is a refusal.
    [[nodiscard]] double best_key() const noexcept { return scores_.max(); }
    [[nodiscard]] static bool is_compromised(double key) noexcept { return key <= compromised_key(1); }
    /// Calls visit(slot) for the slots whose answers are as good as `best`, ascending.
    template <class Visit>
    void for_each_as_good_as(const node_answer& best, Visit&& visit) const {
        const double key = best.compromise == 0 ? best.score : compromised_key(best.compromise);
        scores_.for_each_equal(key, [&](std::size_t slot) {
            if (best.compromise == 0 || fallbacks_[slot].score == best.score) visit(slot);
        });
    }
    /// How many slots gave each code.
    [[nodiscard]] const std::array<std::int32_t, node_rejection_code_count>& counts() const noexcept { return counts_; }
    /// Adds these counts to `sums`.
    void add_counts(std::array<std::int64_t, node_rejection_code_count>& sums) const noexcept {
        for (std::uint64_t left = codes_; left != 0; left &= left - 1) {
            const auto code = static_cast<std::size_t>(std::countr_zero(left));
            sums[code] += counts_[code];
        }
    }
    [[nodiscard]] std::size_t bytes() const noexcept {
        return scores_.bytes() + fallbacks_.capacity() * sizeof(node_answer) + sizeof *this;
    }

private:
    /// Answers that fall short of the request come after all that do not: they share one key per compromise in the
    /// tree, below every score and above every refusal, and are compared by their scores only where nothing better is
    /// left.
    [[nodiscard]] static constexpr double compromised_key(int compromise) noexcept {
        return -score_magnitude_max * 0x1p10 * static_cast<double>(compromise);
    }
    [[nodiscard]] double key_of(std::size_t slot, const node_answer& answer) {
        if (answer.code != rejection_code::none) return infeasible_because(answer.code);
        if (answer.compromise == 0) return answer.score;
        if (slot >= fallbacks_.size()) fallbacks_.resize(slot + 1);
        fallbacks_[slot] = answer;
        return compromised_key(answer.compromise);
    }

    void count(rejection_code code, std::int32_t slots) noexcept {
        counts_[static_cast<std::size_t>(code)] += slots;
        codes_ |= std::uint64_t{1} << static_cast<unsigned>(code);
    }

    static_assert(node_rejection_code_count <= 64, "a set of codes is one number");

    score_tree scores_;
    std::uint64_t codes_ = 0; ///< the set of codes that were counted since the index was built: few of all
    std::array<std::int32_t, node_rejection_code_count> counts_{}; ///< of slots, which are fewer than 2^31
    std::vector<node_answer> fallbacks_; ///< by slot; as long as the last slot that compromises
};

class cached_index;

/// A class's index of one group: what every decision looks at, and the rest behind a pointer.
struct index_head {
    static constexpr std::uint64_t never_built = ~std::uint64_t{0};
    static constexpr std::uint32_t first_unknown = ~std::uint32_t{0};

    std::uint64_t changes_read = never_built; ///< the group's change count that the index has followed
    double best_key = infeasible_because(rejection_code::no_nodes); ///< class_index::best_key()
    std::unique_ptr<cached_index> index{};
    /// What this decision compares groups by: best_key, or where changes are scored and not nodes, the best score.
    double decided_key = infeasible_because(rejection_code::no_nodes);
    std::uint32_t first = first_unknown; ///< class_index::first_best(), or the first slot with the best change

    /// Makes the next decision build the index anew.
    void invalidate() noexcept { changes_read = never_built; }
};

/// What a class of requests remembers of nodes beside their answers: refusals that do not depend on what is used.
struct lasting_answers {
    /// reference_allocator::fixed_refusal() of a node as it was described in that version.
    struct fixed_answer {
        std::uint64_t version = 0;
        bool known = false;
        rejection_code code{};
    };
    std::vector<fixed_answer> fixed{};    ///< by slot, where the class lists uuids; empty where it does not
    std::vector<std::uint8_t> by_class{}; ///< by class of nodes: why_not_host() + 1; 0 where it was not asked
    std::uint64_t class_generation = 0;   ///< of these classes

    [[nodiscard]] std::size_t bytes() const noexcept {
        return sizeof *this + fixed.capacity() * sizeof(fixed_answer) + by_class.capacity();
    }
};

/// An index as the cache keeps it. What every decision touches of it lies in one cache line.
class alignas(64) cached_index : public use_links<cached_index>, public class_index {
public:
    cached_index(std::size_t slots, index_head& head) : class_index{slots}, owner{&head} {}
    [[nodiscard]] std::size_t bytes() const noexcept {
        return class_index::bytes() + sizeof(cached_index) - sizeof(class_index) +
               (lasting_ == nullptr ? 0 : lasting_->bytes());
    }
    /// The refusal that is kept of a slot's node, to be filled in if it is not known or of another version.
    [[nodiscard]] lasting_answers::fixed_answer& fixed_of(std::size_t slot) {
        auto& fixed = lasting().fixed;
        if (fixed.size() <= slot) {
            fixed.resize(capacity());
            has_grown = true;
        }
        return fixed[slot];
    }
    /// What is kept of a class of nodes: a rejection code + 1, or 0. All numbers of this generation are below `limit`.
    [[nodiscard]] std::uint8_t& answer_of_class(std::uint32_t number, std::uint64_t generation, std::size_t limit) {
        auto& [fixed, by_class, class_generation] = lasting();
        if (class_generation != generation) {
            class_generation = generation;
            by_class.clear();
        }
        if (by_class.size() <= number) {
            by_class.resize(limit, 0);
            has_grown = true;
        }
        return by_class[number];
    }
    /// The slots have new numbers.
    void forget_slots() noexcept {
        if (lasting_ != nullptr) lasting_->fixed.clear();
    }

    /// Whether everything that it keeps has room, and is counted.
    [[nodiscard]] bool has_room_for(std::size_t slots) const noexcept { return capacity() >= slots && !has_grown; }

    index_head* owner;
    std::size_t bytes_counted = 0;
    bool has_grown = false; ///< since the bytes were counted

private:
    [[nodiscard]] lasting_answers& lasting() {
        if (lasting_ == nullptr) {
            lasting_ = std::make_unique<lasting_answers>();
            has_grown = true;
        }
        return *lasting_;
    }

    std::unique_ptr<lasting_answers> lasting_; ///< null where nothing is kept: most requests name and choose nothing
};

/// Counts the bytes of all indexes and drops those that were not used for longest. Making room costs O(1) per index.
class index_cache {
public:
    explicit index_cache(std::size_t bytes_max) : bytes_max_{bytes_max} {}

    /// A new decision begins: the indexes that it uses stay.
    void begin_decision() noexcept { ++now_; }
    void use(const index_head& head) const noexcept {
        if (head.index != nullptr) head.index->last_use = now_;
    }
    /// After an index was made or has grown: counts it and drops others if there is too much.
    void count(const index_head& head);
    /// Before a head goes.
    void drop(index_head& head) noexcept;
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

private:
    std::size_t bytes_max_;
    std::size_t bytes_ = 0;
    std::uint64_t now_ = 0;
    use_list<cached_index> indexes_;
};

} // namespace vgpualloc
