/* SPDX-License-Identifier: Apache-2.0 */
/* What the library of CUDA 12 in majors_test.c does for the program, which is of CUDA 13. */
#ifndef WORMHOLE_TESTS_CUDART_MAJORS_H
#define WORMHOLE_TESTS_CUDART_MAJORS_H

#include <stddef.h>

int version_12(void);
int processors_12(void);
void *memory_12(size_t size);
void *stream_12(void);
int first_byte_12(const void *p);
int fail_12(void);		/* returns the error */
int last_error_12(void);

#endif
