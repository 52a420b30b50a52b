# SPDX-License-Identifier: GPL-2.0-only
"""Follows the code of one function, on all its ways, with what is known of the gate on each.

At each instruction there is one state for each gate that it may be reached with. Where ways with the same gate meet,
what they know is joined; so whether a section was opened is not forgotten, and everything ends.

A call with the gate open is taken to come back with the gate as it was: `proof` shows that of every function that
writes the register. Spilled values are taken not to be written through pointers.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from portcullis.core.sections.clobbers import Clobbers
from portcullis.core.sections.kernel import Function, Kernel
from portcullis.core.sections.machine import Architecture, Flow, Instruction
from portcullis.core.sections.state import Gate, State, join_states

# They save the gate of interrupted code and give it back.
PUSHES = ("__kpkeys_push", "__kpkeys_push_regs")
POPS = ("__kpkeys_pop", "__kpkeys_pop_regs")
UNKNOWN = "(pointer)"  # the callee of an indirect call
_MOST_STEPS = 400_000  # of one function; the largest of a kernel takes a tenth


@dataclass
class Walk:
    """What happened in one function entered with one gate.

    `opened` and `shut` are instructions that raised and lowered, `open_code` those that ran with the gate open,
    `stores` the kinds of those that store, `calls` the names and addresses of functions called then, `exits` the gates
    with which it returned, and `problems` what could not be decided. `seen` has all instructions that ran.
    """

    function: Function
    entered: Gate
    opened: set[int] = field(default_factory=set)
    shut: set[int] = field(default_factory=set)
    open_code: dict[int, Instruction] = field(default_factory=dict)
    stores: dict[int, set[str]] = field(default_factory=dict)
    calls: dict[str, set[int]] = field(default_factory=dict)
    exits: set[Gate] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)


class Walker:
    """Walks functions of one kernel.

    `always_on` are static keys that are enabled; all others are taken both ways. `openers` has functions that may
    return with an open gate, and the gates; the caller fills it.
    """

    def __init__(self, kernel: Kernel, architecture: Architecture, always_on: Iterable[str]) -> None:
        self.kernel = kernel
        self.architecture = architecture
        self.clobbers = Clobbers(self)
        self.openers: dict[int, set[Gate]] = {}
        self.shut = Gate(architecture.default)
        self._leaves: dict[int, bool] = {}
        self._counted: dict[tuple[int, Gate], list[Gate]] = {}
        self._always_on = {kernel.addresses[name] for name in always_on if name in kernel.addresses}
        self._patched = _ends_of_alternatives(kernel, architecture)

    def is_open(self, gate: Gate) -> bool:
        """Whether the register allows more than it does at the default level."""
        return gate.register != self.architecture.default

    def is_users(self, gate: Gate) -> bool:
        """Whether the register is as user space runs with it: code then comes from there, or goes there."""
        return gate.register is not None and gate.register == self.architecture.user

    def walk(self, function: Function, gate: Gate) -> Walk:
        """Everything that can happen in a function that is entered with this gate."""
        return _Run(self, function, gate).run()

    def next_of(self, instruction: Instruction) -> int:
        """Where an instruction falls through to; the last one that is patched in leads behind the patched place."""
        return self._patched.get(instruction.end, instruction.end)

    def patches(self, address: int, gate: Gate | None = None) -> list[int]:
        """Where code begins that may stand at an address instead, if it is reached with a gate."""
        if address in self.architecture.gate_sites:
            return []  # the access to another backend's register
        there = self.architecture.user_callbacks if gate and self.is_users(gate) else frozenset()
        found = self.kernel.alternatives.get(address, [])
        first = next((number for number, each in enumerate(found) if each.always), 0)  # it undoes those before
        return [
            each.site + each.length if each.callback else each.start
            for each in found[first:]
            if each.size or each.callback in self.architecture.nop_callbacks - there
        ]

    def is_replaced(self, address: int) -> bool:
        """Whether what the image has at an address never runs where there is a gate."""
        return any(each.always and each.size for each in self.kernel.alternatives.get(address, ()))

    def unknown_patch(self, address: int) -> str | None:
        """The function that decides what stands at an address, if what it may decide is not known."""
        for each in self.kernel.alternatives.get(address, ()):
            known = self.architecture.nop_callbacks | self.architecture.firmware_callbacks
            if each.callback and each.callback not in known:
                return each.callback
        return None

    def switched(self, instruction: Instruction) -> list[int] | None:
        """Where a place that a static key switches may lead to; None if it is no such place."""
        jump = self.kernel.jumps.get(instruction.address)
        if jump is None:
            return None
        if jump.key in self._always_on:
            return [jump.target if jump.when_enabled else instruction.end]
        return [jump.target, instruction.end]

    def is_settled(self, address: int) -> bool:
        """Whether the key of the label at an address is read-only once the kernel has started.

        Others are patched for whoever asks: on x86-64 the section then runs into int3.
        """
        start, end = (self.kernel.addresses.get(f"__{end}_ro_after_init", 0) for end in ("start", "end"))
        return start <= self.kernel.jumps[address].key < end

    def is_leaf(self, function: Function) -> bool:
        """Whether it calls nothing and writes no register of the gate, in all of its code."""
        if function.start not in self._leaves:
            self._leaves[function.start] = self._look_for_calls(function)
        return self._leaves[function.start]

    def _look_for_calls(self, function: Function) -> bool:
        address = function.start
        while address < function.end:
            instruction = self.architecture.decode(address)
            if instruction is None or address in self.architecture.gate_writes:
                return False
            if self.unknown_patch(address) or self.calls_firmware(address):
                return False
            targets = [*self.patches(address), *([] if instruction.target is None else [instruction.target])]
            leaves = not all(function.start <= target < function.end for target in targets)
            if instruction.flow in (Flow.CALL, Flow.INDIRECT_CALL, Flow.INDIRECT_JUMP) or leaves:
                return False
            address = instruction.end
        return True

    def calls_firmware(self, address: int) -> bool:
        """Whether a call of the firmware may be written over a place."""
        found = self.kernel.alternatives.get(address, ())
        return any(each.callback in self.architecture.firmware_callbacks for each in found)

    def counted(self, function: Function | None, gate: Gate) -> list[Gate] | None:
        """The gates with which a function comes back that counts preemption for its caller."""
        if function is None:
            return None
        key = function.start, gate
        if key not in self._counted:
            self._counted[key] = []  # it does not call itself
            self._counted[key] = sorted(self.walk(function, gate).exits, key=str)
        return self._counted[key]

    def is_inside(self, target: int, function: Function) -> bool:
        """Whether a jump stays in a function: in its own code or a part of it that the compiler put elsewhere."""
        found = self.kernel.function_at(target)
        if found is None or self.kernel.is_loose(target):
            return True
        return found.start == function.start or found.is_cold or function.is_cold

    def callee(self, instruction: Instruction) -> int | None:
        """The address that a call leads to, None if that is not known."""
        if instruction.target is not None:
            return instruction.target
        pointer = self.architecture.pointer_of(instruction)
        target = self.kernel.pointer_at(pointer) if pointer else 0
        found = self.kernel.function_at(target)
        return target if found and found.start == target else None


class _Run:
    """The walk through one function."""

    def __init__(self, walker: Walker, function: Function, gate: Gate) -> None:
        self._walker = walker
        self._machine = walker.architecture
        self._kernel = walker.kernel
        self._function = function
        self._result = Walk(function, gate)
        self._states: dict[tuple[int, Gate], State] = {}
        self._todo: list[tuple[int, Gate]] = []
        self._steps: Mapping[Flow, Callable[[Instruction, State], None]] = {
            Flow.NEXT: self._next,
            Flow.BRANCH: self._branch,
            Flow.JUMP: self._jump,
            Flow.CALL: self._call,
            Flow.INDIRECT_CALL: self._call,
            Flow.INDIRECT_JUMP: self._tail_call,
            Flow.RETURN: lambda _, state: self._leave(state),
            Flow.TRAP: self._trap,
        }

    def run(self) -> Walk:
        """Until nothing new is found."""
        self._go(self._function.start, self._machine.enter(self._result.entered))
        for _ in range(_MOST_STEPS):
            if not self._todo:
                break
            address, gate = self._todo.pop()
            self._step(address, self._states[address, gate])
        else:
            self._problem("it takes too many steps", self._function.start)
        self._look_at_stores()
        return self._result

    def _look_at_stores(self) -> None:
        """What is known of addresses at the end is right for all ways."""
        for (address, gate), state in self._states.items():
            instruction = self._machine.decode(address)
            if instruction is None:
                continue
            self._result.seen.add(address)
            kind = self._machine.store_of(instruction, state) if self._walker.is_open(gate) else None
            if kind is not None:
                self._result.stores.setdefault(address, set()).add(kind)

    def _problem(self, what: str, address: int) -> None:
        text = f"{what} at {self._kernel.place(address)}"
        if text not in self._result.problems:
            self._result.problems.append(text)

    def _go(self, address: int, state: State) -> None:
        """The walk goes on at an address."""
        if address != self._function.start:
            found = self._kernel.function_at(address)
            if found and found.start == address and not found.is_cold:
                return  # behind the last instruction, a call that does not return
        key = address, state.gate
        old = self._states.get(key)
        new = state if old is None else join_states(old, state, self._machine.marks)
        if new != old:
            self._states[key] = new
            self._todo.append(key)

    def _step(self, address: int, state: State) -> None:
        instruction = self._machine.decode(address)
        if instruction is None:
            if self._kernel.code(address, 1):
                self._problem("an instruction is not understood", address)
            return
        unknown = self._walker.unknown_patch(address)
        if unknown is not None:
            self._problem(f"what {unknown}() writes is not known", address)
            return
        if self._walker.is_open(state.gate):
            self._result.open_code[address] = instruction
        for fixup in self._kernel.fixups.get(address, ()):
            self._go(fixup, self._machine.after_fault(state))
        switched = self._walker.switched(instruction)
        if switched is not None:
            self._switch(address, switched, state)
            return
        for patch in self._walker.patches(address, state.gate):
            self._go(patch, state)
        if not self._walker.is_replaced(address):
            self._run_image(instruction, state)

    def _switch(self, address: int, targets: list[int], state: State) -> None:
        """A label: while it is patched a section would run into what stands there meanwhile."""
        if self._walker.is_open(state.gate) and not self._walker.is_settled(address):
            self._problem("a label that may be patched any time", address)
        for target in targets:
            self._go(target, state)

    def _run_image(self, instruction: Instruction, state: State) -> None:
        """The instruction that the image has, and the call of the firmware that may be written over it."""
        if self._walker.calls_firmware(instruction.address):
            self._call(replace(instruction, flow=Flow.INDIRECT_CALL, target=None), state)
        self._steps[instruction.flow](instruction, state)

    def _next(self, instruction: Instruction, state: State) -> None:
        for after in self._machine.execute(instruction, state):
            self._note_write(instruction.address, state.gate, after.gate)
            self._go(self._walker.next_of(instruction), after)

    def _note_write(self, address: int, before: Gate, after: Gate) -> None:
        was, is_now = self._walker.is_open(before), self._walker.is_open(after)
        if is_now and after.register != before.register:
            self._result.opened.add(address)
        elif was and not is_now:
            self._result.shut.add(address)

    def _branch(self, instruction: Instruction, state: State) -> None:
        taken, passed = self._machine.branch(instruction, state)
        if taken is not None and instruction.target is not None:
            self._jump(instruction, taken)
        if passed is not None:
            self._go(self._walker.next_of(instruction), passed)

    def _jump(self, instruction: Instruction, state: State) -> None:
        target = instruction.target
        if target is None or target in self._machine.returns:
            self._leave(state)
        elif self._walker.is_inside(target, self._function):
            self._go(target, state)
        else:
            self._tail_call(instruction, state)

    def _trap(self, instruction: Instruction, state: State) -> None:
        if instruction.address in self._kernel.warnings:
            self._go(self._walker.next_of(instruction), state)

    def _leave(self, state: State) -> None:
        self._result.exits.add(state.gate)

    def _tail_call(self, instruction: Instruction, state: State) -> None:
        if instruction.flow is Flow.INDIRECT_JUMP and self._walker.is_users(state.gate):
            self._leave(state)  # by the trampoline
            return
        for gate in self._called(instruction, state):
            self._result.exits.add(gate)

    def _call(self, instruction: Instruction, state: State) -> None:
        if instruction.target == instruction.end:  # asks for its own address
            self._go(instruction.end, self._machine.after_call(state, frozenset()))
            return
        after = self._machine.after_call(state, self._walker.clobbers.of(self._callee_of(instruction)))
        for gate in self._called(instruction, state):
            self._note_write(instruction.address, state.gate, gate)
            self._go(self._walker.next_of(instruction), after.with_gate(gate))

    def _callee_of(self, instruction: Instruction) -> Function | None:
        target = self._walker.callee(instruction)
        return self._kernel.function_at(target) if target is not None else None

    def _called(self, instruction: Instruction, state: State) -> list[Gate]:
        """The gates with which a call may come back; notes it if the gate is open."""
        gate, callee = state.gate, self._callee_of(instruction)
        name = callee.source if callee else UNKNOWN
        if name in PUSHES:
            return [Gate(self._machine.default, pushed=(*gate.pushed, gate.remembered)[-2:])]
        if name in POPS:
            return [replace(gate.pushed[-1], pushed=gate.pushed[:-1], pinned=gate.pinned)] if gate.pushed else [gate]
        counted = self._walker.counted(callee, gate) if name in self._machine.counts_preemption else None
        if not self._walker.is_open(gate) and counted is not None:
            return counted
        if not self._walker.is_open(gate):
            opened = self._walker.openers.get(callee.start if callee else 0, ())
            return [gate, *(replace(each, pinned=gate.pinned, pushed=gate.pushed) for each in opened)]
        if name not in IGNORED:
            self._result.calls.setdefault(name, set()).add(callee.start if callee else 0)
        if counted is not None:
            return counted
        found = [gate]
        if gate.held and not (callee and self._walker.is_leaf(callee)):
            found.append(replace(gate, held=0))
        return found


IGNORED = frozenset(("__fentry__", "ftrace_stub"))  # a NOP unless the function is traced


def _ends_of_alternatives(kernel: Kernel, architecture: Architecture) -> dict[int, int]:
    """Where code that is patched in ends, and where the walk goes on then: behind the place it is written to."""
    return {
        each.start + each.size: each.site + each.length
        for site, alternatives in kernel.alternatives.items()
        if site not in architecture.gate_sites
        for each in alternatives
        if each.size
    }
