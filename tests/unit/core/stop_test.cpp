#include "vgpualloc/core/stop.hpp"

#include <gtest/gtest.h>

namespace {

TEST(stop_signal, asks_once_in_256_polls) {
    int questions = 0;
    bool wanted = false;
    const std::function<bool()> question = [&] {
        ++questions;
        return wanted;
    };
    vgpualloc::stop_signal stop{question};
    for (int i = 0; i < 1000; ++i) EXPECT_FALSE(stop.poll());
    EXPECT_EQ(questions, 3);
    wanted = true;
    EXPECT_TRUE(stop.raised());
    int polls = 1;
    while (!stop.poll()) ++polls;
    EXPECT_EQ(polls, 1024 - 1000);
}

TEST(stop_signal, that_is_empty_never_stops) {
    vgpualloc::stop_signal stop;
    const std::function<bool()> nobody;
    vgpualloc::stop_signal other{nobody};
    for (int i = 0; i < 1000; ++i) EXPECT_FALSE(stop.poll() || other.poll());
    EXPECT_FALSE(other.raised());
    EXPECT_EQ(vgpualloc::stop_signal::stopped().code, vgpualloc::error_code::stopped);
}

} // namespace
