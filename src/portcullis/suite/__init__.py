# SPDX-License-Identifier: GPL-2.0-only
"""The test suite: cases as data, the engine that runs them, mutation."""
