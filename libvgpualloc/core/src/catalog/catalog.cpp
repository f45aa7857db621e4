// The catalogs as one value.
#include "vgpualloc/catalog/catalog.hpp"

#include <string>

namespace vgpualloc {

namespace {

/// Merging knows no file; its errors are those of the file that is merged.
error in_file(error failure, std::string_view name) {
    failure.where = failure.where.empty() ? std::string{name} : std::string{name} + ": " + failure.where;
    return failure;
}

} // namespace

hardware_catalog built_in_catalog() {
    return {.mig = built_in_mig_catalog(), .ascend = built_in_ascend_catalog(), .power = built_in_power_catalog()};
}

expected<hardware_catalog> merge_file(const hardware_catalog& base, const vgpuformats::document& file,
                                      std::string_view name) {
    const auto contains = [&file](std::string_view key) { return file.find(key) != nullptr; };
    const bool has_ascend = contains("ascend") || contains("mindcluster");
    const bool has_power = contains("power");
    const bool has_mig = contains("mig");
    if (file.is_map() && !has_mig && !has_ascend && !has_power) {
        return unexpected(
            bad_input(error_code::missing, "", "mig (GPUs), ascend (NPUs) or power (what boards draw) is required")
                .at(std::string{name}));
    }
    hardware_catalog result = base;
    const auto merge_part = [&](auto& part, const auto& more) -> expected<void> {
        if (!more) return unexpected(more.error());
        auto merged = merge(part, *more);
        if (!merged) return unexpected(in_file(std::move(merged).error(), name));
        part = *std::move(merged);
        return {};
    };
    // A file that is no map at all is refused by whichever reader is asked.
    if (has_mig || (!has_ascend && !has_power)) {
        if (auto merged = merge_part(result.mig, read_mig_catalog(file, name)); !merged) {
            return unexpected(merged.error());
        }
    }
    if (has_ascend) {
        if (auto merged = merge_part(result.ascend, read_ascend_catalog(file, name)); !merged) {
            return unexpected(merged.error());
        }
    }
    if (has_power) {
        if (auto merged = merge_part(result.power, read_power_catalog(file, name)); !merged) {
            return unexpected(merged.error());
        }
    }
    return result;
}

} // namespace vgpualloc
