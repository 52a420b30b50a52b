#!/bin/sh
# SPDX-License-Identifier: MIT
# symbols.sh NM LIBRARY: the library exports what the header declares, with a version, and nothing else.
set -eu
header=$(dirname "$0")/../include/jitgate.h
exported=$("$1" -D --defined-only "$2" | awk '$2 != "A" { sub(/@@JITGATE_0$/, "@", $3); print $3 }' | sort)
declared=$(sed -n 's/^JITGATE_API .*[ *]\(jitgate_[a-z_]*\)(.*/\1@/p' "$header" | sort)
[ "$exported" = "$declared" ] || { printf 'exported:\n%s\ndeclared:\n%s\n' "$exported" "$declared"; exit 1; }
