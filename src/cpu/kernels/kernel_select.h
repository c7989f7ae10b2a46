/* Inside and above cpu/kernels: the tables of instruction sets and kernels, and which kernels run
 * on this processor: the best that it has, that the operating system saves, and that HONE_CPU
 * admits. */
#ifndef HN_KERNEL_SELECT_H
#define HN_KERNEL_SELECT_H

#include "base/base.h"

#define HN_ON_ANY 1
#if defined(__x86_64__)
#  define HN_ON_X86_64 1
#else
#  define HN_ON_X86_64 0
#endif
#if defined(__aarch64__)
#  define HN_ON_AARCH64 1
#else
#  define HN_ON_AARCH64 0
#endif

/* Rows of isas.def. */
typedef enum hn_isa {
#define HN_ISA(id, name, architecture, features) HN_ISA_##id,
#include "cpu/kernels/isas.def"
#undef HN_ISA
    HN_ISA_COUNT
} hn_isa;
const char *hn_isa_name(hn_isa isa);              /* as HONE_CPU spells it */
bool hn_isa_is_in(hn_isa isa, uint64_t cpu_mask); /* can such a processor run it? */
static inline bool hn_isa_is_available(hn_isa isa) {
    return hn_isa_is_in(isa, hn_cpu_mask());
}

/* Rows of kernel_families.def. */
typedef enum hn_kernel_family {
#define HN_KERNEL_FAMILY(family, type, pick, summary) HN_FAMILY_##family,
#include "cpu/kernels/kernel_families.def"
#undef HN_KERNEL_FAMILY
    HN_FAMILY_COUNT
} hn_kernel_family;
const char *hn_kernel_family_name(hn_kernel_family family);
const char *hn_kernel_family_summary(hn_kernel_family family);

/* Rows of kernels.def. */
#define HN_KERNEL_EXACT 1u /* gives the same bytes as the other kernels of its family */
typedef struct hn_kernel {
    hn_kernel_family family;
    const char *function;
    hn_isa isa;
    const char *types, *tile;
    unsigned flags;
} hn_kernel;
const hn_kernel *hn_kernel_row(uint32_t row); /* NULL past the last */
/* The kernel of the family that runs here; NULL: none does. */
const hn_kernel *hn_kernel_picked(hn_kernel_family family);

/* Kernels are picked once, at the first use, for hn_cpu_mask(). Tests pick again for a processor
 * that has less, while nobody uses a kernel. */
void hn_kernels_pick_for(uint64_t cpu_mask);

#endif /* HN_KERNEL_SELECT_H */
