// SPDX-License-Identifier: Apache-2.0
/*
 * cuFFT's callbacks at work: transforms whose kernels call the program's code where they load and
 * store. The code scales, gives a window, turns round and writes elsewhere, by what the program
 * says of it in the device's memory. Each is a step (steps_gpu.h), which is compared with sums on
 * the CPU. It needs a GPU.
 *
 *	fft_callbacks_gpu compile LIBRARY FILE	compiles the code with this NVRTC for the device
 *	fft_callbacks_gpu FILE			runs it
 */
#include <complex.h>
#include <cufftXt.h>
#include <dlfcn.h>
#include <stdbool.h>

#include "steps_gpu.h"

typedef complex double number;

/*
 * Offsets of callbacks have 64 bits. `about` is in the device's memory. cuFFT calls a function of
 * C++ by its name, so that these are none of C, and links the code of each callback of a plan:
 * each has code of its own, since a function may be there once.
 */
static const char begin[] =
	"struct about { float factor; int n; float *window; float2 *elsewhere; };\n"
	"typedef unsigned long long place;\n";

static const struct {
	const char *name, *source;
} callbacks[] = {
	{ "load_scaled",
	  "__device__ float2 load_scaled(void *in, place i, void *info, void *)\n"
	  "{\n"
	  "	float2 v = ((float2 *)in)[i];\n"
	  "	float f = ((about *)info)->factor;\n"
	  "	return make_float2(v.x * f, v.y * f);\n"
	  "}\n" },
	{ "store_conjugated",
	  "__device__ void store_conjugated(void *out, place i, float2 v, void *info, void *)\n"
	  "{\n"
	  "	float f = ((about *)info)->factor;\n"
	  "	((float2 *)out)[i] = make_float2(v.x * f, -v.y * f);\n"
	  "}\n" },
	{ "store_elsewhere",
	  "__device__ void store_elsewhere(void *, place i, float2 v, void *info, void *)\n"
	  "{\n"
	  "	((about *)info)->elsewhere[i] = v;\n"
	  "}\n" },
	{ "load_window",
	  "__device__ float load_window(void *in, place i, void *info, void *)\n"
	  "{\n"
	  "	const about *a = (const about *)info;\n"
	  "	return ((float *)in)[i] * a->window[i % a->n];\n"
	  "}\n" },
	{ "store_turned",
	  "__device__ void store_turned(void *out, place i, float v, void *info, void *)\n"
	  "{\n"
	  "	const about *a = (const about *)info;\n"
	  "	place row = i / a->n;\n"
	  "	((float *)out)[row * a->n + a->n - 1 - i % a->n] = v * a->factor;\n"
	  "}\n" },
	{ "load_without",
	  "__device__ double load_without(void *in, place i, void *info, void *)\n"
	  "{\n"
	  "	return info ? -1 : ((double *)in)[i] + 1;\n"
	  "}\n" },
};

/* As the code knows it. */
struct about {
	float factor;
	int n;
	CUdeviceptr window, elsewhere;
};

struct code {
	char bytes[64 * 1024];
	size_t size;
};

#define CALLBACKS	(sizeof(callbacks) / sizeof(callbacks[0]))
static struct code codes[CALLBACKS];

/* --- Compiling ----------------------------------------------------------------------------- */

static struct {
	int (*create)(void **, const char *, const char *, int, const char *const *,
		      const char *const *);
	int (*compile)(void *, int, const char *const *);
	int (*log_size)(void *, size_t *), (*log)(void *, char *);
	int (*size)(void *, size_t *), (*get)(void *, char *);
} nvrtc;

