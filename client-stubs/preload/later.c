// SPDX-License-Identifier: Apache-2.0
/*
 * The functions of runtimes of a later CUDA 13 than the newest that is known. The program loads,
 * and a call of such a function is refused by its name.
 */
#include <pthread.h>
#include <string.h>

#include "preload.h"
#include "gen_cudart_versions.h"

#define REQUIRES_NEWER_DRIVER 36	/* cudaErrorCallRequiresNewerDriver */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char later[PRELOAD_LATER_MAX][PRELOAD_NAME_MAX];
static int count;

static int look_up(const char *name)
{
	int i;

	for (i = 0; i < count; i++)
		if (!strcmp(later[i], name))
			return i;
	if (count == PRELOAD_LATER_MAX || strlen(name) >= PRELOAD_NAME_MAX)
		return -1;
	strcpy(later[count], name);
	return count++;
}

int preload_later(const char *name)
{
	int i;

	pthread_mutex_lock(&lock);
	i = look_up(name);
	pthread_mutex_unlock(&lock);
	return i < 0 ? -1 : RT_EXPORT_COUNT + i;
}

const char *preload_name(int export)
{
	return export < RT_EXPORT_COUNT ? preload_names[export] : later[export - RT_EXPORT_COUNT];
}

static int require_newer(void)
{
	return REQUIRES_NEWER_DRIVER;
}

/* The slot keeps the answer, so that the message comes once. */
void *preload_refuse(unsigned long export)
{
	preload_say("libwormhole-preload: %s came with a later CUDA than " RT_NEWEST ", the newest that is known "
		    "here; it returns cudaErrorCallRequiresNewerDriver: the program has to do without it, or "
		    "be built for CUDA " RT_NEWEST, preload_name(export));
	__atomic_store_n(&preload_slots[export], (void *)require_newer, __ATOMIC_RELEASE);
	return (void *)require_newer;
}
