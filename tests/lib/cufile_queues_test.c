// SPDX-License-Identifier: Apache-2.0
/*
 * cuFile's operations of streams come when the stream is there, with the sizes and offsets of that
 * time. Those of batches end in any order, each with its own result. Threads may make both.
 */
#define _GNU_SOURCE
#include <cufile.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lib_test.h"
#include "random.h"

#define FILE_SIZE	(3 * 1024 * 1024 + 77)
#define NR		12

static char path[64], *content, *back;
static CUdeviceptr mem;
static CUfileHandle_t file;
static CUstream stream;

/* --- A gate, at which a thread that reads or a stream stays until the test opens it ----- */

static struct gate {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	int closed, waiting;
} gate = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0 };

static void pass(void)
{
	pthread_mutex_lock(&gate.lock);
	gate.waiting++;
	pthread_cond_broadcast(&gate.cond);
	while (gate.closed)
		pthread_cond_wait(&gate.cond, &gate.lock);
	gate.waiting--;
	pthread_mutex_unlock(&gate.lock);
}

static void set_gate(int closed)
{
	pthread_mutex_lock(&gate.lock);
	gate.closed = closed;
	pthread_cond_broadcast(&gate.cond);
	pthread_mutex_unlock(&gate.lock);
}

static void await_waiting(int n)
{
	pthread_mutex_lock(&gate.lock);
	while (gate.waiting < n)
		pthread_cond_wait(&gate.cond, &gate.lock);
	pthread_mutex_unlock(&gate.lock);
}

ssize_t pread(int fd, void *buf, size_t size, off_t at)
{
	pass();
	return syscall(SYS_pread64, fd, buf, size, at);
}

/* --- Streams ----------------------------------------------------------------------- */

static int has(size_t offset, size_t at, size_t n)
{
	cuMemcpyDtoH(back, mem + offset, n);
	return !memcmp(back, content + at, n);
}

/* The library calls this when it has the program's offset, and before the stream is there. */
static off_t *to_change;

CUresult cuLaunchHostFunc(CUstream s, CUhostFn fn, void *arg)
{
	CUresult (*genuine)(CUstream s, CUhostFn fn, void *arg);

	genuine = dlsym(RTLD_NEXT, "cuLaunchHostFunc");
	if (to_change)
		*to_change = 4000;
	return genuine(s, fn, arg);
}

static void test_streams(void)
{
	size_t size = 2 << 20, small = 1000;
	off_t at = 100, offset = 5, zero = 0;
	ssize_t n = 1, n2 = 1;
	int good;

	ok(cuFileReadAsync(file, (void *)mem, &size, &at, &offset, &n, stream).err ==
	   CU_FILE_SUCCESS && cuStreamSynchronize(stream) == CUDA_SUCCESS && n == 2 << 20,
	   "a_stream_reads");
	ok(has(5, 100, 2 << 20), "what_the_file_has");
	cuMemsetD8Async(mem, 0x11, 1000, stream);
	cuFileWriteAsync(file, (void *)mem, &small, &at, &zero, &n, stream);
	cuMemsetD8Async(mem, 0x22, 1000, stream);
	cuFileReadAsync(file, (void *)mem, &small, &at, &zero, &n2, stream);
	cuStreamSynchronize(stream);
	memset(content + 100, 0x11, 1000);
	ok(n == 1000 && n2 == 1000 && has(0, 100, 1000), "each_comes_at_its_place_in_the_stream");
	to_change = &at;
	cuFileReadAsync(file, (void *)mem, &small, &at, &zero, &n, stream);
	cuStreamSynchronize(stream);
	ok(has(0, 4000, 1000), "an_offset_counts_that_is_there_when_the_stream_is");
	at = 7000;
	good = !cuFileStreamRegister(stream, CU_FILE_STREAM_FIXED_FILE_OFFSET).err;
	cuFileReadAsync(file, (void *)mem, &small, &at, &zero, &n, stream);
	cuStreamSynchronize(stream);
	to_change = NULL;
	ok(good && at == 4000 && has(0, 7000, 1000),
	   "that_of_the_call_counts_where_the_stream_is_registered_so");
	ok(cuFileStreamDeregister(stream).err == CU_FILE_SUCCESS &&
	   cuFileStreamDeregister(stream).err == CU_FILE_INVALID_VALUE,
	   "a_streams_registration_ends");
	ok_eq(cuFileStreamRegister(stream, 1 << 7).err, CU_FILE_INVALID_VALUE,
	      "an_unknown_flag_is_no_value");
	at = FILE_SIZE - 10;
	cuFileReadAsync(file, (void *)mem, &small, &at, &zero, &n, NULL);
	cuStreamSynchronize(NULL);
	ok_eq(n, 10, "the_null_stream_reads_too");
	at = -1;
	cuFileReadAsync(file, (void *)mem, &small, &at, &zero, &n, stream);
	cuStreamSynchronize(stream);
	ok_eq(n, -1, "an_error_of_the_file_comes_with_the_bytes");
	ok_eq(cuFileReadAsync(file, (void *)mem, &small, &at, NULL, &n, stream).err,
	      CU_FILE_INVALID_VALUE, "no_offset_is_no_value");
	ok_eq(cuFileReadAsync((void *)99, (void *)mem, &small, &at, &zero, &n, stream).err,
	      CU_FILE_HANDLE_NOT_REGISTERED, "no_file_is_an_error_at_once");
}

