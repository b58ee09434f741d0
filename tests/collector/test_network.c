/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The samplers of the network against tc, ip and the kernel's files, in two namespaces that are made here: a veth pair, whose
 * ends have the same ifindex, and tbf on one of them. Each figure must lie between two readings by other means.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "collector/environment_private.h"
#include "collector/sampler_private.h"
#include "tests/collector/sampler_tape.h"

#define PORT 5001

static char names[2][32];
static struct hg_netns_opener *opener;

/* --- namespaces --- */

static int run(const char *format, ...)
{
	char command[512];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	return system(command);
}

static void namespaces_remove(void)
{
	for (int i = 0; i < 2; i++)
		run("ip netns del %s 2>/dev/null", names[i]);
}

/* Why they cannot be made, or NULL. */
static const char *namespaces_make(void)
{
	if (run("ip -V >/dev/null 2>&1") || run("tc -V >/dev/null 2>&1"))
		return "ip and tc (iproute2)";
	for (int i = 0; i < 2; i++) {
		snprintf(names[i], sizeof(names[i]), "hg-test-net-%d-%c", getpid(), 'a' + i);
		if (run("ip netns add %s 2>/dev/null", names[i]))
			return "the right to make network namespaces";
		run("ip -n %s link set lo up", names[i]);
	}
	if (run("ip -n %s link add eth0 type veth peer name eth0 netns %s 2>/dev/null", names[0],
		names[1]))
		return "veth devices";
	for (int i = 0; i < 2; i++)
		run("ip -n %s addr add 10.99.0.%d/24 dev eth0 && ip -n %s link set eth0 up",
		    names[i], i + 1, names[i]);
	if (run("tc -n %s qdisc add dev eth0 root tbf rate 80mbit burst 20000 limit 100000 "
		"2>/dev/null",
		names[0]))
		return "the queueing discipline tbf (sch_tbf)";
	return NULL;
}

static int setup(void **state)
{
	const char *missing = namespaces_make();

	if (missing) {
		print_message("skip: missing: %s\n", missing);
		namespaces_remove();
		exit(77);
	}
	/* before any thread or other child */
	return hg_netns_opener_start(NULL, &opener);
}

static int teardown(void **state)
{
	hg_netns_opener_stop(opener);
	namespaces_remove();
	return 0;
}

/* What a command prints, as JSON. */
static json_t *ask(const char *format, int ns)
{
	char command[256];
	json_t *answer;
	FILE *f;

	snprintf(command, sizeof(command), format, names[ns]);
	f = popen(command, "r");
	assert_non_null(f);
	answer = json_loadf(f, 0, NULL);
	pclose(f);
	assert_non_null(answer);
	return answer;
}

/* The entry whose key has this value. */
static json_t *entry(json_t *array, const char *key, const char *value)
{
	json_t *object;
	size_t i;

	json_array_foreach (array, i, object) {
		const char *v = json_string_value(json_object_get(object, key));

		if (v && !strcmp(v, value))
			return object;
	}
	fail_msg("no entry whose %s is %s", key, value);
	return NULL;
}

/* --- processes in them --- */

static void enter(int ns)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", names[ns]);
	fd = open(path, O_RDONLY);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		_exit(1);
	close(fd);
}

/* A process in a namespace that runs body until it is killed; it is there when this returns. */
static pid_t process_start(int ns, void (*body)(int ready))
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ready[0]);
		enter(ns);
		body(ready[1]);
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static void process_stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void ready_say(int fd)
{
	if (write(fd, "", 1) != 1)
		_exit(1);
	close(fd);
}

static void idle(int ready)
{
	ready_say(ready);
	for (;;)
		pause();
}

/* Takes one connection and reads all that comes. */
static void sink(int ready)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(PORT)};
	int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0), peer;
	static char buf[65536];

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 7))
		_exit(1);
	ready_say(ready);
	peer = accept(fd, NULL, NULL);
	while (read(peer, buf, sizeof(buf)) > 0)
		;
	for (;;)
		pause();
}

/* Sends as fast as tbf lets it. */
static void source(int ready)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(PORT),
				 .sin_addr.s_addr = htonl(0x0a630002)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	static char buf[65536];

	if (connect(fd, (struct sockaddr *)&to, sizeof(to)))
		_exit(1);
	ready_say(ready);
	for (;;) {
		if (write(fd, buf, sizeof(buf)) < 0)
			_exit(1);
	}
}

static uint64_t inode_of(pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	assert_int_equal(stat(path, &st), 0);
	return st.st_ino;
}

