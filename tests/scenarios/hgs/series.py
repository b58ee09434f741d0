# SPDX-License-Identifier: GPL-2.0-or-later
"""The series: each draws a setup under one cause, and the same setup without it.

A function takes a random.Random and the list of CPUs and returns a Plan. Everything that the label does not depend on
is drawn: names, thread counts, request costs, placement, loopback or veth.
"""
import dataclasses

from .setup import Client, Nginx, Own, Setup

ADJECTIVES = "amber brisk calm dusty eager fuzzy grand hazy ivory jolly keen lunar mossy noble".split()
NOUNS = "acorn basil cedar delta ember fjord grove heron inlet juno kelp lotus maple onyx".split()


@dataclasses.dataclass
class Plan:
    base: Setup
    removed: Setup
    class_name: str
    cause: str | None
    removal: str           # what removed does, in words
    subject: str | None    # thread, cpus, cgroup, competitor, lock, klock, relay, link, path, receiver, disk, client, or None
    work: str | None = None  # "server": its CPU >= 5 times the client's; "client": its CPU > the server's
    more_cpu: Setup | None = None  # none only: with less work per request throughput must stay
    caller: tuple = ()     # klock: one of these is in the name of the kernel's function that takes the lock
    chain: tuple = ()      # words that the verdict's chain must hold; a tuple of words: one of them


def name(rng):
    """A comm: at most 11 bytes, so that a number fits behind it."""
    return (rng.choice(ADJECTIVES)[:4] + rng.choice("-_.") + rng.choice(NOUNS))[:11]


def names(rng, count):
    found = []
    while len(found) < count:
        one = name(rng)
        if one not in found:
            found.append(one)
    return found


def one_cpu(rng, cpus):
    return str(rng.choice(cpus))


def maybe_pinned(rng, cpus):
    """Client placement that cannot become the limit: anywhere, or one CPU of several."""
    return rng.choice([None, one_cpu(rng, cpus)])


def serial_thread(rng, cpus):
    process, loops, workers, client = names(rng, 4)
    burn = rng.randrange(200, 500)
    if rng.random() < 0.5:  # one event loop does it all
        options = {"model": "loop", "loops": 1, "burn-us": burn}
        more, thread = {"loops": 2}, process
    elif rng.random() < 0.5:  # the loop in front of the workers
        options = {"model": "pool", "loops": 1, "workers": rng.randrange(2, 7), "loop-burn-us": burn, "burn-us": 10}
        more, thread = {"loops": 2}, process
    else:  # the only worker behind the loop
        options = {"model": "pool", "loops": 1, "workers": 1, "burn-us": burn, "loop-burn-us": 5}
        more, thread = {"workers": 2}, f"{workers}-0"
    options |= {"name": process, "thread-name": loops, "worker-name": workers}
    base = Setup(Own(options, thread), Client(rng.choice([8, 16, 24]), rng.choice([1, 2]), {"name": client}),
                 client_cpus=maybe_pinned(rng, cpus), veth=rng.random() < 0.5)
    return Plan(base, base.but(server={"options": more}), "cpu", "serial-thread", "a second thread does the same work",
                "thread", "server")


def serial_thread_nginx(rng, cpus):
    nginx = Nginx(rng.random() < 0.5, 1, rng.randrange(6, 10), rng.randrange(64, 256) * 1024)
    base = Setup(nginx, Client(rng.choice([8, 16]), rng.choice([1, 2])), client_cpus=maybe_pinned(rng, cpus),
                 veth=rng.random() < 0.5)
    return Plan(base, base.but(server={"workers": 2}), "cpu", "serial-thread", "two workers", "thread", "server")


def saturated(rng, cpus):
    process, loops, workers, client = names(rng, 4)
    burn, count = rng.randrange(250, 500), rng.randrange(len(cpus), 2 * len(cpus) + 1)
    options = {"model": rng.choice(["loop", "connection", "pool"]), "burn-us": burn, "name": process,
               "thread-name": loops, "worker-name": workers}
    options["workers" if options["model"] == "pool" else "loops"] = count
    base = Setup(Own(options), Client(4 * count, 1, {"name": client}), veth=rng.random() < 0.5)
    return Plan(base, base.but(server={"options": {"burn-us": burn / 2}}), "cpu", "saturated",
                "half the CPU per request", None, "server")


