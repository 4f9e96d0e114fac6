// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that cuDNN calls go right through the stub, over a library that
 * writes down what it is told. Scaling factors have the size that a descriptor's type
 * says, host arrays the length that a descriptor says, attributes the size of their type.
 * Invalid descriptors do not reach the library.
 */
#include <cudnn.h>
#include <sys/mman.h>

#include "fake_cublas.h"
#include "lib_test.h"

static cudnnHandle_t handle;
static cudnnTensorDescriptor_t tensor;
/* The test reserves these addresses of the device, because the worker lets no others pass. */
#define DEVICE	0x300000000000ULL
static void *const X = (void *)(DEVICE + 0x12340), *const Y = (void *)(DEVICE + 0x56780);

static cudnnStatus_t softmax(const void *alpha, const void *beta)
{
	return cudnnSoftmaxForward(handle, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL,
				   alpha, tensor, X, beta, tensor, Y);
}

/* --- The library and its handles ---------------------------------------------- */

static void test_library(void)
{
	char text[64] = "", shorter[4];
	int value = 0;

	ok_eq(cudnnGetVersion(), 91234, "version_is_the_workers");
	ok_eq(cudnnGetMaxDeviceVersion(), 1030, "device_version_is_the_workers");
	ok_eq(cudnnGetCudartVersion(), 13077, "runtime_version_is_the_workers");
	told("version", "versions_are_asked_for_once");
	cudnnGetProperty(PATCH_LEVEL, &value);
	ok_eq(value, 34, "properties_are_of_that_version");
	ok(!strcmp(cudnnGetErrorString(CUDNN_STATUS_BAD_PARAM_NULL_POINTER),
		   "CUDNN_STATUS_BAD_PARAM_NULL_POINTER"), "status_has_its_name");
	ok(!strcmp(cudnnGetErrorString((cudnnStatus_t)4711), "CUDNN_UNKNOWN_STATUS"),
	   "unknown_status_says_so");
	cudnnGetLastErrorString(text, sizeof(text));
	ok(!strcmp(text, "the fake's last error"), "last_error_is_the_librarys");
	cudnnGetLastErrorString(shorter, sizeof(shorter));
	ok(!strcmp(shorter, "the"), "last_error_is_cut_to_the_buffer");
	ok_eq(cudnnSetCallback(0, NULL, (cudnnCallback_t)test_library), CUDNN_STATUS_NOT_SUPPORTED,
	      "callback_is_refused");
}

static void test_handles(void)
{
	struct { uint64_t words[16]; } zeros = { { 0 } };
	cudnnHandle_t gone;
	cudaStream_t got;
	CUdeviceptr device;
	CUstream own;
	float one = 1;

	ok_eq(cudnnCreate(&handle), 0, "create_needs_no_call_before_it");
	told("create 1", "one_library_handle_is_made");
	cudnnCreate(&gone);
	ok_eq(cudnnDestroy(gone), 0, "destroy_succeeds");
	told("create 2|destroy 2", "destroy_reaches_the_library");
	ok_eq(cudnnDestroy(gone), CUDNN_STATUS_BAD_PARAM, "destroyed_handle_is_refused");
	ok_eq(cudnnSetStream((cudnnHandle_t)&zeros, NULL), CUDNN_STATUS_BAD_PARAM,
	      "memory_that_is_no_handle_is_refused");
	cudnnCreateTensorDescriptor(&tensor);
	cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 2, 3, 4);
	told("set tensor format=0 type=0 1 2 3 4", "descriptor_is_set_in_the_worker");
	ok(!cuMemAddressReserve(&device, 2 << 20, 0, DEVICE, 0) && device == DEVICE,
	   "addresses_are_reserved");
	cuStreamCreate(&own, 0);
	ok_eq(cudnnSetStream(handle, own), 0, "stream_is_taken");
	told("", "setting_it_makes_no_call");
	cudnnGetStream(handle, &got);
	ok(got == own, "stream_is_given_back");
	ok_eq(softmax(&one, &one), 0, "softmax_succeeds");
	told("set_stream 1 own|softmax handle=1 stream=own algo=1 mode=1 xtype=0 x=0x300000012340 y=0x300000056780|"
	     "alpha float 1 behind=0|beta float 1 behind=0", "stream_travels_with_the_next_call");
	cudnnSetStream(handle, NULL);
	softmax(&one, NULL);
	told("set_stream 1 0|softmax handle=1 stream=0 algo=1 mode=1 xtype=0 x=0x300000012340 y=0x300000056780|"
	     "alpha float 1 behind=0|beta NULL", "default_stream_does_too_and_NULL_stays_NULL");
}

