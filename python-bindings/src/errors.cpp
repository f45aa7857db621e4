#include "errors.hpp"

#include <string>

#include <nanobind/stl/string.h>

#include "texts.hpp"

namespace vgpupython {

namespace {

const char* name_of(vgpualloc::error_code code) {
    using enum vgpualloc::error_code;
    switch (code) {
    case io:
        return "io";
    case malformed:
        return "malformed";
    case out_of_range:
        return "out_of_range";
    case missing:
        return "missing";
    case duplicate:
        return "duplicate";
    case unknown_name:
        return "unknown_name";
    case unsupported:
        return "unsupported";
    case mismatch:
        return "mismatch";
    case stopped:
        return "stopped";
    }
    return "malformed";
}

} // namespace

void raise(const vgpualloc::error& failure) {
    const nb::object exception =
        nb::module_::import_("vgpualloc._errors")
            .attr("error_of")(name_of(failure.code), text_of(failure.where), text_of(failure.field),
                              text_of(failure.value), text_of(failure.expected), text_of(failure.message()),
                              text_of(failure.reason()), failure.error_number);
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr()); // NOLINT: a C interface
    throw nb::python_error();
}

void raise_state(const std::string& sentence) {
    const nb::object exception =
        nb::module_::import_("vgpualloc._errors").attr("StateError")(text_of(sentence), nb::arg("code") = "state");
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr()); // NOLINT: a C interface
    throw nb::python_error();
}

} // namespace vgpupython
