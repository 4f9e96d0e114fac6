// SPDX-License-Identifier: Apache-2.0
/* See seats.h. Used by the server and by the supervisor of a server VM. */
#define _GNU_SOURCE
#include "tenant/seats.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Makes a new file with its blocks, and maps it; NULL with errno. Its mode lets others read it, but
 * they cannot enter the folder.
 */
static void *make(int dir, const char *name, size_t size, int *fd)
{
	void *p;
	int rc;

	*fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (*fd < 0)
		return NULL;
	rc = fchmod(*fd, 0644) ? errno : posix_fallocate(*fd, 0, (off_t)size);
	p = rc ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	if (p != MAP_FAILED)
		return p;
	rc = rc ? rc : errno;
	close(*fd);
	*fd = -1;
	unlinkat(dir, name, 0);
	errno = rc;
	return NULL;
}

/* --- The folder ------------------------------------------------------------------- */

static void empty(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;

	while (d && (e = readdir(d)))
		unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
}

static void remove_folder(const char *dir)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/" WH_TURNS_FOLDER, dir);
	empty(path);
	rmdir(path);
	snprintf(path, sizeof(path), "%s/turns", dir);
	rmdir(path);
}

static int make_folder(const char *dir)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/turns", dir);
	if (mkdir(path, 0700))
		return -errno;
	snprintf(path, sizeof(path), "%s/" WH_TURNS_FOLDER, dir);
	if (mkdir(path, 0711) || chmod(path, 0711))
		return -errno;
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? -errno : fd;
}

int wh_seats_create(struct wh_seats *s, const char *dir)
{
	int fd, rc;

	*s = (struct wh_seats){ .dir = -1 };
	remove_folder(dir);
	rc = make_folder(dir);
	if (rc >= 0) {
		s->dir = rc;
		s->board = make(s->dir, WH_BOARD_FILE, sizeof(*s->board), &fd);
		rc = s->board ? 0 : -errno;
	}
	if (rc) {
		wh_seats_remove(s, dir);
		return rc;
	}
	close(fd);
	wh_board_init(s->board);
	return 0;
}

static void *map(int fd, size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void set_top(struct wh_seats *s)
{
	uint32_t top = WH_SEATS;

	while (top && !s->board->seat[top - 1].tenant_id)
		top--;
	__atomic_store_n(&s->board->top, top, __ATOMIC_RELEASE);
}

int wh_seats_take_board(struct wh_seats *s, int dir)
{
	int fd = openat(dir, WH_BOARD_FILE, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	int rc;

	*s = (struct wh_seats){ .dir = dir };
	if (fd < 0)
		return -errno;
	/* That of an earlier release may be shorter. Its workers have mapped what they know. */
	rc = -posix_fallocate(fd, 0, sizeof(*s->board));
	s->board = rc ? NULL : map(fd, sizeof(*s->board));
	if (s->board)
		s->board->size = sizeof(*s->board);
	else if (!rc)
		rc = -errno;
	close(fd);
	return rc;
}

int wh_seats_take_over(struct wh_seats *s, int seat, int fd)
{
	if (seat < 0 || seat >= (int)WH_SEATS)
		return -EINVAL;
	s->seat[seat].page = map(fd, sizeof(*s->seat[seat].page));
	s->seat[seat].fd = fd;
	return s->seat[seat].page ? 0 : -errno;
}

/* Takes a seat from the board, and removes its file, which may still be open here. */
static void vacate(struct wh_seats *s, int seat)
{
	char name[WH_SEAT_NAME];
	unsigned int d;

	for (d = 0; d < WH_TENANT_DEVICES; d++)
		wh_seats_share(s, seat, d, 0, WH_CLASS_NORMAL);
	wh_seat_name(name, s->board->seat[seat].tenant_id);
	__atomic_store_n(&s->board->seat[seat].tenant_id, 0, __ATOMIC_RELEASE);
	set_top(s);
	unlinkat(s->dir, name, 0);
}

void wh_seats_only_taken(struct wh_seats *s)
{
	int i;

	for (i = 0; i < (int)WH_SEATS; i++)
		if (!s->seat[i].page && s->board->seat[i].tenant_id)
			vacate(s, i);
}

void wh_seats_remove(struct wh_seats *s, const char *dir)
{
	int i;

	for (i = 0; s->board && i < (int)WH_SEATS; i++)
		wh_seats_give(s, i);
	if (s->board)
		munmap(s->board, sizeof(*s->board));
	if (s->dir >= 0)
		close(s->dir);
	*s = (struct wh_seats){ .dir = -1 };
	remove_folder(dir);
}

/* --- Seats ------------------------------------------------------------------------ */

int wh_seats_take(struct wh_seats *s, uint64_t tenant_id)
{
	char name[WH_SEAT_NAME];
	int i;

	for (i = 0; i < (int)WH_SEATS && s->seat[i].page; i++)
		;
	if (i == (int)WH_SEATS)
		return -EUSERS;
	wh_seat_name(name, tenant_id);
	/* A server that was killed while it made a tenant may have left it. */
	unlinkat(s->dir, name, 0);
	s->seat[i].page = make(s->dir, name, sizeof(*s->seat[i].page), &s->seat[i].fd);
	if (!s->seat[i].page)
		return -errno;
	wh_seat_init(s->seat[i].page);
	__atomic_store_n(&s->board->seat[i].tenant_id, tenant_id, __ATOMIC_RELEASE);
	set_top(s);
	return i;
}

void wh_seats_give(struct wh_seats *s, int seat)
{
	if (seat < 0 || !s->seat[seat].page)
		return;
	vacate(s, seat);
	munmap(s->seat[seat].page, sizeof(*s->seat[seat].page));
	close(s->seat[seat].fd);
	s->seat[seat].page = NULL;
}

void wh_seats_share(struct wh_seats *s, int seat, unsigned int device, unsigned int percent,
		    unsigned int class)
{
	__atomic_store_n(&s->board->class[seat][device], (uint8_t)class, __ATOMIC_RELEASE);
	__atomic_store_n(&s->board->seat[seat].percent[device], (uint8_t)percent, __ATOMIC_RELEASE);
}

static void drop_turn(struct wh_turn *t, uint64_t id)
{
	if (__atomic_load_n(&t->holder, __ATOMIC_RELAXED) != id)
		return;
	__atomic_store_n(&t->since_tsc, 0, __ATOMIC_RELAXED);
	__atomic_compare_exchange_n(&t->holder, &id, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void wh_seats_worker_ended(struct wh_seats *s, int seat, unsigned int account)
{
	unsigned int d;

	if (seat < 0 || !s->seat[seat].page)
		return;
	for (d = 0; d < WH_TENANT_DEVICES; d++)
		drop_turn(&s->seat[seat].page->device[d], account + 1);
}

int wh_seats_restart(struct wh_seats *s, int seat)
{
	struct wh_seat *page = seat < 0 ? NULL : s->seat[seat].page;
	int rc;

	if (!page)
		return 0;
	rc = wh_tenant_map_again(page, sizeof(*page), s->seat[seat].fd);
	if (rc)
		return rc;
	/* Others read it meanwhile: it must say that nobody has the device and nobody waits. */
	memset(page->device, 0, sizeof(page->device));
	memset(page->rank, 0, sizeof(page->rank));
	wh_seat_init(page);
	return 0;
}
