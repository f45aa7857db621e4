// Puts the page together: the template html/page.html with its places filled in.
#include "vgpureport/report.hpp"

#include <string_view>

#include "data.hpp"
#include "measures.hpp"
#include "tables.hpp"
#include "template.hpp"
#include "text.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpureport_embedded.hpp"

namespace vgpureport {
namespace {

constexpr std::string_view curves_left_out = "<p class=\"card note\">The curves are left out, because this vgpusim was "
                                             "built without dygraphs, which draws them. "
                                             "The numbers are in the tables below and in timeseries.csv.</p>\n";

/// A minified file without its last line if that names a source map: a browser's tools would look for that file.
std::string_view without_source_map(std::string_view file) {
    const auto start = file.rfind('\n', file.find_last_not_of('\n')) + 1; // 0 where there is one line
    const std::string_view last = file.substr(start);
    const bool names_one = last.starts_with("//# sourceMappingURL") || last.starts_with("/*# sourceMappingURL");
    return names_one ? file.substr(0, start) : file;
}

void append_title(std::string& out, const std::vector<std::string>& labels) {
    for (std::size_t i = 0; i < labels.size(); ++i) {
        if (i != 0) out += i + 1 == labels.size() ? " and " : ", ";
        append_html(out, labels[i]);
    }
}

void append_subtitle(std::string& out, const std::vector<report_run>& runs) {
    const report_run& first = runs.front();
    const auto whole = vgpualloc::whole_gpu.count();
    out += fixed(static_cast<double>(first.total.count()) / static_cast<double>(whole), 0) + " GPUs";
    if (!first.nodes.empty()) out += " on " + grouped(static_cast<std::int64_t>(first.nodes.size())) + " nodes";
    out += " · " + grouped(first.pods_arrived) + " pods arrived";
    if (runs.size() > 1) out += " · " + grouped(static_cast<std::int64_t>(runs.size())) + " runs compared";
}

void append_licence(std::string& out, const chart_library& charts) {
    if (charts.script.empty()) return;
    out += "<details><summary>Licence of dygraphs, which draws the curves</summary><pre>";
    append_html(out, charts.licence);
    out += "</pre></details>\n";
}

void append_scripts(std::string& out, const chart_library& charts) {
    if (!charts.script.empty()) {
        out += "<script>\n";
        out += without_source_map(charts.script);
        out += "\n</script>\n";
    }
    out += "<script>\n";
    if (!charts.script.empty()) out += embedded::charts_js;
    out += embedded::history_js;
    out += embedded::picture_js;
    out += embedded::closeup_js;
    out += embedded::occupancy_js;
    out += "\n</script>\n";
}

/// What every place of the template is filled from.
struct page_content {
    const std::vector<report_run>& runs;
    const chart_library& charts;
    std::vector<std::string> labels;
    std::vector<measure> rows;
    vgpualloc::stop_signal stop;
};

/// Appends what stands at the template's place `name`.
void append_place(std::string& out, std::string_view name, const page_content& content) {
    const auto& [runs, charts, labels, rows, stop] = content;
    if (name == "title") return append_title(out, labels);
    if (name == "subtitle") return append_subtitle(out, runs);
    if (name == "style") {
        out += without_source_map(charts.style);
        out += embedded::base_css;
        out += embedded::report_css;
    } else if (name == "answer") {
        for (const report_run& run : runs) {
            if (!run.answer.empty()) out += "<p class=\"card answer\">" + html(run.answer) + "</p>\n";
        }
    } else if (name == "cards") {
        append_cards(out, runs, labels, rows);
    } else if (name == "comparison") {
        append_comparison(out, labels, rows);
    } else if (name == "moment") {
        out += moment_shown(timeline_of(runs));
    } else if (name == "curves") {
        out += charts.script.empty() ? curves_left_out : embedded::curves_html;
    } else if (name == "tables") {
        append_further_figures(out, runs, rows);
        append_spreads(out, runs, labels);
        append_models(out, runs, labels);
        append_failures(out, runs, labels);
        append_sizes(out, runs, labels);
        append_classes(out, runs, labels);
        append_facts(out, runs, labels);
    } else if (name == "data") {
        append_data(out, runs, labels, rows, stop);
    } else if (name == "licence") {
        append_licence(out, charts);
    } else if (name == "scripts") {
        append_scripts(out, charts);
    } else {
        VGA_ASSERT(false, "every place of the report's template is known");
    }
}

} // namespace

chart_library built_in_charts() {
    return {.script = embedded::dygraphs_js, .style = embedded::dygraphs_css, .licence = embedded::dygraphs_licence};
}

std::string render_report(const std::vector<report_run>& runs, const chart_library& charts,
                          const vgpualloc::stop_signal& stop) {
    VGA_ASSERT(!runs.empty(), "a report has at least one run");
    const page_content content{.runs = runs,
                               .charts = charts,
                               .labels = labels_of(runs),
                               .rows = measures_of(runs, timeline_of(runs)),
                               .stop = stop};
    std::string out;
    out.reserve(512 * 1024); // a typical page fits, so that nothing is copied while it grows
    append_filled(out, embedded::page_html, [&](std::string_view name) { append_place(out, name, content); });
    return out;
}

} // namespace vgpureport
