# SPDX-License-Identifier: GPL-2.0-only
"""Builds kernels out of tree: work copy, configuration, make, packages."""

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from portcullis.core.arches import ARCHES, Arch, cross_prefix
from portcullis.core.buildlog import compiled_files, time_left
from portcullis.core.flavours import loaded_modules
from portcullis.core.kconfig import Request, parse_config, parse_fragment, unmet
from portcullis.core.lanes import ARCH, LANES, Lane, set_name, wanted_options
from portcullis.core.packages import listed_names
from portcullis.core.topics import Selection
from portcullis.errors import ToolError
from portcullis.host.applying import kept_by_update, update_work_tree
from portcullis.host.building import IDENTITY, environment, run_step
from portcullis.host.flavour import flavour_config
from portcullis.host.hardening import options_of, read_topics, topics_for
from portcullis.host.newer import DEFAULT, fetch_kernel
from portcullis.host.process import Commands
from portcullis.host.screen import say, seconds, step
from portcullis.host.sources import Source, user_source, work_copy
from portcullis.host.workspace import Workspace, disk_full_explained, locked, write_whole

BUILT_STAMP = "portcullis-built.json"
CONFIG_STAMP = "portcullis-config.txt"
REVISION = ".portcullis-revision"
THIN_MODULES = Path(__file__).parents[1] / "data/thin-modules.txt"


@dataclass(frozen=True)
class BuildOptions:
    """What to build; `variables` are make variables.

    `kinds` are the kinds of topics beyond the product (None: the lane's), `without` leaves topics out, `leave_out` one
    hook (mutation).
    """

    lane: str = "default"
    tree: Path | None = None
    kernel: str = DEFAULT
    fragments: tuple[Path, ...] = ()
    base_config: Path | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    output: Path | None = None
    jobs: int = os.cpu_count() or 1
    deb: bool = False
    arch: str = "x86"
    kinds: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()
    leave_out: str = ""
    name: str = ""


@dataclass(frozen=True)
class Built:
    """A finished build; `log` is empty when nothing had to be done."""

    image: Path
    folder: Path
    tree: Path
    fresh: bool

    def packages_since(self, started: float) -> tuple[Path, ...]:
        """Debian packages that were made since then (time.time()): make leaves them beside the folder."""
        return tuple(sorted(path for path in self.folder.parent.glob("*.deb") if path.stat().st_mtime >= started))


def forget_real_mode(tree: Path, folder: Path) -> None:
    """Removes what was made of the code that CPUs of x86 start with, if that code changed.

    What was built in was once that of before the change, and CPUs did not start: make has two jobs for it at once.
    """
    made = folder / "arch/x86/realmode"
    built_in = made / "rmpiggy.o"
    sources = [tree / "arch/x86/include/asm/realmode.h", *(tree / "arch/x86/realmode").rglob("*.[Shc]")]
    if not built_in.is_file() or max(path.stat().st_mtime for path in sources) < built_in.stat().st_mtime:
        return
    for path in (built_in, *(made / "rm").iterdir()):
        path.unlink()