/* --- Values in host memory ---------------------------------------------------- */

static void test_scales(void)
{
	cudnnTensorDescriptor_t derived, keep = tensor;
	uint8_t *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
	float *last = (float *)(page + 4092);
	cudnnFilterDescriptor_t filter;
	double d = 2.5;
	int8_t element = 0x55;

	mprotect(page + 4096, 4096, PROT_NONE);
	*last = 3;
	ok_eq(softmax(last, last), 0, "float_at_the_end_of_memory_is_read_as_a_float");
	told("softmax handle=1 stream=0 algo=1 mode=1 xtype=0 x=0x300000012340 y=0x300000056780|"
	     "alpha float 3 behind=0|beta float 3 behind=0", "and_arrives");
	cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_DOUBLE, 1, 2, 3, 4);
	news();
	softmax(&d, &d);
	told("softmax handle=1 stream=0 algo=1 mode=1 xtype=1 x=0x300000012340 y=0x300000056780|"
	     "alpha double 2.5|beta double 2.5", "scale_of_doubles_is_a_double_without_asking");
	cudnnCreateTensorDescriptor(&derived);
	cudnnDeriveBNTensorDescriptor(derived, tensor, CUDNN_BATCHNORM_SPATIAL);
	tensor = derived;
	softmax(&d, &d);
	told("derive bn mode=1|get tensor nd want=8|"
	     "softmax handle=1 stream=0 algo=1 mode=1 xtype=1 x=0x300000012340 y=0x300000056780|"
	     "alpha double 2.5|beta double 2.5", "type_of_a_derived_descriptor_is_asked_for");
	softmax(&d, &d);
	told("softmax handle=1 stream=0 algo=1 mode=1 xtype=1 x=0x300000012340 y=0x300000056780|"
	     "alpha double 2.5|beta double 2.5", "and_asked_for_once");
	tensor = keep;
	cudnnCreateFilterDescriptor(&filter);
	cudnnSetFilter4dDescriptor(filter, CUDNN_DATA_DOUBLE, CUDNN_TENSOR_NCHW, 1, 1, 1, 1);
	news();
	cudnnTransformFilter(handle, NULL, &d, filter, X, &d, filter, Y);
	told("alpha double 2.5|beta double 2.5", "filters_say_the_type_too");
	cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_INT8, 1, 2, 3, 4);
	news();
	cudnnSetTensor(handle, tensor, Y, &element);
	told("set tensor value 55 behind=00", "element_has_the_size_of_the_type");
}

/* --- Arrays ------------------------------------------------------------------- */