/* The id of a namespace's record (its last), 0: none. */
static uint64_t netns_id(const struct tape *t, uint64_t inode, uint64_t *flags_out)
{
	uint64_t id = 0;

	for (size_t i = 0; i < t->count; i++) {
		const struct hg_record *rec = &t->records[i];

		if (rec->kind != HG_KIND_NETNS || rec->f[HG_NETNS_INODE] != inode)
			continue;
		id = rec->f[HG_NETNS_ID];
		*flags_out = rec->f[HG_NETNS_FLAGS];
	}
	return id;
}

static const char *text(const struct tape *t, uint64_t id)
{
	return hg_reader_string(t->r, id, NULL);
}

static const struct hg_record *link_of(const struct tape *t, uint64_t netns, const char *name)
{
	const struct hg_record *found = NULL;

	for (size_t i = 0; i < t->count; i++) {
		const struct hg_record *rec = &t->records[i];

		if (rec->kind == HG_KIND_LINK && rec->f[HG_LINK_NETNS] == netns &&
		    !strcmp(text(t, rec->f[HG_LINK_NAME]), name))
			found = rec;
	}
	return found;
}

/* --- tests --- */

static uint64_t number(json_t *object, const char *a, const char *b, const char *c)
{
	object = json_object_get(object, a);
	if (b)
		object = json_object_get(object, b);
	if (c)
		object = json_object_get(object, c);
	assert_true(json_is_integer(object));
	return (uint64_t)json_integer_value(object);
}

