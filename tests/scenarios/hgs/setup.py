# SPDX-License-Identifier: GPL-2.0-or-later
"""A server under a cause, its client, and how to start and measure them."""
import contextlib
import dataclasses
import os
import random
import re
import shutil
import socket
import subprocess
import time

from .machine import Container, Network, Process, Skip, threads

THROUGHPUT = re.compile(r"^(?:throughput:|Requests/sec:)\s*([0-9.]+)", re.M)


@dataclasses.dataclass
class Own:
    """hg-server. thread: the comm of the one that is meant to be the limit, or None."""
    options: dict
    thread: str | None = None


@dataclasses.dataclass
class Nginx:
    """Compresses a file for each request. A handshake for each would be work as well, but wrk spins during handshakes
    and then burns more than nginx; so connections with TLS stay open."""
    tls: bool
    workers: int
    level: int  # of gzip; 0: not compressed
    body_bytes: int
    thread = "nginx"


@dataclasses.dataclass
class Client:
    """hg-client with these options, or wrk for nginx."""
    connections: int
    threads: int = 1
    options: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Setup:
    server: Own | Nginx
    client: Client
    server_cpus: str | None = None
    client_cpus: str | None = None
    veth: bool = False
    limited: bool = False           # the server runs in a group of its own,
    quota_percent: int | None = None  # with this quota, or none; so does a container
    period_us: int = 100000
    container: bool = False         # the server runs in one, whose group is the target; with veth it has the server's end
    hog: dict | None = None
    shaper: dict | None = None      # with veth: end (0: what the server sends), rate_mbit, burst_kb, classes
    wire: dict | None = None        # with veth: hg-wire with these options passes the frames
    flood: dict | None = None       # with veth: cpu, the one that receives for the server; steer: another one that does so
                                    # instead, or None; and unless there is none, hg-flood with more options, on the CPU on
    disk: dict | None = None        # journal: bool, iops: of the device below, or None; the server writes to it
    relay: dict | None = None       # hg-relay with these options stands between client and server
    backend: dict | None = None     # the server asks another hg-server with these options

    def but(self, **changes):
        """The same setup with changes; server and client take a dict of changes to their own fields."""
        for part in ("server", "client"):
            if isinstance(changes.get(part), dict):
                old = getattr(self, part)
                new = dict(changes[part])
                if "options" in new:
                    new["options"] = {**old.options, **new["options"]}
                changes[part] = dataclasses.replace(old, **new)
        return dataclasses.replace(self, **changes)


@dataclasses.dataclass
class Result:
    throughput: float
    server_cpus: float  # CPUs busy on average, by schedstat
    client_cpus: float  # by rusage
    seconds: float
    output: str


def flags(options):
    return [f"--{name}={value}" for name, value in options.items() if value is not None]


def need(*programs):
    for name in programs:
        if not shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin"):
            raise Skip(f"{name} is not installed")


