// A strict reader of JSON: the checks behind json_cursor, and a parser that refuses duplicate keys.
#include "vgpuformats/json_cursor.hpp"

#include <algorithm>
#include <set>

namespace vgputraces {
namespace {

using nlohmann::json;
using vgpualloc::error;
using vgpualloc::error_code;

constexpr std::size_t shown_chars_max = 40;

/// The value as it stands in a message. Lists and objects are only named: printing them recurses, and hostile nesting
/// would overflow the stack.
std::string shown(const json& value) {
    if (value.is_array()) return "a list";
    if (value.is_object()) return "an object";
    std::string text = value.dump(-1, ' ', true);
    if (text.size() > shown_chars_max) text = text.substr(0, shown_chars_max) + "...";
    return text;
}

std::string range_text(const json& least, const json& most) { return "from " + least.dump() + " to " + most.dump(); }

/// Watches the keys while the parser reads, because the finished object keeps only the last of equal keys.
class duplicate_watch {
public:
    bool operator()(int /*depth*/, json::parse_event_t event, const json& parsed) {
        if (event == json::parse_event_t::object_start) open_.emplace_back();
        if (event == json::parse_event_t::object_end) open_.pop_back();
        if (event == json::parse_event_t::key && !open_.back().insert(parsed.get<std::string>()).second && !found_) {
            found_ = parsed.get<std::string>();
        }
        return true;
    }
    [[nodiscard]] const std::optional<std::string>& found() const { return found_; }

private:
    std::vector<std::set<std::string>> open_;
    std::optional<std::string> found_;
};

} // namespace

vgpualloc::expected<json> parse_json(std::string_view text, const std::string& source) {
    duplicate_watch watch;
    try {
        json document =
            json::parse(text.begin(), text.end(), [&watch](int depth, json::parse_event_t event, json& parsed) {
                return watch(depth, event, parsed);
            });
        if (!watch.found()) return document;
    } catch (const json::exception& failure) {
        const std::string_view what = failure.what(); // "[json.exception.….101] parse error at line 1, column 2: …"
        const auto end_of_id = what.find("] ");
        const auto problem = end_of_id == std::string_view::npos ? what : what.substr(end_of_id + 2);
        return vgpualloc::unexpected(error{error_code::malformed, source, "", "", std::string{problem}});
    }
    return vgpualloc::unexpected(error{error_code::duplicate, source, *watch.found(), "", "the key is given twice"});
}

json_cursor json_cursor::entry(const json& value, std::string_view token) const {
    json_cursor inner = *this;
    inner.value_ = &value;
    inner.pointer_ += '/';
    inner.pointer_ += token;
    return inner;
}

std::string json_cursor::place(std::string_view pointer) const {
    return pointer.empty() ? *source_ : *source_ + ":" + std::string{pointer};
}

void json_cursor::fail(error_code code, const std::string& expected) const {
    if (failed()) return;
    const auto slash = pointer_.rfind('/');
    const bool at_root = slash == std::string::npos;
    const std::string parent = at_root ? "" : pointer_.substr(0, slash);
    *failure_ = error{code, place(parent), at_root ? "" : pointer_.substr(slash + 1), shown(*value_), expected};
}

void json_cursor::fail_key(error_code code, std::string_view key, const std::string& expected) const {
    if (!failed()) *failure_ = error{code, place(pointer_), std::string{key}, "", expected};
}

void json_cursor::only(std::initializer_list<std::string_view> keys) const {
    if (failed()) return;
    if (!value_->is_object()) return fail(error_code::malformed, "an object");
    for (const auto& item : value_->items()) {
        if (std::find(keys.begin(), keys.end(), item.key()) != keys.end()) continue;
        std::string known;
        for (const auto key : keys) known += (known.empty() ? "" : ", ") + std::string{key};
        return fail_key(error_code::unknown_name, item.key(), "unknown key, the keys here are " + known);
    }
}

bool json_cursor::has(std::string_view key) const { return !failed() && value_->is_object() && value_->contains(key); }

json_cursor json_cursor::at(std::string_view key) const {
    static const json nothing;
    if (has(key)) return entry((*value_)[std::string{key}], key);
    fail_key(error_code::missing, key, "the key is required");
    return entry(nothing, key);
}

std::vector<json_cursor> json_cursor::as_list(std::size_t least, std::size_t most) const {
    std::vector<json_cursor> entries;
    if (failed()) return entries;
    if (!value_->is_array()) {
        fail(error_code::malformed, "a list");
        return entries;
    }
    const std::size_t size = value_->size();
    if (size < least || size > most) {
        const auto wanted = least == most ? std::to_string(least) : range_text(least, most);
        fail(error_code::out_of_range, wanted + " entries, there are " + std::to_string(size));
        return entries;
    }
    for (std::size_t i = 0; i < size; ++i) entries.push_back(entry((*value_)[i], std::to_string(i)));
    return entries;
}

std::int64_t json_cursor::as_integer(std::int64_t least, std::int64_t most) const {
    if (failed()) return least;
    if (!value_->is_number_integer()) {
        fail(error_code::malformed, "a whole number " + range_text(least, most));
        return least;
    }
    const bool fits = !value_->is_number_unsigned() || value_->get<std::uint64_t>() <= std::uint64_t{INT64_MAX};
    const auto number = fits ? value_->get<std::int64_t>() : 0;
    if (fits && number >= least && number <= most) return number;
    fail(error_code::out_of_range, "a whole number " + range_text(least, most));
    return least;
}

std::uint64_t json_cursor::as_unsigned() const {
    if (failed()) return 0;
    if (value_->is_number_unsigned()) return value_->get<std::uint64_t>();
    fail(value_->is_number_integer() ? error_code::out_of_range : error_code::malformed,
         "a whole number from 0 to 18446744073709551615");
    return 0;
}

double json_cursor::as_number(double least, double most) const {
    if (failed()) return least;
    if (!value_->is_number()) {
        fail(error_code::malformed, "a number " + range_text(least, most));
        return least;
    }
    const auto number = value_->get<double>();
    if (number >= least && number <= most) return number;
    fail(error_code::out_of_range, "a number " + range_text(least, most));
    return least;
}

std::string json_cursor::as_text() const {
    if (failed()) return {};
    if (value_->is_string()) return value_->get<std::string>();
    fail(error_code::malformed, "a text");
    return {};
}

} // namespace vgputraces
