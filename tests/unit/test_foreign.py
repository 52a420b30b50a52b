# SPDX-License-Identifier: GPL-2.0-only
"""What is not product is not in the product: by files, options, functions, macros and boot parameters."""

from pathlib import Path

import pytest

from portcullis.core.foreign import added_lines, leaks, names_in
from portcullis.core.topics import PRODUCT
from portcullis.host.hardening import read_topics, texts_of
from portcullis.host.workspace import Workspace

ROOT = Path(__file__).parents[2]
OTHERS = {
    "mm/kpkeys/attack_store.c": """
#define ATTACK_SIZE 8
static bool attack_wanted;
static int store(unsigned long where)
{
	return plain_store(where);
}
void __init attack_init(void)
early_param("attack_now", store);
""",
    "mm/kpkeys/Kconfig.attack": "config KPKEYS_ATTACK\n\tbool\n",
}


def test_names_of_what_a_file_defines():
    names = names_in(OTHERS)
    assert {"attack_store.c", "attack_store.o", "attack_store", "KPKEYS_ATTACK", "ATTACK_SIZE"} <= names
    assert {"store", "attack_init", "attack_now"} <= names
    assert "plain_store" not in names and "attack_wanted" not in names


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("obj-$(CONFIG_KPKEYS_ATTACK) += x.o", "KPKEYS_ATTACK"),
        ("config KPKEYS_ATTACK", "KPKEYS_ATTACK"),
        ("config KPKEYS_PAUTH_KUNIT_TEST", "KPKEYS_PAUTH_KUNIT_TEST"),
        ("obj-y += attack_store.o", "attack_store.o"),
        ('#include "attack_store.c"', "attack_store.c"),
        ("	attack_init();", "attack_init"),
        ("	err = store(where);", "store"),
        ("	char b[ATTACK_SIZE];", "ATTACK_SIZE"),
        ("	attack_now=", "attack_now"),
    ],
)
def test_each_kind_of_name_is_found(line, name):
    found = leaks({"mm/a.c": f"int a;\n{line}\n"}, OTHERS)
    assert f"mm/a.c:2: {name}" in found


def test_words_and_names_of_the_products_own_are_no_leaks():
    text = "/* a store that an attacker makes */\nstatic int attack_init(void)\n{\n\tattack_init();\n}\n"
    assert leaks({"mm/a.c": text}, OTHERS) == []


def test_only_added_lines_count():
    assert added_lines("--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n attack_init();\n-attack_now\n+new\n") == "new"


def test_nothing_of_the_others_is_in_the_product():
    workspace = Workspace(ROOT, ROOT)
    topics = read_topics(workspace)
    product, others = (
        texts_of(workspace, [topic for topic in topics if (topic.kind == PRODUCT) == wanted])
        for wanted in (True, False)
    )
    assert {"KPKEYS_KUNIT_TEST", "attack.c", "kpkeys_test.o"} <= names_in(others)
    assert leaks(product, others) == []
