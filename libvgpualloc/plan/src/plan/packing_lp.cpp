#include "vgpualloc/plan/packing_lp.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include <Eigen/Core>

#include "vgpualloc/core/config.hpp"

namespace vgpualloc::plan {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

error refused_program(std::string field, std::string what) {
    return bad_value(error_code::malformed, field, "", std::move(what)).at("packing program");
}

bool is_amount(double value) { return value >= 0.0 && std::isfinite(value); }

/// What a column has in the rows of types, by type.
using type_counts = std::vector<std::pair<std::uint32_t, double>>;

double worth_of(const packing_program& program, const packing_devices& of_class, std::size_t part) {
    if (!of_class.value_of_part.empty()) return of_class.value_of_part[part];
    return program.types[of_class.type_of_part[part]].value;
}

double worth_of(const packing_program& program, const packing_block& block) {
    return block.value.value_or(program.types[block.type].value * block.pods);
}

/// A vector of what each entry of a list has.
template <class Entry>
VectorXd vector_of(const std::vector<Entry>& list, double Entry::* member) {
    VectorXd values(static_cast<Index>(list.size()));
    std::ranges::transform(list, values.begin(), member);
    return values;
}

/// The host amounts of each entry of a list as columns: resource x entry.
template <class Entry>
MatrixXd host_of(const std::vector<Entry>& list, std::size_t resources) {
    MatrixXd amounts(static_cast<Index>(resources), static_cast<Index>(list.size()));
    for (Index i = 0; const Entry& entry : list) {
        amounts.col(i++) = VectorXd::Map(entry.host.data(), static_cast<Index>(resources));
    }
    return amounts;
}

/// The amounts of a program as vectors and matrices.
struct amounts {
    explicit amounts(const packing_program& program)
        : demand{vector_of(program.types, &packing_type::demand)},
          forced{vector_of(program.types, &packing_type::forced)},
          devices{vector_of(program.devices, &packing_devices::count)} {
        // Without groups nothing can be placed, and types need not agree on the resources.
        const std::size_t resources = program.groups.empty() ? 0 : program.groups.front().host.size();
        taken = host_of(program.types, resources);
        held = host_of(program.groups, resources);
    }

    VectorXd demand;
    VectorXd forced;
    VectorXd devices; ///< by class
    MatrixXd taken;   ///< resource x type
    MatrixXd held;    ///< resource x group; infinite where that is not to count
};

/// Prices as the solver or a caller has them, not rounded. At least 0, but for types of which pods are forced.
struct raw_prices {
    VectorXd type;
    VectorXd theta;
    MatrixXd host; ///< resource x group
};

/// What placing a pod of the type in that group costs at these prices, apart from its devices.
double cost_of(const amounts& all, const raw_prices& prices, std::uint32_t type, std::uint32_t group) {
    return prices.type[type] + prices.host.col(group).dot(all.taken.col(type));
}

/// The program over the columns that there are so far. Rows: types, then host resources of every group, then classes.
class master {
public:
    explicit master(const packing_program& program)
        : program_{program}, amounts_{program}, scale_{scale_of(amounts_.taken)} {
        lp_.sense = lp_sense::maximise;
        for (const packing_type& type : program.types) lp_.add_row({.lower = type.forced, .upper = type.demand});
        const MatrixXd held_scaled = amounts_.held.array().colwise() / scale_.array();
        for (const double most : held_scaled.reshaped()) lp_.add_row({.upper = most});
        device_rows_ = static_cast<std::uint32_t>(lp_.rows.size());
        for (const packing_devices& devices : program.devices) lp_.add_row({.upper = devices.count});
    }

    [[nodiscard]] const amounts& all_amounts() const noexcept { return amounts_; }
    [[nodiscard]] linear_program& lp() noexcept { return lp_; }

    void add_pattern(std::uint32_t devices, const device_pattern& pattern, bool integer) {
        const packing_devices& of_class = program_.devices[devices];
        double value = 0.0;
        for (const auto& [part, count] : pattern)
            value += static_cast<double>(count) * worth_of(program_, of_class, part);
        add_column({.counts = counts_of(of_class, pattern), .value = value}, of_class.group, devices, 1.0, integer);
    }
    void add_block(const packing_block& block, bool integer) {
        add_column({.counts = {{block.type, block.pods}}, .value = worth_of(program_, block)}, block.group,
                   block.devices, block.count, integer);
    }

