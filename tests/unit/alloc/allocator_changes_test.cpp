// The indexed path decides as the reference does while nodes, devices, pods and trials come and go, for requests of
// every sort; and it forgets what it may not keep.
#include "model/changes.hpp"

#include <memory>

#include "alloc/reference.hpp"
#include "alloc/requests.hpp"
#include "vgpualloc/core/rng.hpp"
#include "vgpualloc/model/trial.hpp"

namespace vgpualloc {
namespace {

using namespace test;
using enum rejection_code;

/// A ledger, both paths, and the requests that both are asked.
struct both_paths {
    both_paths(ledger& owner, std::string_view spelling, allocator_options options = {})
        : book{owner}, scorer{make(spelling)}, fast{owner, {scorer.get(), scorer.get()}, options},
          reference{owner, {scorer.get(), scorer.get()}} {}

    /// Whether every node answers alike, and the decision is the same.
    void expect_alike(const pod_request& request) {
        const request_id id = fast.intern(request).value();
        const auto answers = fast.evaluate(id);
        const auto expected = reference.evaluate(request);
        ASSERT_EQ(answers.size(), expected.size());
        for (std::size_t i = 0; i < answers.size(); ++i) {
            EXPECT_EQ(to_string(answers[i].code), to_string(expected[i].code)) << "node " << i;
            if (expected[i].code == none) {
                EXPECT_EQ(answers[i].score, expected[i].score) << "node " << i;
                EXPECT_EQ(answers[i].compromise, expected[i].compromise) << "node " << i;
            }
        }
        const auto decided = fast.decide(id);
        const auto as_expected = reference.decide(request);
        ASSERT_EQ(decided.has_value(), as_expected.has_value());
        if (decided) {
            EXPECT_EQ(*decided, *as_expected);
        } else {
            EXPECT_EQ(decided.error(), as_expected.error());
        }
    }

