// Whatever is done in a trial is undone as if it had not been, unless it is kept.
#include "changes.hpp"

#include <memory>
#include <optional>
#include <utility>

#include "vgpualloc/core/rng.hpp"
#include "vgpualloc/model/trial.hpp"

namespace vgpualloc {
namespace {

using namespace test;

/// The recount, the log, and every booking in a place of its own.
void expect_sound(const ledger& book) {
    book.check();
    const auto replayed = ledger::rebuild(changing_cluster(), book.log());
    ASSERT_TRUE(replayed.has_value()) << replayed.error().message();
    EXPECT_TRUE(replayed->same_use(book));
}

/// A ledger to which these changes happened without any trial.
ledger after(const std::vector<const change_entry*>& kept) {
    ledger book = changing_ledger();
    for (const change_entry* change : kept) change->apply(book);
    return book;
}

void expect_as_if(ledger& book, const std::vector<const change_entry*>& kept) {
    ledger expected = after(kept);
    EXPECT_TRUE(book.same_use(expected));
    EXPECT_EQ(with_ranks_in_order(image_of(book)), with_ranks_in_order(image_of(expected)));
    expect_sound(book);
}

TEST(trial, every_change_is_undone) {
    for (const change_entry& change : all_changes()) {
        SCOPED_TRACE(change.name);
        ledger book = changing_ledger();
        ledger untouched = changing_ledger();
        {
            const trial what_if{book};
            change.apply(book);
            book.check();
        }
        EXPECT_EQ(image_of(book), image_of(untouched));
        expect_sound(book);
    }
}

TEST(trial, every_change_is_kept) {
    for (const change_entry& change : all_changes()) {
        SCOPED_TRACE(change.name);
        ledger book = changing_ledger();
        trial decided{book};
        change.apply(book);
        decided.keep();
        expect_as_if(book, {&change});
    }
}

/// Every two changes, the second in a trial of its own inside the first one's, each kept or undone.
TEST(trial, nested_trials_are_kept_or_undone_each_for_itself) {
    for (const change_entry& first : all_changes()) {
        for (const change_entry& second : all_changes()) {
            for (const auto& [keeps_outer, keeps_inner] :
                 {std::pair{false, false}, {false, true}, {true, false}, {true, true}}) {
                SCOPED_TRACE(std::string{first.name} + (keeps_outer ? ", kept; " : ", undone; ") + second.name +
                             (keeps_inner ? ", kept" : ", undone"));
                ledger book = changing_ledger();
                trial outer{book};
                first.apply(book);
                {
                    trial inner{book};
                    second.apply(book);
                    if (keeps_inner) inner.keep();
                }
                book.check();
                if (keeps_outer) {
                    outer.keep();
                } else {
                    outer.undo();
                }
                std::vector<const change_entry*> kept;
                if (keeps_outer) kept.push_back(&first);
                if (keeps_outer && keeps_inner) kept.push_back(&second);
                expect_as_if(book, kept);
                if (HasFailure()) return;
            }
        }
    }
}

/// Random changes in random trials, three deep; what is kept is what would be there without any trial.
TEST(trial, many_changes_in_many_trials_leave_what_was_kept) {
    const auto& changes = all_changes();
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        SCOPED_TRACE(seed);
        rng random{seed};
        ledger book = changing_ledger();
        std::vector<std::unique_ptr<trial>> open;
        std::vector<std::vector<const change_entry*>> kept(1);
        const auto end_innermost = [&](bool keep) {
            if (keep) {
                open.back()->keep();
            } else {
                open.back()->undo();
            }
            open.pop_back();
            const auto inner = std::move(kept.back());
            kept.pop_back();
            if (keep) kept.back().insert(kept.back().end(), inner.begin(), inner.end());
        };
        for (int step = 0; step < 16; ++step) {
            const auto choice = random.below(6);
            if (choice == 0 && open.size() < 3) {
                open.push_back(std::make_unique<trial>(book));
                kept.emplace_back();
            } else if (choice == 1 && !open.empty()) {
                end_innermost(random.below(2) == 0);
            } else {
                const change_entry& change = changes[static_cast<std::size_t>(random.below(changes.size()))];
                change.apply(book);
                kept.back().push_back(&change);
            }
        }
        while (!open.empty()) end_innermost(random.below(2) == 0);
        expect_as_if(book, kept.front());
        book.checkpoint(book.next_event());
        for (std::uint32_t pod = 100; pod < 120; ++pod)
            ASSERT_TRUE(book.adopt(book_on(pod, node_index{1})) || !book.is_present(node_index{1}));
        book.check();
        if (HasFailure()) return;
    }
}

TEST(trial, readers_of_the_log_hear_the_undoing) {
    ledger book = changing_ledger();
    const std::uint64_t begin = book.next_event();
    {
        const trial what_if{book};
        ASSERT_TRUE(book.release(pod_id{1}));
        ASSERT_TRUE(run_on(book, 10, node_index{0}, 1));
        ASSERT_TRUE(book.remove_node(node_index{2}));
    }
    struct row {
        ledger_event_kind kind;
        bool undone;
        bool undoes;
    };
    const std::vector<row> rows{
        {ledger_event_kind::trial_begun, false, false},  {ledger_event_kind::release, true, false},
        {ledger_event_kind::reserve, true, false},       {ledger_event_kind::commit, true, false},
        {ledger_event_kind::node_removed, true, false},  {ledger_event_kind::node_changed, false, true},
        {ledger_event_kind::rollback, false, true},      {ledger_event_kind::adopt, false, true},
        {ledger_event_kind::trial_undone, false, false},
    };
    ASSERT_EQ(book.next_event() - begin, rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const ledger_event& event = book.event(begin + i);
        EXPECT_EQ(event.kind, rows[i].kind) << i;
        EXPECT_EQ(event.undone, rows[i].undone) << i;
        EXPECT_EQ(event.undoes, rows[i].undoes) << i;
    }
    EXPECT_EQ(book.event(begin + 1).subject, book.event(begin + 7).subject) << "the booking that is back";
}

TEST(trial, a_checkpoint_waits_for_its_end) {
    ledger book = changing_ledger();
    const std::uint64_t first = book.first_event();
    {
        const trial what_if{book};
        ASSERT_TRUE(book.release(pod_id{1}));
        book.checkpoint(book.next_event());
        EXPECT_EQ(book.first_event(), first);
        EXPECT_FALSE(book.events().empty());
    }
    book.checkpoint(book.next_event());
    EXPECT_EQ(book.first_event(), book.next_event());
    EXPECT_TRUE(book.is_live(pod_id{1}));
}

/// The names of nodes are listed when they are first asked for, which may be inside a trial.
TEST(trial, a_node_that_was_changed_is_found_by_name_afterwards) {
    ledger book{changing_cluster()};
    {
        const trial what_if{book};
        ASSERT_TRUE(book.update_node(node_index{1}, node_with("n1", {"v0"})));
        EXPECT_EQ(book.find_node("n1"), node_index{1});
    }
    EXPECT_EQ(book.find_node("n1"), node_index{1});
    EXPECT_FALSE(book.add_node(node_with("n1", {})).has_value());
}

/// Whoever has read a node that a trial added, and not yet that it was undone, must not take the next one for it.
TEST(trial, no_version_of_a_node_is_used_twice) {
    ledger book = changing_ledger();
    std::vector<std::uint64_t> versions;
    for (int round = 0; round < 3; ++round) {
        const trial what_if{book};
        const node_index where = book.add_node(node_with("n3", {"x0", "x1"})).value();
        EXPECT_EQ(where, node_index{3});
        versions.push_back(book.version_of(where));
        ASSERT_TRUE(book.update_node(where, node_with("n3", {"x0"})).value());
        versions.push_back(book.version_of(where));
        ASSERT_TRUE(book.update_node(node_index{0}, node_with("n0", {"u0"})).value());
        versions.push_back(book.version_of(node_index{0}));
    }
    versions.push_back(book.version_of(node_index{0}));
    std::ranges::sort(versions);
    EXPECT_EQ(std::ranges::adjacent_find(versions), versions.end());
}

/// Found by a property test: a node that was removed under its last pod was not found by its name any more, and came
/// back beside itself.
TEST(trial, a_removed_node_is_found_after_the_end_of_its_last_pod_is_undone) {
    cluster owned = cluster_of_kinds();
    owned.nodes = {node_with("n0", {}), node_with("n1", {"v0"})};
    ledger book{owned};
    ASSERT_TRUE(run_on(book, 1, node_index{1}, 0, 3000));
    ASSERT_TRUE(book.remove_node(node_index{1}).has_value());
    {
        const trial no_node_is_left{book};
        book.release(pod_id{1});
        ASSERT_TRUE(book.remove_node(node_index{0}).has_value());
    }
    {
        const trial pod_ends{book};
        book.release(pod_id{1});
        EXPECT_FALSE(book.find_node("n1").valid());
    }
    book.check();
    EXPECT_EQ(book.find_node("n1"), node_index{1});
    EXPECT_EQ(book.add_node(node_with("n1", {"v0"})).value(), node_index{1});
}

TEST(trial_death, a_trial_ends_once) {
    EXPECT_DEATH(
        {
            ledger book = changing_ledger();
            trial what_if(book);
            what_if.undo();
            what_if.keep();
        },
        "a trial ends once");
}

} // namespace
} // namespace vgpualloc
