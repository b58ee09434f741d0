/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Totals of network devices, on a veth pair in a namespace of our own: against the kernel's counters. */
#include "probes_fixture.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define FRAMES	    5000
#define FRAME_BYTES 1000

/* Of the child's namespace, shared with it. */
struct seen {
	uint64_t netns, ifindex[2];
	uint64_t rx_bytes[2], rx_packets[2], tx_bytes[2], tx_packets[2];
};

static struct seen *seen;
static const char *const names[2] = {"hgva", "hgvb"};

static void devices_read(void)
{
	hg_autofclose FILE *f = fopen("/proc/thread-self/net/dev", "re");
	char line[512], name[32];
	uint64_t v[10];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line,
			   " %31[^:]: %" SCNu64 " %" SCNu64 " %*d %*d %*d %*d %*d %*d %" SCNu64
			   " %" SCNu64,
			   name, &v[0], &v[1], &v[2], &v[3]) != 5)
			continue;
		for (int i = 0; i < 2; i++) {
			if (strcmp(name, names[i]) != 0)
				continue;
			seen->rx_bytes[i] = v[0];
			seen->rx_packets[i] = v[1];
			seen->tx_bytes[i] = v[2];
			seen->tx_packets[i] = v[3];
		}
	}
}

static void frames_send(void *arg)
{
	struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_halen = ETH_ALEN};
	char frame[FRAME_BYTES] = {0};
	struct stat st;
	int fd;

	(void)arg;
	if (unshare(CLONE_NEWNET) ||
	    system("ip link add hgva type veth peer name hgvb && ip link set hgva up && "
		   "ip link set hgvb up"))
		_exit(1);
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));
	memset(frame, 0xff, 2 * ETH_ALEN);
	frame[12] = (char)0x88; /* an EtherType for experiments */
	frame[13] = (char)0xb5;
	to.sll_ifindex = (int)if_nametoindex(names[0]);
	for (int i = 0; i < FRAMES; i++) {
		if (sendto(fd, frame, sizeof(frame), 0, (void *)&to, sizeof(to)) != sizeof(frame))
			i--; /* its buffer is full */
	}
	/* Neighbour discovery of IPv6 goes on for some seconds: no more of it. */
	if (system("ip link set hgva down && ip link set hgvb down") ||
	    stat("/proc/self/ns/net", &st))
		_exit(1);
	usleep(100000);
	devices_read();
	for (int i = 0; i < 2; i++)
		seen->ifindex[i] = if_nametoindex(names[i]);
	seen->netns = st.st_ino;
}

static uint64_t softnet_processed(void)
{
	hg_autofclose FILE *f = fopen("/proc/net/softnet_stat", "re");
	uint64_t sum = 0;
	char line[512];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		sum += strtoull(line, NULL, 16);
	return sum;
}

/* The last NETDEV_TOTALS of a device in the namespace. */
static const struct hg_record *totals_find(const struct recording *r, uint64_t ifindex)
{
	const struct hg_record *found = NULL;
	uint64_t id = 0;

	for (size_t i = 0; i < r->n; i++) {
		const struct hg_record *rec = &r->recs[i];

		if (rec->kind == HG_KIND_NETDEV && rec->f[HG_NETDEVICE_NETNS] == seen->netns &&
		    rec->f[HG_NETDEVICE_IFINDEX] == ifindex)
			id = rec->f[HG_NETDEVICE_ID];
	}
	assert_true(id);
	for (size_t i = 0; i < r->n; i++) {
		if (r->recs[i].kind == HG_KIND_NETDEV_TOTALS &&
		    r->recs[i].f[HG_NETDEV_TOTALS_DEV] == id)
			found = &r->recs[i];
	}
	assert_non_null(found);
	return found;
}