class Running:
    """A started setup: the server is up and idle, client_argv(seconds) would load it."""

    def __init__(self, machine, setup):
        self.machine, self.setup = machine, setup
        self.stack = contextlib.ExitStack()
        self.cgroup = self.box = self.hog = self.relay = self.backend = self.wire = None
        self.locks = []
        self.network = machine.wired if setup.wire else machine.flooded if setup.flood else machine.network

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.stack.close()
            raise
        return self

    def __exit__(self, *error):
        self.stack.close()

    def _start(self):
        s, m = self.setup, self.machine
        self.address = "127.0.0.1"
        prefix = []
        if s.veth:
            self.network.start()
            self.address = Network.SERVER
            prefix += self.network.enter(0)
            self.network.shape(0, None, None)
            self.network.shape(1, None, None)
        if s.wire:
            self.wire = Process([*self.network.enter(2), m.program("hg-wire"), *flags(s.wire), "s", "c"], m.groups,
                                ready="ready")
            self.stack.callback(self.wire.close)
        if s.flood:
            self._start_flood(**s.flood)
        if s.server_cpus:
            prefix += ["taskset", "-c", s.server_cpus]
        if s.shaper:
            self.network.shape(**s.shaper)
        leaf = "main"
        if s.limited:
            self.cgroup, leaf = m.groups.quota(s.quota_percent, s.period_us), "limited"
        if s.backend:
            self.backend = self._start_side("hg-server", [f"--address={self.address}", *flags(s.backend)])
        start = self._start_own if isinstance(s.server, Own) else self._start_nginx
        self.server = start(prefix, leaf)
        self.pid = self.server.pid
        if s.relay:
            self.relay = self._start_side("hg-relay", [f"--address={self.address}", f"--server={self.address}",
                                                       f"--server-port={self.port}", *flags(s.relay)])
            self.port = self.relay.port
        if s.hog:
            argv = [m.program("hg-hog"), *flags(s.hog)]
            self.hog = Process(argv, m.groups, ready="ready")
            self.stack.callback(self.hog.close)

    def _start_flood(self, cpu, steer, on, **options):
        network, program = self.network, self.machine.program("hg-flood")
        network.receive_on(0, "eth1", cpu)
        network.receive_on(0, "eth0", cpu if steer is None else steer)
        to = f"--address={network.FLOODED}"
        ends = [(0, ["--sink"]), (1, [f"--queue-cpu={cpu}", f"--cpus={on}", *flags(options)])]
        for end, args in ends if options else []:
            process = Process([*network.enter(end), program, to, *args], self.machine.groups, ready="ready")
            self.stack.callback(process.close)

    def _start_side(self, program, args):
        """A process that is neither target nor client, in the server's namespace; its port is known."""
        m = self.machine
        prefix = self.network.enter(0) if self.setup.veth else []
        process = Process([*prefix, m.program(program), *args], m.groups, ready="port:")
        self.stack.callback(process.close)
        process.port = int(process.lines[-1].split()[1])
        return process

    def _start_own(self, prefix, leaf):
        argv = [*prefix, self.machine.program("hg-server"), f"--address={self.address}", *flags(self.setup.server.options)]
        if self.backend:
            argv += [f"--backend={self.address}", f"--backend-port={self.backend.port}"]
        prepare = None
        if self.setup.disk:
            self.machine.disk.start(**self.setup.disk)
            self.stack.callback(self.machine.disk.close)
            prepare = self.machine.disk.join
            argv += [f"--sync-file={self.machine.disk.mount}/data"]
        server = (self._start_container(argv[len(prefix):]) if self.setup.container else
                  Process(argv, self.machine.groups, leaf, ready="port:", prepare=prepare))
        self.stack.callback(server.close)
        self.locks = [int(line.split()[1], 16) for line in server.lines if line.startswith("lock:")]
        self.port = int(server.lines[-1].split()[1])
        return server

    def _start_container(self, argv):
        s = self.setup
        box = Container(argv, self.machine.directory, self.machine.groups, self.network.names[0] if s.veth else None,
                        s.quota_percent and s.period_us * s.quota_percent // 100, s.period_us)
        self.box, self.cgroup = box.name, f"/{box.name}"
        return box

    def target_argv(self):
        """What record is told to look at."""
        return ["--cgroup", self.box] if self.box else ["-p", str(self.pid)]

    def _start_nginx(self, prefix, leaf):
        need("nginx", "wrk")
        directory = os.path.join(self.machine.directory, "nginx")
        os.makedirs(directory, exist_ok=True)
        self.port = 20000 + os.getpid() % 20000
        config = nginx_config(self.setup.server, directory, f"{self.address}:{self.port}")
        log = self.stack.enter_context(open(f"{directory}/log", "a"))
        server = Process([*prefix, shutil.which("nginx", path="/usr/sbin:/usr/bin:/sbin:/usr/local/sbin"), "-p", directory,
                          "-c", config, "-e", f"{directory}/error.log"], self.machine.groups, leaf, log=log)
        self.stack.callback(server.close)
        wait_listening(self, server)
        return server

    def client_argv(self, seconds):
        s, c, prefix = self.setup, self.setup.client, []
        if s.veth:
            prefix += self.network.enter(1)
        elif s.container:
            prefix += ["nsenter", f"--net=/proc/{self.pid}/ns/net"]
        if isinstance(s.server, Own):
            options = dict(c.options)
            if s.client_cpus:
                options["cpus"] = s.client_cpus
            return [*prefix, self.machine.program("hg-client"), f"--address={self.address}", f"--port={self.port}",
                    f"--connections={c.connections}", f"--threads={c.threads}", f"--duration={seconds:g}",
                    *flags(options)]
        if s.client_cpus:
            prefix += ["taskset", "-c", s.client_cpus]
        return [*prefix, "wrk", f"-t{c.threads}", f"-c{c.connections}", f"-d{round(seconds)}s", "--timeout=10s", "-H",
                "Accept-Encoding: gzip", f"http{'s' if s.server.tls else ''}://{self.address}:{self.port}/text"]

    def limit_tids(self):
        """Threads of the server that are meant to be the limit, by their name; nginx: its workers."""
        if isinstance(self.setup.server, Nginx):
            return [tid for tid in threads(self.pid) if tid != self.pid]
        return [tid for tid, (comm, _) in threads(self.pid).items() if comm == self.setup.server.thread]

    def measure(self, seconds):
        """Runs the client once, untraced."""
        before, begin = threads(self.pid), time.monotonic()
        client = subprocess.Popen(self.client_argv(seconds), stdout=subprocess.PIPE, text=True,
                                  preexec_fn=lambda: self.machine.groups.join(os.getpid()))
        # threads of a thread-per-connection server are gone with the client: look while they are there
        time.sleep(seconds * 0.9)
        after, middle = threads(self.pid), time.monotonic()
        output = client.stdout.read()
        client.stdout.close()
        _, status, usage = os.wait4(client.pid, 0)
        client.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - begin
        found = THROUGHPUT.search(output)
        if client.returncode or not found:
            raise RuntimeError(f"{' '.join(client.args)}: exit {client.returncode}: {output.strip()[-300:]}")
        used = sum(cpu - before.get(tid, ("", 0))[1] for tid, (_, cpu) in after.items())
        return Result(float(found.group(1)), used / (middle - begin),
                      (usage.ru_utime + usage.ru_stime) / wall, wall, output)


def wait_listening(running, server):
    """A connect from the client's side succeeds, or the server has ended."""
    probe = [] if not running.setup.veth else running.network.enter(1)
    for _ in range(100):
        if server.popen.poll() is not None:
            raise RuntimeError(f"{server.argv[-5]} ended: see {running.machine.directory}/nginx/error.log")
        if probe:
            code = f"import socket; socket.create_connection(('{running.address}', {running.port}), 1)"
            if not subprocess.run([*probe, "python3", "-c", code], capture_output=True).returncode:
                return
        else:
            with contextlib.suppress(OSError):
                socket.create_connection((running.address, running.port), 1).close()
                return
        time.sleep(0.05)
    raise RuntimeError(f"nothing listens on {running.address}:{running.port}")


def nginx_config(server, directory, listen):
    """Writes certificate, pages and configuration; returns the configuration's path."""
    os.makedirs(f"{directory}/html", exist_ok=True)
    words = random.Random(1)
    with open(f"{directory}/html/text", "w") as file:
        while file.tell() < server.body_bytes:
            file.write("".join(words.choice("etaoinshrdlu") for _ in range(words.randrange(2, 9))) + " ")
    tls = ""
    if server.tls:
        need("openssl")
        pair = f"{directory}/pair"
        if not os.path.exists(f"{pair}.crt"):
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj",
                            "/CN=localhost", "-keyout", f"{pair}.key", "-out", f"{pair}.crt"], check=True,
                           capture_output=True)
        tls = f"ssl_certificate {pair}.crt; ssl_certificate_key {pair}.key;"
    path = f"{directory}/nginx.conf"
    with open(path, "w") as file:
        file.write(f"""daemon off;
user root;
worker_processes {server.workers};
pid {directory}/pid;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    default_type text/plain;
    keepalive_requests 100000000;
    client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy; fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi; scgi_temp_path {directory}/scgi;
    {f'gzip on; gzip_comp_level {server.level}; gzip_types text/plain;' if server.level else ''}
    server {{
        listen {listen} reuseport{' ssl' if tls else ''};
        {tls}
        root {directory}/html;
    }}
}}
""")
    return path