static void test_arrays(void)
{
	int dim[5] = { 2, 3, 4, 5, 6 }, stride[5] = { 360, 120, 30, 6, 1 }, n = 0, i;
	int got[8] = { 7, 7, 7, 7, 7, 7, 7, 7 }, gots[8] = { 0 };
	cudnnConvolutionFwdAlgoPerf_t perf[4];
	cudnnDataType_t type;
	cudnnStatus_t status = 0;

	ok_eq(cudnnSetTensorNdDescriptor(tensor, CUDNN_DATA_FLOAT, 5, dim, stride), 0,
	      "five_dimensions_are_set");
	told("set tensor nd type=0 n=5 last=6/1", "all_of_them_arrive");
	ok_eq(cudnnSetTensorNdDescriptor(tensor, CUDNN_DATA_FLOAT, -1, dim, stride),
	      CUDNN_STATUS_BAD_PARAM, "negative_count_is_refused");
	ok_eq(cudnnSetTensorNdDescriptor(tensor, CUDNN_DATA_FLOAT, 1 << 30, dim, stride),
	      CUDNN_STATUS_BAD_PARAM, "count_beyond_a_message_is_refused");
	told("", "neither_reaches_the_library");
	cudnnGetTensorNdDescriptor(tensor, 8, &type, &n, got, gots);
	for (i = 0; i < 5 && got[i] == dim[i] && gots[i] == stride[i]; i++)
		;
	ok(i == 5 && n == 5, "they_come_back");
	ok(got[5] == 7 && got[7] == 7, "what_the_library_does_not_write_stays_as_it_was");
	news();
	n = 0;
	cudnnGetConvolutionForwardAlgorithm_v7(handle, tensor, NULL, NULL, tensor, 4, &n, perf);
	ok(n == 3 && perf[2].algo == 2 && perf[2].memory == 1002 && perf[2].time == 2,
	   "algorithms_come_back_as_structs");
	told("algorithms want=4", "as_many_as_there_is_room_for_are_asked_for");
	cudnnQueryRuntimeError(handle, &status, CUDNN_ERRQUERY_RAWCODE, NULL);
	told("query mode=0 tag=NULL", "reserved_parameter_is_NULL");
	ok_eq(status, CUDNN_STATUS_RUNTIME_IN_PROGRESS, "status_that_is_an_output_comes_back");
	ok_eq(cudnnQueryRuntimeError(handle, &status, CUDNN_ERRQUERY_RAWCODE, (void *)&n),
	      CUDNN_STATUS_BAD_PARAM, "reserved_parameter_must_be_NULL");
}

static void test_sequences(void)
{
	int lengths[3] = { 9, 8, 7 }, dim[4] = { 6, 3, 1, 2 }, lo[6] = { 0, 0, 0, 0, 0, 40 };
	int hi[6] = { 1, 1, 1, 1, 1, 60 }, labels[6] = { 1, 2, 3, 4, 5, 66 }, counts[2] = { 2, 4 };
	int inputs[2] = { 9, 10 }, got[3] = { 0 }, a, b, c;
	cudnnSeqDataAxis_t axes[4] = { 0, 1, 2, 3 };
	cudnnRNNDataDescriptor_t rnn;
	cudnnSeqDataDescriptor_t seq;
	cudnnCTCLossDescriptor_t ctc;
	cudnnRNNDataLayout_t layout;
	cudnnAttnDescriptor_t attn;
	cudnnDataType_t type;
	struct { double fill; double behind; } back = { 0, 77 };
	double fill = 1.25;
	size_t size = 0;

	cudnnCreateRNNDataDescriptor(&rnn);
	cudnnSetRNNDataDescriptor(rnn, CUDNN_DATA_DOUBLE, 1, 9, 3, 4, lengths, &fill);
	told("set rnn data type=1 layout=1 9 3 4 last=7 fill=1.25", "lengths_and_fill_value_arrive");
	cudnnGetRNNDataDescriptor(rnn, &type, &layout, &a, &b, &c, 3, got, &back.fill);
	ok(got[0] == 9 && got[2] == 7 && back.fill == 1.25, "and_come_back");
	ok(back.behind == 77, "fill_value_is_as_long_as_its_type");
	cudnnCreateSeqDataDescriptor(&seq);
	cudnnSetSeqDataDescriptor(seq, CUDNN_DATA_FLOAT, 4, dim, axes, 3, lengths, NULL);
	told("set seq data type=0 n=4 axis3=3 lengths=3 last=7 fill=NULL", "sequence_data_arrives");
	cudnnCreateAttnDescriptor(&attn);
	ok_eq(cudnnMultiHeadAttnForward(handle, attn, -1, lo, hi, X, Y, seq, X, NULL, seq, X, seq,
					X, seq, Y, 5, X, 6, X, 7, Y), 0, "attention_succeeds");
	told("attention index=-1 lo=40 hi=60 devq=0x300000012340 weights=5 reserve=7",
	     "windows_have_an_entry_for_each_time_step");
	cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 10, 2, 5, 1);
	cudnnCreateCTCLossDescriptor(&ctc);
	news();
	ok_eq(cudnnGetCTCLossWorkspaceSize(handle, tensor, tensor, labels, counts, inputs, 0, ctc,
					   &size), 0, "ctc_succeeds");
	ok_eq(size, 6, "ctc_size_comes_back");
	ok(strstr(news(), "ctc labels=6 last=66 input=10") != NULL, "labels_are_as_many_as_lengths_say");
	counts[1] = -4;
	ok_eq(cudnnGetCTCLossWorkspaceSize(handle, tensor, tensor, labels, counts, inputs, 0, ctc,
					   &size), CUDNN_STATUS_BAD_PARAM, "negative_length_is_refused");
	ok(!strstr(news(), "ctc"), "before_the_library_sees_it");
}

