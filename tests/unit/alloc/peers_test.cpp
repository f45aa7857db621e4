// Rules about other pods: what the allocator decides is what counting from nothing says, whatever was booked, taken
// back and tried before.
#include "model/nodes.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "vgpualloc/model/trial.hpp"

namespace vgpualloc {
namespace {

using namespace test;
using enum rejection_code;

constexpr const char* zone = "topology.kubernetes.io/zone";

peer_rule rule_of(peer_rule_kind kind, pod_set set, std::string key = zone) {
    return {.kind = kind, .topology_key = std::move(key), .set = set};
}

/// A pod for one device that is in some sets and has rules.
pod_request pod_beside(std::vector<pod_set> member_of, std::vector<peer_rule> rules) {
    pod_request request = pod({want(1, 100)});
    request.peers = shared_peers{pod_peers{.member_of = std::move(member_of), .rules = std::move(rules)}};
    return request;
}

/// Nodes a1, a2 in zone a, b1 in zone b, and one without a zone.
class peers_test : public testing::Test {
protected:
    peers_test() {
        cluster owned = cluster_of_kinds();
        for (const char* const name : {"a1", "a2", "b1", "bare"}) {
            node described = node_with(name, {std::string{name} + "-0", std::string{name} + "-1"});
            described.host.labels = {{std::string{hostname_label}, name}};
            const bool has_zone = std::string_view{name} != "bare";
            if (has_zone) described.host.labels.emplace_back(zone, std::string{name[0]});
            owned.nodes.push_back(std::move(described));
        }
        book.emplace(std::move(owned));
        scorer = make("binpack");
        decider.emplace(*book, policy_pair{scorer.get(), scorer.get()});
    }

    void run(const pod_request& request, std::size_t where) {
        const auto placed = decider->try_node(node_index{where}, decider->intern(request).value());
        ASSERT_TRUE(placed.has_value());
        ASSERT_TRUE(book->reserve(booking_for(pod_id{next_id}, request, *placed)).has_value());
        ASSERT_TRUE(book->commit(pod_id{next_id++}).has_value());
    }
    [[nodiscard]] std::vector<rejection_code> codes(const pod_request& request) {
        std::vector<rejection_code> result;
        for (const node_answer& answer : decider->evaluate(decider->intern(request).value())) {
            result.push_back(answer.code);
        }
        return result;
    }

