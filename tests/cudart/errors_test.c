// SPDX-License-Identifier: Apache-2.0
// The test promises that names and texts of the runtime's errors agree with the header and, where
// the toolkit is installed, with its own libcudart.so.13. It needs no device.
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>
#include "../tap.h"

typedef const char *text_fn(cudaError_t);

static text_fn *open_fn(const char *path, const char *name)
{
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!lib) {
		diag("%s", dlerror());
		return NULL;
	}
	return (text_fn *)dlsym(lib, name);
}

/* Compares the codes of both libraries, and of the gaps between them. */
static int differences(text_fn *ours, text_fn *theirs)
{
	int code, n = 0;

	for (code = -1; code < 10100; code++) {
		if (strcmp(ours(code), theirs(code))) {
			diag("%d: \"%s\", expected \"%s\"", code, ours(code), theirs(code));
			n++;
		}
	}
	return n;
}

static void test_against(const char *toolkit, const char *lib, const char *fn, const char *name)
{
	text_fn *ours = open_fn(lib, fn), *theirs = NULL;

	if (toolkit && *toolkit)
		theirs = open_fn(toolkit, fn);
	if (!theirs)
		skip(name, "the toolkit's libcudart.so.13 is not here");
	else
		ok(ours && !differences(ours, theirs), name);
}

int main(void)
{
	const char *lib = getenv("WH_CUDART"), *toolkit = getenv("WH_TOOLKIT_CUDART");
	text_fn *name, *text;

	tap_plan(5);
	name = open_fn(lib, "cudaGetErrorName");
	text = open_fn(lib, "cudaGetErrorString");
	if (!ok(name && text, "the_library_loads_without_a_driver"))
		return tap_exit();
	ok(!strcmp(name(cudaErrorLaunchFailure), "cudaErrorLaunchFailure") &&
	   !strcmp(text(cudaErrorLaunchFailure), "unspecified launch failure"),
	   "an_error_has_its_name_and_text");
	ok(!strcmp(name((cudaError_t)10), "unrecognized error code") &&
	   !strcmp(text((cudaError_t)-5), "unrecognized error code"),
	   "a_code_without_error_is_called_so");
	test_against(toolkit, lib, "cudaGetErrorName",
		"every_name_is_that_of_the_toolkits_library");
	test_against(toolkit, lib, "cudaGetErrorString",
		"every_text_is_that_of_the_toolkits_library");
	return tap_exit();
}