static void test_capture(void)
{
	size_t small = 1000;
	off_t zero = 0;
	CUgraph graph;
	ssize_t n;

	cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
	ok_eq(cuFileReadAsync(file, (void *)mem, &small, &zero, &zero, &n, stream).err,
	      CU_FILE_ASYNC_NOT_SUPPORTED, "a_stream_that_is_captured_refuses");
	cuStreamEndCapture(stream, &graph);
	cuGraphDestroy(graph);
}

static const char managed[] =
".version 8.0\n.target sm_70\n.address_size 64\n"
".visible .global .attribute(.managed) .align 4 .u32 a = 40;\n"
".visible .entry inc()\n{\n.reg .b32 %r<2>;\n"
"ld.global.u32 %r1, [a];\nadd.u32 %r1, %r1, 1;\nst.global.u32 [a], %r1;\nret;\n}\n";

/* Managed variables come back with each answer that says that work is done. */
static void test_managed(void)
{
	off_t at = 3333, zero = 0;
	size_t size = 2 << 20, n;
	CUfunction inc;
	CUmodule m;
	CUdeviceptr a;
	ssize_t moved = 0;
	int good;

	good = !cuModuleLoadData(&m, managed) && !cuModuleGetFunction(&inc, m, "inc") &&
	       !cuModuleGetGlobal(&a, &n, m, "a") &&
	       !cuLaunchKernel(inc, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL) &&
	       !cuFileReadAsync(file, (void *)mem, &size, &at, &zero, &moved, stream).err &&
	       !cuLaunchKernel(inc, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL) &&
	       !cuStreamSynchronize(stream);
	ok(good && moved == 2 << 20 && has(0, 3333, 2 << 20) && *(unsigned int *)a == 42,
	   "a_stream_reads_between_kernels_with_managed_variables");
	cuModuleUnload(m);
}

/* --- Batches ----------------------------------------------------------------------- */

static CUfileIOParams_t io(CUfileOpcode_t opcode, size_t size, off_t at, off_t offset, long cookie)
{
	return (CUfileIOParams_t) {
		.mode = CUFILE_BATCH,
		.u.batch = { (void *)mem, at, offset, size },
		.fh = file,
		.opcode = opcode,
		.cookie = (void *)cookie,
	};
}

