// Sets of nodes.
#include "vgpualloc/kube/node_set.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "dialect/text.hpp"
#include "vgpualloc/core/error.hpp"

namespace vgpualloc::kube {

namespace {

constexpr const char* set_grammar = "names, globs and ranges of nodes (a100-1, a100-*, a100-[1-3]), label=value, "
                                    "label!=value, "
                                    "label in (a,b), label notin (a,b), label or !label, with commas between them";

std::string_view without_spaces(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
}

/// What is between the commas of a text, but for those in parentheses; without spaces around it.
std::vector<std::string_view> parts_between_commas(std::string_view text) {
    std::vector<std::string_view> parts;
    int depth = 0;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
        if (i < text.size() && text[i] == '(') ++depth;
        if (i < text.size() && text[i] == ')') --depth;
        if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
        parts.push_back(without_spaces(text.substr(begin, i - begin)));
        begin = i + 1;
    }
    return parts;
}

bool is_glob(std::string_view text) { return text.find_first_of("*?") != std::string_view::npos; }

/// '*' stands for any characters, '?' for one. Takes the product of the lengths at most.
bool matches_glob(std::string_view name, std::string_view pattern) {
    std::size_t n = 0;
    std::size_t p = 0;
    std::size_t star = std::string_view::npos; // the last one
    std::size_t after_star = 0;                // where in the name its text ends
    while (n < name.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            after_star = n;
        } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
            ++p;
            ++n;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            n = ++after_star;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
}

/// A pattern such as "a100-[1-3]-*": numbers in brackets.
struct name_range {
    std::string_view before;
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::size_t digits_min = 1; ///< of "[001-140]" three: smaller numbers have zeros in front
    std::string_view after;
};

/// None: the pattern has no range, or one that says nothing ("[3-1]", "[a-b]").
std::optional<name_range> read_range(std::string_view pattern) {
    const std::size_t open = pattern.find('[');
    if (open == std::string_view::npos) return std::nullopt;
    const std::size_t dash = pattern.find('-', open);
    const std::size_t close = pattern.find(']', open);
    if (dash == std::string_view::npos || close == std::string_view::npos || close < dash) return std::nullopt;
    const std::string_view first = pattern.substr(open + 1, dash - open - 1);
    const std::string_view last = pattern.substr(dash + 1, close - dash - 1);
    name_range result{.before = pattern.substr(0, open), .after = pattern.substr(close + 1)};
    const auto read = [](std::string_view digits, std::int64_t& to) {
        const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), to);
        return problem == std::errc{} && end == digits.data() + digits.size() && digits.front() != '-';
    };
    if (!read(first, result.first) || !read(last, result.last) || result.last < result.first) return std::nullopt;
    if (first.front() == '0') result.digits_min = first.size();
    return result;
}

/// Names of Kubernetes have no brackets, so that these are a range of numbers.
bool matches_name(std::string_view name, std::string_view pattern) {
    const auto range = read_range(pattern);
    if (!range) return matches_glob(name, pattern);
    const auto is_digit = [](std::string_view text, std::size_t i) {
        return i < text.size() && text[i] >= '0' && text[i] <= '9';
    };
    const bool starts_anywhere = is_digit(range->before, range->before.size() - 1); // "w1[0-3]"
    // Any number in the name may be the one, as the text before it may be a glob.
    for (std::size_t begin = 0; begin < name.size(); ++begin) {
        if (!is_digit(name, begin) || (is_digit(name, begin - 1) && !starts_anywhere)) continue;
        std::size_t end = begin;
        while (is_digit(name, end)) ++end;
        const std::string_view digits = name.substr(begin, end - begin);
        std::int64_t number = 0;
        const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
        if (read.ec != std::errc{} || number < range->first || number > range->last) continue;
        if (digits.size() != std::max(range->digits_min, std::to_string(number).size())) continue;
        if (!matches_glob(name.substr(0, begin), range->before)) continue;
        if (matches_name(name.substr(end), range->after)) return true;
    }
    return false;
}

std::string_view last_part(std::string_view key) { return key.substr(key.rfind('/') + 1); }

/// "a, b and 3 more".
std::string first_of(const std::set<std::string_view>& words) {
    constexpr std::size_t words_max = 20;
    std::string list;
    std::size_t count = 0;
    for (const std::string_view word : words) {
        if (++count > words_max) break;
        list += (list.empty() ? "" : ", ") + std::string{word};
    }
    if (words.size() > words_max) list += " and " + std::to_string(words.size() - words_max) + " more";
    return list;
}

