// Errors of the library as Python exceptions.
#pragma once

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

template <class Value>
Value value_or_raise(vgpualloc::expected<Value> result) {
    if (!result) raise(result.error());
    return *std::move(result);
}
inline void done_or_raise(const vgpualloc::expected<void>& result) {
    if (!result) raise(result.error());
}

} // namespace vgpupython
