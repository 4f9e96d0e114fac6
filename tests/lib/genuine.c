// SPDX-License-Identifier: Apache-2.0
/*
 * Makes calls of all kinds with the same data each time, and prints one line for each
 * with its status and a digest of what it wrote. Natively and forwarded, the lines must
 * be the same. With an argument it prints the time of some calls instead.
 */
#include <cublas_v2.h>
#include <cuda.h>
#include <curand.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N	64
#define BYTES	(N * N * sizeof(cuDoubleComplex))

static cublasHandle_t h;
static CUdeviceptr a, b, c, x, scalars;
static uint8_t fresh[BYTES], out[BYTES];

static void digest(const char *name, int status, const void *data, size_t n)
{
	const uint8_t *p = data;
	uint64_t hash = 0xcbf29ce484222325;
	size_t i;

	for (i = 0; i < n; i++)
		hash = (hash ^ p[i]) * 0x100000001b3;
	printf("%s %d %016llx\n", name, status, (unsigned long long)hash);
}

/* Fills with numbers near one of any type: the same bits as float, double, or pairs of them. */
static void reset(int wide)
{
	size_t i;

	for (i = 0; i < BYTES / (wide ? 8 : 4); i++) {
		double v = 1 + (double)(i * 2654435761u % 1000) / 1000;

		if (wide)
			((double *)fresh)[i] = v;
		else
			((float *)fresh)[i] = (float)v;
	}
	cuMemcpyHtoD(a, fresh, BYTES);
	cuMemcpyHtoD(b, fresh, BYTES);
	cuMemcpyHtoD(c, fresh, BYTES);
	cuMemcpyHtoD(x, fresh, BYTES);
}

static void device(const char *name, int status, CUdeviceptr p)
{
	int rc = cuMemcpyDtoH(out, p, BYTES);

	digest(name, status ? status : 1000 * rc, out, BYTES);
}

#define ON_C(wide, call) do { reset(wide); int s_ = (call); device(#call, s_, c); } while (0)
#define ON_X(wide, call) do { reset(wide); int s_ = (call); device(#call, s_, x); } while (0)
#define GIVES(wide, result, call) do { \
	reset(wide); \
	memset(&result, 0, sizeof(result)); \
	int s_ = (call); \
	digest(#call, s_, &result, sizeof(result)); \
} while (0)

#define F(p)	((float *)(p))
#define D(p)	((double *)(p))
#define CC(p)	((cuComplex *)(p))
#define ZZ(p)	((cuDoubleComplex *)(p))

static const float f2 = 2, f3 = 0.5f, fz;
static const double d2 = 2, d3 = 0.5;
static const cuComplex c2 = { 2, 1 }, c3 = { 0.5f, -1 };
static const cuDoubleComplex z2 = { 2, 1 }, z3 = { 0.5, -1 };

static void level1(void)
{
	float rf, pf[5], rot[4] = { 3, 4, 0, 0 };
	double rd;
	cuComplex rc;
	cuDoubleComplex rz;
	int ri;
	int64_t rl;

	GIVES(0, rf, cublasSdot(h, N, F(a), 1, F(b), 2, &rf));
	GIVES(1, rd, cublasDnrm2(h, N, D(a), 1, &rd));
	GIVES(0, rc, cublasCdotc(h, N, CC(a), 1, CC(b), 1, &rc));
	GIVES(1, rz, cublasZdotu(h, N, ZZ(a), 1, ZZ(b), 1, &rz));
	GIVES(0, rf, cublasScasum(h, N, CC(a), 1, &rf));
	GIVES(0, ri, cublasIsamax(h, N, F(a), 1, &ri));
	GIVES(1, rl, cublasIdamin_64(h, N, D(a), 1, &rl));
	GIVES(0, rf, cublasDotEx(h, N, (void *)a, CUDA_R_32F, 1, (void *)b, CUDA_R_32F, 1, &rf,
			CUDA_R_32F,
				 CUDA_R_32F));
	ON_X(0, cublasSaxpy(h, N, &f2, F(a), 1, F(x), 1));
	ON_X(1, cublasZaxpy_64(h, N, &z2, ZZ(a), 1, ZZ(x), 1));
	ON_X(0, cublasCscal(h, N, &c2, CC(x), 1));
	ON_X(0, cublasSswap(h, N, F(a), 2, F(x), 1));
	ON_X(1, cublasDrot(h, N, D(a), 1, D(x), 1, &d2, &d3));
	digest("rotg", cublasSrotg(h, &rot[0], &rot[1], &rot[2], &rot[3]), rot, sizeof(rot));
	rot[0] = 1, rot[1] = 2, rot[2] = 3;
	memset(pf, 0, sizeof(pf));
	ri = cublasSrotmg(h, &rot[0], &rot[1], &rot[2], &f2, pf);
	digest("rotmg", ri, pf, sizeof(pf));
	ON_X(0, cublasSrotm(h, N, F(a), 1, F(x), 1, pf));
	ON_X(0, cublasScalEx(h, N, &f2, CUDA_R_32F, (void *)x, CUDA_R_32F, 1, CUDA_R_32F));
	ON_X(0, cublasSscal(h, -1, &f2, F(x), 1));
}

