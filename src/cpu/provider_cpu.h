/* The provider cpu: the processor that the program runs on. */
#ifndef HN_PROVIDER_CPU_H
#define HN_PROVIDER_CPU_H

#include "plan/plan.h"

extern const hn_provider hn_cpu_provider;

#endif /* HN_PROVIDER_CPU_H */