    ledger& book;
    std::unique_ptr<policy> scorer;
    allocator fast;
    reference_allocator reference;
};

device_request with_uuids(std::int64_t count, std::vector<std::string> allowed, std::vector<std::string> denied = {}) {
    device_request container = want(count, 500);
    container.uuids_allowed = std::move(allowed);
    container.uuids_denied = std::move(denied);
    return container;
}

pod_request without_host(std::vector<device_request> containers) {
    return {.cpu = {}, .memory = {}, .containers = std::move(containers)};
}

std::vector<pod_request> all_requests() {
    std::vector<pod_request> requests{pod({want(1, 700)}),
                                      pod({want(1, 9000)}),
                                      pod({want(2, 100)}),
                                      pod({want(1, 0)}),
                                      pod({want(1, 100), want(2, 200)}),
                                      pod({}),
                                      pod({}, 31500),
                                      without_host({want(1, 9500)}),
                                      without_host({}),
                                      pod({with_uuids(1, {"u0", "v1", "x1"})}),
                                      pod({with_uuids(1, {}, {"u1", "w0"})}),
                                      pod({with_uuids(2, {"u0", "u2", "w0", "x0"}, {"x0"})})};
    requests.push_back(pod({want(1, 100), want(1, 100)}));
    requests.back().containers_apart = true;
    requests.push_back(pod({want(1, 100)}));
    requests.back().avoids = {"alone"};
    requests.push_back(pod({want(2, 100)}));
    requests.back().one_link_group = true;
    requests.push_back(pod({want(1, 700)}));
    requests.back().rules.tolerations = {{.any_value = true}};
    requests.push_back(pod({want(1, 700)}));
    requests.back().rules.node_selector = {{"zone", "a"}};
    requests.push_back(pod({want(1, 700)}));
    requests.back().rules.has_affinity = true;
    requests.back().rules.affinity = {
        {.labels = {}, .names = {{"metadata.name", label_operator::not_in, {"n0", "n4"}}}}};
    requests.push_back(pod({want(1, 700)}));
    requests.back().containers[0].mode = "exclusive";
    requests.push_back(pod({want(1, 700)}));
    requests.back().containers[0].models = {"B"};
    return requests;
}

/// Changes beside those of changes.hpp: labels, taints, link groups, tags, memory below its use.
const std::vector<change_entry>& more_changes() {
    static const std::vector<change_entry> changes{
        {"label n0",
         [](ledger& book) {
             node described = node_with("n0", {"u0", "u1", "u2"});
             described.host.labels = {{"zone", "a"}};
             static_cast<void>(book.update_node(node_index{0}, described));
         }},
        {"taint n1",
         [](ledger& book) {
             node described = node_with("n1", {"v0", "v1"});
             described.host.taints = {{.key = "gpu"}};
             static_cast<void>(book.update_node(node_index{1}, described));
         }},
        {"n1 not ready",
         [](ledger& book) {
             node described = node_with("n1", {"v0", "v1"});
             described.host.ready = false;
             static_cast<void>(book.update_node(node_index{1}, described));
         }},
        {"link groups",
         [](ledger& book) {
             node described = node_with("n0", {"u0", "u1", "u2"});
             for (std::size_t i = 0; i < 3; ++i) described.devices[i].link_group = i == 1 ? 1 : 0;
             static_cast<void>(book.update_node(node_index{0}, described));
         }},
        {"a pod with a tag",
         [](ledger& book) {
             booking tagged = book_on(30, node_index{0}, {share_of_device(1, part(10))});
             tagged.tags = {"alone"};
             static_cast<void>(book.adopt(tagged));
         }},
        {"the pod with the tag ends", [](ledger& book) { static_cast<void>(book.release(pod_id{30})); }},
        {"less memory than is used",
         [](ledger& book) {
             for (const auto& [where, name] : {std::pair{0, "n0"}, {2, "n2"}}) {
                 node described = node_with(name, {});
                 if (where == 0) described = node_with(name, {"u0", "u1", "u2"});
                 described.memory = bytes{900};
                 static_cast<void>(book.update_node(node_index{where}, described));
             }
         }},
    };
    return changes;
}

/// Everything that happens, in random trials, with decisions in between.
void expect_alike_whatever_happens(std::string_view spelling, std::uint64_t seeds, const allocator_options& options) {
    std::vector<change_entry> changes = all_changes();
    changes.insert(changes.end(), more_changes().begin(), more_changes().end());
    const auto requests = all_requests();
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        SCOPED_TRACE(seed);
        rng random{seed};
        ledger book = changing_ledger();
        both_paths paths{book, spelling, options};
        std::vector<std::unique_ptr<trial>> open;
        std::string story;
        for (int step = 0; step < 25; ++step) {
            const auto choice = random.below(10);
            if (choice == 0 && open.size() < 2) {
                open.push_back(std::make_unique<trial>(book));
                story += "trial; ";
            } else if (choice <= 2 && !open.empty()) {
                story += "end; ";
                if (random.below(2) == 0) open.back()->keep();
                open.pop_back();
            } else if (choice == 3 && random.below(3) == 0) {
                story += "cut; ";
                book.checkpoint(book.next_event());
            } else {
                const change_entry& change = changes[static_cast<std::size_t>(random.below(changes.size()))];
                story += std::string{change.name} + "; ";
                change.apply(book);
            }
            for (int i = 0; i < 2; ++i) {
                const auto number = static_cast<std::size_t>(random.below(requests.size()));
                SCOPED_TRACE(story + "request " + std::to_string(number));
                paths.expect_alike(requests[number]);
                if (testing::Test::HasFailure()) return;
            }
        }
        while (!open.empty()) open.pop_back();
    }
}

TEST(allocator_changes, decides_like_the_reference_whatever_happens) {
    for (const char* spelling : {"binpack", "spread", "best_fit", "fgd"}) {
        SCOPED_TRACE(spelling);
        expect_alike_whatever_happens(spelling, 60, {});
    }
}

TEST(allocator_changes, decides_like_the_reference_with_little_room) {
    expect_alike_whatever_happens(
        "binpack", 60, {.interned = {.configs_max = 4, .devices_max = 4}, .index_bytes_max = 1, .requests_max = 3});
}

TEST(allocator_changes, requests_that_were_not_used_for_long_are_forgotten) {
    cluster owned = cluster_of_kinds();
    owned.nodes = {node_with("n", {"u0"})};
    placer here{owned, "binpack", {}, {.requests_max = 3}};
    const auto intern = [&](std::int64_t memory) { return here.decider.intern(pod({want(1, memory)})).value(); };
    const request_id first = intern(1);
    const request_id second = intern(2);
    ASSERT_TRUE(here.decider.decide(first).has_value());
    for (int memory = 10; memory < 12; ++memory) static_cast<void>(intern(memory));
    EXPECT_EQ(here.decider.request_count(), 3U);
    EXPECT_EQ(here.decider.find_request(second), nullptr);
    ASSERT_NE(here.decider.find_request(first), nullptr) << "used since it was listed";
    EXPECT_EQ(*here.decider.find_request(first), pod({want(1, 1)}));
    const auto refused = here.decider.decide(second);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().main_code(), request_not_known);
    EXPECT_TRUE(here.decider.evaluate(second).empty());
    EXPECT_EQ(here.decider.place(here.book, pod_id{1}, second).error().main_code(), request_not_known);
    EXPECT_EQ(here.book.live_count(), 0U);
    const request_id again = intern(2);
    EXPECT_FALSE(again == second) << "the number may be another request's by now";
    EXPECT_TRUE(here.decider.decide(again).has_value());
    EXPECT_FALSE(here.decider.decide(request_id{}).has_value());
}

