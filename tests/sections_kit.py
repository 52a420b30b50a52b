# SPDX-License-Identifier: GPL-2.0-only
"""Small kernels of assembly for the tests of the sections' audit."""

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from portcullis.core.elf import EM_AARCH64, EM_X86_64, Image
from portcullis.core.sections.arm64 import Arm64
from portcullis.core.sections.graph import CallGraph
from portcullis.core.sections.kernel import Kernel
from portcullis.core.sections.machine import Architecture
from portcullis.core.sections.proof import Proof, Scope
from portcullis.core.sections.x86 import X86

PRELUDE = r"""
.ifndef per_cpu_base
.set per_cpu_base, 0
.endif
.globl __per_cpu_start
.set __per_cpu_start, per_cpu_base
.set kpkeys_cpu, per_cpu_base + 0x15000
.set counters, 0x2df00
.globl kpkeys_cpu
.macro write value
	mov $\value, %eax
	mov $0x6e1, %ecx
	xor %edx, %edx
	wrmsr
.endm
.macro raise
	write 0x40
	movb $1, %gs:kpkeys_cpu
.endm
.macro lower
	movb $0, %gs:kpkeys_cpu
	write 0x68
.endm
# guard(kpkeys_hardened_pgtables): what it returned is in a register.
.macro guard old
	mov $0xfe, \old
	cmpb $0, %gs:kpkeys_cpu+4
	jne 1f
	mov %gs:kpkeys_cpu, \old
	cmp $1, \old
	je 2f
	raise
	jmp 1f
2:	mov $0xff, \old
1:
.endm
.macro unguard old
	cmp $0xfe, \old
	je 1f
	cmp $0xff, \old
	je 1f
	mov \old, %gs:kpkeys_cpu
	cmp $2, \old
	mov $0x20, %edx
	mov $0x68, %eax
	cmove %edx, %eax
	mov $0x6e1, %ecx
	xor %edx, %edx
	wrmsr
1:
.endm
.macro function name
.globl \name
.type \name, @function
\name:
.endm
.macro end name
.size \name, . - \name
.endm
.macro empty name
function \name
	ret
end \name
.endm
.macro table name
.pushsection \name, "a"
.endm
.text
function any_section
	lea some(%rip), %rsi
	raise
	mov %rax, (%rsi)
	lower
	ret
end any_section
empty callee
empty other
.data
.globl some, kpkeys_pgtables_key, a_key, settled_key, __start_ro_after_init, __end_ro_after_init
.type some, @object
.size some, 8
some: .quad 0
__start_ro_after_init:
kpkeys_pgtables_key: .quad 0, 0
settled_key: .quad 0, 0
__end_ro_after_init:
a_key: .quad 0, 0
.text
"""
ARM64 = r"""
.macro constant register, high
	mov \register, #0x7777
	movk \register, #\high, lsl #16
.endm
.macro write register
	.inst 0xd518a280 | \register
	isb
.endm
# A byte of struct kpkeys_cpu, by x16 and x17.
.macro copy instruction, register, offset
	adrp x16, kpkeys_cpu
	add x16, x16, #:lo12:kpkeys_cpu + \offset
	mrs x17, tpidr_el1
	\instruction \register, [x16, x17]
.endm
.macro raise
	constant x15, 0x5507
	write 15
	mov w15, #1
	copy strb, w15, 0
.endm
.macro lower
	copy strb, wzr, 0
	constant x15, 0x1107
	write 15
.endm
# guard(kpkeys_hardened_pgtables): what it returned is in a register.
.macro guard old
	mrs x15, sp_el0
	ldr w15, [x15, #20]
	mov \old, #0xfe
	cbnz w15, 1f
	copy ldrb, \old, 0
	cmp \old, #1
	b.eq 2f
	raise
	b 1f
2:	mov \old, #0xff
1:
.endm
.macro unguard old
	cmp \old, #0xfe
	b.eq 1f
	cmp \old, #0xff
	b.eq 1f
	copy strb, \old, 0
	cmp \old, #2
	constant x14, 0x1557
	constant x15, 0x1107
	csel x15, x14, x15, eq
	write 15
1:
.endm
.macro function name
.globl \name
.type \name, @function
\name:
.endm
.macro end name
.size \name, . - \name
.endm
.macro empty name
function \name
	ret
end \name
.endm
.text
function __kpkeys_push
	mrs x0, sp_el0
	ldr w0, [x0, #20]
	ret
end __kpkeys_push
function any_section
	adrp x1, some
	raise
	str x0, [x1, #:lo12:some]
	lower
	ret
end any_section
empty callee
empty other
function alt_cb_patch_nops
	ret
end alt_cb_patch_nops
.data
.balign 16
.globl some, kpkeys_pgtables_key, a_key, settled_key, __start_ro_after_init, __end_ro_after_init
.type some, @object
.type kpkeys_cpu, @object
.size kpkeys_cpu, 64
.size some, 8
some: .quad 0
__start_ro_after_init:
kpkeys_pgtables_key: .quad 0, 0
settled_key: .quad 0, 0
__end_ro_after_init:
a_key: .quad 0, 0
.globl kpkeys_cpu
kpkeys_cpu: .skip 64
.text
"""
TABLES = (
    ("__jump_table", "__start___jump_table", "__stop___jump_table"),
    (".altinstructions", "__alt_instructions", "__alt_instructions_end"),
    ("__ex_table", "__start___ex_table", "__stop___ex_table"),
    ("__bug_table", "__start___bug_table", "__stop___bug_table"),
)


@dataclass(frozen=True)
class Tools:
    """How the kernels of an architecture are made."""

    prelude: str
    assembler: tuple[str, ...]
    linker: str
    architecture: Callable[[Kernel], Architecture]


TOOLS = {
    EM_X86_64: Tools(PRELUDE, ("as", "--64"), "ld", X86),
    EM_AARCH64: Tools(ARM64, ("aarch64-linux-gnu-as", "-march=armv8.5-a"), "aarch64-linux-gnu-ld", Arm64),
}


def assemble(folder: Path, text: str, machine: int = EM_X86_64, before: str = "") -> Image:
    """A linked program with what comes before all, the prelude, the text and the kernel's tables."""
    tools = TOOLS[machine]
    starts = "".join(f'.section {name}, "a"\n.globl {start}\n{start}:\n.text\n' for name, start, _ in TABLES)
    stops = "".join(f'.section {name}, "a"\n.globl {stop}\n{stop}:\n' for name, _, stop in TABLES)
    source = folder / "code.s"
    source.write_text(before + starts + tools.prelude + text + "\n" + stops)
    subprocess.run([*tools.assembler, "-o", folder / "code.o", source], check=True)
    subprocess.run([tools.linker, "-Ttext=0x1000000", "-e", "0", "-o", folder / "code", folder / "code.o"], check=True)
    return Image((folder / "code").read_bytes())


def prove(image: Image, scope: Scope | None = None) -> Proof:
    """What runs with the gate open in such a program."""
    kernel = Kernel(image)
    return Proof(kernel, TOOLS[image.machine].architecture(kernel), CallGraph(kernel), scope or Scope())
