// Bad input as a value: what was wrong, where, and what was expected.
#pragma once

#include <string>
#include <utility>

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
};

/// One clear sentence for the user is made of the parts: "<where>: <field>: <problem>, got '<value>', expected
/// <expected>".
struct error {
    error_code code = error_code::malformed;
    std::string where;    ///< file:line, JSON pointer or command-line option; may be empty
    std::string field;    ///< column, key or option name; may be empty
    std::string value;    ///< the offending text; may be empty
    std::string expected; ///< what would have been accepted, or what went wrong

    /// The one-line message. Never ends in a newline.
    [[nodiscard]] std::string message() const {
        std::string text = where;
        const auto add = [&text](const std::string& part) {
            if (part.empty()) return;
            if (!text.empty()) text += ": ";
            text += part;
        };
        add(field);
        if (!value.empty()) add("got '" + value + "'");
        if (!expected.empty()) text += value.empty() ? ": " + expected : ", expected " + expected;
        return text;
    }
};

} // namespace vgpualloc
