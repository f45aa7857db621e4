// Numbers of the page's data, written so that they are short.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "text.hpp"

namespace vgpureport {

/// `"name":[first, difference to the one before, …]`: neighbours are close, so differences are a third of the size.
template <class Items, class Value>
void append_differences(std::string& out, std::string_view name, const Items& items, Value value) {
    append_key(out, name);
    out += '[';
    std::int64_t before = 0;
    for (const auto& item : items) {
        const std::int64_t now = value(item);
        if (out.back() != '[') out += ',';
        append_integer(out, now - before);
        before = now;
    }
    out += ']';
}

} // namespace vgpureport
