#!/usr/bin/env bash
# A program in C, built as the page on embedding says, against the package below PREFIX, which is not the prefix that the
# build was configured with; and the package is still found where it is moved to.
# Usage: pkg_config.sh PREFIX SOURCE PROGRAM
set -euo pipefail
folder=$(dirname "$(find "$1" -name vgpualloc.pc)")
export PKG_CONFIG_PATH=$folder
read -ra flags <<<"$(pkg-config --static --cflags --libs vgpualloc)"
case " ${flags[*]} " in *" -I$1/"*) ;; *) echo "not the package below $1: ${flags[*]}" >&2; exit 1 ;; esac
ln -sfn "$1" "$3.moved"
case " $(PKG_CONFIG_PATH=$3.moved${folder#"$1"} pkg-config --cflags vgpualloc) " in
*" -I$3.moved/"*) ;;
*) echo "the package does not know where it is when it is at $3.moved" >&2; exit 1 ;;
esac
"${CC:-cc}" -std=c11 -Wall -Wextra -Wpedantic -Werror "$2" "${flags[@]}" -o "$3"
"$3"
# And with the shared library, which needs nothing beside it.
read -ra flags <<<"$(pkg-config --cflags --libs vgpualloc_c)"
"${CC:-cc}" -std=c11 "$2" "${flags[@]}" "-Wl,-rpath,$(pkg-config --variable=libdir vgpualloc_c)" -o "$3.shared"
"$3.shared"
