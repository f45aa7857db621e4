#include "vgpusim/study/formats.hpp"

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vgpusim/study/run.hpp"
#include "vgputraces/file_source.hpp"

namespace {

using testing::HasSubstr;

std::string failure_of(const vgpusim::run_config& config) {
    const auto loaded = vgpusim::load_input(config, vgputraces::file_source{});
    return loaded ? "" : loaded.error().message();
}

TEST(formats, have_names_that_occur_once_and_sentences) {
    const auto all = vgpusim::all_formats();
    for (const auto& format : all) {
        EXPECT_EQ(std::ranges::count(all, format.name, &vgpusim::input_format::name), 1);
        EXPECT_FALSE(format.summary.empty());
        EXPECT_THAT(vgpusim::format_names(), HasSubstr(std::string{format.name}));
    }
}

TEST(formats, that_are_not_known_list_the_known_ones) {
    vgpusim::run_config config;
    config.format = "csv";
    EXPECT_EQ(failure_of(config), "format: got 'csv', expected one of " + vgpusim::format_names());
}

TEST(formats, refuse_keys_that_say_nothing_to_them) {
    vgpusim::run_config config;
    config.format = "swf";
    config.tune = 0.5;
    EXPECT_THAT(failure_of(config), HasSubstr("tune: got '0.5', expected no such setting: format swf has no use"));
    config.tune = 0.0;
    config.departures = true;
    EXPECT_THAT(failure_of(config), HasSubstr("departures: got 'true'"));
    config.departures = false;
    EXPECT_EQ(failure_of(config), "nodes: missing; expected a path");
}

TEST(formats, know_only_keys_that_there_are) {
    const auto known = vgpusim::effective({});
    for (const auto& format : vgpusim::all_formats()) {
        for (const auto key : format.keys_without_use) {
            EXPECT_TRUE(std::ranges::any_of(known, [key](const auto& entry) { return entry.first == key; })) << key;
        }
    }
}

} // namespace
