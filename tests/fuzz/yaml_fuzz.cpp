// The YAML reader, and the reader of texts that are YAML or JSON.
#include "fuzz.hpp"

#include "vgpuformats/yaml.hpp"

void fuzzing::fuzz(std::string_view input) {
    const auto documents = vgpuformats::parse_yaml(input, "input");
    if (!documents) {
        require_readable(documents.error());
    } else {
        for (const vgpuformats::document& value : *documents) require_json(vgpuformats::print_json(value));
    }
    const auto either = vgpuformats::parse_documents(input, "input");
    if (!either) return require_readable(either.error());
    std::string joined;
    for (const vgpuformats::document& value : *either) joined += vgpuformats::print_json(value) + "\n";
    if (either->empty()) return;
    const auto again = vgpuformats::parse_json_stream(joined, "joined");
    require(again.has_value() && again->size() == either->size(), "documents stay as many when they are printed");
}
