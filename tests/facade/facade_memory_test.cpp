// 10,000 simulations in one process take no more memory than 1,000. With --keep every outcome is kept, and the test has
// to fail. Usage: facade_memory_test [--keep]
#include <cstdio>
#include <string_view>
#include <vector>

#include <unistd.h>

#include "small_run.hpp"

namespace {

/// Resident memory of this process in KiB.
long resident_kib() {
    long pages = 0;
    long resident = 0;
    std::FILE* const file = std::fopen("/proc/self/statm", "r");
    if (file == nullptr) return 0;
    if (std::fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
    std::fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

} // namespace

int main(int argc, char** argv) {
    constexpr int first_calls = 1'000;
    constexpr int all_calls = 10'000;
    constexpr long growth_kib_max = 2'048;
    const bool keeps = argc > 1 && std::string_view{argv[1]} == "--keep";
    const facade_test::small_run run;
    std::vector<vgpufacade::simulation_outcome> kept;
    long before = 0;
    for (int call = 0; call < all_calls; ++call) {
        if (call == first_calls) before = resident_kib();
        auto outcome = run.outcome();
        if (!outcome) return 2;
        static_cast<void>(outcome->pods()->rows() + outcome->summary_json().size());
        if (keeps) kept.push_back(*std::move(outcome));
    }
    const long after = resident_kib();
    std::printf("%ld KiB after %d calls, %ld KiB after %d\n", before, first_calls, after, all_calls);
    return before > 0 && after - before <= growth_kib_max ? 0 : 1;
}
