/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the libraries of CUDA 12 and 11 in majors_test.c do for the program, which is of CUDA 13:
 * each has these functions with its own number in their names.
 */
#ifndef WORMHOLE_TESTS_CUDART_MAJORS_H
#define WORMHOLE_TESTS_CUDART_MAJORS_H

#include <stddef.h>

struct major {
	int (*version)(void);
	int (*processors)(void);
	void *(*memory)(size_t size);
	void *(*stream)(void);
	int (*first_byte)(const void *p);
	int (*fail)(void);		/* returns the error */
	int (*last_error)(void);
};

extern const struct major major_12, major_11;

#endif
