/* SPDX-License-Identifier: Apache-2.0 */
/* The variable by which the server tells its processes the UUIDs of its devices. */
#ifndef WORMHOLE_STATE_DEVICES_H
#define WORMHOLE_STATE_DEVICES_H

#define WH_DEVICES_VARIABLE	"WORMHOLE_DEVICE_UUIDS"	/* "UUID,UUID,...", by their numbers */

#endif
