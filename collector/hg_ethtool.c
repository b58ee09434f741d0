/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hg_ethtool_read(): what a driver says of its device, by ioctls that need no privilege. */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include <linux/ethtool.h>
#include <linux/sockios.h>

#include "base/hg_base.h"
#include "collector/hg_netlink.h"
#include "trace/hg_kinds.h"

static int ask(int fd, const char *name, void *data)
{
	struct ifreq request = {.ifr_data = data};

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	return ioctl(fd, SIOCETHTOOL, &request) ? -errno : 0;
}

/* Asked twice: the first answer says how many words the masks of link modes have. */
static uint64_t speed_read(int fd, const char *name)
{
	struct {
		struct ethtool_link_settings head;
		uint32_t masks[3 * 127]; /* the count is a signed byte */
	} s = {.head = {.cmd = ETHTOOL_GLINKSETTINGS}};

	if (ask(fd, name, &s) || s.head.link_mode_masks_nwords >= 0)
		return 0;
	s.head.link_mode_masks_nwords = (int8_t)-s.head.link_mode_masks_nwords;
	if (s.head.link_mode_masks_nwords < 0 || ask(fd, name, &s) ||
	    s.head.speed == (uint32_t)SPEED_UNKNOWN)
		return 0;
	return s.head.speed;
}

static uint32_t offloads_read(int fd, const char *name)
{
	static const struct {
		uint32_t command, bit;
	} offloads[] = {
		{ETHTOOL_GTSO, HG_LINKF_TSO},	     {ETHTOOL_GGSO, HG_LINKF_GSO},
		{ETHTOOL_GGRO, HG_LINKF_GRO},	     {ETHTOOL_GTXCSUM, HG_LINKF_TX_CSUM},
		{ETHTOOL_GRXCSUM, HG_LINKF_RX_CSUM}, {ETHTOOL_GSG, HG_LINKF_SG},
	};
	struct ethtool_value v = {.cmd = ETHTOOL_GFLAGS};
	uint32_t bits = 0;

	if (!ask(fd, name, &v))
		bits |= HG_LINKF_KNOWN | (v.data & ETH_FLAG_LRO ? HG_LINKF_LRO : 0);
	for (size_t i = 0; i < HG_ARRAY_SIZE(offloads); i++) {
		v = (struct ethtool_value){.cmd = offloads[i].command};
		if (!ask(fd, name, &v))
			bits |= HG_LINKF_KNOWN | (v.data ? offloads[i].bit : 0);
	}
	return bits;
}

void hg_ethtool_read(int inet_fd, const char *name, struct hg_ethtool_info *out)
{
	struct ethtool_drvinfo driver = {.cmd = ETHTOOL_GDRVINFO};

	*out = (struct hg_ethtool_info){0};
	if (inet_fd < 0)
		return;
	if (!ask(inet_fd, name, &driver))
		snprintf(out->driver, sizeof(out->driver), "%.*s", (int)sizeof(driver.driver) - 1,
			 driver.driver);
	out->mbit = speed_read(inet_fd, name);
	out->offloads = offloads_read(inet_fd, name);
}
