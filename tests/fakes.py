# SPDX-License-Identifier: GPL-2.0-only
"""Small fake kernel trees, checkouts and programs for the unit tests."""

from pathlib import Path

from portcullis.core.topics import TopicFiles
from portcullis.host.workspace import Workspace

MAKEFILE = "VERSION = 6\nPATCHLEVEL = {minor}\nSUBLEVEL = 7\nEXTRAVERSION =\n"
MEMORY_C = "".join(f"line {number}\n" for number in range(1, 21))
HOOK_ONE = """mm: say six

First reason.

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
HOOK_TWO = """mm: build kpkeys

Second reason.

--- a/mm/memory.c
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
# A hook may change what an earlier topic added.
HOOK_THREE = """kpkeys: test core

Third reason.

--- a/mm/kpkeys/core.c
+++ b/mm/kpkeys/core.c
@@ -1 +1,2 @@
 /* new */
+/* tested */
--- a/mm/kpkeys/Kconfig
+++ b/mm/kpkeys/Kconfig
@@ -1 +1,2 @@
 config KPKEYS
+config KPKEYS_TESTED
"""
COMMON_TOML = """
title = "mm: the common part"
kind = "product"
from = "6.12"
to = "6.14"
needs = []
why = "All need it."
[tests]
0200-second = "kunit, hooks"
[[commit]]
subject = "mm/kpkeys: add the core"
message = "Of the core."
files = ["mm/*"]
[[commit]]
subject = "mm/kpkeys: add the header"
message = "Of the header."
files = ["include/*"]
"""
X86_TOML = """
title = "x86: the part of one architecture"
kind = "product"
arches = ["x86"]
from = "6.12"
to = "6.13"
needs = ["common"]
why = "One needs it."
test = "boot-enforce"
[tests]
0100-first = "boot-enforce"
"""
TESTS_TOML = """
title = "mm: tests"
kind = "tests"
from = "6.12"
to = "6.13"
needs = ["common"]
why = "They test."
[untested]
0300-third = "A test itself."
"""
TOPICS = (
    TopicFiles(
        "10-common",
        COMMON_TOML,
        ("include/linux/kpkeys.h", "mm/kpkeys/Kconfig", "mm/kpkeys/core.c"),
        {"0200-second.patch": HOOK_TWO},
    ),
    TopicFiles("20-x86-part", X86_TOML, (), {"0100-first.patch": HOOK_ONE}),
    TopicFiles("80-tests", TESTS_TOML, ("mm/kpkeys/core_test.c",), {"0300-third.patch": HOOK_THREE}),
)
FILES = {
    "mm/kpkeys/core.c": "/* new */\n",
    "mm/kpkeys/Kconfig": "config KPKEYS\n",
    "include/linux/kpkeys.h": "/* header without newline at end */",
    "mm/kpkeys/core_test.c": "/* test */\n",
}

COVER = "# A series\n\nFor {version}.\n\n{topics}\n\n{costs}\n"

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
    for topic in TOPICS:
        folder = root / "kernel/topics" / topic.folder
        write(folder / "topic.toml", topic.text)
        for name in topic.files:
            write(folder / "files" / name, FILES[name])
        for name, text in topic.hooks.items():
            write(folder / "hooks" / name, text)
    write(root / "docs/cover-letter.md", COVER)
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
