// Lines that a terminal shows whole.
#include "short_lines.hpp"

#include <algorithm>

#include "vgpualloc/core/utf8.hpp"

namespace vgpuops::show {

namespace {

/// Where the first line of a text of more columns than `width` ends. Best behind a comma or semicolon, then behind a
/// space, then behind a comma inside a word; the first two not where half of the line would be empty. Without any in
/// reach, the first beyond.
std::size_t end_of_line(std::string_view text, std::size_t width) {
    std::size_t clause = 0;
    std::size_t space = 0;
    std::size_t comma = 0;
    std::size_t columns = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool is_space = text[i] == ' ';
        const bool is_inside = text[i] == ',' && i + 1 < text.size() && text[i + 1] != ' ';
        const std::size_t line = columns + (is_space ? 0 : 1);
        if (is_space || is_inside) {
            if (line > width && std::max(space, comma) > 0) break;
            (is_space ? space : comma) = i + 1;
            const bool ends_clause = is_space && i > 0 && (text[i - 1] == ',' || text[i - 1] == ';');
            if (ends_clause && line * 10 >= width * 6) clause = i + 1;
            if (line > width) break;
        }
        columns += vgpualloc::characters_of(text.substr(i, 1));
    }
    if (clause > 0) return clause;
    const std::size_t end = space > width / 2 ? space : std::max(space, comma);
    return end > 0 ? end : text.size();
}

/// Where the last cell of a row begins: behind the last two spaces that stand together. Of a sentence, where it begins.
std::size_t last_cell_of(std::string_view line) {
    const std::size_t gap = line.rfind("  ");
    return gap == std::string_view::npos ? 0 : gap + 2;
}

void add_short(std::string_view line, std::string& text) {
    constexpr std::size_t room_min = 24; // in less, a cell is a column of single words
    const std::size_t begin = last_cell_of(line);
    const std::string_view before = line.substr(0, begin);
    const bool is_sentence = before.find_first_not_of(' ') == std::string_view::npos;
    const std::size_t indent = vgpualloc::characters_of(before) + (is_sentence ? 2 : 0);
    const bool is_whole = line.starts_with("warning: ") || has_command(line); // one line is one warning
    if (vgpualloc::characters_of(line) <= line_width || is_whole || indent + room_min > line_width) {
        (text += line) += '\n';
        return;
    }
    std::string_view rest = line.substr(begin);
    const std::size_t end = end_of_line(rest, line_width - vgpualloc::characters_of(before));
    std::string_view first = rest.substr(0, end);
    while (first.ends_with(' ')) first.remove_suffix(1);
    ((text += before) += first) += '\n';
    rest.remove_prefix(end);
    if (rest.empty()) return;
    for (const std::string& more : lines_within(rest, line_width - indent))
        text += std::string(indent, ' ') + more + "\n";
}

} // namespace

bool has_command(std::string_view text) {
    constexpr std::string_view program = "vgpusim ";
    return text.starts_with(program) || text.find("  vgpusim ") != std::string_view::npos ||
           text.find(": vgpusim ") != std::string_view::npos;
}

std::size_t longest_word_of(std::string_view text) {
    std::size_t longest = 0;
    while (!text.empty()) {
        const std::size_t end = end_of_line(text, 0);
        std::string_view word = text.substr(0, end);
        while (word.ends_with(' ')) word.remove_suffix(1);
        longest = std::max(longest, vgpualloc::characters_of(word));
        text.remove_prefix(end);
    }
    return longest;
}

std::vector<std::string> lines_within(std::string_view text, std::size_t width) {
    const std::string indent(std::min(text.find_first_not_of(' '), text.size()), ' ');
    text.remove_prefix(indent.size());
    std::vector<std::string> lines;
    std::size_t columns = vgpualloc::characters_of(text);
    while (indent.size() + columns > width) {
        const std::size_t end = end_of_line(text, width - std::min(width, indent.size()));
        columns -= vgpualloc::characters_of(text.substr(0, end));
        std::string line{text.substr(0, end)};
        while (line.ends_with(' ')) line.pop_back();
        lines.push_back(indent + line);
        text.remove_prefix(end);
        if (text.empty()) return lines;
    }
    lines.push_back(indent + std::string{text});
    return lines;
}

std::string with_short_lines(std::string_view text) {
    std::string result;
    result.reserve(text.size());
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        add_short(text.substr(0, end), result);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return result;
}

} // namespace vgpuops::show
