// Pseudonyms.
#include "vgpuops/snapshot/pseudonyms.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/model/device.hpp"
#include "vgpualloc/model/host_rules.hpp"

namespace vgpuops::snapshots {

namespace {

constexpr std::array<std::string_view, 17> stems{"node", "pod",   "ns",    "container", "label", "value",
                                                 "DEV",  "group", "claim", "uid",       "sched", "class",
                                                 "rule", "owner", "queue", "",          "word"};

bool is_token_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.' || c == '+' || (static_cast<unsigned char>(c) & 0x80U) != 0;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// An amount or an index as annotations have them: "81920", "+1", "0.5", "1_0". Whatever has more digits, or parts, may
/// be an address or a serial number.
bool is_number(std::string_view text) {
    constexpr std::ptrdiff_t digits_max = 7;
    if (text.starts_with('+')) text.remove_prefix(1);
    const auto digits = std::ranges::count_if(text, is_digit);
    const auto parts = std::ranges::count_if(text, [](char c) { return c == '.' || c == '_'; });
    return digits > 0 && digits <= digits_max && parts <= 1 && digits + parts == std::ssize(text);
}

/// The position of a device in its node.
bool is_index(std::string_view text) {
    constexpr std::size_t digits_max = 3;
    return text.size() <= digits_max && std::ranges::all_of(text, is_digit);
}

/// Whether it reads like the id of a device, which may be one that no node registers any more.
bool is_device_id(std::string_view token) {
    constexpr std::array<std::string_view, 3> prefixes{"GPU-", "MIG-", "NPU-"};
    return std::ranges::any_of(prefixes, [token](std::string_view prefix) {
        return token.size() > prefix.size() && token.starts_with(prefix);
    });
}

/// Whether there is a host's name in it: three words or more with dots between. Of MIG's profiles, `1g.5gb.me` has so
/// many too.
bool has_host_name(std::string_view text) {
    constexpr int dots_of_a_host = 2;
    int dots = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        const bool is_profile = c == '.' && i > 1 && text[i - 1] == 'g' && is_digit(text[i - 2]);
        if (c == '.' && !is_profile) ++dots;
        if (c == ' ' || c == '/') dots = 0;
        if (dots >= dots_of_a_host) return true;
    }
    return false;
}

constexpr std::string_view profile_separators = ".+-"; // before an attribute of a profile

/// The length of "<slices>g.<memory>gb" at the beginning, also behind "<slices>c."; 0 if it is none.
std::size_t profile_length(std::string_view text) {
    constexpr std::size_t digits_max = 4;
    std::size_t end = 0;
    const auto takes = [&](std::string_view unit) {
        const std::string_view rest = text.substr(end);
        const auto digits = static_cast<std::size_t>(std::ranges::find_if_not(rest, is_digit) - rest.begin());
        if (digits == 0 || digits > digits_max || !rest.substr(digits).starts_with(unit)) return false;
        end += digits + unit.size();
        return true;
    };
    takes("c.");
    return takes("g.") && takes("gb") ? end : 0;
}

/// What NVIDIA and its plugin put behind a profile: "+me.all", ".me.shared".
bool has_known_attributes(std::string_view text) {
    constexpr std::array<std::string_view, 4> attributes{"me", "all", "gfx", "shared"};
    while (!text.empty()) {
        if (profile_separators.find(text.front()) == text.npos) return false;
        text.remove_prefix(1);
        const std::string_view attribute = text.substr(0, text.find_first_of(profile_separators));
        if (std::ranges::find(attributes, attribute) == attributes.end()) return false;
        text.remove_prefix(attribute.size());
    }
    return true;
}

/// Whether a name is one that Kubernetes takes, where it looks.
bool is_as_wanted(name_class kind, const std::string& name) {
    if (kind == name_class::node || kind == name_class::pod || kind == name_class::owner)
        return kube::is_subdomain(name);
    return kind != name_class::container || kube::is_label(name);
}

/// A moment of the order's place: it is later where the time was later.
std::string moment_of(std::size_t place) {
    constexpr std::size_t day = 86'400;
    const std::size_t days = place / day;
    const std::size_t seconds = place % day;
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", 2000 + days / 336, 1 + days / 28 % 12, 1 + days % 28,
                       seconds / 3600, seconds / 60 % 60, seconds % 60);
}

} // namespace