    /// A pod of the type that stays out although it is forced: allowed, at a cost of 1, until columns have their
    /// values.
    void add_shortage(std::uint32_t type) {
        const std::uint32_t column = lp_.add_column({.cost = -1.0});
        lp_.add_entry(type, column, 1.0);
        columns_.push_back({.counts = {}, .value = 0.0, .shortage = true});
    }

    /// From now on columns are worth what their pods are, and no forced pod may stay out.
    void value_columns() {
        valued_ = true;
        for (std::size_t column = 0; column < columns_.size(); ++column) {
            lp_.columns[column].cost = columns_[column].value;
            if (columns_[column].shortage) lp_.columns[column].upper = 0.0;
        }
    }

    /// Pods of a pattern by type: several parts may serve one.
    static type_counts counts_of(const packing_devices& of_class, const device_pattern& pattern) {
        std::vector<std::pair<std::uint32_t, double>> counts;
        for (const auto& [part, count] : pattern) {
            counts.emplace_back(of_class.type_of_part[part], static_cast<double>(count));
        }
        std::ranges::sort(counts, {}, &std::pair<std::uint32_t, double>::first);
        type_counts result;
        for (const auto& [type, count] : counts) {
            if (result.empty() || result.back().first != type) result.emplace_back(type, 0.0);
            result.back().second += count;
        }
        return result;
    }

    [[nodiscard]] raw_prices prices_of(const std::vector<double>& duals) const {
        const Index types = amounts_.demand.size();
        const MatrixXd& held = amounts_.held;
        const auto of_row = VectorXd::Map(duals.data(), static_cast<Index>(duals.size()));
        const auto of_type = of_row.head(types);
        const auto of_host = of_row.segment(types, held.size()).reshaped(held.rows(), held.cols());
        const auto is_counted = held.array().isFinite();
        return {.type = (amounts_.forced.array() > 0.0).select(of_type, of_type.cwiseMax(0.0)),
                .theta = of_row.tail(amounts_.devices.size()).cwiseMax(0.0),
                .host = is_counted.select(of_host.cwiseMax(0.0).array().colwise() / scale_.array(), 0.0)};
    }

    [[nodiscard]] std::vector<double> placed(const std::vector<double>& values) const {
        std::vector<double> result(program_.types.size(), 0.0);
        for (std::size_t column = 0; column < values.size(); ++column) {
            for (const auto& [type, pods] : columns_[column].counts) result[type] += pods * values[column];
        }
        return result;
    }

private:
    struct column_pods {
        type_counts counts;
        double value = 0.0;
        bool shortage = false;
    };

    /// Rows of host resources are in units of the largest amount that one pod takes: bytes of memory beside counts of
    /// pods would be 10^11 times as large, which no solver's tolerances are made for.
    static VectorXd scale_of(const MatrixXd& taken) {
        VectorXd most = VectorXd::Zero(taken.rows());
        for (const auto& of_type : taken.colwise()) most = most.cwiseMax(of_type);
        return (most.array() > 0.0).select(most, 1.0);
    }

    /// A column of pods that take `count` devices of the class, or of none where that is 0.
    void add_column(column_pods pods, std::uint32_t group, std::uint32_t devices, double count, bool integer) {
        VectorXd host = VectorXd::Zero(scale_.size());
        for (const auto& [type, number] : pods.counts) host += number * amounts_.taken.col(type);
        const std::uint32_t column = lp_.add_column({.cost = valued_ ? pods.value : 0.0, .integer = integer});
        for (const auto& [type, number] : pods.counts) lp_.add_entry(type, column, number);
        auto row = static_cast<std::uint32_t>(amounts_.demand.size() + group * host.size());
        for (const double amount : host.cwiseQuotient(scale_).eval()) {
            if (amount > 0.0 && std::isfinite(lp_.rows[row].upper)) lp_.add_entry(row, column, amount);
            ++row;
        }
        if (count > 0.0) lp_.add_entry(device_rows_ + devices, column, count);
        columns_.push_back(std::move(pods));
    }

