// Prints the decision log of a random history of a scheduler (tests/unit/operations/decisions/history.hpp), for tests
// of vgpusim replay. Usage: decision_history_log SEED STEPS POLICY DEVICE_CONFIG_FILE
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "unit/operations/decisions/history.hpp"

int main(int argc, char** argv) {
    constexpr int usage_failed = 2;
    if (argc != 5) {
        std::fputs("usage: decision_history_log SEED STEPS POLICY DEVICE_CONFIG_FILE\n", stderr);
        return usage_failed;
    }
    std::ostringstream config;
    config << std::ifstream{argv[4]}.rdbuf();
    decisions_test::scheduler_history history{{.seed = std::strtoull(argv[1], nullptr, 10),
                                               .steps = std::atoi(argv[2]),
                                               .policy = argv[3],
                                               .device_config = config.str()}};
    std::fputs(history.run().c_str(), stdout);
    return 0;
}
