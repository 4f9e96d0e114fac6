/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for a word in images of code, and at their sizes. */
#ifndef WORMHOLE_SERVER_IMAGE_H
#define WORMHOLE_SERVER_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Call this once, before the first image. */
void wh_image_ready(void);
/*
 * May the word be in the image's code for devices of these major numbers (a bit each; 0 for all)?
 * Only false is certain.
 */
bool wh_image_may_have(const void *image, size_t size, const char *word, uint64_t majors);
/*
 * Does a fatbin end within its bytes, and each of its entries within the fatbin? Who reads it by
 * its own sizes stays inside then. True also for what is no fatbin.
 */
bool wh_image_is_whole(const void *image, size_t size);

#endif
