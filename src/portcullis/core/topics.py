# SPDX-License-Identifier: GPL-2.0-only
"""kernel/topics: what Portcullis adds to a kernel, one concern each.

A topic is a folder `NN-name`; topics apply in the order of their numbers. It holds

    topic.toml   what it is (see below)
    files/       new files, laid out as in the kernel tree
    hooks/       patches to files that are there; on top of each diff is its commit message

and topic.toml says

    title = "x86-64: write protection"
    kind = "product"                   # or tests, attacks, lab, designs: none of these is in a product
    arches = ["x86"]                   # optional: all
    from = "6.12"                      # first kernel version that it is for
    to = "6.13"                        # first version that it is not for
    needs = ["x86-pks"]                # other topics, without their numbers, where they are for the architecture
    why = "..."                        # one paragraph
    test = "wp-kunit"                  # optional: test cases that go red without the whole topic
    [tests]                            # by hook: test cases that go red without it, separated by commas
    0037-callbacks = "wp-kunit"
    [untested]                         # by hook, instead: why nothing can show it
    [until]                            # by hook: first version that does not need it
    0133-p4d = "7.3"
    [[commit]]                         # new files of one commit, when they are exported
    subject = "x86/mm: ..."            # without any such table all files are one commit: title and why
    message = "..."
    files = ["arch/x86/mm/*"]          # patterns below files/

A hook below hooks/ARCH/ is for that architecture only. One below hooks/VERSION/ is for that version and later ones of
the same minor version; of several with the same name the latest that fits applies.
"""

import tomllib
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from portcullis.core.arches import ARCHES
from portcullis.core.mail import strip_preamble
from portcullis.core.versions import KernelVersion, VersionRange, parse_version

PRODUCT = "product"
KINDS = (PRODUCT, "tests", "attacks", "lab", "designs", "studies")  # in the order in which their topics apply
IMPLIED = {"designs": ("lab",)}
ALL = "all"  # architectures
FILE = "topic.toml"
REQUIRED_KEYS = {"title", "kind", "from", "to", "needs", "why"}
OPTIONAL_KEYS = {"arches", "test", "tests", "untested", "until", "commit"}
COMMIT_KEYS = {"subject", "message", "files"}


@dataclass(frozen=True)
class Hook:
    """One patch to files that are there; `path` is below kernel/topics."""

    topic: str
    name: str
    path: str
    arches: tuple[str, ...]
    versions: VersionRange
    subject: str
    body: str
    diff: str
    special: bool = False  # for its own versions, in place of one for all
    tests: tuple[str, ...] = ()
    untested: str = ""

    @property
    def id(self) -> str:
        """Name of the topic and of the hook, as used in tables."""
        return f"{self.topic}/{self.name}"


@dataclass(frozen=True)
class FileCommit:
    """New files that are one commit."""

    subject: str
    message: str
    files: tuple[str, ...]


@dataclass(frozen=True)
class Topic:
    """One folder of kernel/topics; `files` are paths in the kernel tree."""

    folder: str
    title: str
    kind: str
    arches: tuple[str, ...]
    versions: VersionRange
    needs: tuple[str, ...]
    why: str
    tests: tuple[str, ...]
    files: tuple[str, ...]
    hooks: tuple[Hook, ...]
    commits: tuple[FileCommit, ...]

    @property
    def name(self) -> str:
        """The folder's name without its number."""
        return self.folder.partition("-")[2]


@dataclass(frozen=True)
class Selection:
    """Which topics: of an architecture or of ALL, the product and `kinds`, without those named in `without`."""

    arch: str
    kinds: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def has(self, arches: Iterable[str]) -> bool:
        """Whether something for these architectures is wanted."""
        return self.arch == ALL or self.arch in arches

    @property
    def all_kinds(self) -> frozenset[str]:
        """The kinds, with those that they imply."""
        return frozenset((PRODUCT, *self.kinds, *(more for kind in self.kinds for more in IMPLIED.get(kind, ()))))


