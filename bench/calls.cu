// SPDX-License-Identifier: Apache-2.0
// Measures the time of typical calls of the CUDA runtime, driver, cuBLAS and cuRAND, as a
// program sees it. The program is unmodified CUDA, so the libraries that it finds decide
// what is measured. It prints one line per call: `bench NAME ns SAMPLES MIN MEDIAN P99`. A
// sample is the mean of a short batch. An asynchronous call is timed until it is issued;
// the wait for its work is not timed.
//
//	calls [ms=200]		time for each call
#include <algorithm>
#include <dlfcn.h>
#include <thread>
#include <cuda.h>
#include <cublas_v2.h>
#include <curand.h>
#include "../tests/programs/program.h"

#define SMALL	4096
#define LARGE	(4 << 20)
#define ISSUED	32		// asynchronous calls before a wait: no queue is full

__global__ void empty() { }

static cudaStream_t stream;
static cudaEvent_t event;
static char *dev, *pinned, pageable[SMALL];
static double goal;

template <typename Call>
static double time_batch(Call call, int n)
{
	double t = now();

	for (int i = 0; i < n; i++)
		call();
	return (now() - t) * 1e9 / n;
}

static void report(const char *name, std::vector<double> &sample)
{
	size_t n = sample.size();

	std::sort(sample.begin(), sample.end());
	printf("bench %s ns %zu %.1f %.1f %.1f\n", name, n, sample[0], sample[n / 2],
	       sample[n - 1 - n / 100]);
	fflush(stdout);
}

// Measures batches of at most `most` calls. An untimed wait follows each batch.
template <typename Call>
static void measure(const char *name, int most, Call call)
{
	std::vector<double> sample;
	int n = 1;
	double end;

	for (int i = 0; i < 3 * ISSUED; i++)
		call();
	CHECK(cudaDeviceSynchronize());
	while (n < most && time_batch(call, n) * n < 20000)	// ns: long enough for the clock
		n *= 2;
	CHECK(cudaDeviceSynchronize());
	end = now() + goal;
	while (now() < end && sample.size() < 100000) {
		sample.push_back(time_batch(call, n));
		if (most == ISSUED)
			CHECK(cudaStreamSynchronize(stream));
	}
	report(name, sample);
}

static void local_calls(void)
{
	measure("peek_at_last_error", 1024, [] { CHECK(cudaPeekAtLastError()); });
	measure("get_device", 1024, [] { int d; CHECK(cudaGetDevice(&d)); });
}

