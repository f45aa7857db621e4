// Explanations of pods in clusters that a test writes down.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "../kube/snapshots.hpp"
#include "vgpualloc/explain/answers.hpp"

namespace explain_test {

/// The explanation of the last pending pod.
inline vgpualloc::explaining::explanation explained(const std::string& yaml, const std::string& policy = "best_fit",
                                                    const vgpualloc::dialect_set& spoken = kube_test::dialects()) {
    auto state = kube_test::snapshot_of(yaml, spoken);
    const auto result = vgpualloc::explaining::explain(state, state.pending.back(), {.policy = policy});
    EXPECT_TRUE(result.has_value()) << result.error().message();
    return result.value_or(vgpualloc::explaining::explanation{});
}

} // namespace explain_test
