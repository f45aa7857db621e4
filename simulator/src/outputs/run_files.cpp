#include "vgpusim/outputs/run_files.hpp"

#include "vgpusim/outputs/chrome_trace.hpp"
#include "vgpusim/outputs/pods_csv.hpp"
#include "vgpusim/outputs/summary_json.hpp"
#include "vgpusim/outputs/timeseries_csv.hpp"
#include "vgpusim/workload/prices.hpp"

namespace vgpusim {

std::vector<std::string> names_of_run_files(const run_config& config) {
    std::vector<std::string> names{run_file_names.begin(), run_file_names.end()};
    if (uses_prices(config)) names.emplace_back(prices_name);
    if (config.trace) names.emplace_back(trace_name);
    return names;
}

named_texts run_files(const run_record& record, const loaded_input& loaded, const run_record* baseline,
                      const stop_signal& stop, bool with_trace) {
    const auto& [pods, timeseries, summary] = run_file_names;
    named_texts files; // a list in braces would be copied, which at a million pods is 120 MB
    files.emplace_back(pods, pods_csv(record, loaded.input, stop));
    files.emplace_back(timeseries, timeseries_csv(record, stop));
    if (stop.raised()) return files;
    files.emplace_back(summary, summary_json(record, loaded, baseline));
    if (record.prices) files.emplace_back(prices_name, write_prices(*record.prices));
    if (!(record.config.trace || with_trace) || stop.raised()) return files;
    files.emplace_back(trace_name, chrome_trace(trace_of(record, loaded.input, trace_spans_max, stop), stop));
    return files;
}

} // namespace vgpusim
