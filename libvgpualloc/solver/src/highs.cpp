#include "highs_functions.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace vgpualloc::solver {

namespace {

using plan::linear_program;
using plan::lp_basis;
using plan::lp_column;
using plan::lp_entry;
using plan::lp_limits;
using plan::lp_position;
using plan::lp_row;
using plan::lp_sense;
using plan::lp_solution;
using plan::lp_status;

/// An instance of HiGHS, with its functions.
class highs_instance {
public:
    explicit highs_instance(const highs_functions& from) : functions_{from}, highs_{from.create()} {}
    ~highs_instance() { functions_.destroy(highs_); }
    highs_instance(const highs_instance&) = delete;
    highs_instance& operator=(const highs_instance&) = delete;

    template <class Function, class... Arguments>
    auto call(Function highs_functions::* function, Arguments... arguments) const {
        return (functions_.*function)(highs_, arguments...);
    }

private:
    const highs_functions& functions_;
    void* highs_;
};
using functions = highs_functions;

/// The simplex_strategy option of HiGHS.
constexpr HighsInt dual_simplex = 1;
constexpr HighsInt primal_simplex = 4;

error failed(const std::string& step, const std::string& what) {
    return bad_input(error_code::unsupported, step, what).at("HiGHS");
}

/// A program in the arrays that HiGHS reads: by column, rows ascending.
struct arrays {
    explicit arrays(const linear_program& program) {
        for (const lp_column& column : program.columns) {
            cost.push_back(column.cost);
            lower.push_back(column.lower);
            upper.push_back(column.upper);
            kind.push_back(column.integer ? kHighsVarTypeInteger : kHighsVarTypeContinuous);
        }
        for (const lp_row& row : program.rows) {
            row_lower.push_back(row.lower);
            row_upper.push_back(row.upper);
        }
        std::vector<lp_entry> sorted = program.entries;
        std::ranges::sort(sorted, {}, [](const lp_entry& entry) { return std::pair{entry.column, entry.row}; });
        start.assign(program.columns.size() + 1, 0);
        for (const lp_entry& entry : sorted) {
            ++start[entry.column + std::size_t{1}];
            index.push_back(static_cast<HighsInt>(entry.row));
            value.push_back(entry.value);
        }
        for (std::size_t i = 1; i < start.size(); ++i) start[i] += start[i - 1];
    }

