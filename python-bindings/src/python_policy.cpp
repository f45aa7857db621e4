#include "python_policy.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include "errors.hpp"
#include "vgpualloc/compat/all.hpp"
#include "vgpualloc/policy/parse.hpp"
#include "vgpualloc/policy/weighted.hpp"

namespace vgpupython {

using vgpualloc::node_view;
using vgpualloc::pod_request;
using vgpualloc::request_view;

namespace {

constexpr std::size_t kept_max = std::size_t{1} << 20U; ///< scores, of 48 bytes each
constexpr double score_max = 0x1p900;                   ///< as the allocator has it

compiled_score pointer_of(nb::handle address) {
    return reinterpret_cast<compiled_score>(nb::cast<std::uintptr_t>(address)); // NOLINT: numba's address of a function
}

bool is_score(double value) { return std::abs(value) < score_max; }

/// A Policy, or what Python knows of one by that name: None where it has none.
nb::object attribute(nb::handle subject, const char* name) { return nb::getattr(subject, name, nb::none()); }

} // namespace

python_policy::python_policy(nb::handle subject, failure_sink fail)
    : subject_{nb::borrow(subject)}, score_{attribute(subject, "score")},
      device_score_{attribute(subject, "_device_score")}, arrived_{attribute(subject, "_arrived")},
      fail_{std::move(fail)}, name_{nb::cast<std::string>(subject.attr("_label"))},
      class_name_{nb::cast<std::string>(subject.type().attr("__name__"))} {
    const auto form = nb::cast<std::string>(subject.attr("form"));
    if (form == "rows") form_ = policy_form::rows;
    if (form == "numba") {
        form_ = policy_form::numba;
        const nb::object compiled = subject.attr("_compiled")();
        compiled_ = pointer_of(compiled.attr("score"));
        if (!device_score_.is_none()) compiled_device_ = pointer_of(compiled.attr("device_score"));
        wants_gpus_ = nb::cast<bool>(compiled.attr("wants_gpus"));
    }
    read_epoch();
}

python_policy::~python_policy() {
    const nb::gil_scoped_acquire python;
    requests_.clear();
    subject_.reset();
    score_.reset();
    device_score_.reset();
    arrived_.reset();
    fail_ = {};
}

vgpualloc::policy_traits python_policy::traits() const noexcept {
    if (device_score_.is_none()) return {.device_score_is_node_score = true, .batched = true};
    return {.view = vgpualloc::looks_at::totals, .batched = true};
}

void python_policy::forget_ids() { forget_scores(); }

void python_policy::forget_scores() {
    for (auto& kept : kept_) kept.clear();
}

std::string python_policy::called(bool of_device) const {
    return class_name_ + (of_device ? ".device_score" : ".score");
}

// ---- requests

std::size_t python_policy::number_of(const pod_request& request) {
    const auto known = number_at_.find(&request);
    if (known != number_at_.end() && requests_[known->second].first == request) return known->second;
    const auto same = std::ranges::find(requests_, request, &std::pair<pod_request, nb::object>::first);
    const auto number = static_cast<std::size_t>(same - requests_.begin());
    if (same == requests_.end()) {
        const nb::gil_scoped_acquire python;
        shown_.push_back(describe_request(request, static_cast<std::int64_t>(number), nodes()));
        requests_.emplace_back(request, nb::cast(shown_.back()));
    }
    number_at_.insert_or_assign(&request, number);
    return number;
}

void python_policy::note_arrival(const pod_request& request, const vgpualloc::ledger& book) {
    book_ = &book;
    ++decisions_;
    if (has_failed_ || arrived_.is_none()) return;
    const std::size_t number = number_of(request);
    const nb::gil_scoped_acquire python;
    try {
        arrived_(requests_[number].second);
        read_epoch();
    } catch (nb::python_error& raised) {
        has_failed_ = true;
        fail_(std::move(raised));
    }
}

void python_policy::begin(const vgpualloc::workload& typical) {
    const nb::object hears = attribute(subject_, "_begin");
    if (hears.is_none()) return;
    nb::list rows;
    for (const auto& request : typical.typical) {
        const pod_request pod{.cpu = request.cpu, .memory = vgpualloc::bytes{0}, .containers = request.containers};
        const shown_request shown = describe_request(pod, 0, nodes());
        rows.append(nb::make_tuple(shown.cpu_milli, shown.gpus, shown.gpu_milli, request.frequency));
    }
    hears(rows);
    read_epoch();
}

// ---- scores

template <class Add>
double python_policy::score(bool of_device, std::size_t request, const std::optional<score_key>& key, Add add) {
    if (has_failed_) return 0.0;
    kept_scores& kept = kept_[of_device ? 1 : 0];
    if (key) {
        const auto known = kept.find(*key);
        if (known != kept.end()) return known->second;
    }
    const std::size_t fields = of_device ? device_fields : node_fields;
    if (is_collecting_ && key) {
        auto& wanted = wanted_[of_device ? 1 : 0];
        if (!wanted) wanted.emplace(request, fields);
        add(*wanted->before, *wanted->after);
        wanted->keys.push_back(*key);
        kept.emplace(*key, 0.0); // asked for once
        return 0.0;
    }
    candidates one{request, fields};
    add(*one.before, *one.after);
    std::vector<double> scores;
    compute(of_device, one, scores);
    if (scores.empty()) return 0.0;
    if (key && kept.size() < kept_max) kept.emplace(*key, scores.front());
    return scores.front();
}

double python_policy::node_score(const request_view& request, const node_view& before, const node_view& after) {
    const std::size_t number = number_of(*request.request);
    const vgpualloc::device_config& now = *before.config;
    const vgpualloc::device_config& then = *after.config;
    std::optional<score_key> key;
    const std::uint64_t id_before = now.id;
    if (now.id != vgpualloc::not_interned && then.id != vgpualloc::not_interned) {
        key = {.request = number, .states = id_before << 32U | then.id};
    } else if (now.id != vgpualloc::not_interned && !device_score_.is_none()) { // by totals
        const auto used = static_cast<std::uint64_t>((then.used - now.used).count());
        const auto idle = static_cast<std::uint64_t>(now.devices_free_whole - then.devices_free_whole);
        key = {.request = number, .states = id_before << 32U | (used << 8U ^ idle)};
        if (used >= 1U << 24U || idle >= 1U << 8U) key.reset();
    }
    if (key) {
        key->cpu = before.cpu_capacity.count();
        key->cpu_left = before.cpu_left.count();
    }
    const std::size_t devices = now.devices.size();
    return score(false, number, key, [&](score_rows& rows_before, score_rows& rows_after) {
        rows_before.add(before, devices);
        rows_after.add(after, devices);
    });
}

double python_policy::device_score(const request_view& request, const node_view& before, const node_view& after,
                                   const vgpualloc::step_view& step) {
    if (device_score_.is_none()) return node_score(request, before, after);
    if (step.before == nullptr) return 0.0; // a pod without devices
    const std::size_t number = number_of(*request.request);
    std::optional<score_key> key;
    if (step.before->id != vgpualloc::not_interned && step.after->id != vgpualloc::not_interned) {
        key = {.request = number, .states = std::uint64_t{step.before->id} << 32U | step.after->id};
    }
    return score(true, number, key, [&](score_rows& rows_before, score_rows& rows_after) {
        rows_before.add(*step.before);
        rows_after.add(*step.after);
    });
}

std::size_t python_policy::end_batch() {
    is_collecting_ = false;
    std::size_t computed = 0;
    for (const bool of_device : {false, true}) {
        auto wanted = std::exchange(wanted_[of_device ? 1 : 0], std::nullopt);
        if (!wanted) continue;
        kept_scores& kept = kept_[of_device ? 1 : 0];
        std::vector<double> scores;
        compute(of_device, *wanted, scores);
        for (std::size_t row = 0; row < wanted->keys.size(); ++row) {
            if (scores.empty()) {
                kept.erase(wanted->keys[row]);
            } else {
                kept.insert_or_assign(wanted->keys[row], scores[row]);
            }
        }
        computed += scores.size();
    }
    if (kept_[0].size() > kept_max || kept_[1].size() > kept_max) forget_scores();
    return computed;
}

/// Scores by row; none after a failure.
void python_policy::compute(bool of_device, candidates& wanted, std::vector<double>& scores) {
    const std::size_t rows = wanted.before->rows();
    if (form_ == policy_form::numba) {
        const auto request = shown_[wanted.request].values();
        const auto joined = [](const score_rows& states, std::size_t fields) {
            std::vector<std::int64_t> values;
            for (std::size_t field = 0; field < fields; ++field) {
                values.insert(values.end(), states.column(field).begin(), states.column(field).end());
            }
            return values;
        };
        const std::size_t fields = of_device ? device_fields : node_fields;
        const auto before = joined(*wanted.before, fields);
        const auto after = joined(*wanted.after, fields);
        scores.assign(rows, std::nan(""));
        try {
            const std::int64_t* gpus_before = nullptr;
            const std::int64_t* gpus_after = nullptr;
            std::int64_t width = 0;
            if (wants_gpus_ && !of_device) {
                const nb::gil_scoped_acquire python; // for what may be raised
                gpus_before = wanted.before->gpus_free().data();
                gpus_after = wanted.after->gpus_free().data();
                width = static_cast<std::int64_t>(wanted.after->width());
            }
            (of_device ? compiled_device_ : compiled_)(static_cast<std::int64_t>(rows), request.data(), before.data(),
                                                       after.data(), width, gpus_before, gpus_after, scores.data());
            if (std::ranges::all_of(scores, is_score)) return;
            const nb::gil_scoped_acquire python;
            check(of_device, scores);
        } catch (nb::python_error& raised) {
            const nb::gil_scoped_acquire python;
            has_failed_ = true;
            fail_(std::move(raised));
        }
        scores.clear();
        return;
    }
    const nb::gil_scoped_acquire python;
    try {
        ask_python(of_device, wanted, scores);
        check(of_device, scores);
        read_epoch();
    } catch (nb::python_error& raised) {
        scores.clear();
        has_failed_ = true;
        fail_(std::move(raised));
    }
    wanted.before->close();
    wanted.after->close();
}

namespace {

/// What score() gets of a state: a node's or a device's.
nb::object state_object(bool of_device, const std::shared_ptr<score_rows>& rows, bool single) {
    if (of_device) return nb::cast(device_state{{.rows = rows, .single = single}});
    return nb::cast(node_state{{.rows = rows, .single = single}});
}

/// Row `row` of states by itself.
std::shared_ptr<score_rows> row_of(const score_rows& rows, std::size_t row) {
    return std::make_shared<score_rows>(rows.row(row));
}

} // namespace

void python_policy::ask_python(bool of_device, candidates& wanted, std::vector<double>& scores) {
    const nb::object& ask = of_device ? device_score_ : score_;
    const nb::object& request = requests_[wanted.request].second;
    const std::size_t rows = wanted.before->rows();
    if (form_ == policy_form::rows) {
        scores.reserve(rows);
        for (std::size_t row = 0; row < rows; ++row) {
            const auto before = rows == 1 ? wanted.before : row_of(*wanted.before, row);
            const auto after = rows == 1 ? wanted.after : row_of(*wanted.after, row);
            const nb::object answer =
                ask(request, state_object(of_device, before, true), state_object(of_device, after, true));
            before->close();
            after->close();
            const double score = PyFloat_AsDouble(answer.ptr());
            if (score == -1.0 && PyErr_Occurred() != nullptr) {
                PyErr_Clear();
                raise(bad_value(vgpualloc::error_code::malformed, called(of_device),
                                nb::cast<std::string>(nb::str(answer)), "a number"));
            }
            scores.push_back(score);
        }
        return;
    }
    const nb::object answer =
        ask(request, state_object(of_device, wanted.before, false), state_object(of_device, wanted.after, false));
    using doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
    doubles array;
    const std::string expected = std::to_string(rows) + " numbers, one for each candidate";
    if (!nb::try_cast(answer, array)) {
        raise(bad_value(vgpualloc::error_code::malformed, called(of_device),
                        nb::cast<std::string>(nb::str(nb::repr(answer).ptr())).substr(0, 60), expected));
    }
    if (array.size() != rows) {
        raise(bad_value(vgpualloc::error_code::mismatch, called(of_device), std::to_string(array.size()) + " numbers",
                        expected));
    }
    scores.assign(array.data(), array.data() + rows);
}

/// Raises InputError for what is no score.
void python_policy::check(bool of_device, const std::vector<double>& scores) const {
    const auto bad = std::ranges::find_if_not(scores, is_score);
    if (bad == scores.end()) return;
    const std::string value = std::isnan(*bad)   ? "nan"
                              : std::isinf(*bad) ? (*bad > 0 ? "inf" : "-inf")
                                                 : "2^900 or more";
    raise(bad_value(vgpualloc::error_code::out_of_range, called(of_device), value, "a finite number")
              .at("decision " + std::to_string(decisions_)));
}

void python_policy::read_epoch() {
    const auto now = nb::cast<std::int64_t>(subject_.attr("epoch"));
    if (now < 0 || static_cast<std::uint64_t>(now) < epoch_) {
        raise(bad_value(vgpualloc::error_code::out_of_range, class_name_ + ".epoch", std::to_string(now),
                        std::to_string(epoch_) + " or more: it only rises"));
    }
    if (static_cast<std::uint64_t>(now) != epoch_) forget_scores();
    epoch_ = static_cast<std::uint64_t>(now);
}

// ---- making

vgpualloc::expected<std::unique_ptr<vgpualloc::policy>>
make_policy(nb::handle spelled, const vgpualloc::policy_parameters& parameters, const failure_sink& fail) {
    if (nb::isinstance<nb::str>(spelled)) {
        return vgpualloc::parse_policy(nb::cast<std::string>(spelled), vgpualloc::all_policies(), parameters);
    }
    const nb::object parts = attribute(spelled, "_parts");
    if (parts.is_none()) {
        auto result = std::make_unique<python_policy>(spelled, fail);
        result->begin(parameters.target);
        return result;
    }
    std::vector<vgpualloc::policies::weighted::term> terms;
    for (const nb::handle part : parts) {
        auto scorer = make_policy(part[nb::int_(1)], parameters, fail);
        if (!scorer) return vgpualloc::unexpected(std::move(scorer).error());
        if (!vgpualloc::policies::weighted::can_be_a_term(**scorer)) {
            return vgpualloc::unexpected(bad_value(vgpualloc::error_code::unsupported, "policy",
                                                   std::string{(*scorer)->name()},
                                                   "policies that score nodes and draw nothing, as parts of a sum"));
        }
        terms.push_back({.scorer = *std::move(scorer), .weight = nb::cast<double>(part[nb::int_(0)])});
    }
    return std::make_unique<vgpualloc::policies::weighted>(nb::cast<std::string>(spelled.attr("_label")),
                                                           std::move(terms));
}

} // namespace vgpupython
