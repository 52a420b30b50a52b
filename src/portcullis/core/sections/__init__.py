# SPDX-License-Identifier: GPL-2.0-only
"""What can run while the gate is open, read from the machine code of a kernel.

`kernel` reads functions and tables of the image, `values` and `state` say what is known at a place of the code, `x86`
and `arm64` what an instruction does, `walk` follows the code of one function, `graph` counts what its calls lead to,
`proof` puts these together, and `listing` compares the outcome with the list of known sections.
"""
