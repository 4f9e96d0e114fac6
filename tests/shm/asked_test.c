// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that what libraries ask before each of their calls is answered in the
 * client, and stays true: a primary context's state, and whether a stream is captured.
 *
 * 	asked N		only asks, N times
 */
#include "driver_test.h"

static int state(unsigned int want_flags, int want_active)
{
	unsigned int flags = ~0u;
	int active = -1;

	return !cuDevicePrimaryCtxGetState(0, &flags, &active) && active == want_active &&
	       (!active || flags == want_flags);
}

static int status(CUstream s, CUstreamCaptureStatus want)
{
	CUstreamCaptureStatus is = 99;

	return !cuStreamIsCapturing(s, &is) && is == want;
}

static void test_primary(void)
{
	unsigned int flags;
	CUcontext c;

	ok(state(0, 1) && state(0, 1), "retained_context_is_active_each_time");
	ok(!cuDevicePrimaryCtxReset(0) && state(0, 0) && state(0, 0), "after_a_reset_it_is_not");
	ok(!cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_SPIN) && !cuDevicePrimaryCtxRetain(&c, 0) &&
	   state(CU_CTX_SCHED_SPIN, 1), "new_flags_are_seen");
	ok(!cuDevicePrimaryCtxRelease(0), "it_is_released");
	ok(state(0, 0) || state(CU_CTX_SCHED_SPIN, 1), "its_state_is_asked_for_anew");
	ok(cuDevicePrimaryCtxGetState(77, &flags, &(int){ 0 }) == CUDA_ERROR_INVALID_DEVICE,
	   "device_that_is_none_is_refused");
	ok(cuDevicePrimaryCtxGetState(0, NULL, NULL) == CUDA_ERROR_INVALID_VALUE ||
	   !cuDevicePrimaryCtxGetState(0, NULL, NULL), "nowhere_to_answer_is_the_drivers_to_judge");
	cuDevicePrimaryCtxRetain(&ctx, 0);
	cuCtxSetCurrent(ctx);
}

static void test_capture(void)
{
	CUgraph graph;
	CUstream s;

	if (cuStreamCreate(&s, CU_STREAM_NON_BLOCKING))
		exit(1);
	ok(status(s, CU_STREAM_CAPTURE_STATUS_NONE) && status(s, CU_STREAM_CAPTURE_STATUS_NONE),
	   "stream_is_not_captured_each_time");
	ok(!cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED) &&
	   status(s, CU_STREAM_CAPTURE_STATUS_ACTIVE), "captured_stream_is");
	ok(!cuStreamEndCapture(s, &graph) && status(s, CU_STREAM_CAPTURE_STATUS_NONE),
	   "and_no_more_afterwards");
	cuGraphDestroy(graph);
	ok(!cuStreamDestroy(s) && cuStreamIsCapturing(s, &(CUstreamCaptureStatus){ 0 }),
	   "stream_that_is_gone_is_refused");
}

static void ask(int n)
{
	while (n--)
		if (!state(0, 1) || !status(NULL, CU_STREAM_CAPTURE_STATUS_NONE))
			exit(1);
}

/* --- Functions for graphics, which cuda.h does not declare ----------------------------------- */

CUresult cuGLGetDevices_v2(unsigned int *count, CUdevice *devices, unsigned int room, int list);

static void test_graphics(void)
{
	CUdriverProcAddressQueryResult st;
	void *found = NULL;

	ok(cuGetProcAddress("cuGLGetDevices", &found, 6050, 0, &st) == 0 &&
	   found == (void *)cuGLGetDevices_v2, "a_function_for_graphics_is_found");
	ok_eq(cuGLGetDevices_v2(NULL, NULL, 0, 0), CUDA_ERROR_NOT_SUPPORTED, "and_refuses");
}

int main(int argc, char **argv)
{
	begin();
	if (argc > 1) {
		ask(atoi(argv[1]));
		return 0;
	}
	tap_plan(13);
	test_primary();
	test_capture();
	test_graphics();
	return tap_exit();
}
