// The independent judge. The ledger itself prevents most of what it looks for, so the violations are planted from
// outside: by bookings that the ledger leaves to its callers, by a mode that lies, and by a cluster that shrinks. What
// can be reached in no way through the public interface: a log in which a pod is live twice or ends without beginning,
// and host use that is not the sum of the pods.
#include "vgpualloc/verify/placements.hpp"

#include <functional>

#include "support.hpp"
#include "verify/permissive_mode.hpp"

namespace vgpualloc {
namespace {

using namespace test;

/// Counts correctly or not at all.
class lying_mode final : public permissive_mode {
public:
    explicit lying_mode(bool counts) : counts_{counts} {}
    [[nodiscard]] device_state with(const device_spec&, const device_state& state,
                                    const partition& part) const override {
        if (!counts_) return {};
        const slice* cut = std::get_if<slice>(&part);
        return {.memory = state.memory + (cut != nullptr ? cut->memory : mib{0}),
                .cores = state.cores + (cut != nullptr ? cut->cores : core_percent{0}),
                .slots = state.slots + 1,
                .layout = 0};
    }
    [[nodiscard]] device_state without(const device_spec&, const device_state& state, const partition&) const override {
        return state;
    }

private:
    bool counts_;
};

TEST(first_violation, is_empty_for_a_sound_ledger) {
    cluster owned;
    const node_index where = add_node(owned, {gpu("A", 2), gpu("B", 1, "exclusive")});
    add_node(owned, {});
    ledger book{owned};
    EXPECT_EQ(verify::first_violation(book), "");
    ASSERT_TRUE(
        book.reserve(book_on(0, where, {share_of_device(0, part(5000, 50)), share_of_device(1, whole_device{}, 1)})));
    ASSERT_TRUE(book.reserve(book_on(1, where, {share_of_device(0, part(5000, 50))})));
    ASSERT_TRUE(book.reserve(book_on(2, node_index{1U})));
    EXPECT_EQ(verify::first_violation(book), "");
    book.commit(pod_id{0U});
    book.release(pod_id{0U});
    book.rollback(pod_id{1U});
    EXPECT_EQ(verify::first_violation(book), "");
    ASSERT_TRUE(book.reserve(book_on(0, where, {share_of_device(1, whole_device{})}))) << "a second life of the pod";
    EXPECT_EQ(verify::first_violation(book), "");
}

TEST(first_violation, is_empty_where_pods_were_found_running) {
    cluster owned;
    const node_index where = add_node(owned, {gpu("A", 2)});
    ledger book{owned};
    ASSERT_TRUE(book.adopt(book_on(0, where, {share_of_device(0, part(5000, 50))})));
    EXPECT_EQ(verify::first_violation(book), "");
    book.release(pod_id{0U});
    EXPECT_EQ(verify::first_violation(book), "");
}

TEST(first_violation, names_what_the_ledger_leaves_to_its_callers) {
    cluster owned;
    const node_index where = add_node(owned, {gpu(), gpu()});
    const auto violation = [&](const booking& planted) {
        ledger book{owned};
        EXPECT_TRUE(book.reserve(planted));
        return verify::first_violation(book);
    };
    EXPECT_EQ(violation(book_on(4, where, {share_of_device(0, part(1)), share_of_device(0, part(1))})),
              "pod 4: a container has a device twice");
    EXPECT_EQ(violation(book_on(4, where, {share_of_device(0, part(1)), share_of_device(0, part(1), 1)})), "")
        << "two containers may meet on a device";
}

TEST(first_violation, does_not_believe_a_mode) {
    struct row {
        const char* violation;
        bool counts;
        std::vector<device_share> shares;
    };
    const std::vector<row> rows{
        {"node n0: device memory is overcommitted", true, {share_of_device(0, part(10001))}},
        {"node n0: device compute is overcommitted", true, {share_of_device(0, part(1, 101))}},
        {"node n0: a device has more users than slots",
         true,
         {share_of_device(0, part(1)), share_of_device(0, part(1), 1), share_of_device(0, part(1), 2)}},
        {"node n0: device memory is overcommitted",
         true,
         {share_of_device(0, whole_device{}), share_of_device(0, part(1), 1)}},
        {"node n0: a whole device has several users",
         true,
         {share_of_device(0, whole_device{}), share_of_device(0, part(0), 1)}},
        {"node n0: the counted use of a device is not the sum of its pods", false, {share_of_device(0, part(1))}},
    };
    for (const row& line : rows) {
        const lying_mode mode{line.counts};
        cluster owned;
        device_spec spec = gpu("A", 2);
        spec.mode = &mode;
        const node_index where = add_node(owned, {spec});
        ledger book{owned};
        booking planted = book_on(0, where);
        for (const device_share& share : line.shares) planted.where.shares.push_back(share);
        ASSERT_TRUE(book.reserve(planted));
        EXPECT_EQ(verify::first_violation(book), line.violation);
    }
}

TEST(first_violation, measures_against_the_cluster_as_it_is) {
    using change = std::function<void(node&)>;
    struct row {
        const char* violation;
        change shrink;
    };
    const std::vector<row> rows{
        {"node n0: host CPU is overcommitted", [](node& n) { n.cpu = milli_cpu{999}; }},
        {"node n0: host memory is overcommitted", [](node& n) { n.memory = bytes{999}; }},
        {"node n0: the pod limit is exceeded", [](node& n) { n.pods_max = 0; }},
    };
    for (const row& line : rows) {
        cluster owned;
        const node_index where = add_node(owned, many(1));
        ledger book{owned};
        ASSERT_TRUE(book.reserve(book_on(0, where, {share_of_device(0, part(1))})));
        node smaller = book.nodes().nodes[0];
        line.shrink(smaller);
        ASSERT_TRUE(book.update_node(where, smaller).value());
        EXPECT_TRUE(book.is_overcommitted(where));
        EXPECT_EQ(verify::first_violation(book), line.violation);
    }
}

} // namespace
} // namespace vgpualloc