/* --- Descriptors that are none ------------------------------------------------ */

static void test_bad_descriptors(void)
{
	cudnnTensorDescriptor_t gone;
	cudnnFilterDescriptor_t filter;
	int n;

	cudnnCreateFilterDescriptor(&filter);
	cudnnCreateTensorDescriptor(&gone);
	ok_eq(cudnnDestroyTensorDescriptor(gone), 0, "descriptor_is_destroyed");
	news();
	ok_eq(cudnnSetTensor4dDescriptor(gone, 0, 0, 1, 1, 1, 1), CUDNN_STATUS_BAD_PARAM,
	      "destroyed_descriptor_is_refused");
	ok_eq(cudnnSetTensor4dDescriptor((void *)filter, 0, 0, 1, 1, 1, 1), CUDNN_STATUS_BAD_PARAM,
	      "descriptor_of_another_kind_is_refused");
	ok_eq(cudnnSetTensor4dDescriptor((void *)&n, 0, 0, 1, 1, 1, 1), CUDNN_STATUS_BAD_PARAM,
	      "memory_that_is_no_descriptor_is_refused");
	told("", "no_bad_descriptor_reaches_the_library");
	ok_eq(cudnnDestroyTensorDescriptor(NULL), 0, "no_descriptor_is_the_librarys_business");
	told("destroy tensor NULL", "and_it_is_asked");
}

/* --- The backend API ---------------------------------------------------------- */

static cudnnBackendDescriptor_t make(cudnnBackendDescriptorType_t type)
{
	cudnnBackendDescriptor_t d = NULL;

	cudnnBackendCreateDescriptor(type, &d);
	return d;
}