    std::optional<ledger> book;
    std::unique_ptr<policy> scorer;
    std::optional<allocator> decider;
    std::size_t next_id = 0;
};
using code_list = std::vector<rejection_code>;

TEST_F(peers_test, a_pod_keeps_away_from_pods_of_a_set_and_they_from_it) {
    const pod_request shy = pod_beside({}, {rule_of(peer_rule_kind::apart, 0)});
    const pod_request plain = pod_beside({0}, {});
    EXPECT_EQ(codes(shy), (code_list{none, none, none, none}));
    run(plain, 0);
    EXPECT_EQ(codes(shy), (code_list{pod_anti_affinity, pod_anti_affinity, none, none}));
    run(shy, 2);
    EXPECT_EQ(codes(plain), (code_list{none, none, pod_anti_affinity, none}));
    EXPECT_EQ(decider->ask_node(node_index{2}, plain).refusal.code, pod_anti_affinity);
    EXPECT_EQ(codes(pod_beside({1}, {})), (code_list{none, none, none, none})) << "of another set";
}

TEST_F(peers_test, a_pod_goes_where_pods_of_its_set_are_and_the_first_anywhere_with_the_label) {
    const pod_request own = pod_beside({0}, {rule_of(peer_rule_kind::together, 0)});
    const pod_request other = pod_beside({}, {rule_of(peer_rule_kind::together, 0)});
    EXPECT_EQ(codes(own), (code_list{none, none, none, pod_affinity_differs}));
    EXPECT_EQ(codes(other), code_list(4, pod_affinity_differs));
    run(own, 2);
    for (const pod_request& request : {own, other}) {
        EXPECT_EQ(codes(request), (code_list{pod_affinity_differs, pod_affinity_differs, none, pod_affinity_differs}));
    }
}

TEST_F(peers_test, spread_allows_so_many_more_than_the_domain_with_the_fewest_has) {
    const pod_request even = pod_beside({0}, {rule_of(peer_rule_kind::spread, 0)});
    EXPECT_EQ(codes(even), (code_list{none, none, none, topology_spread}));
    run(even, 0);
    EXPECT_EQ(codes(even), (code_list{topology_spread, topology_spread, none, topology_spread}));
    const rejection_detail uneven = decider->ask_node(node_index{1}, even).refusal;
    EXPECT_EQ(uneven, (rejection_detail{topology_spread, 1, 2}));
    peer_rule looser = rule_of(peer_rule_kind::spread, 0);
    looser.max_skew = 2;
    EXPECT_EQ(codes(pod_beside({0}, {looser})), (code_list{none, none, none, topology_spread}));
    run(even, 2);
    EXPECT_EQ(codes(even), (code_list{none, none, none, topology_spread}));
    peer_rule of_three = rule_of(peer_rule_kind::spread, 0);
    of_three.min_domains = 3;
    EXPECT_EQ(codes(pod_beside({0}, {of_three})), code_list(4, topology_spread)) << "the fewest is 0 with two zones";
}

TEST_F(peers_test, nodes_that_the_pod_cannot_enter_make_no_domain_unless_the_rule_says_so) {
    pod_request picky = pod_beside({0}, {rule_of(peer_rule_kind::spread, 0)});
    picky.rules.node_selector = {{std::string{hostname_label}, "a1"}};
    run(pod_beside({0}, {}), 0);
    EXPECT_EQ(codes(picky)[0], none) << "zone b does not count";
    peer_rule of_all = rule_of(peer_rule_kind::spread, 0);
    of_all.allowed_only = false;
    picky.peers = shared_peers{pod_peers{.member_of = {0}, .rules = {of_all}}};
    EXPECT_EQ(codes(picky)[0], topology_spread);
    node tainted = book->nodes().nodes[2];
    tainted.host.taints = {{.key = "broken"}};
    ASSERT_TRUE(book->update_node(node_index{2}, tainted).has_value());
    EXPECT_EQ(codes(picky)[0], topology_spread);
    of_all.tolerated_only = true;
    picky.peers = shared_peers{pod_peers{.member_of = {0}, .rules = {of_all}}};
    EXPECT_EQ(codes(picky)[0], none);
}

TEST_F(peers_test, sets_that_are_known_later_count_at_once) {
    run(pod({want(1, 100)}), 0);
    const pod_request shy = pod_beside({}, {rule_of(peer_rule_kind::apart, 0)});
    EXPECT_EQ(codes(shy), (code_list{none, none, none, none}));
    book->set_peers(pod_id{0}, shared_peers{pod_peers{.member_of = {0}}});
    EXPECT_EQ(codes(shy), (code_list{pod_anti_affinity, pod_anti_affinity, none, none}));
}

/// Counts from nothing, in the words of Kubernetes' documentation.
class naive_counts {
public:
    explicit naive_counts(const ledger& book) : book_{&book} {}

    [[nodiscard]] rejection_code why_not(const pod_request& request, std::size_t where) const {
        const auto& rules = request.peers->rules;
        const auto has_kind = [&](peer_rule_kind kind) {
            return std::ranges::any_of(rules, [&](const peer_rule& rule) { return rule.kind == kind; });
        };
        for (const peer_rule& rule : rules) {
            if (rule.kind != peer_rule_kind::spread) continue;
            if (value(where, rule) == nullptr || skew(request, rule, where) > rule.max_skew) return topology_spread;
        }
        if (has_kind(peer_rule_kind::together) && !is_near(request, where)) return pod_affinity_differs;
        return is_apart(request, where) ? none : pod_anti_affinity;
    }

private:
    [[nodiscard]] const std::string* value(std::size_t where, const peer_rule& rule) const {
        return book_->nodes().nodes[where].host.label(rule.topology_key);
    }
    [[nodiscard]] std::int64_t members(pod_set set, const std::string& key, const std::string& in) const {
        std::int64_t count = 0;
        for (const pod_id id : book_->live_pods()) {
            const booking& held = book_->booking_of(id);
            const std::string* const there = book_->nodes().nodes[held.where.node.at()].host.label(key);
            if (!held.peers.empty() && held.peers->is_in(set) && there != nullptr && *there == in) ++count;
        }
        return count;
    }
    [[nodiscard]] std::int64_t skew(const pod_request& request, const peer_rule& rule, std::size_t where) const {
        std::map<std::string, std::int64_t> domains;
        for (std::size_t n = 0; n < book_->nodes().nodes.size(); ++n) {
            const bool has_all = std::ranges::all_of(request.peers->rules, [&](const peer_rule& other) {
                return other.kind != peer_rule_kind::spread || value(n, other) != nullptr;
            });
            if (has_all) domains[*value(n, rule)] = 0;
        }
        for (auto& [name, count] : domains) count = members(rule.set, rule.topology_key, name);
        std::int64_t fewest = domains.empty() || std::cmp_less(domains.size(), rule.min_domains) ? 0 : 1000;
        for (const auto& [name, count] : domains) fewest = std::min(fewest, count);
        return domains[*value(where, rule)] + (request.peers->is_in(rule.set) ? 1 : 0) - fewest;
    }
    [[nodiscard]] bool is_near(const pod_request& request, std::size_t where) const {
        bool has_keys = true;
        bool has_all = true;
        std::int64_t anywhere = 0;
        bool is_own = false;
        for (const peer_rule& rule : request.peers->rules) {
            if (rule.kind != peer_rule_kind::together) continue;
            is_own = request.peers->is_in(rule.set);
            const std::string* const here = value(where, rule);
            if (here == nullptr) {
                has_keys = false;
                continue;
            }
            if (members(rule.set, rule.topology_key, *here) == 0) has_all = false;
        }
        for (const peer_rule& rule : request.peers->rules) {
            if (rule.kind != peer_rule_kind::together) continue;
            for (std::size_t n = 0; n < book_->nodes().nodes.size(); ++n) {
                if (value(n, rule) != nullptr) anywhere += members(rule.set, rule.topology_key, *value(n, rule));
            }
        }
        return has_keys && (has_all || (anywhere == 0 && is_own));
    }
    [[nodiscard]] bool is_apart(const pod_request& request, std::size_t where) const {
        for (const peer_rule& rule : request.peers->rules) {
            if (rule.kind != peer_rule_kind::apart || value(where, rule) == nullptr) continue;
            if (members(rule.set, rule.topology_key, *value(where, rule)) > 0) return false;
        }
        for (const pod_id id : book_->live_pods()) {
            const booking& held = book_->booking_of(id);
            if (held.peers.empty()) continue;
            for (const peer_rule& rule : held.peers->rules) {
                if (rule.kind != peer_rule_kind::apart || !request.peers->is_in(rule.set)) continue;
                const std::string* const here = value(where, rule);
                const std::string* const there = value(held.where.node.at(), rule);
                if (here != nullptr && there != nullptr && *here == *there) return false;
            }
        }
        return true;
    }

