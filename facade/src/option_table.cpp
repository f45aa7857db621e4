#include "vgpufacade/option_table.hpp"

#include <fmt/format.h>

#include "vgpufacade/core_names.hpp"
#include "vgpuformats/json.hpp"
#include "vgpusim/workload/settings.hpp"

namespace vgpufacade {

using vgpusim::run_setting;

std::string option_table_text() {
    std::string text;
    for (const run_setting& setting : vgpusim::all_settings()) {
        text += fmt::format("{:<22} {:<14} {:<12} {}\n", setting.name, to_string(setting.type),
                            setting.get(vgpusim::run_config{}), setting.help);
    }
    return text;
}

std::string option_table_json() {
    document list = document::list();
    for (const run_setting& setting : vgpusim::all_settings()) {
        list.push_back(document::map({{"name", setting.name},
                                      {"type", to_string(setting.type)},
                                      {"values", setting.values},
                                      {"default", setting.get(vgpusim::run_config{})},
                                      {"help", setting.help},
                                      {"flag", setting.flag}}));
    }
    return vgpuformats::print_json(list, 2) + "\n";
}

} // namespace vgpufacade
