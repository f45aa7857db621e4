// JSON texts as documents. The syntax is nlohmann's; the places are found by walking along with its events.
#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "tree_builder.hpp"
#include "vgpuformats/json.hpp"

namespace vgpuformats {
namespace {

using nlohmann::json;
using vgpualloc::error;
using vgpualloc::error_code;
using vgpualloc::unexpected;

/// Goes through a text token by token. The parser has checked the tokens, so that their ends are easy to see.
class token_walk {
public:
    token_walk(std::string_view text, std::int32_t first_line)
        : text_{text}, first_line_{first_line}, line_{first_line} {}

    /// Goes to the next value: past white space and byte order marks, which every one of several files that were joined
    /// may begin with.
    void begin_value() {
        constexpr std::string_view mark = "\xEF\xBB\xBF";
        while (true) {
            while (offset_ < text_.size() &&
                   std::string_view{" \t\r\n"}.find(text_[offset_]) != std::string_view::npos) {
                if (text_[offset_++] == '\n') begin_line(offset_);
            }
            if (!text_.substr(offset_).starts_with(mark)) return;
            offset_ += mark.size();
        }
    }

    /// The token after what lies between tokens.
    std::string_view next() {
        while (offset_ < text_.size() && std::string_view{" \t\r\n,:"}.find(text_[offset_]) != std::string_view::npos) {
            if (text_[offset_++] == '\n') begin_line(offset_);
        }
        const std::size_t begin = offset_;
        place_ = {.line = line_, .column = static_cast<std::int32_t>(begin - line_begin_ + 1)};
        offset_ = end_of_token(begin);
        return text_.substr(begin, offset_ - begin);
    }
    [[nodiscard]] text_place place() const noexcept { return place_; }
    [[nodiscard]] std::size_t offset() const noexcept { return offset_; }
    /// What follows after white space.
    [[nodiscard]] std::string_view rest() const {
        return text_.substr(std::min(text_.find_first_not_of(" \t\r\n", offset_), text_.size()));
    }

    /// The place of the byte before `offset`, as the parser counts it: 0 is the column of a line end.
    [[nodiscard]] text_place place_before(std::size_t offset) const {
        const std::string_view read = text_.substr(0, std::min(offset, text_.size()));
        const std::size_t line_end = read.rfind('\n');
        return {.line = static_cast<std::int32_t>(std::ranges::count(read, '\n')) + first_line_,
                .column = static_cast<std::int32_t>(offset - (line_end == read.npos ? 0 : line_end + 1))};
    }

private:
    void begin_line(std::size_t offset) {
        ++line_;
        line_begin_ = offset;
    }
    [[nodiscard]] std::size_t end_of_token(std::size_t begin) const {
        if (begin >= text_.size()) return begin;
        const char first = text_[begin];
        if (std::string_view{"{}[]"}.find(first) != std::string_view::npos) return begin + 1;
        if (first == 't' || first == 'n') return begin + 4;
        if (first == 'f') return begin + 5;
        if (first != '"') return end_of_number(begin);
        std::size_t end = begin + 1;
        while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2U : 1U;
        return std::min(end + 1, text_.size());
    }

    [[nodiscard]] std::size_t end_of_number(std::size_t end) const {
        const auto at = [&](std::string_view one_of) {
            return end < text_.size() && one_of.find(text_[end]) != std::string_view::npos;
        };
        const auto pass_digits = [&] { end = std::min(text_.find_first_not_of("0123456789", end), text_.size()); };
        if (at("-")) ++end;
        if (at("0")) {
            ++end; // no digit follows: 01 is 0, and a 1 that belongs to nothing
        } else {
            pass_digits();
        }
        if (at(".")) {
            ++end;
            pass_digits();
        }
        if (at("eE")) {
            ++end;
            if (at("+-")) ++end;
            pass_digits();
        }
        return end;
    }

    std::string_view text_;
    std::size_t offset_ = 0;
    std::size_t line_begin_ = 0;
    std::int32_t first_line_;
    std::int32_t line_;
    text_place place_;
};

/// Takes the parser's events. A handler that answers false ends the parsing.
class json_events {
public:
    json_events(std::string_view text, std::string_view name, repeated_keys repeated, std::int32_t first_line,
                const unread_members& unread, const vgpualloc::stop_signal& stop = {})
        : text_{text}, walk_{text, first_line}, name_{name}, tree_{name, json_values_max, repeated, unread, stop} {}

