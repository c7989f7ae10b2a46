#include "data/text_utf8.h"

#include <stdbool.h>

/* Overlong forms, surrogates and what lies above the last character are invalid. */
static bool is_scalar(uint32_t c, size_t n_more) {
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    return c >= least[n_more] && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff);
}

uint32_t text_next(const char **at, const char *end) {
    unsigned char lead = (unsigned char)*(*at)++;
    size_t n_more = lead < 0x80 ? 0 : lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
    uint32_t c = n_more == 0 ? lead : lead & (0x3fu >> n_more);
    if (lead >= 0xf8 || (lead >= 0x80 && lead < 0xc2))
        return TEXT_INVALID;
    for (size_t i = 0; i < n_more; i++) {
        if (*at == end || ((unsigned char)**at & 0xc0) != 0x80)
            return TEXT_INVALID;
        c = c << 6 | ((unsigned char)*(*at)++ & 0x3f);
    }
    return is_scalar(c, n_more) ? c : TEXT_INVALID;
}

size_t text_put_utf8(uint32_t c, char out[4]) {
    static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n; i-- > 1; c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(leads[n] | c);
    return n;
}
