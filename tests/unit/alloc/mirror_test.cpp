// The cluster as an allocator sees it follows the ledger through its log, whatever happens there.
#include "model/changes.hpp"

#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "alloc/mirror.hpp"
#include "vgpualloc/core/rng.hpp"
#include "vgpualloc/model/trial.hpp"

namespace vgpualloc {
namespace {

using namespace test;

/// Every node of the ledger, and nothing else, has its place and is there as it is.
void expect_mirrors(const cluster_mirror& mirror) {
    const ledger& book = mirror.book();
    ASSERT_EQ(mirror.node_count(), book.nodes().nodes.size());
    std::size_t present = 0;
    for (std::size_t i = 0; i < mirror.node_count(); ++i) {
        const node_index where{i};
        const auto& place = mirror.place_of(where);
        ASSERT_EQ(place.group != no_slot, book.is_present(where)) << i;
        if (place.group == no_slot) continue;
        ++present;
        const node_group& group = mirror.groups()[place.group];
        ASSERT_LT(place.slot, group.slots.size());
        const node_slot& slot = group.slots[place.slot];
        const node_facts& facts = group.facts[place.slot];
        const node& described = book.nodes().nodes[i];
        EXPECT_EQ(facts.node, where);
        EXPECT_EQ(facts.rank, book.rank_of(where));
        EXPECT_EQ(facts.memory_left, described.memory - book.host(where).memory);
        EXPECT_EQ(facts.cpu_capacity, described.cpu);
        EXPECT_EQ(slot.cpu_left, described.cpu - book.host(where).cpu);
        const bool is_full = book.host(where).pods >= described.pods_max;
        EXPECT_EQ(slot.is_full, is_full);
        EXPECT_EQ(slot.needs_look, is_full || !described.host.is_open());
        ASSERT_NE(slot.config, nullptr);
        EXPECT_EQ(slot.config_id, slot.config->id);
        const auto devices = mirror.devices(where);
        ASSERT_EQ(devices.size(), described.devices.size()) << i;
        device_config expected;
        for (std::size_t device = 0; device < devices.size(); ++device) {
            EXPECT_EQ(devices[device]->kind, described.devices[device].kind);
            EXPECT_EQ(devices[device]->state, book.devices(where)[device]);
            EXPECT_EQ(devices[device]->service, book.services(where)[device]);
            add_to_totals(expected, *devices[device]);
        }
        EXPECT_EQ(slot.config->used, expected.used);
        EXPECT_EQ(slot.config->free, expected.free);
        EXPECT_EQ(slot.config->devices.size(), devices.size());
    }
    std::size_t slots = 0;
    for (const node_group& group : mirror.groups()) {
        EXPECT_TRUE(std::ranges::is_sorted(group.facts, {}, &node_facts::rank));
        const auto is_hole = [](const node_slot& slot) { return slot.config == nullptr; };
        const auto holes = static_cast<std::size_t>(std::ranges::count_if(group.slots, is_hole));
        EXPECT_EQ(group.holes, holes);
        slots += group.slots.size() - holes;
    }
    EXPECT_EQ(slots, present);
}

/// Nodes are in one class if and only if their taints, their readiness and their zone are the same.
void expect_sorted_by_zone(const cluster_mirror& mirror) {
    std::map<host_facts, std::uint32_t> classes;
    std::set<std::uint32_t> numbers;
    for (std::size_t i = 0; i < mirror.node_count(); ++i) {
        const auto& place = mirror.place_of(node_index{i});
        if (place.group == no_slot) continue;
        host_facts facts = mirror.book().nodes().nodes[i].host;
        std::erase_if(facts.labels, [](const auto& label) { return label.first != "zone"; });
        const std::uint32_t number = mirror.groups()[place.group].facts[place.slot].host_class;
        EXPECT_EQ(classes.emplace(facts, number).first->second, number) << i;
        numbers.insert(number);
    }
    EXPECT_EQ(numbers.size(), classes.size());
    EXPECT_EQ(mirror.hosts().size(), classes.size());
}

struct following {
    explicit following(ledger& book) : mirror{book, {}} {}

    void follow() {
        mirror.follow({scorer.get(), scorer.get()}, [] {});
    }

