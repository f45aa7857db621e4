// The fuzz target of the C interface on random inputs, without coverage and as long as wanted. A break ends it.
// Usage: c_api_soak CALLS [SEED]
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "../fuzz/c_api_calls.hpp"

namespace fuzzing {
void fuzz(std::string_view input);
} // namespace fuzzing

int main(int argc, char** argv) {
    const std::uint64_t wanted = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
    if (wanted == 0) {
        std::fprintf(stderr, "c_api_soak: expected a number of calls, and a seed if you like\n");
        return 2;
    }
    std::mt19937_64 random{argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1};
    constexpr std::uint64_t told_every = 1'000'000;
    std::uint64_t inputs = 0;
    for (std::uint64_t told = told_every; fuzzing::calls_of_c_api < wanted; ++inputs) {
        std::string input(600 + random() % 1500, '\0');
        for (char& letter : input) letter = static_cast<char>(random());
        fuzzing::fuzz(input);
        if (fuzzing::calls_of_c_api < told) continue;
        std::printf("%llu calls\n", static_cast<unsigned long long>(fuzzing::calls_of_c_api));
        std::fflush(stdout);
        told += told_every;
    }
    std::printf("%llu calls by %llu inputs, 0 breaks\n", static_cast<unsigned long long>(fuzzing::calls_of_c_api),
                static_cast<unsigned long long>(inputs));
}
