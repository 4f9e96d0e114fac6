/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps a number of each object of the worker, for a library that names numbers in SHARED of its
 * Makefile (numbers.c): how much of the program's memory a call with the object reads. Any thread
 * may call these.
 */
#ifndef WORMHOLE_NUMBERS_H
#define WORMHOLE_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

/* Sets the object's number. Returns false if there is no memory. */
bool wh_number_keep(const void *object, uint32_t number);
/* Returns 0 for an object that has none. */
uint32_t wh_number_of(const void *object);
/* Forgets the number of an object that has ended. */
void wh_number_forget(const void *object);

#endif
