// Labels of test cases: which requirements a case shows (their list is tests/requirements/rows.json).
#pragma once

#include <initializer_list>
#include <string>

#include <gtest/gtest.h>

namespace vgpualloc::test {

/// Called first in a case that fails if one of these requirements is broken. scripts/requirements.py finds the call by
/// its text and the label in what the case reports, and makes docs/requirements.md of them.
inline void covers(std::initializer_list<const char*> requirements) {
    std::string all;
    for (const char* requirement : requirements) all += (all.empty() ? "" : " ") + std::string{requirement};
    testing::Test::RecordProperty("covers", all);
}

} // namespace vgpualloc::test
