/* Pages of HTML: one self-contained file each, with its data as JSON inside. Their sources are
 * cli/pages/NAME.html and what it includes; tools/gen_pages writes NAME_page.c. */
#ifndef HONE_CLI_PAGE_H
#define HONE_CLI_PAGE_H

#include "cli_value.h"

typedef struct cli_page {
    const char *const *head, *const *tail; /* lines before and after the data; NULL at the end */
} cli_page;
extern const cli_page profile_page, view_page;

/* The whole page into `out`. `json` is one JSON value. Names in it come from files of strangers:
 * nothing in it can end the element that holds it. */
void page_print(const cli_page *page, const cli_buffer *json, cli_buffer *out);
/* The same to a file, which is replaced as a whole, or to stdout: "-". Reports errors; the exit
 * status. */
int page_save(const cli_page *page, const cli_buffer *json, const char *path);
/* Shows a file in the user's browser. Reports errors; the exit status. */
int page_open(const char *path);

#endif /* HONE_CLI_PAGE_H */
