#!/usr/bin/env bash
# Everything for the main job: packages, the release build, then the quickstart: one cluster, two policies side by side.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

install_packages run
find_solver || say "no $solver_package here: going on without vgpusim bound"
build release --target vgpusim

cd "$root"
say "vgpusim compare: fgd against best_fit on the quickstart cluster"
exec build/release/bin/vgpusim compare --format openb \
    --nodes traces/quickstart/nodes.csv --pods traces/quickstart/pods.csv \
    --policy fgd --policy best_fit --seed 42 --out out/quickstart