def affinity(rng, cpus):
    process, loops, workers, client = names(rng, 4)
    own, others = cpus[0::2], cpus[1::2]
    if rng.random() < 0.5:
        own, others = others, own
    options = {"model": rng.choice(["loop", "pool", "connection"]), "burn-us": rng.randrange(100, 400), "name": process,
               "thread-name": loops, "worker-name": workers}
    options["workers" if options["model"] == "pool" else "loops"] = rng.randrange(2 * len(cpus), 3 * len(cpus) + 1)
    base = Setup(Own(options), Client(rng.choice([16, 24]), rng.choice([1, 2]), {"name": client}),
                 server_cpus=",".join(map(str, own)), client_cpus=rng.choice([None, str(rng.choice(others))]),
                 veth=rng.random() < 0.5)
    return Plan(base, base.but(server_cpus=None), "cpu", "affinity", "all CPUs allowed", "cpus", "server")


def quota(rng, cpus):
    process, loops, workers, client = names(rng, 4)
    count = rng.randrange(1, 3)
    options = {"model": rng.choice(["loop", "pool"]), "burn-us": rng.randrange(100, 300), "name": process,
               "thread-name": loops, "worker-name": workers}
    options["workers" if options["model"] == "pool" else "loops"] = count
    base = Setup(Own(options), Client(rng.choice([8, 16]), 1, {"name": client}), client_cpus=maybe_pinned(rng, cpus),
                 veth=rng.random() < 0.5, limited=True, quota_percent=30, period_us=rng.choice([50000, 100000]))
    return Plan(base, base.but(quota_percent=None), "cpu", "quota", "no quota", "cgroup")


def quota_nginx(rng, cpus):
    nginx = Nginx(rng.random() < 0.5, rng.randrange(1, 3), rng.randrange(4, 7), rng.randrange(16, 64) * 1024)
    base = Setup(nginx, Client(rng.choice([8, 16]), 1), client_cpus=maybe_pinned(rng, cpus), veth=rng.random() < 0.5,
                 limited=True, quota_percent=30)
    return Plan(base, base.but(quota_percent=None), "cpu", "quota", "no quota", "cgroup")


def competitor(rng, cpus):
    process, loops, hog, client = names(rng, 4)
    shared = rng.choice(cpus)
    others = [cpu for cpu in cpus if cpu != shared]
    options = {"model": "loop", "loops": 1, "burn-us": rng.randrange(100, 300), "name": process, "thread-name": loops}
    base = Setup(Own(options), Client(rng.choice([8, 16]), 1, {"name": client}), server_cpus=str(shared),
                 client_cpus=one_cpu(rng, others) if others else None, veth=rng.random() < 0.5,
                 hog={"name": hog, "cpus": str(shared)})
    return Plan(base, base.but(hog=None), "cpu", "competitor", "without the hog", "competitor")


def locking(rng, cpus):
    process, loops, client = names(rng, 3)
    hold = rng.randrange(300, 2000)
    options = {"model": "connection", "burn-us": rng.randrange(5, 30), "lock-sleep-us": hold, "name": process,
               "thread-name": loops}
    base = Setup(Own(options), Client(rng.randrange(4, 17), rng.choice([1, 2]), {"name": client}),
                 client_cpus=maybe_pinned(rng, cpus), veth=rng.random() < 0.5)
    return Plan(base, base.but(server={"options": {"lock-sleep-us": 0, "sleep-us": hold}}), "locking", "user",
                "the same sleep without the lock", "lock")


def locking_hot(rng, cpus):
    process, loops, client = names(rng, 3)
    connections = rng.randrange(6, 17)
    # held once for long enough to be seen, or many times for a moment
    times, hold = rng.choice([(1, rng.randrange(80, 200)), (rng.randrange(8, 17), rng.randrange(8, 16))])
    options = {"model": "connection", "burn-us": rng.randrange(2, 8), "lock-burn-us": hold, "lock-times": times,
               "locks": 1, "name": process, "thread-name": loops}
    base = Setup(Own(options), Client(connections, rng.choice([1, 2]), {"name": client}),
                 client_cpus=maybe_pinned(rng, cpus), veth=rng.random() < 0.5)
    return Plan(base, base.but(server={"options": {"locks": connections}}), "locking", "user",
                "a lock for each connection", "lock")


