// What happens to nodes and pods, line by line.
#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "../show/short_lines.hpp"
#include "answer_parts.hpp"
#include "placement_words.hpp"
#include "vgpuops/show/names.hpp"

namespace vgpuops::whatif {

namespace {

constexpr std::size_t lines_of_a_mark = 10;
constexpr std::size_t name_width_max = 40;

/// What is said of one line's nodes or pods.
struct line_words {
    char mark = ' ';
    std::string node{}; ///< before the details, in a column of its own
    std::string details{};
    std::int64_t pods_each = 1; ///< for which a name stands: replicas of one template

    auto operator<=>(const line_words&) const = default;
};

/// Nodes or pods of which the same is said.
struct alike_things {
    line_words words{};
    std::vector<std::string> names{};
};

/// A line as it is printed, and for how many nodes or pods it stands.
struct change_line {
    line_words words{};
    std::string name{};
    std::int64_t things = 1;
};

class line_maker {
public:
    line_maker(const answer& answered, bool lists_all) : answered_{&answered}, lists_all_{lists_all} {}

    [[nodiscard]] std::vector<change_line> node_lines() {
        for (const node_change& change : answered_->nodes) {
            for (const std::string& node : change.nodes) add({.mark = change.mark, .details = change.words}, node);
        }
        return take();
    }

    /// Of pods with devices.
    [[nodiscard]] std::vector<change_line> pod_lines() {
        for (const pod_answer& entry : answered_->pods) {
            if (!entry.has_devices) continue;
            add_placed(entry);
            add_held(entry);
            if (entry.refused == 0) continue;
            const pod_fate fate = fate_of_refused(entry);
            add({.mark = mark_of(fate),
                 .node = fate == pod_fate::stops ? entry.asked.from : std::string{},
                 .details = std::string{show::to_string(entry.waits_for)},
                 .pods_each = entry.refused},
                name_of(entry, entry.refused));
        }
        for (const ended_pod& pod : answered_->ended) {
            add({.mark = '-', .node = pod.node, .details = "ends with its node"}, pod.name);
        }
        return take();
    }

private:
    [[nodiscard]] static bool is_one_pod(const pod_answer& entry) {
        return entry.asked.wanted() == 1 && !entry.asked.one_per_node;
    }

    /// "2 of team/worker": names do not end in the number, so that fold() takes it for none of theirs.
    [[nodiscard]] static std::string name_of(const pod_answer& entry, std::int64_t pods) {
        const std::string name = entry.asked.pod.full_name();
        return is_one_pod(entry) ? name : fmt::format("{} of {}", pods, name);
    }

    void add(line_words words, std::string name) {
        const auto [position, is_new] = positions_.try_emplace(words, groups_.size());
        if (is_new) groups_.push_back({.words = std::move(words)});
        groups_[position->second].names.push_back(std::move(name));
    }

    void add_held(const pod_answer& entry) {
        const std::int64_t held = entry.asked.held;
        if (held == 0) return;
        const pod_fate fate = fate_of_refused(entry);
        add({.mark = mark_of(fate),
             .node = fate == pod_fate::stops ? entry.asked.from : std::string{},
             .details = fmt::format("{}: {}", show::to_string(held_verdict(entry)), words_of(*entry.asked.short_of)),
             .pods_each = held},
            name_of(entry, held));
    }

    void add_placed(const pod_answer& entry) {
        if (lists_all_) {
            for (std::size_t i = 0; i < entry.placed.size(); ++i) {
                const std::string number = is_one_pod(entry) ? std::string{} : fmt::format(" #{}", i + 1);
                add_on(entry, {.node = entry.placed[i].node, .details = share_words(entry.placed[i].shares)},
                       entry.asked.pod.full_name() + number);
            }
            return;
        }
        std::string asks = show::devices_name(entry.asked.pod.request);
        if (asks.starts_with("1 mig-")) asks.erase(0, 2);
        std::map<std::string, std::int64_t> by_node; // replicas may be a million
        for (const auto& where : entry.placed) ++by_node[where.node];
        for (const auto& [node, pods] : by_node) {
            add_on(entry, {.node = node, .details = asks, .pods_each = pods}, name_of(entry, pods));
        }
    }

