// Reading and writing the openb lists.
#include "vgputraces/openb.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "csv_jobs.hpp"
#include "name_set.hpp"
#include "vgpualloc/model/limits.hpp"

namespace vgputraces {

using vgpuformats::csv_reader;
using vgpuformats::list_content;

namespace {

/// Large enough for any machine, small enough that sums over a million pods stay far from 2^63.
constexpr std::int64_t amount_max = 1'000'000'000'000;
constexpr std::int64_t memory_mib_max = vgpualloc::host_memory_max.count() >> 20U; ///< beyond it no pod can be decided
constexpr std::int64_t gpus_max = vgpualloc::devices_per_node_max;
static_assert(amount_max <= vgpualloc::host_cpu_max.count());

expected<std::int64_t> number(const csv_reader& csv, std::size_t column, std::int64_t max) {
    if (const std::int64_t* const whole = csv.whole(column); whole != nullptr && *whole >= 0 && *whole <= max) {
        return *whole;
    }
    const std::string_view text = csv.field(column);
    std::int64_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure == std::errc{} && end == text.data() + text.size() && value >= 0 && value <= max) return value;
    const auto code =
        failure == std::errc::result_out_of_range || (failure == std::errc{} && end == text.data() + text.size())
            ? error_code::out_of_range
            : error_code::malformed;
    const std::string range = "a whole number from 0 to " + std::to_string(max);
    if (text.empty()) return unexpected(csv.field_error(column, error_code::missing, "missing; expected " + range));
    return unexpected(csv.field_error(column, code, range));
}

/// An optional time column: absent or empty gives nothing.
expected<std::optional<ticks>> seconds(const csv_reader& csv, std::size_t column) {
    if (column == csv_reader::no_column || csv.field(column).empty()) return std::optional<ticks>{};
    const auto value = number(csv, column, seconds_max);
    if (!value) return unexpected(value.error());
    return std::optional<ticks>{*value * ticks_per_second};
}

/// Names must be given, unique, and free of control characters, which would break the lines of output files.
class name_check {
public:
    explicit name_check(std::size_t rows) { seen_.reserve(rows); }

    expected<void> check(const csv_reader& csv, std::size_t column) {
        const std::string_view name = csv.field(column);
        if (name.empty()) return unexpected(csv.field_error(column, error_code::missing, "missing; expected a name"));
        if (!is_printable_text(name)) {
            return unexpected(
                csv.field_error(column, error_code::malformed, "a name in UTF-8 without control characters"));
        }
        if (seen_.contains(name)) {
            return unexpected(csv.field_error(column, error_code::duplicate, "a name that occurs once"));
        }
        return {};
    }
    /// The row counts, so that no other one may have its name. Of columns of numbers the text does not stay.
    void take(const csv_reader& csv, std::size_t column) {
        const std::string_view name = csv.field(column);
        seen_.add(csv.whole(column) == nullptr ? name : numbers_.emplace_back(name));
    }

private:
    name_set seen_;
    std::deque<std::string> numbers_; // names that are numbers
};

/// The models in a field, '|' between them, as they can be the names of models.
expected<void> check_models(const csv_reader& csv, std::size_t column) {
    std::string_view rest = csv.field(column);
    if (rest.empty()) return {};
    while (true) {
        const std::size_t bar = rest.find('|');
        const std::string_view model = rest.substr(0, bar);
        if (model.empty() || model.starts_with(' ') || model.ends_with(' ') || !is_printable_text(model)) {
            return unexpected(csv.field_error(column, error_code::malformed,
                                              "models without spaces around them and without control characters"));
        }
        if (bar == std::string_view::npos) return {};
        rest.remove_prefix(bar + 1);
    }
}

expected<openb_node> read_node(const csv_reader& csv, const std::array<std::size_t, 5>& columns) {
    const auto cpu = number(csv, columns[1], amount_max);
    if (!cpu) return unexpected(cpu.error());
    const auto memory = number(csv, columns[2], memory_mib_max);
    if (!memory) return unexpected(memory.error());
    const auto gpus = number(csv, columns[3], gpus_max);
    if (!gpus) return unexpected(gpus.error());
    if (const auto checked = check_models(csv, columns[4]); !checked) return unexpected(checked.error());
    openb_node node{.name = std::string{csv.field(columns[0])},
                    .cpu = milli_cpu{*cpu},
                    .memory = mib{*memory},
                    .gpu_count = static_cast<int>(*gpus),
                    .model = std::string{csv.field(columns[4])}};
    if (node.gpu_count > 0 && node.model.empty()) {
        return unexpected(csv.field_error(columns[4], error_code::missing,
                                          "missing; expected a GPU model, because the node has GPUs"));
    }
    return node;
}

struct pod_columns {
    std::array<std::size_t, 5> required{};
    std::size_t gpu_spec = csv_reader::no_column;
    std::size_t creation_time = csv_reader::no_column;
    std::size_t deletion_time = csv_reader::no_column;
};

expected<openb_pod> read_pod(const csv_reader& csv, const pod_columns& columns) {
    const auto cpu = number(csv, columns.required[1], amount_max);
    if (!cpu) return unexpected(cpu.error());
    const auto memory = number(csv, columns.required[2], memory_mib_max);
    if (!memory) return unexpected(memory.error());
    const auto gpus = number(csv, columns.required[3], gpus_max);
    if (!gpus) return unexpected(gpus.error());
    const auto milli = number(csv, columns.required[4], amount_max);
    if (!milli) return unexpected(milli.error());
    const auto creation = seconds(csv, columns.creation_time);
    if (!creation) return unexpected(creation.error());
    const auto deletion = seconds(csv, columns.deletion_time);
    if (!deletion) return unexpected(deletion.error());
    if (*creation && *deletion && **deletion < **creation) {
        return unexpected(
            csv.field_error(columns.deletion_time, error_code::out_of_range, "a time not before creation_time"));
    }
    if (columns.gpu_spec != csv_reader::no_column) {
        if (const auto checked = check_models(csv, columns.gpu_spec); !checked) return unexpected(checked.error());
    }
    const bool uses_gpu = *gpus > 0 && *milli > 0;
    return openb_pod{.name = std::string{csv.field(columns.required[0])},
                     .cpu = milli_cpu{*cpu},
                     .memory = mib{*memory},
                     .num_gpu = uses_gpu ? static_cast<int>(*gpus) : 0,
                     .gpu_milli = milli_gpu{uses_gpu ? std::min<std::int64_t>(*milli, 1000) : 0},
                     .gpu_spec = columns.gpu_spec == csv_reader::no_column || !uses_gpu
                                     ? std::string{}
                                     : std::string{csv.field(columns.gpu_spec)},
                     .creation_time = *creation,
                     .deletion_time = *deletion};
}

expected<void> find_required(const csv_reader& csv, const std::array<std::string_view, 5>& names,
                             std::array<std::size_t, 5>& columns) {
    for (std::size_t i = 0; i < names.size(); ++i) {
        columns[i] = csv.column(names[i]);
        if (columns[i] == csv_reader::no_column) return unexpected(csv.missing_column(names[i]));
    }
    return {};
}

void append(std::string& out, std::int64_t value) {
    std::array<char, 24> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
    out.append(buffer.data(), end);
}

void append_seconds(std::string& out, const std::optional<ticks>& time) {
    if (time) append(out, time->count() / ticks_per_second.count());
}

/// How many rows to make room for. A text of empty lines is no reason for more than that.
std::size_t rows_of(const list_content& content) {
    if (content.table != nullptr) return content.table->rows();
    constexpr std::ptrdiff_t rows_max = 1 << 21;
    constexpr std::size_t bytes_min = 10; // "a,0,0,0,0" and its end
    const std::ptrdiff_t lines = std::min(rows_max, std::ranges::count(content.text, '\n'));
    return std::min(static_cast<std::size_t>(lines), content.text.size() / bytes_min);
}

/// What read() makes of each row that is left, of about so many; no name stands in two of them.
template <class Row, class Read>
expected<void> read_named_rows(csv_reader& csv, std::size_t about, std::string_view what, std::size_t name_column,
                               const row_options& options, skipped_rows& skipped, std::vector<Row>& rows,
                               const Read& read) {
    name_check names{about};
    rows.reserve(about);
    return read_rows(csv, what, options, skipped, rows, [&](std::int64_t) -> expected<Row> {
        if (const auto named = names.check(csv, name_column); !named) return unexpected(named.error());
        auto row = read();
        if (row) names.take(csv, name_column);
        return row;
    });
}

} // namespace

