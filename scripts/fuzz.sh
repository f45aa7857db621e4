#!/usr/bin/env bash
# Builds the fuzz targets and runs each for a while, two at a time, and the canary, a planted bug that has to be found.
# Prints what each has executed and reached. Inputs that break something are kept in build/fuzz/findings/TARGET. Fails
# if one crashes, takes 1 s or 512 MiB, or if the canary is not found.
# Usage: scripts/fuzz.sh [--seconds N] [--jobs N] [--seed N] [TARGET…]        docs/fuzzing.md says more
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

known=$(cd "$root/tests/fuzz" && printf '%s\n' *_fuzz.cpp | sed 's/_fuzz\.cpp$//' | grep -v '^canary$' | xargs)
options=()
targets=()
while [ $# -gt 0 ]; do
    case $1 in
        --seconds | --jobs | --seed)
            [[ ${2:-} =~ ^[0-9]+$ ]] || die "$1: a number, got '${2:-}'"
            options+=("$1" "$2")
            shift
            ;;
        -*) die "unknown option '$1' (known: --seconds N, --jobs N, --seed N)" ;;
        *)
            case " $known " in *" $1 "*) targets+=("$1") ;; *) die "no target '$1' (known: $known)" ;; esac
            ;;
    esac
    shift
done
if [ ${#targets[@]} = 0 ]; then read -ra targets <<<"$known"; fi

quick_compiler >/dev/null || die "no clang++ with libFuzzer and llvm-cov (Debian: clang-19, libclang-rt-19-dev, llvm-19)"
use_ccache
preset=$(strict checked)
build "$preset" --target fuzz_canary "${targets[@]/#/fuzz_}"
VGPUALLOC_FUZZ_PROGRAMS=$root/build/$preset/bin python3 "$root/scripts/fuzz_run.py" "${options[@]}" "${targets[@]}"
