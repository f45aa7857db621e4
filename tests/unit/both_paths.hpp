// Both decision paths side by side: the index and the reference.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "alloc/reference.hpp"
#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/core/rng.hpp"

namespace vgpualloc::test {

/// Pods come and go on two ledgers, one behind each path; every decision must be the same. `policy_of_index` may be
/// `policy_of_reference` unless it keeps something.
inline void expect_equal_decisions(const cluster& nodes, policy& policy_of_index, policy& policy_of_reference,
                                   const std::function<pod_request(rng&)>& next_request) {
    ledger index_book{nodes};
    ledger reference_book{nodes};
    allocator index{index_book, {.node = &policy_of_index, .device = &policy_of_index}};
    reference_allocator reference{reference_book, {.node = &policy_of_reference, .device = &policy_of_reference}};
    rng draw{5};
    std::vector<pod_id> live;
    for (std::uint32_t i = 0; i < 400; ++i) {
        const pod_request request = next_request(draw);
        const auto by_index = index.place(index_book, pod_id{i}, index.intern(request).value());
        reference.observe();
        const auto by_reference = reference.decide(request);
        ASSERT_EQ(by_index.has_value(), by_reference.has_value()) << "pod " << i;
        if (by_index) {
            ASSERT_EQ(static_cast<const placement&>(*by_index), *by_reference) << "pod " << i;
            ASSERT_TRUE(reference_book.reserve(index_book.booking_of(pod_id{i})));
            ASSERT_TRUE(reference_book.commit(pod_id{i}));
            live.push_back(pod_id{i});
        }
        if (live.empty() || draw.below(3) != 0) continue;
        const auto leaving = static_cast<std::size_t>(draw.below(live.size()));
        index_book.release(live[leaving]);
        reference_book.release(live[leaving]);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(leaving));
    }
    EXPECT_GT(index_book.live_count(), 10U);
    EXPECT_TRUE(index_book.same_use(reference_book));
}

} // namespace vgpualloc::test
