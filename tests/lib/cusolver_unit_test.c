// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that the worker's side of cuSOLVER's functions on matrices in host
 * memory survives bad requests, under sanitizers. It sends requests that are wrong in one
 * thing, and steps at random, to a library that follows every index, reads every array
 * and writes every answer from end to end. It also sends requests that are longer than a
 * message area, with places where they do not lie.
 */
#include "fuzz.h"

#include "gen_cusolver_server.h"
#include "gen_cusparse_server.h"

#define ROUNDS	60000
#define MOST	4		/* rows, and elements of each */

static int reached, shared;
static uint64_t sparse, context;
static struct wh_session *session;

#include "fuzz_cusolver_host.h"

/* --- Requests ------------------------------------------------------------------------------ */

/* The end of the request so far: what follows the fixed part goes there. */
static uint8_t *end;

static void *put(size_t count, size_t size)
{
	void *p = end;

	end += wh_wire_bytes(count, size);
	return p;
}

static int32_t ask(uint32_t call)
{
	struct wh_req *q = msg(session);

	q->call = call;
	reached = 0;
	if (wh_dispatch_slot(session, 0, WH_HANDLER_LIBRARY, end - (uint8_t *)q))
		return -1;
	return rsp(session)->result;
}

#define BEGIN(type)	begin(sizeof(struct type), WH_WIRE_FIXED(struct type))

static void *begin(size_t size, size_t fixed)
{
	void *q = request(session, 0, session->frame[0].max / 2);

	(void)size;
	end = (uint8_t *)q + fixed;
	return q;
}

struct sample {
	int n, nnz, base;
	int start[MOST + 1], col[MOST * MOST];
};

/* Makes a matrix in which each row has some of the columns, in an order of its own. */
static struct sample any_matrix(void)
{
	struct sample m = { .n = 1 + next() % MOST, .base = next() % 2 };
	int i, j, first;

	for (i = 0; i < m.n; i++) {
		m.start[i] = m.nnz + m.base;
		first = next() % m.n;
		for (j = 0; j < m.n; j++)
			if (next() % 2)
				m.col[m.nnz++] = (first + j) % m.n + m.base;
	}
	m.start[m.n] = m.nnz + m.base;
	return m;
}

static int any_wrong(void)
{
	static const int wrong[] = { -1, 0, 1, 2, MOST, MOST + 1, 1 << 20, INT32_MAX, INT32_MIN };

	return wrong[next() % (sizeof(wrong) / sizeof(*wrong))];
}

/* Changes one number of the matrix to any other. */
static void spoil(struct sample *m)
{
	switch (next() % 5) {
	case 0:	m->n = any_wrong(); break;
	case 1:	m->nnz = any_wrong(); break;
	case 2:	m->start[next() % (MOST + 1)] = any_wrong(); break;
	case 3:	m->col[next() % (MOST * MOST)] = any_wrong(); break;
	case 4:	m->base ^= 1; break;
	}
}

static struct wh_obj_cusparseMatDescr_t descriptor(int base)
{
	return (struct wh_obj_cusparseMatDescr_t) { .there = 1, .base = base };
}

static int clamped(int n, int most)
{
	return n < 0 ? 0 : n < most ? n : most;
}

static void put_starts(const struct sample *m)
{
	int *p = put(clamped(m->n, MOST) + 1, sizeof(int));

	memcpy(p, m->start, (clamped(m->n, MOST) + 1) * sizeof(int));
}

static void put_columns(const struct sample *m)
{
	int *p = put(clamped(m->nnz, MOST * MOST), sizeof(int));

	memcpy(p, m->col, clamped(m->nnz, MOST * MOST) * sizeof(int));
}

static int32_t send_symrcm(const struct sample *m)
{
	struct wh_req_cusolverSpXcsrsymrcmHost *q = BEGIN(wh_req_cusolverSpXcsrsymrcmHost);

	q->handle.id = sparse;
	q->n = m->n;
	q->nnzA = m->nnz;
	q->descrA = descriptor(m->base);
	put_starts(m);
	put_columns(m);
	return ask(WH_CALL_cusolverSpXcsrsymrcmHost);
}

