#!/bin/sh
# SPDX-License-Identifier: MIT
# single.sh SOURCE CC NM CROSS_CC TEST...: the library in one file, with each compiler that is here: it compiles alone,
# has no names but those of the header, and passes the tests, of which these are the sources. CROSS_CC may be empty.
set -eu
source=$1 cc=$2 nm=$3 cross=$4
shift 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sh "$source/amalgamate.sh" "$work/one"
sh "$source/amalgamate.sh" "$work/two"
diff -r "$work/one" "$work/two" || { echo "it is not the same twice"; exit 1; }
declared=$(sed -n 's/^JITGATE_API .*[ *]\(jitgate_[a-z_]*\)(.*/\1/p' "$source/include/jitgate.h" | sort)

compile() { # compile CC WORD...: alone, as strictly as its users may
	"$@" -std=c11 -O2 -fPIC -Wall -Wextra -Werror -c -o "$work/one.o" "$work/one/jitgate.c"
}

names() { # all that others can see is declared, and all that is declared is there
	has=$("$nm" -g --defined-only "$work/one.o" | awk '{ print $3 }' | sort)
	[ "$has" = "$declared" ] || { printf 'has:\n%s\ndeclared:\n%s\n' "$has" "$declared"; exit 1; }
	# A signal handler must not allocate its variables.
	if "$nm" -u "$work/one.o" | grep __tls_get_addr; then exit 1; fi
}

run_tests() { # run_tests CC TEST...: some look inside
	"$1" -std=c11 -O1 -DJITGATE_INTERNAL= -c -o "$work/open.o" "$work/one/jitgate.c"
	"$1" -std=c11 -I"$work/one" -o "$work/calc" "$source"/examples/*.c "$work/one.o" -pthread
	"$work/calc" --self-test 400
	compiler=$1
	shift
	"$compiler" -std=gnu11 -O0 -D_DEFAULT_SOURCE -DEXAMPLE="\"$work/calc\"" -I"$work/one" -I"$source/src" -Wl,--wrap=syscall \
		-o "$work/tests" "$@" "$work/open.o" -pthread
	"$work/tests" >"$work/said" || { grep -v '^ok' "$work/said"; exit 1; }
	tail -n 1 "$work/said"
}

for compiler in $(for each in "$cc" gcc clang; do command -v "$each" || :; done | sort -u); do
	echo "$compiler:"
	compile "$compiler"
	names
	(cd "$source/tests" && run_tests "$compiler" "$@")
done
[ -z "$cross" ] || compile "$cross"
