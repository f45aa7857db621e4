// bid_price: what is learned of arrivals, which slots are counted and priced, and what the policy prefers by them.
#include "vgpualloc/policy/bid_price.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support.hpp"
#include "vgpualloc/mode/all.hpp"
#include "vgpualloc/model/trial.hpp"
#include "vgpualloc/policy/dual_price.hpp"

namespace vgpualloc {
namespace {

using namespace test;
using policies::bid_price;

device_spec shared_gpu() {
    return {.model = "A", .memory = mib{1000}, .slots = 100, .mode = find_mode("hami_core").value()};
}

device_request part_of(std::int64_t milli, std::int64_t devices = 1) {
    return {.count = devices, .memory = mib{milli}, .cores = {}};
}

pod_request pod_of(std::int64_t milli, std::int64_t devices, std::int64_t cpu) {
    return {.cpu = milli_cpu{cpu}, .memory = {}, .containers = {part_of(milli, devices)}};
}

/// Nodes of so many GPUs each with 8 CPUs for every GPU.
cluster cluster_of(const std::vector<std::size_t>& gpus) {
    cluster nodes;
    for (const std::size_t count : gpus) {
        add_node(nodes, std::vector<device_spec>(count, shared_gpu()));
        nodes.nodes.back().cpu = milli_cpu{8000 * static_cast<std::int64_t>(count)};
    }
    return nodes;
}

/// An allocator whose policy hears of everything, as a simulation tells it.
struct played {
    explicit played(cluster nodes, bid_options options = {})
        : scorer{policy_parameters{}, options}, book{std::move(nodes)}, decider{book, {&scorer, &scorer}} {}

    /// A pod arrives and is placed if it fits; its number, which counts pods.
    std::uint32_t arrive(const pod_request& request) {
        const request_id id = decider.intern(request).value();
        decider.note_arrival(id);
        static_cast<void>(decider.place(book, pod_id{pods}, id));
        return pods++;
    }
    void leave(std::uint32_t pod) {
        if (book.is_live(pod_id{pod})) static_cast<void>(book.release(pod_id{pod}));
    }
    /// So many arrivals, each of which leaves when `together` others have come.
    void turn_over(const std::vector<pod_request>& requests, std::size_t times, std::size_t together) {
        std::vector<std::uint32_t> running;
        for (std::size_t i = 0; i < times; ++i) {
            if (running.size() == together) {
                leave(running.front());
                running.erase(running.begin());
            }
            running.push_back(arrive(requests[i % requests.size()]));
        }
    }
    [[nodiscard]] std::size_t node_of(std::uint32_t pod) const { return book.booking_of(pod_id{pod}).where.node.at(); }

