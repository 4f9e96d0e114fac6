// SPDX-License-Identifier: Apache-2.0
/* A cuDNN 9 of a minor version (MINOR) that does nothing but say so. */
#include <stdio.h>
#include <stdlib.h>

size_t cudnnGetVersion(void);
size_t cudnnGetMaxDeviceVersion(void);
size_t cudnnGetCudartVersion(void);
int cudnnGetProperty(int type, int *value);

size_t cudnnGetVersion(void)
{
	return 90000 + MINOR * 100 + 2;
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
	static const int numbers[] = { 9, MINOR, 2 };

	if (getenv("FAKE_CRASH"))
		abort();
	*value = numbers[type];
	return 0;
}
