// SPDX-License-Identifier: Apache-2.0
/*
 * cuLink*: linking on request. The inputs must hold PTX. The resulting "cubin" is the
 * joined PTX text, which every load function accepts.
 */
#include <stdlib.h>
#include <string.h>

#include "driver.h"

static void link_free(struct sgpu_link *l)
{
	sgpu_images_free(&l->parts);
	free(l->out);
	free(l->options);
	sgpu_obj_free(l);
}

static CUresult link_create(const struct sgpu_jit *jit, CUlinkState *out)
{
	struct sgpu_link *l;
	CUresult rc = out ? sgpu_jit_check(jit) : CUDA_ERROR_INVALID_VALUE;

	if (rc)
		return rc;
	l = sgpu_obj_new(SGPU_LINK);
	if (!l)
		return CUDA_ERROR_OUT_OF_MEMORY;
	l->options = calloc(jit->n + 1, sizeof(*l->options));
	if (!l->options) {
		link_free(l);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (jit->n)
		memcpy(l->options, jit->options, jit->n * sizeof(*l->options));
	l->njit = jit->n;
	l->values = jit->values;
	*out = (CUlinkState)l;
	return CUDA_SUCCESS;
}

CUresult cuLinkCreate_v2(unsigned int n, CUjit_option *options, void **values,
			 CUlinkState *out)
{
	struct sgpu_jit jit = { n, options, values };
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside(&ctx);

	return rc ? rc : sgpu_leave(link_create(&jit, out));
}

CUresult cuLinkCreate(unsigned int n, CUjit_option *options, void **values,
		      CUlinkState *out)
	__attribute__((alias("cuLinkCreate_v2")));

static CUresult enter_link(CUlinkState handle, bool args_ok,
			   struct sgpu_link **l)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside(&ctx);

	if (rc)
		return rc;
	*l = sgpu_obj_get(SGPU_LINK, handle);
	if (!*l)
		return sgpu_leave(CUDA_ERROR_INVALID_HANDLE);
	return args_ok ? CUDA_SUCCESS : sgpu_leave(CUDA_ERROR_INVALID_VALUE);
}

/* Adds the best text of an image, and frees the image's other texts. */
static CUresult link_add(struct sgpu_link *l, CUjitInputType type,
			 const void *data, size_t size)
{
	struct sgpu_images images;
	CUresult rc;

	if (type != CU_JIT_INPUT_PTX && type != CU_JIT_INPUT_FATBINARY)
		return (unsigned int)type < CU_JIT_NUM_INPUT_TYPES ?
		       CUDA_ERROR_NO_BINARY_FOR_GPU : CUDA_ERROR_INVALID_VALUE;
	if (l->out)
		return CUDA_ERROR_INVALID_VALUE;
	rc = sgpu_images_find(data, size, &images);
	if (rc)
		return rc;
	rc = sgpu_images_add(&l->parts, &images.image[0]);
	images.image[0].text = NULL;	/* the list owns it now */
	sgpu_images_free(&images);
	return rc;
}

CUresult cuLinkAddData_v2(CUlinkState handle, CUjitInputType type, void *data,
			  size_t size, const char *name, unsigned int n,
			  CUjit_option *options, void **values)
{
	struct sgpu_jit jit = { n, options, values };
	struct sgpu_link *l;
	CUresult rc = enter_link(handle, data && size, &l);

	(void)name;
	if (rc)
		return rc;
	rc = sgpu_jit_check(&jit);
	return sgpu_leave(rc ? rc : link_add(l, type, data, size));
}

CUresult cuLinkAddData(CUlinkState handle, CUjitInputType type, void *data,
		       size_t size, const char *name, unsigned int n,
		       CUjit_option *options, void **values)
	__attribute__((alias("cuLinkAddData_v2")));

CUresult cuLinkAddFile_v2(CUlinkState handle, CUjitInputType type,
			  const char *path, unsigned int n,
			  CUjit_option *options, void **values)
{
	struct sgpu_jit jit = { n, options, values };
	struct sgpu_link *l;
	char *data = NULL;
	size_t size;
	CUresult rc = enter_link(handle, path, &l);

	if (rc)
		return rc;
	rc = sgpu_jit_check(&jit);
	if (!rc)
		rc = sgpu_file_read(path, &data, &size);
	if (!rc)
		rc = link_add(l, type, data, size);
	free(data);
	return sgpu_leave(rc);
}

CUresult cuLinkAddFile(CUlinkState handle, CUjitInputType type,
		       const char *path, unsigned int n, CUjit_option *options,
		       void **values)
	__attribute__((alias("cuLinkAddFile_v2")));

/* Joins the texts, and loads the result once to find errors. */
static CUresult link_complete(struct sgpu_link *l, struct sgpu_image *joined)
{
	struct sgpu_jit jit = { l->njit, l->options, l->values };
	char log[SGPU_LOG_LEN] = "";
	struct sgpu_module *mod;
	CUresult rc;

	if (!l->parts.n)
		return CUDA_ERROR_INVALID_VALUE;
	rc = sgpu_join(l->parts.image, l->parts.n, joined);
	if (rc)
		return rc;
	rc = sgpu_module_load(NULL, NULL, joined, &mod, log);
	sgpu_jit_report(&jit, rc ? log : "");
	if (rc)
		free(joined->text);
	else
		sgpu_module_free(mod);
	return rc;
}

CUresult cuLinkComplete(CUlinkState handle, void **out, size_t *size)
{
	struct sgpu_image joined;
	struct sgpu_link *l;
	CUresult rc = enter_link(handle, out, &l);

	if (rc)
		return rc;
	if (l->out)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	rc = link_complete(l, &joined);
	if (!rc) {
		*out = l->out = joined.text;	/* it lives as long as the link state */
		if (size)
			*size = joined.len + 1;
	}
	return sgpu_leave(rc);
}

CUresult cuLinkDestroy(CUlinkState handle)
{
	struct sgpu_link *l;
	CUresult rc = enter_link(handle, true, &l);

	if (rc)
		return rc;
	link_free(l);
	return sgpu_leave(CUDA_SUCCESS);
}
