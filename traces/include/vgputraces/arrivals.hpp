// The table of arrivals: which pod of which class comes when, how long it runs, and how it waits (docs/workload.md).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vgpuformats/list_content.hpp"
#include "vgputraces/core_names.hpp"

namespace vgputraces {

inline constexpr std::uint32_t no_gang = std::numeric_limits<std::uint32_t>::max();

/// One row of the table. Of a class that makes several pods it is all of them.
struct arrival_row {
    std::string name;
    std::uint32_t line = 0;      ///< of the text, from 1
    std::uint32_t pod_class = 0; ///< position in arrival_table::classes
    std::uint32_t queue = 0;     ///< position in arrival_table::queues
    std::uint32_t gang = no_gang;
    std::int32_t priority = 0;
    ticks arrival;
    std::optional<ticks> duration; ///< absent: it stays
    std::optional<ticks> estimate; ///< of the duration; absent: not said

    bool operator==(const arrival_row&) const = default;
};

struct arrival_table {
    std::string source; ///< what errors call the text
    // In the order of their first rows in the text.
    std::vector<std::string> classes{};
    std::vector<std::string> queues{}; ///< the empty text is that of rows without one
    std::vector<std::string> gangs{};
    std::vector<arrival_row> rows{}; ///< by arrival; of equal times as in the text

    bool operator==(const arrival_table&) const = default;
};

/// Reads CSV or JSONL with the columns name, class and arrival, and where they are needed duration, queue, priority,
/// gang and estimate. Times are seconds from 0 to 10^12 with up to six decimals, priorities whole numbers of 32 bits.
/// Errors have `name`, line and column: a column that is missing or not known, a cell that is not what it has to be,
/// the same name in two rows, no row at all.
[[nodiscard]] expected<arrival_table> read_arrivals(const vgpuformats::list_content& content, const std::string& name);

/// The same as CSV, with those of the optional columns that some row fills.
[[nodiscard]] std::string write_arrivals(const arrival_table& table);

/// The same row by row: all rows are noted before the first is written. The table has the names; its rows do not count.
class arrival_writer {
public:
    /// `table` has to outlive this.
    explicit arrival_writer(const arrival_table& table);

    void note(const arrival_row& row);
    void append_header(std::string& out) const;
    void append(std::string& out, const arrival_row& row) const;

private:
    const arrival_table* table_;
    std::vector<bool> written_; ///< by column
};

} // namespace vgputraces
