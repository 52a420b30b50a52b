# SPDX-License-Identifier: GPL-2.0-only
"""Where the names of all tests are kept, whichever are chosen."""

import pytest

NAMES = pytest.StashKey[frozenset[str]]()
