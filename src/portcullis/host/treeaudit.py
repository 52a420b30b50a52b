# SPDX-License-Identifier: GPL-2.0-only
"""Runs the rules of the audit of sources over a tree or a module, by Coccinelle's spatch."""

import os
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from portcullis.core.tree.allowed import Judged, Listing, judge, parse_listing
from portcullis.core.tree.findings import (
    Finding,
    Unread,
    as_finding,
    in_assembly,
    matter,
    parse_found,
    parse_unread,
    with_text,
)
from portcullis.core.tree.rules import UNREAD, Rule, joined, parse_rule, words_of
from portcullis.errors import ToolError
from portcullis.host.process import start, stop, stop_all
from portcullis.host.screen import Progress, step
from portcullis.host.sources import TREE_MARKS

_FOLDER = Path(__file__).parents[1] / "data" / "cocci"
_LIST = _FOLDER / "linux.toml"
_PYTHON = Path("/usr/bin/python3")  # whose library the Debian package brings; spatch would take the first in PATH
_MACROS = Path("/usr/lib/coccinelle/standard.h")  # its own, which ours are to override
_SUFFIXES = (".c", ".h", ".S")
_NO_PYTHON = "Py.find_library"
_TIMEOUT = 600  # seconds for one source
# Of a kernel tree nothing of this becomes part of a kernel for x86-64 or arm64.
_NO_KERNEL = ("Documentation", "LICENSES", "certs", "samples", "scripts", "tools", "usr")
_ARCHES = ("x86", "arm64")
_HARDENED = "mm/kpkeys/Kconfig"
_Result = tuple[list[Finding], list[Unread]]


@dataclass(frozen=True)
class TreeAudit:
    """What was found, judged by the list if the tree is a kernel's; `unread` is what could not be parsed."""

    judged: Judged
    unread: tuple[Unread, ...]
    files: int
    read: int
    hardened: bool  # the kernel's tree has Portcullis
    kernel: bool

    @property
    def good(self) -> bool:
        """Whether there is nothing that has to be looked at."""
        return not self.judged.unknown and not self.judged.problems

    @property
    def summary(self) -> str:
        """The audit in one line."""
        known = list(self.judged.known.values())
        left = sum(bool(entry.not_covered) for entry in known)
        listed = f" that are not on the list; {len(known)} are, {left} of them not covered" if self.kernel else ""
        return (
            f"{self.read} of {self.files} files have words of the rules; {len(self.judged.unknown)} places found"
            f"{listed}; {len(self.unread)} places could not be parsed"
        )


def read_rules(folder: Path = _FOLDER, leave_out: Iterable[str] = ()) -> tuple[Rule, ...]:
    """The rules of this checkout, without some; raises ToolError when one of them is broken."""
    paths = [path for path in sorted(folder.glob("*-*.cocci")) if path.stem not in leave_out]
    try:
        return tuple(parse_rule(path.stem, path.read_text()) for path in paths)
    except (OSError, ValueError) as error:
        raise ToolError(f"{folder}: {error}", "the checkout is not complete") from error


def read_listing(rules: Iterable[Rule], path: Path = _LIST) -> Listing:
    """The list of what is known of the kernel; raises ToolError when it is broken."""
    try:
        return parse_listing(path.read_text(), (UNREAD, *(rule.name for rule in rules)))
    except (OSError, ValueError) as error:
        raise ToolError(f"{path}: {error}", "the checkout is not complete") from error


def audit_tree(
    tree: Path,
    folders: Sequence[str] = (),
    jobs: int = 2,
    rules: tuple[Rule, ...] | None = None,
    listing: Listing | None = None,
) -> TreeAudit:
    """Looks at the sources of a kernel tree or of a module, or at some of its folders."""
    if not tree.is_dir():
        raise ToolError(f"{tree} is not a folder", "give the top folder of a kernel tree or of a module's sources")
    rules = read_rules() if rules is None else rules
    kernel = all((tree / mark).is_file() for mark in TREE_MARKS)
    if not kernel:
        listing = Listing()
    elif listing is None:
        listing = read_listing(rules)
    files = [path for path in sources_of(tree, folders, kernel) if not listing.is_test(path)]
    if not files:
        raise ToolError(f"{tree} has no C files", "give the top folder of a kernel tree or of a module's sources")
    chosen = _with_words(tree, files, words_of(rules))
    findings, unread = _run(tree, chosen, rules, jobs)
    hardened = (tree / _HARDENED).is_file()
    # What a hook brings is not in a tree without it, so entries of the list may have nothing there.
    judged = judge(listing, findings, files if hardened else ())
    return TreeAudit(judged, tuple(sorted(unread)), len(files), len(chosen), hardened, kernel)


def sources_of(tree: Path, folders: Sequence[str], kernel: bool) -> list[str]:
    """Paths of C and assembly below a tree, or below some of its folders."""
    named = [(tree / folder).resolve() for folder in folders]
    for place in named:
        if not place.is_dir() or not place.is_relative_to(tree):
            raise ToolError(f"{place} is not a folder of {tree}", "--dir names folders below the tree")
    starts = named or (_kernel_folders(tree) if kernel else [tree])
    found = set()
    for start_at in starts:
        for folder, names, files in os.walk(start_at):
            names[:] = [name for name in names if name != ".git"]
            base = Path(folder).relative_to(tree)
            found |= {(base / file).as_posix() for file in files if file.endswith(_SUFFIXES)}
    return sorted(path for path in found if (tree / path).is_file())


def _kernel_folders(tree: Path) -> list[Path]:
    inside = [path for path in tree.iterdir() if path.is_dir() and path.name not in (*_NO_KERNEL, "arch", ".git")]
    return [*inside, *(tree / "arch" / arch for arch in _ARCHES)]


