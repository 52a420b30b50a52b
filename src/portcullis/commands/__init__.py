# SPDX-License-Identifier: GPL-2.0-only
"""One module per command of the tool."""