def locking_rpc(rng, cpus):
    process, loops, client, backend, serving = names(rng, 5)
    options = {"model": "connection", "burn-us": rng.randrange(5, 30), "backend-locked": 1, "name": process,
               "thread-name": loops}
    behind = {"model": "connection", "sleep-us": rng.randrange(300, 2000), "burn-us": rng.randrange(5, 30),
              "name": backend, "thread-name": serving}
    base = Setup(Own(options), Client(rng.randrange(4, 17), rng.choice([1, 2]), {"name": client}), backend=behind,
                 client_cpus=maybe_pinned(rng, cpus), veth=rng.random() < 0.5)
    return Plan(base, base.but(server={"options": {"backend-locked": 0}}), "locking", "user",
                "the same call without the lock", "lock", chain=("network", (backend, serving)))


def relay(rng, cpus):
    process, loops, workers, client, between, further = names(rng, 6)
    options = {"model": rng.choice(["loop", "pool", "connection"]), "burn-us": rng.randrange(5, 15), "loops": 1,
               "workers": 2, "name": process, "thread-name": loops, "worker-name": workers}
    base = Setup(Own(options), Client(rng.choice([8, 16, 24]), 1, {"name": client}), veth=rng.random() < 0.5,
                 relay={"burn-us": rng.randrange(60, 150), "threads": 1, "name": between, "thread-name": further})
    # a second thread would help as well, but on two CPUs server and client need the rest of them
    removed = base.but(relay=base.relay | {"burn-us": base.relay["burn-us"] / 2})
    return Plan(base, removed, "net", "vmm-io-thread", "half the relay's CPU per piece", "relay")


def link_shaper(rng, cpus):
    process, loops, workers, client = names(rng, 4)
    options = {"model": rng.choice(["loop", "pool", "connection"]), "burn-us": rng.randrange(5, 30), "loops": 1,
               "workers": 2, "size": rng.randrange(8, 49) * 1024, "name": process, "thread-name": loops,
               "worker-name": workers}
    shaper = {"end": rng.choice([0, 1]), "rate_mbit": rng.randrange(80, 240), "burst_kb": rng.choice([32, 64, 128]),
              "classes": rng.random() < 0.5}
    base = Setup(Own(options), Client(rng.choice([8, 16, 24]), 1, {"name": client, "size": options["size"]}),
                 client_cpus=maybe_pinned(rng, cpus), veth=True, shaper=shaper)
    return Plan(base, base.but(shaper=None), "net", "link-shaper", "no shaper", "link")


def container_shaper(rng, cpus):
    plan = link_shaper(rng, cpus)
    shaper = plan.base.shaper | {"end": 0}  # in the container's own namespace
    return dataclasses.replace(plan, base=plan.base.but(container=True, shaper=shaper),
                               removed=plan.removed.but(container=True))


def container_quota(rng, cpus):
    plan = quota(rng, cpus)
    return dataclasses.replace(plan, base=plan.base.but(container=True, limited=False),
                               removed=plan.removed.but(container=True, limited=False))


def container_serial(rng, cpus):
    plan = serial_thread(rng, cpus)
    return dataclasses.replace(plan, base=plan.base.but(container=True), removed=plan.removed.but(container=True))


def rtt_window(rng, cpus):
    process, loops, workers, client, wire = names(rng, 5)
    options = {"model": rng.choice(["loop", "pool", "connection"]), "burn-us": rng.randrange(10, 60), "loops": 1,
               "workers": 2, "size": rng.choice([64, 512, 4096]), "name": process, "thread-name": loops,
               "worker-name": workers}
    base = Setup(Own(options), Client(rng.randrange(2, 17), 1, {"name": client, "size": options["size"]}),
                 client_cpus=maybe_pinned(rng, cpus), veth=True, wire={"delay-us": 5000, "name": wire})
    return Plan(base, base.but(wire=base.wire | {"delay-us": 100}), "net", "rtt-window", "a fiftieth of the delay", "path")


def drops(rng, cpus):
    process, loops, workers, client, wire = names(rng, 5)
    options = {"model": rng.choice(["loop", "pool", "connection"]), "burn-us": rng.randrange(10, 60), "loops": 1,
               "workers": 2, "size": rng.choice([64, 512, 1024]), "name": process, "thread-name": loops,
               "worker-name": workers}
    base = Setup(Own(options), Client(rng.randrange(2, 9), 1, {"name": client, "size": options["size"]}),
                 client_cpus=maybe_pinned(rng, cpus), veth=True,
                 wire={"delay-us": rng.randrange(20, 200), "lose": rng.randrange(20, 80), "name": wire})
    return Plan(base, base.but(wire=base.wire | {"lose": 0}), "net", "drops", "nothing is lost", "path")