    const ledger* book_;
};

class random_peers : public peers_test, public testing::WithParamInterface<std::uint32_t> {
protected:
    std::size_t below(std::size_t limit) { return drawer_() % limit; }

    pod_request any_pod() {
        std::vector<pod_set> sets;
        for (pod_set set = 0; set < 3; ++set) {
            if (below(2) == 0) sets.push_back(set);
        }
        std::vector<peer_rule> rules;
        const pod_set near = static_cast<pod_set>(below(3));
        for (std::size_t i = below(3); i > 0; --i) {
            const auto kind = static_cast<peer_rule_kind>(below(3));
            const pod_set set = kind == peer_rule_kind::together ? near : static_cast<pod_set>(below(3));
            peer_rule rule = rule_of(kind, set, below(2) == 0 ? zone : std::string{hostname_label});
            rule.max_skew = 1 + static_cast<std::int64_t>(below(2));
            rule.min_domains = 1 + static_cast<std::int64_t>(below(4));
            rules.push_back(std::move(rule));
        }
        if (sets.empty() && rules.empty()) sets = {0};
        return pod_beside(std::move(sets), std::move(rules));
    }

    void expect_the_same(const pod_request& request) {
        const auto found = codes(request);
        const naive_counts naive{*book};
        bool fits = false;
        for (std::size_t n = 0; n < found.size(); ++n) {
            EXPECT_EQ(found[n], naive.why_not(request, n)) << "node " << n;
            EXPECT_EQ(decider->ask_node(node_index{n}, request).answer.code, found[n]);
            fits = fits || found[n] == none;
        }
        const auto decided = decider->decide(decider->intern(request).value());
        ASSERT_EQ(decided.has_value(), fits);
        if (fits) {
            EXPECT_EQ(found[decided->node.at()], none);
        }
    }

    void change_something() {
        const pod_request request = any_pod();
        const auto live = book->live_pods();
        if (below(3) == 0 && !live.empty()) {
            ASSERT_TRUE(book->release(live[below(live.size())]).has_value());
        } else if (const auto decided = decider->decide(decider->intern(request).value())) {
            ASSERT_TRUE(book->adopt(booking_for(pod_id{next_id++}, request, *decided)).has_value());
        }
    }

    std::mt19937 drawer_{GetParam()};
};

TEST_P(random_peers, decisions_are_those_of_counting_from_nothing) {
    for (int step = 0; step < 25; ++step) {
        change_something();
        expect_the_same(any_pod());
        if (below(4) != 0) continue;
        {
            trial scope{*book};
            for (std::size_t i = below(4); i > 0; --i) change_something();
            expect_the_same(any_pod());
            if (below(2) == 0) scope.keep();
        }
        expect_the_same(any_pod());
    }
}
INSTANTIATE_TEST_SUITE_P(seeds, random_peers, testing::Range(0U, 60U));

} // namespace
} // namespace vgpualloc
