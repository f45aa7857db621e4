#!/usr/bin/env bash
# Everything for the tests: packages, builds, the core's tests in a build that checks itself (address and
# undefined-behaviour sanitizers, invariants after every step, line coverage), then all tests in release, then the fuzz
# targets for 10 s each, then the adapters, the WebAssembly module with the page over it, and what threads share under
# ThreadSanitizer. The last line counts them all. With CI=true a warning is an error, and clang has to be there.
# Usage: scripts/test.sh [--quick | --web]
#   --quick: the release build only; --web: that, and then all tests of the module and the page, of which other runs have a part
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# cpu_minutes: those of all that this script started and that has ended (proc(5): cutime and cstime, in clock ticks).
cpu_minutes() { awk -v second="$(getconf CLK_TCK)" '{ printf "%.1f", ($16 + $17) / second / 60 }' "/proc/$$/stat"; }

# With the time since the start and the CPU time, which is what a slow machine asks for.
say() { printf '== %d:%02d (%s CPU min) %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$(cpu_minutes)" "$*"; }

quick=no
web=some
case ${1:-} in
    '') ;;
    --quick) quick=yes web=none ;;
    --web) quick=yes web=all ;;
    *) die "unknown option '$1' (known: --quick, --web)" ;;
esac

outcomes=() # what scripts/count_tests.py adds up

# outcome_of KIND NAME COMMAND…: a "check" counts as one test, a "step" only when it fails.
outcome_of() {
    local kind=$1 name=$2 status=0
    shift 2
    "$@" || status=$?
    outcomes+=("$kind:$name:$status")
    return "$status"
}

# list_tests PRESET: the labels of its tests beside the JUnit file, from which scripts/count_tests.py tells the tiers.
list_tests() { (cd "$root/build/$1" && ctest --show-only=json-v1 >tests.json) || rm -f "$root/build/$1/tests.json"; }

# stage PRESET TARGET [ctest arguments]: when the build fails its tests are not run.
stage() {
    local preset=$1 target=$2 status=0
    shift 2
    outcome_of step "the $preset build" build "$preset" --target "$target" || return 1
    run_ctest "$preset" "$@" || status=$?
    list_tests "$preset"
    outcomes+=("ctest:$preset:$status:$(junit_of "$preset")")
    return "$status"
}

# Recorded decisions of other systems and public traces live beside the checkout, where there are any.
find_evidence() {
    local beside
    beside=$(cd "$root/.." && pwd)/shared
    if [ -d "$beside" ]; then
        export VGPUALLOC_EVIDENCE=${VGPUALLOC_EVIDENCE:-$beside}
        export VGPUALLOC_TRACES=${VGPUALLOC_TRACES:-$beside/traces}
    fi
    if [ "${CI:-}" = true ] && [ ! -d "${VGPUALLOC_EVIDENCE:-}" ]; then
        say "CI=true and no evidence: VGPUALLOC_EVIDENCE names no folder"
        return 1
    fi
    say "evidence: ${VGPUALLOC_EVIDENCE:-none (golden tests but the sample will be skipped)}"
}

# Without HiGHS its tests are skipped, which CI does not accept.
install_solver() {
    find_solver || { say "no $solver_package here: tests of the solver are skipped"; [ "${CI:-}" != true ]; }
}

# Nor what the Python package is built and tested with.
install_python() {
    find_python || { say "no packages of python-bindings/requirements.txt here: the Python package is left out"; [ "${CI:-}" != true ]; }
}

# The sanitizers and the counters share one build: each alone costs about as much to compile as both together.
checked_stage() {
    local preset failed=0
    preset=$(strict checked)
    forget_coverage "$preset"
    if stage "$preset" core_tests -L "$core_tests"; then
        outcome_of check "line coverage of libvgpualloc" coverage_gate "$preset" || failed=1
    else
        failed=1
    fi
    # One test of the release build compares what this one writes with its own, byte by byte.
    export VGPUALLOC_CHECKED_REPLAY=$root/build/$preset/bin/replay_scenario
    return "$failed"
}

