/* SPDX-License-Identifier: Apache-2.0 */
/* Messages on stderr (transport.c): one line, starting with "wormhole: ". */
#ifndef WORMHOLE_LOG_H
#define WORMHOLE_LOG_H

/* Under WORMHOLE_LOG=1 only. */
__attribute__((format(printf, 1, 2))) void wh_log(const char *fmt, ...);
/* Always: for a program that cannot go on as its user expects. */
__attribute__((format(printf, 1, 2))) void wh_complain(const char *fmt, ...);

#endif
