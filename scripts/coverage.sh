#!/usr/bin/env bash
# Line coverage of the core by its own unit and property tests; exits non-zero below the minimum.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

install_packages test
build coverage --target core_tests
forget_coverage
run_ctest coverage -L '^(unit|property)$'
coverage_gate
