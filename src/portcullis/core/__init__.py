# SPDX-License-Identifier: GPL-2.0-only
"""The pure core: parsing, planning, verdicts. Nothing here opens a file or runs a program."""
