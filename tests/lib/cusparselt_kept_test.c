// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that the client keeps what describes a product of cuSPARSELt. Each
 * product does what its structs say, which may be copies, or have attributes that were
 * set at any time. It runs over a library that follows the addresses of its structs.
 */
#include <pthread.h>
#include <stdalign.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cusparseLt.h>

#include "lib_test.h"

#define NONE	CUSPARSE_STATUS_NOT_INITIALIZED
#define BAD	CUSPARSE_STATUS_INVALID_VALUE
#define ALONE	777

struct product {
	cusparseLtMatDescriptor_t a, b;
	cusparseLtMatmulDescriptor_t matmul;
	cusparseLtMatmulAlgSelection_t alg;
	cusparseLtMatmulPlan_t plan;
};

static cusparseLtHandle_t handle;
static CUdeviceptr data;	/* 4096 bytes */

static cusparseStatus_t dense(cusparseLtMatDescriptor_t *m, int rows)
{
	return cusparseLtDenseDescriptorInit(&handle, m, rows, 32, 32, 16, CUDA_R_16F,
					     CUSPARSE_ORDER_ROW);
}

static cusparseStatus_t describe(struct product *p, const cusparseLtMatDescriptor_t *a)
{
	cusparseStatus_t res = dense(&p->b, 33);

	p->a = *a;
	if (!res)
		res = cusparseLtMatmulDescriptorInit(&handle, &p->matmul, 0, 0, &p->a, &p->b, &p->b,
						     &p->b, CUSPARSE_COMPUTE_32F);
	if (!res)
		res = cusparseLtMatmulAlgSelectionInit(&handle, &p->alg, &p->matmul, 0);
	return res;
}

static cusparseStatus_t plan(struct product *p)
{
	return cusparseLtMatmulPlanInit(&handle, &p->plan, &p->matmul, &p->alg);
}

static cusparseStatus_t of_rows(struct product *p, int rows)
{
	cusparseLtMatDescriptor_t a;
	cusparseStatus_t res = dense(&a, rows);

	if (!res)
		res = describe(p, &a);
	return res ? res : plan(p);
}

static cusparseStatus_t end(struct product *p)
{
	cusparseStatus_t res = cusparseLtMatmulPlanDestroy(&p->plan);

	if (!res)
		res = cusparseLtMatDescriptorDestroy(&p->a);
	return res ? res : cusparseLtMatDescriptorDestroy(&p->b);
}

static cusparseStatus_t multiply(struct product *p, float alpha)
{
	const float beta = 0;

	return cusparseLtMatmul(&handle, &p->plan, &alpha, (void *)data, (void *)data, &beta,
				(void *)data, (void *)data, (void *)data, NULL, 0);
}

static cusparseStatus_t batches(cusparseLtMatDescriptor_t *m, int n)
{
	return cusparseLtMatDescSetAttribute(&handle, m, CUSPARSELT_MAT_NUM_BATCHES, &n, sizeof(n));
}

static int batches_of(const cusparseLtMatDescriptor_t *m)
{
	int n = -1;

	cusparseLtMatDescGetAttribute(&handle, m, CUSPARSELT_MAT_NUM_BATCHES, &n, sizeof(n));
	return n;
}

static cusparseStatus_t bias_in(struct product *p, const CUdeviceptr *at, size_t size)
{
	return cusparseLtMatmulDescSetAttribute(&handle, &p->matmul,
						CUSPARSELT_MATMUL_BIAS_POINTER, at, size);
}

static cusparseStatus_t bias(struct product *p, CUdeviceptr at)
{
	return bias_in(p, &at, sizeof(at));
}

static cusparseStatus_t config(struct product *p, int n)
{
	return cusparseLtMatmulAlgSetAttribute(&handle, &p->alg, CUSPARSELT_MATMUL_ALG_CONFIG_ID,
					       &n, sizeof(n));
}

static int config_of(const struct product *p)
{
	int n = -1;

	cusparseLtMatmulAlgGetAttribute(&handle, &p->alg, CUSPARSELT_MATMUL_ALG_CONFIG_ID, &n,
					sizeof(n));
	return n;
}

