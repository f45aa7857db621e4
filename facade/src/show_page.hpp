// An answer of `show` as the values of a page.
#pragma once

#include "vgpufacade/show.hpp"
#include "vgpuops/why/waiting.hpp"
#include "vgpureport/answer.hpp"

namespace vgpufacade {

/// The page has the numbers of the tables.
[[nodiscard]] vgpureport::answer_page page_of(const vgpuops::show::overview& seen,
                                              const vgpuops::why::waiting_answer& waiting,
                                              const show_question& question, bool lists_all);

/// A table of an answer as one of a page. `areas` are what its bars show.
[[nodiscard]] vgpureport::page_table page_table_of(const vgpuops::show::printed_table& table, std::string caption,
                                                   std::vector<vgpureport::area> areas = {},
                                                   vgpureport::bars where = vgpureport::bars::none);

} // namespace vgpufacade
