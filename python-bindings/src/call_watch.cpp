#include "call_watch.hpp"

#include <string>

#include <nanobind/stl/string.h>

namespace vgpupython {

namespace {

thread_local call_watch* innermost =
    nullptr; // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): of calls that nest

} // namespace

call_watch::call_watch(nb::object tell, const stop_flag* flag)
    : outer_{std::exchange(innermost, this)}, tell_{std::move(tell)}, flag_{flag} {}

call_watch::~call_watch() { innermost = outer_; }

call_watch* call_watch::current() noexcept { return innermost; }

vgpufacade::progress call_watch::follow() {
    vgpufacade::progress result{.tell = {}, .stop = stop_};
    if (!tell_.is_none()) {
        result.tell = [this](std::string_view what, std::size_t done, std::size_t total) { tell(what, done, total); };
    }
    return result;
}

void call_watch::raise_pending() {
    if (pending_) throw nb::python_error{*std::exchange(pending_, std::nullopt)};
}

bool call_watch::is_end_wanted() {
    if (pending_ || (flag_ != nullptr && flag_->is_set())) return true;
    const auto now = clock::now();
    if (now - asked_ < std::chrono::milliseconds{20}) return false;
    const nb::gil_scoped_acquire python;
    if (PyErr_CheckSignals() != 0) pending_.emplace();
    asked_ = clock::now();
    return pending_.has_value();
}

void call_watch::tell(std::string_view what, std::size_t done, std::size_t total) {
    const auto now = clock::now();
    if (pending_ || (done < total && now - told_ < std::chrono::milliseconds{50})) return;
    told_ = now;
    const nb::gil_scoped_acquire python;
    try {
        tell_(std::string{what}, done, total);
    } catch (nb::python_error& raised) {
        pending_.emplace(std::move(raised));
    }
}

void call_watch::complete(std::string_view what, std::size_t total) {
    if (!tell_.is_none()) tell(what, total, total);
    raise_pending();
}

} // namespace vgpupython