    std::vector<double> cost;
    std::vector<double> lower;
    std::vector<double> upper;
    std::vector<HighsInt> kind;
    std::vector<double> row_lower;
    std::vector<double> row_upper;
    std::vector<HighsInt> start;
    std::vector<HighsInt> index;
    std::vector<double> value;
};

bool set_options(const highs_instance& highs, const lp_limits& limits, bool from_start) {
    const auto as_int = [](std::int64_t value) {
        return static_cast<HighsInt>(std::clamp<std::int64_t>(value, 0, std::numeric_limits<std::int32_t>::max()));
    };
    const HighsInt strategy = from_start ? primal_simplex : dual_simplex;
    bool done = highs.call(&functions::setBoolOptionValue, "output_flag", 0) == kHighsStatusOk;
    const auto set = [&done](HighsInt status) { done = done && status == kHighsStatusOk; };
    set(highs.call(&functions::setIntOptionValue, "threads", 1));
    set(highs.call(&functions::setStringOptionValue, "parallel", "off"));
    set(highs.call(&functions::setStringOptionValue, "solver", "simplex"));
    set(highs.call(&functions::setIntOptionValue, "random_seed", 0));
    set(highs.call(&functions::setIntOptionValue, "simplex_strategy", strategy));
    set(highs.call(&functions::setIntOptionValue, "simplex_iteration_limit", as_int(limits.iterations)));
    set(highs.call(&functions::setIntOptionValue, "mip_max_nodes", as_int(limits.nodes)));
    set(highs.call(&functions::setDoubleOptionValue, "mip_rel_gap", 0.0));
    set(highs.call(&functions::setDoubleOptionValue, "mip_abs_gap", 0.0));
    return done;
}

bool pass(const highs_instance& highs, const linear_program& program) {
    const arrays data{program};
    const HighsInt sense = program.sense == lp_sense::maximise ? kHighsObjSenseMaximize : kHighsObjSenseMinimize;
    const auto columns = static_cast<HighsInt>(program.columns.size());
    const auto rows = static_cast<HighsInt>(program.rows.size());
    const auto entries = static_cast<HighsInt>(program.entries.size());
    const HighsInt status =
        program.has_integers()
            ? highs.call(&functions::passMip, columns, rows, entries, kHighsMatrixFormatColwise, sense, 0.0,
                         data.cost.data(), data.lower.data(), data.upper.data(), data.row_lower.data(),
                         data.row_upper.data(), data.start.data(), data.index.data(), data.value.data(),
                         data.kind.data())
            : highs.call(&functions::passLp, columns, rows, entries, kHighsMatrixFormatColwise, sense, 0.0,
                         data.cost.data(), data.lower.data(), data.upper.data(), data.row_lower.data(),
                         data.row_upper.data(), data.start.data(), data.index.data(), data.value.data());
    return status != kHighsStatusError; // a warning tells of coefficients that are next to zero
}

HighsInt status_of(lp_position position) {
    switch (position) {
    case lp_position::at_lower:
        return kHighsBasisStatusLower;
    case lp_position::basic:
        return kHighsBasisStatusBasic;
    case lp_position::at_upper:
        return kHighsBasisStatusUpper;
    case lp_position::at_zero:
        break;
    }
    return kHighsBasisStatusZero;
}

lp_position position_of(HighsInt status) {
    if (status == kHighsBasisStatusBasic) return lp_position::basic;
    if (status == kHighsBasisStatusUpper) return lp_position::at_upper;
    return status == kHighsBasisStatusZero ? lp_position::at_zero : lp_position::at_lower;
}

bool set_start(const highs_instance& highs, const linear_program& program, const lp_basis& start) {
    std::vector<HighsInt> columns;
    for (const lp_position position : start.columns) columns.push_back(status_of(position));
    columns.resize(program.columns.size(), kHighsBasisStatusLower);
    std::vector<HighsInt> rows;
    for (const lp_position position : start.rows) rows.push_back(status_of(position));
    rows.resize(program.rows.size(), kHighsBasisStatusBasic);
    return highs.call(&functions::setBasis, columns.data(), rows.data()) == kHighsStatusOk;
}

/// Columns, rows, duals and basis of an optimal solution, or the best that a search had.
bool read_solution(const highs_instance& highs, const linear_program& program, lp_solution& into) {
    std::vector<double> row_values(program.rows.size());
    into.values.resize(program.columns.size());
    into.reduced_costs.resize(program.columns.size());
    into.row_duals.resize(program.rows.size());
    into.objective = highs.call(&functions::getObjectiveValue);
    if (highs.call(&functions::getSolution, into.values.data(), into.reduced_costs.data(), row_values.data(),
                   into.row_duals.data()) == kHighsStatusError) {
        return false;
    }
    if (program.has_integers()) {
        into.reduced_costs.clear();
        into.row_duals.clear();
        return true;
    }
    std::vector<HighsInt> columns(program.columns.size());
    std::vector<HighsInt> rows(program.rows.size());
    if (highs.call(&functions::getBasis, columns.data(), rows.data()) != kHighsStatusOk) return true;
    for (const HighsInt status : columns) into.basis.columns.push_back(position_of(status));
    for (const HighsInt status : rows) into.basis.rows.push_back(position_of(status));
    return true;
}

expected<lp_solution> answer_of(const highs_instance& highs, const linear_program& program) {
    const double worst = program.sense == lp_sense::maximise ? plan::lp_infinity : -plan::lp_infinity;
    lp_solution result;
    const HighsInt status = highs.call(&functions::getModelStatus);
    if (status == kHighsModelStatusInfeasible) {
        result.status = lp_status::infeasible;
    } else if (status == kHighsModelStatusUnbounded) {
        result.status = lp_status::unbounded;
    } else if (status == kHighsModelStatusOptimal || status == kHighsModelStatusModelEmpty) {
        if (!read_solution(highs, program, result)) return unexpected(failed("solution", "one to read"));
        result.bound = result.objective;
    } else if (status == kHighsModelStatusIterationLimit || status == kHighsModelStatusSolutionLimit) {
        result.status = lp_status::limit;
        result.bound = worst;
        HighsInt found = kHighsSolutionStatusNone;
        highs.call(&functions::getIntInfoValue, "primal_solution_status", &found);
        if (found == kHighsSolutionStatusFeasible && !read_solution(highs, program, result)) {
            return unexpected(failed("solution", "one to read"));
        }
        if (program.has_integers()) highs.call(&functions::getDoubleInfoValue, "mip_dual_bound", &result.bound);
    } else if (status == kHighsModelStatusInterrupt) {
        return unexpected(stop_signal::stopped());
    } else {
        return unexpected(failed("model status", "a solved program, and not status " + std::to_string(status)));
    }
    return result;
}

/// Asked by HiGHS between iterations and nodes, which may take milliseconds each; `stop` is a stop_signal.
void interrupt(int /*kind*/, const char* /*message*/, const void* /*state*/, void* answer, void* stop) {
    if (static_cast<const stop_signal*>(stop)->raised()) *static_cast<int*>(answer) = 1;
}

bool let_stop(const highs_instance& highs, stop_signal& stop) {
    return highs.call(&functions::setCallback, interrupt, &stop) == kHighsStatusOk &&
           highs.call(&functions::startCallback, kHighsCallbackSimplexInterrupt) == kHighsStatusOk &&
           highs.call(&functions::startCallback, kHighsCallbackMipInterrupt) == kHighsStatusOk;
}

class highs final : public plan::lp_solver {
public:
    highs(const highs_functions& from, const stop_signal& stop) : functions_{from}, stop_{stop} {}

