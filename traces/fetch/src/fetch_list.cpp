// The list of public traces.
#include <algorithm>
#include <optional>
#include <set>

#include "vgpufetch/fetch.hpp"
#include "vgpufetch_embedded.hpp"
#include "vgpuformats/cursor.hpp"
#include "vgpuformats/json.hpp"

namespace vgpufetch {

namespace {

using vgpualloc::error;
using vgpualloc::error_code;
using vgpuformats::cursor;

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

[[nodiscard]] bool is_web_address(std::string_view text) {
    return text.starts_with("https://") || text.starts_with("http://");
}

/// Reads the list. Names are unique over all of it.
class list_reader {
public:
    [[nodiscard]] std::vector<public_trace> read(const cursor& root) {
        root.only({"traces"});
        std::vector<public_trace> traces;
        for (const cursor& entry : root.at("traces").items(1)) traces.push_back(read_trace(entry));
        return traces;
    }

private:
    template <class Accept>
    [[nodiscard]] static std::string checked_text(const cursor& field, Accept accept, const char* expected) {
        std::string text = field.any_text();
        if (!field.failed() && !accept(text)) field.fail(error_code::malformed, expected);
        return text;
    }

    static void check_new(std::set<std::string>& names, const std::string& name, const cursor& field,
                          const char* expected) {
        if (!names.insert(name).second) field.fail(error_code::duplicate, expected);
    }

    [[nodiscard]] public_trace read_trace(const cursor& entry) {
        entry.only({"name", "description", "licence", "source", "note", "files"});
        public_trace trace;
        trace.name = checked_text(entry.at("name"), name_is_safe, "a name of letters, digits, '.', '_' and '-'");
        trace.description = entry.at("description").any_text();
        trace.licence = entry.at("licence").any_text();
        trace.source = entry.at("source").any_text();
        if (entry.has("note")) trace.note = entry.at("note").any_text();
        check_new(trace_names_, trace.name, entry.at("name"), "a name no other trace has");
        for (const cursor& file : entry.at("files").items(1)) trace.files.push_back(read_file(file));
        return trace;
    }

    [[nodiscard]] public_file read_file(const cursor& entry) {
        constexpr std::int64_t file_bytes_max = std::int64_t{1} << 50U;
        entry.only({"name", "url", "bytes", "sha256"});
        public_file file;
        file.name = checked_text(entry.at("name"), name_is_safe,
                                 "a file name of letters, digits, '.', '_' and '-', without a folder");
        file.url = checked_text(entry.at("url"), is_web_address, "an address that starts with https:// or http://");
        file.size_bytes = entry.at("bytes").integer({1, file_bytes_max});
        file.sha256 = checked_text(entry.at("sha256"), is_sha256, "64 lower-case hexadecimal digits");
        // All traces share one folder, so that a bare file name finds its file.
        check_new(file_names_, file.name, entry.at("name"), "a name no other file of the list has");
        return file;
    }

    std::set<std::string> trace_names_;
    std::set<std::string> file_names_;
};

} // namespace

vgpualloc::expected<std::vector<public_trace>> parse_trace_list(std::string_view json, const std::string& where) {
    const auto document = vgpuformats::parse_json(json, where);
    if (!document) return vgpualloc::unexpected(document.error());
    std::optional<error> failure;
    auto traces = list_reader{}.read(cursor{*document, where, failure, vgpuformats::place_style::line});
    if (failure) return vgpualloc::unexpected(*std::move(failure));
    return traces;
}

std::string_view built_in_trace_list() { return public_traces_json; }

} // namespace vgpufetch
