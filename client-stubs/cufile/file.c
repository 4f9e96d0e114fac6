// SPDX-License-Identifier: Apache-2.0
/*
 * Registered files, and what moves bytes between a file and memory of this process. A file that is
 * open with O_DIRECT is opened once more without: what direct I/O cannot do, as the ends of a
 * request that is not aligned, goes by that descriptor. The kernel keeps both in agreement.
 */
#define _GNU_SOURCE
#include "cufile_stub.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static struct wh_file *files;	/* registered ones; wh_cufile_lock guards them */
static uintptr_t last_handle;

WH_IN_CHILD(files = NULL)

/* --- Registration ------------------------------------------------------------------ */

static int open_buffered(int fd, int flags)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, (flags & O_ACCMODE) | O_CLOEXEC);
}

/* Looks at the program's descriptor. A pipe or a folder is no file that cuFile reads. */
static CUfileOpError look_at(int fd, struct wh_file *f)
{
	int flags = fcntl(fd, F_GETFL);
	struct stat st;

	if (flags < 0 || fstat(fd, &st))
		return CU_FILE_INVALID_FILE_TYPE;
	if (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode))
		return CU_FILE_INVALID_FILE_TYPE;
	/* Where a file is open for appending, Linux writes at its end, whatever the offset is. */
	if (flags & (O_APPEND | O_PATH))
		return CU_FILE_INVALID_FILE_OPEN_FLAG;
	*f = (struct wh_file) {
		.fd = fd,
		.buffered = flags & O_DIRECT ? open_buffered(fd, flags) : -1,
		.direct = flags & O_DIRECT,
		.dev = st.st_dev,
		.ino = st.st_ino,
		.users = 1,
	};
	return CU_FILE_SUCCESS;
}

/* A program may close a descriptor without a word here: another file may have its number then. */
static bool is_registered(const struct wh_file *f)
{
	const struct wh_file *other;

	for (other = files; other; other = other->next)
		if (other->fd == f->fd && other->dev == f->dev && other->ino == f->ino)
			return true;
	return false;
}

static CUfileOpError add(struct wh_file *f, CUfileHandle_t *fh)
{
	CUfileOpError err = CU_FILE_SUCCESS;

	pthread_mutex_lock(&wh_cufile_lock);
	if (is_registered(f)) {
		err = CU_FILE_HANDLE_ALREADY_REGISTERED;
	} else {
		f->handle = ++last_handle;
		f->next = files;
		files = f;
		*fh = (CUfileHandle_t)f->handle;
	}
	pthread_mutex_unlock(&wh_cufile_lock);
	return err;
}

static void end(struct wh_file *f)
{
	if (f->buffered >= 0)
		close(f->buffered);
	free(f);
}

static CUfileOpError register_fd(CUfileHandle_t *fh, int fd)
{
	struct wh_file *f = malloc(sizeof(*f));
	CUfileOpError err;

	if (!f)
		return CU_FILE_NOMEM_ERROR;
	err = look_at(fd, f);
	if (err) {
		free(f);
		return err;
	}
	err = add(f, fh);
	if (err)
		end(f);
	return err;
}

/* The program keeps its descriptor open as long as the handle. O_DIRECT may be set or not. */
CUfileError_t cuFileHandleRegister(CUfileHandle_t *fh, CUfileDescr_t *descr)
{
	CUfileOpError err;

	if (!fh || !descr)
		return wh_cufile_error(CU_FILE_INVALID_VALUE);
	if (descr->type != CU_FILE_HANDLE_TYPE_OPAQUE_FD) {
		wh_refuse("cuFileHandleRegister of a file system in user space");
		return wh_cufile_error(CU_FILE_IO_NOT_SUPPORTED);
	}
	err = wh_cufile_enter();
	if (err)
		return wh_cufile_error(err);
	err = register_fd(fh, descr->handle.fd);
	wh_cufile_leave();
	return wh_cufile_error(err);
}

static struct wh_file **place_of(uintptr_t handle)
{
	struct wh_file **at;

	for (at = &files; *at; at = &(*at)->next)
		if ((*at)->handle == handle)
			return at;
	return NULL;
}

/* The caller holds the lock. */
static void unlist(struct wh_file **at)
{
	struct wh_file *f = *at;

	*at = f->next;
	wh_file_drop(f);
}

/* What is under way goes on with the file. */
void cuFileHandleDeregister(CUfileHandle_t fh)
{
	struct wh_file **at;

	pthread_mutex_lock(&wh_cufile_lock);
	at = place_of((uintptr_t)fh);
	if (at)
		unlist(at);
	pthread_mutex_unlock(&wh_cufile_lock);
}

void wh_files_end(void)
{
	while (files)
		unlist(&files);
}

struct wh_file *wh_file_get(CUfileHandle_t handle)
{
	struct wh_file **at, *f = NULL;

	pthread_mutex_lock(&wh_cufile_lock);
	at = place_of((uintptr_t)handle);
	if (at) {
		f = *at;
		f->users++;
	}
	pthread_mutex_unlock(&wh_cufile_lock);
	return f;
}

void wh_file_drop(struct wh_file *f)
{
	if (--f->users == 0)
		end(f);
}

void wh_file_put(struct wh_file *f)
{
	pthread_mutex_lock(&wh_cufile_lock);
	wh_file_drop(f);
	pthread_mutex_unlock(&wh_cufile_lock);
}

/* --- Moving ------------------------------------------------------------------------ */

/* One piece of a request, and the descriptor that it goes by. */
struct piece {
	int fd;
	size_t size;
};

static struct piece next_piece(const struct wh_file *f, const uint8_t *mem, size_t size, off_t at)
{
	size_t in_block = (size_t)at % WH_FILE_ALIGN, to_next = WH_FILE_ALIGN - in_block;

	if (!f->direct || f->buffered < 0)
		return (struct piece) { f->fd, size };
	if ((uintptr_t)mem % WH_FILE_ALIGN != in_block)
		return (struct piece) { f->buffered, size };
	if (in_block || size < WH_FILE_ALIGN)
		return (struct piece) { f->buffered, size < to_next ? size : to_next };
	return (struct piece) { f->fd, size - size % WH_FILE_ALIGN };
}

ssize_t wh_file_move(const struct wh_file *f, bool write, uint8_t *mem, size_t size, off_t at)
{
	size_t done = 0;
	struct piece p;
	ssize_t n;

	while (done < size) {
		p = next_piece(f, mem + done, size - done, at + done);
		n = write ? pwrite(p.fd, mem + done, p.size, at + done) :
			    pread(p.fd, mem + done, p.size, at + done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return done ? (ssize_t)done : -1;
		if (!n)
			break;
		done += n;
	}
	return done;
}
