// Sixteen threads that simulate different inputs at once get what one thread gets. ThreadSanitizer runs this, too.
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "small_run.hpp"

namespace {

constexpr int threads = 16;
constexpr int rounds = 4;

std::string texts_of(int number) {
    constexpr const char* policies[] = {"fgd", "spread", "best_fit", "random"};
    facade_test::small_run run{policies[number % 4]};
    run.options.config.seed = number;
    run.options.config.departures = number % 2 == 0;
    run.options.config.mode = number % 3 == 0 ? "exclusive" : "hami_core";
    return run.texts();
}

} // namespace

int main() {
    std::vector<std::string> expected;
    for (int number = 0; number < threads; ++number) expected.push_back(texts_of(number));
    std::vector<int> others(threads);
    std::vector<std::thread> workers;
    for (int number = 0; number < threads; ++number) {
        workers.emplace_back([&, number] {
            const auto at = static_cast<std::size_t>(number);
            for (int round = 0; round < rounds; ++round) others[at] += texts_of(number) != expected[at] ? 1 : 0;
        });
    }
    for (std::thread& worker : workers) worker.join();
    int failures = 0;
    for (int number = 0; number < threads; ++number) {
        const auto at = static_cast<std::size_t>(number);
        if (expected[at].find("pods.csv") == std::string::npos) ++failures;
        failures += others[at];
        if (number > 0 && expected[at] == expected[at - 1]) ++failures; // the inputs are different ones
    }
    if (failures > 0) std::fprintf(stderr, "%d runs differ from those of one thread\n", failures);
    return failures == 0 ? 0 : 1;
}