def softirq_one_cpu(rng, cpus):
    process, loops, workers, client, flood = names(rng, 5)
    full = rng.choice(cpus)
    others = [cpu for cpu in cpus if cpu != full] or [full]
    elsewhere = ",".join(map(str, others))
    options = {"model": rng.choice(["loop", "pool", "connection"]), "burn-us": rng.randrange(10, 40), "loops": 1,
               "workers": 2, "size": rng.choice([64, 512]), "name": process, "thread-name": loops,
               "worker-name": workers}
    receive = {"cpu": full, "on": rng.choice(others), "steer": None}
    # cheap to send, dear to take apart; the queue is some milliseconds long and so never empty while the flood pauses
    stream = {"name": flood, "queue": rng.randrange(400, 701), "segments": rng.randrange(90, 121),
              "size": rng.randrange(16, 65)}
    base = Setup(Own(options), Client(rng.randrange(4, 13), 1, {"name": client, "size": options["size"]}),
                 server_cpus=elsewhere, client_cpus=elsewhere, veth=True, flood=receive | stream)
    removed, words = rng.choice([
        (base.but(flood=receive | stream | {"steer": receive["on"]}), "another CPU receives for the server"),
        (base.but(flood=receive), "no flood")])
    return Plan(base, removed, "net", "softirq-one-cpu", words, "receiver")


def disk_device(rng, cpus):
    process, loops, client = names(rng, 3)
    options = {"model": "connection", "burn-us": rng.randrange(5, 50), "name": process, "thread-name": loops}
    base = Setup(Own(options), Client(rng.randrange(3, 9), 1, {"name": client}), client_cpus=maybe_pinned(rng, cpus),
                 veth=rng.random() < 0.5, disk={"journal": False, "iops": rng.randrange(80, 200)})
    return Plan(base, base.but(disk=base.disk | {"iops": None}), "disk", "device", "the device is not throttled", "disk")


def disk_journal(rng, cpus):
    process, loops, client = names(rng, 3)
    options = {"model": "connection", "burn-us": rng.randrange(5, 20), "sync-append": 1, "name": process,
               "thread-name": loops}
    base = Setup(Own(options), Client(rng.randrange(3, 9), 1, {"name": client}), client_cpus=maybe_pinned(rng, cpus),
                 veth=rng.random() < 0.5, disk={"journal": True, "iops": None})
    return Plan(base, base.but(server={"options": {"sync-append": 0}}), "disk", "journal",
                "the same writes over old data", "disk")


def client_saturated(rng, cpus):
    process, loops, client, more = names(rng, 4)
    burn = rng.randrange(100, 250)
    options = {"model": "loop", "loops": rng.randrange(1, 3), "burn-us": rng.randrange(5, 15), "name": process,
               "thread-name": loops}
    base = Setup(Own(options), Client(rng.choice([8, 16]), 1, {"name": client, "thread-name": more, "burn-us": burn}),
                 veth=rng.random() < 0.5)
    removed, words = rng.choice([
        (base.but(client={"threads": 2}), "two client threads"),
        (base.but(client={"options": {"burn-us": burn / 2}}), "half the client's CPU per response")])
    return Plan(base, removed, "client", "saturated", words, "client", "client")


def too_few_connections(rng, cpus):
    process, loops, workers, client = names(rng, 4)
    options = {"model": rng.choice(["connection", "pool"]), "workers": 8, "burn-us": rng.randrange(10, 50),
               "sleep-us": rng.randrange(2000, 5000), "name": process, "thread-name": loops, "worker-name": workers}
    base = Setup(Own(options), Client(1, 1, {"name": client}), client_cpus=maybe_pinned(rng, cpus),
                 veth=rng.random() < 0.5)
    return Plan(base, base.but(client={"connections": 8}), "client", "too-few-connections", "eight connections",
                "client")


def think_time(rng, cpus):
    process, loops, workers, client, more = names(rng, 5)
    burn = rng.randrange(20, 100)
    connections = rng.randrange(4, 17)
    options = {"model": rng.choice(["loop", "pool", "connection"]), "burn-us": burn, "loops": rng.randrange(1, 3),
               "workers": rng.randrange(2, 5), "name": process, "thread-name": loops, "worker-name": workers}
    # the pauses leave the server 5 to 20 % of a CPU's work
    think = round(connections * burn / rng.uniform(0.05, 0.2))
    base = Setup(Own(options), Client(connections, rng.choice([1, 2]),
                                      {"name": client, "thread-name": more, "think-us": think}),
                 client_cpus=maybe_pinned(rng, cpus), veth=rng.random() < 0.5)
    return Plan(base, base.but(client={"options": {"think-us": think / 2}}), "client", "think-time", "half the pause",
                "client")