static void level23(void)
{
	ON_X(0, cublasSgemv(h, CUBLAS_OP_T, N, N, &f2, F(a), N, F(b), 1, &f3, F(x), 1));
	ON_X(1, cublasZgemv(h, CUBLAS_OP_C, N, N, &z2, ZZ(a), N, ZZ(b), 1, &z3, ZZ(x), 1));
	ON_C(1, cublasDger(h, N, N, &d2, D(a), 1, D(b), 1, D(c), N));
	ON_C(0, cublasCher2(h, CUBLAS_FILL_MODE_UPPER, N, &c2, CC(a), 1, CC(b), 1, CC(c), N));
	ON_X(0, cublasStrsv(h, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, 8, F(a), N,
			F(x), 1));
	ON_C(0, cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_T, N, N, N, &f2, F(a), N, F(b), N, &f3, F(c),
			N));
	ON_C(1, cublasDgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &d2, D(a), N, D(b), N, &d3, D(c),
			N));
	ON_C(0, cublasCgemm(h, CUBLAS_OP_C, CUBLAS_OP_N, N, N, N, &c2, CC(a), N, CC(b), N, &c3,
			CC(c), N));
	ON_C(1, cublasZgemm_64(h, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &z2, ZZ(a), N, ZZ(b), N, &z3,
			ZZ(c), N));
	ON_C(1, cublasZherk(h, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, N, N, &d2, ZZ(a), N, &d3,
			ZZ(c), N));
	ON_C(0, cublasStrsm(h, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N,
			CUBLAS_DIAG_UNIT, 8, N, &f2,
			    F(a), N, F(c), N));
	ON_C(0, cublasSgeam(h, CUBLAS_OP_N, CUBLAS_OP_T, N, N, &f2, F(a), N, &f3, F(b), N, F(c),
			N));
	ON_C(0, cublasSdgmm(h, CUBLAS_SIDE_LEFT, N, N, F(a), N, F(b), 1, F(c), N));
	ON_C(0, cublasGemmEx(h, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &f2, (void *)a, CUDA_R_16F, N,
			(void *)b,
			     CUDA_R_16F, N, &fz, (void *)c, CUDA_R_16F, N, CUBLAS_COMPUTE_32F,
			     CUBLAS_GEMM_DEFAULT));
	ON_C(1, cublasGemmEx(h, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &z2, (void *)a, CUDA_C_64F, N,
			(void *)b,
			     CUDA_C_64F, N, &z3, (void *)c, CUDA_C_64F, N, CUBLAS_COMPUTE_64F,
			     CUBLAS_GEMM_DEFAULT));
	ON_C(0, cublasSgemmStridedBatched(h, CUBLAS_OP_N, CUBLAS_OP_N, 16, 16, 16, &f2, F(a), 16,
			256, F(b), 16,
					  256, &f3, F(c), 16, 256, 4));
	ON_C(0, cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &f2, F(a), 1, F(b), N, &f3, F(c),
			N));
}

