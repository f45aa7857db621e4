// The soak: random operations on one ledger and allocator for as long as told, checked and compared with the reference
// on the way. Nothing may break, and nothing may grow. soak_run.hpp says what is drawn how often, soak_world.hpp on
// what.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "soak_run.hpp"

namespace {

constexpr std::int64_t growth_percent_max = 2;
constexpr int exit_broken = 1;
constexpr int exit_bad_options = 2;

struct soak_options {
    vgpusoak::run_options run{};
    std::int64_t operations = 100'000'000;
    std::int64_t check_every = 100'000;
    std::int64_t report_every = 10'000'000;
    std::int64_t settled_after = 1'000'000; ///< operations; memory is compared with what it is then
};

/// Resident memory in KiB as the system counts it; 0 where it does not say.
std::int64_t resident_kib() {
    std::ifstream status{"/proc/self/status"};
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmRSS:")) return std::strtoll(line.c_str() + 6, nullptr, 10);
    }
    return 0;
}

/// Of this process, because machines are shared.
double cpu_seconds() { return static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC); }

/// A broken invariant aborts after it has said its name.
void end_broken(int) { std::_Exit(exit_broken); }

int read_options(int argc, char** argv, soak_options& options) {
    CLI::App app{"Random operations on one ledger and allocator, checked on the way"};
    app.add_option("--operations", options.operations, "How many")->check(CLI::Range(1LL, 1'000'000'000'000LL));
    app.add_option("--nodes", options.run.world.nodes, "At the start")->check(CLI::Range(1, 10'000));
    app.add_option("--devices", options.run.world.devices, "Of a node")->check(CLI::Range(1, 64));
    app.add_option("--seed", options.run.seed, "Same seed, same checksum");
    app.add_option("--policy", options.run.policy, "A native policy that does not draw");
    app.add_option("--check-every", options.check_every, "Operations between checks")
        ->check(CLI::Range(1LL, 1'000'000'000LL));
    app.add_option("--reference-every", options.run.reference_every,
                   "Placements between two that the reference makes too")
        ->check(CLI::Range(1LL, 1'000'000'000LL));
    app.add_option("--report-every", options.report_every, "Operations between two lines")
        ->check(CLI::Range(1LL, 1'000'000'000'000LL));
    app.add_option("--settled-after", options.settled_after,
                   "Operations after which memory may not grow; policies that remember whole nodes need more")
        ->check(CLI::Range(1LL, 1'000'000'000'000LL));
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& refusal) {
        return app.exit(refusal) == 0 ? EXIT_SUCCESS : exit_bad_options;
    }
    return -1;
}

void report(const vgpusoak::soak_run& run, double seconds) {
    const vgpusoak::run_counts& counts = run.counts();
    std::printf("%lld operations, %.0f/s, %lld placed, %lld refused, %lld changes, %lld claims with %lld users, trials "
                "%lld kept %lld undone, "
                "%zu live, tables renewed %llu times, %lld compared, %lld breaks, RSS %lld KiB, checksum %016llx\n",
                static_cast<long long>(counts.operations), static_cast<double>(counts.operations) / seconds,
                static_cast<long long>(counts.placed), static_cast<long long>(counts.refused),
                static_cast<long long>(counts.changes), static_cast<long long>(counts.claims),
                static_cast<long long>(counts.claim_users), static_cast<long long>(counts.trials_kept),
                static_cast<long long>(counts.trials_undone), run.live_count(),
                static_cast<unsigned long long>(run.renewals()), static_cast<long long>(counts.compared),
                static_cast<long long>(counts.breaks), static_cast<long long>(resident_kib()),
                static_cast<unsigned long long>(run.checksum()));
    std::fflush(stdout);
}

/// The resident memory after `settled_after` operations; 0 if there were fewer.
std::int64_t run_all(vgpusoak::soak_run& run, const soak_options& options, double start) {
    std::int64_t settled_kib = 0;
    std::int64_t next_check = options.check_every;
    std::int64_t next_report = options.report_every;
    while (run.counts().operations < options.operations) {
        run.step();
        const std::int64_t operations = run.counts().operations;
        if (operations >= next_check) {
            run.check();
            next_check += options.check_every;
        }
        if (settled_kib == 0 && operations >= options.settled_after) settled_kib = resident_kib();
        if (operations >= next_report) {
            report(run, cpu_seconds() - start);
            next_report += options.report_every;
        }
    }
    run.check();
    return settled_kib;
}

} // namespace

int main(int argc, char** argv) {
    soak_options options;
    if (const int code = read_options(argc, argv, options); code >= 0) return code;
    const auto run = vgpusoak::soak_run::make(options.run);
    if (!run) {
        std::fprintf(stderr, "soak: %s\n", run.error().message().c_str());
        return exit_bad_options;
    }
    std::signal(SIGABRT, end_broken);
    const double start = cpu_seconds();
    const std::int64_t settled_kib = run_all(**run, options, start);
    const double seconds = cpu_seconds() - start;
    const std::int64_t end_kib = resident_kib();
    const vgpusoak::run_counts& counts = (*run)->counts();
    const bool grew = settled_kib > 0 && end_kib * 100 > settled_kib * (100 + growth_percent_max);
    std::printf(
        "soak: %lld operations, %.0f/s of CPU time, %lld breaks, RSS %lld KiB after %lld operations, %lld KiB at the "
        "end%s, checksum %016llx\n",
        static_cast<long long>(counts.operations), static_cast<double>(counts.operations) / seconds,
        static_cast<long long>(counts.breaks), static_cast<long long>(settled_kib),
        static_cast<long long>(options.settled_after), static_cast<long long>(end_kib), grew ? " (GREW)" : "",
        static_cast<unsigned long long>((*run)->checksum()));
    return counts.breaks > 0 || grew ? exit_broken : EXIT_SUCCESS;
}