static bool find_nvrtc(const char *library)
{
	void *l = dlopen(library, RTLD_NOW);

	if (!l) {
		fprintf(stderr, "%s\n", dlerror());
		return false;
	}
	*(void **)&nvrtc.create = dlsym(l, "nvrtcCreateProgram");
	*(void **)&nvrtc.compile = dlsym(l, "nvrtcCompileProgram");
	*(void **)&nvrtc.log_size = dlsym(l, "nvrtcGetProgramLogSize");
	*(void **)&nvrtc.log = dlsym(l, "nvrtcGetProgramLog");
	*(void **)&nvrtc.size = dlsym(l, "nvrtcGetLTOIRSize");
	*(void **)&nvrtc.get = dlsym(l, "nvrtcGetLTOIR");
	if (nvrtc.create && nvrtc.compile && nvrtc.log_size && nvrtc.log && nvrtc.size && nvrtc.get)
		return true;
	fprintf(stderr, "no LTO-IR in this NVRTC\n");
	return false;
}

static void print_log(void *program)
{
	size_t size = 0;
	char *text;

	nvrtc.log_size(program, &size);
	text = calloc(1, size + 1);
	nvrtc.log(program, text);
	fprintf(stderr, "%s\n", text);
	free(text);
}

static int compile_one(int i, const char *arch)
{
	const char *options[] = { "-dlto", "--relocatable-device-code=true", arch };
	struct code *c = &codes[i];
	void *program = NULL;
	char text[2048];
	int res;

	snprintf(text, sizeof(text), "%s%s", begin, callbacks[i].source);
	res = nvrtc.create(&program, text, "callback.cu", 0, NULL, NULL);
	if (!res)
		res = nvrtc.compile(program, 3, options);
	if (res && program)
		print_log(program);
	if (!res)
		res = nvrtc.size(program, &c->size);
	if (!res && c->size > sizeof(c->bytes))
		res = -1;
	return res ? res : nvrtc.get(program, c->bytes);
}

static int compile(const char *library, const char *file)
{
	int i, major = 9, minor = 0, res = 0;
	char arch[32];
	FILE *f;

	if (!find_nvrtc(library))
		return 1;
	if (!cuInit(0)) {
		cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0);
		cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0);
	}
	snprintf(arch, sizeof(arch), "-arch=compute_%d%d", major, minor);
	for (i = 0; i < (int)CALLBACKS && !res; i++)
		res = compile_one(i, arch);
	f = res ? NULL : fopen(file, "w");
	if (!f || fwrite(codes, sizeof(codes), 1, f) != 1 || fclose(f)) {
		fprintf(stderr, "no code in %s: status %d\n", file, res);
		return 1;
	}
	return 0;
}

static int read_code(const char *file)
{
	FILE *f = fopen(file, "r");
	size_t n = f ? fread(codes, sizeof(codes), 1, f) : 0;

	if (f)
		fclose(f);
	if (n)
		return 0;
	fprintf(stderr, "no code in %s\n", file);
	return 1;
}

/* A name of none has the first one's code. */
static const struct code *code_of(const char *name)
{
	int i;

	for (i = CALLBACKS - 1; i > 0 && strcmp(name, callbacks[i].name); i--)
		;
	return &codes[i];
}

/* --- Which libraries are there --------------------------------------------------------------- */

static void print_version(const char *library, const char *function)
{
	void *l = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
	int (*version)(unsigned int *, unsigned int *) = l ? dlsym(l, function) : NULL;
	unsigned int major = 0, minor = 0;
	int res = version ? version(&major, &minor) : -1;

	fprintf(stderr, "%s: %s, status %d, version %u.%u\n", library,
		l ? "loaded" : "not loaded", res, major, minor);
}