/* The target sends through tbf to a client in the other namespace. */
static void shaped_link(void **state)
{
	static const char qdisc_command[] = "tc -n %s -s -j qdisc show dev eth0",
			  link_command[] = "ip -n %s -s -s -j link show dev eth0";
	static const struct {
		const char *key;
		int field;
	} qdisc_keys[] = {
		{"bytes", HG_QDISC_BYTES},	 {"packets", HG_QDISC_PACKETS},
		{"drops", HG_QDISC_DROPS},	 {"overlimits", HG_QDISC_OVERLIMITS},
		{"requeues", HG_QDISC_REQUEUES},
	};
	static const struct {
		const char *direction, *key;
		int field;
	} link_keys[] = {
		{"rx", "bytes", HG_NETDEV_RX_BYTES},   {"rx", "packets", HG_NETDEV_RX_PACKETS},
		{"rx", "errors", HG_NETDEV_RX_ERRORS}, {"rx", "dropped", HG_NETDEV_RX_DROPPED},
		{"tx", "bytes", HG_NETDEV_TX_BYTES},   {"tx", "packets", HG_NETDEV_TX_PACKETS},
		{"tx", "errors", HG_NETDEV_TX_ERRORS}, {"tx", "dropped", HG_NETDEV_TX_DROPPED},
	};
	pid_t client = process_start(1, sink), target = process_start(0, source);
	json_t *qdisc[2], *link[2], *q[2], *l[2];
	uint64_t ns[2], flags[2] = {0}, backlog;
	const struct hg_record *device[2], *rec;
	struct hg_sampler *s;
	struct tape t;

	tape_open(&t);
	assert_int_equal(hg_sampler_new(&s), 0);
	hg_sampler_netns_set(s, opener);
	hg_sampler_task_add(s, 5, target, target, HG_ROLEF_TARGET);
	hg_sampler_task_add(s, 6, client, client, HG_ROLEF_CLIENT);
	assert_int_equal(hg_sampler_tick(s, t.w, hg_now_ns()), 0);
	do { /* until it was held back */
		qdisc[0] = ask(qdisc_command, 0);
		q[0] = entry(qdisc[0], "kind", "tbf");
		backlog = number(q[0], "overlimits", NULL, NULL);
		if (!backlog)
			json_decref(qdisc[0]);
	} while (!backlog);
	link[0] = ask(link_command, 0);
	assert_int_equal(hg_sampler_final(s, t.w, hg_now_ns()), 0);
	qdisc[1] = ask(qdisc_command, 0);
	link[1] = ask(link_command, 0);
	hg_sampler_free(s);
	tape_read(&t);
	ns[0] = netns_id(&t, inode_of(target), &flags[0]);
	ns[1] = netns_id(&t, inode_of(client), &flags[1]);
	process_stop(target);
	process_stop(client);

	assert_true(ns[0] && ns[1] && ns[0] != ns[1]);
	assert_int_equal(flags[0], HG_NETNSF_TARGET | HG_NETNSF_OPEN);
	assert_int_equal(flags[1], HG_NETNSF_CLIENT | HG_NETNSF_OPEN);
	for (int i = 0; i < 2; i++)
		device[i] = link_of(&t, ns[i], "eth0");
	assert_true(device[0] && device[1]);
	assert_int_not_equal(device[0]->f[HG_LINK_ID], device[1]->f[HG_LINK_ID]);
	assert_int_equal(device[0]->f[HG_LINK_IFINDEX], device[1]->f[HG_LINK_IFINDEX]);
	for (int i = 0; i < 2; i++) {
		assert_string_equal(text(&t, device[i]->f[HG_LINK_KIND]), "veth");
		assert_string_equal(text(&t, device[i]->f[HG_LINK_DRIVER]), "veth");
		assert_int_equal(device[i]->f[HG_LINK_PEER_IFINDEX],
				 device[!i]->f[HG_LINK_IFINDEX]);
		assert_int_equal(device[i]->f[HG_LINK_PEER_NETNS], ns[!i]);
		assert_true(device[i]->f[HG_LINK_OFFLOADS] & HG_LINKF_KNOWN);
	}

	for (int i = 0; i < 2; i++) {
		q[i] = entry(qdisc[i], "kind", "tbf");
		l[i] = json_object_get(json_array_get(link[i], 0), "stats64");
	}
	rec = find(&t, HG_KIND_QDISC, device[0]->f[HG_LINK_ID], 1);
	assert_non_null(rec);
	assert_string_equal(text(&t, rec->f[HG_QDISC_KIND]), "tbf");
	assert_int_equal(rec->f[HG_QDISC_PARENT], HG_QDISC_ROOT);
	assert_int_equal(rec->f[HG_QDISC_RATE], 10000000);
	assert_in_range(rec->f[HG_QDISC_BURST], 19900, 20100); /* kept as a time */
	for (size_t i = 0; i < HG_ARRAY_SIZE(qdisc_keys); i++)
		assert_in_range(rec->f[qdisc_keys[i].field],
				number(q[0], qdisc_keys[i].key, NULL, NULL),
				number(q[1], qdisc_keys[i].key, NULL, NULL));
	assert_true(rec->f[HG_QDISC_OVERLIMITS] > 0);
	rec = find(&t, HG_KIND_NETDEV_STATS, device[0]->f[HG_LINK_ID], 1);
	assert_non_null(rec);
	for (size_t i = 0; i < HG_ARRAY_SIZE(link_keys); i++)
		assert_in_range(rec->f[link_keys[i].field],
				number(l[0], link_keys[i].direction, link_keys[i].key, NULL),
				number(l[1], link_keys[i].direction, link_keys[i].key, NULL));
	assert_true(rec->f[HG_NETDEV_TX_BYTES] > 0);
	/* the other end has no tbf */
	rec = find(&t, HG_KIND_QDISC, device[1]->f[HG_LINK_ID], 1);
	assert_non_null(rec);
	assert_string_not_equal(text(&t, rec->f[HG_QDISC_KIND]), "tbf");
	for (int i = 0; i < 2; i++) {
		json_decref(qdisc[i]);
		json_decref(link[i]);
	}
	tape_close(&t);
}

static int go[2], gone[2]; /* pipes to it and from it */