/* Packets of all devices, and of all polls: the last totals of each. */
static void sums_take(const struct recording *r, uint64_t *rx_out, uint64_t *work_out)
{
	uint64_t rx[256] = {0}, work[256][64] = {{0}};

	*rx_out = *work_out = 0;
	for (size_t i = 0; i < r->n; i++) {
		const struct hg_record *rec = &r->recs[i];

		if (rec->kind == HG_KIND_NETDEV_TOTALS)
			rx[rec->f[HG_NETDEV_TOTALS_DEV] & 255] =
				rec->f[HG_NETDEV_TOTALS_RX_PACKETS];
		if (rec->kind != HG_KIND_NAPI)
			continue;
		assert_true(rec->f[HG_NAPI_FULL] <= rec->f[HG_NAPI_POLLS]);
		work[rec->f[HG_NAPI_DEV] & 255][rec->f[HG_NAPI_CPU] & 63] = rec->f[HG_NAPI_WORK];
	}
	for (size_t i = 0; i < 256; i++) {
		*rx_out += rx[i];
		for (size_t cpu = 0; cpu < 64; cpu++)
			*work_out += work[i][cpu];
	}
}

static void test_veth(void **state)
{
	struct child child = child_start(frames_send, NULL);
	struct hg_probes_opts opts = {.packets = true};
	uint64_t processed, rx, work;
	struct recording r;
	int status;

	(void)state;
	recording_begin(&r, &opts);
	assert_int_equal(hg_probes_root_add(r.p, child.pid, HG_ROLEF_TARGET, 0), 0);
	recording_attach(&r);
	processed = softnet_processed();
	child_go(&child);
	while (!waitpid(child.pid, &status, WNOHANG)) {
		recording_run(&r, 100);
		assert_int_equal(hg_probes_net_totals(r.p, r.w, hg_now_ns()), 0);
	}
	assert_int_equal(status, 0);
	assert_int_equal(hg_probes_net_totals(r.p, r.w, hg_now_ns()), 0);
	processed = softnet_processed() - processed;
	recording_end(&r);
	assert_int_equal(hg_probes_lost(r.p), 0);
	for (int i = 0; i < 2; i++) {
		const struct hg_record *rec = totals_find(&r, seen->ifindex[i]);

		print_message("%s: rx %" PRIu64 " packets, %" PRIu64 " bytes; tx %" PRIu64
			      " packets, %" PRIu64 " bytes\n",
			      names[i], rec->f[HG_NETDEV_TOTALS_RX_PACKETS],
			      rec->f[HG_NETDEV_TOTALS_RX_BYTES],
			      rec->f[HG_NETDEV_TOTALS_TX_PACKETS],
			      rec->f[HG_NETDEV_TOTALS_TX_BYTES]);
		assert_int_equal(rec->f[HG_NETDEV_TOTALS_RX_PACKETS], seen->rx_packets[i]);
		assert_int_equal(rec->f[HG_NETDEV_TOTALS_RX_BYTES], seen->rx_bytes[i]);
		assert_int_equal(rec->f[HG_NETDEV_TOTALS_TX_PACKETS], seen->tx_packets[i]);
		assert_int_equal(rec->f[HG_NETDEV_TOTALS_TX_BYTES], seen->tx_bytes[i]);
	}
	assert_true(seen->tx_bytes[0] >= (uint64_t)FRAMES * FRAME_BYTES);
	sums_take(&r, &rx, &work);
	print_message("received by all devices %" PRIu64 ", polled %" PRIu64
		      ", by softnet_stat %" PRIu64 "\n",
		      rx, work, processed);
	/* What is merged on receipt counts once in the first and the last. */
	assert_true(work >= FRAMES && work + work / 50 >= processed);
	assert_true(rx + rx / 50 >= processed && processed + processed / 50 >= rx);
	recording_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_veth)};
	int rc = probes_skip();

	if (rc)
		return rc;
	if (system("ip link help veth >/dev/null 2>&1") == 127 << 8) {
		printf("skip: ip (package iproute2)\n");
		return 77;
	}
	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (seen == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
