# SPDX-License-Identifier: GPL-2.0-only
"""Metrics: what the kernel's files are called, and the text that Prometheus reads."""

import re
import stat
from pathlib import Path

import pytest

from portcullis import cli
from portcullis.core.metrics import FILES, METRICS, exposition

ROOT = Path(__file__).parents[2]
TOPICS = ROOT / "kernel/topics"
SYSFS = TOPICS / "20-page-tables/files/mm/kpkeys/sysfs.c"
ABI = TOPICS / "60-documentation/files/Documentation/ABI/testing/sysfs-kernel-kpkeys"
GUEST = ROOT / "guest/watch.c"
SAMPLE = re.compile(r'(?P<name>[a-z_]+)(?:\{mode="[a-z]+",backend="[a-z]+"\})? (?P<value>\d+)')


@pytest.fixture
def folder(tmp_path):
    """Files as the kernel has them; counters are 0, 1, 2..."""
    sysfs = tmp_path / "kpkeys"
    sysfs.mkdir()
    for number, name in enumerate(FILES):
        (sysfs / name).write_text({"mode": "enforce\n", "backend": "pks\n"}.get(name, f"{number}\n"))
    return sysfs


def test_kernel_document_guest_and_tool_name_the_same_files():
    shown = re.findall(r"^KPKEYS_ATTR\((\w+),", SYSFS.read_text(), re.MULTILINE)
    listed = re.findall(r"^\t&(\w+)_attr\.attr,", SYSFS.read_text(), re.MULTILINE)
    described = re.findall(r"^What:\t\t/sys/kernel/kpkeys/(\w+)$", ABI.read_text(), re.MULTILINE)
    looked_at = re.findall(
        r'"(\w+)"', "".join(re.findall(r"static const char \* const .*?;", GUEST.read_text(), re.DOTALL))
    )
    assert shown == listed == described == list(FILES)
    assert sorted(looked_at) == sorted(FILES)


def test_the_text_is_what_the_format_asks_for(folder):
    text = exposition({name: (folder / name).read_text() for name in FILES})
    assert text.endswith("\n") and "\n\n" not in text
    lines = text.splitlines()
    for comment, kind, sample in zip(lines[::3], lines[1::3], lines[2::3], strict=True):
        name = SAMPLE.fullmatch(sample)["name"]
        assert comment.startswith(f"# HELP {name} ") and comment.endswith(".")
        assert kind in (f"# TYPE {name} counter", f"# TYPE {name} gauge")
        assert name.endswith("_total") == kind.endswith("counter")
    names = [metric.name for metric in METRICS]
    assert len(set(names)) == len(names)
    assert 'kpkeys_info{mode="enforce",backend="pks"} 1' in lines and "kpkeys_violations_total 2" in lines


def test_it_is_printed(folder, capsys):
    assert cli.main(["metrics", "--sysfs", str(folder)]) == 0
    assert capsys.readouterr().out.startswith("# HELP kpkeys_info ")


def test_a_refusal_in_between_makes_no_more_refusals_than_violations(folder, monkeypatch):
    order = []
    read = Path.read_text
    monkeypatch.setattr(Path, "read_text", lambda self: order.append(self.name) or read(self))
    assert cli.main(["metrics", "--sysfs", str(folder)]) == 0
    assert sorted(order) == sorted(FILES) and order.index("refusals") < order.index("violations")
    counted = (TOPICS / "20-page-tables/files/mm/kpkeys/frames.c").read_bytes().decode()
    assert 0 < counted.index("kpkeys_counters.violations") < counted.index("kpkeys_cpu.nr_refused")


def test_a_file_is_replaced_in_one_step_and_everybody_may_read_it(folder, tmp_path, monkeypatch):
    target = tmp_path / "kpkeys.prom"
    target.write_text("old")
    seen = []
    replace = Path.replace
    monkeypatch.setattr(Path, "replace", lambda self, to: seen.append((self, to.read_text())) or replace(self, to))
    assert cli.main(["metrics", "--sysfs", str(folder), "--output", str(target)]) == 0
    ((temporary, before),) = seen
    assert before == "old" and temporary.parent == target.parent and temporary.suffix != ".prom"
    assert target.read_text().startswith("# HELP kpkeys_info ")
    assert stat.S_IMODE(target.stat().st_mode) == 0o644
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kpkeys", "kpkeys.prom"]


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda sysfs: sysfs.rename(sysfs.with_name("gone")), "is not there: this kernel is not hardened"),
        (lambda sysfs: (sysfs / "refusals").unlink(), "refusals: No such file"),
        (lambda sysfs: (sysfs / "violations").write_text("many\n"), "violations is 'many', and no number"),
        (lambda sysfs: (sysfs / "violations").write_text("-1\n"), "violations is '-1', and no number"),
        (lambda sysfs: (sysfs / "mode").write_text('"} 1\n'), "mode is"),
        (lambda sysfs: (sysfs / "mode").write_bytes(b"\xff"), "can't decode"),
    ],
)
def test_what_is_wrong_is_said_and_the_old_file_stays(folder, tmp_path, capsys, spoil, said):
    target = tmp_path / "kpkeys.prom"
    target.write_text("old")
    spoil(folder)
    assert cli.main(["metrics", "--sysfs", str(folder), "--output", str(target)]) == 2
    assert said in capsys.readouterr().err and target.read_text() == "old"


@pytest.mark.parametrize(("name", "said"), [("none/kpkeys.prom", "No such file"), ("kpkeys.txt", "end in .prom")])
def test_where_it_cannot_go(folder, tmp_path, capsys, name, said):
    assert cli.main(["metrics", "--sysfs", str(folder), "--output", str(tmp_path / name)]) == 2
    assert said in capsys.readouterr().err and not (tmp_path / name).exists()
