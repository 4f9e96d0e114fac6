// SPDX-License-Identifier: Apache-2.0
/*
 * A cuDNN 9 that does nothing but say its version. As in NVIDIA's, its number comes from
 * a part (libcudnn_graph.so.9, made of this file with MINOR), which it looks for by name.
 * The patch number is 3 where a cublasLt is in the process, 4 where an NVRTC is, else 2.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef MINOR
int fake_minor(void);

int fake_minor(void)
{
	return MINOR;
}
#else

size_t cudnnGetVersion(void);
size_t cudnnGetMaxDeviceVersion(void);
size_t cudnnGetCudartVersion(void);
int cudnnGetProperty(int type, int *value);

static int minor(void)
{
	void *part = dlopen("libcudnn_graph.so.9", RTLD_LAZY | RTLD_LOCAL);
	int (*f)(void) = NULL;

	if (part)
		*(void **)&f = dlsym(part, "fake_minor");
	return f ? f() : 0;
}

static int patch(void)
{
	if (dlopen("libnvrtc.so.13", RTLD_LAZY | RTLD_NOLOAD))
		return 4;
	return dlopen("libcublasLt.so.13", RTLD_LAZY | RTLD_NOLOAD) ? 3 : 2;
}

size_t cudnnGetVersion(void)
{
	return 90000 + minor() * 100 + patch();
}

size_t cudnnGetMaxDeviceVersion(void)
{
	return 1030;
}

size_t cudnnGetCudartVersion(void)
{
	return 13000;
}

int cudnnGetProperty(int type, int *value)
{
	int numbers[] = { 9, minor(), patch() };

	if (getenv("FAKE_CRASH"))
		abort();
	*value = numbers[type];
	return 0;
}
#endif
