// The class that clusters of Python are made of, bound.
#include "living_cluster.hpp"

#include <string>
#include <utility>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind.hpp"

namespace vgpupython {

namespace {

// ---- for Python's collector of cycles

int traverse_live(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (!nb::inst_ready(self)) return 0;
    return nb::inst_ptr<living_cluster>(self)->each_held(
        [&](const nb::object& held) { return visit(held.ptr(), arg); });
}

int clear_live(PyObject* self) {
    return nb::inst_ptr<living_cluster>(self)->each_held([](nb::object& held) {
        held = nb::none(); // not null: who still calls it gets a TypeError
        return 0;
    });
}

const PyType_Slot live_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse_live)}, // NOLINT: as Python has it
                                  {Py_tp_clear, reinterpret_cast<void*>(clear_live)},       // NOLINT
                                  {0, nullptr}};

} // namespace

void bind_live(nb::module_& module) {
    nb::class_<vgpualloc::live_template>(module, "PodTemplate")
        .def("__init__", [](vgpualloc::live_template* self, nb::bytes text) {
            new (self) vgpualloc::live_template{one_object(std::move(text), "pod")};
        });
    nb::class_<vgpualloc::live_holding>(module, "Holding");
    nb::class_<told_share>(module, "ToldShare")
        .def_ro("container", &told_share::container)
        .def_ro("device", &told_share::device)
        .def_ro("uuid", &told_share::uuid)
        .def_prop_ro("kind", [](const told_share& share) { return share.part.kind; })
        .def_prop_ro("name", [](const told_share& share) { return share.part.name; })
        .def_prop_ro("part", [](const told_share& share) { return share.part.words; })
        .def_prop_ro("memory_mib", [](const told_share& share) { return share.part.memory.count(); })
        .def_prop_ro("cores", [](const told_share& share) { return share.part.cores; });
    nb::class_<placed_pod>(module, "Placed", nb::is_weak_referenceable())
        .def(
            "__init__",
            [](placed_pod* self, nb::str pod, nb::str node, double score, nb::object shares, nb::object annotations) {
                new (self) placed_pod{.pod = std::move(pod),
                                      .node = std::move(node),
                                      .score = score,
                                      .uid = nb::str(""),
                                      .live = nb::none(),
                                      .shares = std::move(shares),
                                      .annotations = std::move(annotations)};
            },
            nb::arg("pod"), nb::arg("node"), nb::arg("score"), nb::arg("shares"), nb::arg("annotations"))
        .def_ro("pod", &placed_pod::pod)
        .def_ro("node", &placed_pod::node)
        .def_ro("score", &placed_pod::score)
        .def_ro("_uid", &placed_pod::uid)
        .def_ro("_unix_ns", &placed_pod::unix_ns)
        .def_rw("_live", &placed_pod::live, nb::arg().none())
        .def_rw("_shares", &placed_pod::shares)
        .def_rw("_annotations", &placed_pod::annotations);
    nb::class_<python_side>(module, "PythonSide")
        .def(
            "__init__",
            [](python_side* self, nb::object lock, nb::list trials, nb::dict uids, nb::dict objects, nb::dict placed,
               nb::object pod_type, nb::object placement_type, nb::object rejection_type) {
                new (self) python_side{std::move(lock),           std::move(trials),        std::move(uids),
                                       std::move(objects),        std::move(placed),        std::move(pod_type),
                                       std::move(placement_type), std::move(rejection_type)};
            },
            nb::arg("lock"), nb::arg("trials"), nb::arg("uids"), nb::arg("objects"), nb::arg("placed"),
            nb::arg("pod_type"), nb::arg("placement_type"), nb::arg("rejection_type"));
    nb::class_<kept_learning>(module, "Learning");
    nb::class_<living_cluster>(module, "Live", nb::type_slots(live_slots))
        .def(nb::init<nb::object, nb::object, const std::string&, const std::string&, const std::string&>(),
             nb::arg("policy").none(), nb::arg("device_policy").none(), nb::arg("config"), nb::arg("catalog"),
             nb::arg("scheduler_config"))
        .def("learn", &living_cluster::learn)
        .def("copy_learning", &living_cluster::copy_learning)
        .def("restore_learning", &living_cluster::restore_learning, nb::arg("learning"))
        .def("upsert", &living_cluster::upsert, nb::arg("text"))
        .def("remove_node", &living_cluster::remove_node, nb::arg("name"))
        .def("remove_pod", &living_cluster::remove_pod, nb::arg("uid"))
        .def("add_pod", &living_cluster::add_pod, nb::arg("like"), nb::arg("name"))
        .def("report_to", &living_cluster::report_to, nb::arg("side"))
        .def_rw("spoken", &living_cluster::spoken, nb::arg().none())
        .def_rw("is_as_read", &living_cluster::is_as_read)
        .def("place_quickly", &living_cluster::place_quickly, nb::arg("pod").none(), nb::arg("name").none(),
             nb::arg("node").none(), nb::arg("unix_ns"))
        .def("place_new", &living_cluster::place_new, nb::arg("object"), nb::arg("name").none(), nb::arg("node").none(),
             nb::arg("unix_ns"))
        .def("holding_of", &living_cluster::holding_of, nb::arg("uid"))
        .def("give_again", &living_cluster::give_again, nb::arg("uid"), nb::arg("holding"))
        .def("place", &living_cluster::place, nb::arg("uid"), nb::arg("shown"), nb::arg("node").none(),
             nb::arg("unix_ns"))
        .def("release", &living_cluster::release, nb::arg("uid"))
        .def("state_of", &living_cluster::state_of, nb::arg("uid"))
        .def("node_of", &living_cluster::node_of, nb::arg("uid"))
        .def("shares_of", &living_cluster::shares_of, nb::arg("uid"))
        .def("annotations_of", &living_cluster::annotations_of, nb::arg("uid"), nb::arg("unix_ns"))
        .def("set_service", &living_cluster::set_service, nb::arg("node"), nb::arg("uuid"), nb::arg("service"))
        .def("service_of", &living_cluster::service_of, nb::arg("node"), nb::arg("uuid"))
        .def("ask_node", &living_cluster::ask_node, nb::arg("uid"), nb::arg("node"))
        .def("pods", &living_cluster::pods)
        .def("nodes", &living_cluster::nodes)
        .def("node_rows", &living_cluster::node_rows)
        .def("device_rows", &living_cluster::device_rows)
        .def("dialects", &living_cluster::dialects)
        .def("kind_name", &living_cluster::kind_name, nb::arg("kind"), nb::arg("like_cluster"))
        .def("kind_objects", &living_cluster::kind_objects, nb::arg("kind"), nb::arg("names"), nb::arg("like_cluster"))
        .def("warnings", &living_cluster::warnings)
        .def("audit", &living_cluster::audit, nb::arg("objects"))
        .def("snapshot", &living_cluster::snapshot, nb::arg("objects"), nb::arg("nameless"));
}

} // namespace vgpupython
