// Devices by their states follow the cluster, whatever changes: compared with counting them all.
#include "support.hpp"

#include <map>

#include "alloc/state_buckets.hpp"
#include "vgpualloc/core/rng.hpp"

namespace vgpualloc {
namespace {

using namespace test;

void expect_same(state_buckets& states, const node_group& group) {
    std::map<std::uint32_t, std::vector<std::uint32_t>> slots_by_state;
    for (std::uint32_t slot = 0; slot < group.slots.size(); ++slot) {
        if (group.slots[slot].config == nullptr) continue;
        for (const device_view* device : group.slots[slot].config->devices) slots_by_state[device->id].push_back(slot);
    }
    ASSERT_EQ(states.present().size(), slots_by_state.size());
    for (const std::uint32_t id : states.present()) {
        ASSERT_TRUE(slots_by_state.contains(id));
        EXPECT_EQ(states.device(id).id, id);
        const auto& slots = slots_by_state.at(id);
        EXPECT_EQ(states.first_slot(id, [](std::uint32_t) { return true; }), slots.front());
        EXPECT_EQ(states.first_slot(id, [](std::uint32_t) { return false; }), no_slot);
        const std::uint32_t last = slots.back();
        EXPECT_EQ(states.first_slot(id, [last](std::uint32_t slot) { return slot >= last; }), last);
    }
}

TEST(state_buckets, follow_bookings_nodes_and_new_ids) {
    cluster owned;
    for (int i = 0; i < 12; ++i) add_node(owned, many(3));
    ledger book{owned};
    placer unused{owned, "binpack"};
    cluster_mirror mirror{book, {}};
    state_buckets states;
    rng numbers{7};
    const policy_pair policies{.node = unused.scorer.get(), .device = unused.scorer.get()};
    std::uint32_t pods = 0;
    for (int step = 0; step < 600; ++step) {
        const node_index where{numbers.below(12)};
        switch (numbers.below(6)) {
        case 0: {
            const auto live = book.live_pods();
            if (!live.empty()) book.rollback(live[numbers.below(live.size())]);
            break;
        }
        case 1:
            if (step % 5 == 0) {
                if (book.is_present(where)) {
                    static_cast<void>(book.remove_node(where));
                } else if (const auto name = "n" + std::to_string(where.at()); !book.find_node(name).valid()) {
                    static_cast<void>(book.add_node(owned.nodes[where.at()]));
                }
            }
            break;
        case 2:
            if (step % 50 == 0) mirror.crowd(); // ids are given anew
            break;
        default:
            static_cast<void>(book.reserve(book_on(
                pods++, where,
                {share_of_device(numbers.below(3), part(1000 * static_cast<std::int64_t>(1 + numbers.below(3))))})));
        }
        mirror.follow(policies, [] {});
        if (step % 3 != 0) continue; // it may fall behind
        states.follow(mirror.groups()[0], mirror.id_generation());
        expect_same(states, mirror.groups()[0]);
    }
}

} // namespace
} // namespace vgpualloc
