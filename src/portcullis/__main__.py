# SPDX-License-Identifier: GPL-2.0-only
"""Lets `python -m portcullis` run the tool."""

import sys

from portcullis.cli import main

sys.exit(main())
