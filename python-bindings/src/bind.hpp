// What each part of the module binds.
#pragma once

#include <nanobind/nanobind.h>

namespace vgpupython {

namespace nb = nanobind;

void bind_tables(nb::module_& module);
void bind_simulate(nb::module_& module);
void bind_known(nb::module_& module);
void bind_study(nb::module_& module);
void bind_stepper(nb::module_& module);
void bind_states(nb::module_& module);
void bind_discipline(nb::module_& module);
void bind_cluster_files(nb::module_& module);
void bind_live(nb::module_& module);
void bind_ask(nb::module_& module);

} // namespace vgpupython
