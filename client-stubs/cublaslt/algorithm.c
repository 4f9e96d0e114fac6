// SPDX-License-Identifier: Apache-2.0
/*
 * Questions about algorithms: heuristics, checks, an algorithm's capabilities and settings,
 * whose encoding only the library knows. Each question is asked once, and its answer is
 * remembered (memo.c).
 */
#include "cublaslt_stub.h"

/* --- Heuristics and checks ------------------------------------------------------------ */

#define FIXED	sizeof(struct wh_req_cublasLtQuestion)
#define ALGO	sizeof(cublasLtMatmulAlgo_t)
#define RESULT	sizeof(cublasLtMatmulHeuristicResult_t)
#define MOST_ALGOS 128		/* the most that one question names */

_Static_assert(FIXED % WH_WIRE_ALIGN == 0, "no padding before the algorithms");
_Static_assert(ALGO % WH_WIRE_ALIGN == 0 && RESULT % WH_WIRE_ALIGN == 0, "no padding between them");
_Static_assert(WH_LT_MOST_RESULTS * RESULT < 60000, "a message");

struct question {
	struct wh_req_cublasLtQuestion q;
	cublasLtMatmulAlgo_t algo[MOST_ALGOS];
};

static size_t bytes_of(const struct question *w)
{
	return FIXED + w->q.algos * ALGO;
}

/* The answer depends on everything behind the header. */
#define ASKED(w)	((const uint8_t *)(w) + sizeof(struct wh_req))
#define ASKED_BYTES(w)	(bytes_of(w) - sizeof(struct wh_req))

static cublasStatus_t fill(struct question *w, cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
			   cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
			   cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d)
{
	memset(&w->q, 0, sizeof(w->q));
	if (!wh_pack_cublasLtHandle_t(handle, &w->q.handle))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!wh_lt_take_matmul(desc, &w->q.desc, &w->q.emulation) ||
	    !wh_lt_take_layout(a, &w->q.layout[0]) || !wh_lt_take_layout(b, &w->q.layout[1]) ||
	    !wh_lt_take_layout(c, &w->q.layout[2]) || !wh_lt_take_layout(d, &w->q.layout[3]))
		return CUBLAS_STATUS_INVALID_VALUE;
	wh_lt_leads_nowhere(&w->q.desc, &w->q.emulation);
	return CUBLAS_STATUS_SUCCESS;
}

/* *n is the room at first, and then the number that came. */
static cublasStatus_t ask(uint32_t call, const struct question *w,
			  cublasLtMatmulHeuristicResult_t *results, int *n)
{
	const struct wh_rsp_cublasLtQuestion *r;
	struct wh_call c;
	cublasStatus_t res;
	uint8_t *q;

	q = wh_cublaslt_begin(&c, call, bytes_of(w));
	if (!q)
		return wh_cublaslt_lost(c.result);
	memcpy(q + sizeof(struct wh_req), ASKED(w), ASKED_BYTES(w));
	res = wh_cublaslt_run(&c, sizeof(*r));
	r = c.rsp;
	if (res == CUBLAS_STATUS_SUCCESS) {
		*n = r->results < 0 ? 0 : r->results < *n ? r->results : *n;
		c.pos = WH_WIRE_FIXED(*r);
		wh_reply_take(&c, results, *n, RESULT);
	}
	wh_end(&c);
	return res;
}

static cublasStatus_t ask_once(uint32_t call, const struct question *w,
			       cublasLtMatmulHeuristicResult_t *results, int *n)
{
	size_t room = *n * RESULT;
	cublasStatus_t res;

	if (wh_recall(call, ASKED(w), ASKED_BYTES(w), results, &room)) {
		*n = room / RESULT;
		return CUBLAS_STATUS_SUCCESS;
	}
	res = ask(call, w, results, n);
	if (res == CUBLAS_STATUS_SUCCESS)
		wh_remember(call, ASKED(w), ASKED_BYTES(w), results, *n * RESULT);
	return res;
}

