# SPDX-License-Identifier: GPL-2.0-or-later
"""What a scenario takes from the machine and gives back: control groups, network namespaces, processes.

Everything carries this process's id in its name and is removed by that name; processes are ended by their pid.
"""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time


class Skip(Exception):
    """Something that the series needs is missing; the text says what."""


def cpus():
    return sorted(os.sched_getaffinity(0))


class CpuGroups:
    """A cpu control group of our own, v1 or v2: a leaf `main`, one for this process, and, when asked for, one with a quota.

    The group outweighs everything else on the machine, so that a compiler in the background is not the limit of a
    benchmark; inside of it a server and a hog are equals, which autogroup (one group per session) would not promise.
    This process moves in as well: it must wake up in time to read the counters of a saturated machine.
    """

    LEAVES = ("main", "harness", "limited")

    def __init__(self):
        self.mount, self.v2 = self._find()
        self.root = None
        if not self.mount:
            return
        self.home = self._home()
        root = os.path.join(self.mount, f"hgs-{os.getpid()}")
        try:
            if self.v2:
                self._write(os.path.join(self.mount, "cgroup.subtree_control"), "+cpu")
            os.mkdir(root)
            self.root = root
            self._write(*((f"{root}/cpu.weight", "10000") if self.v2 else (f"{root}/cpu.shares", "262144")))
            if self.v2:
                self._write(f"{root}/cgroup.subtree_control", "+cpu")
            for leaf in self.LEAVES[:2]:
                os.mkdir(f"{root}/{leaf}")
            self.join(os.getpid(), "harness")
        except OSError:
            self.close()

    @staticmethod
    def _find():
        v2 = None
        with open("/proc/mounts") as mounts:
            for line in mounts:
                _, where, kind, options = line.split()[:4]
                if kind == "cgroup" and "cpu" in options.split(","):
                    return where, False
                if kind == "cgroup2":
                    v2 = v2 or where
        return v2, True

    def _home(self):
        with open("/proc/self/cgroup") as file:
            for line in file:
                number, controllers, path = line.rstrip("\n").split(":", 2)
                if number == "0" if self.v2 else "cpu" in controllers.split(","):
                    return self.mount + path.rstrip("/")
        return self.mount

    @staticmethod
    def _write(path, text):
        with open(path, "w") as file:
            file.write(text)

    def join(self, pid, leaf="main"):
        if self.root:
            self._write(f"{self.root}/{leaf}/cgroup.procs", str(pid))

    def quota(self, percent, period_us):
        """A leaf with a quota of so many per cent of one CPU; None: without limit. Returns its path below the mount."""
        if not self.root:
            raise Skip("no cpu control group can be made here")
        leaf = f"{self.root}/limited"
        os.makedirs(leaf, exist_ok=True)
        quota = int(period_us * percent / 100) if percent else None
        if self.v2:
            self._write(f"{leaf}/cpu.max", f"{quota or 'max'} {period_us}")
        else:
            self._write(f"{leaf}/cpu.cfs_quota_us", "-1")
            self._write(f"{leaf}/cpu.cfs_period_us", str(period_us))
            self._write(f"{leaf}/cpu.cfs_quota_us", str(quota or -1))
        return leaf[len(self.mount):]

    def close(self):
        root, self.root = self.root, None
        if not root:
            return
        with contextlib.suppress(OSError):
            self._write(f"{self.home}/cgroup.procs", str(os.getpid()))
        for path in [f"{root}/{leaf}" for leaf in self.LEAVES] + [root]:
            for _ in range(50):  # a group is busy until its last task is reaped
                try:
                    os.rmdir(path)
                except FileNotFoundError:
                    break
                except OSError:
                    time.sleep(0.02)
                    continue
                break


