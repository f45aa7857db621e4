// How the settings of a run are set from text and given as text.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

#include "vgpuformats/json.hpp"
#include "vgpusim/workload/seed.hpp"
#include "vgpusim/workload/settings.hpp"

namespace vgpusim::keys {

/// What a number may be, and what people are told of it.
template <class Number>
struct number_range {
    Number least;
    Number most;
    std::string_view values;
    const char* expected; ///< in errors
    std::string_view placeholder = "";
};

inline constexpr number_range<double> multiple{0.0, 1000.0, "0 to 1000",
                                               "a number from 0 (leave the list as it is) to 1000", "NUMBER"};
inline constexpr number_range<double> share{0.0, 1.0, "0 to 1", "a fraction from 0 to 1"};
inline constexpr number_range<std::int64_t> seconds{0, 1'000'000'000, "0 to 10^9", "whole seconds from 0 to 1000000000",
                                                    "SECONDS"};
inline constexpr number_range<std::int64_t> interval{1, 1'000'000'000, "1 to 10^9",
                                                     "whole seconds from 1 to 1000000000"};
inline constexpr number_range<std::int64_t> moves{1, 16, "1 to 16", "a whole number of moves from 1 to 16"};
inline constexpr number_range<std::int64_t> arrivals{1, arrivals_max, "1 to 10^7", arrivals_expected};

/// The number of a text; none where it is none or out of the range.
template <class Number>
std::optional<Number> parse_in(const number_range<Number>& range, std::string_view text) {
    Number number{};
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_number = failure == std::errc{} && end == text.data() + text.size();
    return is_number && number >= range.least && number <= range.most ? std::optional{number} : std::nullopt;
}

template <auto Field, const auto& Range>
expected<void> set_number(run_config& config, std::string_view key, std::string_view value) {
    const auto number = parse_in(Range, value);
    if (!number) return unexpected(bad_number(key, value, Range.expected, std::is_integral_v<decltype(Range.least)>));
    config.*Field = *number;
    return {};
}

template <auto Field>
std::string number_of(const run_config& config) {
    std::array<char, 32> buffer{};
    return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), config.*Field).ptr};
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

inline expected<void> set_seed(run_config& config, std::string_view key, std::string_view value) {
    const auto seed = parse_seed(value);
    if (!seed) return unexpected(bad_number(key, value, seed_expected, true));
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
    config.*Field = static_cast<std::remove_reference_t<decltype(config.*Field)>>(word - Words.begin());
    return {};
}

template <auto Field, const auto& Words>
std::string choice_of(const run_config& config) {
    return std::string{Words[static_cast<std::size_t>(config.*Field)]};
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

inline expected<void> set_discipline(run_config& config, std::string_view, std::string_view value) {
    if (std::ranges::find(discipline_names, value) == discipline_names.end()) {
        return unexpected(unknown_discipline(value));
    }
    config.discipline = std::string{value};
    return {};
}

// Entries of the table of settings. One without a flag is set by its key alone.

template <std::string run_config::* Field>
constexpr run_setting text(std::string_view name, std::string_view flag, std::string_view values,
                           std::string_view placeholder, std::string_view help) {
    return {.name = name,
            .type = setting_type::text,
            .values = values,
            .help = help,
            .flag = flag,
            .placeholder = placeholder,
            .set = set_text<Field>,
            .get = text_of<Field>};
}

template <std::string run_config::* Field>
constexpr run_setting input(std::string_view name, std::string_view flag, std::string_view help,
                            std::span<const std::string_view> words = {}) {
    run_setting entry = text<Field>(name, flag, "name of an input", "FILE", help);
    entry.type = setting_type::input;
    entry.words = words;
    return entry;
}

template <bool run_config::* Field>
constexpr run_setting truth(std::string_view name, std::string_view flag, std::string_view help) {
    return {.name = name,
            .type = setting_type::truth,
            .values = "true or false",
            .help = help,
            .flag = flag,
            .placeholder = "",
            .set = set_truth<Field>,
            .get = truth_of<Field>};
}

template <auto Field, const auto& Words>
constexpr run_setting choice(std::string_view name, std::string_view values, std::string_view help) {
    return {.name = name,
            .type = setting_type::choice,
            .values = values,
            .help = help,
            .flag = "",
            .placeholder = "",
            .set = set_choice<Field, Words>,
            .get = choice_of<Field, Words>};
}

template <auto Field, const auto& Range>
constexpr run_setting number(std::string_view name, std::string_view flag, std::string_view help) {
    return {.name = name,
            .type = std::is_same_v<decltype(Range.least), double> ? setting_type::real : setting_type::whole,
            .values = Range.values,
            .help = help,
            .flag = flag,
            .placeholder = flag.empty() ? "" : Range.placeholder,
            .set = set_number<Field, Range>,
            .get = number_of<Field>};
}

} // namespace vgpusim::keys
