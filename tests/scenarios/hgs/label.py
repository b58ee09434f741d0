# SPDX-License-Identifier: GPL-2.0-or-later
"""Proof of a label: without the cause throughput is at least RATIO times as high, base and removal in turn."""
import dataclasses
import statistics

from .setup import Running

RATIO = 1.3
STAYS = 0.05  # none: with less work per request throughput moves by less than this part
SERVER_TIMES = 5


@dataclasses.dataclass
class Pair:
    seed: str
    base: float
    removed: float
    more_cpu: float | None
    server_cpus: float
    client_cpus: float

    @property
    def ratio(self):
        return self.removed / self.base if self.base else 0


@dataclasses.dataclass
class Label:
    pairs: list
    why_not: str | None  # the series does not count, because

    @property
    def ratio(self):
        return statistics.median(pair.ratio for pair in self.pairs)


def measure(machine, setup, seconds):
    with Running(machine, setup) as running:
        return running.measure(seconds)


def pair(machine, seed, plan, seconds):
    base = measure(machine, plan.base, seconds)
    removed = measure(machine, plan.removed, seconds)
    more = measure(machine, plan.more_cpu, seconds) if plan.more_cpu else None
    return Pair(seed, base.throughput, removed.throughput, more and more.throughput, base.server_cpus, base.client_cpus)


def judge(plan, pairs):
    """Why these pairs do not prove the label, or None."""
    ratio = statistics.median(p.ratio for p in pairs)
    if ratio < RATIO:
        return f"ratio {ratio:.2f} < {RATIO}"
    if plan.more_cpu:
        moved = statistics.median(p.more_cpu / p.base - 1 for p in pairs)
        if abs(moved) > STAYS:
            return f"half the work per request moves throughput by {100 * moved:+.1f} %"
    times = statistics.median(p.server_cpus / max(p.client_cpus, 1e-9) for p in pairs)
    if plan.work == "server" and times < SERVER_TIMES:
        return f"the server's CPU is only {times:.1f} times the client's"
    if plan.work == "client" and times >= 1:
        return f"the server's CPU is {times:.1f} times the client's"
    return None


def prove(machine, drawn, seconds, say):
    """drawn: [(seed, plan)], one pair for each."""
    pairs = []
    for seed, plan in drawn:
        pairs.append(pair(machine, seed, plan, seconds))
        p = pairs[-1]
        say(f"  label {seed}: {p.base:.1f}/s, {plan.removal}: {p.removed:.1f}/s, ratio {p.ratio:.2f}; "
            + (f"half the work per request: {p.more_cpu:.1f}/s; " if p.more_cpu else "")
            + f"CPUs: server {p.server_cpus:.2f}, client {p.client_cpus:.2f}")
    return Label(pairs, judge(drawn[0][1], pairs))
