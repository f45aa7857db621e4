// YAML texts as documents, built while yaml-cpp parses: limits hold before memory is used, and there is one tree.
#include "vgpuformats/yaml.hpp"

#include <algorithm>
#include <cstdlib>
#include <istream>
#include <optional>
#include <set>
#include <streambuf>
#include <utility>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "plain_scalar.hpp"
#include "tree_builder.hpp"
#include "vgpuformats/json.hpp"
#include "vgpuformats/unread_members.hpp"

namespace vgpuformats {
namespace {

using vgpualloc::error;
using vgpualloc::error_code;
using vgpualloc::unexpected;

/// Ends the parsing from inside of yaml-cpp. Caught in parse_yaml.
struct refusal {
    error failure;
};

/// The text as a stream that ends the parsing if the parser reads on and on and tells of no value.
class watched_text : public std::streambuf {
public:
    watched_text(std::string_view text, std::string_view name) : name_{name} {
        char* const begin = const_cast<char*>(text.data()); // the interface of std::streambuf; nothing writes
        end_ = begin + text.size();
        told_ = begin;
        setg(begin, begin, begin);
    }

    /// The parser has told of a value.
    void note(text_place place) {
        told_ = egptr();
        place_ = place;
    }

protected:
    int_type underflow() override {
        if (gptr() == end_) return traits_type::eof();
        constexpr std::ptrdiff_t piece_bytes = 4096;
        if (egptr() - told_ > static_cast<std::ptrdiff_t>(yaml_stretch_bytes_max)) {
            throw refusal{bad_value(error_code::out_of_range, "", "",
                                    "at most " + std::to_string(yaml_stretch_bytes_max >> 20U) +
                                        " MiB of text for a value, a comment, or a list or map in brackets")
                              .at(detail::at_line(name_, place_))};
        }
        setg(eback(), gptr(), gptr() + std::min(end_ - gptr(), piece_bytes));
        return traits_type::to_int_type(*gptr());
    }

private:
    std::string_view name_;
    char* end_;
    char* told_;
    text_place place_{.line = 1, .column = 1};
};

text_place place_of(const YAML::Mark& mark) { return {.line = mark.line + 1, .column = mark.column + 1}; }

/// What a copy of a value costs.
struct extent {
    std::size_t values = 0;
    std::size_t bytes = 0; ///< of keys and scalars

    void add(const document& value) {
        ++values;
        bytes += value.text.size();
        for (const document& item : value.items) add(item);
        for (const auto& [key, member] : value.members) {
            bytes += key.size();
            add(member);
        }
    }
};

extent extent_of(const document& value) {
    extent result;
    result.add(value);
    return result;
}

class yaml_events : public YAML::EventHandler {
public:
    yaml_events(watched_text& source, std::string_view name, std::string_view advice,
                const vgpualloc::stop_signal& stop)
        : source_{&source}, name_{name},
          tree_{name, yaml_values_max, repeated_keys::refused, {.is_unread = nullptr, .advice = advice}, stop} {}

    void OnDocumentStart(const YAML::Mark& mark) override {
        // yaml-cpp 0.7 takes a stray "," for a document without end: it makes null documents and reads nothing.
        if (mark.pos == begin_) refuse(error_code::malformed, place_of(mark), "", "YAML: a value");
        begin_ = mark.pos;
        anchors_.clear();
    }
    void OnDocumentEnd() override {}

    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        if (at_key()) refuse(error_code::malformed, place_of(mark), "", "a text for a key");
        add(value_kind::null, {}, mark, anchor);
    }
    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& value) override {
        const bool quoted = tag == "!" || tag == "tag:yaml.org,2002:str";
        if (at_key()) {
            if (anchor != YAML::NullAnchor) remember(anchor, document{value});
            return begin_member(value, quoted, place_of(mark));
        }
        if (!quoted && !tag.empty() && tag != "?") {
            refuse(error_code::unsupported, place_of(mark), tag, "no tags but !!str");
        }
        const plain_scalar scalar = quoted ? plain_scalar{value_kind::text, value} : read_plain_scalar(value);
        add(scalar.kind, scalar.text, mark, anchor);
    }
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        const text_place place = place_of(mark);
        if (anchor >= anchors_.size() || !anchors_[anchor]) {
            refuse(error_code::malformed, place, "", "an alias of a value that is complete before it");
        }
        if (at_key()) {
            const document& name = *anchors_[anchor];
            const bool is_scalar = !name.is_list() && !name.is_map() && !name.is_null();
            if (!is_scalar) refuse(error_code::malformed, place, "", "a text for a key");
            return begin_member(name.text, true, place);
        }
        extent copy = extent_of(*anchors_[anchor]);
        --copy.values; // put() counts the value itself
        count_aliased(copy, place);
        put(value_kind::null, {}, place);
        tree_.last() = *anchors_[anchor];
        end_value();
    }
    void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value /*style*/) override {
        open(value_kind::list, mark, anchor);
    }
    void OnSequenceEnd() override { close(); }
    void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value /*style*/) override {
        open(value_kind::map, mark, anchor);
    }
    void OnMapEnd() override {
        merge_into(tree_.innermost());
        close();
    }

    [[nodiscard]] document take() { return tree_.take(); }