@dataclass(frozen=True)
class TopicFiles:
    """A folder of kernel/topics as it was read: text of topic.toml, paths below files/, texts below hooks/."""

    folder: str
    text: str
    files: tuple[str, ...] = ()
    hooks: Mapping[str, str] = field(default_factory=dict)


def parse_topics(folders: Iterable[TopicFiles]) -> tuple[Topic, ...]:
    """All topics in order; raises ValueError that names the file and the entry at fault."""
    topics: list[Topic] = []
    for found in sorted(folders, key=lambda found: found.folder):
        topic = parse_topic(found)
        _check_order(topic, topics)
        topics.append(topic)
    return tuple(topics)


def _check_order(topic: Topic, earlier: list[Topic]) -> None:
    where = f"{topic.folder}/{FILE}"
    missing = [need for need in topic.needs if need not in {each.name for each in earlier}]
    if missing:
        raise ValueError(f"{where}: needs {missing[0]!r}, which is no topic before this one")
    if any(each.name == topic.name for each in earlier):
        raise ValueError(f"{where}: there are two topics {topic.name!r}")
    if earlier and KINDS.index(topic.kind) < KINDS.index(earlier[-1].kind):
        raise ValueError(f"{where}: kind {topic.kind} comes before {earlier[-1].kind}, which {earlier[-1].folder} is")
    names = {hook.name: each.folder for each in earlier for hook in each.hooks}
    twice = [hook.name for hook in topic.hooks if hook.name in names]
    if twice:
        raise ValueError(f"{topic.folder}: hook {twice[0]} is in {names[twice[0]]}, too")


def parse_topic(found: TopicFiles) -> Topic:
    """One topic; raises ValueError that names the file and the entry at fault."""
    where = f"{found.folder}/{FILE}"
    data = _read(where, found.text)
    if not found.folder.partition("-")[2]:
        raise ValueError(f"{found.folder}: a topic's folder is called NN-name")
    if data["kind"] not in KINDS:
        raise ValueError(f"{where}: kind {data['kind']!r} is none of {', '.join(KINDS)}")
    arches = tuple(data.get("arches", ARCHES))
    unknown = [arch for arch in arches if arch not in ARCHES]
    if unknown or not arches:
        raise ValueError(f"{where}: arches must name some of {', '.join(ARCHES)}")
    topic = Topic(
        folder=found.folder,
        title=str(data["title"]).strip(),
        kind=data["kind"],
        arches=arches,
        versions=_range(where, data),
        needs=tuple(data["needs"]),
        why=str(data["why"]).strip(),
        tests=_words(data.get("test", "")),
        files=tuple(sorted(found.files)),
        hooks=(),
        commits=(),
    )
    topic = replace(topic, hooks=_hooks(topic, found.hooks, data))
    return replace(topic, commits=_commits(topic, data.get("commit", [])))


def _read(where: str, text: str) -> dict:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{where}: {error}") from error
    _check_keys(where, data, REQUIRED_KEYS, OPTIONAL_KEYS)
    return data


def _check_keys(where: str, table: Mapping[str, object], required: set[str], optional: set[str]) -> None:
    missing = required - set(table)
    unknown = set(table) - required - optional
    if missing:
        raise ValueError(f"{where}: {sorted(missing)[0]!r} is missing")
    if unknown:
        raise ValueError(f"{where}: unknown key {sorted(unknown)[0]!r}")


def _range(where: str, data: Mapping[str, object]) -> VersionRange:
    try:
        versions = VersionRange(parse_version(str(data["from"])), parse_version(str(data["to"])))
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
    if versions.first >= versions.end:
        raise ValueError(f"{where}: empty version range")
    return versions


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in str(text).split(",") if word.strip())


