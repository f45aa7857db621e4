// Reading and writing tables of arrivals.
#include "vgputraces/arrivals.hpp"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "table_reader.hpp"

namespace vgputraces {

namespace {

// Positions of the columns.
enum : std::size_t { name_at, class_at, arrival_at, duration_at, queue_at, priority_at, gang_at, estimate_at };

std::vector<table_column> columns() {
    return {{.name = "name", .required = true, .kind = cell_kind::text_or_number},
            {.name = "class", .required = true},
            {.name = "arrival", .required = true, .kind = cell_kind::number},
            {.name = "duration", .kind = cell_kind::number},
            {.name = "queue"},
            {.name = "priority", .kind = cell_kind::number},
            {.name = "gang", .kind = cell_kind::text_or_number},
            {.name = "estimate", .kind = cell_kind::number}};
}

/// Numbers texts in the order in which they are first seen.
class numbering {
public:
    explicit numbering(std::vector<std::string>& texts) : texts_{&texts} {}

    std::uint32_t number_of(std::string_view text) {
        const auto [entry, is_new] =
            numbers_.try_emplace(std::string{text}, static_cast<std::uint32_t>(texts_->size()));
        if (is_new) texts_->emplace_back(text);
        return entry->second;
    }

private:
    std::vector<std::string>* texts_;
    std::unordered_map<std::string, std::uint32_t> numbers_; // only looked up, never walked
};

class arrival_reader {
public:
    arrival_reader(table_reader& from, arrival_table& to)
        : from_{&from}, to_{&to}, classes_{to.classes}, queues_{to.queues}, gangs_{to.gangs} {}

    expected<void> read_row() {
        arrival_row row;
        row.line = static_cast<std::uint32_t>(from_->line());
        const auto name = from_->word(name_at);
        if (!name) return unexpected(name.error());
        row.name = *name;
        if (auto times = read_times(row); !times) return times;
        if (auto rest = read_numbers(row); !rest) return rest;
        to_->rows.push_back(std::move(row));
        return {};
    }

private:
    expected<void> read_times(arrival_row& row) const {
        const auto arrival = from_->seconds(arrival_at);
        if (!arrival) return unexpected(arrival.error());
        row.arrival = **arrival; // a required column
        const auto duration = from_->seconds(duration_at);
        if (!duration) return unexpected(duration.error());
        row.duration = *duration;
        const auto estimate = from_->seconds(estimate_at);
        if (!estimate) return unexpected(estimate.error());
        row.estimate = *estimate;
        return {};
    }

    expected<void> read_numbers(arrival_row& row) {
        using priorities = std::numeric_limits<std::int32_t>;
        const auto priority = from_->integer(priority_at, priorities::min(), priorities::max(), 0);
        if (!priority) return unexpected(priority.error());
        row.priority = static_cast<std::int32_t>(*priority);
        const auto pod_class = from_->word(class_at);
        if (!pod_class) return unexpected(pod_class.error());
        row.pod_class = classes_.number_of(*pod_class);
        const auto queue = from_->word(queue_at);
        if (!queue) return unexpected(queue.error());
        row.queue = queues_.number_of(*queue);
        const auto gang = from_->word(gang_at);
        if (!gang) return unexpected(gang.error());
        if (!gang->empty()) row.gang = gangs_.number_of(*gang);
        return {};
    }

    table_reader* from_;
    arrival_table* to_;
    numbering classes_;
    numbering queues_;
    numbering gangs_;
};

/// The second row of a name that two rows have.
expected<void> check_names(const arrival_table& table) {
    std::unordered_map<std::string_view, std::uint32_t> lines; // only looked up, never walked
    lines.reserve(table.rows.size());
    for (const arrival_row& row : table.rows) {
        const auto [entry, is_new] = lines.try_emplace(row.name, row.line);
        if (is_new) continue;
        return unexpected(bad_value(error_code::duplicate, "name", row.name,
                                    "a name that occurs once; line " + std::to_string(entry->second) + " has it too")
                              .at(table.source + ":" + std::to_string(row.line)));
    }
    return {};
}

void append_cells(std::string& out, const arrival_table& table, const arrival_row& row,
                  const std::vector<bool>& written) {
    const auto append_time = [&out](const std::optional<ticks>& time) {
        if (time) append_table_seconds(out, *time);
    };
    out += row.name + ',' + table.classes[row.pod_class] + ',';
    append_table_seconds(out, row.arrival);
    for (std::size_t column = duration_at; column < written.size(); ++column) {
        if (!written[column]) continue;
        out += ',';
        if (column == duration_at) append_time(row.duration);
        if (column == queue_at) out += table.queues[row.queue];
        if (column == priority_at) out += std::to_string(row.priority);
        if (column == gang_at && row.gang != no_gang) out += table.gangs[row.gang];
        if (column == estimate_at) append_time(row.estimate);
    }
    out += '\n';
}

} // namespace

expected<arrival_table> read_arrivals(const vgpuformats::list_content& content, const std::string& name) {
    auto from = table_reader::open(name, content, columns());
    if (!from) return unexpected(from.error());
    arrival_table table{.source = name};
    arrival_reader reader{*from, table};
    while (true) {
        const auto more = from->next();
        if (!more) return unexpected(more.error());
        if (!*more) break;
        if (const auto read = reader.read_row(); !read) return unexpected(read.error());
    }
    if (table.rows.empty()) {
        return unexpected(
            bad_input(error_code::missing, "", "missing", "at least one arrival after the header").at(name + ":1"));
    }
    if (const auto checked = check_names(table); !checked) return unexpected(checked.error());
    std::ranges::stable_sort(table.rows, {}, &arrival_row::arrival);
    return table;
}

arrival_writer::arrival_writer(const arrival_table& table) : table_{&table}, written_(columns().size(), false) {}

void arrival_writer::note(const arrival_row& row) {
    if (row.duration) written_[duration_at] = true;
    if (!table_->queues[row.queue].empty()) written_[queue_at] = true;
    if (row.priority != 0) written_[priority_at] = true;
    if (row.gang != no_gang) written_[gang_at] = true;
    if (row.estimate) written_[estimate_at] = true;
}

void arrival_writer::append_header(std::string& out) const {
    const auto all = columns();
    for (std::size_t column = 0; column < all.size(); ++column) {
        if (column > arrival_at && !written_[column]) continue;
        out += (column == 0 ? "" : ",") + std::string{all[column].name};
    }
    out += '\n';
}

void arrival_writer::append(std::string& out, const arrival_row& row) const {
    append_cells(out, *table_, row, written_);
}

std::string write_arrivals(const arrival_table& table) {
    arrival_writer writer{table};
    for (const arrival_row& row : table.rows) writer.note(row);
    std::string out;
    writer.append_header(out);
    for (const arrival_row& row : table.rows) writer.append(out, row);
    return out;
}

} // namespace vgputraces