static void test_batch(void)
{
	CUfileIOParams_t p[NR];
	CUfileIOEvents_t e[NR];
	CUfileBatchHandle_t b;
	unsigned int nr = NR, i, good = 1, seen = 0;

	ok(cuFileBatchIOSetUp(&b, NR).err == CU_FILE_SUCCESS, "a_batch_is_made");
	for (i = 0; i < NR; i++)
		p[i] = io(CUFILE_READ, 100000, i * 150001L, i * 200000L, i);
	ok(cuFileBatchIOSubmit(b, NR, p, 0).err == CU_FILE_SUCCESS, "operations_are_submitted");
	ok(cuFileBatchIOGetStatus(b, NR, &nr, e, NULL).err == CU_FILE_SUCCESS && nr == NR,
	   "all_of_them_end");
	for (i = 0; i < nr; i++) {
		good &= e[i].status == CUFILE_COMPLETE && e[i].ret == 100000;
		seen |= 1u << (long)e[i].cookie;
	}
	ok(good && seen == (1u << NR) - 1, "each_once_with_its_bytes");
	for (i = 0; i < NR; i++)
		good &= has(i * 200000L, i * 150001L, 100000);
	ok(good, "and_the_device_has_what_the_file_has");
	p[0] = io(CUFILE_READ, 100, FILE_SIZE - 30, 0, 7);
	p[1] = io(CUFILE_READ, 100, -5, 0, 8);
	p[2] = io(CUFILE_WRITE, 100, 10, 200000, 9);
	cuFileBatchIOSubmit(b, 3, p, 0);
	nr = NR;
	cuFileBatchIOGetStatus(b, 3, &nr, e, NULL);
	for (i = 0, good = nr == 3; i < nr; i++)
		good &= (long)e[i].cookie == 7 ? e[i].status == CUFILE_COMPLETE && e[i].ret == 30 :
			(long)e[i].cookie == 8 ? e[i].status == CUFILE_FAILED &&
						 (ssize_t)e[i].ret == -EINVAL :
						 e[i].status == CUFILE_COMPLETE && e[i].ret == 100;
	ok(good, "each_has_a_result_of_its_own");
	memcpy(content + 10, content + 150001, 100);
	ok(cuFileRead(file, (void *)mem, 100, 10, 0) == 100 && has(0, 10, 100), "a_batch_writes");
	nr = NR;
	ok(cuFileBatchIOGetStatus(b, 1, &nr, e, NULL).err == CU_FILE_SUCCESS && nr == 0,
	   "a_batch_with_nothing_has_no_status_to_wait_for");
	cuFileBatchIODestroy(b);
	ok_eq(cuFileBatchIOGetStatus(b, 0, &nr, e, NULL).err, CU_FILE_INVALID_VALUE,
	      "a_batch_that_has_ended_is_none");
}

static void test_batch_errors(void)
{
	CUfileIOParams_t p[NR];
	CUfileBatchHandle_t b, other;
	unsigned int i;

	cuFileBatchIOSetUp(&b, 2);
	for (i = 0; i < NR; i++)
		p[i] = io(CUFILE_READ, 100, 0, 0, i);
	ok_eq(cuFileBatchIOSubmit(b, 3, p, 0).err, CU_FILE_BATCH_FULL,
	      "a_batch_takes_what_it_was_made_for");
	ok_eq(cuFileBatchIOSubmit(b, 2, p, 1).err, CU_FILE_INVALID_VALUE, "there_are_no_flags");
	p[1].opcode = (CUfileOpcode_t)7;
	ok_eq(cuFileBatchIOSubmit(b, 2, p, 0).err, CU_FILE_INVALID_VALUE,
	      "one_bad_operation_refuses_all");
	p[1].opcode = CUFILE_READ;
	p[1].fh = (void *)99;
	ok_eq(cuFileBatchIOSubmit(b, 2, p, 0).err, CU_FILE_HANDLE_NOT_REGISTERED,
	      "so_does_a_file_that_is_none");
	ok_eq(cuFileBatchIOSetUp(&other, 1000).err, CU_FILE_INVALID_VALUE,
	      "a_batch_has_at_most_what_the_properties_say");
	cuFileBatchIODestroy(b);
}

static unsigned int count(const CUfileIOEvents_t *e, unsigned int nr, CUfileStatus_t status)
{
	unsigned int i, n = 0;

	for (i = 0; i < nr; i++)
		n += e[i].status == status;
	return n;
}

/* Four threads run batches (CUFILE_PARAM_EXECUTION_MAX_IO_THREADS). */
static void test_cancel(void)
{
	struct timespec soon = { .tv_nsec = 1000000 };
	CUfileIOParams_t p[NR];
	CUfileIOEvents_t e[NR];
	CUfileBatchHandle_t b;
	unsigned int nr = NR, i;

	cuFileBatchIOSetUp(&b, NR);
	for (i = 0; i < NR; i++)
		p[i] = io(CUFILE_READ, 100, 0, 0, i);
	set_gate(1);
	cuFileBatchIOSubmit(b, NR, p, 0);
	await_waiting(4);
	ok(cuFileBatchIOGetStatus(b, 1, &nr, e, &soon).err == CU_FILE_SUCCESS && nr == 0,
	   "a_wait_for_a_batch_ends_in_time");
	ok_eq(cuFileDriverClose().err, CU_FILE_DRIVER_CLOSING,
	      "a_session_is_not_closed_while_a_batch_is_there");
	ok_eq(cuFileBatchIOCancel(b).err, CU_FILE_SUCCESS, "a_batch_is_cancelled");
	nr = NR;
	cuFileBatchIOGetStatus(b, NR - 4, &nr, e, NULL);
	ok(nr == NR - 4 && count(e, nr, CUFILE_CANCELED) == NR - 4,
	   "what_no_thread_has_begun_is_cancelled");
	set_gate(0);
	nr = NR;
	cuFileBatchIOGetStatus(b, 4, &nr, e, NULL);
	ok(nr == 4 && count(e, nr, CUFILE_COMPLETE) == 4, "what_has_begun_completes");
	cuFileBatchIODestroy(b);
}

