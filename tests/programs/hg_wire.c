/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A long wire: passes every frame from one network device to another, both ways, after a delay of choice, and may lose
 * some. Checksums and segments that a device would complete stay undone on their way (virtio_net_hdr), as between two
 * ends of a veth. Prints "ready". Runs until it is killed.
 */
#include <argp.h>
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "tests/programs/hg_program.h"

enum { FRAME_MAX_BYTES = 1 << 17, FRAMES_MAX = 1 << 16 };

struct frame {
	uint64_t due_ns;
	int to;
	size_t size;
	char *data;
};

static struct {
	const char *devices[2], *name;
	double delay_us;
	unsigned int lose; /* one of so many frames with data */
} opts;

static struct {
	struct frame v[FRAMES_MAX];
	unsigned int head, tail;
} queue;

enum { OPT_DELAY = 256, OPT_LOSE };

static const struct argp_option options[] = {
	{"delay-us", OPT_DELAY, "US", 0, "How long a frame is under way (0)", 0},
	{"lose", OPT_LOSE, "N", 0, "Loses one of N frames that carry data (0: none)", 0},
	{"name", 'n', "COMM", 0, "Name of the process", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case OPT_DELAY:
		opts.delay_us = number(arg, "--delay-us");
		break;
	case OPT_LOSE:
		opts.lose = (unsigned int)number(arg, "--lose");
		break;
	case 'n':
		opts.name = arg;
		break;
	case ARGP_KEY_ARG:
		if (state->arg_num >= 2)
			argp_usage(state);
		opts.devices[state->arg_num] = arg;
		break;
	case ARGP_KEY_END:
		if (state->arg_num != 2)
			argp_usage(state);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static int device_open(const char *name)
{
	struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
	struct packet_mreq everything = {.mr_type = PACKET_MR_PROMISC};
	int one = 1, size = 16 << 20,
	    fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));

	address.sll_ifindex = everything.mr_ifindex = (int)if_nametoindex(name);
	if (fd < 0 || !address.sll_ifindex)
		die("cannot open %s", name);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	if (setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof(one)) ||
	    setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)) ||
	    setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &everything, sizeof(everything)) ||
	    bind(fd, (struct sockaddr *)&address, sizeof(address)))
		die("cannot listen on %s", name);
	return fd;
}

/* Frames that carry data are larger than a bare acknowledgement or an ARP request. */
static bool is_lost(size_t size)
{
	static unsigned int count;

	if (!opts.lose || size < sizeof(struct virtio_net_hdr) + 90)
		return false;
	return ++count % opts.lose == 0;
}

/* Takes all that has come. */
static void receive(int from, int to)
{
	static char buffer[FRAME_MAX_BYTES];

	for (;;) {
		ssize_t got = recv(from, buffer, sizeof(buffer), MSG_DONTWAIT);
		struct frame *f = &queue.v[queue.tail % FRAMES_MAX];

		if (got <= 0)
			return;
		if (is_lost((size_t)got) || queue.tail - queue.head == FRAMES_MAX)
			continue;
		*f = (struct frame){.due_ns = clock_ns(CLOCK_MONOTONIC) +
					      (uint64_t)(opts.delay_us * 1e3),
				    .to = to,
				    .size = (size_t)got,
				    .data = malloc((size_t)got)};
		if (!f->data)
			die("malloc");
		memcpy(f->data, buffer, (size_t)got);
		queue.tail++;
	}
}

/* Sends what is due and arms the timer for what is next. */
static void deliver(int timer)
{
	struct itimerspec at = {0};

	while (queue.head != queue.tail) {
		struct frame *f = &queue.v[queue.head % FRAMES_MAX];

		if (f->due_ns > clock_ns(CLOCK_MONOTONIC)) {
			at.it_value.tv_sec = (time_t)(f->due_ns / 1000000000u);
			at.it_value.tv_nsec = (long)(f->due_ns % 1000000000u);
			break;
		}
		/* a frame that the device does not take is lost, as on a wire */
		if (send(f->to, f->data, f->size, 0) < 0 && errno == EBADF)
			die("send");
		free(f->data);
		queue.head++;
	}
	if (timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL))
		die("timerfd_settime");
}

int main(int argc, char **argv)
{
	const struct argp argp = {options,
				  parse,
				  "DEVICE DEVICE",
				  "Passes frames between two devices after a delay.",
				  NULL,
				  NULL,
				  NULL};
	int fds[2], timer, epoll;

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	thread_name(opts.name, -1);
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	for (int i = 0; i < 3; i++) {
		struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)i};
		int fd = i < 2 ? fds[i] = device_open(opts.devices[i]) : timer;

		if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
			die("epoll_ctl");
	}
	puts("ready");
	fflush(stdout);
	for (;;) {
		struct epoll_event events[3];
		int count = epoll_wait(epoll, events, 3, -1);

		for (int i = 0; i < count; i++) {
			uint32_t which = events[i].data.u32;
			uint64_t expired;

			if (which < 2)
				receive(fds[which], fds[!which]);
			else if (read(timer, &expired, sizeof(expired)) < 0 && errno != EAGAIN)
				die("timerfd");
		}
		deliver(timer);
	}
}
