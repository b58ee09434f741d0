/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Totals of each network device on each CPU: packets and bytes both ways, polls of its NAPI. No record a
 * packet: the collector reads the totals ten times a second from memory that it maps.
 */
#ifndef HG_NET_BPF_H
#define HG_NET_BPF_H

#include "probes/hg_context.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct hg_net_cpu);
	__uint(max_entries, 1);
} hg_net SEC(".maps");

HG_INLINE u64 hg_net_key(const struct net_device *dev)
{
	return (u64)dev->nd_net.net->ns.inum << 32 | (u32)dev->ifindex;
}

/*
 * The device's totals on this CPU; NULL: the table is full. Only this CPU writes them, and only with softirqs off;
 * a hard interrupt that sends (netconsole) can lose an addition.
 */
HG_INLINE struct hg_net_dev *hg_net_dev(u64 key, const struct net_device *dev)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct hg_net_cpu *n = bpf_map_lookup_elem(&hg_net, &cpu);
	u32 at = (u32)(key >> 32) * 7 + (u32)key;

	if (!n)
		return NULL;
	for (int i = 0; i < HG_NET_PROBES; i++) {
		struct hg_net_dev *d = &n->devs[(at + i) & (HG_NET_DEVS - 1)];

		if (d->key == key)
			return d;
		if (d->key)
			continue;
		if (dev)
			bpf_probe_read_kernel_str(d->name, sizeof(d->name), &dev->name);
		barrier();
		d->key = key;
		return d;
	}
	return NULL;
}

HG_CALLED int hg_net_full(u32 probe)
{
	struct hg_cpu *c;
	u32 cpu;

	c = hg_cpu_this(&cpu);
	if (c)
		hg_loss_count(c, probe, bpf_ktime_get_ns());
	return 0;
}

/* Of what the device took: what it refused comes again, or is dropped. */
SEC("tp_btf/net_dev_xmit")
int BPF_PROG(hg_net_dev_xmit, struct sk_buff *skb, int rc, struct net_device *dev, u32 bytes)
{
	struct hg_net_dev *d;

	if (rc)
		return 0;
	d = hg_net_dev(hg_net_key(dev), dev);
	if (!d)
		return hg_net_full(HG_P_NETDEV);
	d->tx_packets++;
	d->tx_bytes += bytes;
	return 0;
}

SEC("tp_btf/netif_receive_skb")
int BPF_PROG(hg_netif_receive_skb, struct sk_buff *skb)
{
	struct net_device *dev = skb->dev;
	struct hg_net_dev *d = hg_net_dev(hg_net_key(dev), dev);

	if (!d)
		return hg_net_full(HG_P_NETDEV);
	d->rx_packets++;
	d->rx_bytes += skb->len + dev->hard_header_len; /* eth_type_trans() took it off */
	return 0;
}

SEC("tp_btf/napi_poll")
int BPF_PROG(hg_napi_poll, struct napi_struct *napi, int work, int budget)
{
	struct net_device *dev = napi->dev;
	u64 key = hg_net_key(dev);
	struct hg_net_dev *d;

	if (!(u32)key)
		key = HG_NET_KEY_BACKLOG;
	d = hg_net_dev(key, dev);
	if (!d)
		return hg_net_full(HG_P_NAPI);
	d->polls++;
	d->work += work;
	if (work >= budget && budget)
		d->full++;
	return 0;
}

#endif
