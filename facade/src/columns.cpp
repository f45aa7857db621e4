#include "vgpufacade/columns.hpp"

#include <algorithm>

namespace vgpufacade {

std::size_t column::size() const noexcept {
    if (const auto* const texts = std::get_if<coded_column>(&values)) return texts->codes.size();
    if (const auto* const whole = std::get_if<std::vector<std::int64_t>>(&values)) return whole->size();
    if (const auto* const real = std::get_if<std::vector<double>>(&values)) return real->size();
    return std::get<std::vector<std::uint8_t>>(values).size();
}

std::string_view column::text(std::size_t row) const {
    const auto& texts = std::get<coded_column>(values);
    return texts.dictionary[static_cast<std::size_t>(texts.codes[row])];
}

const column* table::find(std::string_view name) const noexcept {
    const auto position = std::ranges::find(columns, name, &column::name);
    return position == columns.end() ? nullptr : &*position;
}

} // namespace vgpufacade
