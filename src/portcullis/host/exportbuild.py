# SPDX-License-Identifier: GPL-2.0-only
"""Compiles a kernel at commits of the exported series, as whoever bisects it would.

`git am` takes the patches one at a time in a small repository; what each one changes goes to a work tree that is
otherwise the pristine source, so make compiles what a commit touches and no more. A first walk compiles after each
commit what it changes and what is near, a second one links the whole kernel where a topic ends. What an earlier run
compiled is left out while it is the same, so that a run that was cut goes on where it was.
"""

import hashlib
import tempfile
from collections.abc import Callable, Collection, Container, Iterable, Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

from portcullis.core.arches import ARCHES, Arch
from portcullis.core.topics import ALL, KINDS, Selection
from portcullis.errors import ToolError
from portcullis.host.builder import Builder, BuildOptions
from portcullis.host.building import run_step
from portcullis.host.coverletter import cover_letter
from portcullis.host.exporting import COVER, Repository, Step, steps_of, write_series
from portcullis.host.hardening import Plan, copy_pristine, make_plan, read_from
from portcullis.host.process import Commands
from portcullis.host.screen import step
from portcullis.host.sources import Source, work_copy
from portcullis.host.workspace import Workspace, locked, write_whole

AUTHOR = "Portcullis <portcullis@localhost>"
FRAGMENTS = ("portcullis", "test", "lab", "designs")
POINTS = 1  # of a sample
WRITTEN = ".portcullis-series.txt"


class SeriesBuild:
    """One architecture's way through the series."""

    def __init__(self, workspace: Workspace, commands: Commands, options: BuildOptions) -> None:
        self.workspace = workspace
        self.commands = commands
        self.builder = Builder(workspace, commands, replace(options, lane="default", name="series"))
        self.arch: Arch = ARCHES[options.arch]
        self.source: Source = self.builder.source()
        self.tree = workspace.folder("trees") / f"{self.source.path.name}-{self.arch.name}-series"
        self.folder = workspace.folder("build") / self.tree.name
        self.log = self.folder.with_name(self.folder.name + ".log")
        self.passed = Passed(self.folder.with_name(self.folder.name + ".passed"), self._fragments())

    def run(self, every: bool) -> int:
        """Compiles after every commit, or at a few; returns how many compile. Raises ToolError naming the others."""
        plan = make_plan(self.workspace, self.source.version, Selection(ALL, KINDS[1:]), read_from(self.source.path))
        steps = steps_of(plan)
        with locked(self.tree.with_name(self.tree.name + ".lock")):
            self.log.unlink(missing_ok=True)
            if not every:
                return self._walk(plan, sample(steps, self.arch.name, POINTS), lambda _: self._folders(()))
            compiled = self._walk(plan, range(len(steps)), self._folders)
            return compiled + self._walk(plan, topic_ends(steps), lambda _: [self.arch.target])

    def _reset(self) -> None:
        """The pristine source again, after an earlier run."""
        state = self.tree / WRITTEN
        for path in state.read_text().splitlines() if state.is_file() else ():
            copy_pristine(self.source.path, self.tree, path)
        state.unlink(missing_ok=True)

    def _walk(self, plan: Plan, points: Container[int], targets_of: Callable[[set[str]], list[str]]) -> int:
        """Compiles what there is to make of the files that changed, at some commits; returns how many compile."""
        total = len(steps_of(plan))
        count, configured = 0, False
        fresh: set[str] = set()  # what changed since it was last compiled
        failed: list[ToolError] = []
        for number, (each, content, changed) in enumerate(self._replay(plan)):
            fresh.update(path for path in changed if concerns(path, self.arch.name))
            configured &= not any(Path(path).name.startswith("Kconfig") for path in changed)
            if not fresh or number not in points:
                continue
            targets = targets_of(fresh)
            if (content, *targets) not in self.passed:
                try:
                    commit = f"{number + 1} of {total} ({each.topic}: {each.subject})"
                    self._compile(commit, configured, targets)
                    self.passed.add((content, *targets))
                except ToolError as error:
                    failed.append(error)
                configured = True
            count += 1
            fresh.clear()
        if failed:
            raise ToolError("\n".join(error.message for error in failed), failed[0].advice)
        return count

    def _replay(self, plan: Plan) -> Iterator[tuple[Step, str, list[str]]]:
        """Takes the series from the pristine source on: each step, the Git tree after it, and the files it changed."""
        read = read_from(self.source.path)
        work_copy(self.source, self.tree)
        self._reset()
        self.folder.mkdir(parents=True, exist_ok=True)
        write_whole(self.tree / WRITTEN, "\n".join(plan.files).encode())
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            origin = Repository(folder / "origin", AUTHOR)
            written = write_series(origin, plan, read, folder / "patches", cover_letter(self.workspace, plan))
            repository = Repository(folder / "tree", AUTHOR)
            repository.base(plan, read)
            patches = [path for path in written if path.name != COVER]
            for step_of_series, patch in zip(steps_of(plan), patches, strict=True):
                changed = self._take(repository, patch)
                yield step_of_series, repository.git("rev-parse", "HEAD^{tree}"), changed

    def _take(self, repository: Repository, patch: Path) -> list[str]:
        """Takes one patch to the repository, and what it changed to the work tree."""
        repository.git("am", "-q", patch)
        changed = repository.git("diff", "--name-only", "HEAD~1").splitlines()
        for path in changed:
            (self.tree / path).parent.mkdir(parents=True, exist_ok=True)
            write_whole(self.tree / path, (repository.folder / path).read_bytes())
        return changed

    def _folders(self, changed: Collection[str]) -> list[str]:
        """Folders that most of the series is in, and those of what changed; all of mm where that is a header."""
        folders = {"mm/kpkeys/", f"arch/{self.arch.name}/mm/"} | {f"{PurePosixPath(path).parent}/" for path in changed}
        if any(path.endswith(".h") for path in changed):
            folders.add("mm/")
        return outermost(name for name in folders if (self.tree / name / "Makefile").is_file()) or ["mm/"]

    def _compile(self, commit: str, configured: bool, targets: list[str]) -> None:
        try:
            with step(f"compiling commit {commit} for {self.arch.name}"):
                if not configured:
                    self._configure()
                self._make(targets)
        except ToolError as error:
            message = f"commit {commit} does not build for {self.arch.name}: {error.message}"
            raise ToolError(message, error.advice) from error

    def _fragments(self) -> list[Path]:
        return [self.workspace.kernel / "configs" / f"{name}.config" for name in (self.arch.fragment, *FRAGMENTS)]

    def _configure(self) -> None:
        """Everything that the commits so far have an option for."""
        config = self.folder / ".config"
        self._make(["tinyconfig"])
        script = self.tree / "scripts/kconfig/merge_config.sh"
        merge = [script, "-m", "-O", self.folder, config, *self._fragments()]
        run_step(self.workspace, self.commands, merge, self.log, "merging the configuration", cwd=self.tree)
        self._make(["olddefconfig"])

    def _make(self, targets: list[str]) -> None:
        words = self.builder.make_command(self.tree, self.folder)
        run_step(self.workspace, self.commands, [*words, *targets], self.log, "make")


