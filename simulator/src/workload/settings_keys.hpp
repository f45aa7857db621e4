// How the settings of a run are set from text and given as text.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

#include "vgpuformats/json.hpp"
#include "vgpusim/workload/seed.hpp"
#include "vgpusim/workload/settings.hpp"

namespace vgpusim::keys {

template <class Number>
bool parse_whole(std::string_view text, Number& out) {
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), out);
    return failure == std::errc{} && end == text.data() + text.size();
}

/// A field whose every text is a value.
template <std::string run_config::* Field>
expected<void> set_text(run_config& config, std::string_view, std::string_view value) {
    config.*Field = std::string{value};
    return {};
}

template <std::string run_config::* Field>
std::string text_of(const run_config& config) {
    return config.*Field;
}

/// A multiple of all GPUs.
template <double run_config::* Field>
expected<void> set_multiple(run_config& config, std::string_view key, std::string_view value) {
    double parsed = 0.0;
    constexpr double multiple_max = 1000.0;
    if (!parse_whole(value, parsed) || !std::isfinite(parsed) || parsed < 0.0 || parsed > multiple_max) {
        return unexpected(bad_setting(key, value, "a number from 0 (leave the list as it is) to 1000"));
    }
    config.*Field = parsed;
    return {};
}

inline expected<void> set_seed(run_config& config, std::string_view key, std::string_view value) {
    const auto seed = parse_seed(value);
    if (!seed) return unexpected(bad_setting(key, value, seed_expected));
    config.seed = static_cast<std::int64_t>(*seed);
    return {};
}

template <bool run_config::* Field>
expected<void> set_truth(run_config& config, std::string_view key, std::string_view value) {
    if (value != "true" && value != "false") return unexpected(bad_setting(key, value, "true or false"));
    config.*Field = value == "true";
    return {};
}

template <bool run_config::* Field>
std::string truth_of(const run_config& config) {
    return config.*Field ? "true" : "false";
}

/// The texts of a choice, in the order of its enumerators.
inline constexpr std::array<std::string_view, 2> after_failure_words{"requeue", "lose"};
inline constexpr std::array<std::string_view, 3> defragment_words{"never", "on_loss", "periodic"};
inline constexpr std::array<std::string_view, 2> price_demand_words{"known", "learned"};

/// "never, on_loss or periodic"
template <std::size_t Count>
std::string in_words(const std::array<std::string_view, Count>& words) {
    std::string text;
    for (std::size_t i = 0; i < Count; ++i) {
        text += (i == 0 ? "" : i + 1 == Count ? " or " : ", ") + std::string{words[i]};
    }
    return text;
}

template <auto Field, const auto& Words>
expected<void> set_choice(run_config& config, std::string_view key, std::string_view value) {
    const auto word = std::ranges::find(Words, value);
    if (word == Words.end()) return unexpected(bad_setting(key, value, in_words(Words).c_str()));
    using choice = std::remove_reference_t<decltype(config.*Field)>;
    config.*Field = static_cast<choice>(word - Words.begin());
    return {};
}

template <auto Field, const auto& Words>
std::string choice_of(const run_config& config) {
    return std::string{Words[static_cast<std::size_t>(config.*Field)]};
}

template <auto Field>
std::string whole_of(const run_config& config) {
    return std::to_string(config.*Field);
}

/// A list of rules, which are read with the workload. Kept as it is printed, so that equal lists are equal texts.
inline expected<void> set_mapping(run_config& config, std::string_view key, std::string_view value) {
    config.mapping.clear();
    if (value.empty()) return {};
    const auto rules = vgpuformats::parse_json(value, key);
    if (!rules) return unexpected(rules.error());
    if (!rules->is_list()) return unexpected(bad_setting(key, value, "a list of rules, JSON (docs/traces.md)"));
    if (!rules->items.empty()) config.mapping = vgpuformats::print_json(*rules);
    return {};
}

inline expected<void> set_moves_max(run_config& config, std::string_view key, std::string_view value) {
    std::int64_t parsed = 0;
    constexpr std::int64_t moves_max = 16;
    if (!parse_whole(value, parsed) || parsed < 1 || parsed > moves_max) {
        return unexpected(bad_setting(key, value, "a whole number of moves from 1 to 16"));
    }
    config.defragment_moves_max = parsed;
    return {};
}

inline expected<void> set_interval(run_config& config, std::string_view key, std::string_view value) {
    std::int64_t parsed = 0;
    constexpr std::int64_t seconds_max = 1'000'000'000;
    if (!parse_whole(value, parsed) || parsed < 1 || parsed > seconds_max) {
        return unexpected(bad_setting(key, value, "whole seconds from 1 to 1000000000"));
    }
    config.defragment_every_s = parsed;
    return {};
}

inline expected<void> set_share(run_config& config, std::string_view key, std::string_view value) {
    double parsed = 0.0;
    if (!parse_whole(value, parsed) || !(parsed >= 0.0 && parsed <= 1.0)) {
        return unexpected(bad_setting(key, value, "a fraction from 0 to 1"));
    }
    config.defragment_share = parsed;
    return {};
}

/// A number of arrivals.
template <std::int64_t run_config::* Field>
expected<void> set_arrivals(run_config& config, std::string_view key, std::string_view value) {
    const auto arrivals = parse_arrivals(value);
    if (!arrivals) return unexpected(bad_setting(key, value, arrivals_expected));
    config.*Field = *arrivals;
    return {};
}

inline expected<void> set_discipline(run_config& config, std::string_view, std::string_view value) {
    if (std::ranges::find(discipline_names, value) == discipline_names.end()) {
        return unexpected(unknown_discipline(value));
    }
    config.discipline = std::string{value};
    return {};
}

template <std::int64_t run_config::* Field>
expected<void> set_seconds(run_config& config, std::string_view key, std::string_view value) {
    constexpr std::int64_t seconds_max = 1'000'000'000;
    std::int64_t parsed = 0;
    if (!parse_whole(value, parsed) || parsed < 0 || parsed > seconds_max) {
        return unexpected(bad_setting(key, value, "whole seconds from 0 to 1000000000"));
    }
    config.*Field = parsed;
    return {};
}

inline std::string decimal(double value) {
    std::array<char, 32> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
    return {buffer.data(), end};
}

template <double run_config::* Field>
std::string real_of(const run_config& config) {
    return decimal(config.*Field);
}

} // namespace vgpusim::keys
