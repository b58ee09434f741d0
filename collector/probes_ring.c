/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/probes_ring.h"

#include <assert.h>
#include <errno.h>
#include <sys/mman.h>

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include "base/hg_base.h"

static size_t record_bytes(size_t size)
{
	return (size + BPF_RINGBUF_HDR_SZ + 7) / 8 * 8;
}

int hg_ring_create(size_t size_bytes, struct hg_ring *out)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct hg_ring ring = {.size_bytes = size_bytes};
	hg_autoclose int fd = -1;
	void *mem;

	fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "hg_ring", 0, 0, (uint32_t)size_bytes, NULL);
	if (fd < 0)
		return -errno;
	mem = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mem == MAP_FAILED)
		return -errno;
	ring.consumer_pos = mem;
	mem = mmap(NULL, page + 2 * size_bytes, PROT_READ, MAP_SHARED, fd, (off_t)page);
	if (mem == MAP_FAILED) {
		int rc = -errno;

		munmap(ring.consumer_pos, page);
		return rc;
	}
	ring.producer_pos = mem;
	ring.data = (const uint8_t *)mem + page;
	ring.fd = HG_TAKE_FD(fd);
	*out = ring;
	return 0;
}

void hg_ring_free(struct hg_ring *ring)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (ring->fd < 0)
		return;
	munmap(ring->consumer_pos, page);
	munmap((void *)ring->producer_pos, page + 2 * ring->size_bytes);
	close(ring->fd);
	*ring = HG_RING_NONE;
}

uint64_t hg_ring_produced(const struct hg_ring *ring)
{
	return __atomic_load_n(ring->producer_pos, __ATOMIC_ACQUIRE);
}

uint64_t hg_ring_consumed(const struct hg_ring *ring)
{
	return *ring->consumer_pos;
}

size_t hg_ring_fill(struct hg_ring *ring)
{
	size_t fill = (size_t)(hg_ring_produced(ring) - hg_ring_consumed(ring));

	ring->fill_max_bytes = HG_MAX(ring->fill_max_bytes, fill);
	return fill;
}

const void *hg_ring_peek(struct hg_ring *ring, size_t *size_out)
{
	uint64_t pos = hg_ring_consumed(ring);

	while (pos < hg_ring_produced(ring)) {
		const uint8_t *at = ring->data + (pos & (ring->size_bytes - 1));
		uint32_t length = __atomic_load_n((const uint32_t *)at, __ATOMIC_ACQUIRE);
		size_t size = length & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);

		if (length & BPF_RINGBUF_BUSY_BIT)
			return NULL;
		if (!(length & BPF_RINGBUF_DISCARD_BIT)) {
			*size_out = size;
			return at + BPF_RINGBUF_HDR_SZ;
		}
		pos += record_bytes(size);
		__atomic_store_n(ring->consumer_pos, pos, __ATOMIC_RELEASE);
	}
	return NULL;
}

void hg_ring_advance(struct hg_ring *ring, size_t size)
{
	__atomic_store_n(ring->consumer_pos, hg_ring_consumed(ring) + record_bytes(size), __ATOMIC_RELEASE);
}