    const packing_program& program_;
    amounts amounts_;
    VectorXd scale_; ///< by host resource
    linear_program lp_;
    std::vector<column_pods> columns_;
    bool valued_ = false;
    std::uint32_t device_rows_ = 0;
};

/// The pattern that is worth the most beyond what its pods cost. In the first phase, which places forced pods, pods
/// have no value.
worthy_pattern best_pattern(const packing_program& program, const amounts& all, const raw_prices& prices,
                            const packing_devices& of_class, bool valued) {
    if (!of_class.packing) return {};
    std::vector<double> worth;
    for (std::size_t part = 0; part < of_class.type_of_part.size(); ++part) {
        const double value = valued ? worth_of(program, of_class, part) : 0.0;
        worth.push_back(value - cost_of(all, prices, of_class.type_of_part[part], of_class.group));
    }
    return of_class.packing->best(worth);
}

/// The upper bound that prices prove: theta is raised until no pattern and no block is worth more than it costs, and
/// the price of a type likewise where its pods take no devices.
double bound_of(const packing_program& program, const amounts& all, raw_prices prices) {
    const auto surplus = [&](const packing_block& block) {
        return worth_of(program, block) - block.pods * cost_of(all, prices, block.type, block.group);
    };
    for (const packing_block& block : program.blocks) {
        if (block.count > 0.0) continue;
        const double excess = surplus(block);
        if (excess > 0.0) prices.type[block.type] += excess / block.pods;
    }
    for (Index c = 0; const packing_devices& of_class : program.devices) {
        double& theta = prices.theta[c++];
        theta = std::max(theta, best_pattern(program, all, prices, of_class, true).worth);
    }
    for (const packing_block& block : program.blocks) {
        if (block.count == 0.0) continue;
        double& theta = prices.theta[block.devices];
        theta = std::max(theta, surplus(block) / block.count);
    }
    const VectorXd pods = (prices.type.array() >= 0.0).select(all.demand, all.forced);
    // Where amounts do not count they are infinite, and their price is 0.
    const MatrixXd held_counted = (prices.host.array() > 0.0).select(all.held, 0.0);
    return prices.theta.dot(all.devices) + prices.type.dot(pods) + prices.host.cwiseProduct(held_counted).sum();
}

/// Column generation: one program that grows, solved from where the last solution stood.
class generation {
public:
    generation(const packing_program& program, lp_solver& solver, const packing_options& options)
        : program_{program}, solver_{solver}, options_{options}, master_{program} {}

    expected<packing_prices> run() {
        for (const packing_block& block : program_.blocks) master_.add_block(block, false);
        packing_prices result;
        if (auto placed = place_forced(); !placed) return unexpected(std::move(placed.error()));
        if (solution_.status == lp_status::optimal) {
            result.shortage = std::max(0.0, -solution_.objective);
            if (result.shortage > shortage_tolerance) {
                result.status = lp_status::infeasible;
                return result;
            }
            result.shortage = 0.0;
            master_.value_columns();
            if (auto grown = grow(true); !grown) return unexpected(std::move(grown.error()));
        }
        result.status = solution_.status;
        result.rounds = rounds_;
        result.columns = master_.lp().columns.size();
        if (solution_.row_duals.empty()) {
            result.bound = lp_infinity;
            return result;
        }
        const raw_prices prices = master_.prices_of(solution_.row_duals);
        result.objective = solution_.objective;
        result.bound = bound_of(program_, master_.all_amounts(), prices);
        write_prices(prices, result);
        result.placed = master_.placed(solution_.values);
        return result;
    }

private:
    /// How much a column has to promise before it is added, in units of the objective: a milli-GPU is 1.
    static constexpr double gain_min = 1e-7;
    static constexpr double shortage_tolerance = 1e-6;