std::set<std::string_view> keys_of(std::span<const node> nodes) {
    std::set<std::string_view> keys;
    for (const node& described : nodes) {
        for (const auto& [key, value] : described.host.labels) keys.insert(key);
    }
    return keys;
}

/// The words that one may be mistyped of.
std::set<std::string_view> words_like(std::string_view word, const std::set<std::string_view>& words) {
    std::set<std::string_view> result;
    for (const std::string_view other : words) {
        if (dialects::text::is_misspelled(word, other)) result.insert(other);
    }
    return result;
}

/// A part of a set that is about a label.
struct label_part {
    label_requirement wanted;
    std::string word; ///< the key as it was written
};

/// "pool in (train,dev)" or "pool notin (dev)"; none: the part has another form.
std::optional<label_part> read_list_part(std::string_view part) {
    const std::size_t open = part.find('(');
    if (open == std::string_view::npos || !part.ends_with(')')) return std::nullopt;
    const std::string_view head = without_spaces(part.substr(0, open));
    const std::size_t space = head.rfind(' ');
    if (space == std::string_view::npos) return std::nullopt;
    const std::string_view op = head.substr(space + 1);
    if (op != "in" && op != "notin") return std::nullopt;
    label_part result{.wanted = {.key = {}, .op = op == "in" ? label_operator::in : label_operator::not_in},
                      .word = std::string{without_spaces(head.substr(0, space))}};
    for (const std::string_view value : parts_between_commas(part.substr(open + 1, part.size() - open - 2))) {
        result.wanted.values.emplace_back(value);
    }
    return result;
}

/// "zone=b", "zone==b", "zone!=b" or "!zone"; none: the part has another form.
std::optional<label_part> read_sign_part(std::string_view part) {
    if (part.starts_with('!')) {
        return label_part{.wanted = {.key = {}, .op = label_operator::does_not_exist},
                          .word = std::string{without_spaces(part.substr(1))}};
    }
    const std::size_t sign = part.find('=');
    if (sign == std::string_view::npos) return std::nullopt;
    std::string_view word = part.substr(0, sign);
    std::string_view value = part.substr(sign + 1);
    const bool is_negative = word.ends_with('!');
    if (is_negative) {
        word.remove_suffix(1);
    } else if (value.starts_with('=')) {
        value.remove_prefix(1);
    }
    return label_part{.wanted = {.key = {},
                                 .op = is_negative ? label_operator::not_in : label_operator::in,
                                 .values = {std::string{without_spaces(value)}}},
                      .word = std::string{without_spaces(word)}};
}

class set_reader {
public:
    set_reader(std::span<const node> nodes, std::string_view set, std::string_view option)
        : nodes_{nodes}, place_{std::string{option} + " " + std::string{set}} {}

    expected<std::vector<bool>> read(std::string_view set) {
        for (const std::string_view part : parts_between_commas(set)) {
            if (auto done = read_part(part); !done) return unexpected(std::move(done).error().at(place_));
        }
        std::vector<bool> result(nodes_.size());
        for (std::size_t n = 0; n < nodes_.size(); ++n) result[n] = (!has_names_ || named_[n]) && meets_all(nodes_[n]);
        if (std::ranges::find(result, true) != result.end()) return result;
        return unexpected(
            bad_input(error_code::unknown_name, "", "no node; each part alone has some, and no node is in all of them")
                .at(place_));
    }

private:
    expected<void> read_part(std::string_view part) {
        auto about_label = read_list_part(part);
        if (!about_label) about_label = read_sign_part(part);
        if (about_label) return add_label(*std::move(about_label));
        if (part.empty() || part.find_first_of("() ") != std::string_view::npos) return unexpected(malformed(part));
        if (part.find_first_of("[]") != std::string_view::npos) {
            return read_range(part) ? add_names(part) : expected<void>{unexpected(malformed(part))};
        }
        if (is_glob(part)) return add_names(part);
        return add_word(part);
    }

    static error malformed(std::string_view part) {
        return bad_value(error_code::malformed, "", part.empty() ? "\"\"" : part, set_grammar);
    }

