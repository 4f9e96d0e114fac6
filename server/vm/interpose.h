/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of the C library that a worker replaces for its backend, because
 * the thread that runs delegated calls is special: its code may be running on
 * a client's CPU.
 */
#ifndef WORMHOLE_INTERPOSE_H
#define WORMHOLE_INTERPOSE_H

/* From now on the calling thread is a slot's thread: its sched_yield() is a PAUSE. */
void wh_interpose_slot_thread(void);

/*
 * From now on what a driver maps is told to the module at once. @fd is the open
 * /dev/wormhole-server of this worker, about to be registered.
 */
void wh_interpose_devices(int fd);

#endif