def _with_words(tree: Path, files: Iterable[str], words: str) -> list[str]:
    """Those of the files that have a word of a rule: a kernel has too many to parse them all."""
    command = ["xargs", "-0", "grep", "-lP", "--", words]
    environment = {**os.environ, "LC_ALL": "C"}  # bytes: quicker, and no file is of a wrong encoding
    process = start(
        command, cwd=tree, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        output, errors = process.communicate(b"\0".join(path.encode() for path in files))
    except BaseException:
        stop(process)
        raise
    if errors:
        raise ToolError(f"grep: {errors.decode(errors='replace').strip().splitlines()[0]}")
    return sorted(output.decode().splitlines())


def _run(tree: Path, files: Sequence[str], rules: tuple[Rule, ...], jobs: int) -> _Result:
    texts = {path: (tree / path).read_text(errors="replace") for path in files}
    by_size = sorted((path for path in files if not path.endswith(".S")), key=lambda path: (-len(texts[path]), path))
    with (
        tempfile.TemporaryDirectory(prefix="portcullis-cocci-") as name,
        step(f"reading {len(files)} files with Coccinelle") as progress,
        ThreadPoolExecutor(max(jobs, 1)) as pool,
    ):
        runs = _Spatch(tree, Path(name), rules)
        running = [pool.submit(runs.run, number, each) for number, each in _parts(by_size, max(jobs, 1))]
        results = _results(running, progress)
    unread = [place for _, places in results for place in places if place.path in texts]
    found = {finding for findings, _ in results for finding in findings}
    found |= {as_finding(place) for place in matter(unread, rules)}
    for path, text in texts.items():
        found |= set(in_assembly(path, text, rules))
    shown: list[Finding] = []
    for path, text in texts.items():
        shown += with_text((each for each in found if each.path == path), text.splitlines())
    return sorted(_once(shown)), unread


def _parts(files: Sequence[str], jobs: int) -> list[tuple[int, Sequence[str]]]:
    return [(part, files[part::jobs]) for part in range(jobs) if files[part::jobs]]


def _results(running: Sequence[Future[_Result]], progress: Progress) -> list[_Result]:
    try:
        while wait(running, timeout=1).not_done:
            progress.update()
        return [each.result() for each in running]
    except KeyboardInterrupt:
        stop_all()  # the pool waits for its threads, and these for spatch
        raise


def _once(findings: Iterable[Finding]) -> Iterable[Finding]:
    """Each place once for a rule, whatever function it was said to be in."""
    return {(each.path, each.line, each.rule): each for each in sorted(findings)}.values()


class _Spatch:
    """Runs of spatch over parts of the files, with all rules."""

    def __init__(self, tree: Path, folder: Path, rules: Iterable[Rule]) -> None:
        self.tree = tree
        self.folder = folder
        self.rules = folder / "all.cocci"
        self.macros = folder / "macros.h"
        self.rules.write_text(joined((_FOLDER / "guards.cocci").read_text(), rules))
        own = _MACROS.read_text(errors="replace") if _MACROS.exists() else ""
        self.macros.write_text(own + (_FOLDER / "macros.h").read_text())

    def run(self, number: int, files: Sequence[str]) -> _Result:
        """Findings and what could not be parsed; raises ToolError when spatch fails or leaves a file out."""
        groups = self.folder / f"{number}.groups"
        groups.write_text("".join(f"{path}\n\n" for path in files))
        output, errors = self._ran(groups)
        handled = {line.removeprefix("HANDLING: ").strip() for line in errors.splitlines() if "HANDLING:" in line}
        left_out = [path for path in files if path not in handled]
        if left_out:
            raise ToolError(f"spatch did not read {left_out[0]} and {len(left_out) - 1} other files: {_last(errors)}")
        return parse_found(output), parse_unread(errors)

    def _ran(self, groups: Path) -> tuple[str, str]:
        # Two files: what goes to stdout and stderr is buffered apart, and would be mixed within lines.
        paths = [groups.with_suffix(suffix) for suffix in (".out", ".err")]
        with paths[0].open("wb") as output, paths[1].open("wb") as errors:
            process = start(
                self._command(groups), cwd=self.tree, stdin=subprocess.DEVNULL, stdout=output, stderr=errors
            )
            try:
                status = process.wait()
            except BaseException:
                stop(process)
                raise
        output_text, errors_text = (path.read_text(errors="replace") for path in paths)
        if status != 0 or _NO_PYTHON in errors_text:
            raise ToolError(f"spatch failed: {_last(errors_text)}", _advice(errors_text))
        return output_text, errors_text

    def _command(self, groups: Path) -> list[str | Path]:
        python = ["--python", _PYTHON] if _PYTHON.exists() else []
        return [
            *("spatch", "--sp-file", self.rules, "--file-groups", groups, *python),
            *("--macro-file-builtins", self.macros, "--no-includes", "--include", _FOLDER / "kernel.h"),
            # What the rules need may be in kernel.h; a file must mean the same whatever was read before it.
            *("--disable-worth-trying-opt", "--no-saved-typedefs", "--verbose-parsing", "--timeout", str(_TIMEOUT)),
        ]


def _last(errors: str) -> str:
    lines = [line for line in errors.strip().splitlines() if line.strip()]
    return lines[-1] if lines else "it says nothing"


def _advice(errors: str) -> str:
    if _NO_PYTHON in errors:
        return "it needs Python's library; install it with: apt-get install --no-install-recommends libpython3-dev"
    return "run: portcullis doctor"
