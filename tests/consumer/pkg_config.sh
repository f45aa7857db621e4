#!/usr/bin/env bash
# A program in C, built as the page on embedding says, against the package below PREFIX.
# Usage: pkg_config.sh PREFIX SOURCE PROGRAM
set -euo pipefail
folder=$(dirname "$(find "$1" -name vgpualloc.pc)")
export PKG_CONFIG_PATH=$folder
read -ra flags <<<"$(pkg-config --define-prefix --static --cflags --libs vgpualloc)"
case " ${flags[*]} " in *" -I$1/"*) ;; *) echo "not the package below $1: ${flags[*]}" >&2; exit 1 ;; esac
"${CC:-cc}" -std=c11 -Wall -Wextra -Wpedantic -Werror "$2" "${flags[@]}" -o "$3"
"$3"
