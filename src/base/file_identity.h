/* Which mapped files a later process can identify without reading them. */
#ifndef HN_FILE_IDENTITY_H
#define HN_FILE_IDENTITY_H

#include "base/base.h"

/* True when any change of the file would change its identity, also one by a process that has it
 * mapped: on some file systems, when it has not changed for a while. */
bool hn_filemap_tells_changes(const hn_filemap *map);

#endif /* HN_FILE_IDENTITY_H */