static void batches(void)
{
	CUdeviceptr p[4], q[4], pa, pc, info;
	int group[2] = { 3, 1 }, n8[2] = { 8, 8 }, i, host_info = 77, infos[4];
	cublasOperation_t op[2] = { CUBLAS_OP_N, CUBLAS_OP_N };
	float alpha[2] = { 1, 2 }, beta[2] = { 0, 1 };

	for (i = 0; i < 4; i++) {
		p[i] = a + 1024 * i;
		q[i] = c + 1024 * i;
	}
	cuMemAlloc(&pa, sizeof(p));
	cuMemAlloc(&pc, sizeof(q));
	cuMemAlloc(&info, sizeof(infos) + 4096);
	cuMemcpyHtoD(pa, p, sizeof(p));
	cuMemcpyHtoD(pc, q, sizeof(q));
	ON_C(0, cublasSgemmBatched(h, CUBLAS_OP_N, CUBLAS_OP_N, 16, 16, 16, &f2, (void *)pa, 16,
			(void *)pa, 16, &f3,
				   (void *)pc, 16, 4));
	ON_C(0, cublasSgemmGroupedBatched(h, op, op, n8, n8, n8, alpha, (void *)pa, n8, (void *)pa,
			n8, beta,
					  (void *)pc, n8, 2, group));
	ON_C(0, cublasSgetrfBatched(h, 8, (void *)pc, 8, (int *)(info + 64), (int *)info, 4));
	cuMemcpyDtoH(infos, info, sizeof(infos));
	digest("getrf info", 0, infos, sizeof(infos));
	i = cublasSgetrsBatched(h, CUBLAS_OP_N, 8, 1, (void *)pc, 8, (int *)(info + 64),
			(void *)pa, 8, &host_info, 4);
	digest("getrs info", i, &host_info, sizeof(host_info));
	cuMemFree(pa);
	cuMemFree(pc);
	cuMemFree(info);
}

static void modes(void)
{
	float two = 2, r = 0;
	CUstream s;
	CUdeviceptr w;
	int v;

	cuMemcpyHtoD(scalars, &two, 4);
	cublasSetPointerMode(h, CUBLAS_POINTER_MODE_DEVICE);
	ON_X(0, cublasSaxpy(h, N, F(scalars), F(a), 1, F(x), 1));
	v = cublasSdot(h, N, F(a), 1, F(b), 1, F(scalars + 8));
	cuMemcpyDtoH(&r, scalars + 8, 4);
	digest("dot on the device", v, &r, 4);
	cublasSetPointerMode(h, CUBLAS_POINTER_MODE_HOST);
	cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
	cuMemAlloc(&w, 4 << 20);
	cublasSetStream(h, s);
	cublasSetWorkspace(h, (void *)w, 4 << 20);
	cublasSetMathMode(h, CUBLAS_PEDANTIC_MATH);
	reset(0);
	cuCtxSynchronize();
	v = cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &f2, F(a), N, F(b), N, &f3, F(c), N);
	cuStreamSynchronize(s);
	device("gemm on a stream", v, c);
	cublasSetStream(h, NULL);
	cublasSetMathMode(h, CUBLAS_DEFAULT_MATH);
	cuStreamDestroy(s);
	cuMemFree(w);
	v = 0;
	printf("version %d", cublasGetVersion(h, &v));
	printf(" %d\n", v);
}

/* --- cuRAND ------------------------------------------------------------------------------- */

static const curandRngType_t types[] = {
	CURAND_RNG_PSEUDO_DEFAULT, CURAND_RNG_PSEUDO_MRG32K3A, CURAND_RNG_PSEUDO_MTGP32,
	CURAND_RNG_PSEUDO_MT19937, CURAND_RNG_PSEUDO_PHILOX4_32_10, CURAND_RNG_QUASI_SOBOL32,
	CURAND_RNG_QUASI_SCRAMBLED_SOBOL32, CURAND_RNG_QUASI_SOBOL64,
};

