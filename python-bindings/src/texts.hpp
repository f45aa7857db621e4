// Texts of the library as Python's.
#pragma once

#include <string_view>

#include <nanobind/nanobind.h>

namespace vgpupython {

namespace nb = nanobind;

/// Names come from inputs and may be any bytes; Python's text may not.
[[nodiscard]] inline nb::object text_of(std::string_view bytes) {
    return nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "backslashreplace"));
}
[[nodiscard]] inline nb::bytes bytes_of(std::string_view text) { return nb::bytes{text.data(), text.size()}; }

} // namespace vgpupython