    /// The nodes of a name or a glob.
    expected<void> add_names(std::string_view pattern) {
        named_.resize(nodes_.size());
        has_names_ = true;
        bool has_some = false;
        for (std::size_t n = 0; n < nodes_.size(); ++n) {
            if (!matches_name(nodes_[n].name, pattern)) continue;
            named_[n] = true;
            has_some = true;
        }
        if (has_some) return {};
        std::set<std::string_view> names;
        for (const node& described : nodes_) names.insert(described.name);
        return unexpected(bad_input(error_code::unknown_name, "", "no node; nodes are " + first_of(names)));
    }

    /// A word alone is a node's name or a label.
    expected<void> add_word(std::string_view word) {
        const bool is_name = std::ranges::find(nodes_, word, &node::name) != nodes_.end();
        auto key = label_key_of(nodes_, word);
        const bool is_label = key.has_value() || key.error().code == error_code::duplicate;
        if (is_name && is_label) {
            const std::string label = key ? *key : std::string{word};
            return unexpected(bad_input(error_code::duplicate, "",
                                        "two meanings: node " + std::string{word} + " and label " + label + "; " +
                                            std::string{hostname_label} + "=" + std::string{word} + " is the node"));
        }
        if (!is_label) return add_names(word);
        if (!key) return unexpected(std::move(key).error());
        return add_label({.wanted = {.key = {}, .op = label_operator::exists}, .word = std::string{word}});
    }

    /// Nodes without the label are in the set of a part that excludes; then it need not be there at all.
    expected<void> add_label(label_part part) {
        if (part.word.empty() || part.word.find_first_of("()[]!*? ") != std::string::npos) {
            return unexpected(malformed(part.word));
        }
        auto key = label_key_of(nodes_, part.word);
        const bool excludes =
            part.wanted.op == label_operator::not_in || part.wanted.op == label_operator::does_not_exist;
        if (!key && (!excludes || key.error().code == error_code::duplicate)) {
            return unexpected(std::move(key).error());
        }
        part.wanted.key = key ? *key : part.word;
        const node_selector_term term{.labels = {part.wanted}};
        const auto is_in = [&](const node& described) {
            return unmet_requirement(term, described.host, described.name) == nullptr;
        };
        if (std::ranges::none_of(nodes_, is_in)) return unexpected(nothing_in(part));
        wanted_.labels.push_back(std::move(part.wanted));
        return {};
    }

    /// "no node; zones are a, b, c".
    [[nodiscard]] error nothing_in(const label_part& part) const {
        std::set<std::string_view> values;
        for (const node& described : nodes_) {
            if (const std::string* const value = described.host.label(part.wanted.key)) values.insert(*value);
        }
        const std::string word{last_part(part.word)};
        const bool is_one = values.size() == 1;
        return bad_input(error_code::unknown_name, "",
                         "no node; " + word + (is_one ? " is " : "s are ") + first_of(values));
    }

    [[nodiscard]] bool meets_all(const node& described) const {
        return unmet_requirement(wanted_, described.host, described.name) == nullptr;
    }

    std::span<const node> nodes_;
    std::string place_;
    bool has_names_ = false;
    std::vector<bool> named_;   ///< by position; empty until a part has names
    node_selector_term wanted_; ///< all parts about labels
};

} // namespace

expected<std::string> label_key_of(std::span<const node> nodes, std::string_view word,
                                   std::span<const std::string_view> others) {
    const std::set<std::string_view> keys = keys_of(nodes);
    if (keys.contains(word)) return std::string{word};
    std::set<std::string_view> ending;
    for (const std::string_view key : keys) {
        if (key.find('/') != std::string_view::npos && last_part(key) == word) ending.insert(key);
    }
    if (ending.size() == 1) return std::string{*ending.begin()};
    if (ending.size() > 1) {
        return unexpected(bad_input(error_code::duplicate, "",
                                    "several labels end in /" + std::string{word} + ": " + first_of(ending)));
    }
    std::set<std::string_view> words{others.begin(), others.end()};
    for (const std::string_view key : keys)
        words.insert(word.find('/') == std::string_view::npos ? last_part(key) : key);
    const std::set<std::string_view> near = words_like(word, words);
    const std::string hint = near.empty() ? "; labels are " + first_of(keys) : "; near: " + first_of(near);
    return unexpected(bad_input(error_code::unknown_name, "",
                                "no node has this label" + (keys.empty() && near.empty() ? std::string{} : hint)));
}

expected<std::vector<bool>> nodes_in_set(std::span<const node> nodes, std::string_view set, std::string_view option) {
    return set_reader{nodes, set, option}.read(set);
}

} // namespace vgpualloc::kube
