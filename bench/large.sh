#!/usr/bin/env bash
# 100,000 nodes x 8 GPUs: a million arrivals, and arrivals up to 1.3 times all GPUs, replayed under native fgd.
# Usage: bench/large.sh [large.py options]
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"

install_packages run
build release --target vgpusim
exec python3 "$root/bench/large.py" --vgpusim "$root/build/release/bin/vgpusim" "$@"
