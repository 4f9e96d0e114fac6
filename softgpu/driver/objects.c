// SPDX-License-Identifier: Apache-2.0
/*
 * Typed slabs for everything that a CUDA handle names. A handle is the address of a slot,
 * so a lookup is a range check and a comparison. A caller may pass any bit pattern: it is
 * dereferenced only after it is known to be a live slot of the wanted type. Freed slots are
 * used again in the order in which they were freed, so a stale handle stays invalid as long
 * as possible. Slabs only grow, so a steady state maps no memory.
 */
#include <string.h>
#include <sys/mman.h>

#include "array.h"
#include "graph.h"
#include "vmm.h"

#define NCHUNKS	20
#define FIRST	32u		/* slots in the first chunk; each next chunk doubles */
/*
 * A program with libraries has about so many functions. Another chunk needs a system call,
 * which is a handoff in a server VM.
 */
#define FUNCTIONS	512u

struct slab {
	size_t size;
	unsigned int first;	/* slots in the first chunk, if not FIRST */
	char *chunk[NCHUNKS];
	unsigned int nchunks;
	struct sgpu_obj *head, *tail;
};

static struct slab slabs[SGPU_NTYPES] = {
	[SGPU_CTX] = { .size = sizeof(struct sgpu_ctx) },
	[SGPU_STREAM] = { .size = sizeof(struct sgpu_stream) },
	[SGPU_EVENT] = { .size = sizeof(struct sgpu_event) },
	[SGPU_MODULE] = { .size = sizeof(struct sgpu_module) },
	[SGPU_FUNC] = { .size = sizeof(struct sgpu_func), .first = FUNCTIONS },
	[SGPU_LIBRARY] = { .size = sizeof(struct sgpu_library) },
	[SGPU_KERNEL] = { .size = sizeof(struct sgpu_kernel), .first = FUNCTIONS },
	[SGPU_GRAPH] = { .size = sizeof(struct sgpu_graph) },
	[SGPU_NODE] = { .size = sizeof(struct sgpu_node) },
	[SGPU_EXEC] = { .size = sizeof(struct sgpu_exec) },
	[SGPU_USEROBJ] = { .size = sizeof(struct sgpu_userobj) },
	[SGPU_ARRAY] = { .size = sizeof(struct sgpu_array) },
	[SGPU_MIPMAP] = { .size = sizeof(struct sgpu_mipmap) },
	[SGPU_TEXTURE] = { .size = sizeof(struct sgpu_texture) },
	[SGPU_SURFACE] = { .size = sizeof(struct sgpu_texture) },
	[SGPU_PHYS] = { .size = sizeof(struct sgpu_phys) },
	[SGPU_GREEN] = { .size = sizeof(struct sgpu_green) },
	[SGPU_DESC] = { .size = sizeof(struct sgpu_desc) },
	[SGPU_LINK] = { .size = sizeof(struct sgpu_link) },
	[SGPU_MEMPOOL] = { .size = sizeof(struct sgpu_mempool) },
};

static size_t chunk_slots(const struct slab *s, unsigned int i)
{
	return (size_t)(s->first ? s->first : FIRST) << i;
}

static void push_free(struct slab *s, struct sgpu_obj *o)
{
	o->type = SGPU_FREE;
	o->next_free = NULL;
	if (s->tail)
		s->tail->next_free = o;
	else
		s->head = o;
	s->tail = o;
}

static bool grow(struct slab *s)
{
	size_t n = chunk_slots(s, s->nchunks);
	char *p;

	if (s->nchunks == NCHUNKS)
		return false;
	p = mmap(NULL, n * s->size, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return false;
	s->chunk[s->nchunks++] = p;
	for (size_t i = 0; i < n; i++)
		push_free(s, (struct sgpu_obj *)(p + i * s->size));
	return true;
}

void *sgpu_obj_new(enum sgpu_type type)
{
	struct slab *s = &slabs[type];
	struct sgpu_obj *o;

	if (!s->head && !grow(s))
		return NULL;
	o = s->head;
	s->head = o->next_free;
	if (!s->head)
		s->tail = NULL;
	memset(o, 0, s->size);
	o->type = type;
	o->id = sgpu_new_id();
	return o;
}

void sgpu_obj_free(void *object)
{
	struct sgpu_obj *o = object;

	push_free(&slabs[o->type], o);
}

void *sgpu_obj_get(enum sgpu_type type, const void *handle)
{
	struct slab *s = &slabs[type];

	for (unsigned int i = 0; i < s->nchunks; i++) {
		uintptr_t off = (uintptr_t)handle - (uintptr_t)s->chunk[i];

		if (off >= chunk_slots(s, i) * s->size)
			continue;
		if (off % s->size ||
		    ((const struct sgpu_obj *)handle)->type != type)
			return NULL;
		return (void *)handle;
	}
	return NULL;
}

void sgpu_obj_each(enum sgpu_type type, void (*visit)(void *object, void *arg),
		   void *arg)
{
	struct slab *s = &slabs[type];

	for (unsigned int i = 0; i < s->nchunks; i++) {
		for (size_t k = 0; k < chunk_slots(s, i); k++) {
			struct sgpu_obj *o = (void *)(s->chunk[i] + k * s->size);

			if (o->type == type)
				visit(o, arg);
		}
	}
}

/* Gives each slab its first chunk, so that the first use of a type maps no memory. */
void sgpu_obj_prefault(void)
{
	for (int t = SGPU_FREE + 1; t < SGPU_NTYPES; t++)
		if (slabs[t].size && !slabs[t].nchunks)
			grow(&slabs[t]);
}
