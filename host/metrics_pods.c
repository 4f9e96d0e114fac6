// SPDX-License-Identifier: Apache-2.0
/*
 * Whose tenants are which pods' of Kubernetes: the file `pods' in the server's folder, which the
 * drivers of host/kubernetes/ replace as pods come and go. It names a claim's tenant, or a share.
 * Of a share, each container's tenant has a container's id behind the name (cdi_contain.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cdi.h"
#include "views.h"

#define PODS	(4 << 20)	/* bytes of the file, at most */

struct wh_pods {
	cJSON *file;
	int n;
	struct wh_pod pod[];	/* by tenant's name */
};

static int by_tenant(const void *a, const void *b)
{
	return strcmp(((const struct wh_pod *)a)->tenant, ((const struct wh_pod *)b)->tenant);
}

/* Returns the file's text; NULL if there is none, or after a message that is said once. */
static char *read_text(const char *dir)
{
	int folder = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1;
	static bool said;
	char *text = NULL;
	struct stat st;
	ssize_t n = -1;

	if (folder >= 0) {
		fd = openat(folder, "pods", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		close(folder);
	}
	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && !(st.st_mode & 022) && st.st_size <= PODS) {
		text = wh_must(calloc(1, PODS + 1));
		n = read(fd, text, PODS);
	} else if (!said) {
		wh_warn("%s/pods: not a file of at most %d bytes that its owner alone may write; figures have no labels of pods",
			dir, PODS);
		said = true;
	}
	close(fd);
	if (n > 0)
		return text;
	free(text);
	return NULL;
}

struct wh_pods *wh_pods_read(const char *dir)
{
	char *text = read_text(dir);
	struct wh_pods *p = NULL;
	cJSON *file, *e;

	if (!text)
		return NULL;
	file = cJSON_Parse(text);
	free(text);
	if (!file)
		return NULL;
	p = wh_must(calloc(1, sizeof(*p) + (size_t)cJSON_GetArraySize(file) * sizeof(p->pod[0])));
	p->file = file;
	cJSON_ArrayForEach(e, file) {
		if (!e->string)
			continue;
		p->pod[p->n++] = (struct wh_pod){
			.tenant = e->string,
			.space = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(e, "namespace")),
			.name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(e, "pod")),
			.container = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(e, "container")),
		};
	}
	qsort(p->pod, (size_t)p->n, sizeof(p->pod[0]), by_tenant);
	return p;
}

void wh_pods_free(struct wh_pods *p)
{
	if (p)
		cJSON_Delete(p->file);
	free(p);
}

const struct wh_pod *wh_pod_of(const struct wh_pods *p, const char *tenant)
{
	struct wh_pod key = { .tenant = tenant };
	const struct wh_pod *found = NULL;
	const char *dash;
	char *share;

	if (!p)
		return NULL;
	found = bsearch(&key, p->pod, (size_t)p->n, sizeof(key), by_tenant);
	dash = strrchr(tenant, '-');
	if (found || !dash || strlen(dash + 1) != WH_CONTAINER_ID)
		return found;
	share = wh_must(strndup(tenant, (size_t)(dash - tenant)));
	key.tenant = share;
	found = bsearch(&key, p->pod, (size_t)p->n, sizeof(key), by_tenant);
	free(share);
	return found;
}
