/* The report of hone quantize as text. */
#ifndef HONE_CLI_QUANTIZE_REPORT_H
#define HONE_CLI_QUANTIZE_REPORT_H

#include "cli.h"

/* A summary, and with `explain` every layer, those that lose most first. */
void print_quantization(const hone_quantization *q, const char *model, const char *output,
                        bool explain);

#endif /* HONE_CLI_QUANTIZE_REPORT_H */
