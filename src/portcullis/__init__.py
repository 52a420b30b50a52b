# SPDX-License-Identifier: GPL-2.0-only
"""Portcullis: hardens Linux page tables with memory protection keys."""

__version__ = "0.2.0"
