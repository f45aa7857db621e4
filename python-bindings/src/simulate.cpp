// Simulations.
#include "bind.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "call_watch.hpp"
#include "errors.hpp"
#include "frame.hpp"
#include "python_discipline.hpp"
#include "python_policy.hpp"
#include "python_source.hpp"
#include "texts.hpp"
#include "vgpufacade/experiment.hpp"
#include "vgpufacade/simulate.hpp"
#include "vgpufacade/study.hpp"
#include "vgpufacade/words.hpp"
#include "written.hpp"

namespace vgpupython {

namespace {

using vgpufacade::named_options;
using vgpufacade::simulation_outcome;

/// `make` without the GIL, and what was raised meanwhile.
template <class Make>
auto without_gil(call_watch& watch, Make make) {
    auto result = [&] {
        const nb::gil_scoped_release released;
        return make();
    }();
    watch.raise_pending();
    return value_or_raise(std::move(result));
}

/// Objects in the place of names; None: there is none.
struct given_objects {
    given_policies policies;
    nb::object discipline;
};

void use_objects(vgpufacade::simulate_options& options, const given_objects& given, call_watch& watch) {
    const failure_sink fail = [&watch](nb::python_error&& raised) { watch.fail(std::move(raised)); };
    if (!given.policies.node.is_none()) {
        options.config.policy = label_of(given.policies.node);
        options.config.device_policy = given.policies.device.is_none() ? "" : label_of(given.policies.device);
        options.make_policies = given.policies.maker(fail);
    }
    if (!given.discipline.is_none()) {
        options.config.discipline = label_of(given.discipline);
        options.make_discipline = [&given, fail]() -> std::unique_ptr<vgpusim::discipline> {
            const nb::gil_scoped_acquire python;
            return std::make_unique<python_discipline>(given.discipline, fail);
        };
    }
}

/// An input that several calls share.
struct held_common_input {
    std::shared_ptr<vgpufacade::common_input> input = std::make_shared<vgpufacade::common_input>();
};

/// `baseline`: settings of a run to compare with, where they differ; none: there is no such run. `policy` and
/// `discipline`: objects in the place of what the options name, or None. `keeps_all`: false for figures, measures,
/// curve, time series and losses alone.
simulation_outcome simulate(const named_options& options, const std::optional<named_options>& baseline, nb::list inputs,
                            nb::object tell, nb::object policy, nb::object device_policy, nb::object discipline,
                            const stop_flag* stop, const held_common_input* shared, bool keeps_all) {
    const given_objects given{{std::move(policy), std::move(device_policy)}, std::move(discipline)};
    const python_source source{std::move(inputs)};
    call_watch watch{std::move(tell), stop};
    auto chosen = value_or_raise(vgpufacade::options_from(options, source));
    if (baseline) {
        chosen.baseline = chosen.config;
        for (const auto& [key, value] : *baseline) done_or_raise(vgpusim::set_key(*chosen.baseline, key, value));
    }
    use_objects(chosen, given, watch);
    if (shared != nullptr) chosen.input = shared->input;
    if (!keeps_all) chosen.kept = vgpusim::kept_of_run::figures;
    auto outcome = without_gil(watch, [&] { return vgpufacade::simulate(source, std::move(chosen), watch.follow()); });
    if (const auto compared_with = outcome.baseline_outcome()) {
        watch.complete("baseline", compared_with->input().input.pods.size());
    } else {
        watch.complete(outcome.record().config.policy, outcome.input().input.pods.size());
    }
    return outcome;
}

/// Every setting of a run, as names and values; the policies that options name need not be known.
named_options settings_of(const named_options& options, nb::list inputs) {
    const python_source source{std::move(inputs)};
    const auto chosen = value_or_raise(vgpufacade::options_from(options, source));
    named_options result;
    for (const vgpusim::run_setting& key : vgpusim::all_settings()) {
        if (key.name != "out" && key.name != "trace") result.emplace_back(key.name, key.get(chosen.config));
    }
    return result;
}

nb::list files_of(const simulation_outcome& outcome) {
    call_watch watch{nb::none()};
    const auto files = without_gil(watch, [&] { return outcome.files(watch.follow()); });
    nb::list result;
    for (const auto& [name, text] : files) result.append(nb::make_tuple(name, bytes_of(text)));
    return result;
}

/// Writes the files of a run, with a trace too if that is wanted.
std::vector<std::string> write(const simulation_outcome& outcome, const std::string& folder, bool with_trace) {
    call_watch watch{nb::none()};
    const auto files = without_gil(watch, [&] { return outcome.files(watch.follow(), with_trace); });
    std::vector<std::string> inputs;
    for (const auto& [key, path] : vgpusim::paths_of(outcome.record().config)) inputs.push_back(path);
    for (const auto& file : outcome.input().files) inputs.push_back(file.path); // a bare name lies elsewhere
    return written(folder, files, inputs);
}

nb::object whole_number_of(const std::string& digits) {
    return nb::steal(PyLong_FromString(digits.c_str(), nullptr, 10));
}

/// What means over time are made of, so that those of several runs can be over one span, as vgpusim::share_span() has
/// it: end and span in ticks, and by measure the exact sum, the amount at the end and what the mean is divided by.
/// None: no pod leaves.
nb::object means_of(const simulation_outcome& outcome) {
    const auto& record = outcome.record();
    const auto& usage = record.result.usage;
    if (!record.pods_leave || !usage.has_begun()) return nb::none();
    const auto& at_end = record.result.at_end;
    const auto total = static_cast<double>(record.total_milli);
    const auto units = static_cast<double>(record.gpus * record.requested_whole);
    constexpr double micro = 1e6;
    nb::dict by_measure;
    const auto add = [&]<std::int64_t vgpusim::amounts_in_use::* Amount>(const char* measure, double whole) {
        by_measure[measure] = nb::make_tuple(whole_number_of(usage.sum_of<Amount>().digits()), at_end.*Amount, whole);
    };
    using in_use = vgpusim::amounts_in_use;
    add.operator()<&in_use::served>("served_ratio", units);
    add.operator()<&in_use::allocated_milli>("allocation_mean_ratio", total);
    add.operator()<&in_use::unusable_micro>("fragmentation_mean_milli", micro);
    add.operator()<&in_use::served_memory>("served_memory_ratio", units);
    add.operator()<&in_use::served_compute>("served_compute_ratio", units);
    return nb::make_tuple(usage.end().count(), usage.span(), by_measure);
}

/// By position in keys_of_decisions().
nb::list decision_keys() {
    nb::list result;
    for (const std::string_view key : vgpusim::keys_of_decisions()) result.append(nb::str(key.data(), key.size()));
    return result;
}

std::vector<std::string> warnings_of(const simulation_outcome& outcome) {
    std::vector<std::string> result;
    for (const auto& warning : outcome.input().warnings) result.push_back(warning.message());
    return result;
}

} // namespace

void bind_simulate(nb::module_& module) {
    nb::class_<stop_flag>(module, "StopFlag").def(nb::init<>()).def("set", &stop_flag::set);
    nb::class_<simulation_outcome>(module, "Outcome")
        .def("pods", [](const simulation_outcome& self) { return frame{self.pods()}; })
        .def("timeseries", [](const simulation_outcome& self) { return frame{self.timeseries()}; })
        .def("summary_json", [](const simulation_outcome& self) { return bytes_of(self.summary_json()); })
        .def("text", [](const simulation_outcome& self) { return bytes_of(vgpufacade::outcome_text(self)); })
        .def("measures",
             [](const simulation_outcome& self) {
                 const auto names = vgpufacade::measure_names();
                 const auto values = vgpufacade::measures_of(self);
                 nb::list result;
                 for (std::size_t m = 0; m < names.size(); ++m) result.append(nb::make_tuple(names[m], values[m]));
                 return result;
             })
        .def("curve",
             [](const simulation_outcome& self) {
                 return frame{std::make_shared<const vgpufacade::table>(vgpufacade::curve_of(self))};
             })
        .def("baseline", &simulation_outcome::baseline_outcome)
        .def("counts",
             [](const simulation_outcome& self) {
                 const auto& rows = self.record().rows;
                 return nb::make_tuple(rows.arrived, rows.placed, rows.failed,
                                       vgpusim::figures_of(self.record()).allocation_end_ratio,
                                       self.record().total_milli);
             })
        .def("means", &means_of)
        .def("jobs_of_waits",
             [](const simulation_outcome& self) -> nb::object {
                 if (!self.record().has_queue) return nb::none();
                 const auto waits = vgpusim::mean_waits_of(self.record(), self.input().input);
                 return nb::make_tuple(waits.wait.jobs, waits.slowdown.jobs);
             })
        .def("listed", [](const simulation_outcome& self) { return self.input().listed; })
        .def("pods_leave", [](const simulation_outcome& self) { return self.record().pods_leave; })
        .def("input_files",
             [](const simulation_outcome& self) {
                 nb::list result;
                 for (const auto& file : self.input().files) result.append(nb::make_tuple(file.path, file.sha256));
                 return result;
             })
        .def("warnings", &warnings_of)
        .def("files", &files_of)
        .def("write", &write, nb::arg("folder"), nb::arg("trace"));
    nb::class_<held_common_input>(module, "CommonInput").def(nb::init<>());
    module.def("decision_keys", &decision_keys);
    module.def(
        "paired_difference",
        [](const std::vector<double>& first, const std::vector<double>& second) {
            if (first.size() != second.size() || first.size() < 2) raise_state("expected at least two seeds of both");
            const auto difference = vgpusim::paired_difference_of(first, second);
            return nb::make_tuple(difference.mean, difference.low, difference.high, difference.seeds_matter,
                                  difference.is_shown());
        },
        nb::arg("first"), nb::arg("second"));
    module.def(
        "mean_and_deviation",
        [](const std::vector<double>& values) {
            return nb::make_tuple(vgpusim::mean_of(values), vgpusim::deviation_of(values));
        },
        nb::arg("values"));
    module.def("settings", &settings_of, nb::arg("options"), nb::arg("inputs"));
    module.def("simulate", &simulate, nb::arg("options"), nb::arg("baseline").none(), nb::arg("inputs"),
               nb::arg("tell").none(), nb::arg("policy").none(), nb::arg("device_policy").none(),
               nb::arg("discipline").none(), nb::arg("stop").none(), nb::arg("shared").none(), nb::arg("keeps_all"));
}

} // namespace vgpupython