/* To standard error, once: a plan with callbacks needs cuFFT, NVRTC and nvJitLink. */
static void print_libraries(void)
{
	static bool printed;
	char line[4096], last[4096] = "", *path;
	int version = 0;
	FILE *f;

	if (printed)
		return;
	printed = true;
	cufftGetVersion(&version);
	fprintf(stderr, "cuFFT: version %d\n", version);
	print_version("libnvrtc.so.13", "nvrtcVersion");
	print_version("libnvJitLink.so.13", "nvJitLinkVersion");
	f = fopen("/proc/self/maps", "r");
	while (f && fgets(line, sizeof(line), f)) {
		path = strchr(line, '/');
		if (!path || !strcmp(path, last) ||
		    !(strstr(path, "cufft") || strstr(path, "nvrtc") || strstr(path, "JitLink")))
			continue;
		strcpy(last, path);
		fprintf(stderr, "%s", path);
	}
	if (f)
		fclose(f);
}

/* --- Plans --------------------------------------------------------------------------------- */

struct callback {
	const char *name;
	cufftXtCallbackType type;
	CUdeviceptr about;	/* 0: the code is told of nothing */
};

static bool create(const char *what, cufftHandle *plan)
{
	int res = cufftCreate(plan);

	if (res)
		said(what, res);
	return !res;
}

/*
 * Says what came of each step. Returns 0 if there is a plan of these callbacks. What they are told
 * of stays until the next plan.
 */
static int make(const char *what, cufftHandle *plan, int nx, int ny, cufftType type, int batch,
		const struct callback *c, int callbacks)
{
	static void *info[2];
	const struct code *code;
	size_t size = 0;
	char name[96];
	int i, res = 0;

	if (!create(what, plan))
		return 1;
	for (i = 0; i < callbacks && !res; i++) {
		info[i] = (void *)c[i].about;
		code = code_of(c[i].name);
		res = cufftXtSetJITCallback(*plan, c[i].name, code->bytes, code->size, c[i].type,
					    c[i].about ? &info[i] : NULL);
		snprintf(name, sizeof(name), "%s, %s", what, c[i].name);
		said(name, res);
	}
	if (!res) {
		res = ny ? cufftMakePlan2d(*plan, nx, ny, type, &size) :
			   cufftMakePlan1d(*plan, nx, type, batch, &size);
		printf("%s, planned: %d work=%zu |\n", what, res, size);
	}
	if (res) {
		print_libraries();
		cufftDestroy(*plan);
	}
	return res;
}

static CUdeviceptr about_of(float factor, int n, CUdeviceptr window, CUdeviceptr elsewhere)
{
	const struct about a = { factor, n, window, elsewhere };
	CUdeviceptr p = room(sizeof(a));

	give(p, &a, sizeof(a));
	return p;
}

static double value(size_t i, unsigned int seed)
{
	return (double)(((i + seed) * 2654435761u >> 9) % 1000) / 1000 - 0.5;
}

static CUdeviceptr floats(float *to, size_t n, unsigned int seed)
{
	CUdeviceptr p = room(n * sizeof(*to));
	size_t i;

	for (i = 0; i < n; i++)
		to[i] = (float)value(i, seed);
	give(p, to, n * sizeof(*to));
	return p;
}

/* The transform of rows of n elements by its definition. */
static void transform(number *to, const number *from, int n, int batch, int sign)
{
	const number step_by = sign * 2 * M_PI * I / n;
	int b, i, k;

	for (b = 0; b < batch; b++, to += n, from += n) {
		for (k = 0; k < n; k++) {
			to[k] = 0;
			for (i = 0; i < n; i++)
				to[k] += from[i] * cexp(step_by * (i * k % n));
		}
	}
}

static void compare(const char *name, int status, CUdeviceptr at, const number *want, size_t n)
{
	float *got = calloc(n, 2 * sizeof(*got));
	double off = 0, d;
	size_t i;

	take(name, got, at, n * 2 * sizeof(*got));
	for (i = 0; i < n; i++) {
		d = cabs(want[i] - (got[2 * i] + I * got[2 * i + 1]));
		off = d <= off ? off : d;
	}
	step(name, status, off, 1e-3, got, n * 2 * sizeof(*got));
	free(got);
}

/* --- Complex to complex -------------------------------------------------------------------- */

#define ROWS	4
#define ROW	256
#define ALL	(ROWS * ROW)

