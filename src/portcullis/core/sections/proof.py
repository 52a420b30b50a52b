# SPDX-License-Identifier: GPL-2.0-only
"""All sections of a kernel: which functions have them, what these do, and whether each section ends.

Every function that writes the register is walked with the gate shut, which shows its sections, and with each gate
that a caller may have open, which shows that it gives the gate back. By induction over calls every function does. One
that may return with the gate open although it was shut makes sections of what its callers do then; so these are
walked, too.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace

from portcullis.core.sections.graph import CallGraph
from portcullis.core.sections.kernel import Function, Kernel, source_name
from portcullis.core.sections.machine import STATE, Architecture
from portcullis.core.sections.state import Gate
from portcullis.core.sections.walk import POPS, PUSHES, Walk, Walker

# Static keys that are enabled with the protection.
KEYS = ("kpkeys_pgtables_key", "kpkeys_secrets_key", "kpkeys_guarded_key", "kpkeys_creds_key")
_PGTABLES, _SECRET = 1, 2  # levels


@dataclass
class Section:
    """What functions of one name in the source do with the gate open.

    `copies` counts the functions. `raises` counts the places that open the gate, `instructions` those that may run
    then, `stores` those of them that store, by kind: each in the copy that has most. `calls` has the addresses of
    what is called, by name. `returns_open` if a way back leaves the gate open, `loses` if a caller's open gate may
    not come back as it was; `problems` could not be decided.
    """

    function: str
    copies: int = 0
    raises: int = 0
    instructions: int = 0
    stores: Counter[str] = field(default_factory=Counter)
    calls: dict[str, set[int]] = field(default_factory=dict)
    returns_open: bool = False
    loses: bool = False
    problems: list[str] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to say about it."""
        return not (self.instructions or self.returns_open or self.loses or self.problems)


@dataclass(frozen=True)
class Scope:
    """`is_left_out` tells by a function's name and source file that it is no product; the callers of `unfollowed` are
    not walked, although these return with the gate open. `from_user` are entered as user space left the gate.
    """

    is_left_out: Callable[[str, str], bool] = lambda name, file: False
    unfollowed: frozenset[str] = frozenset()
    from_user: frozenset[str] = frozenset()


