// SPDX-License-Identifier: Apache-2.0
/*
 * Names and descriptions of all result codes.
 */
#include "driver.h"

struct text {
	CUresult code;
	const char *name, *text;
};

#define E(code, text) { code, #code, text }

static const struct text texts[] = {
	E(CUDA_SUCCESS, "no error"),
};

static const struct text *find(CUresult code)
{
	for (unsigned int i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i].code == code)
			return &texts[i];
	return NULL;
}

CUresult cuGetErrorName(CUresult code, const char **out)
{
	const struct text *t = find(code);

	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	*out = t ? t->name : NULL;
	return t ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult code, const char **out)
{
	const struct text *t = find(code);

	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	*out = t ? t->text : NULL;
	return t ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