/* In this mode the array has the algorithms to choose from. */
static bool name_algos(struct question *w, const cublasLtMatmulHeuristicResult_t *results, int n)
{
	int i;

	if (w->q.preference.search != CUBLASLT_SEARCH_LIMITED_BY_ALGO_ID)
		return true;
	if (n > MOST_ALGOS)
		return false;
	for (i = 0; i < n; i++)
		w->algo[i] = results[i].algo;
	w->q.algos = n;
	return true;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
		cublasLtMatrixLayout_t Adesc, cublasLtMatrixLayout_t Bdesc,
		cublasLtMatrixLayout_t Cdesc, cublasLtMatrixLayout_t Ddesc,
		cublasLtMatmulPreference_t preference, int requestedAlgoCount,
		cublasLtMatmulHeuristicResult_t heuristicResultsArray[], int *returnAlgoCount)
{
	int n = requestedAlgoCount < WH_LT_MOST_RESULTS ? requestedAlgoCount : WH_LT_MOST_RESULTS;
	struct question w;
	cublasStatus_t res;

	res = fill(&w, handle, desc, Adesc, Bdesc, Cdesc, Ddesc);
	if (res != CUBLAS_STATUS_SUCCESS)
		return res;
	if (n <= 0 || !heuristicResultsArray || !returnAlgoCount ||
	    !wh_lt_take_preference(preference, &w.q.preference))
		return CUBLAS_STATUS_INVALID_VALUE;
	w.q.wanted = n;
	if (!name_algos(&w, heuristicResultsArray, n))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	res = ask_once(WH_CALL_cublasLtMatmulAlgoGetHeuristic, &w, heuristicResultsArray, &n);
	*returnAlgoCount = res == CUBLAS_STATUS_SUCCESS ? n : 0;
	return res;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
				       cublasLtMatrixLayout_t Adesc, cublasLtMatrixLayout_t Bdesc,
				       cublasLtMatrixLayout_t Cdesc, cublasLtMatrixLayout_t Ddesc,
				       const cublasLtMatmulAlgo_t *algo,
				       cublasLtMatmulHeuristicResult_t *result)
{
	cublasLtMatmulHeuristicResult_t answer;
	struct question w;
	cublasStatus_t res;
	int n = 1;

	res = fill(&w, handle, desc, Adesc, Bdesc, Cdesc, Ddesc);
	if (res != CUBLAS_STATUS_SUCCESS)
		return res;
	if (!algo || !result)
		return CUBLAS_STATUS_INVALID_VALUE;
	w.algo[0] = *algo;
	w.q.algos = 1;
	w.q.wanted = 1;
	res = ask_once(WH_CALL_cublasLtMatmulAlgoCheck, &w, &answer, &n);
	if (res != CUBLAS_STATUS_SUCCESS || n != 1)
		return res;
	answer.algo = result->algo;	/* `algo` is never updated */
	*result = answer;
	return res;
}

/* --- One algorithm -------------------------------------------------------------------- */

#define MOST_BYTES	16384	/* the most of an attribute; lists of tiles have less than 4096 */

struct asked {
	cublasLtMatmulAlgo_t algo;
	uint64_t size, null;
	int32_t attribute, resv;
};

struct told {
	uint64_t written;
	uint8_t bytes[MOST_BYTES];
};

typedef cublasStatus_t getter(const cublasLtMatmulAlgo_t *algo, int attribute, void *buf,
			      size_t size, size_t *written);

