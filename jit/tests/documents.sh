#!/bin/sh
# SPDX-License-Identifier: MIT
# documents.sh CC SOURCE LIBRARY: the quick start has 20 lines at most, compiles as written and prints what is said there;
# what the tutorial quotes is in the example; the man page knows every function. Exit status 77: not inside the project.
set -eu
cc=$1 source=$2 library=$3
here=$source/../docs/jitgate.md
[ -f "$here" ] || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

block() { # block LANGUAGE FILE: the lines of its code blocks of that language
	awk -v begin="\`\`\`$1" '$0 == begin { inside = 1; next } /^```/ { inside = 0 } inside' "$2"
}

sed -n '/^## Quick start/,/^## /p' "$here" >"$work/start.md"
block c "$work/start.md" >"$work/start.c"
lines=$(wc -l <"$work/start.c")
[ "$lines" -ge 10 ] && [ "$lines" -le 20 ] || { echo "the quick start has $lines lines"; exit 1; }
if [ "$(uname -m)" = x86_64 ]; then
	"$cc" -Wall -Wextra -Werror -I"$source/include" -o "$work/start" "$work/start.c" "$library" -pthread
	[ "$("$work/start")" = "$(block text "$work/start.md")" ] || { echo "it prints something else"; exit 1; }
fi

block c "$source/examples/README.md" | while IFS= read -r line; do
	grep -Fxq -- "$line" "$source"/examples/*.c || { echo "not in the example: $line"; exit 1; }
done

sed -n 's/^JITGATE_API .*[ *]\(jitgate_[a-z_]*\)(.*/\1/p' "$source/include/jitgate.h" | while read -r name; do
	grep -q "$name" "$source/man/jitgate.3" || { echo "not in the man page: $name"; exit 1; }
done
