#!/bin/sh
# SPDX-License-Identifier: MIT
# valgrind.sh TESTS EXAMPLE: every test with mprotect() and with two views under memcheck; valgrind has no keys.
# It has to look at code each time: that of two views is not written where it runs.
set -eu
here=$(dirname "$0")
export UNDER_VALGRIND=1
for backend in mprotect views; do
	valgrind -q --smc-check=all --error-exitcode=9 --leak-check=no --suppressions="$here/valgrind.supp" "$1" $backend 2>&1 |
		tee valgrind.log
	grep -q '^1\.\.[1-9]' valgrind.log
	if grep '^not ok' valgrind.log; then exit 1; fi
done
valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=all --show-leak-kinds=all "$2" --self-test 400
