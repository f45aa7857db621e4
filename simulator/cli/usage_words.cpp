#include "usage_words.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "vgpusim/workload/core_names.hpp"

namespace vgpusim::cli {

namespace {

/// What is before the last `separator` of a text, and what is behind it.
std::optional<std::pair<std::string_view, std::string_view>> sides_of(std::string_view text,
                                                                      std::string_view separator) {
    const std::size_t at = text.rfind(separator);
    if (at == std::string_view::npos) return std::nullopt;
    return std::pair{text.substr(0, at), text.substr(at + separator.size())};
}

/// A limit of a range, without the zeros that std::to_string() puts behind a real number.
std::string_view plain_limit(std::string_view limit) {
    if (limit.find('.') == std::string_view::npos) return limit;
    while (limit.ends_with('0')) limit.remove_suffix(1);
    if (limit.ends_with('.')) limit.remove_suffix(1);
    return limit;
}

/// "Value x not in range 0 to 5" and "x not in {a,b}".
std::optional<std::string> words_of_value(std::string_view text) {
    constexpr std::string_view value_word = "Value ";
    if (const auto range = sides_of(text, " not in range "); range && text.starts_with(value_word)) {
        const auto limits = sides_of(range->second, " to ");
        if (!limits) return std::nullopt;
        const bool is_whole = range->second.find('.') == std::string_view::npos;
        return fmt::format("got '{}', expected a {} from {} to {}", range->first.substr(value_word.size()),
                           is_whole ? "whole number" : "number", plain_limit(limits->first),
                           plain_limit(limits->second));
    }
    const auto set = sides_of(text, " not in {");
    if (!set || !set->second.ends_with('}')) return std::nullopt;
    std::string words;
    for (const char letter : set->second.substr(0, set->second.size() - 1)) {
        words += letter == ',' ? std::string{", "} : std::string{letter};
    }
    return fmt::format("got '{}', expected one of {}", set->first, words);
}

/// "At Most 1 required but received 2" and "1 required SET missing".
std::optional<std::string> words_of_count(std::string_view text) {
    constexpr std::string_view most = "At Most 1 required but received ";
    if (text.starts_with(most)) {
        const std::string_view times = text.substr(most.size());
        return fmt::format("given {}; expected once", times == "2" ? "twice" : std::string{times} + " times");
    }
    constexpr std::string_view one = "1 required ";
    constexpr std::string_view missing = " missing";
    if (!text.starts_with(one) || !text.ends_with(missing)) return std::nullopt;
    return fmt::format("missing; expected {}", text.substr(one.size(), text.size() - one.size() - missing.size()));
}

} // namespace

std::string usage_words(const CLI::ParseError& failure) {
    constexpr std::string_view separator = ": ";
    std::string message = failure.what();
    while (!message.empty() && message.back() == '\n') message.pop_back();
    std::ranges::replace(message, '\n', ' '); // they may span lines, and quote what was given
    const std::size_t colon = message.find(separator);
    std::optional<std::string> words;
    if (colon != std::string::npos) {
        const std::string_view text = std::string_view{message}.substr(colon + separator.size());
        if (failure.get_name() == "ValidationError") words = words_of_value(text);
        if (failure.get_name() == "ArgumentMismatch") words = words_of_count(text);
    }
    return printable(words ? message.substr(0, colon + separator.size()) + *words : message);
}

} // namespace vgpusim::cli