bool pseudonyms::looks_secret(std::string_view text) noexcept {
    constexpr int digits_max = 7;
    int digits = 0;
    int dots = 0; // with nothing but digits between
    int colons = 0;
    for (const char c : text) {
        digits = is_digit(c) ? digits + 1 : 0;
        dots = c == '.' ? dots + 1 : is_digit(c) ? dots : 0;
        colons += c == ':' ? 1 : 0;
        if (digits > digits_max || dots >= 3 || colons >= 2 || c == '@') return true;
    }
    return false;
}

std::string pseudonyms::of(name_class kind, const std::string& name) {
    if (name.empty()) return name;
    auto& known = names_[kind];
    if (!assigned_) {
        known.try_emplace(name);
        return name;
    }
    return known.at(name);
}

void pseudonyms::assign() {
    assigned_ = true;
    for (auto& [kind, names] : names_) {
        const std::size_t width = std::max<std::size_t>(4, std::to_string(names.size()).size());
        std::size_t place = 0;
        for (auto& [name, pseudonym] : names) {
            ++place;
            const auto stem = stems[static_cast<std::size_t>(kind)];
            pseudonym = kind == name_class::time
                            ? moment_of(place)
                            : fmt::format("{}{}{:0{}}", stem, is_as_wanted(kind, name) ? '-' : '_', place, width);
        }
    }
    for (auto& [label, values] : numbers_) {
        std::vector<std::pair<std::int64_t, std::string>> sorted;
        for (const auto& [value, pseudonym] : values) sorted.emplace_back(*vgpualloc::whole_number(value), value);
        std::ranges::sort(sorted);
        std::int64_t rank = -1;
        std::size_t spelling = 0; // of one number: 7, 07, +7
        for (std::size_t i = 0; i < sorted.size(); ++i) {
            const bool is_next = i == 0 || sorted[i].first != sorted[i - 1].first;
            rank += static_cast<std::int64_t>(is_next);
            spelling = is_next ? 0 : spelling + 1;
            values[sorted[i].second] = std::string(spelling, '0') + std::to_string(rank);
        }
    }
}

std::string pseudonyms::value_of(const std::string& label, const std::string& value) {
    if (!numeric_labels_.contains(label) || !vgpualloc::whole_number(value)) {
        return of(name_class::label_value, value);
    }
    if (!assigned_) {
        numbers_[label].try_emplace(value);
        return value;
    }
    return numbers_.at(label).at(value);
}

void pseudonyms::keep_word(std::string_view word) {
    if (word.empty() || looks_secret(word) || has_host_name(word)) return;
    if (word.find('/') != word.npos) return; // a path has names in it
    for (std::size_t begin = 0; begin < word.size(); ++begin) {
        if ((begin == 0 || word[begin - 1] == ' ') && is_device_id(word.substr(begin))) return;
    }
    words_.emplace(word);
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= word.size(); ++i) {
        if (i < word.size() && word[i] != '-' && is_token_character(word[i])) continue;
        if (i > begin) words_.emplace(word.substr(begin, i - begin));
        begin = i + 1;
    }
}

bool pseudonyms::is_plain(std::string_view text) const {
    if (text.empty() || words_.contains(text)) return true;
    constexpr int numbers_max = 2; // more of them and nothing else are an address, or a serial number
    int numbers = 0;
    bool has_words = false;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
        if (i < text.size() && text[i] != '-' && is_token_character(text[i])) continue;
        const auto part = text.substr(begin, i - begin);
        if (!part.empty() && !is_number(part) && !words_.contains(part)) return false;
        numbers += is_number(part) ? 1 : 0;
        has_words = has_words || words_.contains(part);
        begin = i + 1;
    }
    return has_words || numbers <= numbers_max;
}

