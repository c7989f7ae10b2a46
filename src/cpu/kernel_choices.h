/* Which of several kernels does a piece of work, as it was measured on a processor: a table that
 * lives in a text file, a line per choice. Nothing in a file is trusted: a line that is not
 * understood is left out, and a kernel that cannot do the work is not taken. */
#ifndef HN_KERNEL_CHOICES_H
#define HN_KERNEL_CHOICES_H

#include "ir/ir.h"
#include "cpu/kernels/conv_nhwc/conv_nhwc.h"

enum { HN_NO_METHOD = -1 };

/* Convolutions of the same sizes. */
typedef struct hn_kernel_choice {
    const char *sizes; /* as the file has them */
    int method;        /* hn_conv_nhwc_method, or HN_NO_METHOD */
    const char *times; /* what was measured, for people: "product 52.1, winograd 31.0" */
    uint32_t n_nodes;  /* that asked; 0: it stands in the file only, and what follows is not set */
    hn_id first_node;
    const char *first_name;
    hn_window window;
    hn_conv_nhwc_job job; /* sizes, and as method what the sizes alone suggest */
} hn_kernel_choice;

/* For work on that many threads. NULL: no memory. */
typedef struct hn_kernel_choices hn_kernel_choices;
hn_kernel_choices *hn_kernel_choices_new(const hone_allocator *a, int n_threads);
void hn_kernel_choices_free(hn_kernel_choices *c); /* NULL is fine */

/* Adds the lines of a file. HONE_E_IO: it cannot be read. HONE_E_FORMAT: it is no list of choices.
 * HONE_E_UNSUPPORTED: it was made for another processor, or by another version. */
hone_status hn_kernel_choices_read(hn_kernel_choices *c, const char *path, hone_error *err);
uint32_t hn_kernel_choices_n_skipped(const hn_kernel_choices *c); /* lines, so far */
hone_status hn_kernel_choices_write(const hn_kernel_choices *c, const char *path, hone_error *err);
/* Equal numbers: equal choices. */
uint64_t hn_kernel_choices_hash(const hn_kernel_choices *c);

/* Replaces job->method where the table has a choice that can do it, and remembers who asked. Safe
 * from several threads at once; the sizes of the map must be known. */
hone_status hn_kernel_choices_ask(hn_kernel_choices *c, hn_id node, const char *name,
                                  hn_conv_nhwc_job *job);

uint32_t hn_kernel_choices_n(const hn_kernel_choices *c);
hn_kernel_choice *hn_kernel_choices_at(const hn_kernel_choices *c, uint32_t i);
/* `times` is copied. */
hone_status hn_kernel_choices_set(hn_kernel_choices *c, hn_kernel_choice *choice, int method,
                                  const char *times);

#endif /* HN_KERNEL_CHOICES_H */
