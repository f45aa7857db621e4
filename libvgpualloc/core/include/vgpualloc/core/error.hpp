// Bad input as a value: what was wrong, where, and what was expected.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "vgpualloc/core/printable.hpp"

namespace vgpualloc {

enum class error_code {
    io,           ///< a file could not be opened, read, written or renamed
    malformed,    ///< the text does not have the format's shape
    out_of_range, ///< a number outside what the field allows
    missing,      ///< a required column, key or value is absent
    duplicate,    ///< a name that must be unique occurs twice
    unknown_name, ///< no such policy, mode, dialect, key, …
    unsupported,  ///< understood, but not possible here
    mismatch,     ///< a checksum or recorded value does not agree
    stopped,      ///< the caller wanted the call to end early (core/stop.hpp)
};

/// One clear sentence for the user is made of the parts: "<where>: <field>: <problem>, got '<value>', expected
/// <expected>". Any of the texts may be empty; bad_value() and bad_input() make the errors that there are.
struct error {
    error_code code = error_code::malformed;
    std::string where = {};    ///< file:line, JSON pointer or command-line option
    std::string field = {};    ///< column, key or option name
    std::string value = {};    ///< the offending text
    std::string expected = {}; ///< what would have been accepted
    std::string problem = {};  ///< what went wrong, where that is more than a value that is not as expected
    int error_number = 0;      ///< errno, where a call of the system failed (code io); else 0

    bool operator==(const error&) const = default;

    /// This error of a place: `return unexpected(bad_value(…).at("node " + name))`.
    [[nodiscard]] error at(std::string place) && {
        where = std::move(place);
        return std::move(*this);
    }

    /// What is wrong, without the place and the value: "missing; expected a name".
    [[nodiscard]] std::string reason() const {
        return problem + (problem.empty() || expected.empty() ? "" : "; expected ") + expected;
    }

    /// Adds something to the end of the sentence.
    void add(std::string_view more) { (expected.empty() ? problem : expected) += more; }

    /// The one-line message: what in the input is not to reach a terminal is escaped
    /// (printable), overlong values are cut.
    [[nodiscard]] std::string message() const {
        constexpr std::size_t value_shown_max = 200;
        std::string text = where;
        const auto add = [&text](const std::string& part) {
            if (part.empty()) return;
            if (!text.empty()) text += ": ";
            text += part;
        };
        add(field);
        if (value.empty()) {
            add(reason());
            return printable(text);
        }
        const std::string_view shown = beginning_of(value, value_shown_max);
        add(problem + (problem.empty() ? "got '" : ", got '") + std::string{shown} +
            (shown.size() < value.size() ? "…'" : "'"));
        if (!expected.empty()) text += ", expected " + expected;
        return printable(text);
    }
};

/// A value that is not as it should be: "<field>: got '<value>', expected <expected>".
[[nodiscard]] inline error bad_value(error_code code, std::string_view field, std::string_view value,
                                     std::string expected) {
    return {.code = code, .field = std::string{field}, .value = std::string{value}, .expected = std::move(expected)};
}

/// What is wrong where there is no value to quote: "<field>: <problem>", or "<field>: <problem>; expected <expected>".
[[nodiscard]] inline error bad_input(error_code code, std::string_view field, std::string problem,
                                     std::string expected = {}) {
    return {.code = code, .field = std::string{field}, .expected = std::move(expected), .problem = std::move(problem)};
}

} // namespace vgpualloc