static int32_t send_issym(const struct sample *m)
{
	struct wh_req_cusolverSpXcsrissymHost *q = BEGIN(wh_req_cusolverSpXcsrissymHost);
	int n = clamped(m->n, MOST), *p, i;

	q->handle.id = sparse;
	q->m = m->n;
	q->nnzA = m->nnz;
	q->descrA = descriptor(m->base);
	p = put(n, sizeof(int));
	memcpy(p, m->start, n * sizeof(int));
	p = put(n, sizeof(int));
	for (i = 0; i < n; i++)
		p[i] = next() % 16 ? m->start[i + 1] : any_wrong();
	put_columns(m);
	return ask(WH_CALL_cusolverSpXcsrissymHost);
}

static void put_permutation(int n)
{
	int *p = put(clamped(n, MOST), sizeof(int)), first = next() % MOST, i;

	for (i = 0; i < clamped(n, MOST); i++)
		p[i] = next() % 32 ? (first + i) % n : any_wrong();
}

static int32_t send_perm(const struct sample *m)
{
	struct wh_req_cusolverSpXcsrpermHost *q = BEGIN(wh_req_cusolverSpXcsrpermHost);

	q->handle.id = sparse;
	q->m = q->n = m->n;
	q->nnzA = m->nnz;
	q->descrA = descriptor(m->base);
	put_starts(m);
	put_columns(m);
	put_permutation(m->n);
	put_permutation(m->n);
	put(clamped(m->nnz, MOST * MOST), sizeof(int));
	return ask(WH_CALL_cusolverSpXcsrpermHost);
}

/* --- One matrix ---------------------------------------------------------------------------- */

static void test_matrices(void)
{
	static int32_t (*const sends[])(const struct sample *) = {
		send_symrcm, send_issym, send_perm,
	};
	int right = 0, arrived = 0, stopped = 0, i;
	struct sample m;
	int32_t res;

	for (i = 0; i < ROUNDS; i++) {
		m = any_matrix();
		if (i < 100) {
			right += !send_symrcm(&m) && reached;
			continue;
		}
		spoil(&m);
		res = sends[i % 3](&m);
		arrived += reached != 0;
		stopped += !reached && res == CUSOLVER_STATUS_INVALID_VALUE;
	}
	ok_eq(right, 100, "matrices_arrive");
	ok(!shared, "none_of_their_arrays_where_the_client_writes");
	diag("%d spoilt ones arrived, %d were refused", arrived, stopped);
	ok(stopped > ROUNDS / 3 && arrived + stopped == ROUNDS - 100,
	   "spoilt_ones_are_refused_or_do_no_harm");
}

static void test_sizes(void)
{
	struct sample m = { .n = 2, .nnz = 2, .start = { 0, 1, 2 }, .col = { 0, 1 } };
	struct wh_req_cusolverSpXcsrsymrcmHost *q;

	m.n = INT32_MAX;
	ok_eq(send_symrcm(&m), CUSOLVER_STATUS_INVALID_VALUE, "rows_that_did_not_come");
	m.n = -1;
	ok_eq(send_symrcm(&m), CUSOLVER_STATUS_INVALID_VALUE, "less_than_no_rows");
	m.n = 2;
	m.nnz = INT32_MIN;
	ok_eq(send_symrcm(&m), CUSOLVER_STATUS_INVALID_VALUE, "less_than_no_elements");
	m.nnz = 2;
	ok(!send_symrcm(&m) && reached, "and_the_right_numbers");
	q = BEGIN(wh_req_cusolverSpXcsrsymrcmHost);
	q->handle.id = sparse;
	q->n = q->nnzA = 2;
	q->descrA = descriptor(0);
	q->hdr.null = 1u << 4;
	put_columns(&m);
	ok(ask(WH_CALL_cusolverSpXcsrsymrcmHost) == CUSOLVER_STATUS_INVALID_VALUE && !reached,
	   "array_that_is_none");
	q = BEGIN(wh_req_cusolverSpXcsrsymrcmHost);
	q->handle.id = sparse;
	q->n = q->nnzA = 2;
	put_starts(&m);
	put_columns(&m);
	ok(ask(WH_CALL_cusolverSpXcsrsymrcmHost) == CUSOLVER_STATUS_INVALID_VALUE && !reached,
	   "descriptor_that_is_none");
}

/* --- Steps --------------------------------------------------------------------------------- */

static uint64_t infos[4];
static struct sample analysed[4];

