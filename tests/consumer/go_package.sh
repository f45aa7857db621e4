#!/usr/bin/env bash
# The package for Go (adapters/vga), built and tested against the package below PREFIX, which pkg-config finds.
# Usage: go_package.sh PREFIX      Exit code 77 where no Go can be had, but with CI=true, where that is a failure.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"
if ! go=$(find_go); then
    say "no Go $go_wanted or newer: the package is not tested"
    if [ "${CI:-}" = true ]; then exit 1; else exit 77; fi
fi
go_settings "$1" "$(dirname "$(find "$1" -name vgpualloc.pc)")"
cd "$root/adapters"
exec "$go" test -count=1 ./vga
