/* Names under which files are written before they get their own, and folders while files in them
 * change. */
#ifndef HN_TEMP_FILES_H
#define HN_TEMP_FILES_H

#include "base/base.h"

#define HN_TEMP_NAME_ROOM 40

/* A short name in the folder of `beside`: that file's own name with a suffix could be too long for
 * the file system. `out` has room for the folder and HN_TEMP_NAME_ROOM more bytes. */
void hn_temp_name(const char *beside, int attempt, char *out);
/* Creates and locks such a file; -1 and errno when it cannot be. */
int hn_temp_open(const char *beside, unsigned mode, char *name);
/* Removes those in the folder of `beside` that nobody writes any more: the rest of processes that
 * were killed. */
void hn_temp_remove_left(const char *beside);
/* Waits until the names in the folder of that path are on the disk, where that can be asked for. */
void hn_folder_sync(const char *inside);
/* Several files of the folder of that path change together: waits for others who do the same.
 * *lock is -1 where nothing can be locked. */
hone_status hn_folder_lock(const char *inside, int *lock, hone_error *err);
void hn_folder_unlock(int lock);

#endif /* HN_TEMP_FILES_H */
