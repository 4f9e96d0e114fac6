// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that the worker survives random requests for every call of every
 * library, with living handles and plausible numbers strewn in, against libraries that
 * accept everything. The sanitizers find the faults. The seed is printed, and WH_SEED
 * repeats it. The test also sends requests that are wrong in one way each.
 */
#include "library_requests.h"

#include <sys/stat.h>
#include <unistd.h>

#define ROUNDS_PER_CALL	250

/* --- Requests ------------------------------------------------------------------------------ */

static int64_t ask(struct wh_session *s, uint32_t call, size_t size)
{
	((struct wh_req *)msg(s))->call = call;
	return wh_dispatch_slot(s, 0, WH_HANDLER_LIBRARY, size);
}

static void one(struct wh_session *s, uint32_t library, uint32_t call)
{
	size_t size = library_request(s, library, call);

	call |= library << WH_LIBRARY_SHIFT;
	if (!ask(s, call, size))
		keep_made(s, call);
	if (next() % 64 == 0)
		make_handles(s);
}

static uint32_t strew(struct wh_session *s)
{
	uint32_t lib, call, rounds, sent = 0;

	for (rounds = 0; rounds < ROUNDS_PER_CALL; rounds++)
		for (lib = 0; lib < WH_LIBS; lib++)
			for (call = 0; wh_libraries[lib] && call < wh_libraries[lib]->ncalls;
					call++)
				if (wh_libraries[lib]->calls[call].run) {
					one(s, lib, call);
					sent++;
				}
	return sent;
}

/* --- Structs that are kept for cuSPARSELt ------------------------------------------------ */

static uint8_t *made(struct wh_session *s, unsigned int type, bool follows, uint8_t *of,
		     uint8_t *and, uint64_t *id)
{
	uint8_t *b = wh_box_new(512);

	if (of)
		wh_box_needs(b, of);
	if (and)
		wh_box_needs(b, and);
	*id = wh_box_put(s, type, b, follows);
	return b;
}

/* Makes a plan of a product of two matrices, one of which is there twice. */
static void test_boxes(struct wh_session *s)
{
	struct wh_box *before = s->boxes;
	uint64_t id[5];
	uint8_t *m[2], *product, *alg;
	bool there;

	m[0] = made(s, WH_H_cusparseLtMatDescriptor_t, false, NULL, NULL, &id[0]);
	m[1] = made(s, WH_H_cusparseLtMatDescriptor_t, false, NULL, NULL, &id[1]);
	product = made(s, WH_H_cusparseLtMatmulDescriptor_t, true, m[0], m[1], &id[2]);
	wh_box_needs(product, m[1]);
	alg = made(s, WH_H_cusparseLtMatmulAlgSelection_t, true, product, NULL, &id[3]);
	made(s, WH_H_cusparseLtMatmulPlan_t, false, product, alg, &id[4]);
	there = wh_handles_get(&s->handles, id[3], WH_H_cusparseLtMatmulAlgSelection_t);
	wh_box_drop(s, id[0]);
	ok(there && !wh_handles_get(&s->handles, id[2], WH_H_cusparseLtMatmulDescriptor_t) &&
	   !wh_handles_get(&s->handles, id[3], WH_H_cusparseLtMatmulAlgSelection_t),
	   "what_follows_a_struct_ends_with_it");
	wh_box_drop(s, id[1]);
	m[0][511] = m[1][511] = product[511] = alg[511] = 1;
	ok(wh_handles_get(&s->handles, id[4], WH_H_cusparseLtMatmulPlan_t) && alg[511],
	   "what_a_plan_needs_stays_in_memory");
	wh_box_drop(s, id[3]);
	wh_box_drop(s, id[4]);
	ok(s->boxes == before && !wh_handles_get(&s->handles, id[4], WH_H_cusparseLtMatmulPlan_t),
	   "and_goes_with_it");
}

/* --- One wrong thing at a time ---------------------------------------------------------------- */