/* Starts in the namespace of the test, and moves when it is told. */
static void mover(int ready)
{
	char byte;

	ready_say(ready);
	if (read(go[0], &byte, 1) != 1)
		_exit(1);
	enter(1);
	if (write(gone[1], "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* Ten datagrams over lo, to a socket that is there: else each would be answered by an ICMP message. */
static void datagrams(int ready)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(PORT),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int from = socket(AF_INET, SOCK_DGRAM, 0), at = socket(AF_INET, SOCK_DGRAM, 0);
	static const char buf[100];

	if (bind(at, (struct sockaddr *)&to, sizeof(to)))
		_exit(1);
	for (int i = 0; i < 10; i++) {
		if (sendto(from, buf, sizeof(buf), 0, (struct sockaddr *)&to, sizeof(to)) < 0)
			_exit(1);
	}
	idle(ready);
}

/* The last record of a class, or of the qdisc. */
static const struct hg_record *class_of(const struct tape *t, uint64_t handle)
{
	const struct hg_record *found = NULL;

	for (size_t i = 0; i < t->count; i++) {
		const struct hg_record *rec = &t->records[i];

		if (rec->kind == HG_KIND_QDISC && rec->f[HG_QDISC_HANDLE] == handle &&
		    !strcmp(text(t, rec->f[HG_QDISC_KIND]), "htb"))
			found = rec;
	}
	assert_non_null(found);
	return found;
}

/* The upper class has nobody to borrow from, so its rate counts; the lower one's ceiling. */
static void htb_classes(void **state)
{
	const struct hg_record *rec;
	struct hg_sampler *s;
	struct tape t;
	pid_t pid;

	if (run("tc -n %s qdisc add dev lo root handle 7: htb default 10 2>/dev/null", names[1])) {
		print_message("skip: missing: the queueing discipline htb (sch_htb)\n");
		skip();
	}
	run("tc -n %s class add dev lo parent 7: classid 7:1 htb rate 16mbit ceil 24mbit quantum "
	    "3000",
	    names[1]);
	run("tc -n %s class add dev lo parent 7:1 classid 7:10 htb rate 8mbit ceil 12mbit cburst "
	    "20000 quantum 3000",
	    names[1]);
	pid = process_start(1, datagrams);
	tape_open(&t);
	assert_int_equal(hg_sampler_new(&s), 0);
	hg_sampler_netns_set(s, opener);
	hg_sampler_task_add(s, 5, pid, pid, HG_ROLEF_TARGET);
	assert_int_equal(hg_sampler_tick(s, t.w, hg_now_ns()), 0);
	hg_sampler_free(s);
	tape_read(&t);
	process_stop(pid);
	run("tc -n %s qdisc del dev lo root", names[1]);

	rec = class_of(&t, 0x70000);
	assert_int_equal(rec->f[HG_QDISC_PARENT], HG_QDISC_ROOT);
	assert_int_equal(rec->f[HG_QDISC_RATE], 0);
	rec = class_of(&t, 0x70001);
	assert_int_equal(rec->f[HG_QDISC_PARENT], HG_QDISC_ROOT);
	assert_int_equal(rec->f[HG_QDISC_RATE], 2000000);
	rec = class_of(&t, 0x70010);
	assert_int_equal(rec->f[HG_QDISC_PARENT], 0x70001);
	assert_int_equal(rec->f[HG_QDISC_RATE], 1500000);
	assert_in_range(rec->f[HG_QDISC_BURST], 19900, 20100); /* kept as a time */
	assert_int_equal(rec->f[HG_QDISC_PACKETS] + rec->f[HG_QDISC_BACKLOG_PACKETS], 10);
	tape_close(&t);
}

/* As ip netns exec does: found at the next tick; and closed when nobody is in it any more. */
static void client_that_moves(void **state)
{
	uint64_t now = hg_now_ns(), flags = 0, inode;
	struct hg_sampler *s;
	struct tape t;
	char byte;
	pid_t pid;

	assert_int_equal(pipe(go), 0);
	assert_int_equal(pipe(gone), 0);
	pid = process_start(0, mover);
	tape_open(&t);
	assert_int_equal(hg_sampler_new(&s), 0);
	hg_sampler_netns_set(s, opener);
	hg_sampler_task_add(s, 5, pid, pid, HG_ROLEF_CLIENT);
	hg_sampler_tick(s, t.w, now);
	assert_true(s->netns[1].id);
	assert_int_equal(write(go[1], "", 1), 1);
	assert_int_equal(read(gone[0], &byte, 1), 1);
	hg_sampler_tick(s, t.w, now + HG_NSEC_PER_SEC / 10);
	inode = inode_of(pid);
	assert_int_equal(s->netns[2].inode, inode);
	assert_int_equal(s->netns[2].tasks, 1);
	assert_int_equal(s->netns[1].tasks, 0);
	process_stop(pid);
	hg_sampler_task_remove(s, 5);
	hg_sampler_tick(s, t.w, now + HG_NSEC_PER_SEC);
	assert_true(s->netns[2].id);
	hg_sampler_tick(s, t.w, now + 4 * HG_NSEC_PER_SEC);
	assert_false(s->netns[1].id);
	assert_false(s->netns[2].id);
	assert_true(s->netns[0].id); /* hourglass's own stays */
	hg_sampler_free(s);
	tape_read(&t);
	assert_true(netns_id(&t, inode, &flags));
	assert_int_equal(flags, HG_NETNSF_CLIENT | HG_NETNSF_OPEN);
	tape_close(&t);
	for (int i = 0; i < 2; i++) {
		close(go[i]);
		close(gone[i]);
	}
}

/* The file says what is not read, and why. */
static void without_an_opener(void **state)
{
	const struct hg_record *rec = NULL;
	pid_t pid = process_start(0, idle);
	uint64_t inode = inode_of(pid);
	struct hg_sampler *s;
	struct tape t;

	tape_open(&t);
	assert_int_equal(hg_sampler_new(&s), 0);
	hg_sampler_task_add(s, 5, pid, pid, HG_ROLEF_TARGET);
	hg_sampler_tick(s, t.w, hg_now_ns());
	hg_sampler_free(s);
	process_stop(pid);
	tape_read(&t);
	for (size_t i = 0; i < t.count; i++) {
		if (t.records[i].kind == HG_KIND_NETNS && t.records[i].f[HG_NETNS_INODE] == inode)
			rec = &t.records[i];
	}
	assert_non_null(rec);
	assert_int_equal(rec->f[HG_NETNS_FLAGS], HG_NETNSF_TARGET);
	assert_non_null(strstr(text(&t, rec->f[HG_NETNS_WHY]), "CAP_SYS_ADMIN"));
	tape_close(&t);
}

static void opener_answers(void **state)
{
	struct hg_netns_files f = HG_NETNS_FILES_NONE;
	pid_t pid = process_start(1, idle);

	assert_int_equal(hg_netns_open(opener, pid, &f), 0);
	assert_int_equal(f.inode, inode_of(pid));
	for (int i = 0; i < HG_NETNS_FDS; i++)
		assert_true(f.fd[i] >= 0 || i == HG_NETNS_FD_SNMP6 || i == HG_NETNS_FD_DIAG);
	hg_netns_close(&f);
	process_stop(pid);
	assert_int_equal(hg_netns_open(opener, pid, &f), -ENOENT); /* gone */
	assert_int_equal(f.fd[HG_NETNS_FD_SELF], -1);
	assert_int_equal(hg_netns_open(NULL, 0, &f), 0); /* one's own, without help */
	assert_int_equal(f.inode, inode_of(getpid()));
	hg_netns_close(&f);
}

/* --- sockets --- */

/* What a command prints in a namespace, its first line. */
static void line_of(int ns, const char *command, char *out, size_t size)
{
	char whole[512];
	FILE *f;

	snprintf(whole, sizeof(whole), "ip netns exec %s %s", names[ns], command);
	f = popen(whole, "r");
	assert_non_null(f);
	if (!fgets(out, (int)size, f))
		*out = '\0';
	pclose(f);
}

static double number_after(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtod(at + strlen(key), NULL) : -1;
}

static const struct hg_record *socket_of(const struct tape *t, uint64_t netns, uint64_t state,
					 uint16_t port, uint16_t peer, size_t nth)
{
	for (size_t i = 0; i < t->count; i++) {
		const struct hg_record *rec = &t->records[i];

		if (rec->kind == HG_KIND_SOCKET && rec->f[HG_SOCKET_NETNS] == netns &&
		    rec->f[HG_SOCKET_STATE] == state &&
		    (!port || rec->f[HG_SOCKET_PORTS] >> 16 == port) &&
		    (!peer || (uint16_t)rec->f[HG_SOCKET_PORTS] == peer) && !nth--)
			return rec;
	}
	return NULL;
}

/* One connection through tbf, seen from both ends, against ss. */
static void one_connection(void **state)
{
	static const char command[] = "ss -tinOH state established dport = :5001";
	pid_t server = process_start(1, sink), client = process_start(0, source);
	const struct hg_record *rec, *peer, *listening;
	uint64_t ns[2], flags;
	char before[2048], after[2048];
	struct hg_sampler *s;
	struct tape t;

	tape_open(&t);
	assert_int_equal(hg_sampler_new(&s), 0);
	hg_sampler_netns_set(s, opener);
	hg_sampler_task_add(s, 5, server, server, HG_ROLEF_TARGET);
	hg_sampler_task_add(s, 6, client, client, HG_ROLEF_CLIENT);
	do { /* until it has sent something that took a while */
		line_of(0, command, before, sizeof(before));
	} while (number_after(before, " bytes_acked:") < 100000);
	assert_int_equal(hg_sampler_final(s, t.w, hg_now_ns()), 0);
	line_of(0, command, after, sizeof(after));
	assert_int_equal(hg_sampler_final(s, t.w, hg_now_ns()), 0);
	hg_sampler_free(s);
	tape_read(&t);
	ns[0] = netns_id(&t, inode_of(client), &flags);
	ns[1] = netns_id(&t, inode_of(server), &flags);
	process_stop(client);
	process_stop(server);

	rec = socket_of(&t, ns[0], 1, 0, PORT, 0);
	assert_non_null(rec);
	assert_int_equal(rec->f[HG_SOCKET_ROLE], HG_ROLEF_CLIENT);
	assert_in_range(rec->f[HG_SOCKET_ACKED], (uint64_t)number_after(before, " bytes_acked:"),
			(uint64_t)number_after(after, " bytes_acked:"));
	/* ss prints ms, rounded */
	assert_in_range(rec->f[HG_SOCKET_BUSY_NS],
			1000000 * ((uint64_t)number_after(before, " busy:") - 1),
			1000000 * ((uint64_t)number_after(after, " busy:") + 1));
	assert_int_equal(rec->f[HG_SOCKET_MSS], (uint64_t)number_after(after, " mss:"));
	assert_true(rec->f[HG_SOCKET_RTT_US] >= rec->f[HG_SOCKET_MIN_RTT_US]);
	assert_true(rec->f[HG_SOCKET_MIN_RTT_US] > 0);
	assert_true(rec->f[HG_SOCKET_CWND] > 0);
	assert_true(rec->f[HG_SOCKET_SENDQ] > 0);
	/* its other end, the accepted one, is the target's by its port */
	peer = socket_of(&t, ns[1], 1, PORT, (uint16_t)(rec->f[HG_SOCKET_PORTS] >> 16), 0);
	assert_non_null(peer);
	assert_int_equal(peer->f[HG_SOCKET_ROLE], HG_ROLEF_TARGET);
	assert_true(peer->f[HG_SOCKET_RECEIVED] > 0);
	listening = socket_of(&t, ns[1], 10, PORT, 0, 0);
	assert_non_null(listening);
	assert_int_equal(listening->f[HG_SOCKET_ROLE], HG_ROLEF_TARGET);
	assert_int_equal(listening->f[HG_SOCKET_SENDQ], 7); /* of listen() */
	/* the same cookie again: a series */
	peer = socket_of(&t, ns[0], 1, 0, PORT, 1);
	assert_non_null(peer);
	assert_int_equal(peer->f[HG_SOCKET_COOKIE], rec->f[HG_SOCKET_COOKIE]);
	assert_true(peer->f[HG_SOCKET_ACKED] >= rec->f[HG_SOCKET_ACKED]);
	tape_close(&t);
}

#define CONNECTIONS 300

/* Both ends of many connections over its loopback. */
static void crowd(int ready)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_port = htons(PORT + 1),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, CONNECTIONS))
		_exit(1);
	for (int i = 0; i < CONNECTIONS; i++) {
		int end = socket(AF_INET, SOCK_STREAM, 0);

		if (connect(end, (struct sockaddr *)&at, sizeof(at)) || accept(fd, NULL, NULL) < 0)
			_exit(1);
	}
	ready_say(ready);
	for (;;)
		pause();
}

