#!/bin/sh
# SPDX-License-Identifier: MIT
# symbols.sh NM LIBRARY: the library exports what the header declares, with a version, and nothing else.
# It never allocates thread-local variables: a signal handler may be the first to use them.
set -eu
header=$(dirname "$0")/../include/jitgate.h
exported=$("$1" -D --defined-only "$2" | awk '$2 != "A" { sub(/@@JITGATE_0$/, "@", $3); print $3 }' | sort)
declared=$(sed -n 's/^JITGATE_API .*[ *]\(jitgate_[a-z_]*\)(.*/\1@/p' "$header" | sort)
[ "$exported" = "$declared" ] || { printf 'exported:\n%s\ndeclared:\n%s\n' "$exported" "$declared"; exit 1; }
# Those of the Debian package are the same.
listed=$(sed -n 's/^ \(jitgate_[a-z_]*\)@JITGATE_0 .*/\1@/p' "$(dirname "$0")/../debian/libjitgate0.symbols" | sort)
[ "$listed" = "$declared" ] || { printf 'listed:\n%s\ndeclared:\n%s\n' "$listed" "$declared"; exit 1; }
if "$1" -D -u "$2" | grep __tls_get_addr; then exit 1; fi
