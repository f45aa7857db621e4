// Placing pods on a cluster of Python.
#include "living_cluster.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <nanobind/stl/string.h>

namespace vgpupython {

namespace {

/// The lock of a cluster, taken.
class turn {
public:
    turn(const nb::object& lock, nb::object unlock) : unlock_{std::move(unlock)} { lock(); }
    ~turn() {
        PyObject* const done = PyObject_CallNoArgs(unlock_.ptr()); // fails for who has not taken it
        Py_XDECREF(done);
    }
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;

private:
    nb::object unlock_;
};

/// Whether place() takes it as a name without a closer look.
bool is_plain(const nb::object& name) {
    if (name.is_none()) return true;
    if (!PyUnicode_CheckExact(name.ptr())) return false;
    Py_ssize_t size = 0;
    const char* const text = PyUnicode_AsUTF8AndSize(name.ptr(), &size);
    if (text == nullptr) {
        PyErr_Clear();
        return false;
    }
    const std::string_view read{text, static_cast<std::size_t>(size)};
    return !read.empty() &&
           std::ranges::all_of(read, [](char letter) { return letter > ' ' && letter < '\x7f' && letter != '/'; });
}

} // namespace

nb::object living_cluster::place_quickly(nb::handle pod, nb::object name, const std::optional<std::string>& only,
                                         std::int64_t unix_ns) {
    if (are_policies_own_ || !python_ || !pod.type().is(python_->pod_type) || !is_plain(name)) return nb::none();
    const turn own{lock_, unlock_};
    if (python_->trials.size() != 0 || spoken.is_none()) return nb::none();
    const nb::object written = nb::cast<nb::dict>(pod.attr("_new")).get(spoken, nb::none());
    if (written.is_none()) return nb::none();
    nb::object outcome = place_new(nb::cast<nb::tuple>(written), std::move(name), only, unix_ns);
    if (outcome.type().is(python_->placement_type)) is_as_read = false;
    return outcome;
}

nb::object living_cluster::place_new(nb::tuple object, nb::object name, const std::optional<std::string>& only,
                                     std::int64_t unix_ns) {
    std::string short_name;
    nb::object uid; // "<namespace>/<name>"
    if (name.is_none()) {
        do {
            short_name = "pod-" + std::to_string(number_++);
            uid = nb::str(("default/" + short_name).c_str());
        } while (python_->uids.contains(uid));
        name = nb::str(short_name.c_str(), short_name.size());
    } else {
        short_name = nb::cast<std::string>(name);
        uid = nb::str(("default/" + short_name).c_str());
        if (python_->uids.contains(uid)) {
            raise(bad_value(error_code::duplicate, "name", short_name, "a name that no pod has").at("place()"));
        }
    }
    const std::string full_name = add_pod(*nb::inst_ptr<vgpualloc::live_template>(object[2]), short_name);
    try {
        nb::object outcome = decide(full_name, uid, name, only, unix_ns);
        if (!outcome.type().is(python_->placement_type)) {
            live_->remove_pod(full_name);
            return outcome;
        }
        python_->uids[uid] = uid;
        python_->objects[nb::make_tuple(python_->pod_kind, python_->default_namespace, name)] = object;
        return outcome;
    } catch (...) {
        live_->remove_pod(full_name);
        throw;
    }
}

nb::object living_cluster::place(nb::str uid, nb::object shown, const std::optional<std::string>& only,
                                 std::int64_t unix_ns) {
    return decide(nb::cast<std::string>(uid), uid, std::move(shown), only, unix_ns);
}

nb::object living_cluster::decide(const std::string& uid, nb::object known_as, nb::object shown,
                                  const std::optional<std::string>& only, std::int64_t unix_ns) {
    if (const auto failure = live_->failure_of(uid)) raise(*failure);
    renew_policies();
    if (are_policies_own_) live_->note_arrival(uid);
    raise_pending(shown);
    const auto& nodes = live_->book().nodes().nodes;
    candidates_.clear();
    if (only) {
        candidates_.push_back(node_named(*only));
    } else {
        for (std::size_t node = 0; node < nodes.size(); ++node) {
            if (live_->book().is_present(node_index{node})) candidates_.push_back(node_index{node});
        }
    }
    const auto best = live_->choose(uid, candidates_);
    raise_pending(shown);
    if (!best) raise_state("pod " + uid + ": " + std::string{to_string(best.error().code)});
    if (!*best) return rejection_of(uid, shown);
    const auto opinion = live_->reserve(uid, **best);
    if (raised_) static_cast<void>(live_->rollback(uid));
    raise_pending(shown);
    if (!opinion.fits()) return rejection_of(uid, shown);
    if (live_->commit(uid).code != rejection_code::none) raise_state("pod " + uid + " cannot be committed");
    nb::object placement = nb::inst_alloc(python_->placement_type);
    const std::string& node = nodes[(*best)->at()].name;
    new (nb::inst_ptr<placed_pod>(placement)) placed_pod{.pod = std::move(shown),
                                                         .node = nb::str(node.c_str(), node.size()),
                                                         .score = opinion.score,
                                                         .uid = known_as,
                                                         .live = nb::find(this),
                                                         .unix_ns = unix_ns};
    nb::inst_mark_ready(placement);
    python_->placed[known_as] = nb::steal(PyWeakref_NewRef(placement.ptr(), nullptr));
    return placement;
}

nb::object living_cluster::rejection_of(const std::string& uid, const nb::object& shown) {
    vgpualloc::rejection counts;
    std::string closest;
    double least_lacking = 1.0; // of what was wanted
    for (const node_index where : candidates_) {
        const auto opinion = live_->ask_node(uid, where);
        const auto& refused = opinion.refusal;
        ++counts.nodes[static_cast<std::size_t>(refused.code)];
        if (refused.wanted <= 0) continue;
        const double lacking = 1.0 - static_cast<double>(refused.available) / static_cast<double>(refused.wanted);
        if (lacking >= least_lacking) continue;
        least_lacking = lacking;
        closest =
            live_->book().nodes().nodes[where.at()].name + ", " +
            explaining::words_of(
                {.code = refused.code, .wanted = refused.wanted, .available = refused.available, .unit = opinion.unit});
    }
    raise_pending(shown);
    nb::dict reasons;
    std::string first;
    std::int64_t most = 0;
    for (std::size_t code = 1; code < counts.nodes.size(); ++code) {
        if (counts.nodes[code] == 0) continue;
        const std::string name{to_string(static_cast<rejection_code>(code))};
        reasons[name.c_str()] = counts.nodes[code];
        if (counts.nodes[code] > most) {
            most = counts.nodes[code];
            first = name;
        }
    }
    return python_->rejection_type(shown, first.empty() ? "no_nodes" : first, reasons,
                                   explaining::scheduling_message(counts, candidates_.size()), closest);
}

} // namespace vgpupython
