#!/usr/bin/env bash
# Everything for the main job: packages, the release build, then the quickstart: one cluster, policies side by side.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

install_packages run
find_solver || say "no $solver_package here: going on without dual_price and vgpusim bound"
build release --target vgpusim

cd "$root"
say "vgpusim compare: three policies on the quickstart cluster"
exec build/release/bin/vgpusim compare --format openb \
    --nodes traces/quickstart/nodes.csv --pods traces/quickstart/pods.csv \
    --policy bid_price --policy fgd --policy best_fit --seed 42 --out out/quickstart
