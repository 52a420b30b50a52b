# SPDX-License-Identifier: GPL-2.0-only
"""What tests share that need kernels: cases, what they run on, and how boots are judged."""
