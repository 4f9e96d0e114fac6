// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that a client gets no more mapped in its worker than the pages of a file that
 * it has lent, where nothing of the worker is. The session runs in this process; this program is
 * the server, too, that hands it the files.
 */
#define _GNU_SOURCE
/* The fixture has a function of the same name as the C library. */
#define send send_request
#include "session_block.h"
#undef send
#include "session/session.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "tenant/send.h"

#define PAGES	4
#define SIZE	(PAGES * PAGE)

static int hands;
static uint64_t at;

static CUresult fine(void)
{
	return CUDA_SUCCESS;
}

static int32_t map(struct wh_session *s, uint64_t offset, uint64_t size, uint64_t to,
		   uint32_t number)
{
	struct wh_req_whHostBlock *q = request(s, WH_CALL_whHostBlock, sizeof(*q));
	size_t n = host_block(q, WH_HOST_FILE, offset, size, to);

	q->flags = number;
	return send_request(s, n) ? -1 : rsp(s)->result;
}

static int memory(void)
{
	int fd = memfd_create("lent", MFD_CLOEXEC);
	uint64_t i;

	for (i = 0; i < PAGES; i++)
		if (pwrite(fd, &i, sizeof(i), (off_t)(i * PAGE)) != sizeof(i))
			return -1;
	return ftruncate(fd, SIZE) ? -1 : fd;
}

static void hand(uint32_t number)
{
	struct iovec iov = { &number, sizeof(number) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	int fd = memory();

	if (fd < 0 || wh_send_with(hands, m, &fd, 1, 0) != sizeof(number)) {
		printf("Bail out! no file is lent\n");
		exit(1);
	}
	close(fd);
}

static unsigned int open_files(void)
{
	unsigned int n = 0;
	struct stat st;
	int fd;

	for (fd = 0; fd < 1024; fd++)
		n += !fstat(fd, &st);
	return n;
}

static void tests_of_maps(struct wh_session *s)
{
	unsigned int files = open_files();

	hand(7);
	ok(!map(s, PAGE, 2 * PAGE, at, 7) && *(volatile uint64_t *)at == 1 &&
	   *(volatile uint64_t *)(at + PAGE) == 2 && is_free(at + 2 * PAGE),
	   "the_pages_that_are_asked_for_are_mapped");
	ok(map(s, 0, PAGE, at + 2 * PAGE, 7), "a_file_is_taken_once");
	hand(8);
	ok(map(s, 0, PAGE, at + PAGE, 8) && *(volatile uint64_t *)(at + PAGE) == 2,
	   "not_over_what_is_mapped");
	ok(!block(s, WH_HOST_PIN, at + 10, PAGE, 0) && block(s, WH_HOST_UNALIAS, at, PAGE, 0),
	   "registered_bytes_stay_mapped");
	block(s, WH_HOST_UNPIN, at + 10, 0, 0);
	ok(!block(s, WH_HOST_UNALIAS, at, 2 * PAGE, 0) && is_nothing(at) && !is_free(at),
	   "taken_back_nothing_is_there_and_nothing_comes_there");
	hand(9);
	hand(10);
	ok(!map(s, 0, PAGE, at, 10), "an_older_file_that_was_not_asked_for_is_dropped");
	block(s, WH_HOST_UNALIAS, at, PAGE, 0);
	ok(open_files() == files, "no_file_stays_open");
}

static void tests_of_refusals(struct wh_session *s)
{
	hand(20);
	ok(map(s, 0, SIZE + PAGE, at, 20) && is_nothing(at), "pages_behind_its_end_are_not_mapped");
	hand(21);
	ok(map(s, -(uint64_t)PAGE, 2 * PAGE, at, 21), "nor_any_whose_end_wraps");
	ok(map(s, 1, PAGE, at, 22) && map(s, 0, 1, at, 22) && map(s, 0, PAGE, at + 1, 22) &&
	   map(s, 0, 0, at, 22), "nor_parts_of_pages");
	hand(23);
	ok(map(s, 0, PAGE, (uintptr_t)s & ~(PAGE - 1), 23), "nor_over_the_workers_memory");
	hand(24);
	ok(map(s, 0, PAGE, 0, 24) && map(s, 0, PAGE, -(uint64_t)PAGE, 24),
	   "nor_where_no_program_has_memory");
	s->one_process = true;
	ok(map(s, 0, PAGE, at, 24), "nor_in_one_process");
	s->one_process = false;
	close(hands);
	ok(map(s, 0, PAGE, at, 25), "nor_when_the_server_has_gone");
	wh_session_lent(s, 0);
	ok(map(s, 0, PAGE, at, 26), "nor_where_none_can_be_lent");
}

int main(int argc, char **argv)
{
	struct wh_session *s = open_session(argv[0]);
	int pair[2];

	(void)argc;
	tap_plan(15);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		printf("Bail out! no sockets\n");
		return 1;
	}
	hands = pair[0];
	at = (uintptr_t)mmap(NULL, 2 * SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap((void *)at, 2 * SIZE);
	wh_session_lent(s, pair[1]);
	say_hello(s);
	s->drv.cuMemHostRegister_v2 = (void *)fine;
	s->drv.cuMemHostUnregister = (void *)fine;
	tests_of_maps(s);
	tests_of_refusals(s);
	return tap_exit();
}