static int32_t send_analysis(unsigned int i)
{
	struct wh_req_cusolverSpXcsrluAnalysisHost *q = BEGIN(wh_req_cusolverSpXcsrluAnalysisHost);

	q->handle.id = sparse;
	q->n = analysed[i].n;
	q->nnzA = analysed[i].nnz;
	q->descrA = descriptor(analysed[i].base);
	q->info = infos[i];
	put_starts(&analysed[i]);
	put_columns(&analysed[i]);
	return ask(WH_CALL_cusolverSpXcsrluAnalysisHost);
}

/*
 * The requests of BufferInfo and Factor begin alike; the threshold of Factor comes behind
 * all of it.
 */
static int32_t send_matrix(unsigned int i, const struct sample *m, uint32_t call, size_t element,
			   size_t fixed)
{
	struct wh_req_cusolverSpDcsrluFactorHost *q = begin(0, fixed);

	q->handle.id = sparse;
	q->n = m->n;
	q->nnzA = m->nnz;
	q->descrA = descriptor(m->base);
	q->info = infos[i];
	put(clamped(m->nnz, MOST * MOST), element);
	put_starts(m);
	put_columns(m);
	return ask(call);
}

static int32_t send_size(unsigned int i, const struct sample *m, bool wide)
{
	return wide ?
	       send_matrix(i, m, WH_CALL_cusolverSpDcsrluBufferInfoHost, sizeof(double),
			   WH_WIRE_FIXED(struct wh_req_cusolverSpDcsrluBufferInfoHost)) :
	       send_matrix(i, m, WH_CALL_cusolverSpScsrluBufferInfoHost, sizeof(float),
			   WH_WIRE_FIXED(struct wh_req_cusolverSpScsrluBufferInfoHost));
}

static int32_t send_factor(unsigned int i, const struct sample *m, bool wide)
{
	return wide ?
	       send_matrix(i, m, WH_CALL_cusolverSpDcsrluFactorHost, sizeof(double),
			   WH_WIRE_FIXED(struct wh_req_cusolverSpDcsrluFactorHost)) :
	       send_matrix(i, m, WH_CALL_cusolverSpScsrluFactorHost, sizeof(float),
			   WH_WIRE_FIXED(struct wh_req_cusolverSpScsrluFactorHost));
}

static int32_t send_solve(unsigned int i, int n, bool wide)
{
	struct wh_req_cusolverSpDcsrluSolveHost *q = BEGIN(wh_req_cusolverSpDcsrluSolveHost);

	q->handle.id = sparse;
	q->n = n;
	q->info = infos[i];
	put(clamped(n, MOST), wide ? sizeof(double) : sizeof(float));
	return ask(wide ? WH_CALL_cusolverSpDcsrluSolveHost : WH_CALL_cusolverSpScsrluSolveHost);
}

/* Sends arrays of which one, or none, has a wrong length. */
static int32_t send_arrays(unsigned int i, int n, int nnz, bool wide, int wrong)
{
	struct wh_req_cusolverSpDcsrluExtractHost *q = BEGIN(wh_req_cusolverSpDcsrluExtractHost);

	q->handle.id = sparse;
	q->info = infos[i];
	q->descrL = q->descrU = descriptor(0);
	q->P_count = q->Q_count = n;
	q->csrRowPtrL_count = q->csrRowPtrU_count = WH_ROWS(n);
	q->csrColIndL_count = q->csrValL_count = nnz;
	q->csrColIndU_count = q->csrValU_count = WH_ROWS(nnz);
	switch (wrong) {
	case 0:	q->P_count--; break;
	case 1:	q->Q_count--; break;
	case 2:	q->csrRowPtrL_count--; break;
	case 3:	q->csrColIndL_count--; break;
	case 4:	q->csrValL_count--; break;
	case 5:	q->csrRowPtrU_count--; break;
	case 6:	q->csrColIndU_count--; break;
	case 7:	q->csrValU_count--; break;
	}
	return ask(wide ? WH_CALL_cusolverSpDcsrluExtractHost :
			  WH_CALL_cusolverSpScsrluExtractHost);
}

static int32_t send_extract(unsigned int i, int n, int nnz, bool wide)
{
	return send_arrays(i, n, nnz, wide, -1);
}

static void new_info(unsigned int i)
{
	struct wh_req_cusolverSpDestroyCsrluInfoHost *d;
	struct wh_rsp_cusolverSpCreateCsrluInfoHost *r = msg(session);

	if (infos[i]) {
		d = BEGIN(wh_req_cusolverSpDestroyCsrluInfoHost);
		d->info = infos[i];
		ask(WH_CALL_cusolverSpDestroyCsrluInfoHost);
	}
	BEGIN(wh_req_cusolverSpCreateCsrluInfoHost);
	ask(WH_CALL_cusolverSpCreateCsrluInfoHost);
	infos[i] = r->info;
	analysed[i] = any_matrix();
}

