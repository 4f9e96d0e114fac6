/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a kernel of a loaded module on the CPU, in the calling thread.
 *
 * Device pointers are host addresses of this process. Every access to global,
 * constant or generic memory is checked against what exec_mem.find() reports,
 * so a wild pointer of a kernel is EXEC_ILLEGAL_ADDRESS and never touches the
 * process. Shared, local and parameter memory live in windows of the generic
 * address space that no host mapping can have (non-canonical addresses).
 */
#ifndef WORMHOLE_SOFTGPU_EXEC_H
#define WORMHOLE_SOFTGPU_EXEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ptx_func;

enum exec_status {
	EXEC_OK,
	EXEC_BAD_LAUNCH,	/* shape, shared memory or parameters do not fit */
	EXEC_ILLEGAL_ADDRESS,
	EXEC_MISALIGNED,
	EXEC_TRAP,		/* trap, brkpt */
	EXEC_ASSERT,		/* __assertfail() */
	EXEC_ILLEGAL_INSTRUCTION, /* call through a bad pointer, bad operand */
	EXEC_STACK_OVERFLOW,
	EXEC_DEADLOCK,		/* every thread waits for another */
	EXEC_CANCELLED,		/* exec_launch.cancel became true */
	EXEC_NOMEM,
};

const char *exec_status_name(enum exec_status status);

/* One valid range of device memory: [base, base + size). */
struct exec_range {
	uint64_t base;
	uint64_t size;
	bool writable;
};

enum exec_tex_format { TEX_UINT, TEX_SINT, TEX_HALF, TEX_FLOAT };
enum exec_tex_mode { TEX_WRAP, TEX_CLAMP, TEX_MIRROR, TEX_BORDER };

/* Contents of a texture object, for fetches. */
struct exec_texture {
	const uint8_t *base;
	uint32_t size[3];	/* in texels; 1 if the axis does not exist */
	uint64_t pitch, slice;	/* bytes from row to row, from plane to plane */
	uint8_t format;		/* enum exec_tex_format */
	uint8_t bytes, channels;	/* bytes of a channel; number of channels: 1, 2 or 4 */
	uint8_t mode[3];	/* enum exec_tex_mode */
	bool promote;		/* integers are converted to [0, 1] or [-1, 1] */
	bool linear;		/* linear filtering */
	bool normalized;	/* coordinates from 0 to 1 cover the whole axis */
	bool fetch;		/* linear memory: reads beyond its end return zeros */
	bool layered;		/* size[2] counts layers, or faces of cubes */
	bool cube;		/* six planes are the faces of a cube */
	bool seamless;		/* filtering goes on in the next face of the cube */
	uint32_t border[4];	/* bits of the border color */
};

/* Contents of a surface object: bytes without a format. */
struct exec_surface {
	uint8_t *base;
	uint32_t width;		/* bytes of a row */
	uint32_t rows, planes;	/* 1 if the axis does not exist; planes may be layers or faces */
	uint64_t pitch, slice;	/* bytes from row to row, from plane to plane */
	bool layered;		/* planes are layers or faces */
};

struct exec_mem {
	void *ctx;
	/* Finds the allocation that holds @addr. Returns false if there is none. */
	bool (*find)(void *ctx, uint64_t addr, struct exec_range *out);
	/* Finds the texture object of that number. Returns false if there is none. May be NULL. */
	bool (*texture)(void *ctx, uint64_t handle, struct exec_texture *out);
	/* Finds the surface object of that number, in the same way. */
	bool (*surface)(void *ctx, uint64_t handle, struct exec_surface *out);
};

struct exec_launch {
	const struct ptx_func *fn;	/* an entry */
	uint32_t grid[3];
	uint32_t block[3];
	uint32_t cluster[3];		/* blocks of a cluster; zeros: what the kernel says */
	uint32_t dyn_shared;		/* bytes, after fn->static_shared */
	const void *params;		/* packed in the layout of fn->params */
	const struct exec_mem *mem;
	uint32_t nsm;			/* value of %nsmid; 0 = 1 */
	uint64_t sms;			/* values that %smid may have, a bit each; 0: all */
	uint64_t grid_id;		/* value of %gridid */
	uint32_t stack_bytes;		/* per thread, for recursion; 0 = default */
	bool cooperative;		/* all blocks are present at once and run in turns */
	/* Called with formatted output of device printf(). May be NULL. */
	void (*print)(void *ctx, const char *text, size_t len);
	void *print_ctx;
	/*
	 * Sets a graph's condition, for cudaGraphSetConditional(). Returns false if there is none
	 * of that handle. Threads of a launch may call it at the same time. NULL: there is none.
	 */
	bool (*condition)(uint64_t handle, uint32_t value);
	/* Polled from time to time. May be NULL. */
	const volatile bool *cancel;
};

/* Place and reason of a failed launch. */
struct exec_fault {
	enum exec_status status;
	uint64_t addr;		/* set for EXEC_ILLEGAL_ADDRESS and EXEC_MISALIGNED */
	uint32_t ctaid[3];
	uint32_t tid[3];
	uint32_t line;		/* line in the PTX text; 0 = not known */
	const char *func;	/* name, lives as long as the module */
	char msg[256];		/* one line; the assertion's text for EXEC_ASSERT */
};

/*
 * Scratch memory for running: registers, shared and local memory. It is kept between
 * launches, so a steady state neither maps nor frees memory. Only one thread at a time may
 * use a machine.
 */
struct exec_machine;

struct exec_machine *exec_new(void);
void exec_free(struct exec_machine *m);

/*
 * Lets launches of @m use @n threads, including the caller's. The other threads are started
 * here and wait for work until the process ends, so @m is never freed then. Returns the
 * number of threads, which may be less than @n.
 */
uint32_t exec_set_threads(struct exec_machine *m, uint32_t n);

/*
 * Makes the checks of exec_run() and runs nothing. @m keeps its memory; it must not run a launch
 * meanwhile.
 */
enum exec_status exec_check(struct exec_machine *m, const struct exec_launch *l,
			    struct exec_fault *fault);

/* Runs a launch to its end. @fault may be NULL; it is written only on failure. */
enum exec_status exec_run(struct exec_machine *m, const struct exec_launch *l,
			  struct exec_fault *fault);

/* Maximum of shared memory in a block (static and dynamic), in bytes. */
#define EXEC_MAX_SHARED		(227u * 1024)
#define EXEC_MAX_THREADS	1024u
/* Maximum of blocks in a cluster. */
#define EXEC_MAX_CLUSTER	16u

#endif