class Builder:
    """One build: names of its folders and the steps in order."""

    def __init__(self, workspace: Workspace, commands: Commands, options: BuildOptions) -> None:
        if options.lane not in LANES:
            raise ToolError(f"unknown lane {options.lane!r}", f"known are: {', '.join(LANES)}")
        self.workspace = workspace
        self.commands = commands
        self.options = options
        self.lane: Lane = LANES[options.lane]
        self.arch: Arch = ARCHES[options.arch]
        if options.arch not in self.lane.arches:
            raise ToolError(f"there is no lane {options.lane} for {options.arch}")
        kinds = self.lane.kinds if options.kinds is None else options.kinds
        self.selection = Selection(options.arch, kinds, (*self.lane.without, *options.without))

    def run(self) -> Built:
        """Builds the kernel; raises ToolError that says what failed and where the log is."""
        source = self.source()
        tree = self.tree_folder(source)
        folder = self.options.output or self.workspace.folder("build") / self._folder_name(source)
        # Nobody writes to a fetched source; what is in the work tree must stay until it is compiled.
        whole_tree = nullcontext() if tree == source.path else locked(tree.with_name(tree.name + ".lock"))
        with (
            disk_full_explained(self.workspace.cache),
            locked(folder.with_name(folder.name + ".lock")),
            whole_tree,
        ):
            return self._run(source, tree, folder)

    def _folder_name(self, source: Source) -> str:
        """A build with the lane's own topics is named after the lane alone: `report` finds the stock one beside it."""
        return f"{self._base_name(source, self.selection != self._lanes_own())}-{self.lane.name}"

    def _lanes_own(self) -> Selection:
        return Selection(self.options.arch, self.lane.kinds, self.lane.without)

    def source(self) -> Source:
        """The pristine source."""
        if self.options.tree is not None:
            return user_source(self.options.tree)
        return fetch_kernel(self.workspace, self.commands, self.options.kernel)

    def tree_folder(self, source: Source) -> Path:
        """The folder that make compiles from; a fetched stock source is used as it is."""
        if not self.lane.hardened and source.fetched:
            return source.path
        return self.workspace.folder("trees") / self._base_name(source, named_by_set=True)

    def _base_name(self, source: Source, named_by_set: bool) -> str:
        name = source.path.name
        if not source.fetched:
            name += "-" + hashlib.sha256(str(source.path).encode()).hexdigest()[:8]
        if self.arch.name != "x86":
            name += f"-{self.arch.name}"
        if not self.lane.hardened:
            return name if source.fetched or not named_by_set else f"{name}-stock"
        own = set_name(self.selection.kinds, () if self.options.name else self.selection.without)
        parts = (own if named_by_set else "", self.options.name)
        return "-".join((name, *(part for part in parts if part)))

    def _run(self, source: Source, tree: Path, folder: Path) -> Built:
        log = folder.with_name(folder.name + ".log")
        if self.commands.dry_run:
            return self._dry_run(tree, folder, log)
        revision = self._update_tree(source, tree)
        folder.mkdir(parents=True, exist_ok=True)
        log.unlink(missing_ok=True)
        requests = self._configure(source, tree, folder, log, revision)
        key = self._key(tree, folder, revision)
        stamp = folder / BUILT_STAMP
        image = folder / self.arch.image
        is_known = image.is_file() and stamp.is_file() and stamp.read_text() == _stamped(key, image)
        if is_known and not self.options.deb:
            say(f"kernel ({self.lane.name}) is up to date")
            return Built(image, folder, tree, fresh=False)
        stamp.unlink(missing_ok=True)
        self._make(tree, folder, log, self._targets(), requests)
        write_whole(stamp, _stamped(key, image).encode())
        return Built(image, folder, tree, fresh=True)

    def _dry_run(self, tree: Path, folder: Path, log: Path) -> Built:
        for targets in (["tinyconfig"], ["olddefconfig"], self._targets()):
            self.commands.logged(self.make_command(tree, folder, *targets), log)
        return Built(folder / self.arch.image, folder, tree, fresh=False)

    def _targets(self) -> list[str]:
        """What make is asked for; a thin kernel has a few modules."""
        if self.options.deb:
            return ["bindeb-pkg"]
        return [self.arch.target, *(["modules"] if self.lane.thin else [])]

    def _update_tree(self, source: Source, tree: Path) -> str:
        """Brings the work tree up to date; its revision changes whenever a file in it did."""
        if tree == source.path:
            return "pristine"
        mark = tree / REVISION
        revision = mark.read_text() if mark.is_file() else ""
        mark.unlink(missing_ok=True)  # an interrupted update must not look like the old revision
        changed = work_copy(source, tree, kept_by_update(tree))
        if self.lane.hardened:
            changed |= update_work_tree(self.workspace, source, tree, self.selection, self.options.leave_out)
        if changed or not revision:
            revision = uuid.uuid4().hex
        write_whole(mark, revision.encode())
        return revision

    def fragments(self) -> tuple[Path, ...]:
        """Configuration fragments in the order in which they are merged."""
        own = self.lane.fragments if self.options.base_config is None or self.lane.flavour else ("portcullis",)
        names = [self.arch.fragment if name == ARCH else name for name in own if self._applies(name)]
        paths = [self.workspace.kernel / "configs" / f"{name}.config" for name in names]
        paths += [path.expanduser().resolve() for path in self.options.fragments]
        for path in paths:
            if not path.is_file():
                raise ToolError(f"there is no configuration fragment {path}")
        return tuple(paths)

    def _applies(self, fragment: str) -> bool:
        return self.lane.hardened or fragment != "portcullis"

    def _options_known(self, source: Source, tree: Path, revision: str) -> str:
        """Changes when the set of options may have changed, so that an edit of code alone does not configure again."""
        if not source.fetched:
            return revision
        names = sorted(name for name in kept_by_update(tree) if Path(name).name.startswith("Kconfig"))
        return str(source.path) + "\0".join((tree / name).read_text() for name in names)

    def _options_left_out(self, source: Source) -> frozenset[str]:
        """Options of topics that this kernel does not have."""
        if not self.lane.hardened:
            return frozenset()
        chosen = topics_for(self.workspace, source.version, self.selection)
        names = {topic.name for topic in chosen}
        others = [topic for topic in read_topics(self.workspace) if topic.name not in names]
        return options_of(self.workspace, others) - options_of(self.workspace, chosen)

    def _configure(self, source: Source, tree: Path, folder: Path, log: Path, revision: str) -> tuple[Request, ...]:
        fragments = self.fragments()
        requests = wanted_options(
            tuple(request for path in fragments for request in parse_fragment(path.read_text())),
            self.lane,
            self._options_left_out(source),
        )
        base = self._base_config()
        inputs = [
            self._options_known(source, tree, revision),
            str(base and base.read_bytes()),
            str(sorted(self.options.variables.items())),
        ]
        inputs += [path.read_text() for path in fragments]
        inputs += [THIN_MODULES.read_text()] if self.lane.thin else []
        key = hashlib.sha256("\0".join(inputs).encode()).hexdigest()
        stamp = folder / CONFIG_STAMP
        if stamp.is_file() and (folder / ".config").is_file() and stamp.read_text() == key:
            return requests
        stamp.unlink(missing_ok=True)  # a configuration that fails must not look like the one before it
        with step(f"configuring ({self.lane.name})"):
            self._merge(tree, folder, log, base, fragments)
        self._prove(folder, requests)
        write_whole(stamp, key.encode())
        return requests

    def _base_config(self) -> Path | None:
        """The configuration to merge over: the user's, the distribution's, or none."""
        if self.options.base_config is None and self.lane.flavour:
            return flavour_config(self.workspace, self.commands, self.lane.flavour, self.arch.name)
        return self.options.base_config

    def _merge(self, tree: Path, folder: Path, log: Path, base: Path | None, fragments: tuple[Path, ...]) -> None:
        config = folder / ".config"
        before = config.read_bytes() if config.is_file() else b""
        if base is None:
            self._checked(self.make_command(tree, folder, "tinyconfig"), log, "configuring")
        else:
            shutil.copyfile(base, config)
        if self.lane.thin:
            self._thin(tree, folder, log)
        merge = [tree / "scripts/kconfig/merge_config.sh", "-m", "-O", folder, config, *fragments]
        self._checked(merge, log, "merging the configuration", cwd=tree)
        self._checked(self.make_command(tree, folder, "olddefconfig"), log, "configuring")
        if config.read_bytes() == before:
            say("  the configuration did not change")

    def _thin(self, tree: Path, folder: Path, log: Path) -> None:
        """What of the modules is on our list becomes built in, the others go: localyesconfig without its questions."""
        self._checked(self.make_command(tree, folder, "olddefconfig"), log, "configuring")
        listed = folder / "portcullis-modules.txt"
        write_whole(listed, loaded_modules(listed_names(THIN_MODULES.read_text())).encode())
        own = {"LSMOD": str(listed), "SRCARCH": self.arch.name, "srctree": str(tree), "objtree": str(folder)}
        script = tree / "scripts/kconfig/streamline_config.pl"
        words = ["perl", str(script), "--localyesconfig", str(tree), "Kconfig"]
        self._checked(
            ["sh", "-c", '"$@" >portcullis-thin.config', "thin", *words],
            log,
            "thinning the configuration",
            cwd=folder,
            env={**environment(self.workspace), **own},
        )
        (folder / "portcullis-thin.config").replace(folder / ".config")

    def _prove(self, folder: Path, requests: tuple[Request, ...]) -> None:
        config = parse_config((folder / ".config").read_text())
        missing = unmet(requests, config)
        if missing:
            names = "\n".join(f"    {item.name}={item.value} (is {config.get(item.name, 'n')})" for item in missing)
            raise ToolError(
                f"the kernel did not take {len(missing)} requested option(s)\n{names}",
                "a dependency is missing, or the option needs '# optional' above it in its fragment",
            )

    def _make(self, tree: Path, folder: Path, log: Path, targets: list[str], requests: tuple[Request, ...]) -> None:
        total_file = folder / "portcullis-total.txt"
        expected = total_file.read_text() if total_file.is_file() else ""
        count = 0
        forget_real_mode(tree, folder)
        with step(f"building the kernel ({self.lane.name})", f"kernel ({self.lane.name}) built") as progress:

            def watch(piece: str) -> None:
                nonlocal count
                count += compiled_files(piece)
                of_total = f" of about {expected}" if expected and count <= int(expected) else ""
                left = time_left(progress.elapsed, count, int(expected or 0))
                progress.update(f"{count}{of_total} files" + (f", at most {seconds(left)} left" if left else ""))

            self._checked(self.make_command(tree, folder, *targets), log, "the build", watch=watch)
        self._prove(folder, requests)
        if count > int(expected or 0):
            write_whole(total_file, str(count).encode())

    def make_command(self, tree: Path, folder: Path, *targets: str) -> list[str]:
        """The make command line of some targets."""
        options = self.options
        words = ["make", "-C", str(tree), f"O={folder}", f"-j{options.jobs}"]
        variables = self._variables()
        words += [f"{name}={value}" for name, value in variables.items()]
        if shutil.which("ccache") and not {"CC", "LLVM"} & set(variables):
            words.append(f"CC=ccache {variables.get('CROSS_COMPILE', '')}gcc")
        return [*words, *targets]

    def _variables(self) -> dict[str, str]:
        """Make variables: the user's, and what another architecture than this machine's needs."""
        prefix = cross_prefix(self.arch, os.uname().machine)
        own = {"ARCH": self.arch.make, "CROSS_COMPILE": prefix} if prefix else {}
        if "LLVM" in self.options.variables:
            own.pop("CROSS_COMPILE", None)
        return {**own, **self.options.variables}

    def _checked(self, command: list[str | Path], log: Path, what: str, **options: object) -> None:
        run_step(self.workspace, self.commands, command, log, what, **options)

    def _key(self, tree: Path, folder: Path, revision: str) -> dict[str, str]:
        compiler = "".join(word for word in self.make_command(tree, folder) if word.startswith(("CC=", "LLVM=")))
        return {
            "tree": str(tree),
            "revision": revision,
            "config": (folder / CONFIG_STAMP).read_text(),
            "compiler": compiler + Commands().capture(["gcc", "-dumpfullversion"]).output,
            "identity": " ".join(IDENTITY.values()),
        }


def _stamped(key: dict[str, str], image: Path) -> str:
    """What says that an image is of this key; one that somebody's own make wrote since has another time (ns)."""
    stat = image.stat() if image.is_file() else None
    return json.dumps({**key, "image": stat and (stat.st_size, stat.st_mtime_ns)})