// Measures both forms in which the driver launches; the worker takes the faster one.
static void driver_launches(void)
{
	static CUlaunchConfig config = { 1, 1, 1, 1, 1, 1, 0, stream, NULL, 0 };
	static decltype(&cuLaunchKernel) launch;
	static decltype(&cuLaunchKernelEx) launch_ex;
	static cudaFunction_t f;

	CHECK(cudaGetFuncBySymbol(&f, (const void *)empty));
	CHECK(cudaGetDriverEntryPointByVersion("cuLaunchKernel", (void **)&launch, 12000, 0, NULL));
	CHECK(cudaGetDriverEntryPointByVersion("cuLaunchKernelEx", (void **)&launch_ex, 12000, 0, NULL));
	measure("cu_launch_kernel", ISSUED, [] {
		CHECK_STATUS(launch(f, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
	});
	measure("cu_launch_kernel_ex", ISSUED, [] {
		CHECK_STATUS(launch_ex(&config, f, NULL, NULL));
	});
}

static void launches(void)
{
	measure("launch_issued", ISSUED, [] { empty<<<1, 1, 0, stream>>>(); });
	driver_launches();
	measure("launch_and_sync", 16, [] {
		empty<<<1, 1, 0, stream>>>();
		CHECK(cudaStreamSynchronize(stream));
	});
	measure("event_record", ISSUED, [] { CHECK(cudaEventRecord(event, stream)); });
	measure("memset_async_4k", ISSUED, [] { CHECK(cudaMemsetAsync(dev, 0, SMALL, stream)); });
}

static void copies(void)
{
	measure("memcpy_4k_to_device", 64, [] {
		CHECK(cudaMemcpy(dev, pageable, SMALL, cudaMemcpyHostToDevice));
	});
	measure("memcpy_4k_to_host", 64, [] {
		CHECK(cudaMemcpy(pageable, dev, SMALL, cudaMemcpyDeviceToHost));
	});
	measure("memcpy_async_4k_pinned", ISSUED, [] {
		CHECK(cudaMemcpyAsync(dev, pinned, SMALL, cudaMemcpyHostToDevice, stream));
	});
}

static void allocations(void)
{
	measure("malloc_free_4k", 64, [] {
		void *p;
		CHECK(cudaMalloc(&p, SMALL));
		CHECK(cudaFree(p));
	});
	measure("malloc_free_4m", 16, [] {
		void *p;
		CHECK(cudaMalloc(&p, LARGE));
		CHECK(cudaFree(p));
	});
	measure("malloc_async_free_async", ISSUED, [] {
		void *p;
		CHECK(cudaMallocAsync(&p, SMALL, stream));
		CHECK(cudaFreeAsync(p, stream));
	});
	measure("stream_create_destroy", 16, [] {
		cudaStream_t s;
		CHECK(cudaStreamCreate(&s));
		CHECK(cudaStreamDestroy(s));
	});
}

// The libraries may be missing: they are loaded by name, and a comment is printed if they
// are.
#define BIND(lib, f)	static const auto f##_ = (decltype(&f))dlsym(lib, #f)

static void sgemm(void)
{
	void *lib = dlopen("libcublas.so.13", RTLD_NOW);
	static cublasHandle_t handle;
	static const float one = 1, zero = 0;

	if (!lib) {
		printf("# no cuBLAS: %s\n", dlerror());
		return;
	}
	BIND(lib, cublasCreate_v2);
	BIND(lib, cublasSetStream_v2);
	BIND(lib, cublasSgemm_v2);
	CHECK_STATUS(cublasCreate_v2_(&handle));
	CHECK_STATUS(cublasSetStream_v2_(handle, stream));
	measure("sgemm_64", ISSUED, [] {
		float *a = (float *)dev;
		CHECK_STATUS(cublasSgemm_v2_(handle, CUBLAS_OP_N, CUBLAS_OP_N, 64, 64, 64, &one, a,
					     64, a + 4096, 64, &zero, a + 8192, 64));
	});
}

static void random_numbers(void)
{
	void *lib = dlopen("libcurand.so.10", RTLD_NOW);
	static curandGenerator_t g;

	if (!lib) {
		printf("# no cuRAND: %s\n", dlerror());
		return;
	}
	BIND(lib, curandCreateGenerator);
	BIND(lib, curandSetStream);
	BIND(lib, curandGenerateUniform);
	BIND(lib, curandSetPseudoRandomGeneratorSeed);
	CHECK_STATUS(curandCreateGenerator_(&g, CURAND_RNG_PSEUDO_PHILOX4_32_10));
	CHECK_STATUS(curandSetStream_(g, stream));
	measure("curand_uniform_1024", ISSUED, [] {
		CHECK_STATUS(curandGenerateUniform_(g, (float *)dev, 1024));
	});
	measure("curand_set_seed", 1024, [] {
		CHECK_STATUS(curandSetPseudoRandomGeneratorSeed_(g, 42));
	});
}

// Measures launches per second until their end. Each thread has its own stream.
static void launch_rate(int threads)
{
	std::vector<std::thread> all;
	const int each = 20000;
	double t;

	for (int round = 0; round < 2; round++) {	// the first one warms up
		all.clear();
		t = now();
		for (int i = 0; i < threads; i++)
			all.emplace_back([] {
				cudaStream_t s;

				CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
				for (int i = 0; i < each; i++)
					empty<<<1, 1, 0, s>>>();
				CHECK(cudaStreamSynchronize(s));
				CHECK(cudaStreamDestroy(s));
			});
		for (auto &a : all)
			a.join();
		t = now() - t;
	}
	printf("rate launches_%d_threads 1/s %.0f\n", threads, threads * each / t);
}

int main(int argc, char **argv)
{
	goal = option(argc, argv, "ms", 200) / 1e3;
	if (option(argc, argv, "rates", 0)) {	// these alone
		for (int threads : { 1, 2, 4, 8 })
			launch_rate(threads);
		return 0;
	}
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	CHECK(cudaMalloc(&dev, 1 << 20));
	CHECK(cudaMallocHost(&pinned, SMALL));
	local_calls();
	launches();
	copies();
	allocations();
	launch_rate(1);
	launch_rate(4);
	sgemm();
	random_numbers();
	CHECK(cudaDeviceSynchronize());
	return 0;
}
