/* SPDX-License-Identifier: Apache-2.0 */
/* Messages on stderr (transport.c). Each is one line that starts with "wormhole: " and a level. */
#ifndef WORMHOLE_LOG_H
#define WORMHOLE_LOG_H

/* Prints only if WORMHOLE_LOG=1 is set. */
__attribute__((format(printf, 1, 2))) void wh_log(const char *fmt, ...);
/* Prints always. It is for a program that cannot go on as its user expects. */
__attribute__((format(printf, 1, 2))) void wh_complain(const char *fmt, ...);
/* Prints always, too. The program goes on, but a wish of its user's does not count. */
__attribute__((format(printf, 1, 2))) void wh_warn(const char *fmt, ...);

/* Notes why a transport has no worker, for wh_reason(). The later note counts. */
__attribute__((format(printf, 1, 2))) void wh_note_reason(const char *fmt, ...);
/* Returns what was noted last, or NULL. */
const char *wh_reason(void);

#endif
