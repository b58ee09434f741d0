# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares a report with the label: right, inconclusive or WRONG."""
import dataclasses
import os
import re

from .machine import threads


@dataclasses.dataclass
class Score:
    outcome: str  # right, inconclusive, WRONG, failed
    text: str     # what the report says, and what is wrong with it or what it lacked
    share: float | None = None
    confidence: str | None = None

    @property
    def wrong(self):
        return self.outcome in ("WRONG", "failed")


def shaper_name(shaper, network):
    """How a report names it: device, namespace, and what it is there."""
    if not shaper:
        return None
    what = "htb class 1:10" if shaper["classes"] else "tbf"
    return f"eth0 in netns {network.inode(shaper['end'])} {what} of {shaper['rate_mbit']} Mbit/s"


def truth(plan, running, client_argv):
    """What the subject may be called, taken from /proc and from what was started while the server still runs."""
    return {
        "thread": {"tids": running.limit_tids()},
        "cpus": {"names": [f"CPU{'s' if ',' in (plan.base.server_cpus or '') else ''} {plan.base.server_cpus}"]},
        "cgroup": {"path": running.cgroup},
        "competitor": {"tids": list(threads(running.hog.pid)) if running.hog else [],
                       "names": [plan.base.hog["name"]] if plan.base.hog else []},
        "lock": {"addresses": running.locks},
        "klock": {"names": list(plan.caller)},
        "relay": {"tids": list(threads(running.relay.pid)) if running.relay else []},
        "path": {"names": ["sockets", "TCP"]},
        "receiver": {"names": [f"CPU {(plan.base.flood or {}).get('cpu')} "]},
        "disk": {"names": [os.path.basename(running.machine.disk.loop or "none")]},
        "link": {"names": [shaper_name(plan.base.shaper, running.network)]},
        "client": {"names": [plan.base.client.options.get("name"), "wrk", "hg-client"]},
    }.get(plan.subject)


def subject_wrong(plan, known, subject):
    """Why the subject is not the one that was made the limit, or None."""
    if not plan.subject:
        return None
    subject = subject or {}
    text = f"{subject.get('id') or ''} {subject.get('name') or ''}"
    numbers = {int(n, 0) for n in re.findall(r"\b0x[0-9a-f]+|\b[1-9][0-9]*\b", text)}
    fits = (any(tid in numbers for tid in known.get("tids", ()))
            or any(address in numbers for address in known.get("addresses", ()))
            or any(n and n in text for n in known.get("names", ()))
            or bool(known.get("path") and known["path"] in text))
    if plan.subject == "client" and subject.get("kind") == "client":
        fits = True
    return None if fits else f"the subject is {subject.get('kind')} '{text.strip()}', not {plan.subject} {known}"


def chain_lacks(plan, verdict):
    """The first of the words that the chain should name and does not, or None."""
    text = " <- ".join(verdict.get("chain") or [])
    return next((words for words in plan.chain
                 if not any(word in text for word in ([words] if isinstance(words, str) else words))), None)


def call(verdict):
    cause = verdict.get("cause")
    return verdict.get("class", "?") + (f"/{cause}" if cause else "")


def score(plan, known, report):
    verdict = report.get("verdict") or {}
    said, share, confidence = call(verdict), verdict.get("share"), verdict.get("confidence")
    expected = call({"class": plan.class_name, "cause": plan.cause})
    if said == expected:
        wrong = subject_wrong(plan, known, verdict.get("subject"))
        if wrong:
            return Score("WRONG", f"{said}, but {wrong}", share, confidence)
        if chain_lacks(plan, verdict):
            return Score("inconclusive", f"{said}, but its chain lacks '{chain_lacks(plan, verdict)}': "
                         f"{verdict.get('chain')}", share, confidence)
        return Score("right", said, share, confidence)
    if verdict.get("class") in ("inconclusive", "unknown"):
        top = ", ".join(f"{call(c)} {c.get('share') or 0:.2f}" for c in (report.get("candidates") or [])[:2])
        return Score("inconclusive", f"{verdict.get('summary') or 'no reason given'} [{top}]", share, confidence)
    return Score("WRONG", f"{said}, not {expected}: {verdict.get('summary')}", share, confidence)