/* --- Threads ----------------------------------------------------------------------- */

/* A free waits for calls that wait for the device, and lets no other one begin to wait. */
static long free_some(void)
{
	CUdeviceptr p;

	return cuMemAlloc(&p, 5000) || cuMemFree(p);
}

static void *read_often(void *context)
{
	size_t size = 40000;
	off_t zero = 0, at = 12345;
	long bad = cuCtxSetCurrent(context);
	char *to = malloc(size);
	CUdeviceptr own;
	CUstream s;
	ssize_t n;
	int i;

	bad |= cuMemAlloc(&own, size) || cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
	for (i = 0; i < 20 && !bad; i++) {
		cuMemsetD8(own, 0, size);
		if (i % 2)
			bad = cuFileRead(file, (void *)own, size, at, 0) != (ssize_t)size;
		else
			bad = cuFileReadAsync(file, (void *)own, &size, &at, &zero, &n, s).err ||
			      cuStreamSynchronize(s) || n != (ssize_t)size;
		cuMemcpyDtoH(to, own, size);
		bad |= !!memcmp(to, content + at, size) || free_some();
	}
	cuStreamDestroy(s);
	cuMemFree(own);
	free(to);
	return (void *)bad;
}

static void test_threads(CUcontext ctx)
{
	pthread_t t[6];
	void *bad;
	long all = 0;
	int i;

	for (i = 0; i < 6; i++)
		pthread_create(&t[i], NULL, read_often, ctx);
	for (i = 0; i < 6; i++) {
		pthread_join(t[i], &bad);
		all |= (long)bad;
	}
	ok(!all, "threads_read_in_both_ways_while_others_free_memory");
}

/* A handle that ends leaves what is under way its file. */
static void test_deregister(void)
{
	CUfileDescr_t d = { .type = CU_FILE_HANDLE_TYPE_OPAQUE_FD };
	CUfileIOParams_t p = io(CUFILE_READ, 100, 500, 0, 1);
	CUfileBatchHandle_t b;
	CUfileIOEvents_t e;
	unsigned int nr = 1;

	d.handle.fd = open(path, O_RDONLY);
	cuFileHandleRegister(&p.fh, &d);
	cuFileBatchIOSetUp(&b, 1);
	set_gate(1);
	cuFileBatchIOSubmit(b, 1, &p, 0);
	await_waiting(1);
	cuFileHandleDeregister(p.fh);
	set_gate(0);
	cuFileBatchIOGetStatus(b, 1, &nr, &e, NULL);
	ok(nr == 1 && e.status == CUFILE_COMPLETE && e.ret == 100 && has(0, 500, 100),
	   "a_handle_that_ends_leaves_its_file_to_what_is_under_way");
	cuFileBatchIODestroy(b);
	close(d.handle.fd);
}

int main(void)
{
	const char *folder = getenv("TMPDIR");
	CUfileDescr_t d = { .type = CU_FILE_HANDLE_TYPE_OPAQUE_FD };
	CUcontext ctx;
	size_t i;
	int fd;

	random_state = 21;
	tap_plan(35);
	snprintf(path, sizeof(path), "%.40s/cufile.XXXXXX", folder ? folder : "/tmp");
	fd = mkstemp(path);
	content = malloc(FILE_SIZE);
	back = malloc(FILE_SIZE);
	for (i = 0; i < FILE_SIZE; i++)
		content[i] = random_next() >> 9;
	if (write(fd, content, FILE_SIZE) != FILE_SIZE)
		return 1;
	cuInit(0);
	cuDevicePrimaryCtxRetain(&ctx, 0);
	cuCtxSetCurrent(ctx);
	cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
	mem = device(NULL, FILE_SIZE);
	d.handle.fd = fd;
	if (cuFileHandleRegister(&file, &d).err)
		return 1;
	test_streams();
	test_capture();
	test_managed();
	test_batch();
	test_batch_errors();
	test_cancel();
	test_threads(ctx);
	test_deregister();
	ok(cuFileDriverClose().err == CU_FILE_SUCCESS && cuFileUseCount() == 0,
	   "the_session_closes_when_nothing_is_under_way");
	unlink(path);
	return tap_exit();
}
