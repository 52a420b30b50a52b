# SPDX-License-Identifier: GPL-2.0-only
"""The audit of sources: rules for Coccinelle, what they find, and what of it is known to be harmless."""
