// SPDX-License-Identifier: Apache-2.0
/*
 * The hook of a share of `wormhole cdi --share --hami' (`wormhole cdi --contain'): each container
 * that names the device gets a tenant of its own, which ends with it. The tenant's limits are
 * those of the share, or less where HAMi's variables in the container's configuration say less.
 *
 * The hook runs as root on words of the container's user: the configuration's variables and
 * user. They are read as data, and can only lower limits. What decides is root's: the share, and
 * the engine's answer which process and which folder the container is. The tenant's socket is
 * mounted over an empty file that the engine has bound into the container from the share's folder,
 * and nowhere else: links of the image lead to no other place.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cdi.h"
#include "tenant/hami.h"
#include "wormhole.h"

#define CONFIGURATION	(8 << 20)	/* bytes of a configuration, at most */
#define VARIABLES	65536

/* What the engine says of the container. */
struct container {
	pid_t pid;
	char id[WH_CONTAINER_ID + 1];
	char *root;			/* its file system, before it becomes the root */
	char **env;			/* allocated; the words belong to config */
	double uid;			/* of its program, as the container counts */
	cJSON *config;
};

/* --- What the engine says ------------------------------------------------------------------ */

/* Reads the bundle's configuration, which is root's file. Returns NULL after a message. */
static cJSON *read_configuration(const char *bundle)
{
	char *path = wh_cdi_text("%s/config.json", bundle), *text = NULL;
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	cJSON *config = NULL;
	struct stat st;
	ssize_t n = -1;

	if (fd < 0 || fstat(fd, &st)) {
		wh_error("%s: %s", path, strerror(errno));
	} else if (!S_ISREG(st.st_mode) || st.st_mode & 022 ||
		   (st.st_uid && st.st_uid != geteuid())) {
		wh_error("%s: not a file that root alone may write", path);
	} else if (st.st_size > CONFIGURATION) {
		wh_error("%s: longer than %d bytes", path, CONFIGURATION);
	} else {
		text = wh_must(calloc(1, CONFIGURATION + 1));
		n = read(fd, text, CONFIGURATION);
		config = n > 0 ? cJSON_Parse(text) : NULL;
		if (!config)
			wh_error("%s: no JSON", path);
	}
	if (fd >= 0)
		close(fd);
	free(text);
	free(path);
	return config;
}

/* An id is the engine's choice; of it the letters and digits become part of the tenant's name. */
static bool take_id(struct container *c, const char *id)
{
	int n = 0;

	for (; *id && n < WH_CONTAINER_ID; id++)
		if ((*id >= '0' && *id <= '9') || ((*id | 0x20) >= 'a' && (*id | 0x20) <= 'z'))
			c->id[n++] = *id;
	if (!n)
		wh_error("the engine's state has no container's id with letters or digits");
	return n;
}

static bool take_environment(struct container *c, const cJSON *process)
{
	const cJSON *env = cJSON_GetObjectItemCaseSensitive(process, "env"), *e;
	int n = 0;

	if (cJSON_GetArraySize(env) > VARIABLES) {
		wh_error("the container has more than %d variables", VARIABLES);
		return false;
	}
	c->env = wh_must(calloc((size_t)cJSON_GetArraySize(env) + 1, sizeof(*c->env)));
	cJSON_ArrayForEach(e, env)
		if (cJSON_IsString(e))
			c->env[n++] = e->valuestring;
	return true;
}

static bool take_configuration(struct container *c, const char *bundle)
{
	const cJSON *process, *uid;
	const char *root;

	c->config = read_configuration(bundle);
	if (!c->config)
		return false;
	root = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(
		cJSON_GetObjectItemCaseSensitive(c->config, "root"), "path"));
	process = cJSON_GetObjectItemCaseSensitive(c->config, "process");
	uid = cJSON_GetObjectItemCaseSensitive(
		cJSON_GetObjectItemCaseSensitive(process, "user"), "uid");
	if (!root || !process) {
		wh_error("%s/config.json: no root.path, or no process", bundle);
		return false;
	}
	c->root = *root == '/' ? wh_must(strdup(root)) : wh_cdi_text("%s/%s", bundle, root);
	c->uid = cJSON_IsNumber(uid) ? uid->valuedouble : 0;
	return take_environment(c, process);
}

/* Reads what an engine writes to its hooks: the state of the container. */
static bool read_container(struct container *c, const char *text)
{
	cJSON *state = cJSON_Parse(text);
	const char *id = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(state, "id"));
	const char *bundle = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(state, "bundle"));
	const cJSON *pid = cJSON_GetObjectItemCaseSensitive(state, "pid");
	bool done = false;

	*c = (struct container){ .pid = cJSON_IsNumber(pid) ? pid->valueint : 0 };
	if (!id || !bundle || *bundle != '/' || c->pid <= 0)
		wh_error("no state of a container on standard input: engines run this as a hook of the device");
	else
		done = take_id(c, id) && take_configuration(c, bundle);
	cJSON_Delete(state);
	return done;
}

