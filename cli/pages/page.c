/* Puts data into a page, saves it, and shows it. */
#define _POSIX_C_SOURCE 200809L
#include "pages/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void add_page_lines(const char *const *lines, cli_buffer *out) {
    for (; *lines; lines++)
        cli_buffer_add(out, *lines, strlen(*lines));
}

/* In JSON a '<' stands within strings only, where an escape means the same. */
static void add_page_data(const cli_buffer *json, cli_buffer *out) {
    size_t begin = 0;
    for (size_t i = 0; i < json->n; i++) {
        if (json->at[i] != '<')
            continue;
        cli_buffer_add(out, json->at + begin, i - begin);
        cli_buffer_add(out, "\\u003c", 6);
        begin = i + 1;
    }
    if (json->n > begin)
        cli_buffer_add(out, json->at + begin, json->n - begin);
}

void page_print(const cli_page *page, const cli_buffer *json, cli_buffer *out) {
    out->failed |= json->failed;
    add_page_lines(page->head, out);
    add_page_data(json, out);
    add_page_lines(page->tail, out);
}

int page_save(const cli_page *page, const cli_buffer *json, const char *path) {
    cli_buffer text = {0};
    hone_error error;
    page_print(page, json, &text);
    bool is_stdout = strcmp(path, "-") == 0;
    int status = EXIT_OK;
    if (is_stdout && text.failed)
        status = cli_fail("out of memory");
    else if (is_stdout && !cli_write_stdout(NULL, (const char *)text.at, text.n))
        status = cli_fail("cannot write the page: %s", strerror(errno));
    else if (!is_stdout && !cli_file_write(path, &text, &error))
        status = cli_fail_error(&error);
    cli_buffer_free(&text);
    return status;
}

#ifdef __APPLE__
static const char opener[] = "open";
#else
static const char opener[] = "xdg-open";
#endif

int page_open(const char *path) {
    pid_t child = fork();
    int how = 0;
    if (child == 0) {
        execlp(opener, opener, path, (char *)NULL);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &how, 0) < 0)
        return cli_fail("cannot start %s: %s", opener, strerror(errno));
    if (WIFEXITED(how) && WEXITSTATUS(how) == 127)
        return cli_fail("%s is not installed; open %s in a browser", opener, path);
    return WIFEXITED(how) && WEXITSTATUS(how) == 0
               ? EXIT_OK
               : cli_fail("%s failed; open %s in a browser", opener, path);
}
