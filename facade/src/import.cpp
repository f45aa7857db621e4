#include "vgpufacade/import.hpp"

#include <utility>

#include "vgpusim/workload/input_reader.hpp"

namespace vgpufacade {

expected<vgpuops::importing::imported_workload>
import_records(const import_question& question, const vgpuformats::input_source& source, const stop_signal& stop) {
    vgpusim::input_reader from{source, vgpusim::records_kept::none, stop};
    auto accounted =
        from.read_list(question.records, [&](const vgpuformats::list_content& content, const std::string& name) {
            return vgputraces::read_sacct(content, name, question.rows);
        });
    if (!accounted) return unexpected(std::move(accounted).error());
    return vgpuops::importing::workload_of(*std::move(accounted), question.options);
}

} // namespace vgpufacade
