// The catalogs as one value.
#include "vgpualloc/catalog/catalog.hpp"

#include <string>

#include "vgpuformats/json.hpp"

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

expected<hardware_catalog> merge_file(const hardware_catalog& base, std::string_view json, std::string_view name) {
    const auto document = vgpuformats::parse_json(json, name);
    if (!document) return unexpected(document.error());
    const auto contains = [&document](std::string_view key) { return document->find(key) != nullptr; };
    const bool has_ascend = contains("ascend") || contains("mindcluster");
    const bool has_power = contains("power");
    const bool has_mig = contains("mig");
    if (document->is_map() && !has_mig && !has_ascend && !has_power) {
        return unexpected(error{error_code::missing, std::string{name}, "", "",
                                "mig (GPUs), ascend (NPUs) or power (what boards draw) is required"});
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
        if (auto merged = merge_part(result.mig, parse_mig_catalog(json, name)); !merged) {
            return unexpected(merged.error());
        }
    }
    if (has_ascend) {
        if (auto merged = merge_part(result.ascend, parse_ascend_catalog(json, name)); !merged) {
            return unexpected(merged.error());
        }
    }
    if (has_power) {
        if (auto merged = merge_part(result.power, parse_power_catalog(json, name)); !merged) {
            return unexpected(merged.error());
        }
    }
    return result;
}

} // namespace vgpualloc
