// SPDX-License-Identifier: Apache-2.0
/*
 * A client that keeps what it shared with its worker, hangs up and comes again. Earlier
 * nobody was charged from then on for the memory that the worker had filled, so a client
 * that came often enough got round its limit. The tenant has 100 MiB, of which each part
 * takes 16.
 *
 * 	kept sockets	splices the pages into sockets. It prints how many MiB it had there, and
 * 			`free` if it has all again when they are read.
 */
#include "hostile.h"
#include "hostblock.h"

#include <sys/stat.h>

#define MIB		(1ULL << 20)
#define LIMIT		(100 * MIB)
#define PINNED		(20 * MIB)
#define SESSIONS	12
#define WORKERS		64
#define TRIES		200
#define PAUSE_US	50000	/* between two tries */

/* The things that a client keeps of a session. */
struct kept {
	int file;		/* any kind of descriptor; -1: none */
	int mail[2];		/* a socket pair with the descriptor under way in it; -1: none */
	void *map;		/* NULL: none */
	size_t size;
};

typedef void (*way)(const struct hostile *h, struct kept *k);

static int open_again(int file, int flags)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	return open(path, flags | O_CLOEXEC);
}

static void by_descriptor(const struct hostile *h, struct kept *k)
{
	k->file = fcntl(h->file, F_DUPFD_CLOEXEC, 0);
}

static void by_mapping(const struct hostile *h, struct kept *k)
{
	struct stat st;

	fstat(h->file, &st);
	k->size = st.st_size;
	k->map = mmap(NULL, k->size, PROT_READ, MAP_SHARED | MAP_NORESERVE, h->file, 0);
}

static void by_opening_it_again(const struct hostile *h, struct kept *k)
{
	k->file = open_again(h->file, O_RDONLY);
}

static void by_its_name(const struct hostile *h, struct kept *k)
{
	k->file = open_again(h->file, O_PATH);
}

static void by_a_message(const struct hostile *h, struct kept *k)
{
	union {
		struct cmsghdr hdr;
		char buf[CMSG_SPACE(sizeof(int))];
	} ctl = { .hdr = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec iov = { "", 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1,
			    .msg_control = &ctl, .msg_controllen = sizeof(ctl) };

	memcpy(CMSG_DATA(&ctl.hdr), &h->file, sizeof(int));
	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, k->mail) ||
	    sendmsg(k->mail[0], &m, 0) != 1)
		printf("Bail out! no message: %s\n", strerror(errno));
}

static void let_go(struct kept *k)
{
	if (k->file >= 0)
		close(k->file);
	if (k->mail[0] >= 0) {
		close(k->mail[0]);
		close(k->mail[1]);
	}
	if (k->map)
		munmap(k->map, k->size);
}

/* Asks the file itself, through a descriptor of this program, for its size in memory. */
static uint64_t bytes_of(int file)
{
	struct stat st;

	return fstat(file, &st) ? 0 : (uint64_t)st.st_blocks * 512;
}

/* Has the worker fill pinned memory from its device, so that these pages are the worker's own. */
static bool fill(struct hostile *h)
{
	struct wh_req_whHostBlock *q = hostile_request(h, WH_CALL_whHostBlock, sizeof(*q));
	struct wh_req_cuMemcpy *c;
	uint64_t device;

	if (hostile_call(h, host_block(q, WH_HOST_PIN, WH_SHM_FAR_VA, PINNED, 0)))
		return false;
	device = hostile_alloc(h, PINNED, NULL);
	c = hostile_request(h, WH_CALL_cuMemcpy, sizeof(*c));
	c->dst = WH_SHM_FAR_VA;
	c->src = device;
	c->ByteCount = PINNED;
	return device && !hostile_call(h, sizeof(*c));
}

/*
 * Ends a session before the next begins, because a living worker does not belong to what
 * is kept.
 */
static void hang_up(struct hostile *h)
{
	shutdown(h->sock, SHUT_WR);
	hostile_ends(h, 10000);
	hostile_leave(h);
}

/*
 * Makes one session and keeps something of it. Returns false if there was no room for the
 * session.
 */
static bool keep_one(way keep, struct kept *k, uint64_t *bytes)
{
	struct hostile h;
	bool filled;

	*k = (struct kept){ .file = -1, .mail = { -1, -1 } };
	if (!hostile_connect(&h))
		return false;
	filled = !hostile_hello(&h) && fill(&h);
	keep(&h, k);
	*bytes = bytes_of(h.file);
	hang_up(&h);
	return filled;
}

/* Returns how much the client has after SESSIONS sessions, or when there is no room for more. */
static uint64_t keep_many(way keep, struct kept k[SESSIONS], size_t *sessions)
{
	uint64_t sum = 0, bytes = 0;
	size_t n = 0;

	while (n < SESSIONS && keep_one(keep, &k[n], &bytes)) {
		sum += bytes;
		n++;
	}
	*sessions = n;
	return sum;
}

/* Can one session have the whole limit? */
static bool has_all(void)
{
	struct wh_req_whHostBlock *q;
	struct hostile h;
	bool had = false;

	if (!hostile_connect(&h))
		return false;
	if (!hostile_hello(&h)) {
		q = hostile_request(&h, WH_CALL_whHostBlock, sizeof(*q));
		had = !hostile_call(&h, host_block(q, WH_HOST_PIN, WH_SHM_FAR_VA,
						   LIMIT - 16 * MIB, 0));
	}
	hang_up(&h);
	return had;
}

/* Waits for the server, which notices a moment later that nobody has the memory any more. */
static bool all_is_free(void)
{
	int i;

	for (i = 0; i < TRIES; i++) {
		if (has_all())
			return true;
		usleep(PAUSE_US);
	}
	return false;
}

