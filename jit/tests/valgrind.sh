#!/bin/sh
# SPDX-License-Identifier: MIT
# valgrind.sh TESTS EXAMPLE: every test with mprotect() under memcheck; valgrind has no keys.
set -eu
here=$(dirname "$0")
valgrind -q --error-exitcode=9 --leak-check=no --suppressions="$here/valgrind.supp" "$1" mprotect 2>&1 | tee valgrind.log
grep -q '^1\.\.[1-9]' valgrind.log
! grep -q '^not ok' valgrind.log
valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=all --show-leak-kinds=all "$2" --self-test 400
