# SPDX-License-Identifier: GPL-2.0-or-later
"""Labelled scenarios: real programs whose limit is known, because removing it raises throughput."""
