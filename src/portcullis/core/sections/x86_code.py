# SPDX-License-Identifier: GPL-2.0-only
"""x86-64: instructions and their operands, stores by kind, and the accesses to IA32_PKRS.

An instruction with a memory operand in the first place stores there unless it is known to read only: capstone does
not say it of all.
"""

from dataclasses import dataclass
from typing import Any

from capstone import CS_ARCH_X86, CS_MODE_64, Cs
from capstone import x86_const as x86

from portcullis.core.sections import machine
from portcullis.core.sections.kernel import Kernel
from portcullis.core.sections.machine import Flow, Instruction

_MOV_ECX_PKRS = b"\xb9\xe1\x06\x00\x00"
_WRMSR = b"\x31\xd2\x0f\x30"  # xor %edx, %edx; wrmsr
_RDMSR = b"\x0f\x32"
_XOR_EAX = b"\x31\xc0"
_MOV_EAX = b"\xb8"
_SERIALIZE = b"\x0f\x01\xe8"  # capstone 5 does not know it; it touches no register
_LOW = 0xFFFFFFFF  # what an operand has of an address behind the base register
_STATE_BYTES = 4096

NAMES = ["rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"]
_RSP = 4
READ_ONLY = frozenset(
    [
        "cmp",
        "test",
        "bt",
        "jmp",
        "call",
        "push",
        "nop",
        "lea",
        "invlpg",
        "invpcid",
        "lidt",
        "lgdt",
        "ltr",
        "lldt",
        "lmsw",
        "verw",
        "verr",
        "clflush",
        "clflushopt",
        "clwb",
        "prefetchw",
        "prefetcht0",
        "prefetcht1",
        "prefetcht2",
        "prefetchnta",
        "ldmxcsr",
        "fld",
        "fild",
        "fldcw",
        "fxrstor",
        "fxrstor64",
        "xrstor",
        "xrstors",
        "xrstor64",
        "xrstors64",
        "mul",
        "imul",
        "div",
        "idiv",
        "endbr64",
        "ud1",
        "ud0",
    ]
)
_RETURNS = frozenset(
    ["ret", "retq", "retf", "retfq", "iret", "iretd", "iretq", "sysret", "sysretq", "sysexit", "sysexitq", "uiret"]
)
STRINGS = frozenset(["stosb", "stosw", "stosd", "stosq", "movsb", "movsw", "movsd", "movsq", "insb", "insw", "insd"])


def _register_numbers() -> dict[int, tuple[int, int]]:
    """Number and width in bits of each general register by capstone's id; a negative width is that of bits 8 to 15."""
    short = {0: "al", 1: "cl", 2: "dl", 3: "bl", 4: "spl", 5: "bpl", 6: "sil", 7: "dil"}
    found: dict[int, tuple[int, int]] = {}
    for number, name in enumerate(NAMES):
        if number < 8:
            names = ((name, 64), (f"e{name[1:]}", 32), (name[1:], 16), (short[number], 8))
        else:
            names = ((name, 64), (f"{name}d", 32), (f"{name}w", 16), (f"{name}b", 8))
        found |= {getattr(x86, f"X86_REG_{text.upper()}"): (number, bits) for text, bits in names}
    high = ("AH", "CH", "DH", "BH")
    return found | {getattr(x86, f"X86_REG_{text}"): (number, -8) for number, text in enumerate(high)}


