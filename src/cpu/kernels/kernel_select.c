/* Picks the kernels of this processor: one pass over kernels.def at the first use. From then on a
 * pick is two loads. */
#include "cpu/kernels/kernel_select.h"

#include <pthread.h>
#include <stdatomic.h>

#include "cpu/kernels/kernel_sets.h"

/* ---- instruction sets ------------------------------------------------------------------------ */

static const struct isa_row {
    const char *name;
    bool is_built; /* its kernels are compiled into this library */
    uint64_t features;
} isa_rows[HN_ISA_COUNT] = {
#define HN_CPU_BIT(id) (UINT64_C(1) << HN_CPU_##id)
#define HN_ISA(id, name, architecture, features) {name, architecture, features},
#include "cpu/kernels/isas.def"
#undef HN_ISA
#undef HN_CPU_BIT
};

const char *hn_isa_name(hn_isa isa) {
    return isa_rows[isa].name;
}

bool hn_isa_is_in(hn_isa isa, uint64_t cpu_mask) {
    const struct isa_row *row = &isa_rows[isa];
    return row->is_built && (cpu_mask & row->features) == row->features;
}

/* ---- kernels --------------------------------------------------------------------------------- */

static const struct family_row {
    const char *name, *summary;
} family_rows[HN_FAMILY_COUNT] = {
#define HN_KERNEL_FAMILY(family, type, pick, summary) {#family, summary},
#include "cpu/kernels/kernel_families.def"
#undef HN_KERNEL_FAMILY
};

static const hn_kernel kernel_rows[] = {
#define HN_KERNEL(family, function, isa, types, tile, flags) \
  {HN_FAMILY_##family, #function, HN_ISA_##isa, types, tile, flags},
#include "cpu/kernels/kernels.def"
#undef HN_KERNEL
};

const char *hn_kernel_family_name(hn_kernel_family family) {
    return family_rows[family].name;
}

const char *hn_kernel_family_summary(hn_kernel_family family) {
    return family_rows[family].summary;
}

const hn_kernel *hn_kernel_row(uint32_t row) {
    return row < HN_COUNT(kernel_rows) ? &kernel_rows[row] : NULL;
}

/* ---- the pick -------------------------------------------------------------------------------- */

/* The types of families, by which the compiler checks each row. */
#define HN_KERNEL_FAMILY(family, type, pick, summary) typedef type kernel_type_##family;
#include "cpu/kernels/kernel_families.def"
#undef HN_KERNEL_FAMILY

#define HN_KERNEL(family, function, isa, types, tile, flags) extern kernel_type_##family function;
#include "cpu/kernels/kernels.def"
#undef HN_KERNEL

/* is_built as a constant: compilers drop what names kernels of other architectures. */
enum {
#define HN_ISA(id, name, architecture, features) ISA_IS_BUILT_##id = architecture,
#include "cpu/kernels/isas.def"
#undef HN_ISA
};

static struct picked_kernels {
#define HN_KERNEL_FAMILY(family, type, pick, summary) kernel_type_##family *family;
#include "cpu/kernels/kernel_families.def"
#undef HN_KERNEL_FAMILY
} picked_kernels;
static const hn_kernel *picked_rows[HN_FAMILY_COUNT];
static atomic_bool kernels_are_picked;

void hn_kernels_pick_for(uint64_t cpu_mask) {
    struct picked_kernels best = {0};
    const hn_kernel *row = kernel_rows;
    memset(picked_rows, 0, sizeof picked_rows);
#define HN_KERNEL(family, function, isa, types, tile, flags)                        \
  if (ISA_IS_BUILT_##isa && !best.family && hn_isa_is_in(HN_ISA_##isa, cpu_mask)) { \
    best.family = &function;                                                        \
    picked_rows[HN_FAMILY_##family] = row;                                          \
  }                                                                                 \
  row++;
#include "cpu/kernels/kernels.def"
#undef HN_KERNEL
    picked_kernels = best;
}

static void pick_for_this_processor(void) {
    hn_kernels_pick_for(hn_cpu_mask());
    atomic_store_explicit(&kernels_are_picked, true, memory_order_release);
}

static inline void need_picked_kernels(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (!atomic_load_explicit(&kernels_are_picked, memory_order_acquire))
        pthread_once(&once, pick_for_this_processor);
}

const hn_kernel *hn_kernel_picked(hn_kernel_family family) {
    need_picked_kernels();
    return picked_rows[family];
}

#define HN_KERNEL_FAMILY(family, type, pick, summary) \
  type *pick(void) {                                  \
    need_picked_kernels();                            \
    return picked_kernels.family;                     \
  }
#include "cpu/kernels/kernel_families.def"
#undef HN_KERNEL_FAMILY