    /// A pod that is placed; `words` have the node and what it gets there.
    void add_on(const pod_answer& entry, line_words words, std::string name) {
        const pod_fate fate = fate_on(*answered_, entry, words.node);
        if (fate == pod_fate::stays) return;
        words.mark = mark_of(fate);
        if (fate != pod_fate::starts) {
            std::string details = entry.asked.from + " -> " + words.node;
            if (words.node == entry.asked.from) details += same_node_words(entry);
            if (lists_all_) details += ": " + words.details;
            words.node.clear();
            words.details = std::move(details);
        }
        add(std::move(words), std::move(name));
    }

    [[nodiscard]] std::string same_node_words(const pod_answer& entry) const {
        if (!entry.is_recut) return ", on other GPUs";
        const bool is_cut =
            std::ranges::find(answered_->layouts, entry.asked.from, &layout_change::node) != answered_->layouts.end();
        return is_cut ? ", after the cut" : ", in the other mode";
    }

    /// The lines by mark; those of one mark in the order in which they were added.
    [[nodiscard]] std::vector<change_line> take() {
        constexpr std::string_view marks = "+~-.";
        std::ranges::stable_sort(groups_, {}, [&](const alike_things& group) { return marks.find(group.words.mark); });
        std::vector<change_line> lines;
        for (const alike_things& group : groups_) {
            if (lists_all_) {
                for (const std::string& name : group.names) lines.push_back({.words = group.words, .name = name});
                continue;
            }
            for (show::folded_name& piece : show::fold(group.names)) {
                lines.push_back({.words = group.words,
                                 .name = std::move(piece.text),
                                 .things = static_cast<std::int64_t>(piece.names) * group.words.pods_each});
            }
        }
        groups_.clear();
        positions_.clear();
        return lines;
    }

    const answer* answered_;
    bool lists_all_;
    std::vector<alike_things> groups_;
    std::map<line_words, std::size_t> positions_; ///< in groups_
};

/// Makes one line of those that say the same, where a mark has more lines than are shown. They stand together.
void join_alike(std::vector<change_line>& lines, const std::map<char, std::size_t>& lines_by_mark) {
    std::vector<change_line> result;
    for (std::size_t i = 0; i < lines.size();) {
        std::size_t end = i + 1;
        const bool is_long = lines_by_mark.at(lines[i].words.mark) > lines_of_a_mark;
        std::int64_t others = 0;
        while (is_long && end < lines.size() && lines[end].words == lines[i].words) others += lines[end++].things;
        change_line joined = std::move(lines[i]);
        if (others > 0) joined.name += fmt::format(" and {} more", others);
        joined.things += others;
        result.push_back(std::move(joined));
        i = end;
    }
    lines = std::move(result);
}

/// Takes lines out of the list where a mark has more than are shown. Returns how many nodes or pods are left out by
/// mark.
std::map<char, std::int64_t> shorten(std::vector<change_line>& lines) {
    std::map<char, std::size_t> lines_by_mark;
    for (const change_line& line : lines) ++lines_by_mark[line.words.mark];
    join_alike(lines, lines_by_mark);
    std::map<char, std::size_t> seen;
    std::map<char, std::int64_t> left_out;
    std::erase_if(lines, [&](const change_line& line) {
        if (++seen[line.words.mark] <= lines_of_a_mark) return false;
        left_out[line.words.mark] += line.things;
        return true;
    });
    return left_out;
}

std::size_t width_of(const std::vector<change_line>& lines) {
    std::size_t width = 0;
    for (const change_line& line : lines) {
        if (line.name.size() <= name_width_max) width = std::max(width, line.name.size());
    }
    return width;
}

/// Prints lines; those of pods that wait side by side, as far as a line has room.
class line_printer {
public:
    line_printer(std::size_t name_width, std::string& text) : name_width_{name_width}, text_{&text} {}

