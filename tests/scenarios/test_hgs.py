#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The harness's own judgement: a label that does not hold and a verdict that is not right must be seen."""
import os
import random
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from hgs import label, score, series  # noqa: E402


def plan(name="serial-thread", seed=1):
    return series.SERIES[name](random.Random(seed), [0, 1])


def report(class_name, cause, subject=None, candidates=()):
    return {"verdict": {"class": class_name, "cause": cause, "subject": subject, "summary": "gate losses", "share": 0.5},
            "candidates": list(candidates)}


def pair(base=100, removed=200, more_cpu=None, server=1.0, client=0.1):
    return label.Pair("1", base, removed, more_cpu, server, client)


class Draws(unittest.TestCase):
    def test_same_seed_same_plan(self):
        for name in series.SERIES:
            self.assertEqual(plan(name, "7:x:3"), plan(name, "7:x:3"))

    def test_removal_differs(self):
        for name in series.SERIES:
            for seed in range(50):
                drawn = plan(name, seed)
                self.assertNotEqual(drawn.base, drawn.removed)

    def test_names_fit_with_a_number(self):
        for seed in range(200):
            self.assertLessEqual(len(series.name(random.Random(seed))), 11)


class Labels(unittest.TestCase):
    def test_ratio(self):
        self.assertIsNone(label.judge(plan(), [pair()]))
        self.assertIn("ratio 1.20", label.judge(plan(), [pair(removed=120)]))

    def test_work(self):
        self.assertIn("only 4.0 times", label.judge(plan(), [pair(client=0.25)]))
        self.assertIsNone(label.judge(plan("client-saturated"), [pair(server=0.2, client=1)]))
        self.assertIn("1.0 times", label.judge(plan("client-saturated"), [pair(server=1, client=1)]))

    def test_more_cpu_matters_not(self):
        self.assertIsNone(label.judge(plan("none"), [pair(more_cpu=101)]))
        self.assertIn("moves throughput", label.judge(plan("none"), [pair(more_cpu=110)]))


class Scores(unittest.TestCase):
    known = {"tids": [47]}

    def outcome(self, made, name="serial-thread", known=None):
        return score.score(plan(name), known or self.known, made).outcome

    def test_right(self):
        subject = {"kind": "thread", "id": "tid 47", "name": "web"}
        self.assertEqual(self.outcome(report("cpu", "serial-thread", subject)), "right")

    def test_wrong_thread(self):
        for tid in ("tid 4", "tid 470", ""):
            subject = {"kind": "thread", "id": tid, "name": "web"}
            self.assertEqual(self.outcome(report("cpu", "serial-thread", subject)), "WRONG")
        self.assertEqual(self.outcome(report("cpu", "serial-thread")), "WRONG")

    def test_wrong_cause(self):
        self.assertEqual(self.outcome(report("cpu", "saturated")), "WRONG")
        self.assertEqual(self.outcome(report("none", None)), "WRONG")
        self.assertEqual(self.outcome({}), "WRONG")

    def test_inconclusive_says_why(self):
        made = score.score(plan(), self.known, report("inconclusive", None, None,
                                                      [{"class": "cpu", "cause": "quota", "share": 0.4}]))
        self.assertEqual(made.outcome, "inconclusive")
        self.assertIn("gate losses", made.text)
        self.assertIn("cpu/quota 0.40", made.text)

    def test_lock_by_address(self):
        known = {"addresses": [0x55d0c0ffee00]}
        subject = {"kind": "lock", "id": "0x55d0c0ffee00", "name": "futex"}
        self.assertEqual(self.outcome(report("locking", "user", subject), "locking", known), "right")
        subject["id"] = "0x55d0c0ffee28"
        self.assertEqual(self.outcome(report("locking", "user", subject), "locking", known), "WRONG")

    def test_chain(self):
        known, drawn = {"addresses": [0x10]}, plan("locking-rpc")
        made = report("locking", "user", {"kind": "lock", "id": "0x10", "name": "futex"})
        self.assertEqual(self.outcome(made, "locking-rpc", known), "inconclusive")
        made["verdict"]["chain"] = ["lock 0x10", "its holder waits for the network", f"which {drawn.chain[1][1]}-3 ends"]
        self.assertEqual(self.outcome(made, "locking-rpc", known), "right")

    def test_none_has_no_subject(self):
        self.assertEqual(self.outcome(report("none", None), "none", {}), "right")


if __name__ == "__main__":
    unittest.main()
