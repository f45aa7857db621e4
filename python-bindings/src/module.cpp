// The module vgpualloc._core.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "bind.hpp"

#include "errors.hpp"
#include "frame.hpp"
#include "input_columns.hpp"
#include "vgpualloc/version.hpp"
#include "vgpuformats/sha256.hpp"
#include "vgputraces/file_source.hpp"
#include <exception>
#include <typeinfo>

namespace vgpupython {

namespace {

nb::list names_of(const frame& self) {
    nb::list names;
    for (const auto& column : self.table().columns) names.append(nb::str(column.name.data(), column.name.size()));
    return names;
}

} // namespace

void bind_tables(nb::module_& module) {
    nb::class_<frame>(module, "Frame")
        .def_static("from_pairs", &frame::from_pairs, nb::arg("pairs"))
        .def("names", &names_of)
        .def("rows", [](const frame& self) { return self.table().rows(); })
        .def("kind", &frame::kind, nb::arg("column"))
        .def("array", &frame::array, nb::arg("column"))
        .def("dictionary", &frame::dictionary, nb::arg("column"))
        .def("arrow_stream", &frame::arrow_stream);
    nb::class_<input_columns>(module, "InputColumns")
        .def("sha256",
             [](const input_columns& self) {
                 done_or_raise(vgpuformats::check_table(self.table(), "<table>"));
                 return vgpuformats::sha256_of_table(self.table());
             })
        .def_static("from_arrow", &input_columns::from_arrow, nb::arg("name"), nb::arg("exporter"))
        .def_static("from_pairs", &input_columns::from_pairs, nb::arg("name"), nb::arg("pairs"));
}

} // namespace vgpupython

NB_MODULE(_core, module) {
    vgpupython::nb::register_exception_translator([](const std::exception_ptr& thrown, void* /*unused*/) {
        try {
            std::rethrow_exception(thrown);
        } catch (const std::bad_cast&) {
            PyErr_SetString(PyExc_TypeError, "expected a value of another type, or a text that is Unicode");
        }
    });
    module.def(
        "checksum_of_file",
        [](const std::string& name) {
            const vgputraces::file_source files;
            return vgpupython::value_or_raise(vgpuformats::sha256_of_file(files.resolve(name)));
        },
        vgpupython::nb::arg("name"));
    module.def(
        "resolve_from",
        [](const std::string& from, const std::string& name) {
            return vgputraces::file_source{}.resolve_from(from, name);
        },
        vgpupython::nb::arg("from_"), vgpupython::nb::arg("name"));
    module.attr("version") = vgpupython::nb::str(vgpualloc::version.data(), vgpualloc::version.size());
    vgpupython::bind_tables(module);
    vgpupython::bind_known(module);
    vgpupython::bind_states(module);
    vgpupython::bind_discipline(module);
    vgpupython::bind_simulate(module);
    vgpupython::bind_study(module);
    vgpupython::bind_stepper(module);
    vgpupython::bind_cluster_files(module);
    vgpupython::bind_live(module);
    vgpupython::bind_ask(module);
}