    /// The first phase: pods that are forced may stay out at a cost of 1 each, and nothing else counts.
    expected<void> place_forced() {
        bool forced = false;
        for (std::size_t type = 0; type < program_.types.size(); ++type) {
            if (program_.types[type].forced <= 0.0) continue;
            forced = true;
            master_.add_shortage(static_cast<std::uint32_t>(type));
        }
        return forced ? grow(false) : expected<void>{};
    }

    /// Adds patterns until none would better the objective. The status is then optimal, or says what ended it.
    expected<void> grow(bool valued) {
        while (true) {
            auto solved = solver_.solve(master_.lp(), options_.limits, started_ ? &solution_.basis : nullptr);
            // A start can lead a solver astray by rounding: what it then says is not what it says without one.
            if (started_ && (!solved || !is_answer(solved->status))) {
                solved = solver_.solve(master_.lp(), options_.limits);
            }
            if (!solved) return unexpected(std::move(solved.error()));
            if (!is_answer(solved->status)) return unexpected(no_answer(solved->status));
            solution_ = *std::move(solved);
            started_ = !solution_.basis.rows.empty();
            if (solution_.status != lp_status::optimal || !add_patterns(valued)) return {};
            if (++rounds_ == options_.rounds_max) {
                solution_.status = lp_status::limit;
                return {};
            }
        }
    }

    /// A packing program is bounded by its demand, and what stays out makes it feasible.
    static bool is_answer(lp_status status) { return status == lp_status::optimal || status == lp_status::limit; }
    [[nodiscard]] error no_answer(lp_status status) const {
        return bad_value(error_code::unsupported, "packing program", to_string(status),
                         "an optimal solution, which every packing program has")
            .at(std::string{solver_.name()});
    }

    /// The best pattern of every class that is worth more than a device of it costs.
    bool add_patterns(bool valued) {
        const raw_prices prices = master_.prices_of(solution_.row_duals);
        bool added = false;
        for (std::uint32_t c = 0; c < program_.devices.size(); ++c) {
            const worthy_pattern pattern =
                best_pattern(program_, master_.all_amounts(), prices, program_.devices[c], valued);
            if (pattern.worth - prices.theta[c] <= gain_min) continue;
            master_.add_pattern(c, pattern.parts, false);
            added = true;
        }
        return added;
    }

    static void write_prices(const raw_prices& prices, packing_prices& into) {
        const auto rounded = [](const auto& all) {
            std::vector<double> result;
            for (const double price : all) result.push_back(rounded_price(price));
            return result;
        };
        into.type = rounded(prices.type);
        into.theta = rounded(prices.theta);
        for (const auto& of_group : prices.host.colwise()) into.host.push_back(rounded(of_group));
    }

    const packing_program& program_;
    lp_solver& solver_;
    const packing_options& options_;
    master master_;
    lp_solution solution_;
    bool started_ = false;
    std::size_t rounds_ = 0;
};

/// How many parts of each kind can be of use: no more than pods of their type.
std::vector<std::int64_t> demand_of_parts(const packing_program& program, const packing_devices& of_class) {
    std::vector<std::int64_t> result;
    for (const std::uint32_t type : of_class.type_of_part) {
        result.push_back(static_cast<std::int64_t>(std::floor(program.types[type].demand)));
    }
    return result;
}

/// All patterns of a class, each multiset of types once.
expected<void> add_all_patterns(const packing_program& program, std::uint32_t devices, std::size_t columns_max,
                                master& into) {
    const packing_devices& of_class = program.devices[devices];
    if (!of_class.packing) return {};
    auto patterns = of_class.packing->enumerate(demand_of_parts(program, of_class), columns_max);
    if (!patterns) return unexpected(std::move(patterns.error()));
    std::set<type_counts> seen;
    for (const device_pattern& pattern : *patterns) {
        if (!seen.insert(master::counts_of(of_class, pattern)).second) continue;
        into.add_pattern(devices, pattern, true);
    }
    return {};
}

expected<void> check_lists(const packing_program& program) {
    for (const packing_type& type : program.types) {
        if (!is_amount(type.demand) || !is_amount(type.forced) || type.forced > type.demand || !is_amount(type.value) ||
            !std::ranges::all_of(type.host, is_amount)) {
            return unexpected(refused_program("types", "amounts that are not negative, no more forced than there are"));
        }
    }
    for (const packing_group& group : program.groups) {
        const bool amounts =
            std::ranges::all_of(group.host, [](double host) { return is_amount(host) || host == lp_infinity; });
        if (!amounts) return unexpected(refused_program("groups", "amounts that are not negative"));
        if (group.host.size() != program.groups.front().host.size()) {
            return unexpected(refused_program("host", "the same resources for all groups"));
        }
        for (const packing_type& type : program.types) {
            if (type.host.size() != group.host.size()) {
                return unexpected(refused_program("host", "the same resources for types and groups"));
            }
        }
    }
    return {};
}

} // namespace