/* As many as there is room for, always the same; and none of a process that is not recorded. */
static void many_connections(void **state)
{
	pid_t target = process_start(0, crowd), other = process_start(1, crowd);
	pid_t idler = process_start(1, idle);
	uint64_t now = hg_now_ns(), flags, ns[2];
	struct hg_sampler *s;
	struct tape t;

	tape_open(&t);
	assert_int_equal(hg_sampler_new(&s), 0);
	hg_sampler_netns_set(s, opener);
	hg_sampler_task_add(s, 5, target, target, HG_ROLEF_TARGET);
	hg_sampler_task_add(s, 6, idler, idler, HG_ROLEF_CLIENT);
	hg_sampler_tick(s, t.w, now);
	hg_sampler_tick(s, t.w, now + HG_NSEC_PER_SEC);
	hg_sampler_tick(s, t.w, now + HG_NSEC_PER_SEC + 1); /* not due */
	hg_sampler_free(s);
	tape_read(&t);
	ns[0] = netns_id(&t, inode_of(target), &flags);
	ns[1] = netns_id(&t, inode_of(idler), &flags);
	process_stop(target);
	process_stop(other);
	process_stop(idler);
	for (size_t i = 0; i < 64; i++) {
		const struct hg_record *a = socket_of(&t, ns[0], 1, 0, 0, i),
				       *b = socket_of(&t, ns[0], 1, 0, 0, i + 64);

		assert_true(a && b);
		assert_int_equal(a->f[HG_SOCKET_COOKIE], b->f[HG_SOCKET_COOKIE]);
	}
	assert_null(socket_of(&t, ns[0], 1, 0, 0, 128));
	assert_non_null(socket_of(&t, ns[0], 10, PORT + 1, 0, 1));
	assert_null(socket_of(&t, ns[1], 1, 0, 0, 0));
	assert_null(socket_of(&t, ns[1], 10, 0, 0, 0));
	tape_close(&t);
}