#define SET(d, name, type, n, p) \
	cudnnBackendSetAttribute(d, CUDNN_ATTR_##name, CUDNN_TYPE_##type, n, p)
#define GET(d, name, type, n, c, p) \
	cudnnBackendGetAttribute(d, CUDNN_ATTR_##name, CUDNN_TYPE_##type, n, c, p)

static void test_attributes(void)
{
	cudnnBackendDescriptor_t t = make(CUDNN_BACKEND_TENSOR_DESCRIPTOR), g, fill[3];
	int64_t dims[4] = { 1, 2, 3, 4 }, got[6] = { 9, 9, 9, 9, 9, 9 }, count = 0;
	cudnnFraction_t half = { 1, 2 }, back = { 0, 0 };
	struct { uint8_t value, behind; } flag = { 0, 88 };
	static char text[40000], text_back[40000];
	cudnnHandle_t handle_back = NULL;
	uint8_t yes = 1;
	size_t i;

	ok_eq(SET(t, TENSOR_DIMENSIONS, INT64, 4, dims), 0, "attribute_is_set");
	told("set attribute 902 type=3 count=4", "in_the_worker");
	ok(!GET(t, TENSOR_DIMENSIONS, INT64, 6, &count, got) && count == 4 && got[3] == 4,
	   "attribute_comes_back");
	ok(got[4] == 9, "no_more_than_there_is");
	ok(!GET(t, TENSOR_DIMENSIONS, INT64, 0, &count, NULL) && count == 4, "count_alone_comes_back");
	ok(!GET(t, TENSOR_DIMENSIONS, INT64, 2, NULL, got), "count_is_not_asked_for");
	SET(t, TENSOR_IS_BY_VALUE, BOOLEAN, 1, &yes);
	GET(t, TENSOR_IS_BY_VALUE, BOOLEAN, 1, &count, &flag);
	ok(flag.value == 1 && flag.behind == 88, "boolean_is_one_byte");
	SET(t, RESAMPLE_STRIDES, FRACTION, 1, &half);
	GET(t, RESAMPLE_STRIDES, FRACTION, 1, &count, &back);
	ok(back.numerator == 1 && back.denominator == 2, "fraction_is_two_numbers");
	ok_eq(cudnnBackendSetAttribute(t, CUDNN_ATTR_TENSOR_DIMENSIONS,
				       (cudnnBackendAttributeType_t)77, 1, dims),
	      CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE,
	      "type_that_is_not_known_is_refused");
	ok_eq(SET(t, TENSOR_DIMENSIONS, INT64, -1, dims), CUDNN_STATUS_BAD_PARAM,
	      "negative_number_of_elements_is_refused");
	g = make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
	news();
	SET(g, OPERATIONGRAPH_OPS, BACKEND_DESCRIPTOR, 1, &t);
	told("set attribute 801 type=15 count=1|descriptor 1", "descriptors_are_translated");
	SET(g, OPERATIONGRAPH_HANDLE, HANDLE, 1, &handle);
	told("set attribute 800 type=0 count=1|handle 1", "handles_are_translated");
	GET(g, OPERATIONGRAPH_HANDLE, HANDLE, 1, &count, &handle_back);
	ok(handle_back == handle, "and_translated_back");
	for (i = 0; i < 3; i++)
		fill[i] = make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
	g = fill[2];
	ok(!GET(t, ENGINEHEUR_RESULTS, BACKEND_DESCRIPTOR, 3, &count, fill) && count == 2,
	   "results_are_counted");
	told("fill descriptor 3|fill descriptor 4", "descriptors_to_fill_reach_the_library");
	ok(fill[2] == g, "the_rest_of_the_array_stays");
	for (i = 0; i < sizeof(text); i++)
		text[i] = i * 7;
	ok_eq(SET(t, EXECUTION_PLAN_JSON_REPRESENTATION, CHAR, sizeof(text), text), 0,
	      "attribute_longer_than_a_message_half_is_set");
	GET(t, EXECUTION_PLAN_JSON_REPRESENTATION, CHAR, sizeof(text), &count, text_back);
	ok(count == sizeof(text) && !memcmp(text, text_back, sizeof(text)), "and_comes_back");
	g = (void *)handle;
	ok_eq(SET(t, OPERATIONGRAPH_OPS, BACKEND_DESCRIPTOR, 1, &g), CUDNN_STATUS_BAD_PARAM,
	      "element_that_is_no_descriptor_is_refused");
}

static void test_variant_pack(void)
{
	cudnnBackendDescriptor_t plan = make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
	cudnnBackendDescriptor_t pack = make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
	CUdeviceptr d = device(NULL, 64);
	float value = 1.5;
	void *p[2] = { &value, (void *)d }, *back[2];
	int64_t count;

	ok_eq(SET(pack, VARIANT_PACK_DATA_POINTERS, VOID_PTR, 2, p), 0, "pack_takes_pointers");
	GET(pack, VARIANT_PACK_DATA_POINTERS, VOID_PTR, 2, &count, back);
	ok(back[1] == (void *)d, "device_address_is_itself");
	ok(back[0] != &value, "host_address_is_another_one_in_the_worker");
	news();
	ok_eq(cudnnBackendExecute(handle, plan, pack), 0, "pack_is_executed");
	told("execute handle=1 plan=6 pack=7 value=1.5", "value_in_the_programs_memory_is_seen");
	value = 2.5;
	cudnnBackendExecute(handle, plan, pack);
	told("execute handle=1 plan=6 pack=7 value=2.5", "as_it_is_when_the_pack_is_executed");
	ok_eq(cudnnBackendDestroyDescriptor(pack), 0, "pack_is_destroyed");
	told("destroy descriptor 7", "in_the_worker_too");
}

/* Makes a finalized pack of two tensors and a workspace. */
static cudnnBackendDescriptor_t packed(void *first, void *second, void *workspace)
{
	cudnnBackendDescriptor_t pack = make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
	const int64_t ids[2] = { 5, -6 };
	void *p[2] = { first, second };

	if (SET(pack, VARIANT_PACK_UNIQUE_IDS, INT64, 2, ids) ||
	    SET(pack, VARIANT_PACK_DATA_POINTERS, VOID_PTR, 2, p) ||
	    SET(pack, VARIANT_PACK_WORKSPACE, VOID_PTR, 1, &workspace) ||
	    cudnnBackendFinalize(pack))
		return NULL;
	return pack;
}

static int execute_once(cudnnBackendDescriptor_t plan, void *first, void *second, void *workspace)
{
	cudnnBackendDescriptor_t pack = packed(first, second, workspace);
	int bad = !pack;

	bad += !!cudnnBackendExecute(handle, plan, pack);
	return bad + !!cudnnBackendDestroyDescriptor(pack);
}

static void test_kept_pack(void)
{
	cudnnBackendDescriptor_t plan = make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR), pack, got;
	const int64_t ids[3] = { 1, 2, 3 };
	void *back[2] = { NULL, NULL };
	float value = 3.5;
	int64_t count = 0;

	news();
	pack = packed(&value, X, Y);
	told("", "pack_makes_no_call_until_it_is_executed");
	ok_eq(cudnnBackendExecute(handle, plan, pack), 0, "kept_pack_is_executed");
	told("set attribute 1000 type=3 count=2|set attribute 1001 type=6 count=2|"
	     "set attribute 1003 type=6 count=1|execute handle=1 plan=8 pack=9 value=3.5|"
	     "ids 5 -6 pointer 0x300000012340 workspace 0x300000056780|destroy descriptor 9",
	     "the_worker_makes_one_of_all_that_was_set");
	value = 4.5;
	cudnnBackendExecute(handle, plan, pack);
	value = 5.5;
	ok(strstr(news(), "value=4.5") != NULL, "value_is_as_it_was_when_the_call_was_made");
	ok(!GET(pack, VARIANT_PACK_DATA_POINTERS, VOID_PTR, 2, &count, back) && count == 2 &&
	   back[1] == X, "pack_that_is_read_is_the_workers");
	news();
	ok_eq(cudnnBackendExecute(handle, plan, pack), 0, "and_is_executed");
	told("execute handle=1 plan=8 pack=11 value=5.5|"
	     "ids 5 -6 pointer 0x300000012340 workspace 0x300000056780", "as_the_worker_has_it");
	cudnnBackendDestroyDescriptor(pack);
	told("destroy descriptor 11", "and_destroyed_there");
	pack = packed(&value, X, Y);
	news();
	ok_eq(cudnnBackendDestroyDescriptor(pack), 0, "pack_that_was_not_used_is_destroyed");
	told("", "without_a_call");
	ok(cudnnBackendExecute(handle, plan, pack) && cudnnBackendDestroyDescriptor(pack) &&
	   SET(pack, VARIANT_PACK_UNIQUE_IDS, INT64, 1, ids) && cudnnBackendFinalize(pack),
	   "destroyed_pack_is_refused");
	got = packed(&value, X, Y);
	ok(got != pack && cudnnBackendFinalize(pack), "also_when_its_memory_serves_again");
	ok(cudnnBackendExecute(handle, got, got) && cudnnBackendExecute(handle, tensor, got),
	   "pack_and_what_is_no_descriptor_are_no_plan");
	cudnnBackendDestroyDescriptor(got);
	got = make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
	ok_eq(cudnnBackendSetAttribute(got, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS,
				       (cudnnBackendAttributeType_t)77, 1, ids),
	      CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "bad_type_is_refused_at_once");
	news();
	SET(got, VARIANT_PACK_UNIQUE_IDS, INT64, 3, ids);
	SET(got, TENSOR_DIMENSIONS, INT64, 3, ids);
	told("set attribute 1000 type=3 count=3|set attribute 902 type=3 count=3",
	     "other_attribute_is_the_librarys_to_judge");
	cudnnBackendDestroyDescriptor(got);
}

/*
 * Did the program have to wait? The fake holds an execution until this program writes to
 * its workspace.
 */
static int waited_for(cudnnBackendDescriptor_t plan, void *second, float *here)
{
	float hold = HOLD;
	int waited;

	*(volatile float *)here = 0;
	if (execute_once(plan, &hold, second, here))
		return -1;
	waited = *(volatile float *)here != 0;
	*(volatile float *)here = 1;
	hold = 0;
	cuCtxSynchronize();
	return waited;
}

static void test_posted_pack(void)
{
	cudnnBackendDescriptor_t plan = make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
	const char *transport = getenv("WORMHOLE_TRANSPORT");
	const int shm = !transport || strcmp(transport, "loopback");
	float *here, fail = FAIL, value;
	const char *p, *at;
	char *x = X, want[16];
	int i, bad = 0;

	cuMemHostAlloc((void **)&here, 4096, 0);
	ok_eq(waited_for(plan, x, here), 1, "first_execution_is_waited_for");
	ok_eq(waited_for(plan, x, here), !shm, "over_shm_the_next_one_of_a_plan_is_not");
	ok_eq(waited_for(plan, x + 4096 * 5, here), !shm, "nor_is_one_of_other_memory");
	ok_eq(waited_for(plan, x + 4, here), 1, "one_of_other_alignment_is_waited_for");
	ok_eq(waited_for(plan, here + 512, here), 1, "one_with_pinned_memory_is_waited_for");
	ok_eq(waited_for(plan, here + 512, here), 1, "each_time");
	ok_eq(waited_for(plan, x, here), !shm, "and_changes_nothing_for_others");
	news();
	for (i = 0; i < 30; i++) {
		value = i;
		bad += execute_once(plan, &value, X, Y);
	}
	for (p = news(), i = 0; i < 30; i++, p = at ? at + 1 : p) {
		snprintf(want, sizeof(want), "value=%d|", i);
		at = strstr(p, want);
		bad += !at;
	}
	ok_eq(bad, 0, "packs_are_executed_in_order_each_with_its_value");
	ok_eq(execute_once(plan, &fail, NULL, Y), 1, "failure_of_a_new_kind_comes_at_once");
	cudnnBackendDestroyDescriptor(plan);
	ok_eq(execute_once(plan, &fail, X, Y), 1, "destroyed_plan_is_refused_at_once");
}

static void test_many_pointers(void)
{
	cudnnBackendDescriptor_t plan = make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
	cudnnBackendDescriptor_t pack = make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
	static cudnnBackendDescriptor_t many[4106];
	float value = 7.5;
	int64_t ids[1000];
	void *p[1000];
	int i, bad = 0;

	for (i = 0; i < 1000; i++) {
		ids[i] = i;
		p[i] = i ? X : (void *)&value;
	}
	SET(pack, VARIANT_PACK_UNIQUE_IDS, INT64, 1000, ids);
	SET(pack, VARIANT_PACK_DATA_POINTERS, VOID_PTR, 1000, p);
	news();
	ok(!cudnnBackendFinalize(pack) && !cudnnBackendExecute(handle, plan, pack) &&
	   strstr(news(), "value=7.5"), "pack_of_a_thousand_pointers_is_executed");
	cudnnBackendDestroyDescriptor(pack);
	for (i = 0; i < 256; i++)
		p[i] = &value;
	pack = make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
	SET(pack, VARIANT_PACK_UNIQUE_IDS, INT64, 256, ids);
	SET(pack, VARIANT_PACK_DATA_POINTERS, VOID_PTR, 256, p);
	ok(!cudnnBackendFinalize(pack) && !cudnnBackendExecute(handle, plan, pack) &&
	   strstr(news(), "value=7.5"), "pack_of_as_many_values_as_travel_is_executed");
	for (i = 0; i < 4106; i++)
		bad += !(many[i] = make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR));
	for (i = 0; i < 4106; i++)
		bad += !!cudnnBackendDestroyDescriptor(many[i]);
	news();
	ok(!bad, "more_packs_than_are_kept_are_made");
}

