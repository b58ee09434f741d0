/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Totals of network devices, read from the kernel's memory: a record for what changed, a definition at
 * first sight.
 */
#include <errno.h>
#include <string.h>

#include <uthash.h>

#include "collector/probes_internal.h"

struct hg_netdev {
	uint64_t key; /* as in struct hg_net_dev */
	uint32_t id;
	struct hg_net_dev sum; /* of this round */
	uint64_t packets_written;
	uint64_t *polls_written; /* by CPU */
	UT_hash_handle hh;
};

static struct hg_netdev *netdev_new(struct hg_probes *p, const struct hg_net_dev *seen)
{
	struct hg_netdev *dev = calloc(1, sizeof(*dev));

	if (dev)
		dev->polls_written = calloc(p->n_cpus, sizeof(*dev->polls_written));
	if (!dev || !dev->polls_written) {
		free(dev);
		return NULL;
	}
	dev->key = seen->key;
	dev->id = HASH_COUNT(p->netdevs) + 1;
	HASH_ADD(hh, p->netdevs, key, sizeof(dev->key), dev);
	return dev;
}

static int netdev_define(struct hg_probes *p, struct hg_writer *w, const struct hg_netdev *dev,
			 const struct hg_net_dev *seen, uint64_t now_ns)
{
	struct hg_record rec = {.time_ns = now_ns, .kind = HG_KIND_NETDEV};
	uint32_t name;
	int rc = hg_writer_string(w, seen->name, strnlen(seen->name, sizeof(seen->name)), &name);

	if (rc)
		return rc;
	rec.f[HG_NETDEVICE_ID] = dev->id;
	rec.f[HG_NETDEVICE_NETNS] = dev->key >> 32;
	rec.f[HG_NETDEVICE_IFINDEX] = dev->key == HG_NET_KEY_BACKLOG ? 0 : (uint32_t)dev->key;
	rec.f[HG_NETDEVICE_NAME] = name;
	rc = hg_probes_definition_add(p, &rec);
	return rc ? rc : hg_probes_definitions_flush(p, w);
}

static int napi_write(struct hg_writer *w, struct hg_netdev *dev, uint32_t cpu,
		      const struct hg_net_dev *seen, uint64_t now_ns)
{
	struct hg_record rec = {.time_ns = now_ns, .kind = HG_KIND_NAPI};

	if (seen->polls == dev->polls_written[cpu])
		return 0;
	dev->polls_written[cpu] = seen->polls;
	rec.f[HG_NAPI_CPU] = cpu;
	rec.f[HG_NAPI_DEV] = dev->id;
	rec.f[HG_NAPI_POLLS] = seen->polls;
	rec.f[HG_NAPI_WORK] = seen->work;
	rec.f[HG_NAPI_FULL] = seen->full;
	return hg_writer_record(w, 0, HG_STREAM_SAMPLER, &rec);
}

static int device_take(struct hg_probes *p, struct hg_writer *w, uint32_t cpu,
		       const struct hg_net_dev *at, uint64_t now_ns)
{
	struct hg_net_dev seen = {.key = __atomic_load_n(&at->key, __ATOMIC_ACQUIRE)};
	struct hg_netdev *dev;
	int rc = 0;

	if (!seen.key)
		return 0;
	seen = *at;
	HASH_FIND(hh, p->netdevs, &seen.key, sizeof(seen.key), dev);
	if (!dev) {
		dev = netdev_new(p, &seen);
		if (!dev)
			return -ENOMEM;
		rc = netdev_define(p, w, dev, &seen, now_ns);
	}
	dev->sum.rx_packets += seen.rx_packets;
	dev->sum.rx_bytes += seen.rx_bytes;
	dev->sum.tx_packets += seen.tx_packets;
	dev->sum.tx_bytes += seen.tx_bytes;
	return rc ? rc : napi_write(w, dev, cpu, &seen, now_ns);
}

static int totals_write(struct hg_writer *w, struct hg_netdev *dev, uint64_t now_ns)
{
	struct hg_record rec = {.time_ns = now_ns, .kind = HG_KIND_NETDEV_TOTALS};
	struct hg_net_dev sum = dev->sum;

	dev->sum = (struct hg_net_dev){0};
	if (sum.rx_packets + sum.tx_packets == dev->packets_written)
		return 0;
	dev->packets_written = sum.rx_packets + sum.tx_packets;
	rec.f[HG_NETDEV_TOTALS_DEV] = dev->id;
	rec.f[HG_NETDEV_TOTALS_RX_BYTES] = sum.rx_bytes;
	rec.f[HG_NETDEV_TOTALS_RX_PACKETS] = sum.rx_packets;
	rec.f[HG_NETDEV_TOTALS_TX_BYTES] = sum.tx_bytes;
	rec.f[HG_NETDEV_TOTALS_TX_PACKETS] = sum.tx_packets;
	return hg_writer_record(w, 0, HG_STREAM_SAMPLER, &rec);
}

int hg_probes_net_totals(struct hg_probes *p, struct hg_writer *w, uint64_t now_ns)
{
	struct hg_netdev *dev, *next;
	int rc = 0;

	if (!p->status[HG_P_NETDEV].attached && !p->status[HG_P_NAPI].attached)
		return 0;
	for (uint32_t cpu = 0; cpu < p->n_cpus; cpu++) {
		for (size_t i = 0; i < HG_NET_DEVS && !rc; i++)
			rc = device_take(p, w, cpu, &p->net[cpu].devs[i], now_ns);
	}
	HASH_ITER (hh, p->netdevs, dev, next) {
		if (!rc)
			rc = totals_write(w, dev, now_ns);
	}
	return rc;
}

void hg_probes_net_free(struct hg_probes *p)
{
	struct hg_netdev *dev, *next;

	HASH_ITER (hh, p->netdevs, dev, next) {
		HASH_DEL(p->netdevs, dev);
		free(dev->polls_written);
		free(dev);
	}
}