/* --- counters --- */

static void snmp_texts(void **state)
{
	uint64_t f[HG_FIELDS_MAX] = {0};

	sampler_snmp_parse(
		"Ip: Forwarding InSegs\nIp: 1 99\n"
		"Tcp: RtoMax MaxConn ActiveOpens PassiveOpens InSegs OutSegs RetransSegs\n"
		"Tcp: 120000 -1 3 4 100 200 5\n"
		"Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors\n"
		"Udp: 10 11 12 13 14\n",
		f);
	sampler_snmp_parse("TcpExt: SyncookiesSent ListenOverflows ListenDrops New\n"
			   "TcpExt: 0 7 8 9 10\n",
			   f);
	sampler_snmp6_parse("Ip6InReceives \t 12\nUdp6InDatagrams   \t1000\n"
			    "Udp6RcvbufErrors \t 20\nUdp6OutDatagrams",
			    f);
	assert_int_equal(f[HG_NETNS_STATS_TCP_IN], 100);
	assert_int_equal(f[HG_NETNS_STATS_TCP_OUT], 200);
	assert_int_equal(f[HG_NETNS_STATS_TCP_RETRANS], 5);
	assert_int_equal(f[HG_NETNS_STATS_TCP_OPENS], 7);
	assert_int_equal(f[HG_NETNS_STATS_LISTEN_OVERFLOWS], 7);
	assert_int_equal(f[HG_NETNS_STATS_LISTEN_DROPS], 8);
	assert_int_equal(f[HG_NETNS_STATS_UDP_IN], 1010);
	assert_int_equal(f[HG_NETNS_STATS_UDP_OUT], 13);
	assert_int_equal(f[HG_NETNS_STATS_UDP_RCVBUF_ERRORS], 34);
	/* a value is missing; names of one section and values of another; cut off */
	memset(f, 0, sizeof(f));
	sampler_snmp_parse("Tcp: InSegs OutSegs\nTcp: 1\nTcp: InSegs\nUdp: 5\nTcp: OutSegs\nTcp: 7",
			   f);
	assert_int_equal(f[HG_NETNS_STATS_TCP_IN], 1);
	assert_int_equal(f[HG_NETNS_STATS_TCP_OUT], 0);
	sampler_snmp_parse("", f);
	sampler_snmp6_parse("", f);
}