TEST(allocator_changes, a_pod_that_cannot_be_booked_is_refused) {
    cluster owned = cluster_of_kinds();
    owned.nodes = {node_with("n", {"u0"})};
    placer here{owned, "binpack"};
    const request_id id = here.decider.intern(pod({want(1, 1)})).value();
    const auto placed = here.decider.place(here.book, pod_id{1, 1}, id);
    ASSERT_TRUE(placed.has_value());
    EXPECT_EQ(here.book.find_booking(placed->booking)->owner, (pod_id{1, 1}));
    EXPECT_EQ(here.decider.place(here.book, pod_id{1, 1}, id).error().main_code(), pod_is_live);
    ASSERT_TRUE(here.book.release(pod_id{1, 1}));
    EXPECT_EQ(here.decider.place(here.book, pod_id{1}, id).error().main_code(), pod_not_known);
}

TEST(allocator_changes, a_ledger_without_nodes_gets_its_first) {
    ledger book{cluster_of_kinds()};
    both_paths paths{book, "binpack"};
    const pod_request request = pod({want(1, 100)});
    paths.expect_alike(request);
    ASSERT_TRUE(book.add_node(node_with("n", {"u0"})));
    paths.expect_alike(request);
    EXPECT_TRUE(paths.fast.decide(paths.fast.intern(request).value()).has_value());
    ASSERT_TRUE(book.remove_node(node_index{0}));
    paths.expect_alike(request);
}

/// A host that is too full takes pods that ask nothing of it, with and without devices, by name or not.
TEST(allocator_changes, a_pod_that_asks_for_nothing_goes_where_too_much_is_used) {
    for (const char* spelling : {"binpack", "fgd"}) {
        cluster owned = cluster_of_kinds();
        owned.nodes = {node_with("n", {"u0"})};
        ledger book{owned};
        both_paths paths{book, spelling};
        const auto fits = [&](const pod_request& request) {
            paths.expect_alike(request);
            return paths.fast.decide(paths.fast.intern(request).value()).has_value();
        };
        ASSERT_TRUE(book.adopt(book_on(1, node_index{0}, {}, 40000)));
        pod_request with_memory = without_host({want(1, 100)});
        with_memory.memory = bytes{1};
        pod_request with_cpu = without_host({want(1, 100)});
        with_cpu.cpu = milli_cpu{1};
        EXPECT_TRUE(fits(without_host({})));
        EXPECT_TRUE(fits(without_host({want(1, 100)})));
        EXPECT_TRUE(fits(without_host({with_uuids(1, {"u0"})})));
        EXPECT_TRUE(fits(with_memory));
        EXPECT_FALSE(fits(with_cpu));
        node smaller = owned.nodes[0];
        smaller.memory = bytes{10};
        ASSERT_TRUE(book.update_node(node_index{0}, smaller));
        EXPECT_TRUE(fits(without_host({})));
        EXPECT_TRUE(fits(without_host({want(1, 100)})));
        EXPECT_FALSE(fits(with_memory));
        EXPECT_TRUE(paths.fast.place(book, pod_id{2}, paths.fast.intern(without_host({want(1, 100)})).value()));
        book.check();
    }
}