/* Returns how often @text contains @what. */
static int times(const char *text, const char *what)
{
	int n = 0;

	for (; *what && (text = strstr(text, what)) != NULL; text++)
		n++;
	return n;
}

/* Returns how often all that the library has been told contains @what. */
static int said(const char *what)
{
	const char *text;
	int n = 0;

	for (text = news(); *text; text = news())
		n += times(text, what);
	return n;
}

static void test_like_before(struct product *p)
{
	struct product other;
	size_t work = 0;

	of_rows(p, 40);
	multiply(p, 1);
	cusparseLtMatmulGetWorkspace(&handle, &p->plan, &work);
	news();
	ok(!of_rows(&other, 40) && !cusparseLtMatmulGetWorkspace(&handle, &other.plan, &work) &&
	   work == 256, "what_is_described_as_before_has_the_answers_of_before");
	told("", "without_a_word_to_the_library");
	ok_eq(multiply(&other, 2), 0, "its_product_succeeds");
	told("product 2 0 relu=0 bias=0 0", "and_is_all_that_the_library_is_told");
	ok(!end(&other) && !multiply(p, 3), "its_end_leaves_the_other");
	told("product 3 0 relu=0 bias=0 0", "which_is_the_librarys_still");
}

static void test_copies(void)
{
	cusparseLtMatDescriptor_t first, second, old;
	struct product p, q;

	dense(&first, 41);
	batches(&first, 2);
	second = first;
	ok(!batches(&second, 3) && batches_of(&first) == 2 && batches_of(&second) == 3,
	   "setting_an_attribute_of_a_copy_leaves_the_first");
	old = first;
	batches(&first, 4);
	ok(batches_of(&first) == 4 && batches_of(&old) == 2, "copy_is_as_it_was_when_it_was_made");
	describe(&p, &old);
	describe(&q, &first);
	plan(&p);
	plan(&q);
	news();
	multiply(&p, 1);
	multiply(&q, 1);
	told("product 1 0 relu=0 bias=0 0|of 2 and 0|product 1 0 relu=0 bias=0 0|of 4 and 0",
	     "products_are_of_the_one_or_the_other");
	cusparseLtMatmulPlanDestroy(&p.plan);
	cusparseLtMatmulPlanDestroy(&q.plan);
	ok(!cusparseLtMatDescriptorDestroy(&second) && batches_of(&first) == 4 &&
	   cusparseLtMatDescriptorDestroy(&second) == NONE, "one_that_was_set_ends_alone");
	ok(!cusparseLtMatDescriptorDestroy(&old) && cusparseLtMatDescriptorDestroy(&first) == NONE,
	   "one_that_was_not_ends_the_first");
}

static void test_later(void)
{
	struct product p;
	int i, bad = 0;

	of_rows(&p, 42);
	ok(!batches(&p.a, 5) && !config(&p, 6) && !bias(&p, data), "attributes_are_set_behind_a_plan");
	news();
	multiply(&p, 1);
	ok(strstr(news(), "product 1 0 relu=0 bias=1 0|of 5 and 6") != NULL,
	   "and_are_those_of_its_product");
	for (i = 0; i < 200; i++)
		bad |= bias(&p, data + i % 2 * 16);
	news();
	ok(!bad && !multiply(&p, 1), "one_attribute_may_be_set_again_and_again");
	told("product 1 0 relu=0 bias=1 0|of 5 and 6", "and_its_last_value_counts");
	end(&p);
}