static void no_more_than_the_limit(way keep, const char *holds, const char *again)
{
	struct kept k[SESSIONS];
	size_t n, i;
	uint64_t sum = keep_many(keep, k, &n);

	ok(n > 1 && sum <= LIMIT, holds);
	diag("%zu sessions, %llu MiB", n, (unsigned long long)(sum / MIB));
	if (keep == by_mapping)
		ok(((const uint8_t *)k[0].map)[0], "what_it_keeps_stays_as_it_was");
	for (i = 0; i <= n && i < SESSIONS; i++)
		let_go(&k[i]);
	ok(all_is_free(), again);
}

/*
 * A name alone (an O_PATH descriptor) keeps no memory, and neither does a file that is
 * opened by it later.
 */
static void name(void)
{
	struct kept k;
	uint64_t bytes = 0;
	int i, file;

	keep_one(by_its_name, &k, &bytes);
	for (i = 0; i < TRIES && bytes_of(k.file); i++)
		usleep(PAUSE_US);
	ok(bytes >= PINNED && !bytes_of(k.file), "who_has_the_name_alone_has_no_memory");
	file = open_again(k.file, O_RDWR);
	ok(file >= 0 && all_is_free(), "and_is_charged_for_none_when_he_opens_it");
	close(file);
	let_go(&k);
}

/* Keeps parts without memory: there may be as many of them as workers. */
static void empty(void)
{
	struct kept k[WORKERS + 1];
	uint64_t bytes;
	size_t n = 0, i;
	struct stat st;

	while (n <= WORKERS && keep_one(by_descriptor, &k[n], &bytes)) {
		fstat(k[n].file, &st);
		fallocate(k[n].file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, st.st_size);
		n++;
	}
	ok_eq(n, WORKERS, "of_empty_ones_it_keeps_as_many_as_there_may_be_workers");
	for (i = 0; i < n; i++)
		let_go(&k[i]);
	ok(all_is_free(), "and_has_all_again_then");
}

/* --- Pages in sockets ------------------------------------------------------------------- */

#define PAIRS	512

static int far_end[PAIRS];	/* of socket pairs whose near ends stay open */
static int pairs;

static int new_pair(void)
{
	const int room = 4 << 20;
	int s[2];

	if (pairs == PAIRS || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s))
		return -1;
	setsockopt(s[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	far_end[pairs++] = s[1];
	return s[0];
}

/* Moves what is in a pipe into sockets, each of which takes some. */
static bool pour(int from, size_t n, int *to)
{
	ssize_t moved;

	while (n) {
		if (*to < 0)
			*to = new_pair();
		if (*to < 0)
			return false;
		moved = splice(from, NULL, *to, NULL, n, SPLICE_F_NONBLOCK);
		if (moved < 0 && errno != EAGAIN)
			return false;
		if (moved <= 0)
			*to = -1;
		else
			n -= (size_t)moved;
	}
	return true;
}

/* Returns how many bytes of what was pinned are in sockets now. */
static uint64_t splice_all(const struct hostile *h)
{
	loff_t at = h->part_size, end = at + PINNED;
	int p[2], to = -1;
	ssize_t n;

	if (pipe(p))
		return 0;
	while (at < end) {
		n = splice(h->file, &at, p[1], NULL, 65536, SPLICE_F_NONBLOCK);
		if (n <= 0 || !pour(p[0], (size_t)n, &to))
			break;
	}
	close(p[0]);
	close(p[1]);
	return (uint64_t)at - h->part_size;
}

static int sockets(void)
{
	uint64_t held = 0;
	struct hostile h;
	bool filled = true;
	int i;

	for (i = 0; i < SESSIONS && filled && hostile_connect(&h); i++) {
		filled = !hostile_hello(&h) && fill(&h);
		if (filled)
			held += splice_all(&h);
		hang_up(&h);
	}
	printf("%llu\n", (unsigned long long)(held / MIB));
	for (i = 0; i < pairs; i++)
		close(far_end[i]);
	printf("%s\n", all_is_free() ? "free" : "not free");
	return 0;
}

/* The client cannot seal or resize the file, so it cannot keep others from using it. */
static void seals(void)
{
	struct hostile h;
	bool refused;

	if (!hostile_begin(&h))
		return;
	refused = fcntl(h.file, F_ADD_SEALS, F_SEAL_WRITE) &&
		  fcntl(h.file, F_ADD_SEALS, F_SEAL_SEAL) &&
		  ftruncate(h.file, 0) && ftruncate(h.file, 1ULL << 40);
	ok(refused, "it_can_neither_seal_it_nor_change_its_size");
	hostile_leave(&h);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "sockets"))
		return sockets();
	tap_plan(14);
	seals();
	no_more_than_the_limit(by_descriptor, "by_a_descriptor_it_holds_no_more_than_its_limit",
			       "by_a_descriptor_it_has_all_again_when_it_lets_go");
	no_more_than_the_limit(by_mapping, "by_a_mapping_it_holds_no_more_than_its_limit",
			       "by_a_mapping_it_has_all_again_when_it_lets_go");
	no_more_than_the_limit(by_opening_it_again, "by_opening_it_again_it_holds_no_more_than_its_limit",
			       "by_opening_it_again_it_has_all_again_when_it_lets_go");
	no_more_than_the_limit(by_a_message, "by_a_message_under_way_it_holds_no_more_than_its_limit",
			       "by_a_message_under_way_it_has_all_again_when_it_lets_go");
	name();
	empty();
	return tap_exit();
}
