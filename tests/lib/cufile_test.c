// SPDX-License-Identifier: Apache-2.0
/*
 * cuFile moves bytes between files and memory as pread() and pwrite() do, whatever offset and size
 * it is asked for, with direct I/O and without. Errors are those of its header. The files are real;
 * pread() and pwrite() go through this program, which may interrupt, shorten or fail them.
 */
#define _GNU_SOURCE
#include <cufile.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib_test.h"
#include "random.h"

#define FILE_SIZE	(5 * 1024 * 1024 + 123)
#define ROUNDS		150

static char path[64], *content, *back;
static CUcontext ctx;
static CUdeviceptr mem;

/* --- What this program does to the kernel's calls ---------------------------------- */

static struct {
	int interrupt;		/* so many calls fail with EINTR */
	int error, after;	/* calls after so many fail with that error */
	size_t most;		/* no call moves more; 0: no bound */
	int calls, direct;	/* direct: calls by a descriptor with O_DIRECT */
} kernel;

static ssize_t go(long call, int fd, void *buf, size_t size, off_t at)
{
	kernel.calls++;
	if (fcntl(fd, F_GETFL) & O_DIRECT)
		kernel.direct++;
	if (kernel.interrupt && kernel.interrupt--) {
		errno = EINTR;
		return -1;
	}
	if (kernel.error && !kernel.after--) {
		errno = kernel.error;
		return -1;
	}
	return syscall(call, fd, buf, kernel.most && size > kernel.most ? kernel.most : size, at);
}

ssize_t pread(int fd, void *buf, size_t size, off_t at)
{
	return go(SYS_pread64, fd, buf, size, at);
}

ssize_t pwrite(int fd, const void *buf, size_t size, off_t at)
{
	return go(SYS_pwrite64, fd, (void *)buf, size, at);
}

static void leave_alone(void)
{
	memset(&kernel, 0, sizeof(kernel));
}

/* --- Help -------------------------------------------------------------------------- */

static void fill(char *p, size_t n)
{
	while (n--)
		*p++ = random_next() >> 11;
}

static int write_file(void)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_RDWR, 0600);
	int good = fd >= 0 && syscall(SYS_pwrite64, fd, content, FILE_SIZE, 0) == FILE_SIZE;

	close(fd);
	return good;
}

/* Is the file as `content` says? */
static int file_is_content(void)
{
	int fd = open(path, O_RDONLY), same;

	same = syscall(SYS_pread64, fd, back, FILE_SIZE + 1, 0) == FILE_SIZE &&
	       !memcmp(back, content, FILE_SIZE);
	close(fd);
	return same;
}

static CUfileOpError add(int fd, CUfileHandle_t *h)
{
	CUfileDescr_t d = { .type = CU_FILE_HANDLE_TYPE_OPAQUE_FD, .handle.fd = fd };

	return cuFileHandleRegister(h, &d).err;
}

static CUfileHandle_t handle_of(int flags, int *fd)
{
	CUfileHandle_t h = NULL;

	*fd = open(path, flags);
	if (*fd >= 0)
		add(*fd, &h);
	return h;
}

static void end_handle(CUfileHandle_t h, int fd)
{
	cuFileHandleDeregister(h);
	close(fd);
}

static void close_all(void)
{
	while (cuFileUseCount() > 0 && cuFileDriverClose().err == CU_FILE_SUCCESS)
		;
}

/* --- Reading and writing ----------------------------------------------------------- */

/* Reads a piece into the middle of memory that is otherwise 0x5a, and compares all of it. */
static int read_as_pread(CUfileHandle_t h, size_t size, off_t at, size_t offset)
{
	static char want[FILE_SIZE + 8192];
	ssize_t n = at < FILE_SIZE ? FILE_SIZE - at : 0;

	n = n < (ssize_t)size ? n : (ssize_t)size;
	memset(want, 0x5a, sizeof(want));
	memcpy(want + offset, content + at, n);
	cuMemsetD8(mem, 0x5a, sizeof(want));
	if (cuFileRead(h, (void *)mem, size, at, offset) != n)
		return 0;
	cuMemcpyDtoH(back, mem, sizeof(want));
	return !memcmp(back, want, sizeof(want));
}

