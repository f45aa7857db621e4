// The JSON reader: what it reads it prints, and reads again as the same.
#include "fuzz.hpp"

#include "vgpuformats/yaml.hpp"

namespace {

using vgpuformats::document;

void require_printed(const document& value, const std::string& printed) {
    const auto again = vgpuformats::parse_json(printed, "printed", vgpuformats::repeated_keys::kept);
    fuzzing::require(again.has_value() && *again == value, "JSON is printed as it was read");
}

void read_as_one(std::string_view input) {
    const auto value = vgpuformats::parse_json(input, "input");
    const auto tolerant = vgpuformats::parse_json(input, "input", vgpuformats::repeated_keys::kept);
    if (!value) fuzzing::require_readable(value.error());
    if (!tolerant) {
        fuzzing::require(!value, "a reader that keeps repeated keys reads all that another one reads");
        return;
    }
    require_printed(*tolerant, vgpuformats::print_json(*tolerant));
    require_printed(*tolerant, vgpuformats::print_json(*tolerant, 2));
    if (!value) return;
    fuzzing::require(*value == *tolerant, "both readers read the same");
    const auto stream = vgpuformats::parse_json_stream(input, "input");
    fuzzing::require(stream.has_value() && stream->size() == 1 && stream->front() == *value,
                     "one value is a stream of one value");
}

} // namespace

void fuzzing::fuzz(std::string_view input) {
    read_as_one(input);
    const auto stream = vgpuformats::parse_json_stream(input, "input");
    if (!stream) return require_readable(stream.error());
    std::string joined;
    for (const document& value : *stream) joined += vgpuformats::print_json(value) + "\n";
    const auto again = vgpuformats::parse_json_stream(joined, "joined");
    require(again.has_value() && *again == *stream, "a stream of values is printed as it was read");
}
