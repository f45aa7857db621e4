#include "vgpufetch/fetch.hpp"

#include <algorithm>
#include <initializer_list>
#include <set>

#include <nlohmann/json.hpp>

#include "vgpufetch_embedded.hpp"

namespace vgputraces {

namespace {

using nlohmann::json;
using vgpualloc::error;
using vgpualloc::error_code;

/// A value as one short line, whatever it holds.
[[nodiscard]] std::string shown(const json& value) {
    std::string text = value.dump(-1, ' ', true);
    if (value.is_string()) text = text.substr(1, text.size() - 2);
    constexpr std::size_t length_max = 80;
    return text.size() > length_max ? text.substr(0, length_max) + "..." : text;
}

[[nodiscard]] bool name_is_safe(std::string_view name) {
    const auto allowed = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
               c == '-';
    };
    return !name.empty() && name.size() <= 200 && name.front() != '.' && name.find("..") == std::string_view::npos &&
           !name.ends_with(".part") && std::all_of(name.begin(), name.end(), allowed);
}

[[nodiscard]] bool is_sha256(std::string_view text) {
    return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// Reads the list; the first thing wrong is kept and everything after it is skipped.
class list_reader {
public:
    explicit list_reader(std::string where) : where_{std::move(where)} {}

    [[nodiscard]] vgpualloc::expected<std::vector<public_trace>> read(std::string_view text) {
        const json root = parse(text);
        std::vector<public_trace> traces;
        if (!failure_ && has_keys(root, "", {"traces"}, {})) {
            for_each(root["traces"], "/traces",
                     [&](const json& item, const std::string& at) { traces.push_back(trace(item, at)); });
        }
        if (failure_) return vgpualloc::unexpected(*std::move(failure_));
        return traces;
    }

private:
    /// nlohmann::json keeps the last of several equal keys without a word, so they are watched for while parsing.
    [[nodiscard]] json parse(std::string_view text) {
        std::vector<std::set<std::string>> keys;
        const auto watch = [&](int, json::parse_event_t event, json& value) {
            if (event == json::parse_event_t::object_start) keys.emplace_back();
            if (event == json::parse_event_t::object_end) keys.pop_back();
            if (event == json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second) {
                fail(error_code::duplicate, "the key " + shown(value), {}, "occurs twice in one object");
            }
            return true;
        };
        try {
            return json::parse(text, watch);
        } catch (const json::exception& problem) {
            std::string what = problem.what(); // "[json.exception.parse_error.101] parse error at line 1, column 2: …"
            if (const std::size_t end = what.find("] "); end != std::string::npos) what.erase(0, end + 2);
            // It quotes the text, which may hold anything; the message is to be one line of printable text.
            std::replace_if(what.begin(), what.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
            fail(error_code::malformed, {}, {}, what);
            return {};
        }
    }

    void fail(error_code code, std::string field, std::string value, std::string expected) {
        if (failure_) return;
        failure_ = error{code, where_, std::move(field), std::move(value), std::move(expected)};
    }

    [[nodiscard]] bool has_keys(const json& object, const std::string& at,
                                std::initializer_list<std::string_view> required,
                                std::initializer_list<std::string_view> optional) {
        if (failure_) return false;
        if (!object.is_object()) fail(error_code::malformed, at.empty() ? "/" : at, shown(object), "an object");
        if (failure_) return false;
        for (const auto& [key, value] : object.items()) {
            if (std::find(required.begin(), required.end(), key) == required.end() &&
                std::find(optional.begin(), optional.end(), key) == optional.end()) {
                fail(error_code::unknown_name, at + "/" + shown(json(key)), {}, "unknown key");
            }
        }
        for (const std::string_view key : required) {
            if (!object.contains(key)) fail(error_code::missing, at + "/" + std::string{key}, {}, "missing");
        }
        return !failure_;
    }

    template <class Read>
    void for_each(const json& list, const std::string& at, Read read) {
        if (!list.is_array() || list.empty()) {
            fail(error_code::malformed, at, shown(list), "a list that is not empty");
            return;
        }
        for (std::size_t i = 0; i < list.size() && !failure_; ++i) read(list[i], at + "/" + std::to_string(i));
    }

    template <class Accept>
    [[nodiscard]] std::string text(const json& object, const std::string& at, const char* key, Accept accept,
                                   const char* expected) {
        const json& value = object[key];
        if (value.is_string() && accept(value.get_ref<const std::string&>())) return value.get<std::string>();
        fail(error_code::malformed, at + "/" + key, shown(value), expected);
        return {};
    }

    [[nodiscard]] public_trace trace(const json& item, const std::string& at) {
        public_trace result;
        if (!has_keys(item, at, {"name", "description", "licence", "source", "files"}, {"note"})) return result;
        const auto any = [](const std::string&) { return true; };
        result.name = text(item, at, "name", name_is_safe, "a name of letters, digits, '.', '_' and '-'");
        result.description = text(item, at, "description", any, "a string");
        result.licence = text(item, at, "licence", any, "a string");
        result.source = text(item, at, "source", any, "a string");
        if (item.contains("note")) result.note = text(item, at, "note", any, "a string");
        if (!failure_ && !trace_names_.insert(result.name).second) {
            fail(error_code::duplicate, at + "/name", result.name, "a name no other trace has");
        }
        for_each(item["files"], at + "/files", [&](const json& entry, const std::string& entry_at) {
            result.files.push_back(file(entry, entry_at));
        });
        return result;
    }

    [[nodiscard]] public_file file(const json& item, const std::string& at) {
        public_file result;
        if (!has_keys(item, at, {"name", "url", "bytes", "sha256"}, {})) return result;
        const auto web = [](const std::string& url) {
            return url.starts_with("https://") || url.starts_with("http://");
        };
        result.name =
            text(item, at, "name", name_is_safe, "a file name of letters, digits, '.', '_' and '-', without a folder");
        result.url = text(item, at, "url", web, "an address that starts with https:// or http://");
        result.sha256 = text(item, at, "sha256", is_sha256, "64 lower-case hexadecimal digits");
        const json& size = item["bytes"];
        if (size.is_number_unsigned() && size >= 1 && size <= std::int64_t{1} << 50U) {
            result.size_bytes = size.get<std::int64_t>();
        } else {
            fail(error_code::out_of_range, at + "/bytes", shown(size), "a whole number from 1 to 2^50");
        }
        // All traces share one folder, so that a bare file name finds its file.
        if (!failure_ && !file_names_.insert(result.name).second) {
            fail(error_code::duplicate, at + "/name", result.name, "a name no other file of the list has");
        }
        return result;
    }

    std::string where_;
    std::optional<error> failure_;
    std::set<std::string> trace_names_;
    std::set<std::string> file_names_;
};

} // namespace

vgpualloc::expected<std::vector<public_trace>> parse_trace_list(std::string_view json, const std::string& where) {
    return list_reader{where}.read(json);
}

std::string_view built_in_trace_list() { return public_traces_json; }

} // namespace vgputraces
