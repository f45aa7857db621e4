#include "answer_text.hpp"

#include "text.hpp"
#include "vgpualloc/core/printable.hpp"

namespace vgpureport {

namespace {

std::string class_of(area what) {
    if (what == area::out) return "out";
    std::string name{to_string(what)};
    for (char& letter : name) {
        if (letter == ' ') letter = '-';
    }
    return name;
}

std::int64_t sum_of(const std::vector<std::pair<area, std::int64_t>>& parts) {
    std::int64_t sum = 0;
    for (const auto& [what, milli] : parts) sum += milli;
    return sum;
}

} // namespace

void append_shown(std::string& out, std::string_view text) { append_html(out, vgpualloc::printable(text)); }

std::string tenths_of(std::int64_t milli) {
    return std::to_string(milli / 1000) + "." + std::to_string(milli % 1000 / 100);
}

std::string hundredths(std::int64_t value) {
    std::string text = std::to_string(value / 100);
    const std::int64_t rest = value % 100;
    if (rest == 0) return text;
    text += rest < 10 ? ".0" : ".";
    text += std::to_string(rest % 10 == 0 && rest >= 10 ? rest / 10 : rest);
    return text;
}

void append_bar(std::string& out, const std::vector<std::pair<area, std::int64_t>>& parts) {
    constexpr std::int64_t whole = 10'000; // hundredths of a percent
    const std::int64_t sum = sum_of(parts);
    out += "<svg class=\"share\" role=\"img\" aria-label=\"";
    for (const auto& [what, milli] : parts)
        out.append(to_string(what)).append(" ").append(tenths_of(milli)).append(", ");
    out += "together " + tenths_of(sum) + " GPUs\"><rect class=\"area free\" width=\"100%\" height=\"100%\"/>";
    std::int64_t before = 0;
    for (const auto& [what, milli] : parts) {
        const std::int64_t begin = sum == 0 ? 0 : before * whole / sum;
        before += milli;
        const std::int64_t end = sum == 0 ? 0 : before * whole / sum;
        if (what == area::free || milli == 0) continue;
        out += "<rect class=\"area " + class_of(what) + "\" x=\"" + hundredths(begin) + "%\" width=\"" +
               hundredths(end - begin) + "%\" height=\"100%\"/>";
    }
    out += "</svg>";
}

void append_legend(std::string& out, const std::vector<std::pair<area, std::int64_t>>& parts, bool amounts) {
    out += "<ul class=\"key\">";
    for (const auto& [what, milli] : parts) {
        out += "<li><svg aria-hidden=\"true\"><rect class=\"area " + class_of(what) +
               "\" x=\"0.5\" y=\"0.5\" width=\"21\" height=\"13\"/></svg>";
        out += to_string(what);
        if (amounts) out += " " + tenths_of(milli);
        out += "</li>";
    }
    out += "</ul>\n";
}

} // namespace vgpureport
