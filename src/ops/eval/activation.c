/* The table of activations. */
#include "ops/activation.h"

#include <ctype.h>
#include <float.h>
#include <math.h>

#define ATTRIBUTE HN_ACT_ATTRIBUTE
#define FUSED_CONV HN_ACT_FUSED_CONV
#define FUSED_GEMM HN_ACT_FUSED_GEMM
#define NHWC HN_ACT_NHWC
#define RNN HN_ACT_RNN
static const hn_activation_row activation_rows[] = {
#define HN_ACTIVATION(name, n_params, attr_a, a, attr_b, b, is_limit, users) \
  {#name, n_params, {attr_a, attr_b}, {a, b}, is_limit, users},
#include "ops/activations.def"
#undef HN_ACTIVATION
};
#undef ATTRIBUTE
#undef FUSED_CONV
#undef FUSED_GEMM
#undef NHWC
#undef RNN

const hn_activation_row *hn_activation_at(hn_activation_id id) {
    return &activation_rows[id];
}

const hn_activation_row *hn_activation_find(hn_bytes name) {
    for (size_t i = 0; i < HN_COUNT(activation_rows); i++)
        if (name.n == strlen(activation_rows[i].name) &&
            memcmp(name.at, activation_rows[i].name, name.n) == 0)
            return &activation_rows[i];
    return NULL;
}

static bool same_word(hn_bytes word, const char *name) {
    const char *text = word.at;
    if (word.n != strlen(name))
        return false;
    for (uint64_t i = 0; i < word.n; i++)
        if (tolower((unsigned char)text[i]) != tolower((unsigned char)name[i]))
            return false;
    return true;
}

bool hn_activation_find_rnn(hn_bytes name, hn_activation_id *id) {
    for (size_t i = 0; i < HN_COUNT(activation_rows); i++)
        if (activation_rows[i].users & HN_ACT_RNN && same_word(name, activation_rows[i].name)) {
            *id = (hn_activation_id)i;
            return true;
        }
    return false;
}
