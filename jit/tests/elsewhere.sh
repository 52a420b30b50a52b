#!/bin/sh
# SPDX-License-Identifier: MIT
# elsewhere.sh CMAKE CC SOURCE: on other systems than Linux both CMake and the compiler say why they stop, and what to do.
set -eu
said="jitgate is for Linux: build your engine without it for"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if "$1" -S "$3" -B "$work" -DCMAKE_SYSTEM_NAME=FreeBSD -DCMAKE_C_COMPILER="$2" >"$work/said" 2>&1; then
	echo "CMake went on"; exit 1
fi
# CMake wraps lines.
tr -s ' \n' '  ' <"$work/said" | grep -q "$said FreeBSD" || { cat "$work/said"; exit 1; }
if "$2" -U__linux__ -I"$3/include" -fsyntax-only "$3/src/gate.c" 2>"$work/said"; then
	echo "the compiler went on"; exit 1
fi
grep -q "$said other systems" "$work/said" || { cat "$work/said"; exit 1; }
