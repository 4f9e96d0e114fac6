/* SPDX-License-Identifier: Apache-2.0 */
/* Which kind of call comes next, for C and CUDA. */
#ifndef WORMHOLE_SHARES_H
#define WORMHOLE_SHARES_H

/*
 * Each of n kinds has a share of `total`. Returns the kind with the largest debt, so that the
 * shares hold over any stretch.
 */
static inline int next_kind(long *debt, const long *share, int n, long total)
{
	int j, k = 0;

	for (j = 0; j < n; j++) {
		debt[j] += share[j];
		if (debt[j] > debt[k])
			k = j;
	}
	debt[k] -= total;
	return k;
}

#endif
