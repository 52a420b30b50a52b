# SPDX-License-Identifier: GPL-2.0-only
"""Reading static-key sites out of an ELF image made here."""

import struct

import pytest
from elftools.elf.enums import ENUM_E_MACHINE

from portcullis.core.elf import EM_AARCH64, EM_X86_64, Image
from portcullis.core.jumplabels import Site, problems_of_sites, sites_of_key

TEXT, TABLE, KEY = 0x1000, 0x2000, 0x3000
MAGIC = b"\x7fELF\x02\x01\x01"
NOP5 = bytes.fromhex("0f1f440000")
NOP2 = bytes.fromhex("6690c3c3c3")
JUMP = bytes.fromhex("e910000000")
ARM_NOP = bytes.fromhex("1f2003d5") + b"\0"
ARM_BRANCH = bytes.fromhex("04000014") + b"\0"


def entry(index: int, code: int, key: int, flags: int = 0) -> bytes:
    place = TABLE + 16 * index
    return struct.pack("<iiq", code - place, 0, (key | flags) - (place + 8))


def make_image(codes: list[bytes], keys: list[int], machine: str = EM_X86_64) -> bytes:
    text = b"".join(codes)
    table = b"".join(entry(index, TEXT + 5 * index, key, index & 1) for index, key in enumerate(keys))
    strings = b"\0the_key\0__start___jump_table\0__stop___jump_table\0"
    values = {1: KEY, 9: TABLE, 30: TABLE + len(table)}
    symbols = b"".join(struct.pack("<I4xQQ", name, value, 0) for name, value in values.items())
    blobs = [(1, 6, TEXT, text, 0, 0), (1, 2, TABLE, table, 0, 0), (3, 0, 0, strings, 0, 0), (2, 0, 0, symbols, 2, 24)]
    body, sections, segments = b"", b"", b""
    start = 64 + 56 * 2  # behind the headers of the file and of the two segments
    for kind, flags, address, blob, link, each in blobs:
        at = start + len(body)
        sections += struct.pack("<IIQQQQIIQQ", 0, kind, flags, address, at, len(blob), link, 0, 0, each)
        segments += struct.pack("<IIQQQQQQ", 1, 4, at, address, address, len(blob), len(blob), 1) if address else b""
        body += blob
    number = ENUM_E_MACHINE[machine]
    head = struct.pack("<16sHHIQQQIHHHHHH", MAGIC, 2, number, 1, 0, 64, start + len(body), 0, 64, 56, 2, 64, 4, 2)
    return head + segments + body + sections


def test_sites_of_one_key_are_found_and_judged():
    image = Image(make_image([NOP5, JUMP, NOP2, JUMP], [KEY, KEY, KEY, KEY + 64]))
    sites = sites_of_key(image, "the_key")
    assert [site.is_nop for site in sites] == [True, False, True]
    assert sites[0].address == TEXT


def test_each_machine_has_its_own_nop():
    image = Image(make_image([ARM_NOP, ARM_BRANCH, NOP5], [KEY, KEY, KEY], EM_AARCH64))
    assert [site.is_nop for site in sites_of_key(image, "the_key")] == [True, False, False]
    image = Image(make_image([ARM_NOP], [KEY]))
    assert [site.is_nop for site in sites_of_key(image, "the_key")] == [False]
    with pytest.raises(ValueError, match="machine EM_MIPS"):
        sites_of_key(Image(make_image([NOP5], [KEY], "EM_MIPS")), "the_key")


def test_code_size_counts_executable_sections_only():
    assert Image(make_image([NOP5, JUMP], [KEY])).code_size() == 10


def test_a_missing_key_is_an_error():
    with pytest.raises(ValueError, match="no symbol other_key"):
        sites_of_key(Image(make_image([NOP5], [KEY])), "other_key")


def test_each_key_is_judged():
    nop, jump = Site(16, b"n", True), Site(32, b"\xe9", False)
    assert problems_of_sites({"one": [nop], "two": [nop, nop]}) == []
    assert problems_of_sites({"one": [nop], "two": []}) == ["no place tests two"]
    assert problems_of_sites({"one": [nop], "two": [nop, jump]}) == ["two at 0x20: e9"]


def test_not_an_elf_file():
    with pytest.raises(ValueError, match="not a 64-bit"):
        Image(b"MZ")


@pytest.mark.parametrize("size", [64, -1])
def test_a_file_that_was_cut_is_no_elf_file(size):
    with pytest.raises(ValueError, match="not a 64-bit"):
        Image(make_image([NOP5], [KEY])[:size])


def test_an_address_that_the_file_has_not():
    image = Image(make_image([NOP5], [KEY]))
    assert image.read(TEXT, 5) == NOP5
    with pytest.raises(ValueError, match="0x1001 is not"):
        image.read(TEXT + 1, 5)
