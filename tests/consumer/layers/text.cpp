#include <vgpuformats/json.hpp>
#include <vgpuformats/yaml.hpp>

int main() {
    const auto value = vgpuformats::parse_json("{\"a\": [1]}", "text");
    return value && vgpuformats::print_json(*value) == "{\"a\":[1]}" ? 0 : 1;
}
