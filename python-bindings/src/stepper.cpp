// A simulation that stops at every decision, for environments of reinforcement learning.
#include "vgpufacade/stepper.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind.hpp"
#include "call_watch.hpp"
#include "errors.hpp"
#include "python_source.hpp"
#include "score_rows.hpp"
#include "vgpualloc/compat/all.hpp"
#include "vgpualloc/policy/parse.hpp"

namespace vgpupython {

namespace {

using vgpualloc::node_index;

/// A run in steps, with the job that is to be decided.
class stepped_run {
public:
    stepped_run(const vgpufacade::named_options& options, nb::list inputs, const std::string& label) {
        const python_source source{std::move(inputs)};
        call_watch watch{nb::none()};
        auto chosen = value_or_raise(vgpufacade::options_from(options, source));
        // Nodes are the caller's matter. Whatever scores them alike and sees no positions answers which of them fit.
        const std::string device = chosen.config.device_policy;
        chosen.make_policies = [device](const vgpualloc::policy_parameters& parameters, const vgpualloc::cluster&) {
            return vgpualloc::make_policies("first_fit", device, parameters);
        };
        chosen.config.policy = label;
        auto prepared = [&] {
            const nb::gil_scoped_release released;
            return vgpufacade::prepared_simulation::prepare(source, std::move(chosen), watch.follow());
        }();
        watch.raise_pending();
        run_.emplace(value_or_raise(vgpufacade::stepper::begin(value_or_raise(std::move(prepared)))));
        next();
    }

    [[nodiscard]] bool is_over() const noexcept { return !job_; }
    [[nodiscard]] double time_s() const { return seconds_of(job().time); }
    [[nodiscard]] std::uint32_t pods() const { return job().pods; }
    [[nodiscard]] std::string pod_name() const {
        const auto& input = open().input();
        return input.name_of(input.pods[job().first_pod]);
    }
    [[nodiscard]] std::vector<std::string> nodes() const {
        std::vector<std::string> names;
        for (const auto& node : open().book().nodes().nodes) names.push_back(node.name);
        return names;
    }

    /// id cpu_milli memory_mib gpus gpu_milli of the job's first pod.
    [[nodiscard]] nb::tuple request() {
        const auto& input = open().input();
        const std::uint32_t number = input.pods[job().first_pod].request;
        const shown_request shown = describe_.of(input.requests[number], number, &open().book().nodes());
        return nb::make_tuple(shown.id, shown.cpu_milli, shown.memory_mib, shown.gpus, shown.gpu_milli);
    }

    /// cpu_milli cpu_free_milli gpus gpus_idle used_milli free_milli of every node: int64 (6, n), of the caller's own.
    [[nodiscard]] nb::object states() {
        score_rows rows{node_fields};
        const std::size_t count = open().book().nodes().nodes.size();
        for (std::size_t node = 0; node < count; ++node) {
            if (!open().book().is_present(node_index{node})) {
                rows.add_nothing();
                continue;
            }
            const auto view = open().alloc().view_of(node_index{node});
            rows.add(view, view.config->devices.size());
        }
        auto values = std::make_unique<std::vector<std::int64_t>>();
        for (std::size_t field = 0; field < node_fields; ++field) {
            values->insert(values->end(), rows.column(field).begin(), rows.column(field).end());
        }
        auto* const numbers = values->data();
        const nb::capsule owner{values.release(), [](void* kept) noexcept {
                                    delete static_cast<std::vector<std::int64_t>*>(kept); // NOLINT: Python's
                                }};
        return nb::ndarray<nb::numpy, std::int64_t, nb::ndim<2>>(numbers, {node_fields, count}, owner).cast();
    }

    /// By node, whether the job's first pod fits there: positions.
    [[nodiscard]] std::vector<std::size_t> fitting() {
        const auto& input = open().input();
        const auto& request = input.requests[input.pods[job().first_pod].request];
        std::vector<std::size_t> result;
        const auto id = open().alloc().intern(request);
        if (!id) return result;
        const auto answers = open().alloc().evaluate(*id);
        for (std::size_t node = 0; node < answers.size(); ++node) {
            if (answers[node].code == vgpualloc::rejection_code::none) result.push_back(node);
        }
        return result;
    }

    /// Starts the job's pods on these nodes. False: they do not fit there, and the job still waits for a decision.
    bool place_on(const std::vector<std::optional<std::size_t>>& nodes) {
        if (nodes.size() != job().pods)
            raise_state("expected a node for each of " + std::to_string(job().pods) + " pods");
        std::vector<std::optional<node_index>> places;
        for (const auto& node : nodes) {
            if (node && *node >= open().book().nodes().nodes.size()) throw nb::index_error();
            places.push_back(node ? std::optional{node_index{*node}} : std::nullopt);
        }
        if (!open().place_on(places)) return false;
        next();
        return true;
    }
    bool decide() {
        static_cast<void>(job());
        const bool started = open().decide();
        next();
        return started;
    }
    void leave() {
        static_cast<void>(job());
        open().leave();
        next();
    }
    [[nodiscard]] vgpufacade::simulation_outcome end() {
        static_cast<void>(open());
        job_.reset();
        vgpufacade::stepper run = *std::exchange(run_, std::nullopt);
        return value_or_raise(std::move(run).end());
    }

private:
    [[nodiscard]] vgpufacade::stepper& open() {
        if (!run_) raise_state("the run has ended");
        return *run_;
    }
    [[nodiscard]] const vgpufacade::stepper& open() const {
        if (!run_) raise_state("the run has ended");
        return *run_;
    }
    [[nodiscard]] const vgpufacade::pending_job& job() const {
        if (!job_) raise_state("no job is to be decided: the run is over");
        return *job_;
    }
    void next() { job_ = run_->next(); }

    std::optional<vgpufacade::stepper> run_;
    std::optional<vgpufacade::pending_job> job_;
    request_describer describe_;
};

} // namespace

void bind_stepper(nb::module_& module) {
    nb::class_<stepped_run>(module, "Stepper")
        .def(nb::init<const vgpufacade::named_options&, nb::list, const std::string&>(), nb::arg("options"),
             nb::arg("inputs"), nb::arg("label"))
        .def_prop_ro("over", &stepped_run::is_over)
        .def_prop_ro("time_s", &stepped_run::time_s)
        .def_prop_ro("pods", &stepped_run::pods)
        .def_prop_ro("pod", &stepped_run::pod_name)
        .def_prop_ro("nodes", &stepped_run::nodes)
        .def("request", &stepped_run::request)
        .def("states", &stepped_run::states)
        .def("fitting", &stepped_run::fitting)
        .def("place_on", &stepped_run::place_on, nb::arg("nodes"))
        .def("decide", &stepped_run::decide)
        .def("leave", &stepped_run::leave)
        .def("end", &stepped_run::end);
}

} // namespace vgpupython
