// The solver of linear programs: HiGHS of the package highsbox, which is looked for and loaded when a call needs it.
#include "vgpufacade/solver.hpp"

#include <string>
#include <utility>

#include <nanobind/nanobind.h>

#include "call_watch.hpp"
#include "vgpualloc/solver/highs.hpp"

namespace vgpusim {

namespace nb = nanobind;

namespace {

/// vgpualloc._errors makes an ImportError of an error with this field.
error no_solver(std::string why) { return vgpualloc::bad_input(error_code::unsupported, "highsbox", std::move(why)); }

expected<std::string> library_for(const char* user) {
    const nb::gil_scoped_acquire python;
    try {
        const nb::object path = nb::module_::import_("vgpualloc._solver").attr("library_for")(user);
        return std::string{nb::cast<nb::bytes>(path).c_str()};
    } catch (nb::python_error& raised) {
        if (raised.matches(PyExc_ImportError)) return unexpected(no_solver(nb::str(raised.value()).c_str()));
        // What a handler of a signal raises: it ends the call.
        if (auto* const watch = vgpupython::call_watch::current()) watch->fail(std::move(raised));
        return unexpected(stop_signal::stopped());
    }
}

} // namespace

expected<std::unique_ptr<vgpualloc::plan::lp_solver>> find_solver(const char* user, const stop_signal& stop) {
    const auto library = library_for(user);
    if (!library) return unexpected(library.error());
    auto solver = vgpualloc::solver::load_highs(*library, stop);
    if (!solver) return unexpected(no_solver(solver.error().message()));
    return solver;
}

} // namespace vgpusim
