#!/usr/bin/env bash
# Runs Go for the adapters (adapters/), which link the library of a build of this checkout.
# Usage: scripts/adapters.sh BUILD COMMAND…      BUILD: a build folder; COMMAND: arguments of go, run in adapters/
#                                                (test -C scheduler ./plugin: in a module below; kubectl links the facade)
#        scripts/adapters.sh BUILD check MODULE  formatted, vetted, generated files up to date
#        scripts/adapters.sh BUILD tier2 -C MODULE PACKAGE [flags of its tests]
#                                                tests with tag tier2, to which our device plugin is given (root)
# Exit code 2: usage. 77 where no Go can be had, or tier 2 cannot run; with CI=true that is a failure.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

wrong() { printf 'adapters.sh: %s\n' "$*" >&2; exit 2; }

[ $# -ge 2 ] || wrong "expected a build folder and a command: scripts/adapters.sh BUILD COMMAND…"
[ -f "$1/lib/libvgpualloc_c_api.a" ] || wrong "'$1' has no lib/libvgpualloc_c_api.a: expected a folder in which the library is built"
build=$(cd "$1" && pwd)
shift
if ! go=$(find_go); then
    say "no Go $go_wanted or newer: the adapters are not tested"
    if [ "${CI:-}" = true ]; then exit 1; else exit 77; fi
fi

go_settings "$build"
# `check` vets every module; go test would vet again, and with it all that the modules are made of.
link=$(library_link "$build")
case " $* " in
    *" kubectl "*) # it links more than the others, and is compared with vgpusim
        link=$(facade_link "$build")
        export VGPUALLOC_VGPUSIM=$build/bin/vgpusim
        ;;
esac
GOFLAGS+=" -vet=off -ldflags=$link"

cd "$root/adapters"
if [ "$1" = check ]; then
    gofmt=$("$go" env GOROOT)/bin/gofmt
    cd "${2:-.}"
    unformatted=$("$gofmt" -l .)
    if [ -n "$unformatted" ]; then die "not as gofmt formats it: $unformatted"; fi
    python3 "$root/scripts/go_constants.py" "$root/libvgpualloc/c_api/include/vgpualloc/c_api.h" \
        --check "$root/adapters/vga/constants.go"
    "$go" mod verify >/dev/null
    if ! "$go" mod tidy -diff; then die "go.mod or go.sum of adapters/${2:-} is not what go mod tidy makes it"; fi
    exec "$go" vet -tags tier2 ./...
fi
if [ "$1" = tier2 ]; then
    if [ $# -lt 4 ] || [ "$2" != -C ]; then wrong "tier2 ${*:2}, expected -C MODULE PACKAGE"; fi
    # Not by go test, which ends with 1 whatever its program ends with.
    programs=$root/build/tier2
    mkdir -p "$programs"
    export VGPUALLOC_DEVICE_PLUGIN=$programs/device-plugin
    "$go" build -C deviceplugin -ldflags "-s -w $(library_link "$build")" -o "$VGPUALLOC_DEVICE_PLUGIN" .
    cd "$3"
    "$go" test -tags tier2 -c -ldflags "-s -w $(library_link "$build")" -o "$programs/tests" "$4"
    cd "$4"
    exec "$programs/tests" "${@:5}"
fi
exec "$go" "$@"
