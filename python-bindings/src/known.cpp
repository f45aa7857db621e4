// The names one can use.
#include "bind.hpp"

#include <string>

#include <nanobind/stl/string.h>

#include "errors.hpp"
#include "vgpufacade/listings.hpp"

namespace vgpupython {

void bind_known(nb::module_& module) {
    module.def(
        "listing",
        [](const std::string& what) {
            nb::list rows;
            for (const auto& [name, summary] : value_or_raise(vgpufacade::listing_of(what))) {
                rows.append(nb::make_tuple(name, summary));
            }
            return rows;
        },
        nb::arg("what"));
}

} // namespace vgpupython
