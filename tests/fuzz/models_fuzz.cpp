// Models of traces, and scenarios: what is read is written and read again as the same; a few pods are generated.
#include "fuzz.hpp"

#include "vgpusim/study/scenario.hpp"
#include "vgputraces/generator.hpp"

namespace {

using fuzzing::require;

void read_model(std::string_view input) {
    const auto model = vgputraces::parse_trace_model(input, "input");
    if (!model) return fuzzing::require_readable(model.error());
    const std::string written = vgputraces::write_trace_model(*model);
    const auto again = vgputraces::parse_trace_model(written, "written");
    require(again.has_value() && vgputraces::write_trace_model(*again) == written, "a model is written as it was read");
    const auto trace = vgputraces::generate(*model, {.seed = {}, .nodes = 3, .pods = 10, .load = {}});
    if (!trace) return fuzzing::require_readable(trace.error());
    require(trace->pods.size() == 10, "as many pods are generated as were wanted");
    const auto repeated = vgputraces::generate(trace->effective, {});
    require(repeated.has_value() && repeated->nodes == trace->nodes && repeated->pods == trace->pods,
            "the model of a trace generates it again");
}

void read_scenario(std::string_view input) {
    vgpuformats::memory_source source;
    source.add("scenario.json", input);
    const auto study = vgpusim::read_scenario("scenario.json", source);
    if (!study) return fuzzing::require_readable(study.error());
    for (const auto& config : {study->config, vgpusim::with_settings(study->config, study->baseline)}) {
        vgpusim::run_config again;
        for (const auto& [key, value] : vgpusim::effective(config)) {
            require(vgpusim::set_key(again, key, value).has_value(), "a key takes the value that it has");
        }
        require(vgpusim::effective(again) == vgpusim::effective(config), "keys say all of a configuration");
    }
}

} // namespace

void fuzzing::fuzz(std::string_view input) {
    read_model(input);
    read_scenario(input);
}
