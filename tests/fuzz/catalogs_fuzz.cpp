// Catalog files: what is read is printed and read again as the same, drawn, and made into sharing modes.
#include "fuzz.hpp"

#include "../unit/catalog_text/texts.hpp"
#include "vgpualloc/catalog/catalog.hpp"
#include "vgpualloc/catalog/mig_layouts.hpp"
#include "vgpualloc/explain/catalog.hpp"
#include "vgpualloc/mode/mig.hpp"

namespace {

using fuzzing::require;

/// Above that many, drawing a model takes longer than an input may.
constexpr std::int64_t layouts_drawn_max = 2000;

void use(const vgpualloc::mig_model& model) {
    const auto mode = vgpualloc::modes::make_mig(model);
    if (!mode) fuzzing::require_readable(mode.error());
    const auto counts =
        vgpualloc::count_layouts(model, {.set = vgpualloc::mig_profile_set::all, .layouts_max = layouts_drawn_max});
    require(counts.legal >= 1, "the empty layout is legal");
    if (counts.complete) require(!vgpualloc::explaining::describe(model).empty(), "a model is described");
}

} // namespace

void fuzzing::fuzz(std::string_view input) {
    const vgpualloc::hardware_catalog nothing;
    const auto catalog = catalog_texts::merge_text(nothing, input, "input");
    if (!catalog) return require_readable(catalog.error());
    const std::string printed = vgpualloc::explaining::catalog_file(*catalog);
    const auto again = catalog_texts::merge_text(nothing, printed, "printed");
    require(again.has_value() && vgpualloc::explaining::catalog_file(*again) == printed,
            "a catalog is printed as it was read");
    for (const vgpualloc::mig_model& model : catalog->mig.models) use(model);
    for (const vgpualloc::ascend_chip& chip : catalog->ascend.chips) {
        require(!vgpualloc::explaining::describe(chip).empty(), "a chip is described");
    }
    static const vgpualloc::hardware_catalog built_in = vgpualloc::built_in_catalog();
    const auto merged = catalog_texts::merge_text(built_in, input, "input");
    if (!merged) require_readable(merged.error());
}
