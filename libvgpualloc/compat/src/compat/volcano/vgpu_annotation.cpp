#include "vgpu_annotation.hpp"

#include <cstddef>

#include "go_text.hpp"
#include "vgpu_text.hpp"

namespace vgpualloc::compat::volcano::vgpu {

std::string encode_assignment(const std::vector<std::vector<assigned_card>>& containers) {
    std::string text;
    for (std::size_t i = 0; i < containers.size(); ++i) {
        if (i > 0) text += ';';
        for (const assigned_card& card : containers[i]) {
            text += card.id;
            text += ',';
            text += vendor_word;
            text += ',' + std::to_string(card.memory) + ',' + std::to_string(card.cores) + ':';
        }
    }
    return text;
}

std::vector<assigned_card> decode_assignment(std::string_view text) {
    std::vector<assigned_card> cards;
    for (const std::string_view container : go_text::split(text, ';')) {
        for (const std::string_view entry : go_text::split(container, ':')) {
            const auto fields = go_text::split(entry, ',');
            if (fields.size() < 4) continue;
            const auto memory = parse_uint32(fields[2]);
            const auto cores = parse_uint32(fields[3]);
            if (!memory || !cores) continue;
            cards.push_back({.id = std::string{fields[0]}, .memory = *memory, .cores = *cores});
        }
    }
    return cards;
}

} // namespace vgpualloc::compat::volcano::vgpu
