#include "tables.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "text.hpp"

namespace vgpureport {
namespace {

void open_section(std::string& out, std::string_view id, std::string_view title) {
    out += "<section class=\"card\" id=\"";
    out += id;
    out += "\"><h2>";
    out += title;
    out += "</h2><p class=\"hint sideways\">The table is wider than the screen: it scrolls sideways →</p>"
           "<div class=\"scroll\" tabindex=\"0\"><table>";
}

void close_section(std::string& out) { out += "</tbody></table></div></section>\n"; }

void append_cell(std::string& out, std::string_view text, bool number) {
    out += number ? "<td class=\"n\">" : "<td>";
    append_html(out, text);
    out += "</td>";
}

/// The heading of a table with one column per run. A table of one run says what its numbers are instead.
void append_run_heads(std::string& out, std::string_view first, const std::vector<std::string>& labels,
                      std::string_view only, bool numbers) {
    out += "<thead><tr><th>";
    out += first;
    out += "</th>";
    for (const std::string& label : labels) {
        out += numbers ? "<th class=\"n\">" : "<th>";
        append_html(out, labels.size() == 1 ? only : std::string_view{label});
        out += "</th>";
    }
    out += "</tr></thead><tbody>";
}

/// The keys of all runs, each once, in the order they first appear.
template <class Value>
std::vector<std::string_view> keys_of(const std::vector<report_run>& runs,
                                      std::vector<std::pair<std::string, Value>> report_run::* list) {
    std::vector<std::string_view> keys;
    for (const report_run& run : runs) {
        for (const auto& [key, value] : run.*list) {
            if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
        }
    }
    return keys;
}

template <class Value>
const Value* find(const std::vector<std::pair<std::string, Value>>& list, std::string_view key) {
    const auto at = std::find_if(list.begin(), list.end(), [key](const auto& entry) { return entry.first == key; });
    return at == list.end() ? nullptr : &at->second;
}

/// A headline number of every run; with several runs each stands beside its colour in the charts.
template <class Shown, class Detail>
void append_card(std::string& out, std::string_view title, const std::vector<std::string>& labels, Shown shown,
                 Detail detail) {
    out += "<div class=\"card headline\"><h3>";
    append_html(out, title);
    out += "</h3>";
    for (std::size_t run = 0; run < labels.size(); ++run) {
        out += "<p><strong>";
        append_html(out, shown(run));
        out += "</strong> <span class=\"detail\">";
        if (labels.size() > 1) {
            out += "<i class=\"swatch c" + std::to_string(run % 8) + "\"></i>";
            append_html(out, labels[run]);
        } else {
            append_html(out, detail(run));
        }
        out += "</span></p>";
    }
    out += "</div>\n";
}

std::string share_of(std::int64_t part, std::int64_t whole) {
    return fixed(100.0 * static_cast<double>(part) / static_cast<double>(whole), 2) + " %";
}

std::string placed_detail(const report_run& run) {
    std::string text = "of " + grouped(run.pods_arrived);
    if (run.pods_arrived > 0) text += ", " + share_of(run.pods_placed, run.pods_arrived);
    return text;
}

// A trace with more models or queues than this has garbage in a column; the page stays readable.
constexpr std::size_t model_rows_max = 200;

/// What a model's GPUs are doing at the moment that is shown.
struct model_use {
    std::int64_t nodes = 0;
    std::int64_t gpus = 0;
    std::int64_t used_milli = 0;
    std::int64_t empty = 0;
    std::int64_t full = 0;
};

std::map<std::string_view, model_use> use_by_model(const std::vector<report_node>& nodes) {
    std::map<std::string_view, model_use> models;
    for (const report_node& node : nodes) {
        if (node.used.empty()) continue;
        model_use& use = models[node.model];
        ++use.nodes;
        use.gpus += static_cast<std::int64_t>(node.used.size());
        for (const auto used : node.used) {
            use.used_milli += used.count();
            if (used.count() <= 0) ++use.empty;
            if (used >= vgpualloc::whole_gpu) ++use.full;
        }
    }
    return models;
}

/// Three significant digits or more.
std::string readable(double value) {
    const double size = std::abs(value);
    return fixed(value, size < 10.0 ? 2 : size < 1000.0 ? 1 : 0);
}

/// A cell with a ratio, or with a duration in the largest unit of which two or more have passed; the pointer then shows
/// the seconds.
void append_spread_cell(std::string& out, double value, const std::string& unit) {
    constexpr std::pair<double, std::string_view> units[] = {{86'400.0, " d"}, {3'600.0, " h"}, {60.0, " min"}};
    if (unit != "s" || !std::isfinite(value)) {
        const std::string text = readable(value);
        return append_cell(out, unit.empty() || text == no_value ? text : text + " " + unit, true);
    }
    std::string text = readable(value) + " s";
    for (const auto& [length, name] : units) {
        if (value < 2.0 * length) continue;
        text = readable(value / length).append(name);
        break;
    }
    out += "<td class=\"n\" title=\"" + fixed(value, 3) + " s\">" + html(text) + "</td>";
}

/// The rows of one measure: those that belong together in all runs stand below each other.
void append_spread_rows(std::string& out, const std::vector<report_run>& runs, const std::vector<std::string>& labels,
                        std::string_view name) {
    std::vector<std::pair<std::string_view, std::string_view>> groups;
    for (const report_run& run : runs) {
        for (const report_spread& row : run.spreads) {
            const std::pair<std::string_view, std::string_view> group{row.by, row.group};
            const bool is_known = std::find(groups.begin(), groups.end(), group) != groups.end();
            if (row.measure == name && !is_known) groups.push_back(group);
        }
    }
    out += runs.size() > 1 ? "<thead><tr><th>Of</th><th>Run</th>" : "<thead><tr><th>Of</th>";
    for (const char* head : {"Jobs", "Mean", "Median", "p95", "p99", "Max"}) {
        out.append("<th class=\"n\">").append(head).append("</th>");
    }
    out += "</tr></thead><tbody>";
    if (groups.size() > model_rows_max) groups.resize(model_rows_max);
    for (const auto& [by, group] : groups) {
        for (std::size_t run = 0; run < runs.size(); ++run) {
            for (const report_spread& row : runs[run].spreads) {
                if (row.measure != name || row.by != by || row.group != group) continue;
                out += by.empty() ? "<tr class=\"all\">" : "<tr>";
                append_cell(out, by.empty() ? std::string{"all"} : row.by + " " + row.group, false);
                if (runs.size() > 1) append_cell(out, labels[run], false);
                append_cell(out, grouped(row.jobs), true);
                for (const double value : {row.mean, row.p50, row.p95, row.p99, row.max}) {
                    append_spread_cell(out, value, row.unit);
                }
                out += "</tr>";
            }
        }
    }
}

void append_model_row(std::string& out, std::string_view label, std::string_view model, const model_use& use,
                      bool with_label) {
    out += "<tr>";
    append_cell(out, model.empty() ? std::string_view{"unknown model"} : model, false);
    if (with_label) append_cell(out, label, false);
    append_cell(out, grouped(use.nodes), true);
    append_cell(out, grouped(use.gpus), true);
    append_cell(out, fixed(static_cast<double>(use.used_milli) / (10.0 * static_cast<double>(use.gpus)), 2) + " %",
                true);
    append_cell(out, grouped(use.empty), true);
    append_cell(out, grouped(use.gpus - use.empty - use.full), true);
    append_cell(out, grouped(use.full), true);
    out += "</tr>";
}

} // namespace

void append_cards(std::string& out, const std::vector<report_run>& runs, const std::vector<std::string>& labels,
                  const std::vector<measure>& rows) {
    // A measure may have several rows: the mean and the peak.
    const auto show = [&](std::string_view name, std::string_view detail) {
        for (const measure& row : rows) {
            if (row.name != name) continue;
            append_card(
                out, row.title(), labels, [&](std::size_t run) { return row.shown(run); },
                [&](std::size_t) { return detail; });
        }
    };
    out += labels.size() > 1 ? "<div class=\"headlines several\">\n" : "<div class=\"headlines\">\n";
    show("GPUs served", "what running pods asked for, of all GPUs");
    show("GPUs accepted, of those asked for", "asked for by the pods that were placed");
    show("GPUs allocated", "of all GPUs");
    show("Fragmentation, of all GPUs", "idle, but of no use to a typical pod");
    append_card(
        out, "Pods placed", labels, [&](std::size_t run) { return grouped(runs[run].pods_placed); },
        [&](std::size_t run) { return placed_detail(runs[run]); });
    show("Pods not placed", "");
    for (const measure& row : rows) {
        if (row.is_headline) show(row.name, "");
    }
    show("Decisions per second", "measured");
    append_card(
        out, "Decision latency, on this machine", labels,
        [&](std::size_t run) {
            const auto us = [](double value) { return value > 0.0 ? fixed(value, 2) : std::string{no_value}; };
            return us(runs[run].latency_p50_us) + " / " + us(runs[run].latency_p99_us) + " µs";
        },
        [](std::size_t) { return "median / 99th percentile"; });
    out += "</div>\n";
}

void append_comparison(std::string& out, const std::vector<std::string>& labels, const std::vector<measure>& rows) {
    if (labels.size() < 2) return;
    open_section(out, "comparison", "Comparison");
    out += "<thead><tr><th>Measure</th>";
    for (const std::string& label : labels) {
        out += "<th class=\"n\">";
        append_html(out, label);
        out += "</th>";
    }
    out += "<th class=\"n\">Best against next best</th></tr></thead><tbody>";
    for (const measure& row : rows) {
        const verdict result = judge(row);
        out += "<tr>";
        append_cell(out, row.title(), false);
        for (std::size_t run = 0; run < labels.size(); ++run) {
            out += result.best[run] ? "<td class=\"n best\"><span title=\"best\">★</span> " : "<td class=\"n\">";
            append_html(out, row.shown(run));
            out += "</td>";
        }
        append_cell(out, result.margin, true);
        out += "</tr>";
    }
    out +=
        "</tbody></table></div><p class=\"hint\">Each run is of one seed. With another seed these numbers are others: "
        "a lead below " +
        fixed(lead_min_pct, 0) +
        " percentage point may be chance and gets no star. Nor does a count of pods: who turns away large ones, which "
        "are few, "
        "places more.</p></section>\n";
}

void append_further_figures(std::string& out, const std::vector<report_run>& runs, const std::vector<measure>& rows) {
    if (runs.size() > 1 || runs.front().more_figures.empty()) return; // several runs have them in their comparison
    open_section(out, "figures", "Further figures");
    out += "<thead><tr><th>Figure</th><th class=\"n\">Value</th></tr></thead><tbody>";
    for (const report_figure& figure : runs.front().more_figures) {
        const auto row =
            std::find_if(rows.begin(), rows.end(), [&](const measure& m) { return m.name == figure.name; });
        out += "<tr>";
        append_cell(out, figure.name, false);
        append_cell(out, row->shown(0), true);
        out += "</tr>";
    }
    close_section(out);
}

void append_spreads(std::string& out, const std::vector<report_run>& runs, const std::vector<std::string>& labels) {
    std::vector<std::string_view> measures;
    for (const report_run& run : runs) {
        for (const report_spread& row : run.spreads) {
            if (std::find(measures.begin(), measures.end(), row.measure) == measures.end()) {
                measures.push_back(row.measure);
            }
        }
    }
    for (std::size_t i = 0; i < measures.size(); ++i) {
        open_section(out, "spread-" + std::to_string(i), html(measures[i]));
        append_spread_rows(out, runs, labels, measures[i]);
        close_section(out);
    }
}

void append_models(std::string& out, const std::vector<report_run>& runs, const std::vector<std::string>& labels) {
    std::vector<std::map<std::string_view, model_use>> uses;
    std::map<std::string_view, model_use> all; // which models there are
    for (const report_run& run : runs) {
        uses.push_back(use_by_model(run.nodes));
        all.insert(uses.back().begin(), uses.back().end());
    }
    if (all.empty()) return;
    open_section(out, "models", std::string{"GPU models "}.append(moment_shown(timeline_of(runs))));
    out += runs.size() > 1 ? "<thead><tr><th>Model</th><th>Run</th>" : "<thead><tr><th>Model</th>";
    out +=
        "<th class=\"n\">Nodes</th><th class=\"n\">GPUs</th><th class=\"n\">Allocated</th>"
        "<th class=\"n\">Empty GPUs</th><th class=\"n\">Partly used</th><th class=\"n\">Full</th></tr></thead><tbody>";
    std::size_t shown = 0;
    for (const auto& [model, ignored] : all) {
        if (++shown > model_rows_max) {
            out +=
                "<tr><td>" + grouped(static_cast<std::int64_t>(all.size() - model_rows_max)) + " more models</td></tr>";
            break;
        }
        for (std::size_t run = 0; run < runs.size(); ++run) {
            const auto use = uses[run].find(model);
            if (use != uses[run].end()) append_model_row(out, labels[run], model, use->second, runs.size() > 1);
        }
    }
    close_section(out);
}

void append_failures(std::string& out, const std::vector<report_run>& runs, const std::vector<std::string>& labels) {
    const auto reasons = keys_of(runs, &report_run::failures);
    if (reasons.empty()) return;
    open_section(out, "failures", "Pods not placed, by reason");
    append_run_heads(out, "Reason", labels, "Pods", true);
    for (const std::string_view reason : reasons) {
        out += "<tr><td><code>";
        append_html(out, reason);
        out += "</code></td>";
        for (const report_run& run : runs) {
            const auto* pods = find(run.failures, reason);
            append_cell(out, grouped(pods == nullptr ? 0 : *pods), true);
        }
        out += "</tr>";
    }
    close_section(out);
}

void append_classes(std::string& out, const std::vector<report_run>& runs, const std::vector<std::string>& labels) {
    if (runs.front().classes.empty()) return;
    open_section(out, "classes", "Pods by what they asked for");
    out += "<thead><tr><th>GPUs asked for</th><th class=\"n\">Arrived</th>";
    for (const std::string& label : labels) {
        out += "<th class=\"n\">Not placed";
        if (labels.size() > 1) append_html(out, ", " + label);
        out += "</th>";
    }
    out += "</tr></thead><tbody>";
    for (std::size_t kind = 0; kind < runs.front().classes.size(); ++kind) {
        const report_class& first = runs.front().classes[kind];
        out += "<tr>";
        append_cell(out, first.name, false);
        append_cell(out, grouped(first.arrived), true);
        for (const report_run& run : runs) {
            // Runs of one report replay the same pods.
            const bool same = kind < run.classes.size() && run.classes[kind].name == first.name;
            append_cell(out, same ? grouped(run.classes[kind].failed) : std::string{no_value}, true);
        }
        out += "</tr>";
    }
    close_section(out);
}

void append_sizes(std::string& out, const std::vector<report_run>& runs, const std::vector<std::string>& labels) {
    if (runs.front().sizes.empty()) return;
    bool has_waits = false;
    for (const report_run& run : runs) {
        for (const report_size& size : run.sizes) has_waits = has_waits || size.wait_s;
    }
    open_section(out, "sizes", "Accepted pods, by GPUs asked for");
    out += "<thead><tr><th>GPUs asked for</th><th class=\"n\">Arrived</th>";
    const auto append_heads = [&](std::string_view figure) {
        for (const std::string& label : labels) {
            out.append("<th class=\"n\">").append(figure);
            if (labels.size() > 1) append_html(out, ", " + label);
            out += "</th>";
        }
    };
    append_heads("Accepted");
    if (has_waits) append_heads("Mean wait");
    out += "</tr></thead><tbody>";
    for (std::size_t i = 0; i < runs.front().sizes.size(); ++i) {
        const report_size& first = runs.front().sizes[i];
        out += "<tr>";
        append_cell(out, first.name, false);
        append_cell(out, grouped(first.arrived), true);
        // Runs of one report replay the same pods.
        const auto size_of = [&](const report_run& run) {
            return i < run.sizes.size() && run.sizes[i].name == first.name ? &run.sizes[i] : nullptr;
        };
        for (const report_run& run : runs) {
            const report_size* size = size_of(run);
            const bool is_there = size != nullptr && size->arrived > 0;
            append_cell(out,
                        is_there ? grouped(size->accepted) + ", " + share_of(size->accepted, size->arrived)
                                 : std::string{no_value},
                        true);
        }
        for (const report_run& run : runs) {
            if (!has_waits) break;
            const report_size* size = size_of(run);
            size != nullptr && size->wait_s ? append_spread_cell(out, *size->wait_s, "s")
                                            : append_cell(out, no_value, true);
        }
        out += "</tr>";
    }
    close_section(out);
}

void append_facts(std::string& out, const std::vector<report_run>& runs, const std::vector<std::string>& labels) {
    const auto names = keys_of(runs, &report_run::facts);
    if (names.empty()) return;
    open_section(out, "facts", "Configuration and inputs");
    append_run_heads(out, "Name", labels, "Value", false);
    for (const std::string_view name : names) {
        const auto value_of = [&](const report_run& run) -> std::string_view {
            const auto* value = find(run.facts, name);
            return value == nullptr ? no_value : std::string_view{*value};
        };
        const bool differs = std::any_of(
            runs.begin(), runs.end(), [&](const report_run& run) { return value_of(run) != value_of(runs.front()); });
        out += differs ? "<tr class=\"differs\">" : "<tr>";
        append_cell(out, name, false);
        for (const report_run& run : runs) append_cell(out, value_of(run), false);
        out += "</tr>";
    }
    close_section(out);
}

} // namespace vgpureport
