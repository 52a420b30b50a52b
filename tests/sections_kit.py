# SPDX-License-Identifier: GPL-2.0-only
"""Small kernels of assembly for the tests of the sections' audit."""

import subprocess
from pathlib import Path

from portcullis.core.elf import Image
from portcullis.core.sections.graph import CallGraph
from portcullis.core.sections.kernel import Kernel
from portcullis.core.sections.proof import Proof, Scope
from portcullis.core.sections.x86 import X86

PRELUDE = r"""
.set kpkeys_cpu, 0x15000
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
.globl some, kpkeys_pgtables_key, a_key
.type some, @object
.size some, 8
some: .quad 0
kpkeys_pgtables_key: .quad 0, 0
a_key: .quad 0, 0
.text
"""
TABLES = (
    ("__jump_table", "__start___jump_table", "__stop___jump_table"),
    (".altinstructions", "__alt_instructions", "__alt_instructions_end"),
    ("__ex_table", "__start___ex_table", "__stop___ex_table"),
    ("__bug_table", "__start___bug_table", "__stop___bug_table"),
)


def assemble(folder: Path, text: str) -> Image:
    """A linked program with the prelude, the text and the kernel's tables."""
    starts = "".join(f'.section {name}, "a"\n.globl {start}\n{start}:\n.text\n' for name, start, _ in TABLES)
    stops = "".join(f'.section {name}, "a"\n.globl {stop}\n{stop}:\n' for name, _, stop in TABLES)
    source = folder / "code.s"
    source.write_text(starts + PRELUDE + text + "\n" + stops)
    subprocess.run(["as", "--64", "-o", folder / "code.o", source], check=True)
    subprocess.run(["ld", "-Ttext=0x1000000", "-e", "0", "-o", folder / "code", folder / "code.o"], check=True)
    return Image((folder / "code").read_bytes())


def prove(image: Image, scope: Scope | None = None) -> Proof:
    """What runs with the gate open in such a program."""
    kernel = Kernel(image)
    return Proof(kernel, X86(kernel), CallGraph(kernel), scope or Scope())
