// Errors of the library as Python exceptions.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include <nanobind/nanobind.h>

#include "vgpufacade/core_names.hpp"

namespace vgpupython {

namespace nb = nanobind;

/// Raises what vgpualloc._errors makes of it: InputError, OSError or KeyboardInterrupt.
[[noreturn]] void raise(const vgpualloc::error& failure);

/// Raises StateError.
[[noreturn]] void raise_state(const std::string& sentence);

/// Raises what a signal's handler raises, now and then: to be called for each row of a long loop that has the GIL.
inline void check_signals(std::size_t row) {
    constexpr std::size_t rows_between = 4096;
    if (row % rows_between == 0 && PyErr_CheckSignals() != 0) throw nb::python_error();
}

template <class Value>
Value value_or_raise(vgpualloc::expected<Value> result) {
    if (!result) raise(result.error());
    return *std::move(result);
}
inline void done_or_raise(const vgpualloc::expected<void>& result) {
    if (!result) raise(result.error());
}

/// Adds a note to what Python has raised, where it is of a version that has notes.
inline void add_note(const nb::python_error& raised, const std::string& note) {
    const nb::object add = nb::getattr(raised.value(), "add_note", nb::none());
    if (!add.is_none()) add(note);
}

} // namespace vgpupython
