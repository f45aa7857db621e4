#include "vgputraces/iso_time.hpp"

#include "fields.hpp"

namespace vgputraces {

std::optional<ticks> iso_time(std::string_view text) {
    const auto time = parse_iso_time(text);
    return time ? std::optional{*time} : std::nullopt;
}

} // namespace vgputraces
