// A strict reader of JSON: remembers where it is, and keeps the first thing that is wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "vgpualloc/core/expected.hpp"

namespace vgputraces {

/// Parses a whole text. Error malformed with line and column in `expected`; error duplicate for a key given twice.
[[nodiscard]] vgpualloc::expected<nlohmann::json> parse_json(std::string_view text, const std::string& source);

/// Points at one value of a document. The first failure of all cursors that share `failure` wins; after it every cursor
/// answers with harmless defaults, so that a reader may go on to its end and ask once.
class json_cursor {
public:
    json_cursor(const nlohmann::json& root, const std::string& source, std::optional<vgpualloc::error>& failure)
        : value_{&root}, source_{&source}, failure_{&failure} {}

    /// Fails unless this is an object with no other keys than these.
    void only(std::initializer_list<std::string_view> keys) const;

    [[nodiscard]] bool has(std::string_view key) const;
    /// Fails if the key is absent.
    [[nodiscard]] json_cursor at(std::string_view key) const;
    /// The entries of a list; fails if there are fewer than `least` or more than `most`.
    [[nodiscard]] std::vector<json_cursor> as_list(std::size_t least, std::size_t most) const;
    [[nodiscard]] std::int64_t as_integer(std::int64_t least, std::int64_t most) const;
    [[nodiscard]] std::uint64_t as_unsigned() const;
    [[nodiscard]] double as_number(double least, double most) const;
    [[nodiscard]] std::string as_text() const;

    /// Records that this value is wrong, unless something before it was.
    void fail(vgpualloc::error_code code, const std::string& expected) const;
    /// The same for an entry of this object, for which there may be no value to point at.
    void fail_key(vgpualloc::error_code code, std::string_view key, const std::string& expected) const;
    [[nodiscard]] bool failed() const { return failure_->has_value(); }

private:
    [[nodiscard]] json_cursor entry(const nlohmann::json& value, std::string_view token) const;
    [[nodiscard]] std::string place(std::string_view pointer) const;

    const nlohmann::json* value_;
    const std::string* source_;
    std::optional<vgpualloc::error>* failure_;
    std::string pointer_; ///< RFC 6901, empty at the root
};

} // namespace vgputraces
