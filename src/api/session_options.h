/* Conversion of the caller's session options. */
#ifndef HN_SESSION_OPTIONS_H
#define HN_SESSION_OPTIONS_H

#include "api/value_int.h"
#include "plan/plan.h"

/* Defaults, overridden by the caller's options; theirs may be NULL. */
hone_status hn_api_session_options(hone_session_options *ours, const hone_session_options *theirs,
                                   hone_error *error);
hn_program_options hn_api_program_options(const hone_session_options *o);

#endif /* HN_SESSION_OPTIONS_H */