private:
    /// An open list or map.
    struct level {
        YAML::anchor_t anchor;
        bool in_member = false;         ///< of a map: its key has been read
        bool merging = false;           ///< of a map: the key was "<<"
        std::vector<document> merged{}; ///< what "<<" names
    };

    [[noreturn]] void refuse(error_code code, text_place place, std::string value, std::string expected) const {
        throw refusal{bad_value(code, "", value, std::move(expected)).at(detail::at_line(name_, place))};
    }
    void check(bool fine) const {
        if (!fine) throw refusal{*tree_.failure()};
    }
    [[nodiscard]] bool at_key() { return !levels_.empty() && tree_.innermost().is_map() && !levels_.back().in_member; }

    void begin_member(const std::string& key, bool quoted, text_place place) {
        source_->note(place);
        level& map = levels_.back();
        map.merging = key == "<<" && !quoted;
        map.in_member = true;
        if (map.merging && !map.merged.empty()) refuse(error_code::duplicate, place, key, "the key once");
        check(tree_.key(key, place));
    }
    void put(value_kind kind, std::string_view text, text_place place) {
        source_->note(place);
        check(tree_.add(kind, text, place));
    }
    void add(value_kind kind, std::string_view text, const YAML::Mark& mark, YAML::anchor_t anchor) {
        put(kind, text, place_of(mark));
        if (anchor != YAML::NullAnchor) remember(anchor, tree_.last());
        end_value();
    }
    void open(value_kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
        if (at_key()) refuse(error_code::malformed, place_of(mark), "", "a text for a key");
        source_->note(place_of(mark));
        check(tree_.open(kind, place_of(mark)));
        levels_.push_back({.anchor = anchor});
    }
    void close() {
        const YAML::anchor_t anchor = levels_.back().anchor;
        tree_.close();
        levels_.pop_back();
        if (anchor != YAML::NullAnchor) remember(anchor, tree_.last());
        end_value();
    }
    /// A value is complete. What "<<" names is kept apart until its map ends.
    void end_value() {
        if (levels_.empty()) return;
        level& parent = levels_.back();
        if (parent.merging && parent.in_member) {
            parent.merged.push_back(std::move(tree_.last()));
            tree_.innermost().members.pop_back();
        }
        parent.in_member = parent.merging = false;
    }

    void count_aliased(const extent& copy, text_place place) {
        aliased_.values += copy.values;
        aliased_.bytes += copy.bytes;
        if (aliased_.values > yaml_aliased_values_max) {
            refuse(error_code::out_of_range, place, "",
                   "at most " + std::to_string(yaml_aliased_values_max) + " values that anchors and aliases stand for");
        }
        if (aliased_.bytes > yaml_aliased_bytes_max) {
            refuse(error_code::out_of_range, place, "",
                   "at most " + std::to_string(yaml_aliased_bytes_max) + " bytes that anchors and aliases stand for");
        }
        check(tree_.count(copy.values, place));
    }
    /// Keeps a copy, which counts: anchors in anchors would make many.
    void remember(YAML::anchor_t anchor, const document& value) {
        count_aliased(extent_of(value), value.place);
        if (anchor >= anchors_.size()) anchors_.resize(anchor + 1);
        anchors_[anchor] = value;
    }

    /// What the map says itself wins over what is merged into it, and the first that is merged over the next.
    void merge_into(document& map) {
        if (levels_.back().merged.empty()) return;
        std::set<std::string> keys;
        for (const auto& member : map.members) keys.insert(member.first);
        const auto merge = [&](const document& source) {
            if (!source.is_map()) refuse(error_code::malformed, source.place, "<<", "a map to merge");
            for (const auto& member : source.members) {
                if (keys.insert(member.first).second) map.members.push_back(member);
            }
        };
        for (const document& source : levels_.back().merged) {
            if (source.is_list()) {
                std::ranges::for_each(source.items, merge);
            } else {
                merge(source);
            }
        }
    }

    watched_text* source_;
    std::string_view name_;
    detail::tree_builder tree_;
    std::vector<level> levels_; ///< as tree_ has them open
    std::vector<std::optional<document>> anchors_;
    extent aliased_; ///< what anchors and aliases have stood for
    int begin_ = -1; ///< of the document
};

