/* Lowering of Clip. */
#include "cpu/lower/lower.h"
#include "ops/eval/onnx/clip_eval.h"

typedef struct clip_step {
    hn_clip clip;
    hn_array x, y, low, high; /* without data; limits that are known have no elements */
} clip_step;

static hone_status run_clip(const void *record, const hn_step_io *io) {
    const clip_step *s = record;
    hn_array x = hn_array_at(&s->x, io->in[0]), y = hn_array_at(&s->y, io->out[0]);
    hn_clip clip = s->clip;
    if (s->low.n_elems) {
        hn_array low = hn_array_at(&s->low, io->in[1]);
        hn_clip_set(&clip, &low, &clip.low);
    }
    if (s->high.n_elems) {
        hn_array high = hn_array_at(&s->high, io->in[2]);
        hn_clip_set(&clip, &high, &clip.high);
    }
    hn_clip_run(io->pool, &clip, &x, &y);
    return HONE_OK;
}

/* A limit that no run can change is read now. */
static hn_array read_limit_form(const hn_eval *c, const hn_clip *clip, uint32_t i,
                                hn_clip_limit *limit) {
    const hn_array *given = clip->reads_limits ? hn_arg(c, i) : NULL;
    if (!given || given->n_elems == 0)
        return (hn_array){0};
    if (!given->data)
        return *given;
    hn_clip_set(clip, given, limit);
    return (hn_array){0};
}

static hone_status lower_clip(hn_eval *c, hn_lowered *out) {
    const hn_array *x = hn_arg(c, 0), *y = hn_ret(c, 0);
    if (!x || !y || x->n_elems == 0)
        return HONE_OK;
    clip_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    hn_clip_read(c, &s->clip);
    s->x = hn_array_at(x, NULL);
    s->y = hn_array_at(y, NULL);
    s->low = read_limit_form(c, &s->clip, 1, &s->clip.low);
    s->high = read_limit_form(c, &s->clip, 2, &s->clip.high);
    *out = (hn_lowered){.run = run_clip, .record = s};
    return HONE_OK;
}
const hn_lowering hn_lower_clip[1] = {{.lower = lower_clip}};
