#!/bin/sh
# SPDX-License-Identifier: MIT
# package.sh CMAKE CTEST BUILD CC FOLDER: what is installed can be found by CMake, in its version, and linked, both ways.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" --install "$3" --prefix "$work/usr" >/dev/null
"$1" -S "$5/package" -B "$work/build" -DCMAKE_C_COMPILER="$4" -DCMAKE_PREFIX_PATH="$work/usr"
"$1" --build "$work/build"
"$2" --test-dir "$work/build" --output-on-failure
