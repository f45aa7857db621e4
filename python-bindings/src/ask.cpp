// Questions whose answers are texts: explain, whatif, plan, validate, and the listings.
#include "bind.hpp"

#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "call_watch.hpp"
#include "errors.hpp"
#include "python_policy.hpp"
#include "python_source.hpp"
#include "texts.hpp"
#include "vgpufacade/ask.hpp"

namespace vgpupython {

namespace {

/// The text and the JSON of an answer. Raises the first of its errors. Policies: texts, which options name too, or
/// objects; or None.
nb::tuple ask(const std::string& command, const vgpufacade::named_options& options, nb::list inputs, nb::object policy,
              nb::object device_policy) {
    const python_source source{std::move(inputs)};
    call_watch watch{nb::none()};
    const given_policies given{std::move(policy), std::move(device_policy)};
    const auto maker = given.maker([&watch](nb::python_error&& raised) { watch.fail(std::move(raised)); });
    const auto reply = [&] {
        const nb::gil_scoped_release released;
        return vgpufacade::answer_to(command, options, source, watch.stop(), maker);
    }();
    watch.raise_pending();
    if (!reply.failures.empty()) raise(reply.failures.front());
    return nb::make_tuple(bytes_of(reply.text), bytes_of(reply.json));
}

} // namespace

void bind_ask(nb::module_& module) {
    module.def("ask", &ask, nb::arg("command"), nb::arg("options"), nb::arg("inputs"), nb::arg("policy").none(),
               nb::arg("device_policy").none());
}

} // namespace vgpupython
