// A class's answers by slot, best first, and the cache that bounds how many classes' answers are kept.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "alloc/index.hpp"
#include "vgpualloc/core/rng.hpp"

namespace vgpualloc {
namespace {

using enum rejection_code;

node_answer scored(double score, int compromise = 0) { return {.score = score, .compromise = compromise}; }
node_answer refused(rejection_code code) { return {.code = code}; }

bool same(const node_answer& a, const node_answer& b) {
    return a.code == b.code && a.compromise == b.compromise && (a.code != none || a.score == b.score);
}

class_index built(const std::vector<node_answer>& answers) {
    class_index index{answers.size()};
    index.build(answers.size(), [&](std::size_t slot) { return answers[slot]; });
    return index;
}

std::vector<std::size_t> slots_as_good_as_best(const class_index& index) {
    std::vector<std::size_t> slots;
    index.for_each_as_good_as(index.best(), [&](std::size_t slot) { slots.push_back(slot); });
    return slots;
}

TEST(class_index, gives_back_what_each_slot_answered) {
    const std::vector<node_answer> answers{scored(3.5),      refused(insufficient_cpu), scored(-1e9),
                                           scored(7.0, 2),   refused(node_gone),        scored(0.0),
                                           scored(-4.25, 1), refused(insufficient_cpu)};
    const class_index index = built(answers);
    for (std::size_t slot = 0; slot < answers.size(); ++slot) EXPECT_TRUE(same(index.at(slot), answers[slot])) << slot;
    EXPECT_EQ(index.counts()[static_cast<std::size_t>(insufficient_cpu)], 2);
    EXPECT_EQ(index.counts()[static_cast<std::size_t>(node_gone)], 1);
    EXPECT_EQ(index.counts()[static_cast<std::size_t>(none)], 5);
}

TEST(class_index, the_best_is_the_highest_score_and_its_first_slot) {
    const class_index index = built({scored(1.0), scored(3.0), refused(no_nodes), scored(3.0), scored(2.0)});
    EXPECT_TRUE(same(index.best(), scored(3.0)));
    EXPECT_EQ(index.first_best(), 1U);
    EXPECT_EQ(slots_as_good_as_best(index), (std::vector<std::size_t>{1, 3}));
}

TEST(class_index, an_answer_that_falls_short_comes_after_all_that_do_not) {
    class_index index = built({scored(1e100, 1), scored(-1e100), scored(5.0, 2), scored(7.0, 1), scored(1e100, 1)});
    EXPECT_TRUE(same(index.best(), scored(-1e100)));
    EXPECT_EQ(index.first_best(), 1U);
    index.set(1, refused(insufficient_device_memory));
    EXPECT_TRUE(same(index.best(), scored(1e100, 1)));
    EXPECT_EQ(index.first_best(), 0U);
    EXPECT_EQ(slots_as_good_as_best(index), (std::vector<std::size_t>{0, 4}));
    index.set(0, scored(-1.0, 1));
    EXPECT_TRUE(same(index.at(0), scored(-1.0, 1)));
    EXPECT_EQ(index.first_best(), 4U);
    index.set(4, scored(9e99, 3));
    EXPECT_TRUE(same(index.best(), scored(7.0, 1))) << "the smaller compromise, whatever the scores";
    index.set(3, refused(node_gone));
    index.set(0, refused(node_gone));
    EXPECT_TRUE(same(index.best(), scored(5.0, 2)));
    index.set(2, refused(node_gone));
    EXPECT_TRUE(same(index.best(), scored(9e99, 3)));
    index.set(4, refused(node_gone));
    EXPECT_NE(index.best().code, none);
    EXPECT_EQ(index.counts()[static_cast<std::size_t>(node_gone)], 4);
}

TEST(class_index, without_slots_there_are_no_nodes) {
    const class_index index = built({});
    EXPECT_EQ(index.best().code, no_nodes);
}

TEST(class_index, grows_with_its_group) {
    class_index index = built({scored(1.0), refused(insufficient_cpu)});
    const std::size_t bytes = index.bytes();
    index.grow(8);
    EXPECT_EQ(index.bytes(), bytes) << "there is room";
    index.grow(100);
    EXPECT_GE(index.capacity(), 100U);
    EXPECT_GT(index.bytes(), bytes);
    EXPECT_TRUE(same(index.best(), scored(1.0)));
    index.set(99, scored(2.0));
    EXPECT_EQ(index.first_best(), 99U);
    index.set(50, scored(3.0, 1));
    EXPECT_TRUE(same(index.at(50), scored(3.0, 1)));
    EXPECT_EQ(index.counts()[static_cast<std::size_t>(none)], 3) << "slots that nothing was said of do not count";
    EXPECT_EQ(index.counts()[static_cast<std::size_t>(insufficient_cpu)], 1);
    index.build(3, [](std::size_t slot) { return slot == 1 ? scored(0.5) : refused(node_gone); });
    EXPECT_EQ(index.first_best(), 1U) << "nothing of before is left";
    EXPECT_EQ(index.counts()[static_cast<std::size_t>(node_gone)], 2);
}

/// Against a plain list, over random changes.
TEST(class_index, agrees_with_a_list_of_answers) {
    rng random{7};
    const auto some_answer = [&] {
        const auto choice = random.below(10);
        if (choice < 3) return refused(choice == 0 ? insufficient_cpu : device_in_use);
        return scored(static_cast<double>(random.below(5)) - 2.0, choice < 7 ? static_cast<int>(random.below(3)) : 0);
    };
    const auto goes_before = [](const node_answer& a, const node_answer& b) {
        if (a.code != none || b.code != none) return a.code == none && b.code != none;
        return a.compromise != b.compromise ? a.compromise < b.compromise : a.score > b.score;
    };
    std::vector<node_answer> answers(20, refused(node_gone));
    class_index index = built(answers);
    for (int step = 0; step < 5000; ++step) {
        if (step % 500 == 499) {
            answers.resize(answers.size() + 30, refused(node_gone));
            index.grow(answers.size());
            for (std::size_t slot = answers.size() - 30; slot < answers.size(); ++slot) index.set(slot, answers[slot]);
        }
        const auto slot = static_cast<std::size_t>(random.below(answers.size()));
        answers[slot] = some_answer();
        index.set(slot, answers[slot]);
        std::size_t first = 0;
        for (std::size_t other = 1; other < answers.size(); ++other) {
            if (goes_before(answers[other], answers[first])) first = other;
        }
        ASSERT_TRUE(same(index.at(slot), answers[slot])) << step;
        ASSERT_EQ(index.best().code == none, answers[first].code == none) << step;
        if (answers[first].code != none) continue;
        ASSERT_TRUE(same(index.best(), answers[first])) << step;
        ASSERT_EQ(index.first_best(), first) << step;
        std::vector<std::size_t> tied;
        for (std::size_t other = 0; other < answers.size(); ++other) {
            if (same(answers[other], answers[first])) tied.push_back(other);
        }
        ASSERT_EQ(slots_as_good_as_best(index), tied) << step;
    }
}

/// Heads with an index of 8 slots each; all take the same number of bytes.
class index_cache_test : public testing::Test {
protected:
    index_head of_nobody;
    const std::size_t bytes_of_one = cached_index{8, of_nobody}.bytes();

