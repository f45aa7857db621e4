#!/usr/bin/env bash
# Builds the preset "bench", runs every program and prints the table of ratios. Results go to out/bench/NAME.json.
# Usage: bench/run.sh [google-benchmark options, e.g. --benchmark_repetitions=5]
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"

install_packages run
build bench
results=$root/out/bench
mkdir -p "$results"
for name in replay decision memory transition; do
    say "bench_$name"
    "$root/build/bench/bin/bench_$name" --benchmark_out="$results/$name.json" --benchmark_out_format=json "$@"
done
if [ -s "$results/replay.json" ]; then
    say "the whole process against the time to read and write its files"
    python3 "$root/bench/ratio.py" "$results/replay.json"
fi
say "results: $results"
