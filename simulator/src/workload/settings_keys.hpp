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

#include "vgpualloc/core/error.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpuformats/json.hpp"
#include "vgpusim/workload/seed.hpp"
#include "vgpusim/workload/settings.hpp"

namespace vgpusim::keys {

using vgpualloc::error;
using vgpualloc::error_code;
using vgpualloc::expected;
using vgpualloc::unexpected;

template <class Number>
bool parse_whole(std::string_view text, Number& out) {
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), out);
    return failure == std::errc{} && end == text.data() + text.size();
}

template <std::string run_config::* Field>
constexpr run_setting text_key(std::string_view name, bool is_path = false) {
    return {.name = name,
            .set = [](run_config& config, std::string_view, std::string_view value) -> expected<void> {
                config.*Field = std::string{value};
                return {};
            },
            .get = [](const run_config& config) { return config.*Field; },
            .is_path = is_path};
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
constexpr run_setting switch_key(std::string_view name) {
    return {.name = name,
            .set = [](run_config& config, std::string_view key, std::string_view value) -> expected<void> {
                if (value != "true" && value != "false") return unexpected(bad_setting(key, value, "true or false"));
                config.*Field = value == "true";
                return {};
            },
            .get = [](const run_config& config) { return std::string{config.*Field ? "true" : "false"}; }};
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

inline expected<void> set_after_failure(run_config& config, std::string_view key, std::string_view value) {
    if (value != "requeue" && value != "lose") return unexpected(bad_setting(key, value, "requeue or lose"));
    config.after_failure = std::string{value};
    return {};
}

inline expected<void> set_defragment(run_config& config, std::string_view key, std::string_view value) {
    if (value != "never" && value != "on_loss" && value != "periodic") {
        return unexpected(bad_setting(key, value, "never, on_loss or periodic"));
    }
    config.defragment = std::string{value};
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

inline expected<void> set_price_demand(run_config& config, std::string_view key, std::string_view value) {
    if (value != "known" && value != "learned") return unexpected(bad_setting(key, value, "known or learned"));
    config.price_demand = std::string{value};
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

} // namespace vgpusim::keys
