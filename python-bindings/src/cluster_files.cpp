// What files say of clusters: objects of Kubernetes, kinds of nodes, lists of nodes.
#include "bind.hpp"

#include <string>
#include <utility>

#include <nanobind/stl/string.h>

#include "errors.hpp"
#include "python_source.hpp"
#include "texts.hpp"
#include "vgpuformats/input.hpp"
#include "vgpuformats/json.hpp"
#include "vgpuops/snapshot/normalise.hpp"
#include "vgpuops/whatif/catalog_kinds.hpp"
#include "vgputraces/openb.hpp"

namespace vgpupython {

namespace {

/// The text of a document, or of a list of them, by whatever name it has.
std::string text_at(const python_source& source, const std::string& name) {
    return value_or_raise(source.read(name, {})).text;
}

} // namespace

void bind_cluster_files(nb::module_& module) {
    module.def(
        "documents",
        [](const std::string& name, nb::list inputs) {
            const python_source source{std::move(inputs)};
            const auto text = text_at(source, name);
            nb::list result;
            for (const auto& object : value_or_raise(vgpuops::snapshots::cluster_documents(text, name))) {
                result.append(bytes_of(vgpuformats::print_json(object, 0)));
            }
            return result;
        },
        nb::arg("name"), nb::arg("inputs"));
    module.def(
        "content",
        [](const std::string& name, nb::list inputs) {
            const python_source source{std::move(inputs)};
            return bytes_of(text_at(source, name));
        },
        nb::arg("name"), nb::arg("inputs"));
    module.def(
        "is_described", [](const std::string& kind) { return vgpuops::whatif::is_described(kind); }, nb::arg("kind"));
    module.def(
        "node_list",
        [](const std::string& name, nb::list inputs) {
            const python_source source{std::move(inputs)};
            const auto text = value_or_raise(source.read(name, {}));
            nb::list rows;
            const auto content =
                text.table == nullptr ? vgpuformats::list_content{text.text} : vgpuformats::list_content{*text.table};
            for (const auto& node : value_or_raise(vgputraces::read_openb_nodes(content, name))) {
                rows.append(
                    nb::make_tuple(node.name, node.cpu.count(), node.memory.count(), node.gpu_count, node.model));
            }
            return rows;
        },
        nb::arg("name"), nb::arg("inputs"));
}

} // namespace vgpupython
