#!/bin/sh
# SPDX-License-Identifier: MIT
# barrier.sh CC OBJDUMP FOLDER: the compiler moves no store across a write of the rights register. Looks at the order of
# stores to memory and register writes in what it makes of barrier.c.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for level in 1 2 3 s; do
	"$1" -O$level -I"$3/../src" -c -o "$work/barrier.o" "$3/barrier.c"
	# store (S), register write (W); on x86-64 stores have an immediate, on arm64 they are str
	order=$("$2" -d "$work/barrier.o" | awk '
		/wrpkru|msr.*(POR_EL0|S3_3_C10_C2_4|s3_3_c10_c2_4|por_el0)/ { printf "W" }
		/mov[lq]? .*\$0x(11111|22222),(0x[0-9a-f]+)?\(|[ \t]str[ \t]+w/ { printf "S" }')
	[ "$order" = WSWWSW ] || { echo "-O$level: $order, not WSWWSW"; exit 1; }
done