def none(rng, cpus):
    process, loops, workers, client = names(rng, 4)
    burn = rng.randrange(100, 250)
    options = {"model": rng.choice(["loop", "pool", "connection"]), "burn-us": burn, "loops": 1, "workers": 2,
               "name": process, "thread-name": loops, "worker-name": workers}
    rate = round(rng.uniform(0.08, 0.15) * 1e6 / burn)
    base = Setup(Own(options), Client(rng.randrange(4, 13), 1, {"name": client, "rate": rate}),
                 client_cpus=maybe_pinned(rng, cpus), veth=rng.random() < 0.5)
    return Plan(base, base.but(client={"options": {"rate": 2 * rate}}), "none", None, "twice the offered load", None,
                more_cpu=base.but(server={"options": {"burn-us": burn / 2}}))


def locking_user_spin(rng, cpus):
    process, loops, client = names(rng, 3)
    connections = rng.randrange(2, 5)
    options = {"model": "loop", "loops": len(cpus), "burn-us": rng.randrange(2, 8), "lock-spin": 1,
               "lock-burn-us": rng.randrange(80, 200), "locks": 1, "name": process, "thread-name": loops}
    base = Setup(Own(options), Client(2 * connections, 1, {"name": client}), veth=rng.random() < 0.5)
    return Plan(base, base.but(server={"options": {"locks": 2 * connections}}), "locking", "user-spin",
                "a lock for each connection", "lock")


def kernel_lock(rng, cpus, work, times, cause, removal, caller):
    process, loops, client = names(rng, 3)
    options = {"model": "connection", "burn-us": rng.randrange(2, 8), "kernel": work, "kernel-times": times,
               "name": process, "thread-name": loops}
    base = Setup(Own(options), Client(rng.randrange(6, 13), 1, {"name": client}), client_cpus=maybe_pinned(rng, cpus),
                 veth=rng.random() < 0.5)
    return Plan(base, base.but(server={"options": {"kernel-own": 1}}), "locking", cause, removal, "klock", caller=caller)


def kernel_sleep(rng, cpus):
    work, times, removal, caller = rng.choice([
        ("file", rng.randrange(20, 40), "a file for each connection", ("write",)),
        ("pipe", rng.randrange(15, 30), "a pipe for each connection", ("pipe",))])
    return kernel_lock(rng, cpus, work, times, "kernel-sleep", removal, caller)


def kernel_mmap(rng, cpus):
    # A process for each connection takes away the TLB flushes of a shared address space as well: no clean label.
    return kernel_lock(rng, cpus, "mmap", rng.randrange(60, 120), "kernel-sleep", "a process for each connection",
                       ("mmap", "munmap"))


def kernel_spin(rng, cpus):
    return kernel_lock(rng, cpus, "ranges", rng.randrange(3, 8), "kernel-spin", "a file for each connection",
                       ("lock",))


# Without a safe label on two CPUs: run by name only.
PENDING = {
    "kernel-mmap": kernel_mmap,
    "kernel-spin": kernel_spin,
}

SERIES = {
    "serial-thread": serial_thread,
    "serial-thread-nginx": serial_thread_nginx,
    "saturated": saturated,
    "affinity": affinity,
    "quota": quota,
    "quota-nginx": quota_nginx,
    "competitor": competitor,
    "locking": locking,
    "locking-hot": locking_hot,
    "locking-rpc": locking_rpc,
    "locking-user-spin": locking_user_spin,
    "kernel-sleep": kernel_sleep,
    "relay": relay,
    "link-shaper": link_shaper,
    "container-shaper": container_shaper,
    "container-quota": container_quota,
    "container-serial": container_serial,
    "rtt-window": rtt_window,
    "drops": drops,
    "softirq-one-cpu": softirq_one_cpu,
    "disk-device": disk_device,
    "disk-journal": disk_journal,
    "client-saturated": client_saturated,
    "too-few-connections": too_few_connections,
    "think-time": think_time,
    "none": none,
}