static int right_steps(bool wide)
{
	const struct sample *m = &analysed[0];

	do
		new_info(0);
	while (!m->nnz || send_analysis(0));
	if (send_size(0, m, wide))
		return 0;
	while (send_factor(0, m, wide))
		if (!reached)
			return 0;
	return !send_solve(0, m->n, wide) && !send_extract(0, m->n, m->nnz, wide);
}

static void any_step(void)
{
	unsigned int i = next() % 4;
	struct sample m = analysed[next() % 8 ? i : next() % 4];
	bool wide = next() % 8 ? i % 2 : next() % 2;

	if (next() % 16 == 0)
		spoil(&m);
	switch (next() % 12) {
	case 0:	new_info(i); break;
	case 1:	case 2:
		send_analysis(i);
		break;
	case 3:	case 4:
		send_size(i, &m, wide);
		break;
	case 5:	case 6: case 7:
		send_factor(i, &m, wide);
		break;
	case 8:	case 9:
		send_solve(i, m.n, wide);
		break;
	default:
		send_extract(i, m.n, m.nnz, wide);
		break;
	}
}

static void test_steps(void)
{
	int i, good = 0, refused = 0, arrived = 0;
	struct sample m;

	for (i = 0; i < 100; i++)
		good += right_steps(i % 2);
	ok_eq(good, 100, "steps_in_their_order_arrive");
	m = analysed[0];
	ok(send_solve(0, m.n + 1, true) && !reached, "more_than_was_analysed_is_not_solved");
	for (i = 0; i < 8; i++)
		refused += send_arrays(0, m.n, m.nnz, true, i) && !reached;
	ok_eq(refused, 8, "factors_have_as_many_elements_as_the_library_says");
	ok(send_size(0, &m, false) && !reached, "and_stay_of_their_type");
	m.start[m.n]--;
	ok(send_factor(0, &m, true) && !reached, "row_pointers_are_those_that_were_analysed");
	m.start[m.n]++;
	m.col[m.nnz - 1]--;
	ok(send_factor(0, &m, true) && !reached, "and_so_are_columns");
	for (i = 0; i < 4; i++)
		new_info(i);
	for (i = 0; i < ROUNDS; i++) {
		any_step();
		arrived += reached != 0;
	}
	diag("%d of %d steps at random arrived", arrived, ROUNDS);
	ok(arrived > ROUNDS / 10, "steps_at_random_do_no_harm_and_many_arrive");
}

/* --- Factors for cusolverRf ------------------------------------------------------------------ */

static int32_t send_factors(uint64_t refactor, int wrong, int value)
{
	/*
	 * The parts are A and its factors, and permutations; the last number of each may be
	 * changed.
	 */
	int part[][4] = {
		{ 0, 2, 3, 4 }, { 1, 0, 0, 2 },		/* A(0, 1), A(0, 0), A(1, 0), A(2, 2) */
		{ 0, 0, 1, 1 }, { 0 },			/* L(1, 0) */
		{ 0, 2, 3, 4 }, { 0, 1, 1, 2 },
		{ 0, 1, 2 }, { 0, 1, 2 },
	};
	const int count[] = { 4, 4, 4, 1, 4, 4, 3, 3 };
	struct wh_req_cusolverRfSetupHost *q = BEGIN(wh_req_cusolverRfSetupHost);
	int i;

	if (wrong >= 0)
		part[wrong][count[wrong] - 1] = value;
	q->handle.id = refactor;
	q->n = 3;
	q->nnzA = q->nnzU = 4;
	q->nnzL = 1;
	for (i = 0; i < 8; i++) {
		memcpy(put(count[i], sizeof(int)), part[i], count[i] * sizeof(int));
		if (i < 6 && i % 2)
			put(count[i], sizeof(double));
	}
	return ask(WH_CALL_cusolverRfSetupHost);
}

