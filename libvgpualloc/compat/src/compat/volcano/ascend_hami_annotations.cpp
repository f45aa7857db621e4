// Ascend HAMi: the annotations' texts.
#include <algorithm>

#include "ascend_hami_parts.hpp"
#include "go_text.hpp"
#include "vgpuformats/json.hpp"

namespace vgpualloc::compat::volcano::ascend {

namespace {

/// A JSON text as Go's encoding/json writes it, which also escapes what HTML would read.
std::string json_text(std::string_view text) {
    std::string result;
    for (const char letter : vgpuformats::print_json(text)) {
        if (letter == '<') {
            result += "\\u003c";
        } else if (letter == '>') {
            result += "\\u003e";
        } else if (letter == '&') {
            result += "\\u0026";
        } else {
            result += letter;
        }
    }
    return result;
}

} // namespace

std::string encode_devices(const node_view& where, const selection& chosen) {
    std::string text;
    for (const auto& part : chosen.parts) {
        for (const std::size_t at : part.cards) {
            text += where.cards[at].uuid + "," + where.kind.common_word + "," + std::to_string(part.wish.memory) + "," +
                    std::to_string(part.wish.cores) + ":";
        }
        text += ';';
    }
    return text;
}

std::string encode_runtime(const node_view& where, const selection& chosen, bool core_mode) {
    std::string list;
    for (const auto& part : chosen.parts) {
        for (const std::size_t at : part.cards) {
            list += list.empty() ? "[{" : ",{";
            // Fields that are empty or 0 are left out.
            std::string fields;
            const auto add = [&fields](std::string_view name, const std::string& value) {
                fields += (fields.empty() ? "\"" : ",\"") + std::string{name} + "\":" + value;
            };
            if (!where.cards[at].uuid.empty()) add("UUID", json_text(where.cards[at].uuid));
            if (core_mode) {
                if (part.wish.memory != 0) add("memory", std::to_string(part.wish.memory));
                if (part.wish.cores != 0) add("core", std::to_string(part.wish.cores));
            } else if (const auto trimmed = trim_memory(where.kind, part.wish.memory); !trimmed.template_name.empty()) {
                add("temp", json_text(trimmed.template_name));
            }
            list += fields + "}";
        }
    }
    return list.empty() ? "null" : list + "]"; // a nil slice
}

std::vector<annotated_card> decode_devices(std::string_view text, const quirk_set& quirks) {
    std::vector<annotated_card> cards;
    for (const std::string_view part : go_text::split(text, ':')) {
        std::string_view entry = part;
        // Q2b: upstream splits by ':' only, so the first card of every record but the first is named ";uuid", which no
        // card of a node is.
        if (!quirks.has(quirk::q2b)) entry.remove_prefix(std::min(entry.find_first_not_of(';'), entry.size()));
        if (entry.find(',') == std::string_view::npos) continue;
        const auto fields = go_text::split(entry, ',');
        if (fields.size() < 4) return {};
        cards.push_back(
            {.uuid = fields[0], .memory = go_text::parse_int32(fields[2]), .cores = go_text::parse_int32(fields[3])});
    }
    return cards;
}

} // namespace vgpualloc::compat::volcano::ascend
