#!/usr/bin/env bash
# Feeds recorded cases of the node side to our device plugin, over the fake NVML and stubs of the API server and the kubelet, and
# compares its answers with the recorded ones. A case passes where they are equal, or where what differs follows from one of upstream's
# numbered mistakes; docs/deploy/device-plugin.md lists those. Builds what it needs from the checkout.
# Usage: scripts/node_recordings.sh [--build DIR] [--case ID] [--workers N] FILE…
#   FILE         recorded cases, one JSON object a line
#   --build DIR  a folder in which the library and target fake_nvml are built (default: build/release, which is built first)
#   --case ID    this case alone
#   --workers N  cases that are played at a time (default: one for each CPU)
# The last two lines are "N equal, M explained (N1 a, N2 b, …), K unexplained" and "N passed, N failed".
# Exit code 0: none failed; 1: some failed, or something could not be built; 2: usage, or a file that cannot be read. 77: no Go here,
# unless CI=true.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() { sed -n '2,/^set /{/^# /s/^# //p}' "${BASH_SOURCE[0]}"; }
wrong() { printf 'node_recordings.sh: %s\n' "$*" >&2; exit 2; }

build="" files=() flags=()
while [ $# -gt 0 ]; do
    case $1 in
        --build | --case | --workers)
            [ $# -ge 2 ] || wrong "$1 without a value"
            case $1 in
                --build) build=$2 ;;
                --case) flags+=(-case "$2") ;;
                --workers)
                    [[ $2 =~ ^[1-9][0-9]*$ ]] || wrong "--workers '$2', expected a number from 1"
                    flags+=(-workers "$2")
                    ;;
            esac
            shift 2
            ;;
        -h | --help) usage; exit 0 ;;
        --) shift; files+=("$@"); break ;;
        -*) wrong "option '$1', expected --build, --case or --workers" ;;
        *) files+=("$1"); shift ;;
    esac
done
[ ${#files[@]} -gt 0 ] || wrong "no FILE, expected recorded cases: scripts/node_recordings.sh FILE…"
# Before anything is built, as far as a look at both ends of a file tells.
for i in "${!files[@]}"; do
    file=${files[i]}
    [ -e "$file" ] || wrong "FILE '$file': no such file, expected recorded cases"
    [ -f "$file" ] || wrong "FILE '$file' is no regular file, expected recorded cases"
    [ -r "$file" ] || wrong "FILE '$file' cannot be read"
    [ -s "$file" ] || wrong "FILE '$file' is empty, expected one JSON object a line"
    case $(tail -c 64 "$file" | tr -d '[:space:]\0') in
        *'}') ;;
        *) wrong "FILE '$file' does not end with a JSON object, expected one a line: it may be cut short" ;;
    esac
    files[i]=$(realpath "$file")
done

if ! go=$(find_go); then
    say "no Go $go_wanted or newer: nothing is compared"
    if [ "${CI:-}" = true ]; then exit 1; else exit 77; fi
fi
if [ -z "$build" ]; then
    preset=$(strict release)
    build=$root/build/$preset
    use_ccache
    install_packages run >&2
    build "$preset" --target vgpualloc_c_api --target vgpualloc_operate --target fake_nvml >&2
else
    for needed in lib/libvgpualloc_c_api.a lib/fake_nvml/libnvidia-ml.so.1; do
        [ -f "$build/$needed" ] || wrong "--build '$build' has no $needed, expected a folder in which the library and fake_nvml are built"
    done
    build=$(realpath "$build")
fi

go_settings "$build"
program=$root/build/node_recordings/recordings
mkdir -p "$(dirname "$program")"
"$go" build -C "$root/adapters/deviceplugin" -ldflags "-s -w $(library_link "$build")" -o "$program" ./recordings/cmd/recordings
export VGPUALLOC_FAKE_NVML_LIBRARY=$build/lib/fake_nvml/libnvidia-ml.so.1
exec "$program" "${flags[@]}" "${files[@]}"
