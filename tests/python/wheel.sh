#!/usr/bin/env bash
# Builds the wheel of the Python package, installs it into an empty folder, runs README's five lines with it, and a bound.
# Usage: wheel.sh PYTHON SOURCES PREFIX WORK        PREFIX: where the library is installed
set -euo pipefail
python=$1 sources=$2 prefix=$3 work=$4
rm -rf "$work"
mkdir -p "$work"
"$python" -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps --wheel-dir "$work" \
    --config-settings=cmake.define.VGA_INSTALLED_LAYERS=ON --config-settings=cmake.define.CMAKE_PREFIX_PATH="$prefix" \
    --config-settings=build-dir="$work/build" "$sources"
wheel=$(ls "$work"/*.whl)
case $wheel in *-cp310-abi3-*) ;; *) echo "no wheel for the stable ABI: $wheel"; exit 1 ;; esac
"$python" -m pip install --quiet --disable-pip-version-check --no-deps --target "$work/site" "$wheel"
cd "$work"
PYTHONPATH=$work/site MPLBACKEND=agg "$python" - <<'PY'
import sys
import vgpualloc as vg
assert not {"numpy", "pandas", "matplotlib", "gymnasium"} & set(sys.modules)
r = vg.simulate(**vg.example("quickstart"), policy="bid_price", tune=1.3, seed=77)
print(r)
r.plot("allocation")
r.write("out/bid_price")
assert "highsbox" not in sys.modules  # the solver is looked for when a call needs it
assert vg.simulate(**vg.example("quickstart"), bound=True).summary["bound"]["solver"].startswith("HiGHS ")
PY
test -s out/bid_price/report.html
