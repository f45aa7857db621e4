#include "built_in.hpp"

#include <cstddef>
#include <span>

#include "vgpualloc_core_embedded.hpp"

namespace vgpualloc::built_in {

namespace {

using embedded::document_token;
using vgpuformats::document;
using vgpuformats::value_kind;

/// The value that begins at `next`, which is then behind it. The build made the tokens from a text that is well-formed.
document value_at(std::span<const document_token> tokens, std::size_t& next) {
    const document_token& first = tokens[next++];
    document value;
    switch (first.kind) {
    case '{':
        value = document::map();
        while (tokens[next].kind != '}') {
            const char* const key = tokens[next++].text;
            value.members.emplace_back(key, value_at(tokens, next));
        }
        ++next;
        return value;
    case '[':
        value = document::list();
        while (tokens[next].kind != '}') value.items.push_back(value_at(tokens, next));
        ++next;
        return value;
    case 't':
        value.kind = value_kind::text;
        break;
    case 'n':
        value.kind = value_kind::number;
        break;
    case 'b':
        value.kind = value_kind::boolean;
        break;
    default:
        break; // null
    }
    value.text = first.text;
    return value;
}

document document_of(std::span<const document_token> tokens) {
    std::size_t next = 0;
    return value_at(tokens, next);
}

} // namespace

document mig_profiles() { return document_of(embedded::mig_profiles); }
document ascend_templates() { return document_of(embedded::ascend_templates); }
document device_power() { return document_of(embedded::device_power); }
document mps_limits() { return document_of(embedded::mps_limits); }

} // namespace vgpualloc::built_in
