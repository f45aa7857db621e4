// vgpusim fetch where the build found no network library: the command is there and says why it cannot work.
#include <CLI/CLI.hpp>

#include "commands.hpp"

namespace vgpusim::cli {

void add_fetch(CLI::App& app) {
    CLI::App* command = app.add_subcommand("fetch", "Download a public trace (not in this build)");
    command->allow_extras();
    command->callback([] {
        end_with(bad_value(error_code::unsupported, "", "",
                           "a vgpusim built with libcurl and OpenSSL; this one was built without")
                     .at("fetch"));
    });
}

} // namespace vgpusim::cli
