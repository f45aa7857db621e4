// Runs a simulation whose inputs are texts in memory, and writes its files: they are those of `vgpusim run`. Usage:
// simulate_in_memory FOLDER KEY=VALUE... where the values of nodes and pods are files.
#include <cstdio>
#include <deque>
#include <filesystem>
#include <fstream>
#include <string>

#include "vgpufacade/simulate.hpp"
#include "vgpuformats/input.hpp"

int main(int argc, char** argv) {
    vgpuformats::memory_source source;
    vgpufacade::simulate_options options;
    std::deque<std::string> texts;
    for (int i = 2; i < argc; ++i) {
        const std::string option = argv[i];
        const std::string key = option.substr(0, option.find('='));
        const std::string value = option.substr(key.size() + 1);
        if (vgpusim::find_setting(key) != nullptr && vgpusim::find_setting(key)->is_path()) {
            auto read = vgpuformats::read_input(value);
            if (!read) return 2;
            source.add(value, texts.emplace_back(std::move(read->text)));
        }
        if (const auto set = set_option(options, key, value); !set) {
            std::fprintf(stderr, "vgpusim: %s\n", set.error().message().c_str());
            return 2;
        }
    }
    const auto outcome = vgpufacade::simulate(source, options);
    if (!outcome) {
        std::fprintf(stderr, "vgpusim: %s\n", outcome.error().message().c_str());
        return 2;
    }
    std::filesystem::create_directories(argv[1]);
    for (const auto& [name, text] : outcome->files()) {
        std::ofstream(std::filesystem::path{argv[1]} / name, std::ios::binary) << text;
    }
    return 0;
}
