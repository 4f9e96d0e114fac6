/* SPDX-License-Identifier: Apache-2.0 */
/* What images of code say. */
#ifndef WORMHOLE_SERVER_IMAGE_H
#define WORMHOLE_SERVER_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Once, before the first image. */
void wh_image_ready(void);
/*
 * May the word be in the image's code for devices of these major numbers (a bit each; 0 for
 * all)? No is sure.
 */
bool wh_image_may_have(const void *image, size_t size, const char *word, uint64_t majors);

#endif
