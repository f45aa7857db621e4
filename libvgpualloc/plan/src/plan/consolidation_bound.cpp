#include "vgpualloc/plan/consolidation_bound.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "unit_classes.hpp"

namespace vgpualloc::plan {

namespace {

constexpr double error_of_sums = 1e-6;

/// The program of a bound. Columns: the units of each class, then its options, class by class.
class units_program {
public:
    explicit units_program(const unit_classes& classes) : classes_{&classes} {}

    linear_program build() {
        count_options();
        for (const unit_class& units : classes_->units) {
            const auto count = static_cast<double>(units.count);
            units_.push_back(program_.add_column({.cost = 1.0, .lower = units.stays ? count : 0.0, .upper = count}));
        }
        for (const std::int64_t pods : classes_->pods) {
            program_.add_row({.lower = static_cast<double>(pods), .upper = static_cast<double>(pods)});
        }
        for (std::size_t k = 0; k < classes_->units.size(); ++k) add_class(k);
        return std::move(program_);
    }

private:
    void count_options() {
        options_.assign(classes_->pods.size(), 0);
        for (const unit_class& units : classes_->units) {
            for (const unit_option& option : units.options) ++options_[option.pods];
        }
    }

    void add_class(std::size_t k) {
        const unit_class& units = classes_->units[k];
        std::vector<std::uint32_t> columns;
        for (const unit_option& option : units.options) {
            const double pods = static_cast<double>(classes_->pods[option.pods]);
            columns.push_back(program_.add_column({.upper = pods}));
            program_.add_entry(option.pods, columns.back(), 1.0);
            limit_most(k, option, columns.back());
        }
        for (std::size_t amount = 0; amount < units.capacity.size(); ++amount) add_amount(k, amount, columns);
    }

    /// At most so many on a unit, where no amount says as much. Pods that have nowhere else to go need whole units.
    void limit_most(std::size_t k, const unit_option& option, std::uint32_t column) {
        const unit_class& units = classes_->units[k];
        const auto most = static_cast<double>(option.most);
        if (options_[option.pods] == 1) {
            const double needed = std::ceil(static_cast<double>(classes_->pods[option.pods]) / most - error_of_sums);
            lp_column& used = program_.columns[units_[k]];
            used.lower = std::clamp(needed, used.lower, used.upper);
            return;
        }
        for (std::size_t amount = 0; amount < units.capacity.size(); ++amount) {
            if (option.demand[amount] * most >= units.capacity[amount] && option.demand[amount] > 0.0) return;
        }
        const std::uint32_t row = program_.add_row({.upper = 0.0});
        program_.add_entry(row, column, 1.0);
        program_.add_entry(row, units_[k], -most);
    }

    /// Scaled to the capacity of one unit.
    void add_amount(std::size_t k, std::size_t amount, const std::vector<std::uint32_t>& columns) {
        const unit_class& units = classes_->units[k];
        const double capacity = units.capacity[amount];
        const bool is_asked_for =
            std::ranges::any_of(units.options, [amount](const auto& option) { return option.demand[amount] > 0.0; });
        if (!is_asked_for || capacity <= error_of_sums) return;
        const std::uint32_t row = program_.add_row({.upper = 0.0});
        for (std::size_t i = 0; i < columns.size(); ++i) {
            const double demand = units.options[i].demand[amount];
            if (demand > 0.0) program_.add_entry(row, columns[i], demand / capacity);
        }
        program_.add_entry(row, units_[k], -1.0);
    }

    const unit_classes* classes_;
    linear_program program_{.sense = lp_sense::minimise};
    std::vector<std::uint32_t> units_; ///< by class, the column
    std::vector<std::size_t> options_; ///< by class of pods, how many there are
};

/// What no solution falls below, by weak duality: prices of rows and, of every column, the better one of its bounds.
/// All columns have two. Prices that rows cannot have count as none.
double value_of_prices(const linear_program& program, std::span<const double> prices) {
    std::vector<double> reduced;
    for (const lp_column& column : program.columns) reduced.push_back(column.cost);
    std::vector<double> usable(program.rows.size(), 0.0);
    double value = 0.0;
    for (std::size_t i = 0; i < program.rows.size(); ++i) {
        const bool is_equation = program.rows[i].lower == program.rows[i].upper;
        usable[i] = is_equation ? prices[i] : std::min(prices[i], 0.0);
        value += usable[i] * program.rows[i].upper;
    }
    for (const lp_entry& entry : program.entries) reduced[entry.column] -= usable[entry.row] * entry.value;
    for (std::size_t j = 0; j < program.columns.size(); ++j) {
        value += std::min(reduced[j] * program.columns[j].lower, reduced[j] * program.columns[j].upper);
    }
    return value;
}

} // namespace

expected<std::optional<std::int64_t>> least_units_by_lp(const ledger& book, std::span<const movable_pod> movable,
                                                        emptied_unit unit, lp_solver& solver,
                                                        const units_bound_limits& limits) {
    const auto classes = classify_units(book, movable, unit, limits.columns_max);
    if (!classes || classes->units.size() > limits.columns_max) return std::nullopt;
    const linear_program program = units_program{*classes}.build();
    if (program.columns.empty()) return 0;
    const auto solution = solver.solve(program, limits.solver);
    if (!solution) return unexpected(solution.error());
    if (solution->row_duals.size() != program.rows.size()) return std::nullopt;
    const double value = value_of_prices(program, solution->row_duals);
    if (!std::isfinite(value)) return std::nullopt;
    return static_cast<std::int64_t>(std::max(std::ceil(value - error_of_sums), 0.0));
}

} // namespace vgpualloc::plan