static int random_reads(CUfileHandle_t h)
{
	int i, good = 1;

	for (i = 0; i < ROUNDS && good; i++) {
		size_t size = any(i % 3 ? 9000 : 300000), offset = any(8000);
		off_t at = any(i % 7 ? FILE_SIZE : FILE_SIZE + 5000);

		if (i % 5 == 0)
			at &= ~4095L;
		good = read_as_pread(h, size, at < FILE_SIZE ? at : FILE_SIZE, offset);
		if (!good)
			diag("size %zu at %ld to %zu", size, (long)at, offset);
	}
	return good;
}

/* Writes pieces of memory, and of `content` in the same way; the file is as long as before. */
static int random_writes(CUfileHandle_t h)
{
	int i, good = 1;

	for (i = 0; i < ROUNDS && good; i++) {
		size_t size = 1 + any(i % 3 ? 9000 : 300000), offset = any(8000);
		off_t at = any(FILE_SIZE - size);

		if (i % 5 == 0)
			at &= ~4095L;
		fill(content + at, size);
		cuMemcpyHtoD(mem + offset, content + at, size);
		good = cuFileWrite(h, (void *)mem, size, at, offset) == (ssize_t)size;
		if (!good)
			diag("size %zu at %ld from %zu", size, (long)at, offset);
	}
	return good && file_is_content();
}

static void test_pieces(void)
{
	CUfileHandle_t h;
	int fd;

	h = handle_of(O_RDWR, &fd);
	ok(read_as_pread(h, FILE_SIZE, 0, 0),
	   "a_whole_file_comes_to_the_device_through_several_buffers");
	ok(random_reads(h), "reads_at_random_have_the_bytes_of_pread_and_touch_no_others");
	ok(random_writes(h), "writes_at_random_leave_the_file_that_pwrite_would");
	ok(cuFileRead(h, (void *)mem, 500, FILE_SIZE - 100, 0) == 100,
	   "a_read_over_the_end_is_as_short_as_the_file");
	ok(cuFileRead(h, (void *)mem, 500, FILE_SIZE, 0) == 0, "a_read_at_the_end_is_0");
	ok(cuFileRead(h, (void *)mem, 0, 7, 0) == 0 && cuFileWrite(h, (void *)mem, 0, 7, 0) == 0,
	   "a_transfer_of_nothing_is_0");
	end_handle(h, fd);
}

static void test_direct(void)
{
	static const char *const names[] = {
		"direct_reads_at_random_have_the_bytes_of_pread",
		"direct_writes_at_random_leave_the_file_that_pwrite_would",
		"what_is_aligned_goes_by_direct_io",
		"what_is_not_aligned_goes_by_the_page_cache",
	};
	CUfileHandle_t h;
	int fd, i;

	h = handle_of(O_RDWR | O_DIRECT, &fd);
	if (fd < 0) {
		for (i = 0; i < 4; i++)
			skip(names[i], "the file system of the temporary folder has no O_DIRECT");
		return;
	}
	ok(random_reads(h), names[0]);
	ok(random_writes(h), names[1]);
	leave_alone();
	cuFileRead(h, (void *)mem, 1 << 20, 1 << 20, 3);
	ok(kernel.direct == kernel.calls && kernel.calls, names[2]);
	leave_alone();
	ok(cuFileRead(h, (void *)mem, 100, 5, 0) == 100 && !kernel.direct && kernel.calls,
	   names[3]);
	end_handle(h, fd);
}

static void test_host(void)
{
	CUfileHandle_t h;
	void *pinned;
	int fd;

	h = handle_of(O_RDWR, &fd);
	memset(back, 0, FILE_SIZE);
	ok(cuFileRead(h, back, 70001, 33, 5) == 70001 && !memcmp(back + 5, content + 33, 70001) &&
	   !back[4] && !back[70006], "host_memory_is_read_into");
	fill(content + 77, 9999);
	ok(cuFileWrite(h, content, 9999, 77, 77) == 9999 && file_is_content(), "and_written_from");
	cuMemHostAlloc(&pinned, 1 << 20, 0);
	ok(cuFileRead(h, pinned, 1 << 20, 9, 0) == 1 << 20 && !memcmp(pinned, content + 9, 1 << 20),
	   "so_is_pinned_memory");
	cuMemFreeHost(pinned);
	end_handle(h, fd);
}