class Proof:
    """The sections of one kernel, by the name of their function, in `sections`.

    Code that boot frees is not among them. `left_out` counts functions that are no product, `boot` those of boot;
    `lowers` are register writes that end a section, `unreached` those that no walk came to, by the name of their
    function; `unlike` are accesses whose code for another backend does something else.
    """

    def __init__(self, kernel: Kernel, architecture: Architecture, graph: CallGraph, scope: Scope) -> None:
        self._kernel = kernel
        self._graph = graph
        self._scope = scope
        self._walker = Walker(kernel, architecture, KEYS)
        self._found: dict[str, Section] = {}
        self.lowers: set[int] = set()
        self._seen: set[int] = set()
        found = self._writers(architecture.gate_writes)
        self.left_out = [each for each in found if scope.is_left_out(each.source, each.file)]
        self.boot = [each for each in found if kernel.is_boot(each.start)]
        self.writers = [each for each in found if each not in (*self.left_out, *self.boot)]
        self._walk_all()
        for function in self.writers:
            self._show_that_the_gate_comes_back(function)
        self.unreached = self._find_unreached(architecture.gate_writes)
        self.unlike = [kernel.place(each) for each in sorted(architecture.unlike) if not self._is_left_out(each)]
        self.sections = {name: section for name, section in sorted(self._found.items()) if not section.is_empty}

    def _writers(self, addresses: Iterable[int]) -> list[Function]:
        """Functions that hold one of these addresses, in themselves or in a part of them that stands elsewhere."""
        found: dict[int, Function] = {}
        for address in addresses:
            found |= {each.start: each for each in self._owners(address)}
        return [found[start] for start in sorted(found)]

    def _owners(self, address: int) -> list[Function]:
        if not self._kernel.is_loose(address):
            return _whole(self._kernel, address)
        starts = [start for start, places in self._graph.loose.items() if address in places]
        return [each for start in starts for each in _whole(self._kernel, start)]

    def _find_unreached(self, addresses: Iterable[int]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for address in sorted(set(addresses) - self._seen):
            if not self._is_left_out(address):
                function = self._kernel.function_at(address)
                found.setdefault(function.source if function else "", []).append(self._kernel.place(address))
        return found

    def _is_left_out(self, address: int) -> bool:
        owners = self._owners(address)
        return self._kernel.is_boot(address) or bool(owners) and not any(map(self._is_product, owners))

    def _section(self, function: Function) -> Section:
        return self._found.setdefault(function.source, Section(function.source))

    def _is_product(self, function: Function) -> bool:
        return not (self._scope.is_left_out(function.source, function.file) or self._kernel.is_boot(function.start))

    def _walk_all(self) -> None:
        """Walks what writes the register, and then the callers of what may return with an open gate."""
        callers = self._graph.callers()
        last: dict[int, Walk] = {}
        todo = list(self.writers)
        while todo:
            again: dict[int, Function] = {}
            for function in todo:
                walk = last[function.start] = self._walker.walk(function, self._entered(function))
                opened = {gate.remembered for gate in walk.exits if self._walker.is_open(gate)}
                known = self._walker.openers.setdefault(function.start, set())
                if opened <= known or function.source in (*PUSHES, *POPS, *self._scope.unfollowed):
                    continue
                known |= opened
                for start in callers.get(function.start, ()):
                    again |= {each.start: each for each in _whole(self._kernel, start) if self._is_product(each)}
            todo = list(again.values())
        for walk in last.values():
            self._seen |= walk.seen
            self._add(walk)

    def _entered(self, function: Function) -> Gate:
        user = self._walker.architecture.user
        return Gate(user) if user is not None and function.source in self._scope.from_user else self._walker.shut

    def _add(self, walk: Walk) -> None:
        self.lowers |= walk.shut
        returns_open = any(self._walker.is_open(gate) for gate in walk.exits)
        if not (walk.open_code or walk.problems or returns_open):
            return
        section = self._section(walk.function)
        section.returns_open |= returns_open
        self._add_to(section, walk)

    @staticmethod
    def _add_to(section: Section, walk: Walk) -> None:
        section.copies += 1
        section.raises = max(section.raises, len(walk.opened))
        section.instructions = max(section.instructions, len(walk.open_code))
        section.problems += walk.problems
        section.stores |= Counter(kind for kinds in walk.stores.values() for kind in kinds if kind != STATE)
        for name, addresses in walk.calls.items():
            section.calls.setdefault(name, set()).update(addresses)

    def helpers(self, names: Collection[str]) -> dict[str, Section]:
        """What functions do that sections call: all that they may when they are entered with the gate open."""
        found: dict[str, Section] = {}
        tables = self._walker.architecture.levels[_PGTABLES]
        for function in self._kernel.functions():
            if function.source in names and not function.is_cold and self._is_product(function):
                walk = self._walker.walk(function, Gate(tables, _PGTABLES, pinned=1))
                self._add_to(found.setdefault(function.source, Section(function.source)), walk)
        return found

    def _show_that_the_gate_comes_back(self, function: Function) -> None:
        for gate in _gates_of_callers(self._walker.architecture):
            walk = self._walker.walk(function, gate)
            self._seen |= walk.seen
            if walk.problems or not all(self._comes_back(gate, found) for found in walk.exits):
                section = self._section(function)
                section.loses = True
                section.problems += [problem for problem in walk.problems if problem not in section.problems]

    def _comes_back(self, before: Gate, after: Gate) -> bool:
        """As it was, or no more held."""
        given = before.remembered
        return after.remembered in (given, replace(given, held=0))


def _gates_of_callers(architecture: Architecture) -> list[Gate]:
    """Every open gate that a function may be called with: guard, held section, secrets."""
    registers = architecture.levels
    found = [Gate(registers[_PGTABLES], _PGTABLES, held, pinned=1) for held in (0, 1)]
    if _SECRET in registers:
        found.append(Gate(registers[_SECRET], _SECRET, pinned=1))
    return found


def _whole(kernel: Kernel, address: int) -> list[Function]:
    """The function at an address; for a part that stands elsewhere every function that it may be a part of."""
    function = kernel.function_at(address)
    if function is None:
        return []
    if not function.is_cold:
        return [function]
    name = source_name(function.name)
    return [each for each in kernel.functions() if each.source == name and not each.is_cold]