/* Returns the number that the container's user has outside, or -1 after a message. */
static double user_outside(const struct container *c)
{
	unsigned int inside, outside, count;
	char *path = wh_cdi_text("/proc/%d/uid_map", c->pid);
	FILE *f = fopen(path, "re");
	double uid = -1;

	while (f && uid < 0 && fscanf(f, "%u %u %u", &inside, &outside, &count) == 3)
		if (c->uid >= inside && c->uid < (double)inside + count)
			uid = outside + (c->uid - inside);
	if (f)
		fclose(f);
	if (uid < 0)
		wh_error("%s: user %.0f of the container is nobody outside", path, c->uid);
	free(path);
	return uid;
}

/* --- Limits --------------------------------------------------------------------------------- */

/* Reads the limits of a share's request, which wh_request_limits() has written. */
static void take_share(const cJSON *request, struct wh_limit_list *l)
{
	const cJSON *e, *v;
	struct wh_limit_spec *s;

	*l = (struct wh_limit_list){ .n = 0 };
	cJSON_ArrayForEach(e, cJSON_GetObjectItem(request, "limits")) {
		v = cJSON_GetObjectItem(e, "device");
		s = wh_limit_of(l, v ? v->valueint : WH_ALL_DEVICES);
		v = cJSON_GetObjectItem(e, "memory");
		s->has_memory = v != NULL;
		s->memory = v ? (uint64_t)v->valuedouble : 0;
		v = cJSON_GetObjectItem(e, "sm");
		s->has_sm = v != NULL;
		s->sm_percent = v ? (uint32_t)v->valuedouble : 100;
		v = cJSON_GetObjectItem(e, "sm_max");
		s->has_max = v != NULL;
		s->sm_max = v ? (uint32_t)v->valuedouble : 0;
		v = cJSON_GetObjectItem(e, "priority");
		s->has_class = v && !wh_limit_class(v->valuestring, &s->sm_class);
		v = cJSON_GetObjectItem(e, "policy");
		s->has_policy = v && !wh_limit_policy(v->valuestring, &s->sm_policy);
	}
}

/*
 * HAMi's variables count the tenant's devices, and requests the server's. What is said of a device
 * that the tenant does not have is dropped. Returns false after a message.
 */
static bool renumber(struct wh_limit_list *asked, const cJSON *devices)
{
	struct wh_limit_list out = *asked;
	const cJSON *is;
	int i;

	if (!devices)
		return true;
	out.n = 0;
	for (i = 0; i < asked->n; i++) {
		out.spec[out.n] = asked->spec[i];
		if (asked->spec[i].device != WH_ALL_DEVICES) {
			is = cJSON_GetArrayItem(devices, asked->spec[i].device);
			if (!is)
				continue;
			if (!cJSON_IsNumber(is)) {
				wh_error("the share names its devices by UUID, and the container has HAMi's limits of one device; make the share with numbers");
				return false;
			}
			out.spec[out.n].device = is->valueint;
		}
		out.n++;
	}
	*asked = out;
	return true;
}

/* Makes the share's request that for this container. Returns false after a message. */
static bool fit_request(cJSON *request, const struct container *c, const char *name)
{
	struct wh_limit_list share, asked = { .n = 0 };
	char err[300], idle[200], *tenant;
	double uid = 0;

	if (wh_hami_limits(&asked, c->env, err, sizeof(err))) {
		wh_error("container %s: %s", c->id, err);
		return false;
	}
	if (!renumber(&asked, cJSON_GetObjectItem(request, "devices")))
		return false;
	if (wh_hami_idle(c->env, idle, sizeof(idle)))
		wh_warn("container %s: " WH_HAMI_IDLE, c->id, idle);
	take_share(request, &share);
	wh_limit_narrow(&share, &asked);
	cJSON_DeleteItemFromObject(request, "limits");
	wh_request_limits(request, &share);
	tenant = wh_cdi_text("%s-%s", name, c->id);
	cJSON_DeleteItemFromObject(request, "tenant");
	cJSON_AddStringToObject(request, "tenant", tenant);
	free(tenant);
	cJSON_AddTrueToObject(request, "ephemeral");
	cJSON_AddNumberToObject(request, "pid", c->pid);
	if (cJSON_GetObjectItem(request, "uid"))
		return true;
	uid = user_outside(c);
	cJSON_AddNumberToObject(request, "uid", uid);
	return uid >= 0;
}

