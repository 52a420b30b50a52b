# SPDX-License-Identifier: GPL-2.0-only
"""The distribution's own kernel configurations, and how to thin them."""

from collections.abc import Iterable

from portcullis.core.arches import Arch

PACKAGE = "linux-config-6.12"
# Debian's feature set and flavour, with its name of the architecture
_FILES = {"debian": "none_{arch}", "debian-cloud": "none_cloud-{arch}"}


def config_file(flavour: str, arch: Arch) -> str:
    """Where the package has a flavour's configuration."""
    name = _FILES[flavour].format(arch=arch.debian)
    return f"usr/src/{PACKAGE}/config.{arch.debian}_{name}.xz"


def loaded_modules(names: Iterable[str]) -> str:
    """What lsmod would say of modules, which is what localyesconfig reads."""
    return "".join(f"{line}\n" for line in ("Module Size Used by", *(f"{name} 4096 0" for name in names)))
