/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of the C library that a worker replaces for its backend, because the thread that runs
 * delegated calls is special: its code may be running on a client's CPU.
 */
#ifndef WORMHOLE_INTERPOSE_H
#define WORMHOLE_INTERPOSE_H

/* Makes the calling thread a slot's thread: its sched_yield() is a PAUSE, and malloc() spins. */
void wh_interpose_slot_thread(void);
int wh_interpose_is_slot_thread(void);

/*
 * From now on a mapping that a driver makes is reported to the module at once. @fd is the open
 * /dev/wormhole-server of this worker, about to be registered.
 */
void wh_interpose_devices(int fd);

#endif
