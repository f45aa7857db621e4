#include "written.hpp"

#include <nanobind/nanobind.h>

#include "errors.hpp"
#include "vgpufacade/study.hpp"
#include "vgpuformats/files.hpp"

namespace vgpupython {

std::vector<std::string> written(const std::string& folder, const vgpusim::named_texts& files,
                                 const std::vector<std::string>& inputs) {
    std::vector<std::string> names;
    for (const auto& [name, text] : files) names.push_back(name);
    done_or_raise(vgpuformats::keep_inputs(folder, names, inputs));
    const auto done = [&] {
        const nb::gil_scoped_release released;
        return vgpusim::write_outputs(folder, files);
    }();
    if (!done) raise(done.error());
    return names;
}

} // namespace vgpupython