static void test_envelope(struct wh_session *s)
{
	request(s, 0, 4096);
	ok_eq(ask(s, WH_CALL_cublasCreate_v2, sizeof(struct wh_req_cublasCreate_v2)), WH_EPERM,
	      "no_call_before_the_library_is_open");
	stand_ins(s);
	s->drv.cuPointerGetAttributes = fuzz_attributes;
	request(s, 0, 4096);
	ok_eq(ask(s, WH_CALL_cublasSgemm_v2, sizeof(struct wh_req_cublasSgemm_v2) - 1), WH_EINVAL,
	      "request_shorter_than_its_struct_is_refused");
	ok_eq(ask(s, WH_CALL_cublasSgemm_v2, s->frame[0].max + 1), WH_EINVAL,
	      "request_longer_than_the_area_is_refused");
	ok_eq(ask(s, WH_LIB_cublas << WH_LIBRARY_SHIFT | WH_CUBLAS_CALLS, 4096), WH_ENOSYS,
	      "call_past_the_table_is_refused");
	ok_eq(ask(s, WH_LIBS << WH_LIBRARY_SHIFT | 1, 4096), WH_ENOSYS,
			"library_past_the_table_is_refused");
	ok_eq(ask(s, 1, 4096), WH_ENOSYS, "library_0_is_none");
	((struct wh_req *)msg(s))->number = 1;
	ok_eq(ask(s, WH_CALL_cublasSgemm_v2, 4096), WH_EINVAL, "number_of_a_client_that_never_profiled_is_refused");
	ok_eq(stand_ins_calls, 0, "nothing_of_this_reached_a_library");
}

static void test_versions(struct wh_session *s)
{
	struct wh_req_whLibraryOpen *q = request(s, WH_CALL_whLibraryOpen, sizeof(*q));
	const struct wh_rsp_whLibraryOpen *r = msg(s);

	q->library = WH_LIB_cublas;
	q->hash = WH_CUBLAS_HASH ^ 1;
	send(s, sizeof(*q));
	ok(r->hdr.result == CUDA_ERROR_SYSTEM_DRIVER_MISMATCH && r->hash == WH_CUBLAS_HASH,
	   "other_description_is_refused_and_ours_is_named");
	q = request(s, WH_CALL_whLibraryOpen, sizeof(*q));
	q->library = WH_LIBS;
	send(s, sizeof(*q));
	ok_eq(rsp(s)->result, CUDA_ERROR_INVALID_VALUE,
			"opening_a_library_past_the_table_is_refused");
}

static void test_handles(struct wh_session *s)
{
	struct wh_req_cublasSasum_v2 *q = request(s, 0, sizeof(*q));
	int before = stand_ins_calls;

	q->handle.id = handle[1];	/* this is a generator's handle */
	ask(s, WH_CALL_cublasSasum_v2, sizeof(*q));
	ok_eq(rsp(s)->result, CUBLAS_STATUS_NOT_INITIALIZED,
			"handle_of_another_library_is_refused");
	q = request(s, 0, sizeof(*q));
	q->handle.id = handle[0] ^ 1ULL << 33;
	ask(s, WH_CALL_cublasSasum_v2, sizeof(*q));
	ok_eq(rsp(s)->result, CUBLAS_STATUS_NOT_INITIALIZED,
			"handle_of_another_generation_is_refused");
	q = request(s, 0, sizeof(*q));
	q->handle.id = handle[0];
	q->handle.pointer_mode = 2;
	ask(s, WH_CALL_cublasSasum_v2, sizeof(*q));
	ok_eq(rsp(s)->result, CUBLAS_STATUS_INVALID_VALUE, "third_pointer_mode_is_refused");
	q = request(s, 0, sizeof(*q));
	q->handle.id = handle[0];
	q->handle.stream = 0x1234;
	ask(s, WH_CALL_cublasSasum_v2, sizeof(*q));
	ok_eq(rsp(s)->result, CUBLAS_STATUS_INVALID_VALUE, "stream_that_is_none_is_refused");
	ok_eq(stand_ins_calls, before, "none_of_them_reached_the_library");
}

