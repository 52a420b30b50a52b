# SPDX-License-Identifier: GPL-2.0-only
"""Build lanes: which configuration fragments make which kernel."""

from dataclasses import dataclass

from portcullis.core.arches import ARCHES
from portcullis.core.kconfig import Request


@dataclass(frozen=True)
class Lane:
    """A named build; `fragments` are names below kernel/configs without their suffix, ARCH the architecture's own."""

    name: str
    fragments: tuple[str, ...]
    hardened: bool
    what: str
    arches: tuple[str, ...] = tuple(ARCHES)

    @property
    def has_designs(self) -> bool:
        """Whether its kernels know kpkeys_design=."""
        return DESIGNS in self.fragments


ARCH = "ARCH"
LAB = "lab"
DESIGNS = "designs"
_SMALL = (ARCH, "portcullis", "test")
LANES = {
    lane.name: lane
    for lane in (
        Lane("default", _SMALL, True, "small guest kernel with Portcullis and its tests"),
        Lane("debug", (*_SMALL, "debug"), True, "lockdep, page-table self-tests, write+execute scan"),
        Lane("kasan", (*_SMALL, "kasan"), True, "KASAN with vmalloc shadow"),
        Lane("xen", (*_SMALL, "xen"), True, "PARAVIRT_XXL, as in distribution kernels", ("x86",)),
        Lane("kselftests", ("arm64-emulator",), False, "a stock kernel that Linux' own tests run on", ("arm64",)),
        Lane("64k", (*_SMALL, "64k"), True, "64 KiB pages", ("arm64",)),
        Lane("16k", (*_SMALL, "16k"), True, "16 KiB pages, four levels", ("arm64",)),
        Lane("va39", (*_SMALL, "va39"), True, "39-bit addresses, three levels", ("arm64",)),
        Lane("kfence", (*_SMALL, "kfence"), True, "KFENCE and its tests", ("arm64",)),
        Lane("lab", (ARCH, "portcullis", LAB), True, "what the lab counts"),
        Lane("lab-designs", (ARCH, "portcullis", LAB, DESIGNS), True, "other designs beside it, by kpkeys_design="),
        Lane("lab-stock", (ARCH, LAB), False, "the kernel of lane lab without Portcullis"),
        Lane("stock", (ARCH, "test"), False, "the same kernel without Portcullis"),
    )
}


def wanted_options(requests: tuple[Request, ...], lane: Lane) -> tuple[Request, ...]:
    """Requests that the final configuration must hold: a stock kernel knows no KPKEYS options."""
    if lane.hardened:
        return requests
    return tuple(request for request in requests if not request.name.startswith("CONFIG_KPKEYS"))