    bid_price scorer;
    ledger book;
    allocator decider;
    std::uint32_t pods = 0;
};

TEST(bid_demand, lists_classes_with_their_shares_and_cpu) {
    const ledger book{cluster_of({8})};
    bid_demand demand{true};
    EXPECT_EQ(demand.classes(), nullptr);
    for (int i = 0; i < 64; ++i) {
        demand.note_arrival(pod_of(500, 1, 3000), book);
        demand.note_arrival(pod_of(500, 1, 5000), book);
        demand.note_arrival(pod_of(1000, 8, 60'000), book);
        demand.note_arrival(pod_of(500, 1, 4000), book);
    }
    ASSERT_EQ(demand.classes()->classes.size(), 2U);
    const bid_class& half = demand.classes()->classes[0];
    EXPECT_EQ(half.devices, 1);
    EXPECT_EQ(half.milli, 500);
    EXPECT_NEAR(half.share, 0.75, 0.02);
    EXPECT_NEAR(static_cast<double>(half.cpu), 4000.0, 20.0);
    const bid_class& whole = demand.classes()->classes[1];
    EXPECT_EQ(whole.devices, 8);
    EXPECT_EQ(whole.milli, 8000);
    EXPECT_EQ(whole.cpu, 60'000);
    // (3 x 4,000 + 60,000) milli-CPU for (3 x 0.5 + 8) GPUs
    EXPECT_NEAR(static_cast<double>(demand.classes()->cpu_per_gpu), 72'000.0 / 9.5, 40.0);
}

TEST(bid_demand, lists_anew_after_powers_of_two_and_every_so_often) {
    const ledger book{cluster_of({8})};
    bid_demand demand{true, {.relearn_every = 10}};
    std::vector<int> lists;
    for (int i = 1; i <= 32; ++i) {
        if (demand.note_arrival(pod_of(500, 1, 1000), book)) lists.push_back(i);
    }
    EXPECT_EQ(lists, (std::vector<int>{1, 2, 4, 8, 10, 20, 30}));
    EXPECT_FALSE(demand.note_arrival(pod_request{.cpu = milli_cpu{1000}, .memory = {}, .containers = {}}, book))
        << "a pod without devices is no arrival of a class";
    EXPECT_EQ(demand.arrivals(), 32);
}

TEST(bid_demand, early_lists_do_not_come_before_a_part_of_the_arrivals_between_two) {
    const ledger book{cluster_of({8})};
    bid_demand demand{true, {.relearn_every = 100, .early_lists_from = 10}};
    std::vector<int> lists;
    for (int i = 1; i <= 120; ++i) {
        if (demand.note_arrival(pod_of(500, 1, 1000), book)) lists.push_back(i);
    }
    EXPECT_EQ(lists, (std::vector<int>{1, 16, 32, 64, 100}));
}

TEST(bid_demand, large_clusters_list_less_often) {
    const ledger book{cluster_of({8, 8, 8, 8, 8})};
    bid_demand demand{true, {.relearn_every = 10, .devices_per_relearn = 1}};
    std::vector<int> lists;
    for (int i = 1; i <= 90; ++i) {
        if (demand.note_arrival(pod_of(500, 1, 1000), book)) lists.push_back(i);
    }
    EXPECT_EQ(lists, (std::vector<int>{1, 2, 4, 8, 16, 32, 40, 80})) << "40 devices";
}

TEST(bid_demand, a_cluster_that_turns_over_takes_fewer_steps) {
    const auto prices_at = [](int releases, std::int64_t steps, std::int64_t steps_turning) {
        const ledger book{cluster_of({8})};
        bid_demand demand{true, {.descent_steps = steps, .descent_steps_turning = steps_turning}};
        const booking entry = book_on(0, node_index{0U}, {share_of_device(0, slice{.memory = mib{500}, .cores = {}})});
        const auto tell = [&](ledger_event_kind kind) {
            demand.observe({.kind = kind, .entry = &entry, .where = node_index{0U}, .book = &book});
        };
        for (int i = 0; i < 4; ++i) {
            tell(ledger_event_kind::reserve);
            tell(ledger_event_kind::commit);
        }
        for (int i = 0; i < releases; ++i) tell(ledger_event_kind::release);
        for (int i = 0; i < 4; ++i) demand.note_arrival(pod_of(i % 2 == 0 ? 600 : 500, 1, 1000), book);
        return demand.classes()->prices;
    };
    EXPECT_EQ(prices_at(0, 90, 10), prices_at(0, 90, 50)) << "nobody has left";
    EXPECT_EQ(prices_at(4, 90, 10), prices_at(4, 50, 10)) << "full turnover";
    EXPECT_NE(prices_at(4, 90, 10), prices_at(0, 90, 10));
    EXPECT_NE(prices_at(1, 90, 10), prices_at(4, 90, 10)) << "a third of it";
}

TEST(bid_demand, turns_over_by_releases_per_booking) {
    played here{cluster_of({8, 8})};
    bid_demand demand{false};
    EXPECT_EQ(demand.turnover(), 0.0);
    const booking entry = book_on(0, node_index{0U}, {share_of_device(0, slice{.memory = mib{500}, .cores = {}})});
    const auto tell = [&](ledger_event_kind kind, int times) {
        for (int i = 0; i < times; ++i) {
            demand.observe({.kind = kind, .entry = &entry, .where = node_index{0U}, .book = &here.book});
        }
    };
    tell(ledger_event_kind::reserve, 9);
    tell(ledger_event_kind::rollback, 1);
    EXPECT_EQ(demand.turnover(), 0.0) << "nothing is booked that may be taken back";
    tell(ledger_event_kind::commit, 8);
    tell(ledger_event_kind::release, 3);
    EXPECT_DOUBLE_EQ(demand.turnover(), 3.0 / (0.75 * 8.0));
    tell(ledger_event_kind::release, 5);
    EXPECT_EQ(demand.turnover(), 1.0);
    tell(ledger_event_kind::adopt, 5);
    EXPECT_DOUBLE_EQ(demand.turnover(), 3.0 / (0.75 * 8.0)) << "resumed, or on a node that was registered anew";
    tell(ledger_event_kind::adopt, 3 + 92);
    EXPECT_EQ(demand.turnover(), 0.0);
    tell(ledger_event_kind::release, 15);
    EXPECT_DOUBLE_EQ(demand.turnover(), 15.0 / (0.75 * 100.0)) << "what ran already counts as booked";
}

TEST(slot_stock, counts_room_by_devices_and_cpu) {
    cluster nodes = cluster_of({8, 4});
    ledger book{std::move(nodes)};
    auto list = std::make_shared<bid_classes>();
    list->classes = {{.request = part_of(400), .devices = 1, .milli = 400, .cpu = 3000},
                     {.request = part_of(1000), .devices = 4, .milli = 4000, .cpu = 20'000}};
    slot_stock slots;
    slots.set_classes(list);
    const auto stock = [&] {
        const auto counts = slots.stock(book);
        return std::vector<std::int64_t>(counts.begin(), counts.end());
    };
    // By parts 2 a device; by CPU 64 / 3 = 21 and 32 / 3 = 10. Of four devices 2 and 1; by CPU 3 and 1.
    EXPECT_EQ(stock(), (std::vector<std::int64_t>{16 + 8, 2 + 1}));
    booking entry = book_on(0, node_index{0U}, {share_of_device(3, slice{.memory = mib{700}, .cores = {}})});
    entry.cpu = milli_cpu{30'000};
    ASSERT_TRUE(book.reserve(entry));
    slots.touch(node_index{0U});
    EXPECT_EQ(stock(), (std::vector<std::int64_t>{11 + 8, 1 + 1})) << "34 CPUs are left, and seven idle devices";
    static_cast<void>(book.remove_node(node_index{1U}));
    slots.touch(node_index{1U});
    EXPECT_EQ(stock(), (std::vector<std::int64_t>{11, 1}));
}

TEST(quick_divisor, divides_as_division_does) {
    for (const std::int64_t divisor : {1, 2, 3, 7, 8, 999, 3152, 11'300, 96'000, 262'143}) {
        const quick_divisor by{divisor};
        for (std::int64_t dividend = 0; dividend < (std::int64_t{1} << 22); dividend += 977) {
            ASSERT_EQ(by.of(dividend), dividend / divisor) << dividend << " / " << divisor;
        }
        EXPECT_EQ(by.of(divisor), 1);
        EXPECT_EQ(by.of(divisor - 1), 0);
        EXPECT_EQ(by.of(-5), 0);
    }
}

/// Nobody leaves: every score is that of dual_price at the same prices.
TEST(bid_price, is_dual_price_while_nobody_leaves) {
    played here{cluster_of({8, 8, 4, 2, 2})};
    const std::vector<pod_request> requests{pod_of(300, 1, 2000), pod_of(1000, 2, 9000), pod_of(700, 1, 4000)};
    for (int i = 0; i < 30; ++i) {
        here.arrive(requests[static_cast<std::size_t>(i) % requests.size()]);
        const auto book = std::make_shared<price_book>();
        book->replace(here.scorer.prices());
        policies::dual_price other{policy_parameters{.target = {}, .prices = book}};
        for (const pod_request& request : requests) {
            for (std::size_t node = 0; node < 5; ++node) {
                const auto placement = here.decider.try_node(node_index{node}, here.decider.intern(request).value());
                if (!placement) continue;
                const auto score = here.decider.score_placement(other, request, *placement);
                ASSERT_EQ(placement->answer.score, score.value());
            }
        }
    }
    EXPECT_TRUE(here.scorer.slot_prices().empty());
    EXPECT_EQ(here.scorer.turnover(), 0.0);
}

/// One node of eight GPUs is idle, one has one GPU in use, one has seven. Where pods of eight GPUs come and had no node
/// left, a whole GPU is taken from the last one.
TEST(bid_price, keeps_whole_nodes_for_pods_that_need_them) {
    played here{cluster_of({8, 8, 8})};
    const pod_request one = pod_of(1000, 1, 1000);
    const pod_request all = pod_of(1000, 8, 8000);
    here.turn_over({all, one, one}, 400, 6);
    ASSERT_EQ(here.scorer.turnover(), 1.0);
    for (std::uint32_t pod = 0; pod < here.pods; ++pod) here.leave(pod);
    const auto reserve = [&](std::uint32_t pod, std::size_t node, std::size_t device) {
        ASSERT_TRUE(here.book.reserve(
            book_on(pod, node_index{node}, {share_of_device(device, slice{.memory = mib{1000}, .cores = {}})})));
    };
    for (std::uint32_t node = 0; node < 3; ++node) reserve(1000 + node, node, 0);
    const auto id = here.decider.intern(one).value();
    here.decider.note_arrival(id);
    const auto prices = here.scorer.slot_prices();
    const auto of_eight = std::ranges::find_if(prices, [](const slot_price& price) { return price.of.devices == 8; });
    ASSERT_NE(of_eight, prices.end());
    EXPECT_EQ(of_eight->stock, 0);
    EXPECT_EQ(of_eight->price, 8.0) << "the last slot costs what the request takes";
    static_cast<void>(here.book.rollback(pod_id{1000U}));
    for (std::uint32_t device = 1; device < 7; ++device) reserve(2000 + device, 2, device);
    EXPECT_EQ(here.decider.decide(id)->node, node_index{2U});
    const auto book = std::make_shared<price_book>();
    book->replace(here.scorer.prices());
    policies::dual_price other{policy_parameters{.target = {}, .prices = book}};
    const auto price_on = [&](std::size_t node) {
        const auto answer = here.decider.try_node(node_index{node}, id);
        return here.decider.score_placement(other, one, *answer).value() - answer->answer.score;
    };
    // The idle node falls from a slot to half of one; the other from s^7 of a slot to s^8.
    EXPECT_NEAR(price_on(0), 8.0 * 0.5, 1e-3);
    EXPECT_NEAR(price_on(2), 8.0 * (1.0 / 128 - 1.0 / 256), 1e-3);
}

/// The formula again, from the ledger alone.
TEST(bid_price, scores_are_the_formula) {
    played here{cluster_of({8, 8, 4})};
    const pod_request half = pod_of(500, 1, 2000);
    const pod_request pair = pod_of(1000, 2, 12'000);
    here.turn_over({half, pair, half}, 300, 14);
    const auto prices = here.scorer.slot_prices();
    ASSERT_EQ(here.scorer.turnover(), 1.0);
    ASSERT_FALSE(prices.empty());
    const auto cpu_per_gpu = static_cast<double>(here.scorer.classes()->cpu_per_gpu);

    const auto slots_of = [&](std::size_t node, const bid_class& of, std::int64_t cpu_taken, std::int64_t milli_taken,
                              std::size_t device_taken) {
        const node_index where{node};
        double offers = 0.0;
        const auto states = here.book.devices(where);
        for (std::size_t d = 0; d < states.size(); ++d) {
            const std::int64_t used = states[d].memory.count() + (d == device_taken ? milli_taken : 0);
            const std::int64_t rest = 1000 - used;
            const std::int64_t need = of.milli / of.devices;
            offers += of.devices == 1 ? static_cast<double>(rest / need) : (rest >= need ? 1.0 : 0.0);
        }
        const double capacity = static_cast<double>(here.book.nodes().nodes[node].cpu.count());
        const double left = capacity - static_cast<double>(here.book.host(where).cpu.count() + cpu_taken);
        const auto devices = static_cast<double>(of.devices);
        const auto cpu = static_cast<double>(of.cpu);
        const double whole = std::min(std::floor(offers / devices), std::floor(left / cpu));
        if (of.devices == 1) return whole;
        const double next = whole + 1.0;
        if (next * devices > static_cast<double>(states.size()) || next * cpu > capacity) return whole;
        const double missing = std::max((next * devices - offers), (next * cpu - left) / cpu_per_gpu);
        return whole + std::pow(0.5, std::max(missing, 0.0));
    };
    const auto book = std::make_shared<price_book>();
    book->replace(here.scorer.prices());
    policies::dual_price potential{policy_parameters{.target = {}, .prices = book}};
    const auto id = here.decider.intern(half).value();
    std::size_t compared = 0;
    for (std::size_t node = 0; node < 3; ++node) {
        const auto answer = here.decider.try_node(node_index{node}, id);
        if (!answer) continue;
        double expected = here.decider.score_placement(potential, half, *answer).value();
        const std::size_t device = answer->shares[0].device.at();
        for (const auto& price : prices) {
            const double before = slots_of(node, price.of, 0, 0, device);
            const double after = slots_of(node, price.of, half.cpu.count(), 500, device);
            expected -= price.price * (before - after);
        }
        EXPECT_NEAR(answer->answer.score, expected, 0.05) << node; // near slots go by sixty-fourths of a GPU
        const auto parts = here.decider.parts_of_placement(here.scorer, half, *answer).value();
        double sum = 0.0;
        for (const score_part& part : parts) sum += part.worth;
        EXPECT_NEAR(sum, answer->answer.score, 1e-9);
        EXPECT_EQ(parts.at(0).what, "leftovers");
        EXPECT_EQ(parts.at(0).worth, here.decider.score_placement(potential, half, *answer).value());
        for (const score_part& part : std::span{parts}.subspan(1)) {
            EXPECT_TRUE(part.what == "room for 0.5 of a GPU" || part.what == "room for 2 whole GPUs") << part.what;
            EXPECT_DOUBLE_EQ(part.worth, -part.amount * part.price);
            EXPECT_TRUE(std::ranges::any_of(prices, [&](const slot_price& price) {
                return std::abs(price.price - part.price) < 1e-9;
            })) << part.price;
        }
        ++compared;
    }
    EXPECT_GT(compared, 0U);
}

TEST(bid_price, a_trial_that_is_undone_leaves_prices_and_scores) {
    played here{cluster_of({8, 8})};
    const pod_request half = pod_of(500, 1, 2000);
    const pod_request all = pod_of(1000, 8, 40'000);
    here.turn_over({half, half, all}, 200, 5);
    const auto id = here.decider.intern(half).value();
    const auto scores = [&] {
        std::vector<double> result;
        for (const node_answer& answer : here.decider.evaluate(id)) result.push_back(answer.score);
        return result;
    };
    const std::vector<double> before = scores();
    const auto prices_before = here.scorer.slot_prices();
    const price_table rests_before = here.scorer.prices();
    {
        trial guess{here.book};
        here.turn_over({all, pod_of(300, 1, 9000)}, 320, 2);
        EXPECT_NE(here.scorer.prices(), rests_before) << "a list of classes was made, with prices of rests";
        EXPECT_NE(scores(), before);
    }
    EXPECT_EQ(scores(), before);
    EXPECT_EQ(here.scorer.slot_prices(), prices_before);
    EXPECT_EQ(here.scorer.prices(), rests_before);
}

TEST(bid_price, before_anything_has_arrived_a_score_is_what_leftovers_lose) {
    played here{cluster_of({8})};
    const pod_request half = pod_of(500, 1, 2000);
    const auto answer = here.decider.try_node(node_index{0U}, here.decider.intern(half).value());
    const auto parts = here.decider.parts_of_placement(here.scorer, half, *answer).value();
    ASSERT_EQ(parts.size(), 1U);
    EXPECT_EQ(parts[0].worth, answer->answer.score);
}

/// Pods may be told before the nodes that serve them.
TEST(bid_demand, a_class_has_its_size_when_its_nodes_are_there) {
    ledger empty{cluster{}};
    played here{cluster_of({8, 8})};
    bid_demand demand{true};
    const pod_request all = pod_of(1000, 8, 8000);
    EXPECT_TRUE(demand.note_arrival(all, empty));
    EXPECT_TRUE(demand.note_arrival(all, here.book));
    ASSERT_EQ(demand.classes()->classes.size(), 1U);
    EXPECT_EQ(demand.classes()->classes[0].milli, 8000);
}

TEST(bid_price, another_one_goes_on_from_what_it_has_learned) {
    played here{cluster_of({8, 8, 4})};
    const pod_request half = pod_of(500, 1, 2000);
    const pod_request pair = pod_of(1000, 2, 12'000);
    here.turn_over({half, pair, half}, 301, 14);
    bid_price next{policy_parameters{}};
    policies::dual_price other{policy_parameters{}};
    EXPECT_FALSE(next.take_over(other));
    ASSERT_TRUE(next.take_over(here.scorer));
    EXPECT_EQ(next.learned()->slots, here.scorer.learned()->slots);
    EXPECT_EQ(next.prices(), here.scorer.prices());
    allocator decider{here.book, {&next, &next}};
    ASSERT_EQ(next.turnover(), 1.0);
    std::uint32_t pods = here.pods;
    for (const pod_request& request : {half, pair, half, pair, half, half}) {
        const request_id by_first = here.decider.intern(request).value();
        const request_id by_next = decider.intern(request).value();
        here.decider.note_arrival(by_first);
        decider.note_arrival(by_next);
        const auto first = here.decider.evaluate(by_first);
        const auto second = decider.evaluate(by_next);
        for (std::size_t n = 0; n < first.size(); ++n) EXPECT_EQ(first[n].score, second[n].score);
        here.leave(pods - 9);
        static_cast<void>(here.decider.place(here.book, pod_id{pods++}, by_first));
    }
    EXPECT_EQ(next.learned()->slots, here.scorer.learned()->slots);
}

TEST(learned_prices, says_what_pods_of_a_class_ask_for) {
    const auto words = [](std::int64_t devices, std::int64_t milli, device_request request = {}) {
        return words_of(bid_class{.request = std::move(request), .devices = devices, .milli = milli});
    };
    EXPECT_EQ(words(1, 1000), "a whole GPU");
    EXPECT_EQ(words(8, 8000), "8 whole GPUs");
    EXPECT_EQ(words(1, 460), "0.46 of a GPU");
    EXPECT_EQ(words(2, 10), "2 x 0.005 of a GPU");
    EXPECT_EQ(words(1, 143, {.memory = {}, .cores = {}, .profile = "1g.5gb"}), "1g.5gb");
    EXPECT_EQ(words(2, 2000, {.memory = {}, .cores = {}, .family = "Ascend910B4"}), "2 whole Ascend910B4s");
    EXPECT_EQ(words(1, 1000, {.memory = {}, .cores = {}, .models = {"A100", "H100"}}),
              "a whole GPU of A100 and others");
}

/// The same arrivals make the same prices, decision by decision.
TEST(bid_price, is_the_same_every_time) {
    const auto play = [] {
        played here{cluster_of({8, 8, 4, 4, 2})};
        here.turn_over({pod_of(500, 1, 2000), pod_of(1000, 4, 20'000), pod_of(300, 1, 3000), pod_of(1000, 1, 5000)},
                       700, 20);
        std::vector<double> scores;
        for (const node_answer& answer : here.decider.evaluate(here.decider.intern(pod_of(300, 1, 3000)).value())) {
            scores.push_back(answer.score);
        }
        return scores;
    };
    EXPECT_EQ(play(), play());
}

} // namespace
} // namespace vgpualloc