static void test_managed(void)
{
	CUfileHandle_t h;
	CUdeviceptr p;
	int fd;

	h = handle_of(O_RDWR, &fd);
	cuMemAllocManaged(&p, 100000, CU_MEM_ATTACH_GLOBAL);
	ok(cuFileRead(h, (void *)p, 90000, 11, 3) == 90000 &&
	   !memcmp((char *)p + 3, content + 11, 90000), "managed_memory_is_read_into");
	cuMemFree(p);
	end_handle(h, fd);
}

/* --- What the kernel may do -------------------------------------------------------- */

static void test_kernel(void)
{
	CUfileHandle_t h;
	int fd;

	h = handle_of(O_RDWR, &fd);
	leave_alone();
	kernel.interrupt = 3;
	ok(read_as_pread(h, 3 << 20, 100, 0) && !kernel.interrupt, "an_interrupted_read_goes_on");
	leave_alone();
	kernel.most = 7000;
	ok(read_as_pread(h, 3 << 20, 100, 0), "reads_that_the_kernel_makes_short_go_on");
	fill(content + 100, 3 << 20);
	cuMemcpyHtoD(mem, content + 100, 3 << 20);
	ok(cuFileWrite(h, (void *)mem, 3 << 20, 100, 0) == 3 << 20 && file_is_content(),
	   "so_do_writes");
	leave_alone();
	kernel.error = EIO;
	errno = 0;
	ok(cuFileRead(h, (void *)mem, 1000, 0, 0) == -1 && errno == EIO,
	   "an_error_is_minus_1_and_errno");
	kernel.error = ENOSPC;
	kernel.after = 0;
	errno = 0;
	ok(cuFileWrite(h, (void *)mem, 1000, 0, 0) == -1 && errno == ENOSPC, "also_of_a_write");
	leave_alone();
	kernel.error = ENOSPC;
	kernel.most = 7000;
	kernel.after = 2;
	ok(cuFileWrite(h, (void *)mem, 3 << 20, 100, 0) == 14000,
	   "what_was_written_before_an_error_is_told");
	leave_alone();
	end_handle(h, fd);
}

/* --- Errors ------------------------------------------------------------------------ */

static void test_handles(void)
{
	CUfileDescr_t other = { .type = CU_FILE_HANDLE_TYPE_USERSPACE_FS };
	CUfileHandle_t h, h2;
	int fd, ends[2];

	h = handle_of(O_RDONLY, &fd);
	ok_eq(add(fd, &h2), CU_FILE_HANDLE_ALREADY_REGISTERED, "a_descriptor_is_registered_once");
	errno = 0;
	ok(cuFileWrite(h, (void *)mem, 10, 0, 0) == -1 && errno == EBADF,
	   "a_file_that_is_open_for_reading_is_not_written");
	end_handle(h, fd);
	ok_eq(cuFileRead(h, (void *)mem, 10, 0, 0), -CU_FILE_HANDLE_NOT_REGISTERED,
	      "an_ended_handle_is_none");
	if (pipe(ends))
		ends[0] = ends[1] = -1;
	ok_eq(add(ends[0], &h), CU_FILE_INVALID_FILE_TYPE, "a_pipe_is_no_file");
	close(ends[0]);
	close(ends[1]);
	ok_eq(add(-1, &h), CU_FILE_INVALID_FILE_TYPE, "nor_is_a_bad_descriptor");
	fd = open(path, O_RDWR | O_APPEND);
	ok_eq(add(fd, &h), CU_FILE_INVALID_FILE_OPEN_FLAG, "a_file_for_appending_is_refused");
	close(fd);
	ok_eq(cuFileHandleRegister(&h, &other).err, CU_FILE_IO_NOT_SUPPORTED,
	      "a_file_system_in_user_space_is_refused");
	ok_eq(cuFileHandleRegister(&h, NULL).err, CU_FILE_INVALID_VALUE,
	      "no_description_is_no_value");
}