static void test_host_numbers(struct wh_session *s)
{
	struct wh_req_whCurandGenerate *q = request(s, 0, sizeof(*q));
	struct wh_req_whCurandFetch *f;
	int before = stand_ins_calls;

	q->generator.id = handle[1];
	q->out = (uintptr_t)&stand_ins_calls;
	q->count = 1;
	ask(s, WH_CALL_whCurandGenerate, sizeof(*q));
	ok(rsp(s)->result == CURAND_STATUS_OUT_OF_RANGE && stand_ins_calls == before,
	   "host_generator_cannot_write_outside_of_the_data_area");
	q = request(s, 0, sizeof(*q));
	q->generator.id = handle[1];
	q->out = (uintptr_t)s->data + s->data_size - 8;
	q->count = 3;
	ask(s, WH_CALL_whCurandGenerate, sizeof(*q));
	ok(rsp(s)->result == CURAND_STATUS_OUT_OF_RANGE && stand_ins_calls == before, "nor_past_its_end");
	q = request(s, 0, sizeof(*q));
	q->generator.id = handle[1];
	q->count = 5;
	ask(s, WH_CALL_whCurandGenerate, sizeof(*q));
	f = request(s, 0, sizeof(*f));
	f->to = (uintptr_t)s->data;
	f->size = 21;
	ask(s, WH_CALL_whCurandFetch, sizeof(*f));
	ok_eq(rsp(s)->result, CURAND_STATUS_OUT_OF_RANGE, "no_more_is_fetched_than_was_generated");
	f = request(s, 0, sizeof(*f));
	f->to = (uintptr_t)s->data;
	f->size = 20;
	ask(s, WH_CALL_whCurandFetch, sizeof(*f));
	ok_eq(rsp(s)->result, CURAND_STATUS_SUCCESS, "all_of_it_is");
	f = request(s, 0, sizeof(*f));
	f->to = (uintptr_t)&stand_ins_calls;
	f->size = 4;
	f->source = WH_CURAND_CONSTANTS32;
	ask(s, WH_CALL_whCurandFetch, sizeof(*f));
	ok_eq(rsp(s)->result, CURAND_STATUS_OUT_OF_RANGE, "fetching_to_elsewhere_is_refused");
	f = request(s, 0, sizeof(*f));
	f->to = (uintptr_t)s->data;
	f->size = 8;
	f->offset = UINT64_MAX - 3;
	f->source = WH_CURAND_CONSTANTS32;
	ask(s, WH_CALL_whCurandFetch, sizeof(*f));
	ok_eq(rsp(s)->result, CURAND_STATUS_OUT_OF_RANGE, "fetching_from_elsewhere_is_refused");
}

/* What lies in the folder, of which one is no library. */
static void test_preload_all(struct wh_session *s, const char *argv0)
{
	char folder[4096], to[4200];

	snprintf(folder, sizeof(folder), "%s.folder", argv0);
	mkdir(folder, 0755);
	setenv("WORMHOLE_LIB_PATH", folder, 1);
	unsetenv("WORMHOLE_CUSOLVER");
	snprintf(to, sizeof(to), "%s/libcusolver.so.12", folder);
	unlink(to);
	ok(!symlink("../bin/fake_cusolver.so", to) && wh_session_preload(s, "all", NULL, 0) &&
	   s->library[WH_LIB_cusolver] && !s->library[WH_LIB_cusparse],
	   "preloading_all_loads_what_is_in_the_folder");
	snprintf(to, sizeof(to), "%s/libcusparse.so.12", folder);
	unlink(to);
	ok(!symlink(".", to) && wh_session_preload(s, "all", NULL, 0) &&
	   !s->library[WH_LIB_cusparse] && s->library_failed & 1u << WH_LIB_cusparse,
	   "and_goes_on_where_one_cannot_be_loaded");
}

/* Before a client is there; the libraries lie beside the program. */
static void test_preload(const char *argv0)
{
	struct wh_session *s = open_session(argv0);
	char folder[4096], err[512] = "";

	snprintf(folder, sizeof(folder), "%s", argv0);
	strcpy(strrchr(folder, '/'), "/bin/fake_cublas.so");
	setenv("WORMHOLE_CUBLAS", folder, 1);
	strcpy(strrchr(folder, '/'), "/none.so");
	setenv("WORMHOLE_CURAND", folder, 1);
	ok(!wh_session_preload(s, "cublas,nonsense", err, sizeof(err)) && strstr(err, "nonsense"),
	   "preloading_an_unknown_library_names_it");
	ok(wh_session_preload(s, "cublas", err, sizeof(err)) && s->library[WH_LIB_cublas] &&
	   !s->library[WH_LIB_curand], "preloading_loads_what_is_listed");
	test_preload_all(s, argv0);
	ok(!wh_session_preload(s, "curand,cublas", err, sizeof(err)) && strstr(err, "none.so"),
	   "a_file_that_is_missing_is_named");
	wh_session_close(s);
}

int main(int argc, char **argv)
{
	struct wh_session *s = open_session(argv[0]);
	uint32_t sent;

	(void)argc;
	tap_plan(30);
	fuzz_start();
	say_hello(s);
	test_envelope(s);
	test_versions(s);
	library_context = wh_handle_for(s, WH_H_CUcontext, (void *)0x1000, 0);
	library_stream = wh_handle_for(s, WH_H_CUstream, (void *)0x9990, 0);
	make_handles(s);
	test_handles(s);
	test_host_numbers(s);
	test_boxes(s);
	test_preload(argv[0]);
	stand_ins_calls = 0;
	sent = strew(s);
	diag("%u requests, %d of them reached a library", sent, stand_ins_calls);
	ok(stand_ins_calls > (int)(sent / 20), "random_requests_do_no_harm_and_many_pass");
	return tap_exit();
}
