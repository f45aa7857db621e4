// A template with places as {{name}}.
#pragma once

#include <string>
#include <string_view>

#include "vgpualloc/core/config.hpp"

namespace vgpureport {

/// Appends a template; `append_place` appends what stands at the place of a name. One pass: what is filled in is never
/// looked at again, so no input can name a place.
template <class AppendPlace>
void append_filled(std::string& out, std::string_view rest, AppendPlace append_place) {
    for (auto open = rest.find("{{"); open != std::string_view::npos; open = rest.find("{{")) {
        const auto close = rest.find("}}", open);
        VGA_ASSERT(close != std::string_view::npos, "a place of the template is closed");
        out += rest.substr(0, open);
        append_place(rest.substr(open + 2, close - open - 2));
        rest.remove_prefix(close + 2);
    }
    out += rest;
}

} // namespace vgpureport