static void test_factors(void)
{
	struct wh_rsp_cusolverRfCreate *r = msg(session);
	uint64_t refactor;
	int i, refused = 0;

	BEGIN(wh_req_cusolverRfCreate);
	ask(WH_CALL_cusolverRfCreate);
	refactor = r->handle;
	format = CUSOLVERRF_MATRIX_FORMAT_CSR;
	ok(!send_factors(refactor, -1, 0) && reached == 3, "factors_arrive");
	for (i = 0; i < 8; i++)
		refused += send_factors(refactor, i, i % 2 ? 3 : 5) && !reached;
	ok_eq(refused, 8, "not_with_any_number_of_them_wrong");
	ok(send_factors(refactor, 3, 2) && !reached, "what_is_above_it_is_not_the_lower_factors");
	ok(send_factors(refactor, 5, 0) && !reached, "what_is_below_it_is_not_the_upper_factors");
	format = CUSOLVERRF_MATRIX_FORMAT_CSC;
	ok(send_factors(refactor, -1, 0) && !reached, "by_columns_it_is_the_other_way_round");
}

/* --- Long requests ---------------------------------------------------------------------------- */

static int64_t send_long(uint64_t at, uint64_t size, uint64_t room)
{
	struct wh_req_long *q = request(session, WH_CALL_cusolverSpXcsrsymrcmHost, sizeof(*q));

	q->at = at;
	q->size = size;
	q->room = room;
	reached = 0;
	return wh_dispatch_slot(session, 0, WH_HANDLER_LONG, sizeof(*q));
}

static void test_long(void)
{
	static uint64_t own[1024];
	uint64_t data = (uintptr_t)session->data, size, least = session->frame[0].max;
	uint64_t room = least * 2;
	const struct wh_rsp *answer = (const void *)data;
	struct sample m = { .n = 2, .nnz = 2, .start = { 0, 1, 2 }, .col = { 1, 0 } };
	struct wh_req_cusolverSpXcsrsymrcmHost *q;

	send_symrcm(&m);
	size = end - (uint8_t *)msg(session);
	send_symrcm(&m);
	q = BEGIN(wh_req_cusolverSpXcsrsymrcmHost);
	q->hdr.call = WH_CALL_cusolverSpXcsrsymrcmHost;
	q->handle.id = sparse;
	q->n = q->nnzA = 2;
	q->descrA = descriptor(0);
	put_starts(&m);
	put_columns(&m);
	memcpy(own, q, size);
	memcpy((void *)data, own, size);
	ok(!send_long(data, size, room) && !rsp(session)->result && reached && !answer->result &&
	   answer->size > sizeof(*answer), "long_request_is_answered_where_it_lies");
	memcpy((void *)data, own, size);
	ok(send_long((uintptr_t)own, size, sizeof(own)) == WH_EINVAL && !reached,
	   "not_in_the_workers_own_memory");
	ok(send_long(data + session->data_size - room + 1, size, room) == WH_EINVAL && !reached,
	   "nor_beyond_the_data_area");
	ok(send_long(UINT64_MAX - 8, size, room) == WH_EINVAL && !reached, "nor_around_the_end");
	ok(send_long(data, room + 1, room) == WH_EINVAL && !reached, "nor_longer_than_its_room");
	ok(send_long(data, 16, 64) == WH_EINVAL && !reached, "room_for_no_request_is_none");
	ok(send_long(data, size, WH_LONG_MOST + 1) == WH_EINVAL && !reached,
	   "nor_one_that_the_worker_has_not");
	ok(send_long(data, 8, room) == WH_EINVAL && !reached, "request_without_a_head_is_none");
	memcpy((void *)data, own, size);
	((struct wh_req *)data)->call = WH_CALL_cuMemAlloc_v2;
	ok(send_long(data, size, room) == WH_ENOSYS && !reached, "calls_of_the_driver_are_never_long");
	memcpy((void *)data, own, size);
	ok(!send_long(data, size, least) && answer->result == CUSOLVER_STATUS_SUCCESS && reached,
	   "answer_may_need_less");
	ok(send_long(data, size, least - 1) == WH_EINVAL && !reached,
	   "a_room_that_a_fixed_response_may_not_fit_is_none");
}

int main(int argc, char **argv)
{
	struct wh_session *s = open_session(argv[0]);
	struct wh_rsp_cusolverSpCreate *r = msg(s);

	(void)argc;
	tap_plan(32);
	fuzz_start();
	say_hello(s);
	fill(s);
	BEGIN(wh_req_cusolverSpCreate);
	ask(WH_CALL_cusolverSpCreate);
	sparse = r->handle;
	test_matrices();
	test_sizes();
	test_steps();
	test_factors();
	test_long();
	return tap_exit();
}
