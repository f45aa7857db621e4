// What ClusterQueues leave to workloads.
#include "vgpualloc/kube/cluster_queues.hpp"

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vgpualloc/core/rng.hpp"

namespace cluster_queues_test {
namespace {

using namespace vgpualloc::kube;
using testing::IsEmpty;

std::vector<manifest> read(const std::string& text) {
    auto objects = read_manifests(text, "f.yaml");
    EXPECT_TRUE(objects.has_value()) << objects.error().message();
    return objects ? *std::move(objects) : std::vector<manifest>{};
}

std::string local_queue(const std::string& name, const std::string& cluster_queue) {
    return "---\napiVersion: kueue.x-k8s.io/v1beta1\nkind: LocalQueue\nmetadata: {name: " + name +
           ", namespace: ns}\nspec: {clusterQueue: " + cluster_queue + "}\n";
}

/// A quota of one flavor, what of it is lent and borrowed at most (below 0: not said), and what is used.
struct drawn_queue {
    std::int64_t nominal = 0;
    std::int64_t borrowing = -1;
    std::int64_t lending = -1;
    std::int64_t used = 0;
};

std::string cluster_queue(const std::string& name, const drawn_queue& of) {
    std::string resource = "{name: nvidia.com/gpu, nominalQuota: " + std::to_string(of.nominal);
    if (of.borrowing >= 0) resource += ", borrowingLimit: " + std::to_string(of.borrowing);
    if (of.lending >= 0) resource += ", lendingLimit: " + std::to_string(of.lending);
    return "---\napiVersion: kueue.x-k8s.io/v1beta1\nkind: ClusterQueue\nmetadata: {name: " + name +
           "}\nspec: {cohort: all, resourceGroups: [{flavors: [{name: f, resources: [" + resource +
           "}]}]}]}\nstatus: {flavorsReservation: [{name: f, resources: [{name: nvidia.com/gpu, total: " +
           std::to_string(of.used) + "}]}]}\n";
}

/// Within its own limit, and all queues together within all quotas, where what a queue keeps for itself counts as used.
bool is_allowed(const std::vector<drawn_queue>& queues) {
    std::int64_t most = 0;
    std::int64_t taken = 0;
    for (const drawn_queue& of : queues) {
        if (of.borrowing >= 0 && of.used > of.nominal + of.borrowing) return false;
        const std::int64_t kept = of.lending < 0 ? 0 : std::max<std::int64_t>(of.nominal - of.lending, 0);
        most += of.nominal;
        taken += std::max(of.used, kept);
    }
    return taken <= most;
}

TEST(cluster_queues, lend_within_a_cohort_as_its_sums_allow) {
    vgpualloc::rng random{11};
    const auto below = [&](std::int64_t end) {
        return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(end)));
    };
    int allowed = 0;
    for (int i = 0; i < 400; ++i) {
        std::vector<drawn_queue> queues(2 + random.below(3));
        for (drawn_queue& of : queues) {
            of.nominal = below(6);
            if (random.below(2) == 0) of.borrowing = below(4);
            if (random.below(2) == 0) of.lending = below(of.nominal + 1);
            of.used = below(of.nominal + 2);
        }
        if (!is_allowed(queues)) continue; // it could not have come to this
        std::string text = local_queue("q", "c0");
        for (std::size_t n = 0; n < queues.size(); ++n) text += cluster_queue("c" + std::to_string(n), queues[n]);
        const std::int64_t asked = 1 + below(6);
        const auto objects = read(text);
        const std::string words = cluster_queues{objects}.shortage_of("ns", "q", {{{"nvidia.com/gpu", asked}}});
        queues.front().used += asked;
        ASSERT_EQ(words.empty(), is_allowed(queues)) << text << asked << "\n" << words;
        allowed += words.empty() ? 1 : 0;
    }
    EXPECT_GT(allowed, 50);
}

const std::string two_flavors = local_queue("q", "c") + R"(---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: c}
spec: {resourceGroups: [{flavors: [
  {name: small, resources: [{name: nvidia.com/gpu, nominalQuota: 4}, {name: cpu, nominalQuota: 8}]},
  {name: large, resources: [{name: nvidia.com/gpu, nominalQuota: 4}, {name: cpu, nominalQuota: 32}]}]}]}
)";

TEST(cluster_queues, a_pod_set_has_one_flavor_for_all_resources_of_a_group) {
    const auto objects = read(two_flavors);
    cluster_queues queues{objects};
    EXPECT_THAT(queues.take("ns", "q", {{{"nvidia.com/gpu", 4}, {"cpu", 16'000}}}), IsEmpty());
    EXPECT_THAT(queues.take("ns", "q", {{{"nvidia.com/gpu", 3}, {"cpu", 4'000}}}), IsEmpty()) << "of the small one";
    EXPECT_EQ(queues.take("ns", "q", {{{"nvidia.com/gpu", 1}, {"cpu", 5'000}}}),
              "insufficient unused quota for cpu in flavor small, 1 more needed");
    EXPECT_THAT(queues.take("ns", "q", {{{"nvidia.com/gpu", 1}}}), IsEmpty()) << "what was refused has taken nothing";
    EXPECT_EQ(queues.take("ns", "q", {{{"nvidia.com/gpu", 1}}}),
              "insufficient unused quota for nvidia.com/gpu in flavor small, 1 more needed");
}

TEST(cluster_queues, what_cannot_be_let_in_at_all_is_told_apart) {
    const auto objects = read(two_flavors);
    const cluster_queues queues{objects};
    EXPECT_EQ(queues.shortage_of("ns", "q", {{{"nvidia.com/gpu", 5}}}),
              "insufficient quota for nvidia.com/gpu in flavor small, request > maximum capacity (5 > 4)");
    EXPECT_EQ(queues.shortage_of("ns", "q", {{{"amd.com/gpu", 1}}}),
              "resource amd.com/gpu unavailable in ClusterQueue");
    EXPECT_EQ(queues.shortage_of("ns", "other", {}), "LocalQueue other is not among the objects");
    EXPECT_EQ(queues.cluster_queue_of("ns", "q"), "c");
}

} // namespace
} // namespace cluster_queues_test
