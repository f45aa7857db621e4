// Linear and integer programs as plain data, and the interface of what solves them. Nothing here knows a solver: the
// one that this project uses is a library of its own (vgpualloc/solver/highs.hpp), and who has none builds without it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "vgpualloc/core/expected.hpp"

namespace vgpualloc::plan {

inline constexpr double lp_infinity = std::numeric_limits<double>::infinity();

enum class lp_sense : std::uint8_t { minimise, maximise };

/// A variable: what one unit of it adds to the objective, and between which values it lies.
struct lp_column {
    double cost = 0.0;
    double lower = 0.0;
    double upper = lp_infinity;
    bool integer = false;
};

/// A constraint: lower <= sum of the row's entries times their columns <= upper.
struct lp_row {
    double lower = -lp_infinity;
    double upper = lp_infinity;
};

/// A coefficient that is not zero. At most one for each pair of row and column; their order says nothing but is passed
/// on to the solver, so that the same program in the same order gives the same solution.
struct lp_entry {
    std::uint32_t row = 0;
    std::uint32_t column = 0;
    double value = 0.0;
};

struct linear_program {
    lp_sense sense = lp_sense::minimise;
    std::vector<lp_column> columns{};
    std::vector<lp_row> rows{};
    std::vector<lp_entry> entries{};

    /// Adds a column without entries and gives its position.
    std::uint32_t add_column(const lp_column& column) {
        columns.push_back(column);
        return static_cast<std::uint32_t>(columns.size() - 1);
    }
    /// Adds a row without entries and gives its position.
    std::uint32_t add_row(const lp_row& row) {
        rows.push_back(row);
        return static_cast<std::uint32_t>(rows.size() - 1);
    }
    void add_entry(std::uint32_t row, std::uint32_t column, double value) {
        entries.push_back({.row = row, .column = column, .value = value});
    }
    [[nodiscard]] bool has_integers() const noexcept {
        for (const lp_column& column : columns) {
            if (column.integer) return true;
        }
        return false;
    }
};

enum class lp_status : std::uint8_t {
    optimal,
    infeasible,
    unbounded,
    limit, ///< a limit was reached first
};
[[nodiscard]] std::string_view to_string(lp_status status) noexcept;

/// Where a column or row stands in a simplex basis.
enum class lp_position : std::uint8_t { at_lower, basic, at_upper, at_zero };

/// A vertex to go on from. Positions of columns first to last, then of rows; columns that the program has beyond these
/// are at their lower bounds.
struct lp_basis {
    std::vector<lp_position> columns{};
    std::vector<lp_position> rows{};
};

/// Values by column and row of the program, empty where the status leaves none.
///
/// The sign of duals is that of a derivative, whatever the sense: row_duals[i] is how much the objective changes for
/// each unit by which the bound that holds row i is raised, and reduced_costs[j] the same for the bound of column j:
/// cost_j minus the sum of row_duals times the column's entries. So when maximising, a row that is held by its upper
/// bound has a dual >= 0, and a column that would improve the objective a reduced cost > 0. A program with integer
/// columns has neither duals nor a basis.
struct lp_solution {
    lp_status status = lp_status::optimal;
    double objective = 0.0;
    /// What no solution can better: the objective itself where the status is optimal; under a limit what the search had
    /// proven by then, infinite where that is nothing.
    double bound = 0.0;
    std::vector<double> values{};
    std::vector<double> row_duals{};
    std::vector<double> reduced_costs{};
    lp_basis basis{};
};

/// When to give up. Counts and not seconds: a solution must not depend on the speed of the machine.
struct lp_limits {
    std::int64_t iterations = std::numeric_limits<std::int32_t>::max(); ///< of the simplex method
    std::int64_t nodes = std::numeric_limits<std::int32_t>::max();      ///< of the search over integers
};

/// Solves programs. The same program, start and limits give the same solution, bit for bit, in one build on one
/// machine; on others solutions may differ in the last digits, so prices made of them are rounded (packing_lp.hpp).
class lp_solver {
public:
    virtual ~lp_solver() = default;

    /// The solver's name and version, for those who write down how a figure came about.
    [[nodiscard]] virtual std::string_view name() const noexcept = 0;

    /// Solves a program, from `start` on where one is given and the program has no integer columns. Errors: a program
    /// that check_program() refuses; a solver that fails or ends in a way that no status says.
    [[nodiscard]] virtual expected<lp_solution> solve(const linear_program& program, const lp_limits& limits = {},
                                                      const lp_basis* start = nullptr) = 0;
};

/// Refuses what is no program: numbers that are not numbers, costs or coefficients that are infinite, a lower bound
/// above the upper one, entries outside the program or twice in one place, more than 2^31 - 1 of anything.
[[nodiscard]] expected<void> check_program(const linear_program& program);

} // namespace vgpualloc::plan