static float input[2 * ALL];
static number from[ALL], want[ALL];

static CUdeviceptr complex_input(float factor)
{
	CUdeviceptr p = floats(input, 2 * ALL, 1);
	int i;

	for (i = 0; i < ALL; i++)
		from[i] = factor * (input[2 * i] + I * input[2 * i + 1]);
	return p;
}

static void run_complex(const char *name, cufftHandle plan, CUdeviceptr in, CUdeviceptr out,
			CUdeviceptr read)
{
	int res = cufftExecC2C(plan, (cufftComplex *)in, (cufftComplex *)out, CUFFT_FORWARD);

	compare(name, res, read, want, ALL);
	cufftDestroy(plan);
}

static void loads(void)
{
	const struct callback c = { "load_scaled", CUFFT_CB_LD_COMPLEX, about_of(3, 0, 0, 0) };
	CUdeviceptr in = complex_input(3), out = room(sizeof(input));
	cufftHandle plan = 0;

	transform(want, from, ROW, ROWS, -1);
	if (!make("load", &plan, ROW, 0, CUFFT_C2C, ROWS, &c, 1))
		run_complex("load", plan, in, out, out);
}

static void loads_and_stores(void)
{
	const struct callback c[] = {
		{ "load_scaled", CUFFT_CB_LD_COMPLEX, about_of(0.5, 0, 0, 0) },
		{ "store_conjugated", CUFFT_CB_ST_COMPLEX, about_of(-2, 0, 0, 0) },
	};
	CUdeviceptr in = complex_input(0.5);
	cufftHandle plan = 0;
	CUstream stream;
	int i;

	transform(want, from, ROW, ROWS, -1);
	for (i = 0; i < ALL; i++)
		want[i] = conj(-2 * want[i]);
	cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
	if (make("load and store", &plan, ROW, 0, CUFFT_C2C, ROWS, c, 2))
		return;
	said("stream of callbacks", cufftSetStream(plan, (cudaStream_t)stream));
	run_complex("load and store in place", plan, in, in, in);
}

static void stores_elsewhere(void)
{
	CUdeviceptr in = complex_input(1), out = room(sizeof(input)), other = room(sizeof(input));
	const struct callback c = { "store_elsewhere", CUFFT_CB_ST_COMPLEX, about_of(0, 0, 0, other) };
	cufftHandle plan = 0;

	transform(want, from, ROW, ROWS, -1);
	if (make("store elsewhere", &plan, ROW, 0, CUFFT_C2C, ROWS, &c, 1))
		return;
	run_complex("store elsewhere", plan, in, out, other);
	memset(want, 0, sizeof(want));
	compare("and not where the call says", 0, out, want, ALL);
}

/* Rows and then columns of ROWS x ROW. */
static void in_two_dimensions(void)
{
	const struct callback c = { "load_scaled", CUFFT_CB_LD_COMPLEX, about_of(2, 0, 0, 0) };
	CUdeviceptr in = complex_input(2), out = room(sizeof(input));
	number column[ROWS], turned[ROWS];
	cufftHandle plan = 0;
	int i, k;

	transform(want, from, ROW, ROWS, -1);
	for (i = 0; i < ROW; i++) {
		for (k = 0; k < ROWS; k++)
			column[k] = want[k * ROW + i];
		transform(turned, column, ROWS, 1, -1);
		for (k = 0; k < ROWS; k++)
			want[k * ROW + i] = turned[k];
	}
	if (!make("load in two dimensions", &plan, ROWS, ROW, CUFFT_C2C, 1, &c, 1))
		run_complex("load in two dimensions", plan, in, out, out);
}

/* --- With reals ---------------------------------------------------------------------------- */

