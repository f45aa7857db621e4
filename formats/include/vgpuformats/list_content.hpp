// What a list says: as a text, or as columns that the caller owns.
#pragma once

#include <string>
#include <string_view>

#include "vgpualloc/core/stop.hpp"
#include "vgpuformats/column_table.hpp"

namespace vgpuformats {

/// The content of a list, which must outlive whoever reads it. Readers poll `stop` row by row.
struct list_content {
    list_content(std::string_view all) : text{all} {}
    list_content(const std::string& all) : text{all} {}
    list_content(const char* all) : text{all} {}
    list_content(const column_table& columns) : table{&columns} {}

    std::string_view text{};
    const column_table* table = nullptr; ///< null: `text` is the list
    vgpualloc::stop_signal stop{};
};

/// What a reader returns that takes texts alone and is given columns.
[[nodiscard]] inline vgpualloc::error columns_not_taken(const std::string& name) {
    return bad_input(vgpualloc::error_code::unsupported, "",
                     "expected a text; columns are for node lists, pod lists and tables")
        .at(name);
}

} // namespace vgpuformats