    // The interface of nlohmann's SAX parser.
    bool null() { return scalar(value_kind::null, {}); }
    bool boolean(bool value) { return scalar(value_kind::boolean, value ? "true" : "false"); }
    bool number_integer(std::int64_t /*value*/) { return number(); }
    bool number_unsigned(std::uint64_t /*value*/) { return number(); }
    bool number_float(double /*value*/, const std::string& /*written*/) { return number(); }
    bool string(const std::string& value) { return scalar(value_kind::text, value); }
    bool binary(json::binary_t& /*value*/) { return false; } // JSON texts have none
    bool start_object(std::size_t /*size*/) { return open(value_kind::map); }
    bool start_array(std::size_t /*size*/) { return open(value_kind::list); }
    bool key(const std::string& key) {
        walk_.next();
        return tree_.key(key, walk_.place());
    }
    bool end_object() { return close(); }
    bool end_array() { return close(); }
    bool parse_error(std::size_t position, const std::string& /*token*/, const json::exception& problem) {
        // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while …", counted from where
        // this value's parsing began, or without a place
        std::string_view what = problem.what();
        what.remove_prefix(std::min(what.find("] ") + 2, what.size()));
        if (what.starts_with("parse error at ")) what.remove_prefix(what.find(": ") + 2);
        std::string sentence = "JSON: " + std::string{what};
        const auto says = [what](std::string_view words) { return what.find(words) != std::string_view::npos; };
        const bool is_open_text = says("missing closing quote");
        if (tree_.depth() > 0 && (is_open_text || says("unexpected end of input"))) {
            const bool is_list = tree_.has_open() && tree_.innermost().is_list();
            sentence = std::string{"the text ends inside a "} +
                       (is_open_text ? "string"
                        : is_list    ? "list"
                                     : "map") +
                       "; was the download cut off?";
        }
        // It quotes the text, which may hold anything.
        std::ranges::replace_if(sentence, [](char c) { return c < ' ' || c > '~'; }, '?');
        return tree_.fail(error_code::malformed, detail::at_column(name_, walk_.place_before(begin_ + position)), "",
                          std::move(sentence));
    }

    /// Reads one value, after which more may follow.
    [[nodiscard]] bool read() {
        walk_.begin_value(); // the parser would pass over a mark by itself, and the walk would lose its place
        begin_ = walk_.offset();
        const std::string_view rest = text_.substr(begin_);
        constexpr bool whole_text = false;
        return json::sax_parse(rest.begin(), rest.end(), this, json::input_format_t::json, whole_text);
    }
    [[nodiscard]] bool at_end() const { return walk_.rest().empty(); }
    [[nodiscard]] document take() { return tree_.take(); }
    [[nodiscard]] const error& failure() const { return *tree_.failure(); }

    /// The error of a text that goes on after its one value.
    [[nodiscard]] error more_follows() const {
        constexpr std::size_t shown_bytes_max = 20;
        const std::string_view rest = walk_.rest();
        const text_place place = walk_.place_before(static_cast<std::size_t>(rest.data() - text_.data()) + 1);
        return bad_value(error_code::malformed, "",
                         rest.substr(0, std::min(rest.find_first_of("\r\n"), shown_bytes_max)),
                         "the end of the JSON text")
            .at(detail::at_column(name_, place));
    }

private:
    bool number() {
        const std::string_view written = walk_.next();
        return tree_.add(value_kind::number, written, walk_.place());
    }
    bool scalar(value_kind kind, std::string_view text) {
        walk_.next();
        return tree_.add(kind, text, walk_.place());
    }
    bool open(value_kind kind) {
        walk_.next();
        return tree_.open(kind, walk_.place());
    }
    bool close() {
        walk_.next();
        tree_.close();
        return true;
    }

    std::string_view text_;
    token_walk walk_;
    std::string_view name_;
    detail::tree_builder tree_;
    std::size_t begin_ = 0; ///< of the value that is being read
};

} // namespace

vgpualloc::expected<document> parse_json(std::string_view text, std::string_view name, repeated_keys repeated,
                                         std::int32_t first_line) {
    if (text.size() > document_bytes_max) return unexpected(detail::too_long(name, {}));
    json_events events{text, name, repeated, first_line, {}};
    if (!events.read()) return unexpected(events.failure());
    if (!events.at_end()) return unexpected(events.more_follows());
    return events.take();
}

vgpualloc::expected<std::vector<document>> parse_json_stream(std::string_view text, std::string_view name) {
    return parse_json_stream(text, name, unread_members{});
}

vgpualloc::expected<std::vector<document>> parse_json_stream(std::string_view text, std::string_view name,
                                                             const unread_members& unread,
                                                             const vgpualloc::stop_signal& stop) {
    if (text.size() > document_bytes_max) return unexpected(detail::too_long(name, unread.advice));
    json_events events{text, name, repeated_keys::refused, 1, unread, stop};
    std::vector<document> documents;
    do {
        if (!events.read()) return unexpected(events.failure());
        documents.push_back(events.take());
    } while (!events.at_end());
    return documents;
}

} // namespace vgpuformats
