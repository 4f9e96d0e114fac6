/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For libraries that work on several devices in one call. They make each device's primary context
 * current by themselves.
 */
#ifndef WORMHOLE_LIBRARIES_SEVERAL_H
#define WORMHOLE_LIBRARIES_SEVERAL_H

#include "session/handler.h"

/* Does the tenant have all these devices? Our client's libraries name no others. */
bool wh_several_are_tenants(const struct wh_session *s, const int32_t *device, uint32_t count);
/*
 * May the library work on them under the tenant's share of SMs? A part of the SMs belongs to a
 * context, which is not the one that the library takes. A share of time is measured and held on
 * the device of the call's context alone.
 */
bool wh_several_may_run(struct wh_session *s, const int32_t *device, uint32_t count);
/* Returns the call's own context, to which wh_several_back() returns. */
CUcontext wh_several_leave(struct wh_session *s);
void wh_several_back(struct wh_session *s, CUcontext ctx);
/*
 * Waits until these devices have done what the library gave them. Returns the first error. Another
 * context is current then.
 */
CUresult wh_several_wait(struct wh_session *s, const int32_t *device, uint32_t count);

#endif
