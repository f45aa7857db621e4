// Text of the report: escaping for HTML and JSON, and numbers that read the same in every locale.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace vgpureport {

/// Escaped for element content and quoted attributes. Bytes that are not UTF-8 become U+FFFD, so that a trace in
/// another encoding cannot spoil the page.
void append_html(std::string& out, std::string_view text);
[[nodiscard]] std::string html(std::string_view text);

/// A JSON string with its quotes, which may stand inside a script element: no '<', '>' or '&' is left as itself.
void append_json(std::string& out, std::string_view text);

void append_integer(std::string& out, std::int64_t value);

/// A comma, where the object that is being written has members already, and the member's name: the value comes next.
void append_key(std::string& out, std::string_view key);
/// A member that is a text, or a whole number.
void append_member(std::string& out, std::string_view key, std::string_view text);
void append_member(std::string& out, std::string_view key, std::int64_t value);

/// 10866 as "10,866".
[[nodiscard]] std::string grouped(std::int64_t value);

/// Digits grouped and `decimals` digits after the point; a dash for what is not a number.
[[nodiscard]] std::string fixed(double value, int decimals);

/// What stands where a value is missing.
inline constexpr std::string_view no_value = "–";

} // namespace vgpureport
