#include "file_checks.hpp"

#include <algorithm>
#include <array>

namespace vgpualloc::detail {

void check_provenance(const vgpuformats::cursor& entry, const provenance& from,
                      std::initializer_list<std::string_view> fields) {
    for (const auto& [field, source] : from) {
        if (field == "*" || std::find(fields.begin(), fields.end(), field) != fields.end()) continue;
        entry.at("provenance").at(field).fail(error_code::unknown_name, "a field of this entry or * before the source");
    }
}

void check_header(const vgpuformats::cursor& root) {
    root.only({"schema", "sources", "left_out", "mig", "ascend", "mindcluster", "power"});
    static constexpr std::array<std::string_view, 1> schemas{"vgpualloc-catalog/1"};
    static_cast<void>(root.at("schema").one_of(schemas));
}

} // namespace vgpualloc::detail
