#include "vgpufacade/import.hpp"

#include <utility>

#include "vgpuformats/some_names.hpp"
#include "vgpusim/workload/input_reader.hpp"
#include "vgputraces/audit_log.hpp"
#include "vgputraces/kube_metrics.hpp"
#include "vgputraces/kueue_workloads.hpp"
#include "vgputraces/sacct.hpp"

namespace vgpufacade {

namespace {

using vgputraces::accounting;

expected<accounting> read_one(const import_question& question, vgpusim::input_reader& from) {
    if (question.records.size() != 1) {
        return unexpected(bad_value(error_code::unsupported, "records",
                                    std::to_string(question.records.size()) + " inputs",
                                    "one input with what sacct -P printed"));
    }
    return from.read_list(question.records.front(),
                          [&](const vgpuformats::list_content& content, const std::string& name) {
                              return vgputraces::read_sacct(content, name, question.rows);
                          });
}

/// Inputs one after the other, so that only one is in memory.
template <class Reader>
expected<accounting> read_all(const import_question& question, vgpusim::input_reader& from) {
    Reader reader{question.rows};
    for (const std::string& records : question.records) {
        auto added = from.read_list(records, [&](const vgpuformats::list_content& content, const std::string& name) {
            return reader.add(content, name);
        });
        if (!added) return unexpected(std::move(added).error());
    }
    auto read = reader.finish();
    if (!read && read.error().where.empty()) {
        return unexpected(std::move(read).error().at(vgpuformats::joined(question.records)));
    }
    return read;
}

expected<accounting> read_records(const import_question& question, vgpusim::input_reader& from) {
    switch (question.source) {
    case vgputraces::accounting_source::prometheus:
        return read_all<vgputraces::kube_metrics_reader>(question, from);
    case vgputraces::accounting_source::audit:
        return read_all<vgputraces::audit_log_reader>(question, from);
    case vgputraces::accounting_source::kueue:
        return read_all<vgputraces::kueue_reader>(question, from);
    case vgputraces::accounting_source::sacct:
        break;
    }
    return read_one(question, from);
}

} // namespace

expected<vgpuops::importing::imported_workload>
import_records(const import_question& question, const vgpuformats::input_source& source, const stop_signal& stop) {
    vgpusim::input_reader from{source, vgpusim::records_kept::none, stop};
    auto accounted = read_records(question, from);
    if (!accounted) return unexpected(std::move(accounted).error());
    return vgpuops::importing::workload_of(*std::move(accounted), question.options);
}

} // namespace vgpufacade
