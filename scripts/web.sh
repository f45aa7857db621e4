#!/usr/bin/env bash
# The commands as a WebAssembly module, for pages and for node, and the page over it: installs the compiler, builds
# build/web/vgpualloc.wasm and build/web/vgpualloc.html and prints how large they are. What is there already is not fetched or built
# again. Everything comes from package registries: the compiler from PyPI, the sources of yaml-cpp and zlib from the system's, what
# bundles the page from npm's. Where there is none of them it says so and ends with 77; with CI=true with 1.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

compiler=ziglang==0.17.1 # another one needs another look at web/toolchain.cmake and web/runtime.cmake
folder=$root/build/web
tools=$folder/tools
sources=$folder/sources

without() {
    say "no WebAssembly module: $*"
    if [ "${CI:-}" = true ]; then exit 1; fi
    exit 77
}

find_compiler() {
    if [ -f "$tools/$compiler" ]; then return 0; fi
    say "installing $compiler"
    rm -rf "$tools"
    mkdir -p "$folder"
    python3 -m venv "$tools" >&2 && "$tools/bin/pip" install --quiet --disable-pip-version-check "$compiler" >&2 && touch "$tools/$compiler"
}

# Source packages of where this system's packages are from. The lists of apt are our own, so that neither root nor a change of
# the system's is needed.
find_sources() {
    if [ -f "$sources/complete" ]; then return 0; fi
    command -v apt-get >/dev/null && command -v dpkg-source >/dev/null || return 1
    say "fetching the sources of yaml-cpp and zlib"
    rm -rf "$sources"
    mkdir -p "$sources/apt/parts" "$sources/apt/lists/partial" "$sources/apt/archives/partial"
    local list
    for list in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
        if [ ! -f "$list" ]; then continue; fi
        case $list in
            *.list) sed -n 's/^deb /deb-src /p' "$list" >"$sources/apt/parts/$(basename "$list")" ;;
            *.sources) sed 's/^Types:.*/Types: deb-src/' "$list" >"$sources/apt/parts/$(basename "$list")" ;;
        esac
    done
    local own=(-qq -o "Dir::Etc::SourceList=/dev/null" -o "Dir::Etc::SourceParts=$sources/apt/parts" -o "Dir::State::Lists=$sources/apt/lists"
        -o "Dir::Cache::Archives=$sources/apt/archives" -o "Dir::Cache::pkgcache=" -o "Dir::Cache::srcpkgcache=" -o "APT::Sandbox::User=")
    apt-get "${own[@]}" update && fetch_source yaml-cpp && fetch_source zlib && touch "$sources/complete"
}

# Unpacks the newest version of a source package that its server hands out. A mirror may list a security update before it has it;
# then an older one that is listed beside it does.
fetch_source() { # PACKAGE
    local version
    for version in $(apt-cache "${own[@]}" showsrc --only-source "$1" | sed -n 's/^Version: //p' | sort --version-sort --reverse --unique); do
        if (cd "$sources" && apt-get "${own[@]}" source --only-source "$1=$version" >/dev/null); then return 0; fi
        say "$1 $version is listed but cannot be fetched"
    done
    return 1
}

# The parts of zig's own that a link needs, the C library above all, are built once into this folder.
export ZIG_GLOBAL_CACHE_DIR=$folder/zig-cache ZIG_LOCAL_CACHE_DIR=$folder/zig-cache

install_packages test
find_compiler || without "PyPI has no $compiler for this machine"
find_sources || without "no sources of yaml-cpp and zlib: they are fetched with apt-get and dpkg-source"
zig=$("$tools/bin/python" -c 'import os, ziglang; print(os.path.dirname(ziglang.__file__))')
say "building the WebAssembly module"
configuration=(-S "$root/web" -B "$folder" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$root/web/toolchain.cmake" -DCMAKE_BUILD_TYPE=MinSizeRel
    -DVGA_ZIG="$zig" -DVGA_SOURCES="$sources" -DVGA_WARNINGS_AS_ERRORS="$([ "${CI:-}" = true ] && echo ON || echo OFF)")
[ -f "$folder/build.ninja" ] || cmake "${configuration[@]}" >"$folder/configure.log" || { cat "$folder/configure.log" >&2; exit 1; }
cmake --build "$folder" --parallel "$jobs" --target vgpualloc
module=$folder/vgpualloc.wasm
compressed=$(gzip -9 -c "$module" | wc -c)
printf 'vgpualloc.wasm: %d bytes, %d with gzip\n' "$(wc -c <"$module")" "$compressed"

# What web/package-lock.json names.
find_bundler() {
    local installed=$root/web/node_modules/.package-lock.json
    if [ "$installed" -nt "$root/web/package-lock.json" ]; then return 0; fi
    command -v npm >/dev/null || return 1
    say "installing what bundles the page"
    npm ci --prefix "$root/web" --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null && touch "$installed"
}
find_bundler || without "the page needs npm, and there is none"
command -v xz >/dev/null || without "the page needs xz, and there is none"
node "$root/web/build_page.mjs" "$module" "$folder/vgpualloc.html" "$sources" "$zig"
