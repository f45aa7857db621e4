// Puts the page of an answer together: the template html/answer.html with its places filled in.
#include "vgpureport/answer.hpp"

#include <algorithm>

#include "answer_text.hpp"
#include "strips.hpp"
#include "template.hpp"
#include "vgpureport_embedded.hpp"

namespace vgpureport {

namespace {

std::vector<std::pair<area, std::int64_t>> parts_of(const page_table& table, const page_row& row) {
    std::vector<std::pair<area, std::int64_t>> parts;
    for (std::size_t i = 0; i < row.parts.size(); ++i) parts.emplace_back(table.areas.at(i), row.parts[i]);
    return parts;
}

/// How wide a cell of text may become: long texts are wrapped.
std::string_view class_of(const page_table& table, std::size_t column) {
    constexpr std::size_t long_text = 24;
    constexpr std::size_t short_text = 12;
    if (table.columns[column].is_number) return " class=\"n\"";
    std::size_t longest = 0;
    for (const page_row& row : table.rows) longest = std::max(longest, row.cells[column].size());
    return longest > long_text ? " class=\"long\"" : longest > short_text ? " class=\"text\"" : "";
}

void append_bars_above(std::string& out, const page_table& table) {
    out += "<ul class=\"shares\">\n";
    for (const page_row& row : table.rows) {
        if (row.parts.empty()) continue;
        out += row.is_sum ? "<li class=\"sum\"><span class=\"who\">" : "<li><span class=\"who\">";
        append_shown(out, row.cells.front());
        out += "</span>";
        append_bar(out, parts_of(table, row));
        out += "</li>\n";
    }
    out += "</ul>\n";
}

void append_table_head(std::string& out, const page_table& table) {
    out += "<thead><tr>";
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
        out += table.columns[c].is_number ? "<th scope=\"col\" class=\"n\">" : "<th scope=\"col\">";
        append_shown(out, table.columns[c].heading);
        out += "</th>";
        if (c == 0 && table.where == bars::in_rows) out += "<th scope=\"col\">Share</th>";
    }
    out += "</tr></thead>\n<tbody>\n";
}

void append_row(std::string& out, const page_table& table, const page_row& row,
                const std::vector<std::string_view>& classes) {
    out += row.is_sum ? "<tr class=\"sum\">" : "<tr>";
    for (std::size_t c = 0; c < row.cells.size(); ++c) {
        out += c == 0 ? "<th scope=\"row\"" : "<td";
        out.append(classes[c]).append(">");
        append_shown(out, row.cells[c]);
        out += c == 0 ? "</th>" : "</td>";
        if (c != 0 || table.where != bars::in_rows) continue;
        out += "<td>";
        if (!row.parts.empty()) append_bar(out, parts_of(table, row));
        out += "</td>";
    }
    out += "</tr>\n";
}

void append_table(std::string& out, const page_table& table, const std::string& id) {
    if (table.where == bars::above) append_bars_above(out, table);
    if (!table.summary.empty()) {
        out += "<details><summary>";
        append_shown(out, table.summary);
        out += "</summary>\n";
    }
    out += "<p class=\"hint swipe\">A wide table scrolls sideways.</p><div class=\"scroll\" tabindex=\"0\" "
           "role=\"region\" "
           "aria-labelledby=\"" +
           id + "\"><table><caption id=\"" + id + "\">";
    append_shown(out, table.caption);
    out += "</caption>";
    append_table_head(out, table);
    std::vector<std::string_view> classes;
    for (std::size_t c = 0; c < table.columns.size(); ++c) classes.push_back(class_of(table, c));
    for (const page_row& row : table.rows) append_row(out, table, row, classes);
    out += "</tbody></table></div>\n";
    if (!table.summary.empty()) out += "</details>\n";
}

/// The colours of a section's bars, each once.
void append_section_key(std::string& out, const page_section& section) {
    std::vector<std::pair<area, std::int64_t>> key;
    if (!section.groups.empty()) key = {{area::used, 0}, {area::free, 0}, {area::out, 0}};
    for (const page_table& table : section.tables) {
        if (!key.empty() || table.where == bars::none) continue;
        for (const area what : table.areas) key.emplace_back(what, 0);
    }
    if (!key.empty()) append_legend(out, key, false);
}

void append_section(std::string& out, const page_section& section, std::size_t number) {
    const std::string id = "s" + std::to_string(number);
    out += "<section class=\"card\" aria-labelledby=\"" + id + "\">\n<h2 id=\"" + id + "\">";
    append_shown(out, section.heading);
    out += "</h2>\n";
    for (const std::string& note : section.notes) {
        out += "<p class=\"note\">";
        append_shown(out, note);
        out += "</p>\n";
    }
    append_section_key(out, section);
    append_strips(out, section.groups);
    for (std::size_t t = 0; t < section.tables.size(); ++t) {
        append_table(out, section.tables[t], id + "t" + std::to_string(t + 1));
    }
    out += "</section>\n";
}

void append_total(std::string& out, const answer_page& page) {
    if (page.total.empty()) return;
    out += "<div class=\"card total\">";
    append_bar(out, page.total);
    append_legend(out, page.total, true);
    out += "</div>\n";
}

} // namespace

std::string render_answer(const answer_page& page) {
    std::string out;
    append_filled(out, embedded::answer_html, [&](std::string_view name) {
        if (name == "title") return append_shown(out, page.title);
        if (name == "kicker") return append_shown(out, page.kicker);
        if (name == "subtitle") return append_shown(out, page.subtitle);
        if (name == "command") return append_shown(out, page.command);
        if (name == "total") return append_total(out, page);
        if (name == "style") {
            out += embedded::base_css;
            out += embedded::answer_css;
        } else if (name == "patterns") {
            out += embedded::patterns_svg;
        } else if (name == "sections") {
            for (std::size_t i = 0; i < page.sections.size(); ++i) append_section(out, page.sections[i], i + 1);
        } else {
            VGA_ASSERT(false, "every place of the page's template is known");
        }
    });
    return out;
}

} // namespace vgpureport