/* --- Fused operations --------------------------------------------------------- */

static void test_fused(void)
{
	cudnnFusedOpsPointerPlaceHolder_t place = CUDNN_PTR_16B_ALIGNED, got = 0;
	cudnnFusedOpsVariantParamPack_t v;
	cudnnFusedOpsConstParamPack_t c;
	size_t size = 1234, back = 0;
	void *data = NULL;
	int is_null = 5;

	cudnnCreateFusedOpsConstParamPack(&c, 0);
	cudnnCreateFusedOpsVariantParamPack(&v, 0);
	cudnnSetTensor4dDescriptor(tensor, 0, CUDNN_DATA_HALF, 1, 1, 1, 1);
	news();
	cudnnSetFusedOpsConstParamPackAttribute(c, CUDNN_PARAM_XDESC, tensor);
	/*
	 * The library may change the descriptor there, so the worker makes one for this pack
	 * alone.
	 */
	told("set tensor nd type=0 n=5 last=6/1|set tensor format=0 type=2 1 1 1 1|"
	     "fused tensor type=2", "label_of_a_descriptor_takes_a_descriptor");
	cudnnSetFusedOpsConstParamPackAttribute(c, CUDNN_PARAM_XDATA_PLACEHOLDER, &place);
	told("fused word 2", "label_of_a_number_takes_its_bytes");
	cudnnGetFusedOpsConstParamPackAttribute(c, CUDNN_PARAM_XDATA_PLACEHOLDER, &got, &is_null);
	ok(got == CUDNN_PTR_16B_ALIGNED && is_null == 0, "and_gives_them_back");
	cudnnSetFusedOpsVariantParamPackAttribute(v, CUDNN_PTR_XDATA, X);
	cudnnGetFusedOpsVariantParamPackAttribute(v, CUDNN_PTR_XDATA, &data);
	ok(data == X, "label_of_data_takes_a_device_address");
	cudnnSetFusedOpsVariantParamPackAttribute(v, CUDNN_SCALAR_SIZE_T_WORKSPACE_SIZE_IN_BYTES,
						  &size);
	cudnnGetFusedOpsVariantParamPackAttribute(v, CUDNN_SCALAR_SIZE_T_WORKSPACE_SIZE_IN_BYTES,
						  &back);
	ok_eq(back, 1234, "label_of_a_size_takes_its_bytes");
	ok_eq(cudnnSetFusedOpsVariantParamPackAttribute(v, (cudnnFusedOpsVariantParamLabel_t)50, X),
	      CUDNN_STATUS_BAD_PARAM, "label_that_is_none_is_refused");
}

/* For cudnn_requests_test.sh: makes @n executions of one plan, each with a pack of its own. */
static int requests(int n)
{
	cudnnBackendDescriptor_t plan;
	float value = 1;
	int bad;

	bad = cudnnCreate(&handle);
	bad += !!cuMemAddressReserve(&(CUdeviceptr) { 0 }, 2 << 20, 0, DEVICE, 0);
	plan = make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
	for (; n; n--)
		bad += execute_once(plan, &value, n % 2 ? X : Y, NULL);
	return bad;
}

int main(int argc, char **argv)
{
	if (argc == 3)
		return requests(atoi(argv[2]));
	test_library();
	test_handles();
	test_scales();
	test_arrays();
	test_sequences();
	test_bad_descriptors();
	test_attributes();
	test_variant_pack();
	test_kept_pack();
	test_posted_pack();
	test_many_pointers();
	test_fused();
	return tap_exit();
}
