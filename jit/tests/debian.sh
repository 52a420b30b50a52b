#!/bin/sh
# SPDX-License-Identifier: MIT
# debian.sh SOURCE: makes the Debian packages of a copy of the library's tree, has lintian look at them, unpacks them, and
# builds and runs the example and a user's project against what is there, by pkg-config and by CMake.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$1" "$work/jitgate"
cd "$work/jitgate"

version=$(dpkg-parsechangelog -S Version)
declared=$(sed -n 's/^#define JITGATE_VERSION.*\* \([0-9.]*\) \*.*/\1/p' include/jitgate.h)
[ "$version" = "$declared" ] || { echo "the changelog is of $version, the header of $declared"; exit 1; }

# The tests of the tree run elsewhere, and who builds the packages by himself runs them.
DEB_BUILD_OPTIONS="nocheck parallel=1" dpkg-buildpackage -us -uc -b >"$work/log" 2>&1 || { tail -n 30 "$work/log"; exit 1; }
echo "built"

# As root it says that it had better not be.
lintian -EI --pedantic --fail-on error,warning,info,pedantic "$work"/*.changes 2>"$work/said" ||
	{ cat "$work/said"; echo "lintian found something"; exit 1; }
echo "lintian found nothing"

root=$work/root
for package in libjitgate0 libjitgate-dev; do
	dpkg-deb -x "$work/${package}_${version}_$(dpkg --print-architecture).deb" "$root"
done
for file in libjitgate0/copyright libjitgate-dev/copyright; do
	[ -s "$root/usr/share/doc/$file" ] || { echo "no $file"; exit 1; }
done
[ -s "$root/usr/share/man/man3/jitgate.3.gz" ] || { echo "no man page"; exit 1; }
library=$root/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)

# What lies below /usr needs no flags, but this does not.
export PKG_CONFIG_SYSROOT_DIR="$root" PKG_CONFIG_LIBDIR="$library/pkgconfig"
export PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_ALLOW_SYSTEM_LIBS=1
pkg-config --exact-version="$version" jitgate
# shellcheck disable=SC2046 # a list of words
cc -o "$work/calc" examples/*.c $(pkg-config --cflags --libs jitgate)
[ "$(LD_LIBRARY_PATH=$library "$work/calc" "3*x*x - (x + 1) * -2" 7)" = 163 ] || { echo "the example is wrong"; exit 1; }
ldd "$work/calc" | grep -q "libjitgate\.so\.0" || { echo "the example has not the shared library"; exit 1; }
echo "the example runs, by pkg-config"

cmake -S tests/package -B "$work/build" -DCMAKE_PREFIX_PATH="$root/usr"
grep -q "^jitgate_DIR:PATH=$library/cmake/jitgate$" "$work/build/CMakeCache.txt" || { echo "another one was found"; exit 1; }
cmake --build "$work/build"
ctest --test-dir "$work/build" --output-on-failure
echo "passed"