static void test_addresses(void)
{
	CUfileHandle_t h;
	int fd;

	h = handle_of(O_RDWR, &fd);
	ok_eq(cuFileRead(h, NULL, 10, 0, 0), -CU_FILE_INVALID_VALUE, "no_buffer_is_no_value");
	ok_eq(cuFileRead(h, (void *)mem, 10, 0, -1), -CU_FILE_INVALID_VALUE,
	      "nor_is_a_negative_offset_in_the_buffer");
	errno = 0;
	ok(cuFileRead(h, (void *)mem, 10, -1, 0) == -1 && errno == EINVAL,
	   "a_negative_offset_in_the_file_is_the_systems_error");
	ok_eq(cuFileRead(h, (void *)mem, 1UL << 40, 0, 0), -CU_FILE_CUDA_POINTER_RANGE_ERROR,
	      "a_read_does_not_leave_the_devices_memory");
	errno = 0;
	ok(cuFileRead(h, (void *)16, 10, 0, 0) == -1 && errno == EFAULT,
	   "an_address_of_nothing_is_the_systems_error");
	end_handle(h, fd);
}

static void test_buffers(void)
{
	CUfileHandle_t h;
	int fd;

	h = handle_of(O_RDWR, &fd);
	ok_eq(cuFileBufRegister((void *)mem, 5000, 0).err, CU_FILE_SUCCESS,
	      "a_buffer_is_registered");
	ok_eq(cuFileBufRegister((void *)mem, 5000, 0).err, CU_FILE_MEMORY_ALREADY_REGISTERED,
	      "once");
	ok_eq(cuFileRead(h, (void *)mem, 5000, 0, 0), 5000, "it_is_read_into");
	ok_eq(cuFileRead(h, (void *)mem, 5000, 0, 1), -CU_FILE_INVALID_MAPPING_RANGE,
	      "a_read_does_not_leave_it");
	ok_eq(cuFileBufDeregister((void *)mem).err, CU_FILE_SUCCESS, "its_registration_ends");
	ok_eq(cuFileBufDeregister((void *)mem).err, CU_FILE_INVALID_VALUE, "and_is_over_then");
	ok_eq(cuFileRead(h, (void *)mem, 5000, 0, 1), 5000, "its_size_counts_no_more");
	ok_eq(cuFileBufRegister(content, FILE_SIZE, 0).err, CU_FILE_SUCCESS,
	      "host_memory_is_registered_too");
	cuFileBufDeregister(content);
	ok_eq(cuFileBufRegister((void *)mem, 5000, CU_FILE_RDMA_REGISTER).err,
	      CU_FILE_PLATFORM_NOT_SUPPORTED, "registration_for_rdma_refuses");
	ok_eq(cuFileBufRegister((void *)mem, 0, 0).err, CU_FILE_INVALID_VALUE,
	      "nothing_is_no_buffer");
	end_handle(h, fd);
}

/* --- Contexts ---------------------------------------------------------------------- */

static void test_contexts(void)
{
	CUctxCreateParams none = { 0 };
	CUcontext now = ctx, second;
	CUfileHandle_t h;
	CUdeviceptr p;
	int fd, good;

	h = handle_of(O_RDWR, &fd);
	cuCtxSetCurrent(NULL);
	good = cuFileRead(h, (void *)mem, 1000, 0, 0) == 1000;
	cuCtxGetCurrent(&now);
	cuCtxSetCurrent(ctx);
	ok(good && !now, "a_thread_without_a_context_reads_in_that_of_the_buffer");
	/* A new session has no buffers of another context. */
	end_handle(h, fd);
	close_all();
	h = handle_of(O_RDWR, &fd);
	cuCtxCreate(&second, &none, 0, 0);
	p = device(NULL, 1000);
	good = cuFileRead(h, (void *)p, 1000, 0, 0) == 1000;
	cuCtxDestroy(second);
	cuCtxCreate(&second, &none, 0, 0);
	p = device(NULL, 1000);
	good &= cuFileRead(h, (void *)p, 1000, 5, 0) == 1000;
	cuMemcpyDtoH(back, p, 1000);
	cuCtxDestroy(second);
	cuCtxSetCurrent(ctx);
	ok(good && !memcmp(back, content + 5, 1000), "a_later_context_has_buffers_of_its_own");
	end_handle(h, fd);
}