static void loads_reals(void)
{
	enum { HALF = ROW / 2 + 1 };
	float window[ROW];
	CUdeviceptr of_window = floats(window, ROW, 9), in = floats(input, ALL, 5);
	CUdeviceptr out = room(ROWS * HALF * 8);
	const struct callback c = { "load_window", CUFFT_CB_LD_REAL, about_of(1, ROW, of_window, 0) };
	cufftHandle plan = 0;
	int i, k, res;

	for (i = 0; i < ALL; i++)
		from[i] = input[i] * window[i % ROW];
	transform(want, from, ROW, ROWS, -1);
	for (i = 0; i < ROWS; i++)
		for (k = 0; k < HALF; k++)
			want[i * HALF + k] = want[i * ROW + k];
	if (make("load of reals", &plan, ROW, 0, CUFFT_R2C, ROWS, &c, 1))
		return;
	res = cufftExecR2C(plan, (cufftReal *)in, (cufftComplex *)out);
	compare("load of reals", res, out, want, ROWS * HALF);
	cufftDestroy(plan);
}

/* The input is the half that is not the other half's mirror. */
static void stores_reals(void)
{
	enum { HALF = ROW / 2 + 1 };
	static float half[2 * HALF * ROWS];
	CUdeviceptr in = floats(half, 2 * HALF * ROWS, 6), out = room(ALL * sizeof(float));
	const struct callback c = { "store_turned", CUFFT_CB_ST_REAL, about_of(0.25, ROW, 0, 0) };
	cufftHandle plan = 0;
	number row[ROW];
	int b, i, res;

	for (b = 0; b < ROWS; b++)
		half[2 * b * HALF + 1] = half[2 * (b * HALF + HALF - 1) + 1] = 0;
	give(in, half, sizeof(half));
	for (b = 0; b < ROWS; b++) {
		for (i = 0; i < HALF; i++) {
			row[i] = half[2 * (b * HALF + i)] + I * half[2 * (b * HALF + i) + 1];
			row[(ROW - i) % ROW] = i ? conj(row[i]) : row[i];
		}
		transform(from, row, ROW, 1, 1);
		/* A pair of floats is a number to compare(). */
		for (i = 0; i < ROW; i += 2)
			want[(b * ROW + i) / 2] = 0.25 * creal(from[ROW - 1 - i]) +
						  I * 0.25 * creal(from[ROW - 2 - i]);
	}
	if (make("store of reals", &plan, ROW, 0, CUFFT_C2R, ROWS, &c, 1))
		return;
	res = cufftExecC2R(plan, (cufftComplex *)in, (cufftReal *)out);
	compare("store of reals", res, out, want, ALL / 2);
	cufftDestroy(plan);
}

/* Callbacks of doubles are of kinds of their own, and this one is told of nothing. */
static void loads_doubles(void)
{
	enum { HALF = ROW / 2 + 1 };
	static double in_host[ROW], got[2 * HALF];
	const struct callback c = { "load_without", CUFFT_CB_LD_REAL_DOUBLE, 0 };
	CUdeviceptr in = room(sizeof(in_host)), out = room(sizeof(got));
	cufftHandle plan = 0;
	double off = 0, d;
	int i, res;

	for (i = 0; i < ROW; i++) {
		in_host[i] = value(i, 11);
		from[i] = in_host[i] + 1;
	}
	give(in, in_host, sizeof(in_host));
	transform(want, from, ROW, 1, -1);
	if (make("load of doubles", &plan, ROW, 0, CUFFT_D2Z, 1, &c, 1))
		return;
	res = cufftExecD2Z(plan, (cufftDoubleReal *)in, (cufftDoubleComplex *)out);
	take("load of doubles", got, out, sizeof(got));
	for (i = 0; i < HALF; i++) {
		d = cabs(want[i] - (got[2 * i] + I * got[2 * i + 1]));
		off = d <= off ? off : d;
	}
	step("load of doubles", res, off, 1e-10, got, sizeof(got));
	cufftDestroy(plan);
}

/* --- What is no callback ------------------------------------------------------------------- */

