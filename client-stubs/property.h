/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NAMEGetProperty() returns the major, minor and patch number of the worker's library. Each is
 * asked for once. The libraries' functions differ only in the type of their status, of which 0
 * is success.
 */
#ifndef WORMHOLE_PROPERTY_H
#define WORMHOLE_PROPERTY_H

#include <library_types.h>

#define WH_GET_PROPERTY(status, name, invalid)						\
status name(libraryPropertyType type, int *value)					\
{											\
	static int known[PATCH_LEVEL + 1], answer[PATCH_LEVEL + 1];			\
	status res;									\
											\
	if (!value || (unsigned int)type > PATCH_LEVEL)					\
		return invalid;								\
	if (!__atomic_load_n(&known[type], __ATOMIC_ACQUIRE)) {				\
		res = wh_raw_##name(type, &answer[type]);				\
		if (res)								\
			return res;							\
		__atomic_store_n(&known[type], 1, __ATOMIC_RELEASE);			\
	}										\
	*value = answer[type];								\
	return (status)0;								\
}

#endif