/* A listening socket that accepts nothing, and a UDP socket that is not read, both sent more than they hold. */
static void losses(int ready)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_port = htons(PORT + 2),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int tcp = socket(AF_INET, SOCK_STREAM, 0), udp = socket(AF_INET, SOCK_DGRAM, 0),
	    from = socket(AF_INET, SOCK_DGRAM, 0), small = 4096;
	static char data[1000];

	setsockopt(udp, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	if (bind(tcp, (struct sockaddr *)&at, sizeof(at)) || listen(tcp, 0) ||
	    bind(udp, (struct sockaddr *)&at, sizeof(at)))
		_exit(1);
	for (int i = 0; i < 5; i++)
		connect(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), (struct sockaddr *)&at,
			sizeof(at));
	for (int i = 0; i < 50; i++)
		sendto(from, data, sizeof(data), 0, (struct sockaddr *)&at, sizeof(at));
	ready_say(ready);
	for (;;)
		pause();
}

static uint64_t counter_by_hand(int ns, const char *file, const char *section, const char *name)
{
	char command[512], line[64];

	snprintf(command, sizeof(command),
		 "awk '$1 == \"%s:\" { if (!n) { for (i = 2; i <= NF; i++) if ($i == \"%s\") n = i "
		 "} "
		 "else print $n }' /proc/net/%s",
		 section, name, file);
	line_of(ns, command, line, sizeof(line));
	assert_true(*line);
	return strtoull(line, NULL, 10);
}