    void enter(index_head& head) {
        if (!cache) cache.emplace(3 * bytes_of_one);
        cache->begin_decision();
        head.index = std::make_unique<cached_index>(8, head);
        head.changes_read = 1;
        cache->use(head);
        cache->count(head);
    }

    std::array<index_head, 5> heads;
    std::optional<index_cache> cache;
};

TEST_F(index_cache_test, drops_what_was_not_used_for_longest) {
    for (std::size_t i = 0; i < 3; ++i) enter(heads[i]);
    EXPECT_EQ(cache->bytes(), 3 * bytes_of_one);
    cache->begin_decision();
    cache->use(heads[0]);
    enter(heads[3]);
    EXPECT_NE(heads[0].index, nullptr) << "used since";
    EXPECT_EQ(heads[1].index, nullptr);
    EXPECT_EQ(heads[1].changes_read, index_head::never_built);
    EXPECT_EQ(cache->bytes(), 3 * bytes_of_one);
    enter(heads[1]);
    EXPECT_EQ(heads[2].index, nullptr);
    EXPECT_EQ(cache->bytes(), 3 * bytes_of_one);
}

TEST_F(index_cache_test, what_the_decision_at_hand_needs_stays_beyond_the_bound) {
    cache.emplace(1);
    cache->begin_decision();
    for (index_head& head : heads) {
        head.index = std::make_unique<cached_index>(8, head);
        cache->use(head);
        cache->count(head);
    }
    for (const index_head& head : heads) EXPECT_NE(head.index, nullptr);
    index_head next;
    enter(next);
    for (const index_head& head : heads) EXPECT_EQ(head.index, nullptr);
    EXPECT_EQ(cache->bytes(), next.index->bytes());
    cache->drop(next);
    cache->drop(next);
    EXPECT_EQ(cache->bytes(), 0U);
}

TEST_F(index_cache_test, counts_an_index_that_has_grown) {
    cache.emplace(std::size_t{1} << 20);
    enter(heads[0]);
    heads[0].index->grow(1000);
    cache->count(heads[0]);
    EXPECT_EQ(cache->bytes(), heads[0].index->bytes());
    cache->drop(heads[0]);
    EXPECT_EQ(cache->bytes(), 0U);
}

} // namespace
} // namespace vgpualloc
