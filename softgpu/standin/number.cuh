/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real and complex numbers for the kernels of a stand-in: one template serves all four element
 * types. conj() and re() of a real number are the number itself.
 */
#ifndef WORMHOLE_SOFTGPU_NUMBER_H
#define WORMHOLE_SOFTGPU_NUMBER_H

template <class R> struct complex { R re, im; };

template <class T> struct number { typedef T real; };
template <class R> struct number<complex<R> > { typedef R real; };

#define FN static __device__ inline
#define BINARY(op) \
template <class R> FN complex<R> operator op(complex<R> a, complex<R> b) \
{ return complex<R>{ a.re op b.re, a.im op b.im }; }

BINARY(+)
BINARY(-)

template <class R> FN complex<R> operator*(complex<R> a, complex<R> b)
{
	return complex<R>{ a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re };
}

template <class R> FN complex<R> operator*(R a, complex<R> b)
{
	return complex<R>{ a * b.re, a * b.im };
}

/* The product with a real number on the right would be ambiguous, so it has a name. */
FN float scaled(float a, float s) { return a * s; }
FN double scaled(double a, double s) { return a * s; }
template <class R> FN complex<R> scaled(complex<R> a, R s)
{
	return complex<R>{ a.re * s, a.im * s };
}

FN float conj(float a) { return a; }
FN double conj(double a) { return a; }
template <class R> FN complex<R> conj(complex<R> a) { return complex<R>{ a.re, -a.im }; }

FN float re(float a) { return a; }
FN double re(double a) { return a; }
template <class R> FN R re(complex<R> a) { return a.re; }

FN float im(float) { return 0; }
FN double im(double) { return 0; }
template <class R> FN R im(complex<R> a) { return a.im; }

/* The square of the magnitude, in double so that squares of floats neither overflow nor vanish. */
FN double square(float a) { return (double)a * a; }
FN double square(double a) { return a * a; }
template <class R> FN double square(complex<R> a) { return square(a.re) + square(a.im); }

FN float magnitude(float a) { return fabsf(a); }
FN double magnitude(double a) { return fabs(a); }
template <class R> FN R magnitude(complex<R> a) { return (R)hypot((double)a.re, (double)a.im); }

template <class T> struct maker
{
	static __device__ T of(T r, T) { return r; }
};
template <class R> struct maker<complex<R> >
{
	static __device__ complex<R> of(R r, R i) { return complex<R>{ r, i }; }
};

template <class T> FN T make(typename number<T>::real r, typename number<T>::real i)
{
	return maker<T>::of(r, i);
}

template <class T> FN T real(typename number<T>::real r) { return make<T>(r, 0); }

FN float over(float a, float b) { return a / b; }
FN double over(double a, double b) { return a / b; }
/* Divides by the larger part of @b first, so that no square of it overflows. */
template <class R> FN complex<R> over(complex<R> a, complex<R> b)
{
	bool tall = fabs(b.re) >= fabs(b.im);
	R q = tall ? b.im / b.re : b.re / b.im;
	R d = tall ? b.re + b.im * q : b.re * q + b.im;

	if (tall)
		return complex<R>{ (a.re + a.im * q) / d, (a.im - a.re * q) / d };
	return complex<R>{ (a.re * q + a.im) / d, (a.im * q - a.re) / d };
}

FN float eps_of(float) { return 1.1920929e-7f; }
FN double eps_of(double) { return 2.220446049250313e-16; }

/* A sum over the lanes of a warp, which all of them get. */
FN float warp_sum(float v)
{
	for (int d = 16; d; d /= 2)
		v += __shfl_xor_sync(~0u, v, d);
	return v;
}

FN double warp_sum(double v)
{
	for (int d = 16; d; d /= 2)
		v += __shfl_xor_sync(~0u, v, d);
	return v;
}

template <class R> FN complex<R> warp_sum(complex<R> v)
{
	return complex<R>{ warp_sum(v.re), warp_sum(v.im) };
}

#endif
