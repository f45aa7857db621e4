#include "vgpusim/engine/event_clock.hpp"

#include <utility>

#include <gtest/gtest.h>

namespace {

using vgpualloc::ticks;
using vgpusim::event_clock;

TEST(event_clock, every_event_has_the_time_at_which_it_was_noted) {
    event_clock clock;
    clock.note(0, ticks{5}); // nothing happened yet
    clock.note(2, ticks{10});
    clock.note(2, ticks{20}); // nor since then
    clock.note(3, ticks{30});
    clock.note(5, ticks{30});
    clock.note(6, ticks{40});
    event_clock::reader times{clock};
    for (const auto& [event, time] : {std::pair{0U, 10}, {1U, 10}, {2U, 30}, {4U, 30}, {5U, 40}, {9U, 40}}) {
        EXPECT_EQ(times.time_of(event), ticks{time}) << event;
    }
}

TEST(event_clock, without_a_note_no_time_has_passed) {
    const event_clock clock;
    EXPECT_EQ(event_clock::reader{clock}.time_of(3), ticks{});
}

} // namespace
