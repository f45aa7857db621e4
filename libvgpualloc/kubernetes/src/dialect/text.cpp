// Pieces of text that annotations are made of.
#include "text.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "vgpualloc/dialect/quantity.hpp"
#include "vgpualloc/model/limits.hpp"

namespace vgpualloc::dialects::text {

namespace {

constexpr std::size_t short_word = 6;

std::string in_lower_case(std::string_view word) {
    std::string lower{word};
    for (char& c : lower) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return lower;
}

/// How many letters have to be put in, left out or changed (Levenshtein).
std::size_t distance(std::string_view one, std::string_view other) {
    std::vector<std::size_t> row(other.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < one.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i + 1);
        for (std::size_t j = 0; j < other.size(); ++j) {
            const std::size_t changed = diagonal + (one[i] == other[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
        }
    }
    return row.back();
}

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

} // namespace

std::vector<std::string_view> split(std::string_view whole, char separator) {
    std::vector<std::string_view> parts;
    for (;;) {
        const auto at = whole.find(separator);
        parts.push_back(whole.substr(0, at));
        if (at == std::string_view::npos) return parts;
        whole.remove_prefix(at + 1);
    }
}

std::vector<std::string_view> split_closed(std::string_view whole, char separator) {
    auto parts = split(whole, separator);
    if (parts.back().empty()) parts.pop_back();
    return parts;
}

bool is_printable(std::string_view whole) noexcept {
    return std::ranges::none_of(whole, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

error bad_or_missing(error_code code, std::string_view field, std::string_view value, std::string expected_text) {
    if (value.empty() && code == error_code::missing)
        return bad_input(code, field, "missing", std::move(expected_text));
    return bad_value(code, field, value, std::move(expected_text));
}

std::string_view trimmed(std::string_view whole) {
    constexpr std::string_view blanks = " \t\r\n";
    const auto first = whole.find_first_not_of(blanks);
    if (first == std::string_view::npos) return {};
    return whole.substr(first, whole.find_last_not_of(blanks) - first + 1);
}

std::vector<std::string> items(std::string_view list) {
    std::vector<std::string> parts;
    for (const auto part : split(list, ',')) {
        if (const auto item = trimmed(part); !item.empty()) parts.emplace_back(item);
    }
    return parts;
}

std::optional<std::int64_t> whole_number(std::string_view digits, std::int64_t most) {
    if (digits.empty()) return std::nullopt;
    std::int64_t value = 0;
    for (const char c : digits) {
        if (!is_digit(c)) return std::nullopt;
        if (__builtin_mul_overflow(value, std::int64_t{10}, &value)) return std::nullopt;
        if (__builtin_add_overflow(value, std::int64_t{c - '0'}, &value)) return std::nullopt;
    }
    if (value > most) return std::nullopt;
    return value;
}

std::optional<bool> truth(std::string_view word) {
    for (const std::string_view yes : {"1", "t", "T", "true", "TRUE", "True"}) {
        if (word == yes) return true;
    }
    for (const std::string_view no : {"0", "f", "F", "false", "FALSE", "False"}) {
        if (word == no) return false;
    }
    return std::nullopt;
}

bool is_misspelled(std::string_view written, std::string_view meant) {
    const std::string left = in_lower_case(written);
    const std::string right = in_lower_case(meant);
    if (left.size() * 2 >= right.size() && right.starts_with(left)) return true;
    return distance(left, right) <= (right.size() < short_word ? 1U : 2U);
}

std::optional<std::int64_t> quantity(std::string_view written) {
    const auto amount = kubernetes::parse_quantity(written, kubernetes::quantity_unit::one, kubernetes::rounding::up);
    return amount ? std::optional{*amount} : std::nullopt;
}

bool is_scalar_resource(std::string_view resource) {
    return resource.find('/') != std::string_view::npos && !resource.starts_with("requests.");
}

bool offers(const kubernetes::node& node, const std::string& resource) {
    return quantity(kubernetes::value_of(node.allocatable, resource)).value_or(0) > 0;
}

std::string binding_node(const kubernetes::pod& pod, const std::string& node_key, const std::string& phase_key) {
    if (kubernetes::value_of(pod.annotations, phase_key) == "failed") return {};
    return kubernetes::value_of(pod.annotations, node_key);
}

std::string memory_expected(const std::string& written, mib unit, std::int64_t most) {
    const std::string name = unit == mib{1} ? "MiB" : "units of " + std::to_string(unit.count()) + " MiB";
    std::string text = name + " as a whole number from 0 to " + std::to_string(most);
    const bool has_suffix = !written.empty() && !is_digit(written.back());
    const auto amount = has_suffix ? quantity(written) : std::nullopt;
    if (!amount) return text;
    const std::int64_t meant = mib_up(bytes{*amount}) / unit.count();
    if (meant >= 1 && meant <= most) text += ": write " + std::to_string(meant);
    return text;
}

std::string ignored_words(const kubernetes::container& from, const std::string& ignored, const std::string& winner) {
    const auto amount = [&from](const std::string& name) {
        const auto limit = from.limits.find(name);
        const auto request = from.requests.find(name);
        return limit != from.limits.end() ? limit->second : request != from.requests.end() ? request->second : 0;
    };
    return "container " + from.name + ": " + ignored + " " + kubernetes::written_of(from, ignored, amount(ignored)) +
           " does not count beside " + winner + " " + kubernetes::written_of(from, winner, amount(winner));
}

void note_ignored_beside_none(const kubernetes::container& from, const std::string& count_name,
                              const std::vector<std::string>& others, request_findings& findings) {
    for (const std::string& other : others) {
        const auto amount = from.requests.find(other);
        if (other.empty() || amount == from.requests.end() || amount->second == 0) continue;
        findings.notes.push_back(ignored_words(from, other, count_name) + ", which asks for no device");
    }
}

void check_amounts(const kubernetes::container& from, const std::string& count_name, const std::string& memory_name,
                   mib unit, request_findings& findings) {
    constexpr mib memory_most{std::int64_t{1} << 20U}; // four times what the largest GPU has, registered with scaling
    const auto check = [&](const std::string& name, std::int64_t most, const std::string& expected_text) {
        const auto amount = name.empty() ? from.requests.end() : from.requests.find(name);
        if (amount == from.requests.end() || amount->second <= most) return;
        findings.errors.push_back(
            bad_value(error_code::out_of_range, name, kubernetes::written_of(from, name, amount->second), expected_text)
                .at("container " + from.name));
    };
    check(count_name, devices_per_node_max,
          "at most " + std::to_string(devices_per_node_max) + " devices; no node has more");
    const std::int64_t most = memory_most.count() / unit.count();
    const auto memory = from.requests.find(memory_name);
    if (memory_name.empty() || memory == from.requests.end()) return;
    check(memory_name, most,
          memory_expected(kubernetes::written_of(from, memory_name, memory->second), unit, most) +
              "; no device has more");
}

std::vector<const kubernetes::container*> all_containers(const kubernetes::pod& pod) {
    std::vector<const kubernetes::container*> list;
    for (const auto* const containers : {&pod.init_containers, &pod.containers}) {
        for (const kubernetes::container& container : *containers) list.push_back(&container);
    }
    return list;
}

bool names_any(const kubernetes::pod& pod, std::span<const std::string> resources) {
    return std::ranges::any_of(all_containers(pod), [resources](const kubernetes::container* container) {
        return std::ranges::any_of(resources,
                                   [container](const auto& name) { return container->requests.contains(name); });
    });
}

void check_percent(const std::string& resource, std::int64_t value, const std::string& container,
                   request_findings& findings) {
    constexpr std::int64_t most = 100;
    if (value <= most) return;
    findings.errors.push_back(bad_value(error_code::out_of_range, resource, std::to_string(value),
                                        "at most 100, percent of one card; no card serves more")
                                  .at("container " + container));
}

} // namespace vgpualloc::dialects::text