def _hooks(topic: Topic, patches: Mapping[str, str], data: Mapping[str, dict[str, str]]) -> tuple[Hook, ...]:
    where = f"{topic.folder}/{FILE}"
    tests, untested, until = (data.get(table, {}) for table in ("tests", "untested", "until"))
    names = {PurePosixPath(path).stem for path in patches}
    for table, entries in (("tests", tests), ("untested", untested), ("until", until)):
        for name in entries:
            if name not in names:
                raise ValueError(f"{where}: [{table}] has {name}, which is no hook of this topic")
    for name in sorted(names):
        if (name in tests) == (name in untested):
            raise ValueError(f"{where}: hook {name} must be in [tests] or in [untested]")
    ends = {name: _end(where, name, topic, str(version)) for name, version in until.items()}
    hooks = [_hook(topic, path, patches[path], ends) for path in patches]
    hooks.sort(key=lambda hook: (hook.name, hook.versions, hook.path))
    return tuple(
        replace(hook, tests=_words(tests.get(hook.name, "")), untested=str(untested.get(hook.name, "")).strip())
        for hook in hooks
    )


def _end(where: str, name: str, topic: Topic, text: str) -> VersionRange:
    """The versions that need a hook which a later one does without."""
    try:
        end = parse_version(text)
    except ValueError as error:
        raise ValueError(f"{where}: [until] {name}: {error}") from error
    if not topic.versions.first < end:
        raise ValueError(f"{where}: [until] {name}: no version needs it")
    return VersionRange(topic.versions.first, min(end, topic.versions.end))


def _hook(topic: Topic, relative: str, patch: str, ends: Mapping[str, VersionRange]) -> Hook:
    path = PurePosixPath(relative)
    where = f"{topic.folder}/hooks/{relative}"
    special = False
    if path.suffix != ".patch" or len(path.parts) > 2:
        raise ValueError(f"{where}: a hook is a .patch in hooks/, hooks/ARCH/ or hooks/VERSION/")
    arches, versions = topic.arches, ends.get(path.stem, topic.versions)
    if len(path.parts) == 2 and path.parts[0] in ARCHES:
        arches = (path.parts[0],)
        if arches[0] not in topic.arches:
            raise ValueError(f"{where}: the topic is not for {arches[0]}")
    elif len(path.parts) == 2:
        versions, special = _minor(where, path.parts[0]), True
    text, diff = strip_preamble(patch)
    subject, _, body = (part.strip() for part in text.partition("\n\n"))
    if not subject or "\n" in subject or not body:
        raise ValueError(f"{where}: no commit message (subject, empty line, body) above the diff")
    if not diff:
        raise ValueError(f"{where}: there is no diff")
    return Hook(
        topic.name, path.stem, f"{topic.folder}/hooks/{relative}", arches, versions, subject, body, diff, special
    )


def _minor(where: str, folder: str) -> VersionRange:
    try:
        first = parse_version(folder)
    except ValueError as error:
        raise ValueError(f"{where}: {folder!r} is no architecture and no version") from error
    return VersionRange(first, KernelVersion(first.major, first.minor + 1))


def _commits(topic: Topic, tables: list[dict]) -> tuple[FileCommit, ...]:
    where = f"{topic.folder}/{FILE}"
    if not tables:
        return (FileCommit(topic.title, topic.why, topic.files),) if topic.files else ()
    commits = []
    for number, table in enumerate(tables, 1):
        _check_keys(f"{where}: commit {number}", table, COMMIT_KEYS, set())
        files = tuple(path for path in topic.files if any(fnmatchcase(path, each) for each in table["files"]))
        if not files:
            raise ValueError(f"{where}: commit {number} ({table['subject']}) has no file")
        commits.append(FileCommit(table["subject"].strip(), table["message"].strip(), files))
    for path in topic.files:
        count = sum(path in commit.files for commit in commits)
        if count != 1:
            raise ValueError(f"{where}: {path} is in {'no commit' if not count else f'{count} commits'}")
    return tuple(commits)


