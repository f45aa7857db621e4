// Puts the page together: the template of report/page.html with its places filled in.
#include "vgpureport/report.hpp"

#include <string_view>

#include "data.hpp"
#include "measures.hpp"
#include "tables.hpp"
#include "text.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpureport_embedded.hpp"

namespace vgpusim {
namespace {

/// A minified file without its last line that names a source map: a browser's tools would look for that file.
std::string_view without_source_map(std::string_view file) {
    for (const std::string_view mark : {"//# sourceMappingURL", "/*# sourceMappingURL"}) {
        const auto at = file.rfind(mark);
        if (at != std::string_view::npos) file = file.substr(0, at);
    }
    return file;
}

void append_title(std::string& out, const std::vector<std::string>& labels) {
    for (std::size_t i = 0; i < labels.size(); ++i) {
        if (i != 0) out += i + 1 == labels.size() ? " and " : ", ";
        report::append_html(out, labels[i]);
    }
}

void append_subtitle(std::string& out, const std::vector<report_run>& runs) {
    const report_run& first = runs.front();
    const auto whole = vgpualloc::whole_gpu.count();
    out += report::fixed(static_cast<double>(first.total.count()) / static_cast<double>(whole), 0) + " GPUs";
    if (!first.nodes.empty()) out += " on " + report::grouped(static_cast<std::int64_t>(first.nodes.size())) + " nodes";
    out += " · " + report::grouped(first.pods_arrived) + " pods arrived";
    if (runs.size() > 1) out += " · " + report::grouped(static_cast<std::int64_t>(runs.size())) + " runs compared";
}

/// Appends what stands at the template's place `name`.
void append_place(std::string& out, std::string_view name, const std::vector<report_run>& runs,
                  const std::vector<std::string>& labels, const std::vector<report::measure>& rows) {
    if (name == "title") return append_title(out, labels);
    if (name == "subtitle") return append_subtitle(out, runs);
    if (name == "style") {
        out += without_source_map(embedded::dygraphs_css);
        out += embedded::report_css;
    } else if (name == "cards") {
        report::append_cards(out, runs, labels, rows);
    } else if (name == "comparison") {
        report::append_comparison(out, labels, rows);
    } else if (name == "tables") {
        report::append_models(out, runs, labels);
        report::append_failures(out, runs, labels);
        report::append_facts(out, runs, labels);
    } else if (name == "data") {
        report::append_data(out, runs, labels);
    } else if (name == "licence") {
        report::append_html(out, embedded::dygraphs_licence);
    } else if (name == "dygraphs") {
        out += without_source_map(embedded::dygraphs_js);
    } else if (name == "scripts") {
        out += embedded::charts_js;
        out += embedded::occupancy_js;
    } else {
        VGA_ASSERT(false, "every place of the report's template is known");
    }
}

} // namespace

std::string render_report(const std::vector<report_run>& runs) {
    VGA_ASSERT(!runs.empty(), "a report has at least one run");
    const auto labels = report::labels_of(runs);
    const auto rows = report::measures_of(runs, report::timeline_of(runs));

    std::string out;
    out.reserve(512 * 1024); // a typical page fits, so that nothing is copied while it grows
    // One pass over the template: what is filled in is never looked at again, so no input can name a place.
    std::string_view rest = embedded::page_html;
    for (auto open = rest.find("{{"); open != std::string_view::npos; open = rest.find("{{")) {
        const auto close = rest.find("}}", open);
        VGA_ASSERT(close != std::string_view::npos, "a place of the report's template is closed");
        out += rest.substr(0, open);
        append_place(out, rest.substr(open + 2, close - open - 2), runs, labels, rows);
        rest.remove_prefix(close + 2);
    }
    out += rest;
    return out;
}

} // namespace vgpusim
