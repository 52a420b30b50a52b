# SPDX-License-Identifier: GPL-2.0-only
"""PCRE2's JIT on jitgate: builds and tests it.

`build` takes Debian's source of PCRE2 through this machine's apt and builds it as it is (stock: its machine code is
always writable), with the other two allocators of sljit (sealloc, wx), and on jitgate, by a key if there are any or
with two views of all code (views). `test` runs our tests of all allocators, PCRE2's own tests on jitgate, and Debian's
grep and git with the library on jitgate. `bench` compares them with PCRE2's own speed tests.

examples:
  ./portcullis pcre2 build
  ./portcullis pcre2 build --variant jitgate --arch arm64
  ./portcullis pcre2 build --release trixie
  ./portcullis pcre2 test
  ./portcullis pcre2 test -k "jitgate or programs"
  ./portcullis pcre2 bench
  ./portcullis pcre2 bench --guest --arch arm64
"""

import argparse
import os

from portcullis.commands import pcre2_bench
from portcullis.commands.luajit import add_common, print_build, run_checks
from portcullis.commands.options import add_arch, add_json
from portcullis.core.pcre2 import DEFAULT_RELEASE, VARIANTS
from portcullis.host.pcre2 import Pcre2
from portcullis.host.pcre2_tests import Pcre2Tests
from portcullis.host.process import Commands
from portcullis.host.workspace import Workspace


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    build = actions.add_parser("build", help="build the variants and say where they are")
    known = "; ".join(f"{name}: {variant.what}" for name, variant in VARIANTS.items())
    build.add_argument("--variant", choices=list(VARIANTS), action="append", help=f"only this; repeatable. {known}")
    build.add_argument("--shared", action="store_true", help="the shared library, for programs that are linked already")
    test = actions.add_parser("test", help="test them on this machine")
    test.add_argument("-k", dest="words", default="", metavar="WORDS", help="only checks with one of these words")
    bench = actions.add_parser("bench", help="compare what they cost")
    pcre2_bench.add_arguments(bench)
    for child in (build, bench):
        add_arch(child)
    for child in (build, test, bench):
        child.add_argument(
            "--release",
            metavar="NAME",
            default=DEFAULT_RELEASE,
            help=f"of Debian to take the source from, as bookworm or trixie ({DEFAULT_RELEASE})",
        )
        jobs = os.cpu_count() or 1
        child.add_argument("-j", dest="jobs", type=int, default=jobs, metavar="N", help="parallel jobs")
        add_json(child)
        add_common(child)


def run(workspace: Workspace, options: argparse.Namespace) -> int:
    """Does what was asked for."""
    if options.action == "bench":
        return pcre2_bench.run(workspace, options)
    pcre2 = Pcre2(workspace, Commands(), options.jobs, options.release)
    if options.action == "test":
        return run_checks(Pcre2Tests(pcre2).checks(), options)
    built = {name: pcre2.build(name, options.arch, options.shared) for name in options.variant or VARIANTS}
    source = pcre2.source()
    result = {name: str(one.folder) for name, one in built.items()}
    print_build(result | {"source": f"PCRE2 {source.version}", "layout": source.layout.name}, options.json)
    return 0
