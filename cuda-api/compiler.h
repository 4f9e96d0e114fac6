/* SPDX-License-Identifier: Apache-2.0 */
/* What client and server tell the compiler about the path of a call. */
#ifndef WORMHOLE_COMPILER_H
#define WORMHOLE_COMPILER_H

/* For functions on the path of a short call: they are inlined, whatever else uses them. */
#define WH_INLINE	inline __attribute__((always_inline))
#define WH_LIKELY(x)	__builtin_expect(!!(x), 1)
#define WH_UNLIKELY(x)	__builtin_expect(!!(x), 0)

#endif /* WORMHOLE_COMPILER_H */
