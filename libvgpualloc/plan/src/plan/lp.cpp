#include "vgpualloc/plan/lp.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace vgpualloc::plan {

namespace {

error refused(std::string field, std::string what) {
    return bad_value(error_code::malformed, field, "", std::move(what)).at("linear program");
}

expected<void> check_bounds(double lower, double upper, const std::string& field) {
    if (std::isnan(lower) || std::isnan(upper)) return unexpected(refused(field, "bounds that are numbers"));
    if (lower > upper || lower == lp_infinity || upper == -lp_infinity) {
        return unexpected(refused(field, "a lower bound that is not above the upper one"));
    }
    return {};
}

expected<void> check_entries(const linear_program& program) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> places;
    places.reserve(program.entries.size());
    for (const lp_entry& entry : program.entries) {
        if (entry.row >= program.rows.size() || entry.column >= program.columns.size()) {
            return unexpected(refused("entries", "rows and columns of the program"));
        }
        if (!std::isfinite(entry.value)) return unexpected(refused("entries", "coefficients that are finite"));
        places.emplace_back(entry.column, entry.row);
    }
    std::ranges::sort(places);
    if (std::ranges::adjacent_find(places) != places.end()) {
        return unexpected(refused("entries", "one coefficient for a row and column"));
    }
    return {};
}

} // namespace

std::string_view to_string(lp_status status) noexcept {
    switch (status) {
    case lp_status::optimal:
        return "optimal";
    case lp_status::infeasible:
        return "infeasible";
    case lp_status::unbounded:
        return "unbounded";
    case lp_status::limit:
        break;
    }
    return "limit";
}

expected<void> check_program(const linear_program& program) {
    constexpr auto most = static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max());
    if (std::max({program.columns.size(), program.rows.size(), program.entries.size()}) > most) {
        return unexpected(refused("size", "at most 2147483647 columns, rows and entries"));
    }
    for (const lp_column& column : program.columns) {
        if (!std::isfinite(column.cost)) return unexpected(refused("columns", "costs that are finite"));
        if (auto checked = check_bounds(column.lower, column.upper, "columns"); !checked) return checked;
    }
    for (const lp_row& row : program.rows) {
        if (auto checked = check_bounds(row.lower, row.upper, "rows"); !checked) return checked;
    }
    return check_entries(program);
}

} // namespace vgpualloc::plan
