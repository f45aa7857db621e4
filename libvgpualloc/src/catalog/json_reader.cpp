// A strict reader of catalog files: the checks behind json_reader, and a parser that refuses a key given twice.
#include "json_reader.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

namespace vgpualloc::detail {

namespace {

using nlohmann::json;

constexpr std::size_t shown_chars_max = 60;

/// The value as it stands in a message. Lists and objects are only named: printing them recurses, and hostile nesting
/// would overflow the stack.
std::string shown(const json& value) {
    if (value.is_array()) return "a list";
    if (value.is_object()) return "an object";
    std::string text = value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', true);
    if (text.size() > shown_chars_max) text = text.substr(0, shown_chars_max) + "...";
    return text;
}

std::string text_of(number_range range) {
    return "from " + std::to_string(range.least) + " to " + std::to_string(range.most);
}

/// Watches the keys while the parser reads, because the finished object keeps only the last of equal keys.
class duplicate_watch {
public:
    bool operator()(json::parse_event_t event, const json& parsed) {
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

expected<json> parse_json(std::string_view text, std::string_view name) {
    duplicate_watch watch;
    try {
        json document = json::parse(text.begin(), text.end(), [&watch](int, json::parse_event_t event, json& parsed) {
            return watch(event, parsed);
        });
        if (const auto& repeated = watch.found()) {
            return unexpected(error{error_code::duplicate, std::string{name}, *repeated, "", "the key is given twice"});
        }
        return document;
    } catch (const json::exception& failure) {
        const std::string_view what = failure.what(); // "[json.exception.….101] parse error at line 1, column 2: …"
        const auto end_of_id = what.find("] ");
        const auto problem = end_of_id == std::string_view::npos ? what : what.substr(end_of_id + 2);
        return unexpected(error{error_code::malformed, std::string{name}, "", "", std::string{problem}});
    }
}

json_reader json_reader::inner(const json& value, std::string field) const {
    json_reader made = *this;
    made.value_ = &value;
    made.field_ = std::move(field);
    return made;
}

json_reader json_reader::called(const std::string& label) const {
    json_reader made = *this;
    made.where_ += ": " + label;
    made.field_.clear();
    return made;
}

std::string json_reader::field_of(std::string_view key) const {
    return field_.empty() ? std::string{key} : field_ + "." + std::string{key};
}

error json_reader::problem(error_code code, std::string expected) const {
    return {code, where_, field_, shown(*value_), std::move(expected)};
}

void json_reader::fail(error_code code, const std::string& expected) const {
    if (!failed()) *failure_ = problem(code, expected);
}

void json_reader::fail_field(error_code code, const std::string& field, const std::string& expected) const {
    if (!failed()) *failure_ = error{code, where_, field, "", expected};
}

void json_reader::only(std::initializer_list<std::string_view> keys) const {
    if (failed()) return;
    if (!value_->is_object()) return fail(error_code::malformed, "an object");
    for (const auto& item : value_->items()) {
        if (std::find(keys.begin(), keys.end(), item.key()) != keys.end()) continue;
        std::string known;
        for (const auto key : keys) known += (known.empty() ? "" : ", ") + std::string{key};
        return fail_field(error_code::unknown_name, field_of(item.key()), "unknown key, the keys here are " + known);
    }
}

bool json_reader::has(std::string_view key) const {
    if (failed() || !value_->is_object()) return false;
    const auto found = value_->find(key);
    return found != value_->end() && !found->is_null();
}

json_reader json_reader::at(std::string_view key) const {
    static const json nothing;
    if (!failed() && !value_->is_object()) fail(error_code::malformed, "an object");
    if (!failed()) {
        if (const auto found = value_->find(key); found != value_->end()) return inner(*found, field_of(key));
        fail_field(error_code::missing, field_of(key), "the key is required");
    }
    return inner(nothing, field_of(key));
}

std::vector<json_reader> json_reader::items(std::size_t least) const {
    std::vector<json_reader> list;
    if (failed()) return list;
    if (!value_->is_array()) {
        fail(error_code::malformed, "a list");
        return list;
    }
    if (value_->size() < least) fail(error_code::missing, "at least " + std::to_string(least) + " entry");
    for (std::size_t i = 0; i < value_->size(); ++i) {
        list.push_back(inner((*value_)[i], field_ + "[" + std::to_string(i) + "]"));
    }
    return list;
}

std::vector<std::pair<std::string, json_reader>> json_reader::entries() const {
    std::vector<std::pair<std::string, json_reader>> list;
    if (failed()) return list;
    if (!value_->is_object()) {
        fail(error_code::malformed, "an object");
        return list;
    }
    for (const auto& item : value_->items()) list.emplace_back(item.key(), inner(item.value(), field_of(item.key())));
    return list;
}

std::int64_t json_reader::integer(number_range range) const {
    if (failed()) return range.least;
    if (!value_->is_number_integer()) {
        fail(error_code::malformed, "a whole number " + text_of(range));
        return range.least;
    }
    const bool fits = !value_->is_number_unsigned() || value_->get<std::uint64_t>() <= std::uint64_t{INT64_MAX};
    const auto number = fits ? value_->get<std::int64_t>() : 0;
    if (fits && number >= range.least && number <= range.most) return number;
    fail(error_code::out_of_range, "a whole number " + text_of(range));
    return range.least;
}

std::int64_t json_reader::hundredths(number_range range) const {
    if (failed()) return range.least;
    const std::string wanted = "a number " + text_of(range) + " with at most two decimals";
    if (!value_->is_number()) {
        fail(error_code::malformed, wanted);
        return range.least;
    }
    const double number = value_->get<double>();
    if (number < static_cast<double>(range.least) || number > static_cast<double>(range.most)) {
        fail(error_code::out_of_range, wanted);
        return range.least;
    }
    constexpr double half_a_hundredth = 0.5;
    const auto scaled = static_cast<std::int64_t>(number * 100 + half_a_hundredth); // range.least is never negative
    constexpr double slack = 1e-6; // of a number that decimal digits spelled
    if (std::abs(number * 100 - static_cast<double>(scaled)) > slack) fail(error_code::malformed, wanted);
    return scaled;
}

std::string json_reader::text() const {
    if (failed()) return {};
    if (!value_->is_string()) {
        fail(error_code::malformed, "a text");
        return {};
    }
    std::string given = value_->get<std::string>();
    // The texts reach terminals.
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
    if (std::ranges::any_of(given, is_control)) fail(error_code::malformed, "a text without control characters");
    return given;
}

std::string json_reader::filled_text() const {
    std::string given = text();
    if (!failed() && given.empty()) fail(error_code::missing, "a text that is not empty");
    return given;
}

bool json_reader::flag() const {
    if (failed()) return false;
    if (value_->is_boolean()) return value_->get<bool>();
    fail(error_code::malformed, "true or false");
    return false;
}

std::optional<std::int64_t> json_reader::maybe_integer(std::string_view key, number_range range) const {
    if (!has(key)) return std::nullopt;
    return at(key).integer(range);
}

std::optional<std::int64_t> json_reader::maybe_hundredths(std::string_view key, number_range range) const {
    if (!has(key)) return std::nullopt;
    return at(key).hundredths(range);
}

std::string json_reader::maybe_text(std::string_view key) const { return has(key) ? at(key).text() : std::string{}; }

std::vector<std::string> json_reader::maybe_texts(std::string_view key) const {
    std::vector<std::string> list;
    if (!has(key)) return list;
    for (const auto& item : at(key).items(0)) {
        std::string text = item.filled_text();
        if (std::ranges::find(list, text) != list.end()) item.fail(error_code::duplicate, "every text once");
        list.push_back(std::move(text));
    }
    return list;
}

std::map<std::string, std::string, std::less<>> json_reader::maybe_dictionary(std::string_view key) const {
    std::map<std::string, std::string, std::less<>> made;
    if (!has(key)) return made;
    for (const auto& [word, meaning] : at(key).entries()) made.emplace(word, meaning.text());
    return made;
}

void check_provenance(const json_reader& reader, const provenance& from,
                      std::initializer_list<std::string_view> fields) {
    for (const auto& [field, source] : from) {
        if (field == "*" || std::find(fields.begin(), fields.end(), field) != fields.end()) continue;
        reader.at("provenance")
            .at(field)
            .fail(error_code::unknown_name, "a field of this entry or * before the source");
    }
}

void check_header(const json_reader& root) {
    root.only({"schema", "sources", "left_out", "mig", "ascend", "mindcluster"});
    static constexpr std::array<std::string_view, 1> schemas{"vgpualloc-catalog/1"};
    static_cast<void>(root.at("schema").one_of(schemas));
}

} // namespace vgpualloc::detail