    std::unique_ptr<policy> scorer = make("binpack");
    cluster_mirror mirror;
};

/// The slots that changed since the group's change count was `since`, the latest first.
std::vector<std::uint32_t> changed_since(const node_group& group, std::uint64_t since) {
    std::vector<std::uint32_t> slots;
    for (std::uint32_t slot = group.newest; slot != no_slot; slot = group.slots[slot].older) {
        if (group.slots[slot].changed <= since) break;
        slots.push_back(slot);
    }
    return slots;
}

cluster many_nodes(std::size_t count) {
    cluster owned = cluster_of_kinds();
    for (std::size_t i = 0; i < count; ++i) owned.nodes.push_back(node_with("n" + std::to_string(i), {"u0", "u1"}));
    return owned;
}

TEST(mirror, nodes_of_the_same_kinds_are_one_group) {
    ledger book = changing_ledger();
    const following reader{book};
    expect_mirrors(reader.mirror);
    ASSERT_EQ(reader.mirror.groups().size(), 3U);
    EXPECT_EQ(reader.mirror.groups()[0].kinds, (std::vector{kind_a, kind_b}));
    EXPECT_EQ(reader.mirror.groups()[1].kinds, (std::vector{kind_a, kind_whole}));
    EXPECT_TRUE(reader.mirror.groups()[2].kinds.empty());
}

TEST(mirror, a_change_marks_its_own_node_once) {
    ledger book{many_nodes(5)};
    following reader{book};
    const node_group& group = reader.mirror.groups()[0];
    const std::uint64_t before = group.changes;
    ASSERT_TRUE(run_on(book, 1, node_index{3}, 0));
    ASSERT_TRUE(run_on(book, 2, node_index{1}, 0));
    ASSERT_TRUE(run_on(book, 3, node_index{3}, 1));
    reader.follow();
    EXPECT_EQ(changed_since(group, before), (std::vector<std::uint32_t>{3, 1}));
    const std::uint64_t then = group.changes;
    ASSERT_TRUE(book.set_service(node_index{4}, device_index{0}, service_state::failed).value());
    ASSERT_TRUE(book.set_schedulable(node_index{1}, false).value());
    reader.follow();
    EXPECT_EQ(changed_since(group, then), (std::vector<std::uint32_t>{1, 4}));
    expect_mirrors(reader.mirror);
}

TEST(mirror, a_node_that_returns_takes_its_slot_back_and_new_ones_come_last) {
    ledger book{many_nodes(4)};
    following reader{book};
    const node_group& group = reader.mirror.groups()[0];
    ASSERT_TRUE(run_on(book, 1, node_index{1}, 0));
    ASSERT_TRUE(book.remove_node(node_index{1}));
    reader.follow();
    EXPECT_EQ(group.holes, 1U);
    EXPECT_EQ(group.slots.size(), 4U);
    expect_mirrors(reader.mirror);
    ASSERT_TRUE(book.add_node(node_with("n1", {"u1", "u0"})));
    reader.follow();
    EXPECT_EQ(group.holes, 0U);
    EXPECT_EQ(reader.mirror.place_of(node_index{1}).slot, 1U);
    ASSERT_TRUE(book.remove_node(node_index{2}));
    const node_index other = book.add_node(node_with("other", {"u0", "u1"})).value();
    EXPECT_EQ(other, node_index{2}) << "the index is used again";
    reader.follow();
    EXPECT_EQ(reader.mirror.place_of(other).slot, 4U) << "the slot is not, as equal scores go by rank";
    EXPECT_EQ(group.holes, 1U);
    EXPECT_EQ(group.renumbered, 0U);
    expect_mirrors(reader.mirror);
}

TEST(mirror, several_changes_read_at_once_keep_the_order_of_ranks) {
    ledger book{many_nodes(6)};
    following reader{book};
    for (const std::uint32_t i : {4U, 0U, 2U}) {
        ASSERT_TRUE(book.update_node(node_index{i}, node_with("n" + std::to_string(i), {"u0"}, kind_b)));
    }
    reader.follow();
    expect_mirrors(reader.mirror);
    for (const std::uint32_t i : {0U, 4U, 5U, 2U}) {
        ASSERT_TRUE(book.update_node(node_index{i}, node_with("n" + std::to_string(i), {"u0"}, kind_whole)));
        ASSERT_TRUE(book.update_node(node_index{i}, node_with("n" + std::to_string(i), {"u0"})));
    }
    ASSERT_TRUE(run_on(book, 1, node_index{2}, 0));
    reader.follow();
    expect_mirrors(reader.mirror);
}

TEST(mirror, holes_are_closed_when_they_are_more_than_nodes) {
    ledger book{many_nodes(140)};
    following reader{book};
    const node_group& group = reader.mirror.groups()[0];
    const std::uint64_t begin = group.changes;
    for (std::uint32_t i = 0; i < 70; ++i) {
        ASSERT_TRUE(book.remove_node(node_index{2 * i}));
        reader.follow();
    }
    EXPECT_EQ(group.slots.size(), 140U);
    ASSERT_TRUE(book.remove_node(node_index{1}));
    reader.follow();
    EXPECT_EQ(group.slots.size(), 69U);
    EXPECT_EQ(group.holes, 0U);
    EXPECT_GT(group.renumbered, begin) << "indexes are built anew";
    expect_mirrors(reader.mirror);
    ASSERT_TRUE(book.add_node(node_with("new", {"u0"})));
    reader.follow();
    EXPECT_EQ(group.slots.size(), 70U);
    expect_mirrors(reader.mirror);
}

TEST(mirror, a_reader_that_missed_events_reads_everything_anew) {
    ledger book{many_nodes(4)};
    following reader{book};
    ASSERT_TRUE(run_on(book, 1, node_index{3}, 0));
    ASSERT_TRUE(book.remove_node(node_index{0}));
    ASSERT_TRUE(book.update_node(node_index{1}, node_with("n1", {"u0"}, kind_b)));
    book.checkpoint(book.next_event());
    const std::uint64_t ids = reader.mirror.id_generation();
    ASSERT_TRUE(run_on(book, 2, node_index{2}, 1));
    reader.follow();
    EXPECT_GT(reader.mirror.id_generation(), ids) << "what was kept by id is void";
    EXPECT_EQ(reader.mirror.next_event(), book.next_event());
    expect_mirrors(reader.mirror);
    ASSERT_TRUE(book.release(pod_id{1}));
    reader.follow();
    expect_mirrors(reader.mirror);
}

/// The list of all devices is packed anew when half of it is unused; what was kept by id stays valid.
TEST(mirror, nodes_that_change_their_number_of_devices_leave_nothing_behind) {
    ledger book{many_nodes(2)};
    following reader{book};
    const std::uint64_t ids = reader.mirror.id_generation();
    for (int i = 0; i < 4000; ++i) {
        ASSERT_TRUE(book.update_node(node_index{0}, node_with("n0", {i % 2 == 0 ? "u0" : "u1"})));
        reader.follow();
        ASSERT_TRUE(book.update_node(node_index{0}, node_with("n0", {"u0", "u1"})));
        reader.follow();
        {
            const trial what_if{book};
            ASSERT_TRUE(book.add_node(node_with("new", {"u0", "u1", "u2"})));
            reader.follow();
        }
        book.checkpoint(reader.mirror.next_event());
        reader.follow();
    }
    EXPECT_EQ(reader.mirror.id_generation(), ids);
    const auto apart = reader.mirror.devices(node_index{1}).data() - reader.mirror.devices(node_index{0}).data();
    EXPECT_LT(std::abs(apart), 3000) << "places in one list, of which 4 are in use";
    expect_mirrors(reader.mirror);
}

TEST(mirror, labels_that_change_for_ever_leave_no_classes_behind) {
    ledger book{many_nodes(3)};
    following reader{book};
    reader.mirror.add_rules({.node_selector = {{"zone", "b"}}});
    for (int i = 0; i < 5000; ++i) {
        node described = node_with("n0", {"u0", "u1"});
        described.host.labels = {{"zone", std::to_string(i)}};
        ASSERT_TRUE(book.update_node(node_index{0}, described));
        reader.follow();
        book.checkpoint(reader.mirror.next_event());
    }
    expect_sorted_by_zone(reader.mirror);
    EXPECT_LE(reader.mirror.hosts().number_limit(), 1030U);
}

/// Random changes in random trials, read at random times.
TEST(mirror, follows_whatever_happens) {
    const auto& changes = all_changes();
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        SCOPED_TRACE(seed);
        rng random{seed};
        ledger book = changing_ledger();
        following reader{book};
        reader.mirror.add_rules({.node_selector = {{"zone", "b"}}});
        std::vector<std::unique_ptr<trial>> open;
        for (int step = 0; step < 30; ++step) {
            const auto choice = random.below(10);
            if (choice == 0 && open.size() < 3) {
                open.push_back(std::make_unique<trial>(book));
            } else if (choice <= 2 && !open.empty()) {
                if (random.below(2) == 0) open.back()->keep();
                open.pop_back();
            } else if (choice == 3 && random.below(4) == 0) {
                book.checkpoint(book.next_event());
            } else {
                changes[static_cast<std::size_t>(random.below(changes.size()))].apply(book);
            }
            if (random.below(3) != 0) continue;
            reader.follow();
            expect_mirrors(reader.mirror);
            expect_sorted_by_zone(reader.mirror);
            if (testing::Test::HasFailure()) return;
        }
        while (!open.empty()) open.pop_back();
        reader.follow();
        expect_mirrors(reader.mirror);
    }
}

} // namespace
} // namespace vgpualloc