class Network:
    """Two network namespaces with a veth pair between them: server's and client's."""

    SERVER, CLIENT = "10.199.77.1", "10.199.77.2"

    def __init__(self):
        self.names = [f"hgs{os.getpid()}{end}" for end in "sc"]
        self.up = False

    def start(self):
        if self.up:
            return
        server, client = self.names
        self.up = True
        for name in self.names:
            self._ip("netns", "add", name)
        self._ip("-n", server, "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", client)
        for name, address in ((server, self.SERVER), (client, self.CLIENT)):
            self._ip("-n", name, "addr", "add", f"{address}/24", "dev", "eth0")
            self._ip("-n", name, "link", "set", "eth0", "up")
            self._ip("-n", name, "link", "set", "lo", "up")

    @staticmethod
    def _ip(*args):
        done = subprocess.run(["ip", *args], capture_output=True, text=True)
        if done.returncode:
            raise Skip(f"ip {' '.join(args)}: {done.stderr.strip()}")

    def shape(self, end, rate_mbit, burst_kb, classes=False):
        """What this end sends passes a token bucket, or the class of an htb below one of thrice the rate; None: no longer."""
        self.start()
        self._tc(end, "qdisc", "del", "root", may_fail=True)
        if not rate_mbit:
            return
        if not classes:
            self._tc(end, "qdisc", "add", "root", "tbf", "rate", f"{rate_mbit}mbit", "burst", f"{burst_kb}kb", "latency",
                     "100ms")
            return
        self._tc(end, "qdisc", "add", "root", "handle", "1:", "htb", "default", "10")
        for parent, name, ceil in (("1:", "1:1", 3 * rate_mbit), ("1:1", "1:10", rate_mbit)):
            self._tc(end, "class", "add", "parent", parent, "classid", name, "htb", "rate", f"{ceil // 2}mbit", "ceil",
                     f"{ceil}mbit", "burst", f"{burst_kb}kb", "cburst", f"{burst_kb}kb", "quantum", "20000")

    def _tc(self, end, kind, verb, *args, may_fail=False):
        argv = ["tc", "-n", self.names[end], kind, verb, "dev", "eth0", *args]
        done = subprocess.run(argv, capture_output=True, text=True)
        if done.returncode and not may_fail:
            raise Skip(f"{' '.join(argv)}: {done.stderr.strip()}")

    def inode(self, end):
        return os.stat(f"/run/netns/{self.names[end]}").st_ino

    def enter(self, end):
        return ["nsenter", f"--net=/run/netns/{self.names[end]}"]

    def close(self):
        for name in self.names if self.up else ():
            subprocess.run(["ip", "netns", "del", name], capture_output=True)
        self.up = False


class WiredNetwork(Network):
    """The same two namespaces, but with a third one between them, in which hg-wire passes the frames."""

    def __init__(self):
        super().__init__()
        self.names = [f"hgw{os.getpid()}{end}" for end in "scm"]

    def start(self):
        if self.up:
            return
        self.up = True
        for name in self.names:
            self._ip("netns", "add", name)
        for name, address, port in zip(self.names, (self.SERVER, self.CLIENT), "sc"):
            self._ip("-n", name, "link", "add", "eth0", "type", "veth", "peer", "name", port, "netns", self.names[2])
            self._ip("-n", name, "addr", "add", f"{address}/24", "dev", "eth0")
            self._ip("-n", name, "link", "set", "eth0", "up")
            self._ip("-n", name, "link", "set", "lo", "up")
            self._ip("-n", self.names[2], "link", "set", port, "up")


class FloodedNetwork(Network):
    """The same two namespaces with a second veth pair for a flood, and a say in which CPU receives (RPS)."""

    FLOODED = "10.199.78.1"

    def __init__(self):
        super().__init__()
        self.names = [f"hgf{os.getpid()}{end}" for end in "sc"]

    def start(self):
        if self.up:
            return
        super().start()
        server, client = self.names
        self._ip("-n", server, "link", "add", "eth1", "type", "veth", "peer", "name", "eth1", "netns", client)
        for name, address in ((server, self.FLOODED), (client, "10.199.78.2")):
            self._ip("-n", name, "addr", "add", f"{address}/24", "dev", "eth1")
            self._ip("-n", name, "link", "set", "eth1", "up")

    def receive_on(self, end, device, cpu):
        """What this end's device receives is handed to this CPU."""
        path = f"/sys/class/net/{device}/queues/rx-0/rps_cpus"
        mask = f"{1 << cpu % 32:x}" + cpu // 32 * ",00000000"
        # sysfs shows the devices of the namespace in which it was mounted: a mount of one's own
        code = f"mount -t sysfs none /sys && echo {mask} > {path}"
        done = subprocess.run([*self.enter(end), "unshare", "--mount", "sh", "-c", code], capture_output=True, text=True)
        if done.returncode:
            raise Skip(f"RPS of {device} cannot be set: {done.stderr.strip()}")