static void counted_losses(void **state)
{
	static const struct {
		const char *file, *section, *name;
		int field;
		bool some; /* there are */
	} known[] = {
		{"netstat", "TcpExt", "ListenOverflows", HG_NETNS_STATS_LISTEN_OVERFLOWS, true},
		{"netstat", "TcpExt", "ListenDrops", HG_NETNS_STATS_LISTEN_DROPS, true},
		{"snmp", "Udp", "RcvbufErrors", HG_NETNS_STATS_UDP_RCVBUF_ERRORS, true},
		{"snmp", "Udp", "InErrors", HG_NETNS_STATS_UDP_IN_ERRORS, true},
		{"snmp", "Tcp", "RetransSegs", HG_NETNS_STATS_TCP_RETRANS, false},
		{"snmp", "Tcp", "OutSegs", HG_NETNS_STATS_TCP_OUT, true},
		{"snmp", "Udp", "OutDatagrams", HG_NETNS_STATS_UDP_OUT, true},
	};
	uint64_t before[HG_ARRAY_SIZE(known)], after[HG_ARRAY_SIZE(known)], flags, ns;
	pid_t target = process_start(1, losses);
	const struct hg_record *rec;
	struct hg_sampler *s;
	struct tape t;

	tape_open(&t);
	assert_int_equal(hg_sampler_new(&s), 0);
	hg_sampler_netns_set(s, opener);
	hg_sampler_task_add(s, 5, target, target, HG_ROLEF_TARGET);
	for (size_t i = 0; i < HG_ARRAY_SIZE(known); i++)
		before[i] = counter_by_hand(1, known[i].file, known[i].section, known[i].name);
	assert_int_equal(hg_sampler_tick(s, t.w, hg_now_ns()), 0);
	for (size_t i = 0; i < HG_ARRAY_SIZE(known); i++)
		after[i] = counter_by_hand(1, known[i].file, known[i].section, known[i].name);
	hg_sampler_free(s);
	tape_read(&t);
	ns = netns_id(&t, inode_of(target), &flags);
	process_stop(target);
	rec = find(&t, HG_KIND_NETNS_STATS, ns, 0);
	assert_non_null(rec);
	for (size_t i = 0; i < HG_ARRAY_SIZE(known); i++) {
		assert_in_range(rec->f[known[i].field], before[i], after[i]);
		assert_true(!known[i].some || rec->f[known[i].field] > 0);
	}
	tape_close(&t);
}

/* --- the environment --- */

/* With a /sys of its own, as ip netns exec and containers have, and a setting in it. */
static void steered(int ready)
{
	dup2(ready, STDOUT_FILENO);
	execlp("ip", "ip", "netns", "exec", names[0], "sh", "-c",
	       "echo 1 > /sys/class/net/eth0/queues/rx-0/rps_cpus && echo && exec sleep 1000",
	       NULL);
}

static void environment(void **state)
{
	pid_t pid = process_start(0, steered);
	const struct hg_environment_opts o = {.targets = &pid, .targets_count = 1, .netns = opener};
	json_t *network = env_network(&o), *ns, *link, *qdisc;
	const char *cpus;

	assert_int_equal(json_array_size(network), 2);
	assert_true(json_is_true(json_object_get(json_array_get(network, 0), "own")));
	ns = json_array_get(network, 1);
	assert_true(json_is_false(json_object_get(ns, "own")));
	assert_int_equal(number(ns, "inode", NULL, NULL), inode_of(pid));
	assert_int_equal(json_integer_value(json_array_get(json_object_get(ns, "pids"), 0)), pid);
	link = entry(json_object_get(ns, "links"), "name", "eth0");
	assert_string_equal(json_string_value(json_object_get(link, "kind")), "veth");
	qdisc = json_array_get(json_object_get(link, "qdiscs"), 0);
	assert_string_equal(json_string_value(json_object_get(qdisc, "kind")), "tbf");
	assert_int_equal(number(qdisc, "rate_bytes_s", NULL, NULL), 10000000);
	cpus = json_string_value(json_object_get(json_object_get(link, "rps"), "rx-0"));
	assert_non_null(cpus);
	assert_int_equal(strtoul(strrchr(cpus, ',') ? strrchr(cpus, ',') + 1 : cpus, NULL, 16), 1);
	json_decref(network);
	process_stop(pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opener_answers),    cmocka_unit_test(shaped_link),
		cmocka_unit_test(htb_classes),	     cmocka_unit_test(client_that_moves),
		cmocka_unit_test(without_an_opener), cmocka_unit_test(one_connection),
		cmocka_unit_test(many_connections),  cmocka_unit_test(snmp_texts),
		cmocka_unit_test(counted_losses),    cmocka_unit_test(environment),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
