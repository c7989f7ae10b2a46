/* Includes the file that HN_TEMPLATE names once for each type, with T the type and NAME(x) x_f32,
 * x_f64, ...: float and double, and with HN_TEMPLATE_INTS also uint32_t and uint64_t. No guard: it
 * is meant to be included again. */
#define TEMPLATE_PASTE(a, b) a##_##b
#define T float
#define NAME(x) TEMPLATE_PASTE(x, f32)
#include HN_TEMPLATE
#undef T
#undef NAME
#define T double
#define NAME(x) TEMPLATE_PASTE(x, f64)
#include HN_TEMPLATE
#undef T
#undef NAME
#ifdef HN_TEMPLATE_INTS
#  define T uint32_t
#  define NAME(x) TEMPLATE_PASTE(x, u32)
#  include HN_TEMPLATE
#  undef T
#  undef NAME
#  define T uint64_t
#  define NAME(x) TEMPLATE_PASTE(x, u64)
#  include HN_TEMPLATE
#  undef T
#  undef NAME
#  undef HN_TEMPLATE_INTS
#endif
#undef TEMPLATE_PASTE
#undef HN_TEMPLATE
