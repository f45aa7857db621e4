#!/usr/bin/env bash
# Line coverage of the core by its own unit and property tests; exits non-zero below the minimum.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

install_packages test
use_ccache
forget_coverage checked
build checked --target core_tests
run_ctest checked -L "$core_tests"
coverage_gate checked
