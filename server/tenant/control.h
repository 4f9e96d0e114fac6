/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conventions between the server's control socket and the command. A request is one packet of JSON
 * with a member "op"; the answer has "ok", and "error" when that is false. docs/tenants.md has the
 * list.
 */
#ifndef WORMHOLE_CONTROL_H
#define WORMHOLE_CONTROL_H

#define WH_CONTROL_SOCKET	"control.sock"	/* in the server's folder */
#define WH_DEFAULT		"default"	/* the tenant of the server's own socket */
#define WH_CONTROL_PACKET	65536		/* bytes at most, both ways */
#define WH_CONTROL_ERROR	400

/*
 * Suffix of a note beside a tenant's files: where its specification for containers is (`wormhole
 * cdi`).
 */
#define WH_CDI_NOTE	".cdi"

#endif