bool pseudonyms::occurs_in_word(std::string_view text) const {
    return std::ranges::any_of(
        words_, [text](const std::string& word) { return vgpualloc::contains_ignoring_case(word, text); });
}

std::string pseudonyms::token_of(const std::string& token) {
    return devices_.contains(token) || is_device_id(token) ? of(name_class::device, token) : model_of(token);
}

std::string pseudonyms::model_of(std::string_view text) {
    if (is_plain(text)) return std::string{text};
    std::size_t kept = 0; // the words that the text begins with, each with what ends it
    for (std::size_t end = 0; (end = text.find_first_of("- ", kept)) != text.npos; kept = end + 1) {
        if (!words_.contains(text.substr(kept, end - kept))) break;
    }
    return std::string{text.substr(0, kept)} + of(name_class::device, std::string{text.substr(kept)});
}

std::string pseudonyms::profile_of(std::string_view text) {
    constexpr std::string_view shared = ".shared";
    const std::string_view ending = text.ends_with(shared) ? shared : std::string_view{};
    text.remove_suffix(ending.size());
    std::size_t kept = profile_length(text);
    std::string in_catalog{text}; // which has '+' where resources have '.'
    if (kept > 0 && kept < text.size() && profile_separators.find(text[kept]) != text.npos) in_catalog[kept] = '+';
    const bool is_known = kept > 0 && has_known_attributes(text.substr(kept));
    if (is_known || profiles_.contains(text) || profiles_.contains(in_catalog)) {
        return std::string{text} + std::string{ending};
    }
    if (kept > 0 && profile_separators.find(text[kept]) != text.npos) ++kept;
    return std::string{text.substr(0, kept)} + of(name_class::word, std::string{text.substr(kept)}) +
           std::string{ending};
}

std::string pseudonyms::product_of(std::string_view text) {
    constexpr std::string_view shared = "-SHARED";
    constexpr std::string_view cut = "-MIG-";
    const std::string_view ending = text.ends_with(shared) ? shared : std::string_view{};
    text.remove_suffix(ending.size());
    const std::size_t at = text.find(cut);
    std::string result = model_of(text.substr(0, at));
    if (at != text.npos) {
        const std::string_view profile = text.substr(at + cut.size());
        result += std::string{cut} + (profile == "INVALID" ? std::string{profile} : profile_of(profile));
    }
    return result + std::string{ending};
}

std::string pseudonyms::text_of(std::string_view text) {
    // Records end with ':' or ';' and have fields between commas, the first of which is an id. A record that is only a
    // number beside other records belongs to no format that is read: it is a part of an address.
    const auto ends_record = [](char c) { return c == ':' || c == ';'; };
    const bool has_records = std::ranges::any_of(text, ends_record);
    std::string result;
    bool begins_record = true;
    std::size_t i = 0;
    while (i < text.size()) {
        std::size_t end = i;
        while (end < text.size() && is_token_character(text[end])) ++end;
        if (end == i) {
            begins_record = ends_record(text[i]) || (begins_record && text[i] == ' ');
            result += text[i++];
            continue;
        }
        const std::string token{text.substr(i, end - i)};
        const bool is_first = begins_record && (has_records || (end < text.size() && text[end] == ','));
        result += is_first && is_number(token) && !is_index(token) ? of(name_class::device, token)
                  : is_first && has_records && is_number(token) && (end == text.size() || ends_record(text[end]))
                      ? of(name_class::device, token)
                      : token_of(token);
        begins_record = false;
        i = end;
    }
    return result;
}

} // namespace vgpuops::snapshots
