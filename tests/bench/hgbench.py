# SPDX-License-Identifier: GPL-2.0-or-later
"""What the measurements share: the load, hourglass as a child, medians."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "scenarios"))
from hgs import machine, setup  # noqa: E402,F401

SKIPPED = 77


def parser(description, seconds):
    p = argparse.ArgumentParser(description=description)
    p.add_argument("--build", help="build directory (default: build or build-debug of this tree)")
    p.add_argument("--duration", type=float, default=seconds, help=f"seconds of a run ({seconds})")
    p.add_argument("--json", metavar="FILE", help="write the figures there")
    p.add_argument("--keep", metavar="DIR", help="keep the recordings there")
    p.add_argument("--check", action="store_true", help="exit 1 when a figure misses its bound")
    return p


def options(p):
    o = p.parse_args()
    root = os.path.realpath(os.path.join(HERE, "..", ".."))
    builds = [o.build] if o.build else [os.path.join(root, b) for b in ("build", "build-debug")]
    o.build = next((os.path.realpath(b) for b in builds if os.path.exists(f"{b}/hourglass")), None)
    if not o.build:
        p.error(f"no hourglass in {' or '.join(builds)}: build first")
    if os.geteuid():
        skip("recording needs root")
    if subprocess.run([f"{o.build}/hourglass", "record", "--help"], capture_output=True).returncode:
        skip("this hourglass cannot record")
    return o


def skip(why):
    print(f"skip: {why}")
    sys.exit(SKIPPED)


def say(text):
    print(text, flush=True)


def nginx_wrk(connections=32):
    """A small page from one nginx worker, by one thread of wrk, each on a CPU of its own."""
    cpus = [str(cpu) for cpu in machine.cpus()]
    return setup.Setup(setup.Nginx(False, 1, 0, 512), setup.Client(connections, 1),
                       server_cpus=cpus[0], client_cpus=cpus[-1])


class Child:
    """hourglass, or what runs it, in the group of the load; its peak memory is read while it lives."""

    def __init__(self, m, argv):
        self.hwm_bytes = 0
        self.popen = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                      preexec_fn=lambda: m.groups.join(os.getpid()))
        self.watch = threading.Thread(target=self._watch, daemon=True)
        self.watch.start()
        self.stdout, self.stderr = self.popen.communicate()
        self.watch.join()
        self.code = self.popen.returncode

    def _watch(self):
        # not ru_maxrss: that also counts what the process was before exec
        while self.popen.poll() is None:
            try:
                with open(f"/proc/{self.popen.pid}/status") as status:
                    for line in status:
                        if line.startswith("VmHWM:"):
                            self.hwm_bytes = max(self.hwm_bytes, int(line.split()[1]) * 1024)
            except OSError:
                return
            time.sleep(0.2)

    def check(self, *codes):
        if self.code not in (codes or (0,)):
            raise RuntimeError(f"{' '.join(self.popen.args)}: exit {self.code}: {self.stderr.strip()[-500:]}")
        return self


def hourglass(o, *args):
    return [f"{o.build}/hourglass", *args]


def info(o, path):
    made = subprocess.run(hourglass(o, "info", path, "--format", "json"), capture_output=True, text=True)
    if made.returncode:
        raise RuntimeError(f"info: exit {made.returncode}: {made.stderr.strip()[-300:]}")
    return json.loads(made.stdout)


def lost(found):
    """Losses in info's JSON: a number, or one for each probe."""
    value = found.get("lost", 0)
    if isinstance(value, dict):
        return sum(v for v in value.values() if isinstance(v, (int, float)))
    if isinstance(value, list):
        return sum(v.get("count", 0) for v in value)
    return value


def spread(values):
    """median (least .. most)"""
    return f"{statistics.median(values):.2f} ({min(values):.2f} .. {max(values):.2f})"


def finish(o, figures, bounds):
    """Writes the JSON; bounds: [(name, value, limit)], value must not be above limit."""
    if o.json:
        with open(o.json, "w") as file:
            json.dump(figures, file, indent=1)
    missed = [f"{name}: {value:.3g}, bound {limit:g}" for name, value, limit in bounds if not value <= limit]
    for text in missed:
        say(f"missed: {text}")
    sys.exit(1 if missed and o.check else 0)
