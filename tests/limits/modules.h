/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules that take device memory, by a variable and by a kernel that has a heap. Both
 * have the kernel "run".
 */
#ifndef WORMHOLE_TESTS_LIMITS_MODULES_H
#define WORMHOLE_TESTS_LIMITS_MODULES_H

static const char image[] =
	".version 8.0\n.target sm_75\n.address_size 64\n.visible .global .align 8 .b8 table[4194304];\n"
	".visible .entry run() {\nret;\n}\n";
static const char image_of_malloc[] =
	".version 8.0\n.target sm_75\n.address_size 64\n"
	".extern .func (.param .b64 r) malloc (.param .b64 s);\n"
	".visible .global .align 8 .b64 kept;\n"
	".visible .entry run() {\n"
	".reg .b64 %rd<2>;\n"
	"{ .param .b64 s; .param .b64 r; st.param.b64 [s], 1024;\n"
	"call.uni (r), malloc, (s); ld.param.b64 %rd1, [r]; }\n"
	"st.global.b64 [kept], %rd1;\nret;\n}\n";

#endif