double rounded_price(double price) noexcept {
    constexpr double steps_per_unit = 1000.0;
    const double rounded = std::round(price * steps_per_unit) / steps_per_unit;
    return rounded == 0.0 ? 0.0 : rounded;
}

expected<void> check_packing(const packing_program& program) {
    if (auto checked = check_lists(program); !checked) return checked;
    for (const packing_devices& devices : program.devices) {
        if (devices.group >= program.groups.size() || !is_amount(devices.count)) {
            return unexpected(refused_program("devices", "a group of the program and a count"));
        }
        const std::size_t parts = devices.packing ? devices.packing->parts() : 0;
        const bool known =
            std::ranges::all_of(devices.type_of_part, [&](std::uint32_t type) { return type < program.types.size(); });
        if (devices.type_of_part.size() != parts || !known) {
            return unexpected(refused_program("type_of_part", "a type of the program for every part"));
        }
        const std::vector<double>& values = devices.value_of_part;
        if (!values.empty() && (values.size() != parts || !std::ranges::all_of(values, is_amount))) {
            return unexpected(refused_program("value_of_part", "a value for every part, or none"));
        }
    }
    for (const packing_block& block : program.blocks) {
        const bool known = block.type < program.types.size() && block.group < program.groups.size();
        const bool takes =
            is_amount(block.count) && (block.count == 0.0 || (block.devices < program.devices.size() &&
                                                              program.devices[block.devices].group == block.group));
        if (!known || !takes || !(block.pods > 0.0) || !is_amount(block.value.value_or(0.0))) {
            return unexpected(refused_program("blocks", "a type and a group, and a class of devices of that group"));
        }
    }
    return {};
}

expected<packing_prices> solve_packing_lp(const packing_program& program, lp_solver& solver,
                                          const packing_options& options) {
    if (auto checked = check_packing(program); !checked) return unexpected(std::move(checked.error()));
    return generation{program, solver, options}.run();
}

expected<exact_packing> solve_packing_exactly(const packing_program& program, lp_solver& solver,
                                              const exact_options& options) {
    if (auto checked = check_packing(program); !checked) return unexpected(std::move(checked.error()));
    master whole{program};
    for (const packing_block& block : program.blocks) whole.add_block(block, true);
    for (std::size_t c = 0; c < program.devices.size(); ++c) {
        const std::size_t columns = whole.lp().columns.size();
        const std::size_t left = options.columns_max - std::min(options.columns_max, columns);
        if (auto added = add_all_patterns(program, static_cast<std::uint32_t>(c), left, whole); !added) {
            return unexpected(std::move(added.error()));
        }
    }
    if (whole.lp().columns.size() > options.columns_max) {
        return unexpected(bad_value(error_code::unsupported, "columns", std::to_string(whole.lp().columns.size()),
                                    "at most " + std::to_string(options.columns_max))
                              .at("packing program"));
    }
    whole.value_columns();
    auto solved = solver.solve(whole.lp(), options.limits);
    if (!solved) return unexpected(std::move(solved.error()));
    exact_packing result{.status = solved->status, .columns = whole.lp().columns.size()};
    if (solved->status == lp_status::infeasible) return result;
    result.objective = solved->objective;
    result.bound = solved->bound;
    result.placed = whole.placed(solved->values);
    return result;
}

} // namespace vgpualloc::plan