/// The index of a group that never changes is the one that was not used for longest, whatever the decision needs.
TEST(allocator_changes, an_index_that_grows_drops_none_that_the_decision_needs) {
    cluster owned = cluster_of_kinds();
    owned.nodes = {node_with("quiet", {"q0"}), node_with("b0", {"b0"}, kind_b)};
    const pod_request request = without_host({want(1, 500)});
    std::size_t bytes_of_two = 0;
    {
        ledger book{owned};
        both_paths paths{book, "binpack"};
        paths.expect_alike(request);
        bytes_of_two = paths.fast.index_bytes();
    }
    ledger book{owned};
    both_paths paths{book, "binpack", {.index_bytes_max = bytes_of_two}};
    ASSERT_TRUE(run_on(book, 1, node_index{0}, 0, 3000)) << "the best node is in the group that stays as it is";
    paths.expect_alike(request);
    for (int i = 1; i <= 200; ++i) {
        const std::string name = "b" + std::to_string(i);
        ASSERT_TRUE(book.add_node(node_with(name, {name}, kind_b)));
        const auto decided = paths.fast.decide(paths.fast.intern(request).value());
        ASSERT_TRUE(decided.has_value());
        EXPECT_EQ(decided->node, node_index{0});
    }
    paths.expect_alike(request);
}

/// Many nodes with a name and a zone each.
cluster labelled_nodes(std::size_t count) {
    cluster owned = cluster_of_kinds();
    for (std::size_t i = 0; i < count; ++i) {
        const std::string name = "n" + std::to_string(i);
        owned.nodes.push_back(node_with(name, {name}));
        owned.nodes.back().host.labels = {{"hostname", name}, {"zone", i % 2 == 0 ? "a" : "b"}};
    }
    return owned;
}

pod_request pod_choosing(const std::string& label, const std::string& value) {
    pod_request request = without_host({want(1, 500)});
    request.rules.node_selector = {{label, value}};
    return request;
}

TEST(allocator_changes, what_an_index_keeps_of_classes_of_nodes_is_counted) {
    constexpr std::size_t count = 4000;
    ledger book{labelled_nodes(count)};
    both_paths paths{book, "binpack"};
    paths.expect_alike(pod_choosing("zone", "a"));
    paths.expect_alike(pod_choosing("hostname", "n7"));
    const std::size_t before = paths.fast.index_bytes();
    for (const std::uint32_t changed : {4U, 6U}) { // the index grows at the first change and is counted at the next use
        ASSERT_TRUE(run_on(book, changed, node_index{changed}, 0));
        ASSERT_TRUE(paths.fast.decide(paths.fast.intern(pod_choosing("zone", "a")).value()));
    }
    EXPECT_GE(paths.fast.index_bytes(), before + count - 16) << "a byte for each node, as every node is a class now";
}

/// Labels of requests that are forgotten are forgotten with them, in every way that a class of requests comes and goes.
TEST(allocator_changes, rules_of_forgotten_requests_leave_nothing_behind) {
    ledger book{labelled_nodes(3)};
    const auto scorer = make("binpack");
    const policy_pair policies{scorer.get(), scorer.get()};
    cluster_mirror mirror{book, {}};
    node_scorer scores{mirror.states(), policies, traits_of(policies)};
    index_cache indexes{std::size_t{1} << 20};
    request_table requests{mirror, scores, indexes, traits_of(policies), 2};
    for (int i = 0; i < 20; ++i) {
        pod_request request = pod_choosing("label-" + std::to_string(i), "a");
        if (i % 3 == 1) request.containers[0].uuids_denied = {"n1"};
        if (i % 3 == 2) request.memory = bytes{1000 + i};
        request_record& known = *requests.find(requests.intern(request).value());
        requests.use(known, 0);
        if (i % 3 == 2) requests.split_class_by_memory(known, 0);
        EXPECT_LE(requests.size(), 2U);
        EXPECT_EQ(mirror.hosts().label_count(), requests.size()) << i;
    }
}

} // namespace
} // namespace vgpualloc
