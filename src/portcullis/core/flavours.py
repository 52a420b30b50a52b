# SPDX-License-Identifier: GPL-2.0-only
"""The distribution's own kernel configurations, and how to thin them."""

from collections.abc import Iterable

from portcullis.core.arches import Arch

PACKAGE = "linux-config-6.12"
# Debian's feature set and flavour, with its name of the architecture
_FILES = {"debian": "none_{arch}", "debian-cloud": "none_cloud-{arch}"}
TARGETS_FORMAT = "$(ORIGIN)|$(COMPONENT)|$(CODENAME)|$(REPO_URI)"


def config_file(flavour: str, arch: Arch) -> str:
    """Where the package has a flavour's configuration."""
    name = _FILES[flavour].format(arch=arch.debian)
    return f"usr/src/{PACKAGE}/config.{arch.debian}_{name}.xz"


def suites(targets: str, codename: str) -> tuple[tuple[str, str], ...]:
    """Addresses and suites of this Debian release that apt is configured with, from lines in TARGETS_FORMAT."""
    found = []
    for line in targets.splitlines():
        origin, component, suite, address = (line.split("|", 3) + [""] * 4)[:4]
        ours = suite == codename or suite.startswith(f"{codename}-")
        if origin == "Debian" and component == "main" and ours and not address.startswith("cdrom:"):
            found.append((address, suite))
    return tuple(dict.fromkeys(found))


def loaded_modules(text: str) -> str:
    """A list of modules, one a line, `#` begins a comment, in the form of lsmod, which localyesconfig reads."""
    names = (line.split("#")[0].strip() for line in text.splitlines())
    return "".join(f"{line}\n" for line in ("Module Size Used by", *_loaded(names)))


def _loaded(names: Iterable[str]) -> Iterable[str]:
    return (f"{name} 4096 0" for name in names if name)
