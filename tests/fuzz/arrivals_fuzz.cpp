// Tables of arrivals, of events of a cluster, and of queues, failures and autoscalers. A table that is read is written
// and read again as the same rows.
#include "fuzz.hpp"

#include "vgpusim/workload/autoscaling.hpp"
#include "vgpusim/workload/queues.hpp"
#include "vgputraces/arrivals.hpp"
#include "vgputraces/cluster_events.hpp"

namespace {

using fuzzing::require;
using fuzzing::require_readable;

void read_table(std::string_view text) {
    const auto table = vgputraces::read_arrivals(text, "input");
    if (!table) return require_readable(table.error());
    const auto again = vgputraces::read_arrivals(vgputraces::write_arrivals(*table), "written");
    require(again.has_value() && again->rows.size() == table->rows.size(), "a table is written as it was read");
    for (std::size_t i = 0; i < table->rows.size(); ++i) {
        const auto& row = table->rows[i];
        const auto& copy = again->rows[i];
        const bool same_words = table->classes[row.pod_class] == again->classes[copy.pod_class] &&
                                table->queues[row.queue] == again->queues[copy.queue] &&
                                (row.gang == vgputraces::no_gang) == (copy.gang == vgputraces::no_gang);
        require(same_words && row.name == copy.name && row.arrival == copy.arrival && row.duration == copy.duration &&
                    row.estimate == copy.estimate && row.priority == copy.priority,
                "a row is written as it was read");
        require(i == 0 || table->rows[i - 1].arrival <= row.arrival, "rows come in the order of their times");
    }
}

} // namespace

void fuzzing::fuzz(std::string_view input) {
    read_table(input);
    if (const auto events = vgputraces::read_cluster_events(input, "input"); !events) require_readable(events.error());
    if (const auto model = vgputraces::read_failure_model(input, "input"); !model) require_readable(model.error());
    if (const auto queues = vgpusim::read_queues(input, "input"); !queues) require_readable(queues.error());
    if (const auto file = vgpusim::read_autoscaler(input, "input"); !file) require_readable(file.error());
}
