/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structs of a library's own kind, which a native program has in its memory, and which are here in
 * the worker's. Libraries write the address of one into another, so each stays in its place until
 * no box that was made from it is left. Called by generated handlers (cuda-api/opaque.py); the
 * handle table names a box by its struct.
 */
#ifndef WORMHOLE_BOX_H
#define WORMHOLE_BOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wh_session;

/* Returns a zeroed struct of so many bytes. It has no name yet. */
void *wh_box_new(size_t size);
/* The box was made from `of`, which stays as long as the box. */
void wh_box_needs(void *box, void *of);
/*
 * Gives the box a name for the client. Returns 0, and ends the box, when there is no room. A box
 * that follows ends with the first of those that it was made from: nothing else may end it.
 */
uint64_t wh_box_put(struct wh_session *s, unsigned int type, void *box, bool follows);
/* The library follows this address in the box; there are so many places for addresses. */
#define WH_BOX_ADDRESSES 8
void wh_box_keeps(void *box, unsigned int place, uint64_t address);
/* May the client still name all addresses kept in the box and in those that it was made from? */
bool wh_box_reaches(struct wh_session *s, void *box);
/* Frees a box that never got a name. */
void wh_box_free(struct wh_session *s, void *box);
/* Ends the client's name, and the boxes that follow. */
void wh_box_drop(struct wh_session *s, uint64_t id);

#endif