/* --- The session ------------------------------------------------------------------- */

static void test_session(void)
{
	CUfileDrvProps_t props;
	CUfileHandle_t h;
	int fd, version = 0;

	cuFileGetVersion(&version);
	ok_eq(version, 1150, "the_version_is_that_of_the_header");
	ok(cuFileUseCount() == 0 && cuFileDriverClose().err == CU_FILE_DRIVER_NOT_INITIALIZED,
	   "there_is_no_session_at_first");
	ok(cuFileDriverSetMaxCacheSize(65536).err == CU_FILE_DRIVER_NOT_INITIALIZED,
	   "which_a_limit_needs");
	h = handle_of(O_RDONLY, &fd);
	ok(h && cuFileUseCount() == 1, "the_first_call_opens_one");
	ok(cuFileDriverOpen().err == CU_FILE_SUCCESS && cuFileUseCount() == 2,
	   "opening_it_again_counts");
	ok(cuFileDriverGetProperties(&props).err == CU_FILE_SUCCESS && !props.nvfs.major_version &&
	   !props.nvfs.dstatusflags && props.nvfs.dcontrolflags == 1 << CU_FILE_ALLOW_COMPAT_MODE,
	   "properties_say_compatibility_mode");
	ok(cuFileDriverSetMaxDirectIOSize(8192).err == CU_FILE_SUCCESS &&
	   cuFileDriverGetProperties(&props).err == CU_FILE_SUCCESS &&
	   props.nvfs.max_direct_io_size == 8192, "a_limit_is_read_back");
	ok(cuFileDriverSetMaxDirectIOSize(0).err == CU_FILE_DRIVER_UNSUPPORTED_LIMIT &&
	   cuFileDriverSetMaxDirectIOSize(6).err == CU_FILE_DRIVER_UNSUPPORTED_LIMIT,
	   "a_limit_is_whole_pages");
	cuFileDriverSetMaxPinnedMemSize(8);
	ok(cuFileBufRegister((void *)mem, 8193, 0).err == CU_FILE_GPU_MEMORY_PINNING_FAILED &&
	   cuFileBufRegister((void *)mem, 8192, 0).err == CU_FILE_SUCCESS,
	   "registered_buffers_stay_below_their_limit");
	close_all();
	ok(cuFileRead(h, (void *)mem, 10, 0, 0) == -CU_FILE_HANDLE_NOT_REGISTERED,
	   "the_last_close_ends_registrations");
	close(fd);
	close_all();
}

