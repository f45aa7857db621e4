// The files of a study whose runs are finished.
#include "bind.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "errors.hpp"
#include "vgpufacade/simulate.hpp"
#include "vgpufacade/study.hpp"
#include "written.hpp"

namespace vgpupython {

namespace {

using vgpufacade::named_options;

constexpr unsigned low_bits = 62; // of a wide number that is told as two

/// What acceptance_of() takes: the units of a GPU, all pods, wide amounts as two numbers, and pods by size. Waits are
/// no part of it.
std::vector<std::int64_t> numbers_of(const vgpusim::acceptance& accepted) {
    std::vector<std::int64_t> numbers{accepted.whole, accepted.pods.arrived, accepted.pods.accepted};
    for (const vgpusim::wide_integer units : {accepted.arrived_units, accepted.accepted_units}) {
        numbers.push_back(static_cast<std::int64_t>(units >> low_bits));
        numbers.push_back(static_cast<std::int64_t>(units & ((vgpusim::wide_integer{1} << low_bits) - 1)));
    }
    for (const vgpusim::accepted_size& size : accepted.by_size) {
        numbers.push_back(size.arrived);
        numbers.push_back(size.accepted);
    }
    return numbers;
}

vgpusim::acceptance acceptance_of(const std::vector<std::int64_t>& numbers) {
    constexpr std::size_t first_size = 7;
    if (numbers.size() != first_size + 2 * vgpusim::gpu_sizes.size() || numbers[0] <= 0) {
        raise_state("another study's run");
    }
    const auto wide = [&numbers](std::size_t at) {
        return (vgpusim::wide_integer{numbers[at]} << low_bits) + numbers[at + 1];
    };
    vgpusim::acceptance accepted{.whole = numbers[0], .arrived_units = wide(3), .accepted_units = wide(5)};
    accepted.pods.arrived = numbers[1];
    accepted.pods.accepted = numbers[2];
    for (std::size_t i = 0; i < accepted.by_size.size(); ++i) {
        accepted.by_size[i].arrived = numbers[first_size + 2 * i];
        accepted.by_size[i].accepted = numbers[first_size + 2 * i + 1];
    }
    return accepted;
}

/// Runs of policies, lists, loads and seeds, in the order of vgpusim::experiment::position_of(). They are of workload
/// models or of lists whose pods stay; policies may be some that no command knows.
class study {
public:
    study(const std::string& folder, const named_options& settings, const std::vector<std::string>& policies,
          std::vector<std::string> pods, std::vector<double> loads,
          const std::pair<std::int64_t, std::int64_t>& seeds) {
        for (const auto& [key, value] : settings) done_or_raise(vgpusim::set_key(plan_.run, key, value));
        plan_.run.out = folder;
        is_of_models_ = plan_.run.format == vgpusim::model_format;
        if (!is_of_models_ && !loads.empty()) { // which is refused as the key of a run
            plan_.run.offered_load = loads.front();
            loads.clear();
        }
        done_or_raise(is_of_models_ ? vgpusim::check_loss_study_keys(plan_.run) : vgpusim::check_study_keys(plan_.run));
        for (const std::string& name : policies) plan_.lists.policies.push_back({.name = name, .policy = name});
        plan_.lists.pods = std::move(pods);
        plan_.lists.loads = std::move(loads);
        plan_.lists.seeds = {.first = seeds.first, .last = seeds.second};
    }

    void add_input(std::string path, std::string sha256) {
        notes_.files.push_back({.path = std::move(path), .sha256 = std::move(sha256)});
    }
    void add_list(std::size_t pods) { list_sizes_.push_back(pods); }

    /// `columns`: the loads, in percent, and then a column for each of vgpusim::load_metric_names. `accepted`: as
    /// numbers_of() has it.
    void add_run(const std::vector<std::vector<double>>& columns, std::int64_t arrived, std::int64_t failed,
                 const std::vector<std::int64_t>& accepted) {
        if (is_of_models_ || columns.size() != 1 + vgpusim::load_metric_names.size())
            raise_state("another study's run");
        vgpusim::studied_run run{
            .curve = {}, .arrived = arrived, .failed = failed, .accepted = acceptance_of(accepted)};
        for (std::size_t row = 0; row < columns.front().size(); ++row) {
            const double percent = columns.front()[row];
            if (!(percent >= 0.0 && percent <= static_cast<double>(vgpusim::load_pct_max))) raise_state("no load");
            vgpusim::load_point point{};
            for (std::size_t m = 0; m < point.size(); ++m) point[m] = columns[1 + m].at(row);
            run.curve.resize(std::max(run.curve.size(), static_cast<std::size_t>(percent) + 1));
            run.curve[static_cast<std::size_t>(percent)] = point;
        }
        runs_.push_back(std::move(run));
    }

