# SPDX-License-Identifier: GPL-2.0-only
"""The parts that touch the machine: files, programs, virtual machines."""
