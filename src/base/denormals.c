/* The bits of the floating-point control register that flush denormals to zero. */
#include "base/base.h"

#if defined(__GNUC__) && defined(__x86_64__)

/* MXCSR: flush-to-zero for results, denormals-are-zero for operands. */
enum { FLUSH_BITS = 0x8040 };

static uint64_t read_control(void) {
    return __builtin_ia32_stmxcsr();
}
static void write_control(uint64_t control) {
    __builtin_ia32_ldmxcsr((unsigned)control);
}

#elif defined(__GNUC__) && defined(__aarch64__)

/* FPCR.FZ covers operands and results. */
enum { FLUSH_BITS = 1 << 24 };

static uint64_t read_control(void) {
    uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    return control;
}
static void write_control(uint64_t control) {
    __asm__ volatile("msr fpcr, %0" ::"r"(control));
}

#else

enum { FLUSH_BITS = 0 };

static uint64_t read_control(void) {
    return 0;
}
static void write_control(uint64_t control) {
    (void)control;
}

#endif

static void write_flush_bits(uint64_t before, uint64_t wanted) {
    uint64_t bits = FLUSH_BITS, after = (before & ~bits) | (wanted & bits);
    if (after != before)
        write_control(after);
}

hn_denormals hn_flush_denormals(bool flush) {
    uint64_t before = read_control();
    write_flush_bits(before, flush ? UINT64_MAX : 0);
    return before;
}

void hn_restore_denormals(hn_denormals before) {
    write_flush_bits(read_control(), before);
}
