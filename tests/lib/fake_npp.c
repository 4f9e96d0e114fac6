// SPDX-License-Identifier: Apache-2.0
/*
 * An NPP that writes down what it is told: a few functions, whose parameters come in every way that
 * the calling convention has. It lacks all others.
 */
#include <npp.h>

#include "fake_library.h"

static const char *in(NppStreamContext ctx)
{
	static char text[64];

	snprintf(text, sizeof(text), "stream=%s device=%d sms=%d flags=%u", ctx.hStream ? "own" : "0",
		 ctx.nCudaDeviceId, ctx.nMultiProcessorCount, ctx.nStreamFlags);
	return text;
}

const NppLibraryVersion *nppGetLibVersion(void)
{
	static const NppLibraryVersion version = { 13, 7, 42 };

	note("version");
	return &version;
}

/* Integers in registers and behind them on the stack, and an array in host memory. */
NppStatus nppiAddC_8u_C3RSfs_Ctx(const Npp8u *from, int from_step, const Npp8u c[3], Npp8u *to,
				 int to_step, NppiSize size, int scale, NppStreamContext ctx)
{
	note("add %d,%d,%d %p,%d to %p,%d %dx%d scale=%d %s", c[0], c[1], c[2], (void *)from,
	     from_step, (void *)to, to_step, size.width, size.height, scale, in(ctx));
	return NPP_NO_ERROR;
}

/* A number of floating point. */
NppStatus nppiMulC_32f_C1R_Ctx(const Npp32f *from, int from_step, const Npp32f c, Npp32f *to,
			       int to_step, NppiSize size, NppStreamContext ctx)
{
	note("multiply by %g %p,%d to %p,%d %dx%d %s", c, (void *)from, from_step, (void *)to,
	     to_step, size.width, size.height, in(ctx));
	return NPP_NO_ERROR;
}

/* Complex numbers: one in a register, and one in two. */
NppStatus nppsMulC_32fc_Ctx(const Npp32fc *from, Npp32fc c, Npp32fc *to, size_t n,
			    NppStreamContext ctx)
{
	note("multiply by %g+%gi %p to %p %zu %s", c.re, c.im, (void *)from, (void *)to, n, in(ctx));
	return NPP_NO_ERROR;
}

NppStatus nppsMulC_64fc_Ctx(const Npp64fc *from, Npp64fc c, Npp64fc *to, size_t n,
			    NppStreamContext ctx)
{
	note("multiply by %g+%gi %p to %p %zu %s", c.re, c.im, (void *)from, (void *)to, n, in(ctx));
	return NPP_NO_ERROR;
}

/* Structs of 16 bytes, of which the second has no registers any more. */
NppStatus nppiWarpAffine_8u_C1R_Ctx(const Npp8u *from, NppiSize size, int from_step, NppiRect roi,
				    Npp8u *to, int to_step, NppiRect to_roi, const double c[2][3],
				    int how, NppStreamContext ctx)
{
	note("warp %p,%d %dx%d %d,%d,%d,%d to %p,%d %d,%d,%d,%d by %g..%g how=%d %s", (void *)from,
	     from_step, size.width, size.height, roi.x, roi.y, roi.width, roi.height, (void *)to,
	     to_step, to_roi.x, to_roi.y, to_roi.width, to_roi.height, c[0][0], c[1][2], how,
	     in(ctx));
	return NPP_NO_ERROR;
}

/* An array of addresses in host memory. */
NppStatus nppiCopy_8u_P3C3R_Ctx(const Npp8u *const from[3], int from_step, Npp8u *to, int to_step,
				NppiSize size, NppStreamContext ctx)
{
	(void)ctx;
	note("join %p %p %p,%d to %p,%d %dx%d", (void *)from[0], (void *)from[1], (void *)from[2],
	     from_step, (void *)to, to_step, size.width, size.height);
	return NPP_NO_ERROR;
}

/* Results in host memory. */
NppStatus nppiMeanGetBufferHostSize_8u_C1R_Ctx(NppiSize size, size_t *bytes, NppStreamContext ctx)
{
	(void)ctx;
	note("size of %dx%d", size.width, size.height);
	if (!bytes)
		return NPP_NULL_POINTER_ERROR;
	*bytes = (size_t)size.width << 33;
	return size.height ? NPP_NO_ERROR : NPP_NO_OPERATION_WARNING;
}

NppStatus nppiFloodFill_8u_C1IR_Ctx(Npp8u *image, int step, NppiPoint seed, const Npp8u value,
				    NppiNorm norm, NppiSize size, NppiConnectedRegion *region,
				    Npp8u *work, NppStreamContext ctx)
{
	(void)ctx;
	note("fill %p,%d from %d,%d by %d norm=%d %dx%d work=%p", (void *)image, step, seed.x,
	     seed.y, value, norm, size.width, size.height, (void *)work);
	if (region)
		region->nConnectedPixelCount = 77;
	return NPP_NO_ERROR;
}

NppStatus nppiGetRotateBound(NppiRect roi, double box[2][2], double angle, double x, double y)
{
	note("bound %d,%d,%d,%d angle=%g", roi.x, roi.y, roi.width, roi.height, angle);
	box[0][0] = x;
	box[0][1] = y;
	box[1][0] = roi.width + x;
	box[1][1] = roi.height + y;
	return NPP_NO_ERROR;
}