def supported(topics: Iterable[Topic]) -> str:
    """What the topics of single architectures are for, as a sentence."""
    ranges = sorted({topic.versions for topic in topics})
    arches = sorted({arch for topic in topics for arch in topic.arches if len(topic.arches) < len(ARCHES)})
    return (
        f"supported versions: {'; '.join(map(str, ranges)) or 'none yet'}; "
        f"architectures: {', '.join(arches) or 'none yet'}"
    )


def supports(topics: Iterable[Topic], version: KernelVersion, arch: str) -> bool:
    """Whether a topic is for just this architecture (or, for ALL, for any) and this version."""
    wanted = Selection(arch)
    return any(len(t.arches) < len(ARCHES) and version in t.versions and wanted.has(t.arches) for t in topics)


def lacking(topics: tuple[Topic, ...], version: KernelVersion) -> list[str]:
    """Architectures that topics are for, but not in this version."""
    known = {arch for topic in topics if len(topic.arches) < len(ARCHES) for arch in topic.arches}
    return [arch for arch in ARCHES if arch in known and not supports(topics, version, arch)]


def behind(topics: Iterable[Topic], version: KernelVersion, selection: Selection) -> list[str]:
    """Topics of the product that would be wanted, but are not for this version."""
    wanted = [topic for topic in topics if topic.kind == PRODUCT and selection.has(topic.arches)]
    return [topic.name for topic in wanted if version not in topic.versions and topic.name not in selection.without]


def choose_topics(topics: tuple[Topic, ...], version: KernelVersion, selection: Selection) -> tuple[Topic, ...]:
    """Topics for one kernel in order, each with its hooks for that kernel.

    What is not product goes when something that it needs is left out. Raises ValueError when a topic of the product
    needs one that is left out, when a kind that is wanted has no topic left, and when there is no topic of a name.
    """
    unknown = set(selection.without) - {topic.name for topic in topics}
    if unknown:
        raise ValueError(f"there is no topic {sorted(unknown)[0]!r}")
    there = [t for t in topics if version in t.versions and selection.has(t.arches) and t.kind in selection.all_kinds]
    # What is for another architecture is not needed on this one.
    elsewhere = {topic.name for topic in topics if not selection.has(topic.arches)}
    chosen: dict[str, Topic] = {}
    for topic in there:
        if topic.name not in selection.without and not _lacks(topic, chosen, elsewhere):
            chosen[topic.name] = replace(topic, hooks=_hooks_for(topic, version, selection))
    lost = [t for t in there if t.kind == PRODUCT and t.name not in chosen and t.name not in selection.without]
    if lost:
        need = _lacks(lost[0], chosen, elsewhere)
        names = " ".join(f"--without {topic.name}" for topic in lost)
        raise ValueError(f"topic {lost[0].name} needs {need}, which is left out: leave out as well: {names}")
    for kind in sorted(selection.all_kinds & {topic.kind for topic in there}):
        if all(topic.kind != kind for topic in chosen.values()):
            raise ValueError(f"no topic of kind {kind} is left: what they need is left out")
    return tuple(chosen.values())


def _lacks(topic: Topic, chosen: Container[str], elsewhere: Container[str]) -> str:
    """The first topic that this one needs and does not have, or nothing."""
    return next((need for need in topic.needs if need not in chosen and need not in elsewhere), "")


def _hooks_for(topic: Topic, version: KernelVersion, selection: Selection) -> tuple[Hook, ...]:
    fitting = [hook for hook in topic.hooks if version in hook.versions and selection.has(hook.arches)]
    special = {hook.name: hook for hook in fitting if hook.special}
    return tuple(hook for hook in fitting if special.get(hook.name, hook) is hook)


def with_needers(topics: Iterable[Topic], names: Iterable[str]) -> tuple[str, ...]:
    """These topics and all topics of the product that need one of them."""
    gone = dict.fromkeys(names)
    for topic in topics:
        if topic.kind == PRODUCT and any(need in gone for need in topic.needs):
            gone[topic.name] = None
    return tuple(gone)
