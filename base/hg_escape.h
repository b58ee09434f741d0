/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names come from guests, tasks and files: every output escapes them here.
 */
#ifndef HG_ESCAPE_H
#define HG_ESCAPE_H

#include <stddef.h>

/*
 * Copies src to dst (size bytes, always terminated, cut at a whole escape) with
 * control characters, DEL and bytes that are not valid UTF-8 as \xNN, and C1
 * controls and bidirectional overrides as \u{N}. Returns dst.
 */
char *hg_escape_terminal(char *dst, size_t size, const char *src);

/* The same, then &, <, >, " and ' as entities: for SVG, HTML and XML. Returns dst. */
char *hg_escape_xml(char *dst, size_t size, const char *src);

#endif
