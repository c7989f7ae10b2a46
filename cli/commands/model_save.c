/* Writes a model, with the options that several commands share. */
#include "cli.h"

#include <string.h>

static int external_mode(const char *text, hone_external_data *mode) {
    if (!text || strcmp(text, "keep") == 0)
        *mode = HONE_EXTERNAL_KEEP;
    else if (!*text || strcmp(text, "always") == 0)
        *mode = HONE_EXTERNAL_ALWAYS;
    else if (strcmp(text, "never") == 0)
        *mode = HONE_EXTERNAL_NEVER;
    else
        return cli_fail("--external-data is always, never or keep, not '%s'", text);
    return EXIT_OK;
}

int cli_save_model(const hone_model *m, const cli_save_options *o) {
    hone_save_options save;
    hone_error error;
    hone_save_options_init(&save);
    if (external_mode(o->external, &save.external_data) != EXIT_OK)
        return EXIT_USAGE;
    if (o->threshold)
        save.external_threshold_bytes = o->threshold;
    if (o->alignment)
        save.external_alignment = o->alignment;
    save.external_file_name = o->external_file;
    cli_progress progress;
    cli_watch_interrupts();
    cli_progress_begin(&progress, "saving", NULL);
    save.progress = cli_progress_step;
    save.progress_ctx = &progress;
    hone_status status = hone_model_save(m, o->output, &save, &error);
    cli_progress_end(&progress);
    return status == HONE_OK ? EXIT_OK : cli_fail_error(&error);
}
