// A cluster at one moment: what is used, free and out of service, who uses it and who waits.
#pragma once

#include <string>
#include <vector>

#include "vgpufacade/core_names.hpp"
#include "vgpuformats/input_source.hpp"
#include "vgpuops/show/overview.hpp"
#include "vgpusim/workload/cluster_files.hpp"

namespace vgpufacade {

/// Names of inputs are those of a source.
struct show_question {
    std::vector<std::string> cluster; ///< inputs with the objects
    vgpusim::dialect_files dialects{};
    std::string prices{};              ///< the input with prices (vgpuops::show::read_prices()); empty: none
    vgpuops::show::selection chosen{}; ///< nodes, a namespace, and what the first table has rows of
};

/// Errors: those of the inputs; missing where they have no node; those of vgpuops::show::overview_of() and, with
/// prices, cost_of(); stopped.
[[nodiscard]] expected<vgpuops::show::overview>
show(const show_question& question, const vgpuformats::input_source& source, const stop_signal& stop = {});

/// An answer as a page: a file that needs nothing else.
struct answer_html {
    std::string sentence; ///< that the page begins with
    std::string html;
};

/// The same as a page, with all that `why` says of the pods that wait. Of tables with more than a hundred rows the
/// others are one, unless all are listed. Errors: those of show().
[[nodiscard]] expected<answer_html> show_page(const show_question& question, bool lists_all,
                                              const vgpuformats::input_source& source, const stop_signal& stop = {});

} // namespace vgpufacade