/* The statuses of what the library refuses follow a 0, since they are what is asked for. */
static void refused(const char *name, int status)
{
	printf("%s: 0 status=%d |\n", name, status);
}

/* Each has a plan of its own, so that one answer does not decide the next one. */
static void set_wrong(const char *what, const char *name, const void *code,
		      cufftXtCallbackType type)
{
	void *info[1] = { (void *)about_of(3, 0, 0, 0) };
	char ending[96], planned[96];
	cufftHandle plan = 0;
	size_t size;

	if (!create(what, &plan))
		return;
	refused(what, cufftXtSetJITCallback(plan, name, code, codes[0].size, type, info));
	snprintf(planned, sizeof(planned), "plan after %s", what);
	refused(planned, cufftMakePlan1d(plan, ROW, CUFFT_C2C, ROWS, &size));
	snprintf(ending, sizeof(ending), "end of %s", what);
	refused(ending, cufftDestroy(plan));
}

static void wrong(void)
{
	set_wrong("callback of no kind", "load_scaled", codes[0].bytes, CUFFT_CB_UNDEFINED);
	set_wrong("callback without code", "load_scaled", NULL, CUFFT_CB_LD_COMPLEX);
	set_wrong("callback without a name", NULL, codes[0].bytes, CUFFT_CB_LD_COMPLEX);
	set_wrong("name of none", "nothing_of_the_kind", codes[0].bytes, CUFFT_CB_LD_COMPLEX);
	refused("no plan", cufftXtSetJITCallback(1000, "load_scaled", codes[0].bytes, codes[0].size,
						 CUFFT_CB_LD_COMPLEX, NULL));
}

/* What is asked of a plan without callbacks changes nothing in it. */
static void too_late(void)
{
	void *info[1] = { (void *)about_of(3, 0, 0, 0) };
	CUdeviceptr in = complex_input(1), out = room(sizeof(input));
	cufftHandle plan = 0;
	size_t size;
	int res;

	if (!create("plan without callbacks", &plan))
		return;
	res = cufftMakePlan1d(plan, ROW, CUFFT_C2C, ROWS, &size);
	said("plan without callbacks", res);
	if (res)
		return;
	refused("callback of a plan that is made",
		cufftXtSetJITCallback(plan, "load_scaled", codes[0].bytes, codes[0].size,
				      CUFFT_CB_LD_COMPLEX, info));
	refused("shared memory of none",
		cufftXtSetCallbackSharedSize(plan, CUFFT_CB_LD_COMPLEX, 64));
	refused("end of none", cufftXtClearCallback(plan, CUFFT_CB_LD_COMPLEX));
	transform(want, from, ROW, ROWS, -1);
	run_complex("and it works without", plan, in, out, out);
}

/* The plan never runs: where the library takes the routine, it is no code. */
static void no_routine(void)
{
	void *routine[1] = { (void *)about_of(3, 0, 0, 0) };
	cufftHandle plan = 0;
	size_t size;

	if (!create("plan for a routine", &plan))
		return;
	said("plan for a routine", cufftMakePlan1d(plan, ROW, CUFFT_C2C, ROWS, &size));
	refused("routine", cufftXtSetCallback(plan, routine, CUFFT_CB_LD_COMPLEX, routine));
	refused("end of routine", cufftDestroy(plan));
}

int main(int argc, char **argv)
{
	int version = 0, res;

	if (argc == 4 && !strcmp(argv[1], "compile"))
		return compile(argv[2], argv[3]);
	if (argc != 2 || read_code(argv[1]))
		return 2;
	use_device(0);
	res = cufftGetVersion(&version);
	printf("version: %d %d |\n", res, version);
	loads();
	loads_and_stores();
	stores_elsewhere();
	in_two_dimensions();
	loads_reals();
	stores_reals();
	loads_doubles();
	no_routine();
	wrong();
	too_late();
	return 0;
}
