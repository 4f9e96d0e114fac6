/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structs of a library's own kind that a program has in its memory, here in the
 * worker's: libraries write addresses of one into another, so each stays where it is
 * until none is left that was made from it. Called by generated handlers
 * (cuda-api/opaque.py); the handle table names a box by its struct.
 */
#ifndef WORMHOLE_BOX_H
#define WORMHOLE_BOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wh_session;

/* A struct of so many bytes, zeroed; it is nobody's yet. */
void *wh_box_new(size_t size);
/* It was made from that one, which stays as long. */
void wh_box_needs(void *box, void *of);
/*
 * Its name for the client; 0 with an end to it when there is no room. One that follows
 * ends with the first of those that it was made from: nothing else may end it.
 */
uint64_t wh_box_put(struct wh_session *s, unsigned int type, void *box, bool follows);
/* The library follows this address in it, of so many places. */
#define WH_BOX_ADDRESSES 8
void wh_box_keeps(void *box, unsigned int place, uint64_t address);
/* May the client still name all that is so kept, in it and in what it was made from? */
bool wh_box_reaches(struct wh_session *s, void *box);
/* It came to nothing. */
void wh_box_free(struct wh_session *s, void *box);
/* The client's name ends, with those that follow. */
void wh_box_drop(struct wh_session *s, uint64_t id);

#endif
