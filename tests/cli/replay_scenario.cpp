// Replays a scenario and writes its files but for the report, as `vgpusim run` does. The build that checks itself is
// asked with this what it makes of a scenario (checked_build_test.py): the command line takes a minute and a half to
// compile there. Usage: replay_scenario SCENARIO FOLDER
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "vgpuformats/files.hpp"
#include "vgpusim/outputs/run_files.hpp"
#include "vgpusim/study/run.hpp"
#include "vgpusim/study/scenario.hpp"
#include "vgputraces/file_source.hpp"

namespace {

vgpualloc::expected<void> replay_scenario(const std::string& path, const std::string& folder) {
    const vgputraces::file_source files;
    const auto scenario = vgpusim::read_scenario(path, files);
    if (!scenario) return vgpualloc::unexpected(scenario.error());
    auto loaded = vgpusim::load_input(scenario->config, files);
    if (!loaded) return vgpualloc::unexpected(loaded.error());
    const auto record = vgpusim::replay(scenario->config, *loaded, std::move(loaded->input.nodes), {});
    if (!record) return vgpualloc::unexpected(record.error());
    const vgpusim::named_texts texts = vgpusim::run_files(*record, *loaded);
    std::vector<vgpuformats::output_file> outputs;
    for (const auto& [name, text] : texts) outputs.push_back({.name = name, .content = text});
    const auto written = vgpuformats::write_files(folder, outputs);
    if (!written) return vgpualloc::unexpected(vgpualloc::error{written.error()});
    return {};
}

} // namespace

int main(int argc, char** argv) {
    constexpr int usage_failed = 2;
    if (argc != 3) {
        std::fputs("usage: replay_scenario SCENARIO FOLDER\n", stderr);
        return usage_failed;
    }
    const auto done = replay_scenario(argv[1], argv[2]);
    if (!done) std::fprintf(stderr, "replay_scenario: %s\n", done.error().message().c_str());
    return done ? 0 : usage_failed;
}
