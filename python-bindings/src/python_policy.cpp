#include "python_policy.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include "errors.hpp"
#include "vgpualloc/compat/all.hpp"
#include "vgpualloc/core/hash.hpp"
#include "vgpualloc/policy/parse.hpp"
#include "vgpualloc/policy/weighted.hpp"

namespace vgpupython {

using vgpualloc::node_view;
using vgpualloc::pod_request;
using vgpualloc::request_view;

namespace {

constexpr std::size_t kept_max = std::size_t{1} << 20U; ///< scores, of 80 bytes each
constexpr double score_max = 0x1p900;                   ///< as the allocator has it

compiled_score pointer_of(nb::handle address) {
    return reinterpret_cast<compiled_score>(nb::cast<std::uintptr_t>(address)); // NOLINT: numba's address of a function
}

bool is_score(double value) { return std::abs(value) < score_max; }

/// A Policy, or what Python knows of one by that name: None where it has none.
nb::object attribute(nb::handle subject, const char* name) { return nb::getattr(subject, name, nb::none()); }

} // namespace

std::string label_of(nb::handle spelled) {
    return nb::cast<std::string>(nb::isinstance<nb::str>(spelled) ? spelled : nb::object{spelled.attr("_label")});
}

python_policy::python_policy(nb::handle subject, const vgpualloc::cluster& nodes, failure_sink fail)
    : object_{std::make_shared<policy_object>(policy_object{.subject = nb::borrow(subject),
                                                            .score = attribute(subject, "score"),
                                                            .device_score = attribute(subject, "_device_score"),
                                                            .arrived = attribute(subject, "_arrived")})},
      has_device_score_{!object_->device_score.is_none()}, fail_{std::move(fail)}, name_{label_of(subject)},
      class_name_{nb::cast<std::string>(subject.type().attr("__name__"))}, nodes_{&nodes} {
    const auto form = nb::cast<std::string>(subject.attr("form"));
    if (form == "rows") form_ = policy_form::rows;
    if (form == "numba") {
        form_ = policy_form::numba;
        const nb::object compiled = subject.attr("_compiled")();
        compiled_ = pointer_of(compiled.attr("score"));
        if (has_device_score_) compiled_device_ = pointer_of(compiled.attr("device_score"));
        wants_gpus_ = nb::cast<bool>(compiled.attr("wants_gpus"));
    }
    read_epoch();
}

python_policy::~python_policy() {
    const nb::gil_scoped_acquire python;
    for (candidates* const kept : {&single_[0], &single_[1], &wanted_[0], &wanted_[1]}) *kept = {};
    requests_.clear();
    object_.reset();
    fail_ = {};
}

vgpualloc::policy_traits python_policy::traits() const noexcept {
    const bool batched = form_ == policy_form::arrays;
    if (!has_device_score_) return {.device_score_is_node_score = true, .batched = batched};
    return {.view = vgpualloc::looks_at::totals, .batched = batched};
}

void python_policy::forget_ids() { forget_scores(); }

void python_policy::forget_scores() {
    for (score_memo& memo : memo_) memo.clear();
}

std::string python_policy::called(bool of_device) const {
    return class_name_ + (of_device ? ".device_score" : ".score");
}

// ---- requests

namespace {

/// Of what differs most.
std::uint64_t hash_of(const pod_request& request) {
    using vgpualloc::hash_combine;
    const auto with = [](std::uint64_t hash, std::int64_t value) {
        return hash_combine(hash, static_cast<std::uint64_t>(value));
    };
    std::uint64_t hash = with(with(0, request.cpu.count()), request.memory.count());
    for (const auto& container : request.containers) {
        hash = with(with(with(hash, container.count), container.memory.count()), container.cores.count());
    }
    return hash;
}

} // namespace

std::size_t python_policy::number_of(const pod_request& request) {
    const auto is_of = [&](std::size_t number) { return requests_[number].first == request; };
    if (last_.request == &request && last_.decision == decisions_ && decisions_ > 0) return last_.number;
    const auto known = number_at_.find(&request);
    if (known != number_at_.end() && is_of(known->second)) {
        last_ = {.request = &request, .number = known->second, .decision = decisions_};
        return known->second;
    }
    const auto [first, last] = numbers_.equal_range(hash_of(request));
    const auto same = std::find_if(first, last, [&](const auto& entry) { return is_of(entry.second); });
    const std::size_t number = same == last ? requests_.size() : same->second;
    if (same == last) {
        const nb::gil_scoped_acquire python;
        numbers_.emplace(hash_of(request), number);
        shown_.push_back(describe_.of(request, static_cast<std::int64_t>(number), nodes_));
        requests_.emplace_back(request, nb::cast(shown_.back()));
    }
    number_at_.insert_or_assign(&request, number);
    last_ = {.request = &request, .number = number, .decision = decisions_};
    return number;
}

void python_policy::note_arrival(const pod_request& request, const vgpualloc::ledger& /*book*/) {
    ++decisions_;
    if (has_failed_ || object_->arrived.is_none()) return;
    const std::size_t number = number_of(request);
    const nb::gil_scoped_acquire python;
    try {
        object_->arrived(requests_[number].second);
        read_epoch();
    } catch (nb::python_error& raised) {
        fail(std::move(raised), class_name_ + ".arrived");
    }
}

void python_policy::begin(const vgpualloc::workload& typical) {
    const nb::object hears = attribute(object_->subject, "_begin");
    if (hears.is_none()) return;
    nb::list rows;
    for (const auto& request : typical.typical) {
        const pod_request pod{.cpu = request.cpu, .memory = vgpualloc::bytes{0}, .containers = request.containers};
        const shown_request shown = describe_.of(pod, 0, nodes_);
        rows.append(nb::make_tuple(shown.cpu_milli, shown.gpus, shown.gpu_milli, request.frequency));
    }
    hears(rows);
    read_epoch();
}

// ---- scores

namespace {

/// What score() gets of a state: a node's or a device's.
nb::object state_object(bool of_device, const std::shared_ptr<score_rows>& rows, bool single) {
    if (of_device) return nb::cast(device_state{{.rows = rows, .single = single}});
    return nb::cast(node_state{{.rows = rows, .single = single}});
}

/// Rows that nobody else holds, with what Python sees of them; `shown` is made where Python is asked.
void begin_rows(std::shared_ptr<score_rows>& rows, nb::object& shown, bool of_device, bool is_asked, bool single) {
    const bool is_ours = rows != nullptr && rows.use_count() == (shown.is_valid() ? 2 : 1) &&
                         (!shown.is_valid() || Py_REFCNT(shown.ptr()) == 1);
    if (is_ours) {
        rows->clear();
    } else {
        rows = std::make_shared<score_rows>(of_device ? device_fields : node_fields);
        shown = nb::object{};
    }
    if (is_asked && !shown.is_valid()) shown = state_object(of_device, rows, single);
}

} // namespace

void python_policy::candidates::begin(bool of_device, bool is_asked, bool single) {
    begin_rows(before, shown_before, of_device, is_asked, single);
    begin_rows(after, shown_after, of_device, is_asked, single);
    keys.clear();
}

template <class Add>
double python_policy::score(bool of_device, std::size_t request, const std::optional<score_key>& key, Add add) {
    if (has_failed_) return 0.0;
    const std::size_t which = of_device ? 1 : 0;
    score_memo& memo = memo_[which];
    if (key) {
        if (const double* const known = memo.find(*key); known != nullptr) return *known;
    }
    if (is_collecting_ && key) {
        candidates& wanted = wanted_[which];
        if (wanted.keys.empty()) {
            const nb::gil_scoped_acquire python;
            wanted.begin(of_device, true, false);
            wanted.request = request;
        }
        add(*wanted.before, *wanted.after);
        wanted.keys.push_back(*key);
        memo.put(*key, 0.0); // asked for once
        return 0.0;
    }
    const nb::gil_scoped_acquire python;
    candidates& one = single_[which];
    one.begin(of_device, true, form_ == policy_form::rows);
    one.request = request;
    add(*one.before, *one.after);
    call_python(of_device, one);
    if (scores_.empty()) return 0.0;
    if (key && memo.size() < kept_max) memo.put(*key, scores_.front());
    return scores_.front();
}

double python_policy::node_score(const request_view& request, const node_view& before, const node_view& after) {
    const std::size_t number = number_of(*request.request);
    if (form_ == policy_form::numba) return compiled_node_score(number, before, after);
    const vgpualloc::device_config& now = *before.config;
    const vgpualloc::device_config& then = *after.config;
    std::optional<score_key> key;
    const std::uint64_t id_before = now.id;
    if (now.id != vgpualloc::not_interned && then.id != vgpualloc::not_interned) {
        key = {.request = number, .states = id_before << 32U | then.id};
    } else if (now.id != vgpualloc::not_interned && has_device_score_) { // by totals
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

namespace {

/// Of all that a policy sees of a step; none where a number is beyond what goes in. Not every state of a device has an
/// id.
std::optional<score_key> key_of(std::size_t request, const std::array<std::int64_t, device_fields>& before,
                                const std::array<std::int64_t, device_fields>& after) {
    std::uint64_t halves = request;
    for (const auto& fields : {before, after}) {
        for (const std::int64_t field : fields) halves |= static_cast<std::uint64_t>(field);
    }
    if (halves >> 31U != 0) return std::nullopt;
    const auto both = [&](std::size_t field) {
        return static_cast<std::uint64_t>(before[field]) << 32U | static_cast<std::uint64_t>(after[field]);
    };
    const auto [used, free, memory, memory_free] = std::array<std::size_t, device_fields>{0, 1, 2, 3};
    return score_key{.request = std::uint64_t{request} << 32U | static_cast<std::uint64_t>(before[memory]),
                     .states = both(used),
                     .cpu = static_cast<std::int64_t>(both(free)),
                     .cpu_left = static_cast<std::int64_t>(both(memory_free))};
}

} // namespace

double python_policy::device_score(const request_view& request, const node_view& before, const node_view& after,
                                   const vgpualloc::step_view& step) {
    if (!has_device_score_) return node_score(request, before, after);
    if (step.before == nullptr) return 0.0; // a pod without devices
    const std::size_t number = number_of(*request.request);
    if (form_ == policy_form::numba) {
        return call_compiled(true, number, fields_of(*step.before).data(), fields_of(*step.after).data(), {});
    }
    return score(true, number, key_of(number, fields_of(*step.before), fields_of(*step.after)),
                 [&](score_rows& rows_before, score_rows& rows_after) {
                     rows_before.add(*step.before);
                     rows_after.add(*step.after);
                 });
}

std::size_t python_policy::end_batch() {
    is_collecting_ = false;
    std::size_t computed = 0;
    for (const bool of_device : {false, true}) {
        candidates& wanted = wanted_[of_device ? 1 : 0];
        if (wanted.keys.empty()) continue;
        {
            const nb::gil_scoped_acquire python;
            call_python(of_device, wanted);
        }
        for (std::size_t row = 0; row < scores_.size(); ++row) {
            memo_[of_device ? 1 : 0].put(wanted.keys[row], scores_[row]);
        }
        wanted.keys.clear();
        computed += scores_.size();
    }
    if (memo_[0].size() > kept_max || memo_[1].size() > kept_max) forget_scores();
    return computed;
}

/// Scores one node without Python.
double python_policy::compiled_node_score(std::size_t request, const node_view& before, const node_view& after) {
    const std::size_t devices = before.config->devices.size();
    const auto fields_before = fields_of(before, devices);
    const auto fields_after = fields_of(after, devices);
    if (!wants_gpus_) return call_compiled(false, request, fields_before.data(), fields_after.data(), {});
    try {
        candidates& states = single_[0];
        const nb::gil_scoped_acquire python; // for what may be raised
        states.begin(false, false, true);
        states.before->add(before, devices);
        states.after->add(after, devices);
        const free_devices gpus{.before = states.before->gpus_free().data(),
                                .after = states.after->gpus_free().data(),
                                .width = static_cast<std::int64_t>(states.after->width())};
        return call_compiled(false, request, fields_before.data(), fields_after.data(), gpus);
    } catch (nb::python_error& raised) {
        const nb::gil_scoped_acquire python;
        fail(std::move(raised), called(false));
        return 0.0;
    }
}

double python_policy::call_compiled(bool of_device, std::size_t request, const std::int64_t* before,
                                    const std::int64_t* after, const free_devices& gpus) {
    if (has_failed_) return 0.0;
    const auto values = shown_[request].values();
    double score = std::nan("");
    (of_device ? compiled_device_ : compiled_)(1, values.data(), before, after, gpus.width, gpus.before, gpus.after,
                                               &score);
    if (is_score(score)) return score;
    try {
        const nb::gil_scoped_acquire python;
        scores_.assign(1, score);
        check(of_device);
    } catch (nb::python_error& raised) {
        const nb::gil_scoped_acquire python;
        fail(std::move(raised), called(of_device));
    }
    return 0.0;
}

/// Ends the run. Has the GIL.
void python_policy::fail(nb::python_error&& raised, const std::string& where) {
    has_failed_ = true;
    add_note(raised, "in " + where + ", decision " + std::to_string(decisions_));
    fail_(std::move(raised));
}

/// Scores every row. Has the GIL.
void python_policy::call_python(bool of_device, candidates& wanted) {
    scores_.clear();
    try {
        ask_python(of_device, wanted);
        check(of_device);
        read_epoch();
    } catch (nb::python_error& raised) {
        scores_.clear();
        fail(std::move(raised), called(of_device));
    }
    wanted.before->close();
    wanted.after->close();
}

void python_policy::ask_python(bool of_device, candidates& wanted) {
    const nb::object& ask = of_device ? object_->device_score : object_->score;
    const std::size_t rows = wanted.before->rows();
    const nb::object answer = ask(requests_[wanted.request].second, wanted.shown_before, wanted.shown_after);
    if (form_ == policy_form::rows) {
        const double score = PyFloat_AsDouble(answer.ptr());
        if (score == -1.0 && PyErr_Occurred() != nullptr) {
            PyErr_Clear();
            raise(bad_value(vgpualloc::error_code::malformed, called(of_device), nb::cast<std::string>(nb::str(answer)),
                            "a number"));
        }
        scores_.push_back(score);
        return;
    }
    using doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
    doubles array;
    const auto expected = [rows] { return std::to_string(rows) + " numbers, one for each candidate"; };
    if (!nb::try_cast(answer, array)) {
        raise(bad_value(vgpualloc::error_code::malformed, called(of_device),
                        nb::cast<std::string>(nb::str(nb::repr(answer).ptr())).substr(0, 60), expected()));
    }
    if (array.size() != rows) {
        raise(bad_value(vgpualloc::error_code::mismatch, called(of_device), std::to_string(array.size()) + " numbers",
                        expected()));
    }
    scores_.assign(array.data(), array.data() + rows);
}

/// Raises InputError for what is no score.
void python_policy::check(bool of_device) const {
    const auto bad = std::ranges::find_if_not(scores_, is_score);
    if (bad == scores_.end()) return;
    const std::string value = std::isnan(*bad)   ? "nan"
                              : std::isinf(*bad) ? (*bad > 0 ? "inf" : "-inf")
                                                 : "2^900 or more";
    raise(bad_value(vgpualloc::error_code::out_of_range, called(of_device), value, "a finite number")
              .at("decision " + std::to_string(decisions_)));
}

void python_policy::read_epoch() {
    const nb::object epoch = object_->subject.attr("epoch");
    std::int64_t now = -1;
    if (!nb::try_cast(epoch, now) || now < 0 || static_cast<std::uint64_t>(now) < epoch_) {
        raise(bad_value(vgpualloc::error_code::out_of_range, class_name_ + ".epoch",
                        nb::cast<std::string>(nb::repr(epoch)), std::to_string(epoch_) + " or more: it only rises"));
    }
    if (static_cast<std::uint64_t>(now) != epoch_) forget_scores();
    epoch_ = static_cast<std::uint64_t>(now);
}

// ---- making

namespace {

using vgpualloc::expected;
using vgpualloc::unexpected;

/// How a policy is made.
struct making {
    const vgpualloc::policy_parameters* parameters;
    const vgpualloc::cluster* nodes;
    const failure_sink* fail;
    policy_objects* objects;

    [[nodiscard]] expected<std::unique_ptr<vgpualloc::policy>> of(nb::handle spelled) const {
        if (nb::isinstance<nb::str>(spelled)) {
            return vgpualloc::parse_policy(nb::cast<std::string>(spelled), vgpualloc::all_policies(), *parameters);
        }
        const nb::object parts = attribute(spelled, "_parts");
        if (!parts.is_none() && nb::len(parts) > 0) return sum_of(parts, label_of(spelled));
        auto result = std::make_unique<python_policy>(spelled, *nodes, *fail);
        if (objects != nullptr) objects->push_back(result->object());
        result->begin(parameters->target);
        return result;
    }

    [[nodiscard]] expected<std::unique_ptr<vgpualloc::policy>> sum_of(nb::handle parts, std::string label) const {
        std::vector<vgpualloc::policies::weighted::term> terms;
        for (const nb::handle part : parts) {
            auto scorer = of(part[nb::int_(1)]);
            if (!scorer) return unexpected(std::move(scorer).error());
            if (!vgpualloc::policies::weighted::can_be_a_term(**scorer)) {
                return unexpected(bad_value(vgpualloc::error_code::unsupported, "policy",
                                            std::string{(*scorer)->name()},
                                            "policies that score nodes and draw nothing, as parts of a sum"));
            }
            terms.push_back({.scorer = *std::move(scorer), .weight = nb::cast<double>(part[nb::int_(0)])});
        }
        return std::make_unique<vgpualloc::policies::weighted>(std::move(label), std::move(terms));
    }

    [[nodiscard]] expected<vgpualloc::owned_policies> both(nb::handle node, nb::handle device) const {
        vgpualloc::owned_policies result;
        auto of_nodes = of(node);
        if (!of_nodes) return unexpected(std::move(of_nodes).error());
        result.node = *std::move(of_nodes);
        if (device.is_none()) return result;
        auto of_devices = of(device);
        if (!of_devices) {
            of_devices.error().field = "device_policy";
            return unexpected(std::move(of_devices).error());
        }
        result.device = *std::move(of_devices);
        if (result.node->positional() == nullptr && result.device->positional() == nullptr) return result;
        return unexpected(bad_value(vgpualloc::error_code::unsupported, "device_policy", label_of(device),
                                    "no policy that looks at positions beside one in Python"));
    }
};

} // namespace

vgpualloc::policies_maker given_policies::maker(failure_sink fail, policy_objects* objects) const {
    const auto is_named = [](const nb::object& spelled) {
        return spelled.is_none() || nb::isinstance<nb::str>(spelled);
    };
    if (is_named(node) && is_named(device)) return {};
    // Copies of the maker are made and end without the GIL; these objects are held by whoever has it called.
    return [node = node.ptr(), device = device.ptr(), fail = std::move(fail),
            objects](const vgpualloc::policy_parameters& parameters,
                     const vgpualloc::cluster& nodes) -> expected<vgpualloc::owned_policies> {
        const nb::gil_scoped_acquire python;
        try {
            if (objects != nullptr) {
                std::erase_if(*objects, [](const auto& gone) { return gone.expired(); });
            }
            return making{.parameters = &parameters, .nodes = &nodes, .fail = &fail, .objects = objects}.both(node,
                                                                                                              device);
        } catch (nb::python_error& raised) {
            fail(std::move(raised));
            return unexpected(vgpualloc::bad_input(vgpualloc::error_code::stopped, "", "stopped", ""));
        }
    };
}

} // namespace vgpupython
