#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports against docs/report.schema.json, and the text's figures against the JSON's.

usage: report_schema.py PROGRAM SCHEMA
PROGRAM --write DIR writes DIR/NAME.txt and DIR/NAME.json of each case. Exit code 77: skipped.
"""
import copy
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print("skip: the Python module jsonschema is missing (python3-jsonschema)")
    sys.exit(77)


def no_constants(word):
    raise ValueError("%s is not JSON" % word)


def load(path):
    with open(path, encoding="ascii") as f:
        return json.load(f, parse_constant=no_constants)


def flat(path):
    """The text without its line breaks: figures may be wrapped."""
    with open(path, encoding="utf-8") as f:
        return re.sub(r"\s+", " ", f.read())


def percent(value):
    return "%.1f %%" % (100 * value)


def rate(value, unit):
    """Bits have a prefix in the text."""
    if not unit.startswith("bit") or value < 1000:
        return "%.1f %s" % (value, unit)
    prefix = ""
    for prefix in "kMGT":
        value /= 1000
        if value < 999.995:
            break
    return "%.2f %s%s" % (value, prefix, unit)


def figures(report):
    """What the text must show of a report."""
    v = report["verdict"]
    limit = v["class"] not in ("none", "inconclusive", "unknown")
    if limit and v["share"] is not None:
        yield percent(v["share"])
        if v["share_low"] is not None:
            yield "(%.1f to %.1f %%)" % (100 * v["share_low"], 100 * v["share_high"])
    if limit and v["saturation"] is not None:
        yield percent(v["saturation"])
    yield "confidence " + v["confidence"]
    yield "%s/%s" % (v["class"], v["cause"]) if v["cause"] else "VERDICT: " + v["class"]
    t = report["throughput"]
    if t is not None and "\x1b" not in t["unit"]:
        yield rate(t["value"], t["unit"])
        if report["efficiency"]["per_cpu"] is not None:
            yield rate(report["efficiency"]["per_cpu"], t["unit"]) + " per busy CPU"
    for w in report["what_if"]:
        if w["gain_at_most"] is not None:
            yield "at most +%.1f %%" % (100 * w["gain_at_most"])
    q = report["quality"]
    yield "%d recorded in the window, %d lost" % (q["events"], q["lost_total"])
    for n in q["lost"].values():
        yield "%d of " % n
    for gate in q["gates"]:
        yield "%s %s:" % ("ok" if gate["passed"] else "FAILED", gate["name"])
    for role in "target", "client":
        rows = [lane for lane in report["lanes"] if lane["role"] == role]
        wall = sum(lane["wall_ns"] for lane in rows)
        if not rows:
            continue
        yield "%.3f s 100.0" % (wall / 1e9)
        names = {s for lane in rows for s in lane["states"]}
        for name in names:
            ns = sum(lane["states"].get(name, 0) for lane in rows)
            if ns:
                yield "%.3f s %.1f" % (ns / 1e9, 100 * ns / wall)
        for lane in rows:
            run = sum(ns for s, ns in lane["states"].items() if s in ("running", "running.user", "running.kernel"))
            name = lane["name"] if lane["name"].isalnum() and len(lane["name"]) < 16 else ""
            if name:
                yield "%s %s %s %.2f %.1f" % (role, name, lane["id"], lane["wall_ns"] / 1e9, 100 * run / lane["wall_ns"])


def objects(value, path=()):
    """Every object of a report, with its path."""
    if isinstance(value, dict):
        yield path, value
        for k in value:
            yield from objects(value[k], path + (k,))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from objects(item, path + (i,))


def at(value, path):
    for p in path:
        value = value[p]
    return value


def spoil(report, validator, free):
    """A schema that takes anything proves nothing: each key that is missing or of another type must be refused."""
    tried = 0
    for path, obj in objects(report):
        if any(path[:len(f)] == f for f in free):
            continue
        for key in obj:
            for change in "missing", "wrong type", "unknown key":
                bad = copy.deepcopy(report)
                target = at(bad, path)
                if change == "missing":
                    del target[key]
                elif change == "unknown key":
                    target["no such " + key] = 1
                else:
                    target[key] = [[]]
                if validator.is_valid(bad):
                    sys.exit("the schema takes a report with %s: %s.%s" % (change, path, key))
                tried += 1
    return tried


def main():
    program, schema_path = sys.argv[1:]
    with open(schema_path, encoding="utf-8") as f:
        schema = json.load(f)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([program, "--write", out], check=True)
        paths = sorted(glob.glob(os.path.join(out, "*.json")))
        if not paths:
            sys.exit("%s wrote no report" % program)
        for path in paths:
            report, text = load(path), flat(path[:-5] + ".txt")
            validator.validate(report)
            wanted = list(figures(report))
            for figure in wanted:
                if figure not in text:
                    sys.exit("%s: the text lacks %r" % (os.path.basename(path), figure))
            print("%s: valid, %d figures as in the text" % (os.path.basename(path), len(wanted)))
        free = [("environment",), ("quality", "lost"), ("quality", "clock"), ("footprint", "rss_bytes")]
        report = load(os.path.join(out, "serial-thread.json"))
        # states have optional keys; a lane's other keys are tried in lane 0
        free += [("lanes", i, "states") for i in range(len(report["lanes"]))]
        print("%d spoilt reports refused" % spoil(report, validator, free))


if __name__ == "__main__":
    main()
