// The parts of the report that need no script: cards and tables, as HTML.
#pragma once

#include <string>
#include <vector>

#include "measures.hpp"
#include "vgpureport/report.hpp"

namespace vgpureport {

/// Each function appends one section, or nothing where it would be empty.
void append_cards(std::string& out, const std::vector<report_run>& runs, const std::vector<std::string>& labels,
                  const std::vector<measure>& rows);
void append_comparison(std::string& out, const std::vector<std::string>& labels, const std::vector<measure>& rows);
/// The figures of a single run that have no row of a comparison to stand in.
void append_further_figures(std::string& out, const std::vector<report_run>& runs, const std::vector<measure>& rows);
/// Wait and the like: mean, quantiles and maximum by class and queue, a table for each measure.
void append_spreads(std::string& out, const std::vector<report_run>& runs, const std::vector<std::string>& labels);
void append_models(std::string& out, const std::vector<report_run>& runs, const std::vector<std::string>& labels);
void append_failures(std::string& out, const std::vector<report_run>& runs, const std::vector<std::string>& labels);
/// Pods that arrived and failed, by what they asked for.
void append_classes(std::string& out, const std::vector<report_run>& runs, const std::vector<std::string>& labels);
/// How much of each size of pod was accepted, and how long those waited.
void append_sizes(std::string& out, const std::vector<report_run>& runs, const std::vector<std::string>& labels);
void append_facts(std::string& out, const std::vector<report_run>& runs, const std::vector<std::string>& labels);

} // namespace vgpureport
