/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WORMHOLE_AUDIT_LIBRARY_SEARCHES_H
#define WORMHOLE_AUDIT_LIBRARY_SEARCHES_H

#include <link.h>

#include "../audit_searches.h"

/* Notes that a search for `asked` by the file `by` has ended at our library `name`. */
void searches_note(const char *name, const char *asked, const char *by);
/* Shows the list to our libcuda.so.1, which is mapped and not yet started. */
void searches_show(const struct link_map *map);

#endif