/* --- The socket's place in the container ------------------------------------------------------ */

static bool same(int fd, const struct stat *as)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_dev == as->st_dev && st.st_ino == as->st_ino;
}

/* Returns a copy of the mount of a file alone, in no file system yet; -1 with errno. */
static int copy_mount(const char *path)
{
	struct mount_attr attr = {
		.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
			    MOUNT_ATTR_NOEXEC,
	};
	int fd = (int)syscall(SYS_open_tree, AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (fd >= 0 && syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH, &attr, sizeof(attr))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Enters the mount namespace of the container, which is to be another than ours. */
static bool enter(pid_t pid)
{
	char *path = wh_cdi_text("/proc/%d/ns/mnt", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat own;
	bool done;

	errno = fd < 0 ? errno : EINVAL;
	done = fd >= 0 && !stat("/proc/self/ns/mnt", &own) && !same(fd, &own) &&
	       !setns(fd, CLONE_NEWNS);
	if (!done)
		wh_error("%s: %s; a container with the device has mounts of its own", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	free(path);
	return done;
}

/* Opens the share's folder in the container's file system, and nothing but that. */
static int open_folder(const char *root, const char *inside, const struct stat *folder)
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int top = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1;

	if (top >= 0) {
		fd = (int)syscall(SYS_openat2, top, inside + 1, &how, sizeof(how));
		close(top);
	}
	if (fd >= 0 && same(fd, folder))
		return fd;
	wh_error("%s%s: %s", root, inside, fd < 0 ? strerror(errno) :
		 "not the folder of the share; nothing else may be mounted there");
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Nothing of what is mounted in the folder goes on to other namespaces. */
static bool mount_in(int tree, int folder, const struct stat *empty)
{
	struct mount_attr alone = { .propagation = MS_PRIVATE };
	int target = openat(folder, WH_SHARE_SOCKET, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	bool done;

	errno = target < 0 ? errno : EINVAL;
	done = target >= 0 && same(target, empty) &&
	       !syscall(SYS_mount_setattr, folder, "", AT_EMPTY_PATH, &alone, sizeof(alone)) &&
	       !syscall(SYS_move_mount, tree, "", target, "",
			MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
	if (!done)
		wh_error("the tenant's socket in the container: %s", strerror(errno));
	if (target >= 0)
		close(target);
	return done;
}

static bool show(const struct container *c, const char *socket, const char *folder)
{
	char *place = wh_cdi_text("%s/" WH_SHARE_SOCKET, folder);
	int tree = copy_mount(socket), in = -1;
	struct stat outer, empty;
	bool done = false;

	if (tree < 0)
		wh_error("%s: %s", socket, strerror(errno));
	else if (stat(folder, &outer) || lstat(place, &empty) || !S_ISREG(empty.st_mode))
		wh_error("%s: not the empty file that `wormhole cdi --share --hami' makes; make the share again", place);
	else if (enter(c->pid))
		in = open_folder(c->root, WH_SHARE_INSIDE, &outer);
	if (in >= 0)
		done = mount_in(tree, in, &empty);
	if (in >= 0)
		close(in);
	if (tree >= 0)
		close(tree);
	free(place);
	return done;
}

/*
 * Makes the tenant and shows it. @other is a second connection, made before the mounts are
 * another's: without its socket, a container must not have the tenant.
 */
static bool make(const struct container *c, cJSON *request, const char *folder, int fd, int other)
{
	cJSON *answer = wh_server_ask(fd, request), *end;
	bool done;

	if (!answer)
		return false;
	done = show(c, cJSON_GetStringValue(cJSON_GetObjectItem(answer, "socket")), folder);
	if (!done) {
		end = wh_request("delete", cJSON_GetStringValue(cJSON_GetObjectItem(answer, "tenant")));
		cJSON_AddTrueToObject(end, "force");
		cJSON_Delete(wh_server_ask(other, end));
	}
	cJSON_Delete(answer);
	return done;
}

bool wh_share_contain(const char *name, cJSON *request, const char *state, const char *folder,
		      const char *dir)
{
	bool ready, done = false;
	struct container c;
	int fd = -1, other = -1;

	ready = read_container(&c, state) && fit_request(request, &c, name);
	if (ready)
		fd = wh_server_connect(dir);
	if (fd >= 0)
		other = wh_server_connect(dir);
	if (other >= 0)
		done = make(&c, request, folder, fd, other);
	else
		cJSON_Delete(request);
	if (fd >= 0)
		close(fd);
	if (other >= 0)
		close(other);
	cJSON_Delete(c.config);
	free(c.env);
	free(c.root);
	return done;
}
