/* "Did you mean": finds the known word that is nearest to a misspelled one. */
#include "cli.h"

#include <string.h>

enum { LONGEST_WORD = 63 };

static size_t least_of(size_t a, size_t b) {
    return a < b ? a : b;
}

static char lower_case(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours; case does
 * not count. */
static size_t spelling_distance(const char *a, size_t n_a, const char *b, size_t n_b) {
    size_t rows[3][LONGEST_WORD + 1];
    size_t *before_last = rows[0], *last = rows[1], *row = rows[2];
    for (size_t k = 0; k <= n_b; k++)
        last[k] = k;
    for (size_t i = 1; i <= n_a; i++) {
        row[0] = i;
        for (size_t k = 1; k <= n_b; k++) {
            char x = lower_case(a[i - 1]), y = lower_case(b[k - 1]);
            row[k] = least_of(least_of(row[k - 1], last[k]) + 1, last[k - 1] + (x != y));
            if (i > 1 && k > 1 && x == lower_case(b[k - 2]) && y == lower_case(a[i - 2]))
                row[k] = least_of(row[k], before_last[k - 2] + 1);
        }
        size_t *reused = before_last;
        before_last = last;
        last = row;
        row = reused;
    }
    return last[n_b];
}

void cli_suggest(cli_suggestion *s, const char *known) {
    size_t n_word = s->n, n_known = strlen(known);
    if (n_word == 0 || n_word > LONGEST_WORD || n_known > LONGEST_WORD)
        return;
    size_t distance = spelling_distance(s->word, n_word, known, n_known);
    bool is_begun = (n_word >= 3 && strncmp(s->word, known, n_word) == 0) ||
                    (n_known >= 4 && strncmp(s->word, known, n_known) == 0);
    if (!is_begun && distance > (n_word < 4 ? 1 : n_word < 8 ? 2 : 3))
        return;
    if (!s->best || distance < s->distance) {
        s->best = known;
        s->distance = distance;
    }
}

const char *cli_suggestion_text(cli_suggestion *s, const char *dashes) {
    snprintf(s->text, sizeof s->text, ";");
    if (s->best)
        snprintf(s->text, sizeof s->text, "; did you mean '%s%s'?", dashes, s->best);
    return s->text;
}