_REGISTERS = _register_numbers()


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory operand; `absolute` is the address, or the offset in per-CPU memory, of one without registers."""

    base: int | None
    index: int | None
    displacement: int
    absolute: int | None
    per_cpu: bool
    bits: int


@dataclass(frozen=True, slots=True)
class Register:
    """A general register, None for another one; bits 8 to 15 have the width -8."""

    number: int | None
    bits: int


@dataclass(frozen=True, slots=True)
class Number:
    """An immediate."""

    value: int
    bits: int


Operand = Memory | Register | Number


@dataclass(frozen=True, slots=True)
class Decoded:
    """What capstone says of an instruction; the name is without prefixes."""

    name: str
    operands: tuple[Operand, ...]
    written: frozenset[int]  # registers, as capstone has them


class Decoder:
    """Decodes the code of one kernel; each address once."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._decoder = Cs(CS_ARCH_X86, CS_MODE_64)
        self._decoder.detail = True
        self._decoded: dict[int, Instruction | None] = {}
        if "kpkeys_cpu" not in kernel.addresses:
            raise ValueError("there is no symbol kpkeys_cpu: not a hardened kernel, or not with its symbols")
        self.state = kernel.addresses["kpkeys_cpu"]
        self._per_cpu_base = kernel.addresses.get("__per_cpu_start", 0) & ~_LOW  # Linux 6.12 has them at 0

    def decode(self, address: int) -> Instruction | None:
        """The instruction at an address, None where there is none."""
        if address not in self._decoded:
            self._decoded[address] = self._decode(address)
        return self._decoded[address]

    def _decode(self, address: int) -> Instruction | None:
        code = self._kernel.code(address, 15)
        if code[:3] == _SERIALIZE:
            return Instruction(address, 3, Flow.NEXT, raw=Decoded("nop", (), frozenset()))
        raw = next(self._decoder.disasm(code, address, 1), None)
        if raw is None:
            return None
        words = raw.mnemonic.split()
        name = words[-1]
        operands = tuple(_operand(raw, operand) for operand in raw.operands)
        written = frozenset(_REGISTERS[each][0] for each in raw.regs_access()[1] if each in _REGISTERS)
        flow, target = self._flow(name, operands)
        store = self._store(name, words, operands)
        return Instruction(address, raw.size, flow, target, store, Decoded(name, operands, written))

    @staticmethod
    def _flow(name: str, operands: tuple[Operand, ...]) -> tuple[Flow, int | None]:
        target = operands[0].value if operands and isinstance(operands[0], Number) else None
        if name in ("call", "lcall"):
            return (Flow.INDIRECT_CALL if target is None else Flow.CALL), target
        if name in ("jmp", "ljmp"):
            return (Flow.INDIRECT_JUMP if target is None else Flow.JUMP), target
        if name.startswith("j") or name.startswith("loop"):
            return Flow.BRANCH, target
        if name in _RETURNS:
            return Flow.RETURN, None
        return (Flow.TRAP if name in ("ud2", "int3") else Flow.NEXT), None

    def _store(self, name: str, words: list[str], operands: tuple[Operand, ...]) -> str | None:
        if not operands or not isinstance(operands[0], Memory):
            swapped = name == "xchg" and len(operands) == 2 and isinstance(operands[1], Memory)
            if not swapped:
                return None
            operands = operands[1:]
        if name in READ_ONLY:
            return None
        return self._kind(operands[0], name, "lock" in words or name == "xchg")  # type: ignore[arg-type]

    def _kind(self, memory: Memory, name: str, atomic: bool) -> str:
        if memory.per_cpu:
            return self._per_cpu_kind(memory)
        if name in STRINGS:
            return machine.STRING
        if memory.absolute is not None:
            return f"{machine.GLOBAL} {self._kernel.object_at(memory.absolute) or '?'}"
        if memory.base == _RSP and memory.index is None:
            return machine.STACK
        return machine.ATOMIC if atomic else machine.REGISTER

    def per_cpu_address(self, memory: Memory) -> int:
        """Where the symbol of a per-CPU variable is that an operand accesses."""
        address = memory.displacement if memory.absolute is None else memory.absolute
        return self._per_cpu_base | address & _LOW

    def _per_cpu_kind(self, memory: Memory) -> str:
        address = self.per_cpu_address(memory)
        if self.state <= address < self.state + _STATE_BYTES:
            return machine.STATE
        return f"{machine.PER_CPU} {self._kernel.object_at(address) or '?'}"


def _operand(raw: Any, operand: Any) -> Operand:
    bits = operand.size * 8
    if operand.type == x86.X86_OP_REG:
        number, width = _REGISTERS.get(operand.reg, (None, bits))
        return Register(number, width)
    if operand.type == x86.X86_OP_IMM:
        return Number(operand.imm & ((1 << 64) - 1), max(bits, 8) if operand.size else 64)
    memory = operand.mem
    absolute = None
    if memory.base == x86.X86_REG_RIP:
        absolute = (raw.address + raw.size + memory.disp) & ((1 << 64) - 1)
    elif not memory.base and not memory.index:
        absolute = memory.disp & ((1 << 64) - 1)
    base = _REGISTERS[memory.base][0] if memory.base in _REGISTERS else None
    index = _REGISTERS[memory.index][0] if memory.index in _REGISTERS else None
    return Memory(base, index, memory.disp, absolute, memory.segment == x86.X86_REG_GS, bits)


