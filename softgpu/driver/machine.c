// SPDX-License-Identifier: Apache-2.0
/*
 * What the machine has: GPUs, and MIG instances of those that WORMHOLE_SOFTGPU_MIG divides. For the
 * driver and for the management library.
 *
 * A GPU in MIG mode has 7 compute slices and 8 slices of memory. The profiles are those of
 * NVIDIA's GPUs with 8 slices of memory: 1g, 2g, 3g, 4g and 7g with 1, 2, 4, 4 and 8 of them
 * (MIG user guide, "Supported MIG Profiles"). Each instance is one GPU instance with one compute
 * instance.
 */
#include <stdlib.h>

#include "identity.h"

#define VARIABLE	"WORMHOLE_SOFTGPU_MIG"
#define MEMORY_SLICES	8u
#define LEAST_MEMORY	(1ull << 20)

/* 0: there is no such profile. */
static unsigned int memory_slices(unsigned int compute)
{
	static const unsigned int of[SGPU_MIG_SLICES + 1] = { 0, 1, 2, 4, 4, 0, 0, 8 };

	return compute <= SGPU_MIG_SLICES ? of[compute] : 0;
}

static bool add_part(struct sgpu_machine *m, const struct sgpu_part *p)
{
	if (m->parts == SGPU_DEVICES)
		return false;
	m->part[m->parts++] = *p;
	return true;
}

/*
 * Divides a GPU by a text like "3+2+1", and returns what follows it; NULL: it is malformed, or the
 * GPU has too few slices.
 */
static const char *divide(struct sgpu_machine *m, unsigned int gpu, const char *text)
{
	struct sgpu_part p = { .gpu = gpu };
	unsigned int compute = 0, memory = 0, of_this;

	m->mig[gpu] = true;
	for (;; text++) {
		p.slices = *text >= '1' && *text <= '9' ? (unsigned int)(*text++ - '0') : 0;
		of_this = memory_slices(p.slices);
		compute += p.slices;
		memory += of_this;
		p.bytes = m->bytes[gpu] / MEMORY_SLICES * of_this;
		if (compute > SGPU_MIG_SLICES || memory > MEMORY_SLICES || p.bytes < LEAST_MEMORY ||
		    !add_part(m, &p))
			return NULL;
		p.instance++;
		if (*text != '+')
			return text;
	}
}

/* An empty word, or 0, is a GPU without MIG, as is one that has no word. */
static bool divide_all(struct sgpu_machine *m, const char *text)
{
	unsigned int gpu;

	for (gpu = 0; gpu < m->gpus; gpu++) {
		if (*text && *text != ',' && *text != '0') {
			text = divide(m, gpu, text);
			if (!text)
				return false;
		} else {
			text += *text == '0';
			if (!add_part(m, &(struct sgpu_part){ .gpu = gpu, .bytes = m->bytes[gpu] }))
				return false;
		}
		if (*text && *text++ != ',')
			return false;
	}
	return !*text;
}

const char *sgpu_machine_find(struct sgpu_machine *m)
{
	const char *mig = getenv(VARIABLE);

	memset(m, 0, sizeof(*m));
	if (!sgpu_memory_sizes(m->bytes, &m->gpus))
		return "WORMHOLE_SOFTGPU_MEM";
	return divide_all(m, mig ? mig : "") ? NULL : VARIABLE;
}

void sgpu_part_uuid(const struct sgpu_part *p, unsigned char out[16])
{
	sgpu_uuid(p->gpu, out);
	if (p->slices)
		out[14] = (unsigned char)(out[14] + 1 + p->instance);
}

void sgpu_part_uuid_text(const struct sgpu_part *p, char out[SGPU_UUID_TEXT])
{
	unsigned char u[16];

	sgpu_part_uuid(p, u);
	sgpu_uuid_write(p->slices ? "MIG-" : "GPU-", u, out);
}

void sgpu_part_profile(const struct sgpu_part *p, char out[SGPU_PROFILE])
{
	unsigned long long mb = p->bytes >> 20;

	snprintf(out, SGPU_PROFILE, "%ug.%llu%s", p->slices, mb % 1024 ? mb : mb / 1024,
		 mb % 1024 ? "mb" : "gb");
}

void sgpu_part_name(const struct sgpu_part *p, char *out, size_t size)
{
	char profile[SGPU_PROFILE];

	sgpu_part_profile(p, profile);
	snprintf(out, size, SGPU_NAME "%s%s", p->slices ? " MIG " : "", p->slices ? profile : "");
}
