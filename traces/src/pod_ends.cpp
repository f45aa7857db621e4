#include "vgputraces/pod_ends.hpp"

#include <string_view>
#include <unordered_map>

#include "table_reader.hpp"

namespace vgputraces {

expected<std::vector<pod_end>> read_pod_ends(const vgpuformats::list_content& content, const std::string& name) {
    enum : std::size_t { ending_pod_at, end_time_at }; // positions of the columns
    auto from = table_reader::open(
        name, content,
        {{.name = "pod", .required = true}, {.name = "end", .required = false, .kind = cell_kind::number}});
    if (!from) return unexpected(std::move(from).error());
    std::vector<pod_end> ends;
    std::unordered_map<std::string, std::uint32_t> lines; // only looked up, never walked
    while (true) {
        const auto has_row = from->next();
        if (!has_row) return unexpected(has_row.error());
        if (!*has_row) return ends;
        const auto pod = from->word(ending_pod_at);
        if (!pod) return unexpected(pod.error());
        const auto end = from->seconds(end_time_at);
        if (!end) return unexpected(end.error());
        const auto line = static_cast<std::uint32_t>(from->line());
        const auto [entry, is_new] = lines.try_emplace(std::string{*pod}, line);
        if (!is_new) {
            return unexpected(
                from->problem(ending_pod_at, error_code::duplicate,
                              "a pod that occurs once; line " + std::to_string(entry->second) + " has it too"));
        }
        ends.push_back({.pod = std::string{*pod}, .line = line, .end = *end});
    }
}

} // namespace vgputraces
