// Both catalogs as one value.
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

hardware_catalog built_in_catalog() { return {.mig = built_in_mig_catalog(), .ascend = built_in_ascend_catalog()}; }

expected<hardware_catalog> merge_file(const hardware_catalog& base, std::string_view json, std::string_view name) {
    const auto document = vgpuformats::parse_json(json, name);
    if (!document) return unexpected(document.error());
    const auto contains = [&document](std::string_view key) { return document->find(key) != nullptr; };
    const bool has_mig = contains("mig");
    const bool has_ascend = contains("ascend") || contains("mindcluster");
    if (document->is_map() && !has_mig && !has_ascend) {
        return unexpected(
            error{error_code::missing, std::string{name}, "", "", "mig (GPUs) or ascend (NPUs) is required"});
    }
    hardware_catalog result = base;
    if (has_mig || !has_ascend) {
        const auto more = parse_mig_catalog(json, name);
        if (!more) return unexpected(more.error());
        auto merged = merge(base.mig, *more);
        if (!merged) return unexpected(in_file(std::move(merged).error(), name));
        result.mig = *std::move(merged);
    }
    if (has_ascend) {
        const auto more = parse_ascend_catalog(json, name);
        if (!more) return unexpected(more.error());
        auto merged = merge(base.ascend, *more);
        if (!merged) return unexpected(in_file(std::move(merged).error(), name));
        result.ascend = *std::move(merged);
    }
    return result;
}

} // namespace vgpualloc
