# SPDX-License-Identifier: GPL-2.0-only
"""What a tree with the product alone must not contain: names of files and symbols of tests, attacks and the lab."""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

_OPTION = re.compile(r"^config (\w+)", re.MULTILINE)
# A function begins in the first column; a call does not.
_FUNCTION = re.compile(r"^[A-Za-z_][\w \t*]*[ \t*](\w+)\(", re.MULTILINE)
_MACRO = re.compile(r"^#define[ \t]+(\w+)", re.MULTILINE)
_PARAMETER = re.compile(r"\b(?:early_param|__setup|core_param|module_param)\(\"?(\w+)")
# A name of one word is a word of comments, too: it counts where it is called.
_NAME = re.compile(r"\w*_\w+|[A-Za-z]\w*(?=\()")
_FILE = re.compile(r"[\w-]+\.[A-Za-z]+\b")
# No product has options with such names, wherever they are defined.
_NEVER = re.compile(r"KPKEYS_(?:\w+_)?(?:K?UNIT_TEST|TEST|ATTACK|LAB|DESIGN)\w*")
CODE = (".c", ".h", ".S")


def added_lines(diff: str) -> str:
    """The lines that a diff adds, without their signs."""
    lines = diff.splitlines()
    return "\n".join(line[1:] for line in lines if line.startswith("+") and not line.startswith("+++ "))


def names_in(texts: Mapping[str, str]) -> frozenset[str]:
    """Options, functions, macros and boot parameters that these texts define, and the names of their files."""
    found: set[str] = set()
    for path, text in texts.items():
        for pattern in (_OPTION, _FUNCTION, _MACRO, _PARAMETER):
            found.update(pattern.findall(text))
        file = PurePosixPath(path)
        if file.suffix in CODE:
            found.update((file.name, f"{file.stem}.o", *((file.stem,) if "_" in file.stem else ())))
    return frozenset(found)


def leaks(product: Mapping[str, str], others: Mapping[str, str]) -> list[str]:
    """Places in the product that name something of the others' which it does not define itself."""
    foreign = names_in(others) - names_in(product)
    found = []
    for path, text in product.items():
        for number, line in enumerate(text.splitlines(), 1):
            words = {*_NAME.findall(line), *_FILE.findall(line)}
            words |= {word.removeprefix("CONFIG_") for word in words}
            found += [f"{path}:{number}: {name}" for name in sorted((words & foreign) | {*_NEVER.findall(line)})]
    return found