    void add(const std::vector<change_line>& lines, std::map<char, std::int64_t> left_out, const char* things) {
        std::size_t node_width = 0;
        for (const change_line& line : lines) node_width = std::max(node_width, line.words.node.size());
        for (std::size_t i = 0; i < lines.size(); ++i) {
            const line_words& words = lines[i].words;
            if (words.mark != '.' || !appended(lines[i])) {
                end_line();
                const std::string node =
                    words.node.empty() ? std::string{} : fmt::format("{:<{}}  ", words.node, node_width);
                line_ = fmt::format("  {} {:<{}}  {}{}", words.mark, lines[i].name, name_width_, node, words.details);
            }
            if (i + 1 < lines.size() && lines[i + 1].words.mark == words.mark) continue;
            end_line();
            if (const std::int64_t more = left_out[words.mark]; more > 0) {
                add_line(*text_, fmt::format("  {} and {} {} more (--all)", words.mark, more, things));
            }
        }
    }

private:
    bool appended(const change_line& waiting) {
        const std::string more = fmt::format(";  {}: {}", waiting.name, waiting.words.details);
        if (line_.empty() || line_.size() + more.size() > show::line_width) return false;
        line_ += more;
        return true;
    }
    void end_line() {
        while (line_.ends_with(' ')) line_.pop_back();
        if (!line_.empty()) add_line(*text_, line_);
        line_.clear();
    }

    std::size_t name_width_;
    std::string* text_;
    std::string line_;
};

/// "1 starts, 2 wait": pods of which `show` counts none.
std::string others_words(const answer& answered) {
    std::array<std::int64_t, pod_fate_count> pods{};
    for (const pod_answer& entry : answered.pods) {
        if (entry.has_devices) continue;
        for (const auto& where : entry.placed) ++pods[static_cast<std::size_t>(fate_on(answered, entry, where.node))];
        pods[static_cast<std::size_t>(fate_of_refused(entry))] += entry.refused + entry.asked.held;
    }
    std::string words;
    for (std::size_t i = 0; i < pods.size(); ++i) {
        const auto fate = static_cast<pod_fate>(i);
        if (pods[i] == 0 || fate == pod_fate::stays) continue;
        std::string verb{to_string(fate)};
        if (pods[i] != 1) verb.pop_back();
        words += fmt::format("{}{} {}", words.empty() ? "" : ", ", pods[i], verb);
    }
    return words;
}

} // namespace

std::string count_line(const fate_counts& counts) {
    std::string line;
    for (const pod_fate fate : {pod_fate::starts, pod_fate::moves, pod_fate::restarts, pod_fate::stops}) {
        const std::int64_t pods = counts.of(fate);
        const bool is_named = fate == pod_fate::starts || fate == pod_fate::stops || pods > 0;
        if (!is_named) continue;
        std::string verb{to_string(fate)};
        if (pods != 1) verb.pop_back();
        const char* const noun = pods == 1 ? " pod" : " pods";
        line += fmt::format("{}{}{} {}", line.empty() ? "" : ", ", pods, line.empty() ? noun : "", verb);
    }
    const std::int64_t waiting = counts.of(pod_fate::waits);
    if (waiting == 0) return line + "; none waits.";
    std::string verdicts;
    for (std::size_t i = 0; i < counts.waiting.size(); ++i) {
        if (counts.waiting[i] == 0) continue;
        verdicts += fmt::format("{}{} {}", verdicts.empty() ? "" : ", ", counts.waiting[i],
                                show::to_string(static_cast<show::verdict>(i)));
    }
    return fmt::format("{}; {} still {} ({}).", line, waiting, waiting == 1 ? "waits" : "wait", verdicts);
}

void add_changes(const answer& answered, bool lists_all, std::string& text) {
    line_maker maker{answered, lists_all};
    std::vector<change_line> nodes = maker.node_lines();
    std::vector<change_line> pods = maker.pod_lines();
    std::ranges::stable_sort(pods, {}, [](const change_line& line) { // by verdict, in the order of count_line()
        constexpr std::size_t last = show::verdict_count;
        std::size_t place = 0;
        while (line.words.mark == '.' && place < last &&
               !line.words.details.starts_with(show::to_string(static_cast<show::verdict>(place)))) {
            ++place;
        }
        constexpr std::string_view marks = "+~-.";
        return std::tuple{marks.find(line.words.mark), place};
    });
    std::map<char, std::int64_t> nodes_left_out;
    std::map<char, std::int64_t> pods_left_out;
    if (!lists_all) {
        nodes_left_out = shorten(nodes);
        pods_left_out = shorten(pods);
    }
    line_printer printer{std::max(width_of(nodes), width_of(pods)), text};
    printer.add(nodes, std::move(nodes_left_out), "nodes");
    printer.add(pods, std::move(pods_left_out), "pods");
    if (const std::string others = others_words(answered); !others.empty()) {
        add_line(text, fmt::format("  beside these, pods without GPUs: {}", others));
    }
}

} // namespace vgpuops::whatif
