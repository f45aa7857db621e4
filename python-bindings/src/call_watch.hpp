// A long call, as Python follows it and ends it.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string_view>

#include <nanobind/nanobind.h>

#include "vgpufacade/simulate.hpp"

namespace vgpupython {

namespace nb = nanobind;

/// Set by another thread of Python that wants calls to end.
class stop_flag {
public:
    void set() noexcept { is_set_ = true; }
    [[nodiscard]] bool is_set() const noexcept { return is_set_; }

private:
    std::atomic<bool> is_set_ = false;
};

/// Asks Python for signals every 20 ms and tells it every 50 ms how far a call is. It must outlive what it hands out;
/// the call runs in the calling thread, without the GIL.
class call_watch {
public:
    /// `tell` gets what, done and total; None: nobody wants to know.
    explicit call_watch(nb::object tell, const stop_flag* flag = nullptr);
    ~call_watch();
    call_watch(const call_watch&) = delete;
    call_watch& operator=(const call_watch&) = delete;

    /// That of the innermost call of this thread; none outside of long calls.
    [[nodiscard]] static call_watch* current() noexcept;

    [[nodiscard]] vgpufacade::progress follow();
    [[nodiscard]] const std::function<bool()>& stop() const noexcept { return stop_; }

    /// Tells that all is done, and raises what that raises.
    void complete(std::string_view what, std::size_t total);

    /// Ends the call for what was raised on its way, the first of it. Has the GIL.
    void fail(nb::python_error&& raised) {
        if (!pending_) pending_.emplace(std::move(raised));
    }
    /// Raises what a signal's handler or the caller's function has raised meanwhile, if anything.
    void raise_pending();

private:
    using clock = std::chrono::steady_clock;
    bool is_end_wanted();
    void tell(std::string_view what, std::size_t done, std::size_t total);

    call_watch* outer_;
    nb::object tell_;
    const stop_flag* flag_;
    std::function<bool()> stop_{[this] { return is_end_wanted(); }};
    clock::time_point asked_ = clock::now();
    clock::time_point told_{};
    std::optional<nb::python_error> pending_;
};

} // namespace vgpupython
