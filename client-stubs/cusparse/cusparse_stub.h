/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of the client's libcusparse.so.12. */
#ifndef WORMHOLE_CUSPARSE_STUB_H
#define WORMHOLE_CUSPARSE_STUB_H

#include "gen_cusparse_client.h"

#endif
