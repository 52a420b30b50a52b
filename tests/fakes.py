# SPDX-License-Identifier: GPL-2.0-only
"""Small fake kernel trees, checkouts and programs for the unit tests."""

from pathlib import Path

from portcullis.host.workspace import Workspace

MAKEFILE = "VERSION = 6\nPATCHLEVEL = {minor}\nSUBLEVEL = 7\nEXTRAVERSION =\n"
MEMORY_C = "".join(f"line {number}\n" for number in range(1, 21))
HOOK_ONE = """Text of the hook.

--- a/mm/memory.c
+++ b/mm/memory.c
@@ -3,7 +3,7 @@
 line 3
 line 4
 line 5
-line 6
+line six
 line 7
 line 8
 line 9
"""
HOOK_TWO = """--- a/mm/memory.c
+++ b/mm/memory.c
@@ -13,6 +13,7 @@
 line 13
 line 14
 line 15
+line fifteen and a half
 line 16
 line 17
 line 18
--- a/mm/Makefile
+++ b/mm/Makefile
@@ -1 +1,2 @@
 obj-y += memory.o
+obj-y += kpkeys/
"""
SERIES = """
[[hook]]
file = "x86/0100-first.patch"
arch = "x86"
from = "6.12"
to = "6.13"
why = "First reason."
test = "boot-enforce"

[[hook]]
file = "0200-second.patch"
arch = "any"
from = "6.12"
to = "6.14"
why = "Second reason."
test = "kunit, hooks"
subject = "mm: build kpkeys"
"""

# A fake QEMU finds in its arguments what the real one does: where results, counts and the console go.
FAKE_QEMU = """#!/bin/sh
for word in "$@"; do
	case $word in
	file:*) console=${word#file:} ;;
	file,id=results,path=*) results=${word#file,id=results,path=} ;;
	*,out=*) counts=${word#*,out=} ;;
	*kpkeys_design=*) design=${word#*kpkeys_design=}; design=${design%% *} ;;
	*kpkeys=enforce*) design=portcullis ;;
	esac
done
"""


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def make_tree(path: Path, minor: int = 12) -> Path:
    write(path / "Makefile", MAKEFILE.format(minor=minor))
    write(path / "Kbuild", "# kbuild\n")
    write(path / "scripts/kconfig/merge_config.sh", "#!/bin/sh\n")
    write(path / "mm/memory.c", MEMORY_C)
    write(path / "mm/Makefile", "obj-y += memory.o\n")
    return path


def make_workspace(path: Path) -> Workspace:
    root = path / "checkout"
    write(root / "kernel/series.toml", SERIES)
    write(root / "kernel/hooks/x86/0100-first.patch", HOOK_ONE)
    write(root / "kernel/hooks/0200-second.patch", HOOK_TWO)
    write(root / "kernel/files/mm/kpkeys/core.c", "/* new */\n")
    write(root / "kernel/files/include/linux/kpkeys.h", "/* header without newline at end */")
    for name in ("x86_64", "portcullis", "test"):
        write(root / f"kernel/configs/{name}.config", f"CONFIG_{name.upper()}=y\n")
    return Workspace(root, path / "cache")


def snapshot(tree: Path) -> dict[str, tuple[bytes, int]]:
    """Content and permissions of every file."""
    return {
        path.relative_to(tree).as_posix(): (path.read_bytes(), path.stat().st_mode)
        for path in tree.rglob("*")
        if path.is_file()
    }


def make_program(folder: Path, name: str, text: str) -> Path:
    """An executable script."""
    path = folder / name
    write(path, text)
    path.chmod(0o755)
    return path
