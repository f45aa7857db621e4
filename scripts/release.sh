#!/usr/bin/env bash
# What a release consists of, made by the scripts and settings of this checkout into one folder, with the SHA-256 of each file:
#   vgpualloc-VERSION-….whl          the Python package
#   vgpualloc.html                   the page
#   kubectl-vgpu_linux_ARCH.tar.gz   the plugin of kubectl; vgpu.yaml is krew's manifest with its sum
#   SHA256SUMS
# The images are built of adapters/delivery/docker, where there is Docker. Files have the time of the commit, so that the same checkout
# gives the same bytes again.
# Usage: scripts/release.sh OUT [wheel] [page] [kubectl]      OUT: a folder, made if need be; without a name, all of them
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[ $# -ge 1 ] || die "expected a folder: scripts/release.sh OUT [wheel] [page] [kubectl]"
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift
if [ $# = 0 ]; then set -- wheel page kubectl; fi
SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct)
export SOURCE_DATE_EPOCH
install_packages run
use_ccache

make_wheel() {
    find_python || die "the wheel needs the packages of python-bindings/requirements.txt"
    say "building the wheel"
    rm -f "$out"/vgpualloc-*.whl
    "$python_folder/bin/pip" wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps --wheel-dir "$out" "$root/python-bindings"
}

make_page() {
    CI=true bash "$root/scripts/web.sh" # nothing of it may be missing
    cp "$root/build/web/vgpualloc.html" "$out"
}

# The notices of the Go modules that a program of module kubectl has in it, and of Go's own library: their licences want them beside it.
go_licences() {
    local preset=$1 go=$2 program=$3 module folder text
    local -a linked
    printf "Go's standard library, %s\n\n" "$("$go" env GOVERSION)"
    cat "$("$go" env GOROOT)/LICENSE"
    mapfile -t linked < <("$go" version -m "$program" | awk '$1 == "dep" && $2 !~ /^vgpualloc/ { print $2 }')
    [ "${#linked[@]}" -gt 0 ] || die "$program does not say which modules it has in it"
    bash "$root/scripts/adapters.sh" "$root/build/$preset" list -C kubectl -m -f '{{.Path}} {{.Version}}|{{.Dir}}' "${linked[@]}" |
        while IFS='|' read -r module folder; do
            text=$(find "$folder" -maxdepth 1 -type f \( -iname 'licen[cs]e*' -o -iname 'copying*' -o -iname 'notice*' \) | LC_ALL=C sort)
            if [ -z "$text" ]; then die "no licence in $folder"; fi
            printf -- '\n------\n%s\n\n' "$module"
            xargs -d '\n' cat <<<"$text"
        done
}

make_kubectl() {
    local preset staged=$root/build/release-archive go arch archive
    preset=$(strict release)
    build "$preset" --target vgpusim vgpualloc_c_api
    go=$(find_go) || die "the plugin needs Go $go_wanted"
    arch=$("$go" env GOARCH)
    archive=$out/kubectl-vgpu_linux_$arch.tar.gz
    say "building $(basename "$archive")"
    rm -rf "$staged"
    mkdir -p "$staged"
    bash "$root/scripts/adapters.sh" "$root/build/$preset" build -C kubectl -o "$staged/kubectl-vgpu" .
    cp "$root/LICENSE" "$root/THIRD_PARTY_LICENSES" "$staged"
    go_licences "$preset" "$go" "$staged/kubectl-vgpu" >"$staged/GO_LICENSES"
    tar -C "$staged" --sort=name --owner=0 --group=0 --numeric-owner --mode=u+rwX,go+rX,go-w --mtime="@$SOURCE_DATE_EPOCH" \
        -cf - kubectl-vgpu LICENSE THIRD_PARTY_LICENSES GO_LICENSES | gzip -9n >"$archive"
    sed "s/amd64/$arch/; s/sha256: \"0*\"/sha256: \"$(sha256sum <"$archive" | cut -d' ' -f1)\"/" \
        "$root/adapters/kubectl/vgpu.yaml" >"$out/vgpu.yaml"
}

for name in "$@"; do
    case $name in
        wheel | page | kubectl) "make_$name" ;;
        *) die "unknown part '$name' (known: wheel, page, kubectl)" ;;
    esac
done
(
    cd "$out"
    find . -maxdepth 1 -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort | xargs -d '\n' sha256sum >SHA256SUMS
    cat SHA256SUMS
)