class Disk:
    """A file system of our own on a loop device, whose file's device is throttled for a blkio control group (v1) of our own.

    The device below counts only what passes the throttle, so the loop device is the slow one.
    """

    def __init__(self, directory):
        self.base = os.path.join(directory, f"disk-{os.getpid()}")
        self.mount, self.image = f"{self.base}/mount", f"{self.base}/image"
        self.loop = self.group = None

    def start(self, journal, iops):
        self.close()
        os.makedirs(self.mount)
        with open(self.image, "wb") as file:
            for _ in range(32):
                file.write(bytes(1 << 20))
            os.fsync(file.fileno())
        self.loop = self._run("losetup", "-f", "--show", "--direct-io=on", self.image)
        self._run("mkfs.ext4", "-q", *([] if journal else ["-O", "^has_journal"]), self.loop)
        self._run("mount", self.loop, self.mount)
        if not iops:
            return
        root = "/sys/fs/cgroup/blkio"
        if not os.path.exists(f"{root}/cgroup.procs"):
            raise Skip("no blkio control groups of version 1")
        group = f"{root}/hgs-{os.getpid()}"
        os.makedirs(group, exist_ok=True)
        self.group = group
        device = os.stat(self.image).st_dev
        try:
            with open(f"{group}/blkio.throttle.write_iops_device", "w") as file:
                file.write(f"{os.major(device)}:{os.minor(device)} {iops}")
        except OSError as error:
            raise Skip(f"the device of {self.image} cannot be throttled: {error}") from error

    @staticmethod
    def _run(*argv):
        try:
            done = subprocess.run(argv, capture_output=True, text=True)
        except FileNotFoundError as error:
            raise Skip(f"{argv[0]} is not installed") from error
        if done.returncode:
            raise Skip(f"{' '.join(argv)}: {done.stderr.strip()}")
        return done.stdout.strip()

    def join(self, pid):
        if self.group:
            with open(f"{self.group}/cgroup.procs", "w") as file:
                file.write(str(pid))

    def close(self):
        if self.loop:
            for argv in (["umount", self.mount], ["losetup", "-d", self.loop]):
                subprocess.run(argv, capture_output=True)
        if self.group:
            for _ in range(50):
                try:
                    os.rmdir(self.group)
                    break
                except OSError:
                    time.sleep(0.02)
        self.loop = self.group = None
        shutil.rmtree(self.base, ignore_errors=True)


class Process:
    """A child in a control group, with its first lines of output; ended by its pid."""

    def __init__(self, argv, groups, leaf="main", ready=None, log=None, prepare=None):
        self.argv, self.lines = argv, []
        self.popen = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE if ready else log or subprocess.DEVNULL,
            stderr=log or None, text=True,
            preexec_fn=lambda: (groups.join(os.getpid(), leaf), prepare and prepare(os.getpid())))
        self.pid = self.popen.pid
        while ready:
            line = self.popen.stdout.readline()
            if not line:
                self.popen.wait()
                raise RuntimeError(f"{argv[0]} ended before it was ready")
            self.lines.append(line.strip())
            if line.startswith(ready):
                break

    def close(self):
        if self.popen.poll() is None:
            self.popen.send_signal(signal.SIGTERM)
            try:
                self.popen.wait(3)
            except subprocess.TimeoutExpired:
                self.popen.kill()
                self.popen.wait()
        if self.popen.stdout:
            self.popen.stdout.close()