static void test_parameters(void)
{
	size_t value = 0, least, most, kib[3], count[3];
	CUfileHandle_t h;
	bool flag;
	int fd;

	ok(cuFileSetParameterSizeT(CUFILE_PARAM_PROPERTIES_PER_BUFFER_CACHE_SIZE_KB, 8).err ==
	   CU_FILE_SUCCESS, "a_parameter_is_set_for_the_next_session");
	cuFileDriverOpen();
	cuFileGetParameterSizeT(CUFILE_PARAM_PROPERTIES_PER_BUFFER_CACHE_SIZE_KB, &value);
	ok_eq(value, 8, "which_has_it");
	h = handle_of(O_RDONLY, &fd);
	leave_alone();
	ok(read_as_pread(h, 40960, 0, 0) && kernel.calls == 5, "so_large_are_the_buffers");
	end_handle(h, fd);
	ok_eq(cuFileSetParameterSizeT(CUFILE_PARAM_PROPERTIES_PER_BUFFER_CACHE_SIZE_KB, 8).err,
	      CU_FILE_DRIVER_ALREADY_OPEN, "an_open_session_has_its_parameters_already");
	close_all();
	cuFileGetParameterSizeT(CUFILE_PARAM_PROPERTIES_PER_BUFFER_CACHE_SIZE_KB, &value);
	ok_eq(value, 1024, "the_session_after_it_has_the_defaults");
	cuFileGetParameterMinMaxValue(CUFILE_PARAM_PROPERTIES_IO_BATCHSIZE, &least, &most);
	ok(cuFileSetParameterSizeT(CUFILE_PARAM_PROPERTIES_IO_BATCHSIZE, most + 1).err ==
	   CU_FILE_INVALID_VALUE &&
	   cuFileSetParameterSizeT(CUFILE_PARAM_PROPERTIES_IO_BATCHSIZE, least - 1).err ==
	   CU_FILE_INVALID_VALUE, "a_value_is_in_the_range_that_is_told");
	ok(cuFileGetParameterPosixPoolSlabArray(kib, count, 3).err == CU_FILE_SUCCESS &&
	   kib[1] == 1024 && count[1] == 64 &&
	   cuFileGetParameterPosixPoolSlabArray(kib, count, 2).err == CU_FILE_INVALID_VALUE,
	   "slabs_are_read_as_a_whole");
	ok(cuFileSetParameterBool(CUFILE_PARAM_USE_PCIP2PDMA, true).err ==
	   CU_FILE_PLATFORM_NOT_SUPPORTED &&
	   !cuFileGetParameterBool(CUFILE_PARAM_USE_PCIP2PDMA, &flag).err && !flag,
	   "peers_on_the_bus_are_refused");
	cuFileSetParameterBool(CUFILE_PARAM_PROPERTIES_ALLOW_SYSTEM_MEMORY, false);
	h = handle_of(O_RDONLY, &fd);
	ok_eq(cuFileRead(h, back, 10, 0, 0), -CU_FILE_CUDA_MEMORY_TYPE_INVALID,
	      "host_memory_is_refused_where_the_program_wants_it");
	end_handle(h, fd);
	close_all();
	cuFileSetParameterBool(CUFILE_PARAM_PROPERTIES_ALLOW_COMPAT_MODE, false);
	ok_eq(cuFileDriverOpen().err, CU_FILE_DRIVER_NOT_INITIALIZED,
	      "without_compatibility_mode_there_is_no_driver");
	cuFileSetParameterBool(CUFILE_PARAM_PROPERTIES_ALLOW_COMPAT_MODE, true);
}

/* --- As torch.cuda.gds ------------------------------------------------------------- */

/* GdsFile, gds_register_buffer, save_storage and load_storage of PyTorch make these calls. */
static void test_torch(void)
{
	CUdeviceptr storage = device(content, 40000);
	CUfileHandle_t h;
	int fd, good;

	fd = open(path, O_CREAT | O_RDWR | O_DIRECT, 0664);
	if (fd < 0) {
		skip("a_storage_is_saved_and_loaded_as_pytorch_does",
		     "the file system of the temporary folder has no O_DIRECT");
		return;
	}
	good = add(fd, &h) == CU_FILE_SUCCESS &&
	       cuFileBufRegister((void *)storage, 40000, 0).err == CU_FILE_SUCCESS &&
	       cuFileWrite(h, (void *)storage, 40000, 8192, 0) == 40000;
	cuMemsetD8(storage, 0, 40000);
	good &= cuFileRead(h, (void *)storage, 40000, 8192, 0) == 40000 &&
		cuFileBufDeregister((void *)storage).err == CU_FILE_SUCCESS;
	cuMemcpyDtoH(back, storage, 40000);
	ok(good && !memcmp(back, content, 40000), "a_storage_is_saved_and_loaded_as_pytorch_does");
	end_handle(h, fd);
	cuMemFree(storage);
}

int main(void)
{
	const char *folder = getenv("TMPDIR");

	random_state = 20;
	tap_plan(66);
	snprintf(path, sizeof(path), "%.40s/cufile.XXXXXX", folder ? folder : "/tmp");
	close(mkstemp(path));
	content = malloc(FILE_SIZE + 16);
	back = malloc(FILE_SIZE + 8192);
	fill(content, FILE_SIZE);
	cuInit(0);
	cuDevicePrimaryCtxRetain(&ctx, 0);
	cuCtxSetCurrent(ctx);
	mem = device(NULL, FILE_SIZE + 8192);
	if (!write_file() || !mem)
		return 1;
	test_session();
	test_parameters();
	test_pieces();
	test_direct();
	test_host();
	test_managed();
	test_kernel();
	test_handles();
	test_addresses();
	test_buffers();
	test_contexts();
	test_torch();
	unlink(path);
	return tap_exit();
}