expected<std::vector<openb_node>> read_openb_nodes(const list_content& content, const std::string& name) {
    auto csv = csv_reader::open(name, content);
    if (!csv) return unexpected(csv.error());
    std::array<std::size_t, 5> columns{};
    if (const auto complete = find_required(*csv, {"sn", "cpu_milli", "memory_mib", "gpu", "model"}, columns);
        !complete) {
        return unexpected(complete.error());
    }
    std::vector<openb_node> nodes;
    skipped_rows none;
    const auto read = read_named_rows(*csv, rows_of(content), "node", columns[0], {}, none, nodes,
                                      [&] { return read_node(*csv, columns); });
    if (!read) return unexpected(read.error());
    return nodes;
}

expected<openb_pod_list> read_openb_pods(const list_content& content, const std::string& name,
                                         const row_options& options) {
    auto csv = csv_reader::open(name, content);
    if (!csv) return unexpected(csv.error());
    pod_columns columns;
    if (const auto complete =
            find_required(*csv, {"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"}, columns.required);
        !complete) {
        return unexpected(complete.error());
    }
    columns.gpu_spec = csv->column("gpu_spec");
    columns.creation_time = csv->column("creation_time");
    columns.deletion_time = csv->column("deletion_time");
    openb_pod_list list;
    const auto read = read_named_rows(*csv, rows_of(content), "pod", columns.required[0], options, list.skipped,
                                      list.pods, [&] { return read_pod(*csv, columns); });
    if (!read) return unexpected(read.error());
    return list;
}

std::string write_openb_nodes(const std::vector<openb_node>& nodes) {
    std::string out = "sn,cpu_milli,memory_mib,gpu,model\n";
    for (const openb_node& node : nodes) {
        out += node.name;
        for (const std::int64_t value : {node.cpu.count(), node.memory.count(), std::int64_t{node.gpu_count}}) {
            out += ',';
            append(out, value);
        }
        out += ',' + node.model + '\n';
    }
    return out;
}

std::string_view openb_pods_header() noexcept {
    return "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,"
           "scheduled_time\n";
}

void append_openb_pod(std::string& out, const openb_pod& pod) {
    out += pod.name;
    for (const std::int64_t value :
         {pod.cpu.count(), pod.memory.count(), std::int64_t{pod.num_gpu}, pod.gpu_milli.count()}) {
        out += ',';
        append(out, value);
    }
    out += ',';
    out += pod.gpu_spec;
    out += ",LS,Running,";
    append_seconds(out, pod.creation_time);
    out += ',';
    append_seconds(out, pod.deletion_time);
    out += ",\n";
}

std::string write_openb_pods(const std::vector<openb_pod>& pods) {
    std::string out{openb_pods_header()};
    for (const openb_pod& pod : pods) append_openb_pod(out, pod);
    return out;
}

} // namespace vgputraces
