#include "matching.hpp"

namespace vgpualloc::detail {

namespace {

[[nodiscard]] bool is_word_char(char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

[[nodiscard]] std::string dashed(std::string_view text) {
    std::string result{text};
    std::ranges::replace(result, ' ', '-');
    return result;
}

} // namespace

bool has_words(std::string_view printed, std::string_view words) {
    const std::string text = dashed(printed);
    const std::string part = dashed(words);
    for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
        const auto end = at + part.size();
        const bool begins = at == 0 || !is_word_char(text[at - 1]);
        const bool ends = end == text.size() || !is_word_char(text[end]);
        if (begins && ends) return true;
    }
    return false;
}

std::optional<std::string> common_text(const std::vector<std::string>& texts, const std::vector<std::string>& taken) {
    for (const std::string& text : texts) {
        if (std::ranges::find(taken, text) != taken.end()) return text;
    }
    return std::nullopt;
}

} // namespace vgpualloc::detail