bool begins_with_bracket(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    return first != text.npos && (text[first] == '{' || text[first] == '[');
}

/// The line in a place "name:line" or "name:line:column".
long line_of(const error& failure, std::string_view name) {
    const std::string& where = failure.where;
    return where.size() > name.size() + 1 ? std::strtol(where.c_str() + name.size() + 1, nullptr, 10) : 0;
}

/// parse_yaml() whose errors of size end with `advice`.
vgpualloc::expected<std::vector<document>> parse_yaml_advised(std::string_view text, std::string_view name,
                                                              std::string_view advice,
                                                              const vgpualloc::stop_signal& stop = {}) {
    if (text.size() > document_bytes_max) {
        return unexpected(detail::too_long(name, advice));
    }
    if (const std::size_t at = vgpualloc::first_not_utf8(text); at != std::string_view::npos) {
        const std::string_view before = text.substr(0, at);
        const auto line = static_cast<int>(std::ranges::count(before, '\n')) + 1;
        const auto column = static_cast<int>(at - (before.rfind('\n') + 1)) + 1;
        return unexpected(bad_value(error_code::malformed, "", text.substr(at, 1), "a text in UTF-8")
                              .at(detail::at_column(name, {.line = line, .column = column})));
    }
    try {
        watched_text source{text, name};
        std::istream stream{&source};
        YAML::Parser parser{stream};
        yaml_events events{source, name, advice, stop};
        std::vector<document> documents;
        while (parser.HandleNextDocument(events)) {
            document value = events.take();
            if (!value.is_null()) documents.push_back(std::move(value));
        }
        return documents;
    } catch (const refusal& refused) {
        return unexpected(refused.failure);
    } catch (const YAML::Exception& failure) {
        const std::string line = failure.mark.is_null() ? "" : ":" + std::to_string(failure.mark.line + 1);
        return unexpected(bad_input(error_code::malformed, "", "YAML: " + failure.msg).at(std::string{name} + line));
    }
}

} // namespace

vgpualloc::expected<std::vector<document>> parse_yaml(std::string_view text, std::string_view name) {
    return parse_yaml_advised(text, name, {});
}

vgpualloc::expected<std::vector<document>> parse_documents(std::string_view text, std::string_view name) {
    return parse_documents(text, name, unread_members{});
}

vgpualloc::expected<std::vector<document>> parse_documents(std::string_view text, std::string_view name,
                                                           const unread_members& unread,
                                                           const vgpualloc::stop_signal& stop) {
    if (!begins_with_bracket(text)) return parse_yaml_advised(text, name, unread.advice, stop);
    auto from_json = parse_json_stream(text, name, unread, stop);
    if (from_json || from_json.error().code != error_code::malformed) return from_json;
    auto from_yaml =
        parse_yaml_advised(text, name, unread.advice, stop); // which also begins with a bracket: {kind: Pod}
    if (from_yaml || from_yaml.error().code != error_code::malformed) return from_yaml;
    // Whatever the text was meant to be, its parser came further.
    return line_of(from_yaml.error(), name) > line_of(from_json.error(), name) ? from_yaml : from_json;
}

} // namespace vgpuformats
