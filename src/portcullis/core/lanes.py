# SPDX-License-Identifier: GPL-2.0-only
"""Build lanes: which configuration fragments make which kernel."""

from dataclasses import dataclass

from portcullis.core.arches import ARCHES
from portcullis.core.kconfig import Request

TESTED = ("tests", "attacks")
# Topics that the product works without.
OPTIONAL = ("x86-wp", "secrets", "random", "arm64-live-split", "pointer-auth", "guarded", "creds")


@dataclass(frozen=True)
class Lane:
    """A named build; `fragments` are names below kernel/configs without their suffix, ARCH the architecture's own.

    `kinds` are the kinds of topics beyond the product, `without` the topics that are left out. `flavour` is the
    configuration of the distribution's that the fragments are merged over; a `thin` one has few of its modules, and
    those are built in, but for what tests modules themselves.
    """

    name: str
    fragments: tuple[str, ...]
    hardened: bool
    what: str
    arches: tuple[str, ...] = tuple(ARCHES)
    kinds: tuple[str, ...] = TESTED
    without: tuple[str, ...] = ()
    flavour: str = ""
    thin: bool = False

    @property
    def has_designs(self) -> bool:
        """Whether its kernels know kpkeys_design=."""
        return DESIGNS in self.fragments


ARCH = "ARCH"
LAB = "lab"
DESIGNS = "designs"
_SMALL = (ARCH, "portcullis", "test")
_SHIPPED = ("portcullis", "debian")
LANES = {
    lane.name: lane
    for lane in (
        Lane("default", _SMALL, True, "small guest kernel with Portcullis and its tests"),
        Lane("debug", (*_SMALL, "debug"), True, "lockdep, page-table self-tests, write+execute scan"),
        Lane("kasan", (*_SMALL, "kasan"), True, "KASAN with vmalloc shadow"),
        Lane("debug-xen", (*_SMALL, "debug", "xen"), True, "the debug kernel with PARAVIRT_XXL", ("x86",)),
        Lane("xen", (*_SMALL, "xen"), True, "PARAVIRT_XXL, -O2 and checks, as in distribution kernels", ("x86",)),
        Lane("kselftests", ("arm64-emulator",), False, "a stock kernel that Linux' own tests run on", ("arm64",)),
        Lane("64k", (*_SMALL, "64k"), True, "64 KiB pages", ("arm64",)),
        Lane("16k", (*_SMALL, "16k"), True, "16 KiB pages, four levels", ("arm64",)),
        Lane("va39", (*_SMALL, "va39"), True, "39-bit addresses, three levels", ("arm64",)),
        Lane("kfence", (*_SMALL, "kfence"), True, "KFENCE and its tests", ("arm64",)),
        Lane("least", (ARCH, "portcullis", "least"), True, "the least product", kinds=(), without=OPTIONAL),
        Lane("nokeys", (ARCH, "nokeys"), True, "the product's source, and its options off", kinds=()),
        Lane("lab", (ARCH, "portcullis", LAB), True, "what the lab counts", kinds=(LAB,)),
        Lane(
            "lab-designs",
            (ARCH, "portcullis", LAB, DESIGNS),
            True,
            "other designs beside it, by kpkeys_design=",
            kinds=(LAB, DESIGNS),
        ),
        Lane(
            "page-cache",
            (*_SMALL, "page-cache"),
            True,
            "a study: cached pages of programs sealed as well",
            ("x86",),
            kinds=(*TESTED, "studies"),
        ),
        Lane("debian", _SHIPPED, True, "Debian's own configuration", kinds=(), flavour="debian"),
        Lane("debian-cloud", _SHIPPED, True, "that of Debian's cloud kernel", kinds=(), flavour="debian-cloud"),
        Lane(
            "debian-cloud-thin",
            (*_SHIPPED, "thin", "mappings", "modules"),
            True,
            "the same with what a virtual machine needs built in, instead of modules",
            kinds=(),
            flavour="debian-cloud",
            thin=True,
        ),
        Lane("lab-stock", (ARCH, LAB), False, "the kernel of lane lab without Portcullis"),
        Lane("stock", (ARCH, "test"), False, "the same kernel without Portcullis"),
    )
}


FLAVOURS = tuple(lane.name for lane in LANES.values() if lane.flavour)


def set_name(kinds: tuple[str, ...], without: tuple[str, ...]) -> str:
    """A name for a set of topics: that of the first lane which has it, empty for the default one."""
    if not kinds and not without:
        return "product"
    for lane in LANES.values():
        if lane.hardened and set(lane.kinds) == set(kinds) and set(lane.without) == set(without):
            return "" if lane.name == "default" else lane.name
    return "-".join((*kinds, *(("without", *without) if without else ()))) or "product"


def wanted_options(
    requests: tuple[Request, ...], lane: Lane, unknown: frozenset[str] = frozenset()
) -> tuple[Request, ...]:
    """Requests that the final configuration must hold: a stock kernel knows no KPKEYS options.

    A hardened one does not know those of topics that were left out, which are `unknown`.
    """
    if lane.hardened:
        return tuple(request for request in requests if request.name not in unknown)
    return tuple(request for request in requests if not request.name.startswith("CONFIG_KPKEYS"))
