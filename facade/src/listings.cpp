#include "vgpufacade/listings.hpp"

#include <utility>

#include "vgpualloc/compat/all.hpp"
#include "vgpualloc/dialect/all.hpp"
#include "vgpualloc/mode/all.hpp"
#include "vgpualloc/model/rejection.hpp"
#include "vgpusim/discipline/all.hpp"
#include "vgpusim/engine/volcano_placer.hpp"

namespace vgpufacade {

namespace {

template <class Entries>
std::vector<listed_name> names_in(const Entries& entries) {
    std::vector<listed_name> list;
    for (const auto& entry : entries) {
        list.push_back({.name = std::string{entry.name}, .summary = std::string{entry.summary}});
    }
    return list;
}

std::vector<listed_name> policies() {
    std::vector<listed_name> list;
    for (const auto& entry : vgpualloc::all_policies()) {
        std::string summary{entry.summary};
        if (!entry.advice.empty()) summary.append(": ").append(entry.advice);
        list.push_back({.name = std::string{entry.name}, .summary = std::move(summary)});
    }
    list.push_back({.name = std::string{vgpusim::volcano_policy}, .summary = std::string{vgpusim::volcano_summary}});
    list.push_back(
        {.name = "weighted:NAME=WEIGHT,…", .summary = "sum of the named policies' scores, each times its weight"});
    return list;
}

std::vector<listed_name> reasons() {
    std::vector<listed_name> list;
    for (std::size_t code = 1; code < vgpualloc::rejection_code_count; ++code) {
        list.push_back({.name = std::string{to_string(static_cast<vgpualloc::rejection_code>(code))}, .summary = ""});
    }
    return list;
}

} // namespace

expected<std::vector<listed_name>> listing_of(std::string_view what) {
    if (what == "policies") return policies();
    if (what == "modes") return names_in(vgpualloc::mode_list);
    if (what == "dialects") return names_in(vgpualloc::dialect_list);
    if (what == "disciplines") return names_in(vgpusim::all_disciplines);
    if (what == "reasons") return reasons();
    return unexpected(bad_value(error_code::unknown_name, "what", what,
                                "policies, modes, dialects, disciplines, reasons or options"));
}

} // namespace vgpufacade
