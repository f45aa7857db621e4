// Documents from YAML. Plain scalars are told apart as Kubernetes' tools do it (YAML 1.1 words for truth).
#include <algorithm>
#include <array>
#include <exception>
#include <set>
#include <utility>

#include <yaml-cpp/yaml.h>

#include "vgpuformats/document.hpp"

namespace vgputraces {
namespace {

using vgpualloc::error;
using vgpualloc::error_code;
using vgpualloc::unexpected;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// [+-] digits [. digits] [e [+-] digits], or 0x with digits.
bool is_number(std::string_view text) {
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    if (text.starts_with("0x")) {
        return text.size() > 2 && text.find_first_not_of("0123456789abcdefABCDEF", 2) == text.npos;
    }
    std::size_t digits = 0;
    const auto skip_digits = [&text, &digits] {
        for (; !text.empty() && is_digit(text.front()); text.remove_prefix(1)) ++digits;
    };
    skip_digits();
    if (text.starts_with('.')) {
        text.remove_prefix(1);
        skip_digits();
    }
    if (digits == 0) return false;
    if (!text.starts_with('e') && !text.starts_with('E')) return text.empty();
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    digits = 0;
    skip_digits();
    return digits > 0 && text.empty();
}

/// What a word without quotes means: "true", "false", or nothing.
std::string_view truth(std::string_view word) {
    static constexpr std::array<std::string_view, 11> yes{"true", "True", "TRUE", "yes", "Yes", "YES",
                                                          "on",   "On",   "ON",   "y",   "Y"};
    static constexpr std::array<std::string_view, 11> no{"false", "False", "FALSE", "no", "No", "NO",
                                                         "off",   "Off",   "OFF",   "n",  "N"};
    if (std::ranges::find(yes, word) != yes.end()) return "true";
    if (std::ranges::find(no, word) != no.end()) return "false";
    return {};
}

class converter {
public:
    explicit converter(const std::string& name) : name_{&name} {}

    /// False: failure() says why.
    bool convert(const YAML::Node& from, int depth, document_value& into) {
        into.line = from.Mark().line + 1;
        if (++values_ > values_max) {
            return fail(into.line, error_code::out_of_range, "", "fewer values (aliases count as what they stand for)");
        }
        if (from.IsNull() || !from.IsDefined()) return true;
        if (from.IsScalar()) return scalar(from, into);
        if (depth == depth_max) {
            return fail(into.line, error_code::out_of_range, "",
                        "lists and maps at most " + std::to_string(depth_max) + " deep");
        }
        return from.IsSequence() ? list(from, depth, into) : map(from, depth, into);
    }
    [[nodiscard]] error& failure() { return failure_; }

private:
    bool fail(int line, error_code code, const std::string& value, const std::string& expected) {
        failure_ = {code, *name_ + ":" + std::to_string(line), "", value, expected};
        return false;
    }

    bool scalar(const YAML::Node& from, document_value& into) {
        into.text = from.Scalar();
        const std::string& tag = from.Tag();
        into.kind = value_kind::text;
        if (tag == "!" || tag == "tag:yaml.org,2002:str") return true; // quoted
        if (!tag.empty() && tag != "?") {
            return fail(into.line, error_code::unsupported, tag, "no tags but !!str");
        }
        if (is_number(into.text)) {
            into.kind = value_kind::number;
        } else if (const auto meant = truth(into.text); !meant.empty()) {
            into.kind = value_kind::boolean;
            into.text = meant;
        }
        return true;
    }

    bool list(const YAML::Node& from, int depth, document_value& into) {
        into.kind = value_kind::list;
        for (const YAML::Node& each : from) {
            document_value inner;
            if (!convert(each, depth + 1, inner)) return false;
            into.items.push_back(std::move(inner));
        }
        return true;
    }

    bool map(const YAML::Node& from, int depth, document_value& into) {
        into.kind = value_kind::map;
        std::vector<document_value> merged;
        std::set<std::string> keys;
        for (const auto& each : from) {
            if (!each.first.IsScalar()) {
                return fail(each.first.Mark().line + 1, error_code::malformed, "", "a text for a key");
            }
            const std::string& key = each.first.Scalar();
            document_value inner;
            if (!keys.insert(key).second) {
                return fail(each.first.Mark().line + 1, error_code::duplicate, key, "a key that the map has once");
            }
            if (!convert(each.second, depth + 1, inner)) return false;
            if (key == "<<" && each.first.Tag() != "!") {
                merged.push_back(std::move(inner));
            } else {
                into.members.emplace_back(key, std::move(inner));
            }
        }
        for (const document_value& each : merged) {
            if (!merge(each, keys, into)) return false;
        }
        return true;
    }

    /// What the map says itself wins over what is merged into it.
    bool merge(const document_value& from, std::set<std::string>& keys, document_value& into) {
        if (from.kind == value_kind::list) {
            return std::ranges::all_of(from.items, [&](const document_value& each) { return merge(each, keys, into); });
        }
        if (from.kind != value_kind::map) return fail(from.line, error_code::malformed, "<<", "a map to merge");
        for (const auto& member : from.members) {
            if (keys.insert(member.first).second) into.members.push_back(member);
        }
        return true;
    }

    const std::string* name_;
    std::size_t values_ = 0;
    error failure_;
};

} // namespace

vgpualloc::expected<std::vector<document_value>> parse_yaml(std::string_view text, const std::string& name) {
    if (text.size() > document_bytes_max) {
        return unexpected(error{error_code::out_of_range, name, "", "", "at most 256 MiB of text"});
    }
    try {
        std::vector<document_value> documents;
        converter convert{name};
        for (const YAML::Node& each : YAML::LoadAll(std::string{text})) {
            document_value made;
            if (!convert.convert(each, 0, made)) return unexpected(convert.failure());
            if (made.kind != value_kind::null) documents.push_back(std::move(made));
        }
        return documents;
    } catch (const YAML::Exception& failure) {
        const std::string line = failure.mark.is_null() ? "" : ":" + std::to_string(failure.mark.line + 1);
        return unexpected(error{error_code::malformed, name + line, "", "", "YAML: " + failure.msg});
    }
}

} // namespace vgputraces