class Passed:
    """What compiled, by the Git tree of the series' files, the configuration's fragments and the targets of make."""

    def __init__(self, path: Path, fragments: list[Path]) -> None:
        self.path = path
        self.configuration = hashlib.sha256(b"".join(each.read_bytes() for each in fragments)).hexdigest()
        self.lines = set(path.read_text().splitlines()) if path.is_file() else set()

    def __contains__(self, built: tuple[str, ...]) -> bool:
        return self._line(built) in self.lines

    def add(self, built: tuple[str, ...]) -> None:
        """Written at once: a run may be cut at any time."""
        self.lines.add(self._line(built))
        with self.path.open("a") as file:
            file.write(self._line(built) + "\n")

    def _line(self, built: tuple[str, ...]) -> str:
        return " ".join((self.configuration, *built))


def outermost(folders: Iterable[str]) -> list[str]:
    """Folders without those inside another: make builds what is inside, and fails at one that it is told twice of."""
    chosen: list[str] = []
    for name in sorted(folders):
        if not any(name.startswith(outer) for outer in chosen):
            chosen.append(name)
    return chosen


def concerns(path: str, arch: str) -> bool:
    """Whether a file may change what an architecture compiles."""
    return not path.startswith(("Documentation/", "MAINTAINERS")) and (
        not path.startswith("arch/") or path.startswith(f"arch/{arch}/")
    )


def topic_ends(steps: tuple[Step, ...]) -> list[int]:
    """The last commit of each topic."""
    following = [*(step.topic for step in steps[1:]), ""]
    return [number for number, (each, topic) in enumerate(zip(steps, following, strict=True)) if each.topic != topic]


def sample(steps: tuple[Step, ...], arch: str, count: int) -> set[int]:
    """Last commits of a few topics of an architecture, evenly spread within: lanes compile what all of them make."""
    ends = [number for number in topic_ends(steps) if arch in steps[number].arches]
    return {ends[len(ends) * (part + 1) // (count + 1)] for part in range(count)}
