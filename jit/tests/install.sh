#!/bin/sh
# SPDX-License-Identifier: MIT
# install.sh CMAKE BUILD CC FOLDER: what is installed can be found by pkg-config and linked, both ways.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" --install "$2" --prefix "$work/usr" >/dev/null
library=$(dirname "$(find "$work/usr" -name libjitgate.a)")
[ -f "$work/usr/share/man/man3/jitgate.3" ] || { echo "no man page"; exit 1; }
# The prefix of the build is in jitgate.pc; this is another one.
sed -i "s|^prefix=.*|prefix=$work/usr|" "$library/pkgconfig/jitgate.pc"
if command -v pkg-config >/dev/null; then
	PKG_CONFIG_PATH=$library/pkgconfig pkg-config --exact-version=0.2.0 jitgate
	flags=$(PKG_CONFIG_PATH=$library/pkgconfig pkg-config --cflags --libs jitgate)
	static=$(PKG_CONFIG_PATH=$library/pkgconfig pkg-config --static --cflags --libs jitgate)
else
	echo "no pkg-config here: flags are guessed"
	flags="-I$work/usr/include -L$library -ljitgate"
	static="$flags -pthread"
fi
# shellcheck disable=SC2086 # lists of words
"$3" -o "$work/shared" "$4/linked.c" $flags
LD_LIBRARY_PATH=$library "$work/shared"
# shellcheck disable=SC2086
"$3" -static -o "$work/static" "$4/linked.c" $static
"$work/static"
