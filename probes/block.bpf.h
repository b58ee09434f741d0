/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests to block devices: one record at completion. Insertion tells who asked, where a kernel thread
 * issues it later.
 */
#ifndef HG_BLOCK_BPF_H
#define HG_BLOCK_BPF_H

#include "probes/hg_context.bpf.h"

const volatile bool hg_block_has_queue =
	false; /* the tracepoints pass the queue first: before 5.11 */

struct hg_request {
	u64 start_ns; /* the kernel's own: tells a request_queue's slot that is used again */
	u64 insert_ns, issue_ns;
	u64 sector;
	u32 bytes, lane;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, u64); /* address of the request */
	__type(value, struct hg_request);
	__uint(max_entries, 8192);
} hg_requests SEC(".maps");

/* Who asks for what is queued now; an interrupt that finds room for more asks for nothing. */
HG_INLINE u32 hg_block_asker(struct hg_cpu *c, u32 cpu, u64 now)
{
	if (c->irq_kind || c->sirq_vec || !hg_current_role(c))
		return HG_LANE_NONE;
	return hg_current_lane(c, cpu, now);
}

HG_INLINE int hg_block_inserted(struct request *rq)
{
	struct hg_request r = {.start_ns = rq->start_time_ns};
	u64 key = (u64)rq;
	struct hg_cpu *c;
	u32 cpu;

	c = hg_cpu_this(&cpu);
	if (!c)
		return 0;
	r.insert_ns = bpf_ktime_get_ns();
	r.lane = hg_block_asker(c, cpu, r.insert_ns);
	if (bpf_map_update_elem(&hg_requests, &key, &r, BPF_ANY))
		hg_loss_count(c, HG_P_BLOCK, r.insert_ns);
	return 0;
}

HG_INLINE int hg_block_issued(struct request *rq)
{
	struct hg_request fresh = {.start_ns = rq->start_time_ns}, *r;
	u64 key = (u64)rq, now = bpf_ktime_get_ns();
	struct hg_cpu *c;
	u32 cpu;

	r = bpf_map_lookup_elem(&hg_requests, &key);
	if (r && r->start_ns == fresh.start_ns) {
		r->issue_ns = now;
		r->sector = rq->__sector;
		r->bytes = rq->__data_len;
		return 0;
	}
	c = hg_cpu_this(&cpu);
	if (!c)
		return 0;
	fresh.issue_ns = now;
	fresh.sector = rq->__sector;
	fresh.bytes = rq->__data_len;
	fresh.lane = hg_block_asker(c, cpu, now);
	if (bpf_map_update_elem(&hg_requests, &key, &fresh, BPF_ANY))
		hg_loss_count(c, HG_P_BLOCK, now);
	return 0;
}

/* The other argument is out of bounds where the queue is not passed: the verifier must not see it. */
SEC("tp_btf/block_rq_insert")
int hg_block_insert(unsigned long long *ctx)
{
	struct request *rq;

	if (hg_block_has_queue) {
		rq = (void *)ctx[1];
		barrier();
	} else {
		rq = (void *)ctx[0];
		barrier();
	}
	return hg_block_inserted(rq);
}

SEC("tp_btf/block_rq_issue")
int hg_block_issue(unsigned long long *ctx)
{
	struct request *rq;

	if (hg_block_has_queue) {
		rq = (void *)ctx[1];
		barrier();
	} else {
		rq = (void *)ctx[0];
		barrier();
	}
	return hg_block_issued(rq);
}

HG_INLINE u32 hg_block_dev(struct request *rq)
{
	struct request___disk *old = (void *)rq;
	struct gendisk *disk;

	if (bpf_core_field_exists(old->rq_disk))
		disk = old->rq_disk;
	else
		disk = rq->q->disk;
	return (u32)disk->major << 20 | (u32)disk->first_minor;
}

HG_INLINE u32 hg_block_flags(u32 cmd)
{
	u32 flags = 0;

	if (cmd >> bpf_core_enum_value(enum req_flag_bits, __REQ_SYNC) & 1)
		flags |= HG_BLOCK_IOF_SYNC;
	if (cmd >> bpf_core_enum_value(enum req_flag_bits, __REQ_FUA) & 1)
		flags |= HG_BLOCK_IOF_FUA;
	if (cmd >> bpf_core_enum_value(enum req_flag_bits, __REQ_PREFLUSH) & 1)
		flags |= HG_BLOCK_IOF_PREFLUSH;
	if (cmd >> bpf_core_enum_value(enum req_flag_bits, __REQ_META) & 1)
		flags |= HG_BLOCK_IOF_META;
	if (cmd >> bpf_core_enum_value(enum req_flag_bits, __REQ_RAHEAD) & 1)
		flags |= HG_BLOCK_IOF_READAHEAD;
	return flags;
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(hg_block_complete, struct request *rq, int error, u32 bytes)
{
	struct hg_ev_block_io ev = {.type = HG_EV_BLOCK_IO};
	u64 key = (u64)rq, begin_ns;
	struct hg_request *r = bpf_map_lookup_elem(&hg_requests, &key);
	struct hg_cpu *c;
	u32 cpu;

	/* What was issued before we came has no time; what completes in part is not done. */
	if (!r || bytes < rq->__data_len)
		return 0;
	c = hg_cpu_this(&cpu);
	if (!c || !r->issue_ns)
		return 0;
	ev.time_ns = bpf_ktime_get_ns();
	ev.dev = hg_block_dev(rq);
	ev.op = rq->cmd_flags & HG_BLOCK_OP_MASK;
	ev.flags = hg_block_flags(rq->cmd_flags);
	/* A blk_status_t, an 8-bit type, since 5.16; before that a negative errno. */
	ev.error = error < 0 ? -error : error & 0xff;
	ev.sector = r->sector;
	ev.bytes = r->bytes;
	ev.lane = r->lane;
	ev.device_ns = ev.time_ns - r->issue_ns;
	/* The kernel may take the time of its allocation from a clock that it read a little earlier (blk_time_get_ns()). */
	begin_ns = r->start_ns && r->start_ns < r->issue_ns ? r->start_ns : r->insert_ns;
	ev.queue_ns = begin_ns ? r->issue_ns - begin_ns : 0;
	bpf_map_delete_elem(&hg_requests, &key);
	hg_emit(c, cpu, &ev, sizeof(ev), HG_P_BLOCK, ev.time_ns);
	return 0;
}

#endif