    [[nodiscard]] std::string_view name() const noexcept override { return name_; }

    [[nodiscard]] expected<lp_solution> solve(const linear_program& program, const lp_limits& limits,
                                              const lp_basis* start) override {
        if (stop_.raised()) return unexpected(stop_signal::stopped());
        if (auto checked = plan::check_program(program); !checked) return unexpected(std::move(checked.error()));
        const highs_instance instance{functions_};
        const bool from_start = start != nullptr && !program.has_integers();
        if (!set_options(instance, limits, from_start)) return unexpected(failed("options", "known options"));
        if (!pass(instance, program)) return unexpected(failed("program", "a program that it takes"));
        if (from_start && !set_start(instance, program, *start)) {
            return unexpected(failed("start", "a basis of the program"));
        }
        if (!let_stop(instance, stop_)) return unexpected(failed("callback", "one that it takes"));
        if (!run(instance)) return unexpected(failed("run", "a solver that ends without an error"));
        return answer_of(instance, program);
    }

private:
    /// Runs until it is known whether a program that presolve cannot tell apart is infeasible or unbounded.
    static bool run(const highs_instance& highs) {
        if (highs.call(&functions::run) == kHighsStatusError) return false;
        if (highs.call(&functions::getModelStatus) != kHighsModelStatusUnboundedOrInfeasible) return true;
        highs.call(&functions::clearSolver);
        return highs.call(&functions::setStringOptionValue, "presolve", "off") == kHighsStatusOk &&
               highs.call(&functions::run) != kHighsStatusError;
    }

    highs_functions functions_;
    stop_signal stop_;
    std::string name_ = std::string{"HiGHS "} + functions_.version();
};

} // namespace

std::unique_ptr<plan::lp_solver> make_highs(const highs_functions& functions, const stop_signal& stop) {
    return std::make_unique<highs>(functions, stop);
}

} // namespace vgpualloc::solver