def _constant_in_eax(before: bytes) -> int | None:
    """What five bytes of code leave in EAX, if that is a constant.

    Bytes that read as both, of an end of another instruction and XOR, or of one MOV, are XOR: no level has such bits.
    """
    if before.endswith(_XOR_EAX):
        return 0
    if len(before) == 5 and before.startswith(_MOV_EAX):
        return int.from_bytes(before[1:], "little")
    return None


def _begins(kernel: Kernel, address: int) -> bool:
    """Whether an instruction begins at an address: the end of another one, and the number in it, may look like one."""
    function = kernel.function_at(address)
    if function is None:
        return True
    decoder = Cs(CS_ARCH_X86, CS_MODE_64)
    decoder.skipdata = True
    code = kernel.code(function.start, address + 5 - function.start)
    return any(place == address for place, _, _, _ in decoder.disasm_lite(code, function.start))


def gate_code(kernel: Kernel) -> tuple[frozenset[int], frozenset[int], set[int]]:
    """Addresses of the WRMSRs to IA32_PKRS; where accesses to it begin; constants that are written.

    The kernel writes the register by one inline function, whose instructions stand together. Raises ValueError at an
    access of another form.
    """
    writes, sites, constants = set(), set(), set()
    for start, code in kernel.executable():
        place = code.find(_MOV_ECX_PKRS)
        while place >= 0:
            behind = code[place + 5 : place + 9]
            if behind == _WRMSR:
                writes.add(start + place + 7)
                sites.add(start + place)
                constant = _constant_in_eax(code[max(0, place - 5) : place])
                if constant == 0 or (constant is not None and _begins(kernel, start + place - 5)):
                    constants.add(constant)
            elif behind[:2] == _RDMSR:
                sites.add(start + place)
            elif kernel.function_at(start + place) is not None:
                raise ValueError(f"what is done with IA32_PKRS at {kernel.place(start + place)} is not understood")
            place = code.find(_MOV_ECX_PKRS, place + 1)
    if not writes:
        raise ValueError("nothing writes IA32_PKRS")
    return frozenset(writes), frozenset(sites), constants


def levels_of(constants: set[int]) -> tuple[int, dict[int, int]]:
    """The register's value when the gate is shut, and of each level.

    Every bit denies something, and the default level denies all that any other one does.
    """
    default = 0
    for constant in constants:
        default |= constant
    if default not in constants:
        raise ValueError(f"no write of IA32_PKRS shuts the gate: {', '.join(map(hex, sorted(constants)))}")
    state, tables, secrets, guarded = 0x8, 0x20, 0x40, 0x200
    levels = {0: default, 1: default & ~(state | tables)}
    for level, denied in ((2, secrets), (3, guarded)):
        if default & denied:
            levels[level] = default & ~(state | denied)
    return default, levels


def _with_eax(operation: int, number: int) -> bytes:
    """AND (4) or OR (1) of EAX and a number, as the assembler makes it: by one byte if it fits, and by four else."""
    if number < 0x80:
        return bytes((0x83, 0xC0 | operation << 3, number))
    return bytes((operation << 3 | 5,)) + number.to_bytes(4, "little")


def unlike_accesses(kernel: Kernel, sites: frozenset[int], shut: int, opened: int) -> frozenset[int]:
    """Accesses to IA32_PKRS that are no others for write protection; none if the kernel has no such backend.

    Its code sets CR0.WP if the value denies stores to the gate's state, and reads CR0.WP as the one value or the other.
    So what is shown with the one register holds with the other one.
    """
    write = bytes.fromhex("0f20c1 83e008 c1e00d 0fbaf110 09c1 0f22c1")
    read = bytes.fromhex("0f20c0 0fbae010 19c0") + _with_eax(4, shut & ~opened) + _with_eax(1, opened)
    found = set()
    for site in sites:
        wanted = write if kernel.code(site + 7, 2) == _WRMSR[2:] else read
        codes = [kernel.code(each.start, each.size) for each in kernel.alternatives.get(site, ())]
        if codes != [wanted]:
            found.add(site)
    return frozenset(found) if any(site in kernel.alternatives for site in sites) else frozenset()
