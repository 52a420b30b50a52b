# SPDX-License-Identifier: GPL-2.0-only
"""The lab: counts of benchmarks, what they cost on real CPUs, and how that compares with published figures."""
