/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * NETNS_STATS: what TCP and UDP of a namespace lost or sent again. Once a second: the kernel adds up every counter over
 * all CPUs for each read.
 */
#include <string.h>

#include "base/hg_base.h"
#include "base/hg_file.h"
#include "collector/sampler_private.h"

struct counter {
	const char *section, *name; /* of snmp and netstat */
	int field;
};

static const struct counter counters[] = {
	{"Tcp", "InSegs", HG_NETNS_STATS_TCP_IN},
	{"Tcp", "OutSegs", HG_NETNS_STATS_TCP_OUT},
	{"Tcp", "RetransSegs", HG_NETNS_STATS_TCP_RETRANS},
	{"Tcp", "ActiveOpens", HG_NETNS_STATS_TCP_OPENS},
	{"Tcp", "PassiveOpens", HG_NETNS_STATS_TCP_OPENS},
	{"Udp", "InDatagrams", HG_NETNS_STATS_UDP_IN},
	{"Udp", "OutDatagrams", HG_NETNS_STATS_UDP_OUT},
	{"Udp", "NoPorts", HG_NETNS_STATS_UDP_NO_PORTS},
	{"Udp", "InErrors", HG_NETNS_STATS_UDP_IN_ERRORS},
	{"Udp", "RcvbufErrors", HG_NETNS_STATS_UDP_RCVBUF_ERRORS},
	{"Udp", "SndbufErrors", HG_NETNS_STATS_UDP_SNDBUF_ERRORS},
	{"TcpExt", "TCPTimeouts", HG_NETNS_STATS_TCP_TIMEOUTS},
	{"TcpExt", "ListenOverflows", HG_NETNS_STATS_LISTEN_OVERFLOWS},
	{"TcpExt", "ListenDrops", HG_NETNS_STATS_LISTEN_DROPS},
	{"TcpExt", "TCPBacklogDrop", HG_NETNS_STATS_BACKLOG_DROPS},
	{"TcpExt", "TCPRcvQDrop", HG_NETNS_STATS_RCVQ_DROPS},
	{"TcpExt", "TCPToZeroWindowAdv", HG_NETNS_STATS_ZERO_WINDOWS},
};

/* TCP's are not kept by version of IP. */
static const struct counter counters6[] = {
	{NULL, "Udp6InDatagrams", HG_NETNS_STATS_UDP_IN},
	{NULL, "Udp6OutDatagrams", HG_NETNS_STATS_UDP_OUT},
	{NULL, "Udp6NoPorts", HG_NETNS_STATS_UDP_NO_PORTS},
	{NULL, "Udp6InErrors", HG_NETNS_STATS_UDP_IN_ERRORS},
	{NULL, "Udp6RcvbufErrors", HG_NETNS_STATS_UDP_RCVBUF_ERRORS},
	{NULL, "Udp6SndbufErrors", HG_NETNS_STATS_UDP_SNDBUF_ERRORS},
};

static bool word_is(const char *word, size_t length, const char *text)
{
	return strlen(text) == length && !memcmp(word, text, length);
}

static const struct counter *counter_find(const char *section, size_t section_length,
					  const char *name, size_t length)
{
	for (size_t i = 0; i < HG_ARRAY_SIZE(counters); i++) {
		if (word_is(name, length, counters[i].name) &&
		    word_is(section, section_length, counters[i].section))
			return &counters[i];
	}
	return NULL;
}

/* The names of a line and the values of the next one, in the same order. */
static void pair_parse(const char *names, const char *values, uint64_t f[static 17])
{
	size_t section_length = strcspn(names, ":\n");
	const char *section = names;

	if (names[section_length] != ':' || strncmp(names, values, section_length + 1))
		return;
	names += section_length + 1;
	values += section_length + 1;
	while (*names == ' ' && *values == ' ') {
		size_t length = strcspn(++names, " \n");
		const struct counter *c = counter_find(section, section_length, names, length);

		if (c)
			f[c->field] += strtoull(values, NULL, 10);
		names += length;
		values++;
		values += strcspn(values, " \n");
	}
}

void sampler_snmp_parse(const char *text, uint64_t f[static 17])
{
	while (*text) {
		const char *values = strchr(text, '\n'), *next;

		if (!values)
			return;
		next = strchr(++values, '\n');
		if (!next)
			return; /* cut off */
		pair_parse(text, values, f);
		text = next + 1;
	}
}

void sampler_snmp6_parse(const char *text, uint64_t f[static 17])
{
	for (const char *next; *text; text = next) {
		size_t length = strcspn(text, " \t\n");
		const char *end = strchr(text, '\n');

		if (!end)
			return;
		next = end + 1;
		for (size_t i = 0; i < HG_ARRAY_SIZE(counters6); i++) {
			if (word_is(text, length, counters6[i].name))
				f[counters6[i].field] += strtoull(text + length, NULL, 10);
		}
	}
}

static int counters_write(struct sampler_netns *ns, const struct sampler_pass *pass)
{
	static const int files[] = {HG_NETNS_FD_SNMP, HG_NETNS_FD_NETSTAT, HG_NETNS_FD_SNMP6};
	struct hg_record rec = {.kind = HG_KIND_NETNS_STATS, .time_ns = hg_now_ns()};
	char text[16384];

	for (size_t i = 0; i < HG_ARRAY_SIZE(files); i++) {
		int fd = ns->files.fd[files[i]];

		if (fd < 0 || hg_file_read_fd(fd, text, sizeof(text)) <= 0) {
			if (files[i] == HG_NETNS_FD_SNMP6)
				continue; /* without IPv6 */
			return 0;	  /* zeros would look like a reset */
		}
		if (files[i] == HG_NETNS_FD_SNMP6)
			sampler_snmp6_parse(text, rec.f);
		else
			sampler_snmp_parse(text, rec.f);
	}
	rec.f[HG_NETNS_STATS_NETNS] = ns->id;
	return sampler_write(pass, &rec);
}

static int counters_sample(struct hg_sampler *s, void *state, const struct sampler_pass *pass)
{
	int r = 0;

	for (size_t i = 0; i < SAMPLER_NETNS_MAX && !r; i++) {
		struct sampler_netns *ns = &s->netns[i];

		if (!ns->id || (ns->counters_ns && !pass->final &&
				pass->now_ns < ns->counters_ns + SAMPLER_SECOND_NS))
			continue;
		ns->counters_ns = pass->now_ns;
		r = counters_write(ns, pass);
	}
	return r;
}

const struct sampler_ops sampler_netns_stats = {
	.name = "netns_stats",
	.sample = counters_sample,
};
