// Living clusters of a few nodes, and pods for them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "unit/kube/snapshots.hpp"
#include "vgpualloc/live/live_cluster.hpp"

namespace live_test {

using namespace kube_test;
using vgpualloc::live_cluster;
using vgpualloc::live_options;
using told = live_cluster::told;

inline std::unique_ptr<live_cluster> live_of(const std::string& yaml, const std::string& policy = "binpack") {
    live_options options{.policy = policy};
    options.config = dialects().config();
    auto live = live_cluster::make(std::move(options));
    EXPECT_TRUE(live) << live.error().message();
    for (const auto& object : objects(yaml)) EXPECT_EQ((*live)->upsert(object), told::changed);
    return *std::move(live);
}

/// A pod that waits, or is bound and says on which device, with a uid and a time of creation.
inline std::string named_pod(const std::string& name, const std::string& uid, const std::string& limits,
                             const std::string& node = "", const std::string& annotations = "",
                             const std::string& created = "2026-01-01T00:00:00Z") {
    std::string text = pod(name, limits, node, annotations);
    const std::string place = "  namespace: ns\n";
    return text.replace(text.find(place), place.size(),
                        place + "  uid: " + uid + "\n  creationTimestamp: " + created + "\n");
}

inline std::vector<double> scores_of(live_cluster& live, const std::string& uid) {
    std::vector<double> scores;
    const auto opinions = live.evaluate(uid, true);
    EXPECT_TRUE(opinions);
    for (const auto& opinion : *opinions) {
        scores.push_back(opinion.fits() ? opinion.score : -static_cast<double>(opinion.refusal.available));
    }
    return scores;
}

inline const std::string two_nodes = gpu_node("n0", card("A")) + gpu_node("n1", card("B") + card("C"));

} // namespace live_test