/* Runs steps in the order of the letters: (s)eed, (o)ffset, (g)enerate, (n)ormal. */
static void sequence(curandRngType_t type, int host, const char *steps)
{
	curandGenerator_t g;
	int rc = host ? curandCreateGeneratorHost(&g, type) : curandCreateGenerator(&g, type);
	char name[64];

	snprintf(name, sizeof(name), "curand %d %s %s", type, host ? "host" : "device", steps);
	if (rc) {
		digest(name, rc, "", 0);
		return;
	}
	memset(out, 0, sizeof(out));
	cuMemcpyHtoD(c, out, BYTES);
	for (; *steps; steps++) {
		void *to = host ? (void *)out : (void *)c;

		switch (*steps) {
		case 's':
			rc = rc * 7 + curandSetPseudoRandomGeneratorSeed(g, 77);
			break;
		case 'o':
			rc = rc * 7 + curandSetGeneratorOffset(g, 4096);
			break;
		case 'g':
			rc = rc * 7 + (type >= CURAND_RNG_QUASI_SOBOL64 ? curandGenerateLongLong(g,
					to, 1000) :
				       curandGenerate(g, to, 1000));
			break;
		case 'n':
			rc = rc * 7 + curandGenerateNormalDouble(g, to, 1000, 1, 2);
			break;
		}
	}
	if (host)
		digest(name, rc, out, BYTES);
	else
		device(name, rc, c);
	curandDestroyGenerator(g);
}

static void numbers(void)
{
	static const char *const steps[] = { "g", "sg", "gsg", "og", "gog", "sog", "osg", "n",
	"gsog", "ssgg" };
	curandDirectionVectors32_t *vectors = NULL;
	unsigned long long *constants = NULL;
	size_t t, i;
	int rc;

	for (t = 0; t < sizeof(types) / sizeof(*types); t++)
		for (i = 0; i < sizeof(steps) / sizeof(*steps); i++)
			sequence(types[t], 0, steps[i]);
	sequence(CURAND_RNG_PSEUDO_PHILOX4_32_10, 1, "sg");
	sequence(CURAND_RNG_PSEUDO_DEFAULT, 1, "gsog");
	rc = curandGetDirectionVectors32(&vectors, CURAND_DIRECTION_VECTORS_32_JOEKUO6);
	digest("vectors", rc, vectors, rc ? 0 : 20000 * sizeof(*vectors));
	rc = curandGetScrambleConstants64(&constants);
	digest("constants", rc, constants, rc ? 0 : 20000 * sizeof(*constants));
}

/* --- Times ---------------------------------------------------------------------------------- */

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

#define TIME(name, rounds, call) do { \
	double t_; int i_; \
	for (i_ = 0; i_ < 20; i_++) { call; } \
	cuCtxSynchronize(); \
	t_ = now_us(); \
	for (i_ = 0; i_ < (rounds); i_++) { call; } \
	t_ = (now_us() - t_) / (rounds); \
	cuCtxSynchronize(); \
	printf("%-40s %8.2f us\n", name, t_); \
} while (0)

static void times(double create_us)
{
	curandGenerator_t g;
	cublasHandle_t more;
	float r;

	printf("%-40s %8.0f us\n", "first cublasCreate", create_us);
	TIME("cublasCreate, cublasDestroy", 20, (cublasCreate(&more), cublasDestroy(more)));
	TIME("cublasSetStream", 100000, cublasSetStream(h, NULL));
	TIME("cublasSaxpy of 64", 500, cublasSaxpy(h, N, &f2, F(a), 1, F(x), 1));
	TIME("cublasSgemm of 64", 500, cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &f2, F(a),
			N, F(b), N, &f3,
						   F(c), N));
	TIME("cublasSdot of 64, to the host", 500, cublasSdot(h, N, F(a), 1, F(b), 1, &r));
	curandCreateGenerator(&g, CURAND_RNG_PSEUDO_PHILOX4_32_10);
	TIME("curand seed and offset", 100000, (curandSetPseudoRandomGeneratorSeed(g, 1),
						curandSetGeneratorOffset(g, 2)));
	TIME("curandGenerateUniform of 1000", 500, curandGenerateUniform(g, F(c), 1000));
	curandDestroyGenerator(g);
}

int main(int argc, char **argv)
{
	double t = now_us();

	(void)argv;
	/* Lines are written at once, so that a crash does not take the lines before it away. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (cublasCreate(&h)) {
		printf("no cublas\n");
		return 1;
	}
	t = now_us() - t;
	cuMemAlloc(&a, BYTES);
	cuMemAlloc(&b, BYTES);
	cuMemAlloc(&c, BYTES);
	cuMemAlloc(&x, BYTES);
	cuMemAlloc(&scalars, 256);
	reset(0);
	if (argc > 1) {
		times(t);
		return 0;
	}
	level1();
	level23();
	batches();
	modes();
	numbers();
	return cublasDestroy(h);
}