class Container(Process):
    """A program in a container of its own: PID, mount and network namespace, a control group with or without a quota.

    Its file system holds the program and its libraries, nothing else. network: that of /run/netns, as a pod has it that
    others have set up; None: a new one, which has lo only. pid is the program's in this PID namespace.
    """

    WEIGHT = 262144  # as that of CpuGroups: other load on the machine does not count

    def __init__(self, argv, directory, groups, network=None, quota_us=None, period_us=100000, ready="port:"):
        self.runtime = next((r for r in ("runc", "crun") if shutil.which(r)), None)
        if not self.runtime:
            raise Skip("neither runc nor crun is installed")
        self.name, self.bundle = f"hgs-{os.getpid()}-box", os.path.join(directory, f"box-{os.getpid()}")
        shutil.rmtree(self.bundle, ignore_errors=True)
        self._fill(argv[0])
        self._specify(["/bin/program", *argv[1:]], network, quota_us and {"quota": quota_us, "period": period_us})
        try:
            super().__init__([self.runtime, "run", "--bundle", self.bundle, self.name], groups, ready=ready)
            state = subprocess.run([self.runtime, "state", self.name], capture_output=True, text=True, check=True)
            self.pid = json.loads(state.stdout)["pid"]
        except (RuntimeError, subprocess.CalledProcessError) as error:
            self._remove()
            raise Skip(f"{self.runtime} starts no container here: {error}") from error

    def _fill(self, program):
        root = f"{self.bundle}/rootfs"
        for name in ("bin", "proc", "dev", "sys"):
            os.makedirs(f"{root}/{name}")
        shutil.copy(program, f"{root}/bin/program")
        libraries = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        for path in (word for word in libraries.split() if word.startswith("/")):
            os.makedirs(root + os.path.dirname(path), exist_ok=True)
            shutil.copy(path, root + path)

    def _specify(self, argv, network, bandwidth):
        subprocess.run([self.runtime, "spec", "--bundle", self.bundle], check=True)
        with open(f"{self.bundle}/config.json") as file:
            spec = json.load(file)
        spec["process"].update(terminal=False, args=argv)
        linux = spec["linux"]
        linux["cgroupsPath"] = f"/{self.name}"
        linux.setdefault("resources", {})["cpu"] = {"shares": self.WEIGHT, **(bandwidth or {})}
        if network:
            next(n for n in linux["namespaces"] if n["type"] == "network")["path"] = f"/run/netns/{network}"
        with open(f"{self.bundle}/config.json", "w") as file:
            json.dump(spec, file)

    def _remove(self):
        subprocess.run([self.runtime, "delete", "--force", self.name], capture_output=True)
        shutil.rmtree(self.bundle, ignore_errors=True)

    def close(self):
        self._remove()
        super().close()


def tree(pid):
    """The process and its descendants."""
    found = [pid]
    for parent in found:
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{parent}/task"):
                with open(f"/proc/{parent}/task/{task}/children") as children:
                    found += [int(child) for child in children.read().split()]
    return found


def threads(pid):
    """{tid: (comm, CPU seconds so far)} of a process tree, by schedstat."""
    found = {}
    for process in tree(pid):
        with contextlib.suppress(OSError):
            for tid in os.listdir(f"/proc/{process}/task"):
                base = f"/proc/{process}/task/{tid}"
                with open(f"{base}/comm") as comm, open(f"{base}/schedstat") as stat:
                    found[int(tid)] = (comm.read().rstrip("\n"), int(stat.read().split()[0]) / 1e9)
    return found


def cpu_seconds(pid):
    """CPU used so far by a process tree, with threads that have ended."""
    ticks = 0
    for process in tree(pid):
        with contextlib.suppress(OSError):
            with open(f"/proc/{process}/stat") as stat:
                ticks += sum(int(field) for field in stat.read().rpartition(")")[2].split()[11:13])
    return ticks / os.sysconf("SC_CLK_TCK")


def busy_seconds():
    """CPU time of the whole machine so far that was not idle."""
    with open("/proc/stat") as stat:
        fields = [int(field) for field in stat.readline().split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def wait_quiet(limit_s, cpus_busy=0.1):
    """Waits until the machine is as good as idle for a second, at most so long. Returns the CPUs last seen busy."""
    end = time.monotonic() + limit_s
    while True:
        before, begin = busy_seconds(), time.monotonic()
        time.sleep(1)
        busy = (busy_seconds() - before) / (time.monotonic() - begin)
        if busy <= cpus_busy or time.monotonic() >= end:
            return busy


class Machine:
    """All of the above, and a directory for files; a context manager."""

    def __init__(self, build, keep=None):
        self.build = build
        self.stack = contextlib.ExitStack()
        self.groups = CpuGroups()
        self.stack.callback(self.groups.close)
        self.network = Network()
        self.stack.callback(self.network.close)
        self.wired = WiredNetwork()
        self.stack.callback(self.wired.close)
        self.flooded = FloodedNetwork()
        self.stack.callback(self.flooded.close)
        self.stack.callback(lambda: self.disk.close())
        if keep:
            os.makedirs(keep, exist_ok=True)
            self.directory = keep
        else:
            self.directory = self.stack.enter_context(tempfile.TemporaryDirectory(prefix="hgs-"))

        self.disk = Disk(self.directory)

    def program(self, name):
        return os.path.join(self.build, "tests", "programs", name)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.stack.close()