    /// `numbers`, `of_classes` and `accepted`: as losses_of() has them.
    void add_losses(const std::vector<std::int64_t>& numbers, std::vector<std::string> classes,
                    const std::vector<std::pair<std::int64_t, std::int64_t>>& of_classes,
                    const std::vector<std::int64_t>& accepted) {
        constexpr std::size_t count = 9;
        if (!is_of_models_ || numbers.size() != count || classes.size() != of_classes.size()) {
            raise_state("another study's run");
        }
        vgpusim::loss_run run;
        run.figures.pods = {.arrived = numbers[0], .accepted = numbers[1]};
        run.figures.arrived = {.memory = numbers[2], .compute = numbers[3]};
        run.figures.accepted = {.memory = numbers[4], .compute = numbers[5]};
        run.figures.filled_of = numbers[6];
        run.figures.of_gpus = acceptance_of(accepted);
        run.started = numbers[7];
        run.moved = numbers[8];
        run.classes = std::move(classes);
        for (const auto& pods : of_classes) {
            run.figures.of_classes.push_back({.arrived = pods.first, .accepted = pods.second});
        }
        losses_.push_back(std::move(run));
    }

    /// Writes study.csv and study.json, or neither, and returns their names.
    std::vector<std::string> write(double wall_s, double cpu_s, std::size_t jobs) {
        notes_.wall_s = wall_s;
        notes_.cpu_s = cpu_s;
        notes_.jobs = jobs;
        const std::size_t finished = is_of_models_ ? losses_.size() : runs_.size();
        const bool has_lists = is_of_models_ || list_sizes_.size() == plan_.lists.pods.size();
        if (finished == 0 || finished != plan_.runs() || !has_lists) raise_state("a study lacks runs or lists");
        std::vector<std::string> inputs;
        for (const auto& file : notes_.files) inputs.push_back(file.path);
        return written(plan_.run.out, texts(), inputs);
    }

private:
    [[nodiscard]] vgpusim::named_texts texts() const {
        const std::string table = vgpusim::study_table_name;
        const std::string summary = vgpusim::study_summary_name;
        if (is_of_models_) {
            const vgpusim::loss_results results{notes_, losses_};
            return {{table, loss_study_csv(plan_, results)}, {summary, loss_study_json(plan_, results)}};
        }
        const vgpusim::study_results results{notes_, runs_};
        return {{table, study_csv(plan_, results)}, {summary, study_json(plan_, notes_.files, list_sizes_, results)}};
    }

    vgpusim::experiment plan_;
    bool is_of_models_ = false;
    vgpusim::experiment_notes notes_;
    std::vector<std::size_t> list_sizes_;
    std::vector<vgpusim::studied_run> runs_;
    std::vector<vgpusim::loss_run> losses_;
};

/// What add_losses() takes of a run of a workload model; None: it is of none.
nb::object losses_of(const vgpufacade::simulation_outcome& outcome) {
    const auto& input = outcome.input().input;
    if (!input.measured) return nb::none();
    const vgpusim::loss_run run = vgpusim::loss_run_of(outcome.record(), input);
    const auto& of = run.figures;
    const std::vector<std::int64_t> numbers{of.pods.arrived,    of.pods.accepted,   of.arrived.memory,
                                            of.arrived.compute, of.accepted.memory, of.accepted.compute,
                                            of.filled_of,       run.started,        run.moved};
    std::vector<std::pair<std::int64_t, std::int64_t>> of_classes;
    for (const auto& pods : of.of_classes) of_classes.emplace_back(pods.arrived, pods.accepted);
    return nb::make_tuple(numbers, run.classes, of_classes, numbers_of(of.of_gpus));
}

} // namespace

void bind_study(nb::module_& module) {
    module.def("losses", &losses_of, nb::arg("outcome"));
    module.def(
        "accepted", [](const vgpufacade::simulation_outcome& outcome) { return numbers_of(outcome.record().accepted); },
        nb::arg("outcome"));
    nb::class_<study>(module, "Study")
        .def(nb::init<const std::string&, const named_options&, const std::vector<std::string>&,
                      std::vector<std::string>, std::vector<double>, const std::pair<std::int64_t, std::int64_t>&>(),
             nb::arg("folder"), nb::arg("settings"), nb::arg("policies"), nb::arg("pods"), nb::arg("loads"),
             nb::arg("seeds"))
        .def("add_input", &study::add_input, nb::arg("path"), nb::arg("sha256"))
        .def("add_list", &study::add_list, nb::arg("pods"))
        .def("add_run", &study::add_run, nb::arg("columns"), nb::arg("arrived"), nb::arg("failed"), nb::arg("accepted"))
        .def("add_losses", &study::add_losses, nb::arg("numbers"), nb::arg("classes"), nb::arg("of_classes"),
             nb::arg("accepted"))
        .def("write", &study::write, nb::arg("wall_s"), nb::arg("cpu_s"), nb::arg("jobs"));
}

} // namespace vgpupython