static void test_search(void)
{
	struct product p, q;
	const float one = 1;
	const char *got;

	of_rows(&p, 43);
	of_rows(&q, 43);
	batches(&p.a, 7);
	batches(&q.a, 7);
	ok_eq(cusparseLtMatmulSearch(&handle, &p.plan, &one, (void *)data, (void *)data, &one,
				     (void *)data, (void *)data, (void *)data, NULL, 0), 0,
	      "search_succeeds");
	ok(config_of(&p) == 3 && config_of(&q) == 0, "and_chooses_for_its_own_plan_alone");
	ok(!batches(&p.a, 8) && batches_of(&p.a) == 8 && batches_of(&q.a) == 7,
	   "what_is_set_behind_it_is_its_own_too");
	news();
	multiply(&p, 1);
	multiply(&q, 1);
	got = news();
	if (!ok(strstr(got, "product 1 0 relu=0 bias=0 0|of 8 and 3|") == got &&
		strstr(got, "|product 1 0 relu=0 bias=0 0|of 7 and 0") != NULL,
		"each_product_is_of_its_own_choice"))
		diag("%s", got);
	news();
	ok(!end(&p) && !multiply(&q, 2), "its_end_leaves_those_like_it");
	told("end of a plan that is sound|end of mat 43|end of mat 33|product 2 0 relu=0 bias=0 0|"
	     "of 7 and 0", "and_is_the_librarys_at_once");
	end(&q);
}

/* Makes a product whose bias is set before anything is made of it. */
static cusparseStatus_t described_with(struct product *p, CUdeviceptr at)
{
	cusparseStatus_t res = dense(&p->a, 46);

	if (!res)
		res = dense(&p->b, 33);
	if (!res)
		res = cusparseLtMatmulDescriptorInit(&handle, &p->matmul, 0, 0, &p->a, &p->b, &p->b,
						     &p->b, CUSPARSE_COMPUTE_32F);
	return res ? res : bias(p, at);
}

static void test_errors(void)
{
	CUdeviceptr gone = device(NULL, 4096);
	struct product p;
	int i, said = 0;

	described_with(&p, data);
	ok(bias(&p, (uintptr_t)&p) == BAD && bias(&p, (uintptr_t)&p) == BAD,
	   "bias_that_is_not_the_devices_is_refused_each_time");
	ok(bias_in(&p, NULL, sizeof(data)) == BAD && bias_in(&p, &data, 0) == BAD,
	   "one_that_is_not_there_too");
	for (i = 0; i < 2; i++)
		said += dense(&p.a, 0) == BAD;
	ok_eq(said, 2, "and_so_is_a_bad_size");
	end(&p);
	of_rows(&p, 44);
	ok(!bias(&p, gone) && !multiply(&p, 1), "bias_of_the_devices_is_taken");
	cuMemFree(gone);
	/* A posted product is refused when its error comes. */
	ok(multiply(&p, 1) == BAD || cuCtxSynchronize() != CUDA_SUCCESS,
	   "product_whose_bias_was_freed_is_refused");
	ok_eq(bias(&p, gone), BAD, "and_it_is_not_set_again");
	ok_eq(bias(&p, 0), 0, "without_it");
	ok_eq(multiply(&p, 1), 0, "it_succeeds_again");
	end(&p);
	gone = device(NULL, 4096);
	described_with(&p, gone);
	cuMemFree(gone);
	ok(described_with(&p, gone) == BAD && described_with(&p, gone) == BAD,
	   "nor_set_of_another_like_it");
}

/* The plan, and not the algorithm, sees what is set between the two. */
static void test_order(void)
{
	struct product p;

	described_with(&p, data);
	cusparseLtMatmulAlgSelectionInit(&handle, &p.alg, &p.matmul, 0);
	news();
	bias(&p, data + 16);
	told("dense 46x32/32 2 2|dense 33x32/32 2 2|matmul 0 0 2|attribute 8 of 8|alg|attribute 8 of 8",
	     "attribute_set_again_behind_an_algorithm_is_set_twice");
	news();
	ok(!plan(&p) && !multiply(&p, 1), "its_plan_is_made");
	told("plan|product 1 0 relu=0 bias=1 0", "behind_both");
	end(&p);
}

#define MANY	600

static void test_held(void)
{
	static struct product p[MANY];
	int i, bad = 0;

	for (i = 0; i < MANY; i++)
		bad |= of_rows(&p[i], 4000 + i);
	said("");
	for (i = 0; i < MANY; i++)
		bad |= multiply(&p[i], 1);
	ok(!bad && !said("plan"), "plans_that_are_there_are_not_made_again_for_a_product");
	for (i = 0; i < MANY; i++)
		bad |= end(&p[i]);
	said("");
	of_rows(&p[0], 4000);
	ok(!bad && said("|plan") == 1, "one_that_has_ended_is_made_when_the_program_makes_it");
	multiply(&p[0], 1);
	told("product 1 0 relu=0 bias=0 0", "and_not_by_its_product");
	end(&p[0]);
}