static cublasStatus_t get(uint32_t call, getter *ask_worker, const cublasLtMatmulAlgo_t *algo,
			  int attribute, void *buf, size_t size, size_t *written)
{
	struct asked w = { .attribute = attribute, .null = !buf };
	struct told t;
	size_t room = sizeof(t);
	cublasStatus_t res;

	if (!algo || (size ? !buf : !written))
		return CUBLAS_STATUS_INVALID_VALUE;
	w.algo = *algo;
	w.size = size < MOST_BYTES ? size : MOST_BYTES;
	if (!wh_recall(call, &w, sizeof(w), &t, &room)) {
		res = ask_worker(algo, attribute, w.size ? t.bytes : NULL, w.size, &t.written);
		if (res != CUBLAS_STATUS_SUCCESS)
			return res;
		if (w.size && t.written > w.size)
			return CUBLAS_STATUS_INTERNAL_ERROR;
		room = offsetof(struct told, bytes) + (w.size ? t.written : 0);
		wh_remember(call, &w, sizeof(w), &t, room);
	}
	if (w.size)
		memcpy(buf, t.bytes, t.written);
	if (written)
		*written = t.written;
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t ask_capability(const cublasLtMatmulAlgo_t *algo, int attribute, void *buf,
				     size_t size, size_t *written)
{
	return wh_raw_cublasLtMatmulAlgoCapGetAttribute(algo,
			(cublasLtMatmulAlgoCapAttributes_t)attribute, buf, size, written);
}

static cublasStatus_t ask_setting(const cublasLtMatmulAlgo_t *algo, int attribute, void *buf,
				  size_t size, size_t *written)
{
	return wh_raw_cublasLtMatmulAlgoConfigGetAttribute(algo,
			(cublasLtMatmulAlgoConfigAttributes_t)attribute, buf, size, written);
}

cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t *algo,
						 cublasLtMatmulAlgoCapAttributes_t attr, void *buf,
						 size_t sizeInBytes, size_t *sizeWritten)
{
	return get(WH_CALL_cublasLtMatmulAlgoCapGetAttribute, ask_capability, algo, attr, buf,
		   sizeInBytes, sizeWritten);
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *algo,
						    cublasLtMatmulAlgoConfigAttributes_t attr,
						    void *buf, size_t sizeInBytes,
						    size_t *sizeWritten)
{
	return get(WH_CALL_cublasLtMatmulAlgoConfigGetAttribute, ask_setting, algo, attr, buf,
		   sizeInBytes, sizeWritten);
}

/* Settings are numbers of at most 8 bytes. The size of a longer one is not known. */
cublasStatus_t cublasLtMatmulAlgoConfigSetAttribute(cublasLtMatmulAlgo_t *algo,
						    cublasLtMatmulAlgoConfigAttributes_t attr,
						    const void *buf, size_t sizeInBytes)
{
	struct {
		struct asked about;
		uint8_t value[8];
	} w = { .about = { .attribute = attr, .size = sizeInBytes } };
	size_t room = sizeof(*algo);
	cublasStatus_t res;

	if (!algo || !buf || sizeInBytes > sizeof(w.value))
		return CUBLAS_STATUS_INVALID_VALUE;
	w.about.algo = *algo;
	memcpy(w.value, buf, sizeInBytes);
	if (wh_recall(WH_CALL_cublasLtMatmulAlgoConfigSetAttribute, &w, sizeof(w), algo, &room))
		return CUBLAS_STATUS_SUCCESS;
	res = wh_raw_cublasLtMatmulAlgoConfigSetAttribute(algo, attr, buf, sizeInBytes);
	if (res == CUBLAS_STATUS_SUCCESS)
		wh_remember(WH_CALL_cublasLtMatmulAlgoConfigSetAttribute, &w, sizeof(w), algo,
			       sizeof(*algo));
	return res;
}

cublasStatus_t cublasLtMatmulAlgoInit(cublasLtHandle_t handle, cublasComputeType_t computeType,
				      cudaDataType_t scaleType, cudaDataType_t Atype,
				      cudaDataType_t Btype, cudaDataType_t Ctype,
				      cudaDataType_t Dtype, int algoId,
				      cublasLtMatmulAlgo_t *algo)
{
	struct {
		struct wh_obj_cublasLtHandle_t handle;
		int32_t compute, scale, type[4], id, resv;
	} w = {
		.compute = computeType,
		.scale = scaleType,
		.type = { Atype, Btype, Ctype, Dtype },
		.id = algoId,
	};
	size_t room = sizeof(*algo);
	cublasStatus_t res;

	if (!wh_pack_cublasLtHandle_t(handle, &w.handle))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!algo)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (wh_recall(WH_CALL_cublasLtMatmulAlgoInit, &w, sizeof(w), algo, &room))
		return CUBLAS_STATUS_SUCCESS;
	res = wh_raw_cublasLtMatmulAlgoInit(handle, computeType, scaleType, Atype, Btype, Ctype,
					    Dtype, algoId, algo);
	if (res == CUBLAS_STATUS_SUCCESS)
		wh_remember(WH_CALL_cublasLtMatmulAlgoInit, &w, sizeof(w), algo, sizeof(*algo));
	return res;
}
