#!/bin/sh
# SPDX-License-Identifier: MIT
# amalgamate.sh FOLDER: writes the library there as one jitgate.c beside its jitgate.h. What its parts share is static in
# that file, so a program that has it gets no names but those of the header.
set -eu
[ $# = 1 ] || { echo "usage: amalgamate.sh FOLDER" >&2; exit 2; }
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"

version() { # version BYTE: a part of JITGATE_VERSION
	printf '%d' "0x$(sed -n 's/^#define JITGATE_VERSION	0x\([0-9a-f]*\).*/\1/p' "$here/include/jitgate.h" | cut -c "$1")"
}

begin() { # begin FILE: what it is, and the licence, which goes with it
	echo "/* SPDX-License-Identifier: MIT */"
	echo "/*"
	echo " * $1 of jitgate $(version 1-2).$(version 3-4).$(version 5-6), made by amalgamate.sh: change the files that it is made of."
	echo " *"
	sed 's/^/ * /; s/ *$//' "$here/LICENSE"
	echo " */"
}

parts() { # all sources one after another; each header is where it is wanted first
	awk -v folder="$here/src" '
		function shared(line) { # of a header: what other parts may use
			if (sub(/^extern /, "", line)) {
				name = line
				sub(/;.*/, "", name)
				sub(/.*[ *]/, "", name)
				variables[name] = 1
			} else if (line !~ /^[a-z_].*[ *][a-z_]+\(/ || line ~ /^(static|typedef) /) {
				return line
			}
			return "JITGATE_INTERNAL " line
		}
		function defined(line) { # of a source: the variables among those
			name = line
			sub(/( __attribute__.*| = .*|;.*)$/, "", name)
			sub(/.*[ *]/, "", name)
			return line ~ /^[A-Za-z]/ && line !~ /^static / && name in variables ? "JITGATE_INTERNAL " line : line
		}
		function copy(path, header,    line, name) {
			printf "\n/* %s */\n", substr(path, length(folder) + 2)
			while ((getline line < path) > 0) {
				if (line ~ /SPDX-License-Identifier|^#define _GNU_SOURCE/)
					continue
				if (line !~ /^#include "/ || line ~ /"jitgate\.h"/) {
					print header ? shared(line) : defined(line)
					continue
				}
				split(line, name, "\"")
				if (!seen[name[2]]++)
					copy(folder "/" name[2], 1)
			}
			close(path)
		}
		BEGIN { for (i = 1; i < ARGC; i++) copy(ARGV[i], 0) }' "$here"/src/*.c
}

{
	begin jitgate.h
	sed '/SPDX-License-Identifier/d' "$here/include/jitgate.h"
} >"$1/jitgate.h"
{
	begin jitgate.c
	cat <<-'END'
	#ifndef _GNU_SOURCE
	#define _GNU_SOURCE
	#endif
	#ifndef JITGATE_INTERNAL
	#define JITGATE_INTERNAL static
	#endif
	END
	parts
} >"$1/jitgate.c"