static void test_many(void)
{
	struct product p;
	int i, bad = 0, ends;

	news();
	for (i = 0; i < 40; i++)
		bad |= of_rows(&p, 2000 + i) || multiply(&p, 1) || end(&p);
	ends = times(news(), "end of a plan");
	ok(!bad && !ends, "plans_stay_when_their_programs_are_done");
	for (i = 0; i < 300; i++) {
		bad |= of_rows(&p, 3000 + i) || multiply(&p, 1) || end(&p);
		if (i % 10 == 9)
			ends += times(news(), "end of a plan that is sound");
	}
	ok(!bad && ends > 0, "but_not_all_of_them");
	ok_eq(of_rows(&p, ALONE), 0, "where_there_is_no_room_they_make_room");
	ok_eq(multiply(&p, 1), 0, "for_the_next_one");
	end(&p);
}

static void *work(void *bad)
{
	struct product p;
	int i;

	for (i = 0; i < 200; i++)
		if (of_rows(&p, 50 + i % 3) || multiply(&p, 1) || end(&p))
			*(int *)bad = 1;
	return NULL;
}

static void test_threads(void)
{
	pthread_t thread[4];
	int bad[4] = { 0 }, i;

	for (i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, work, &bad[i]);
	for (i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	ok(!bad[0] && !bad[1] && !bad[2] && !bad[3], "threads_describe_the_same_at_the_same_time");
}

/*
 * A second handle makes its own objects of the same description, which end before their
 * handle does.
 */
static void test_two_handles(struct product *first)
{
	const cusparseLtHandle_t before = handle;
	struct product p;

	cusparseLtInit(&handle);
	said("");
	ok(!of_rows(&p, 40) && !multiply(&p, 1) && said("|plan") == 1, "another_handle_has_its_own");
	ok(!end(&p) && !cusparseLtDestroy(&handle), "it_ends");
	ok(strstr(news(), "end of a plan that is sound|") != NULL, "behind_its_plans");
	handle = before;
	ok_eq(multiply(first, 1), 0, "those_of_the_first_stay");
	told("product 1 0 relu=0 bias=0 0", "and_are_not_made_again");
}

/* The child's structs are copies of the parent's, which stand for others in the parent's worker. */
static int works_in_child(struct product *p)
{
	const cusparseLtHandle_t parents = handle;
	struct product own;

	if (cusparseLtInit(&handle) || of_rows(&own, 40))
		return 1;
	data = device(NULL, 4096);
	if (multiply(&own, 1) || multiply(p, 1) != NONE)
		return 2;
	handle = parents;
	return multiply(&own, 1) != NONE;
}

static void test_fork(struct product *p)
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(works_in_child(p));
	waitpid(pid, &status, 0);
	ok_eq(status, 0, "child_of_a_fork_has_structs_of_its_own_and_none_of_its_parents");
	said("");
	ok_eq(multiply(p, 1), 0, "which_keeps_them");
	told("product 1 0 relu=0 bias=0 0", "as_they_were");
}

int main(void)
{
	struct product p;

	tap_plan(51);
	cusparseLtInit(&handle);
	data = device(NULL, 4096);
	test_like_before(&p);
	test_copies();
	test_later();
	test_search();
	test_errors();
	test_order();
	test_threads();
	test_two_handles(&p);
	test_fork(&p);
	end(&p);
	test_many();
	test_held();
	ok_eq(cusparseLtDestroy(&handle), 0, "handle_ends");
	ok(cusparseLtMatmulPlanInit(&handle, &p.plan, &p.matmul, &p.alg) == NONE &&
	   multiply(&p, 1) == NONE, "and_nothing_is_made_with_it_any_more");
	return tap_exit();
}
