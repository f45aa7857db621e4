// The YAML reader, and the reader of texts that are YAML or JSON.
#include "fuzz.hpp"

#include "vgpuformats/yaml.hpp"

namespace {

std::size_t count_values(const vgpuformats::document& value) {
    std::size_t count = 1;
    for (const vgpuformats::document& item : value.items) count += count_values(item);
    for (const auto& member : value.members) count += count_values(member.second);
    return count;
}

/// Documents that were read are printed as JSON that reads back, and stay as many. Aliases make a long text of a short
/// one, which shows nothing that a short one does not.
void require_printable(const std::vector<vgpuformats::document>& documents) {
    constexpr std::size_t values_max = 5000;
    std::size_t count = 0;
    for (const vgpuformats::document& value : documents) count += count_values(value);
    if (count > values_max) return;
    std::string joined;
    for (const vgpuformats::document& value : documents) {
        const std::string printed = vgpuformats::print_json(value);
        fuzzing::require_json(printed);
        joined += printed + "\n";
    }
    if (documents.empty()) return;
    const auto again = vgpuformats::parse_json_stream(joined, "joined");
    fuzzing::require(again.has_value() && again->size() == documents.size(),
                     "documents stay as many when they are printed");
}

} // namespace

void fuzzing::fuzz(std::string_view input) {
    const auto documents = vgpuformats::parse_documents(input, "input");
    if (documents) {
        require_printable(*documents);
    } else {
        fuzzing::require_readable(documents.error());
    }
    // What begins with a bracket is read as JSON first.
    const std::size_t first = input.find_first_not_of(" \t\r\n");
    if (first == input.npos || (input[first] != '{' && input[first] != '[')) return;
    const auto as_yaml = vgpuformats::parse_yaml(input, "input");
    if (as_yaml) {
        require_printable(*as_yaml);
    } else {
        fuzzing::require_readable(as_yaml.error());
    }
}