# Every target counts as a test, and so does the canary. The same seed every time: what a run finds another one finds.
fuzz_stage() {
    local failed=0 results=$root/build/fuzz/outcomes
    if ! quick_compiler >/dev/null; then
        say "fuzz targets are skipped: no clang++ with libFuzzer and llvm-cov"
        if [ "${CI:-}" = true ]; then outcomes+=("check:fuzz targets:1"); return 1; fi
        outcomes+=("skip:fuzz targets")
        return 0
    fi
    rm -f "$results"
    "$root/scripts/fuzz.sh" --seconds 10 --seed 1 || failed=1
    if [ -f "$results" ]; then
        mapfile -t -O ${#outcomes[@]} outcomes <"$results"
    else
        outcomes+=("step:the fuzz build:1")
    fi
    return "$failed"
}

# The adapters in Go, and the scheduler on a real API server. What they download and compile is much, and other than what
# the C++ tests need: they come last, with a JUnit file of their own.
adapters_stage() { apart_stage adapters "$adapter_tests"; }

# The commands as WebAssembly, compiled by a compiler of its own; the module that is released, whether all tests are run or some.
web_stage() {
    if [ "$web" = some ]; then export VGPUALLOC_WEB_SAMPLE=1; fi
    apart_stage web "$web_tests"
}

# apart_stage NAME LABELS: tests of the release build that are not run with the others.
apart_stage() {
    local preset status=0 junit
    preset=$(strict release)
    junit=$root/build/$preset/junit-$1.xml
    say "testing $1"
    (cd "$root/build/$preset" && ctest --output-on-failure --no-tests=error --output-junit "$junit" -L "$2") || status=$?
    list_tests "$preset"
    outcomes+=("ctest:$1:$status:$junit")
    return "$status"
}

# Under ThreadSanitizer: sixteen threads that ask a cluster through the C interface while others change it, and sixteen that
# simulate.
threads_stage() {
    local preset failed=0
    preset=$(strict threads)
    outcome_of step "the $preset build" build "$preset" --target c_api_threads_test facade_threads_test || return 1
    say "testing $preset"
    # ThreadSanitizer of GCC 12 cannot start where a kernel spreads addresses widely, so they are not spread where that is allowed.
    local unspread=(setarch "$(uname -m)" --addr-no-randomize)
    "${unspread[@]}" true 2>/dev/null || unspread=()
    export TSAN_OPTIONS=halt_on_error=1
    outcome_of check "threads of the C interface" "${unspread[@]}" "$root/build/$preset/bin/c_api_threads_test" || failed=1
    outcome_of check "threads that simulate" "${unspread[@]}" "$root/build/$preset/bin/facade_threads_test" || failed=1
    return "$failed"
}

all_stages() {
    local failed=0
    outcome_of step "the evidence" find_evidence || failed=1
    if [ "$quick" = no ]; then checked_stage || failed=1; fi
    stage "$(strict release)" all -LE "$adapter_tests|$web_tests" || failed=1
    if [ "$quick" = no ]; then fuzz_stage || failed=1; fi
    if [ "$quick" = no ]; then adapters_stage || failed=1; fi
    if [ "$web" != none ]; then web_stage || failed=1; fi
    if [ "$quick" = no ]; then threads_stage || failed=1; fi
    return "$failed"
}

# No failure above may keep the closing count from being printed, so the count is taken when the script ends.
finish() {
    local status=$?
    trap - EXIT
    say "all stages are done"
    python3 "$root/scripts/count_tests.py" --exit "$status" "${outcomes[@]}" || status=1
    exit "$status"
}
trap finish EXIT

outcome_of step "the packages" install_packages test
outcome_of step "the solver" install_solver
outcome_of step "the tools of the Python package" install_python
use_ccache
export UBSAN_OPTIONS=print_stacktrace=1
all_stages
