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
/// <expected>".
struct error {
    error_code code = error_code::malformed;
    std::string where;    ///< file:line, JSON pointer or command-line option; may be empty
    std::string field;    ///< column, key or option name; may be empty
    std::string value;    ///< the offending text; may be empty
    std::string expected; ///< what would have been accepted, or what went wrong

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
        if (!value.empty()) {
            const std::string_view shown = beginning_of(value, value_shown_max);
            add("got '" + std::string{shown} + (shown.size() < value.size() ? "…'" : "'"));
        }
        if (!expected.empty()) text += value.empty() ? (text.empty() ? "" : ": ") + expected : ", expected " + expected;
        return printable(text);
    }
};

} // namespace vgpualloc
