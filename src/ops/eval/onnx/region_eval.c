/* Regions of images: pooling them, choosing among them. */
#include "cpu/kernels/overlap/overlap.h"
#include "ops/eval/widen.h"
#include "ops/eval/sort_keys.h"

#include <math.h>

/* ---- MaxRoiPool ------------------------------------------------------------------------------ */

/* Rows or columns of one bin, cut to the image. */
static void roi_bin(double start, double bin, int64_t i, int64_t size, int64_t *begin,
                    int64_t *end) {
    double limit = (double)size;
    *begin = (int64_t)fmin(fmax(floor((double)i * bin) + start, 0), limit);
    *end = (int64_t)fmin(fmax(ceil((double)(i + 1) * bin) + start, 0), limit);
}

static double roi_max(const double *plane, int64_t width, const int64_t rows[2],
                      const int64_t cols[2]) {
    bool is_empty = rows[0] >= rows[1] || cols[0] >= cols[1];
    double best = is_empty ? 0 : -HUGE_VAL;
    for (int64_t y = rows[0]; y < rows[1] && !hn_spent((uint64_t)width); y++)
        for (int64_t x = cols[0]; x < cols[1]; x++)
            best = fmax(best, plane[y * width + x]);
    return best;
}

static hone_status roi_batch(hn_eval *c, double index, int64_t batch, uint64_t roi, int64_t *out) {
    if (!(index >= 0 && index < (double)batch))
        return hn_eval_fail(c, HONE_E_INVALID,
                            "region %llu is of image %g, but there are %lld images",
                            (unsigned long long)roi, index, (long long)batch);
    *out = (int64_t)index;
    return HONE_OK;
}

static hone_status eval_max_roi_pool(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0), *rois = hn_arg(c, 1);
    hn_array *y = hn_ret(c, 0);
    if (!y || y->n_elems == 0)
        return HONE_OK;
    const double *planes = hn_wide_f64(c, x), *boxes = hn_wide_f64(c, rois);
    double *out = hn_buffer_f64(c, y),
           scale = (double)hn_attr_f(hn_eval_node(c), "spatial_scale", 1);
    HN_TRY_PTR(planes && boxes && out);
    int64_t channels = x->dims[1], height = x->dims[2], width = x->dims[3], ph = y->dims[2],
            pw = y->dims[3];
    double *to = out;
    for (uint64_t r = 0; r < (uint64_t)rois->dims[0]; r++) {
        const double *box = boxes + 5 * r;
        double x1 = round(box[1] * scale), y1 = round(box[2] * scale);
        double bin_w = fmax(round(box[3] * scale) - x1 + 1, 1) / (double)pw;
        double bin_h = fmax(round(box[4] * scale) - y1 + 1, 1) / (double)ph;
        int64_t image = 0, rows[2], cols[2];
        HN_TRY(roi_batch(c, box[0], x->dims[0], r, &image));
        for (int64_t i = 0; i < channels * ph * pw && !hn_spent(32); i++) {
            roi_bin(y1, bin_h, i / pw % ph, height, &rows[0], &rows[1]);
            roi_bin(x1, bin_w, i % pw, width, &cols[0], &cols[1]);
            *to++ = roi_max(planes + (image * channels + i / (ph * pw)) * height * width, width,
                            rows, cols);
        }
    }
    hn_narrow_f64(y, out);
    return HONE_OK;
}
const hn_impl hn_impl_max_roi_pool[1] = {{.eval = eval_max_roi_pool}};

/* ---- RoiAlign -------------------------------------------------------------------------------- */

typedef struct roi_form {
    int64_t image, height, width;
    double start_y, start_x, bin_h, bin_w;
    int64_t grid_h, grid_w; /* samples per bin */
    bool is_max;
} roi_form;

/* The four neighbours of a sample and their weights; all 0 outside the image. */
static void roi_neighbours(const roi_form *f, double y, double x, int64_t at[4], double weight[4]) {
    memset(at, 0, 4 * sizeof *at);
    memset(weight, 0, 4 * sizeof *weight);
    if (!(y >= -1 && x >= -1 && y <= (double)f->height && x <= (double)f->width))
        return;
    y = fmin(fmax(y, 0), (double)(f->height - 1));
    x = fmin(fmax(x, 0), (double)(f->width - 1));
    int64_t y0 = (int64_t)y, x0 = (int64_t)x, y1 = HN_MIN(y0 + 1, f->height - 1),
            x1 = HN_MIN(x0 + 1, f->width - 1);
    double ly = y - (double)y0, lx = x - (double)x0;
    for (int i = 0; i < 4; i++) {
        at[i] = (i < 2 ? y0 : y1) * f->width + (i % 2 ? x1 : x0);
        weight[i] = (i < 2 ? 1 - ly : ly) * (i % 2 ? lx : 1 - lx);
    }
}

typedef struct roi_job {
    const roi_form *forms; /* one per region */
    const double *planes;
    double *out;
    int64_t channels, ph, pw;
    hn_pool *pool;
} roi_job;

/* A bin of all channels, whose results lie ph * pw apart. max: the largest of all weighted
 * neighbours, as the standard's own computation has it. */
static void roi_sample_bin(const roi_job *j, const roi_form *f, int64_t row, int64_t col,
                           double *out) {
    const double *image = j->planes + f->image * j->channels * f->height * f->width;
    int64_t n = f->grid_h * f->grid_w, bins = j->ph * j->pw, at[4];
    double weight[4];
    for (int64_t c = 0; c < j->channels; c++)
        out[c * bins] = f->is_max && n > 0 ? -HUGE_VAL : 0;
    for (int64_t i = 0; i < n; i++) {
        double iy = (double)(i / f->grid_w) + 0.5, ix = (double)(i % f->grid_w) + 0.5;
        roi_neighbours(f, f->start_y + (double)row * f->bin_h + iy * f->bin_h / (double)f->grid_h,
                       f->start_x + (double)col * f->bin_w + ix * f->bin_w / (double)f->grid_w, at,
                       weight);
        for (int64_t c = 0; c < j->channels; c++) {
            const double *plane = image + c * f->height * f->width;
            double a = weight[0] * plane[at[0]], b = weight[1] * plane[at[1]];
            double d = weight[2] * plane[at[2]], e = weight[3] * plane[at[3]];
            out[c * bins] = f->is_max ? fmax(fmax(fmax(fmax(out[c * bins], a), b), d), e)
                                      : out[c * bins] + a + b + d + e;
        }
    }
    for (int64_t c = 0; c < j->channels && !f->is_max; c++)
        out[c * bins] /= (double)HN_MAX(n, 1);
}

static void roi_sample_range(void *ctx, int64_t begin, int64_t end) {
    const roi_job *j = ctx;
    for (int64_t r = begin; r < end && !hn_pool_is_stopped(j->pool); r++)
        for (int64_t bin = 0; bin < j->ph * j->pw; bin++)
            roi_sample_bin(j, &j->forms[r], bin / j->pw, bin % j->pw,
                           j->out + r * j->channels * j->ph * j->pw + bin);
}

static hone_status read_roi(hn_eval *c, const double *box, int64_t ph, int64_t pw, roi_form *f) {
    const hn_infer *node = hn_eval_node(c);
    const double most_samples = 1 << 12;
    double scale = (double)hn_attr_f(node, "spatial_scale", 1);
    bool half_pixel = hn_infer_version(node) >= 16 &&
                      hn_attr_is(node, "coordinate_transformation_mode", "half_pixel");
    double offset = half_pixel ? 0.5 : 0, h = (box[3] - box[1]) * scale,
           w = (box[2] - box[0]) * scale;
    int64_t ratio = hn_attr_i(node, "sampling_ratio", 0);
    f->start_x = box[0] * scale - offset;
    f->start_y = box[1] * scale - offset;
    f->bin_h = (half_pixel ? h : fmax(h, 1)) / (double)ph;
    f->bin_w = (half_pixel ? w : fmax(w, 1)) / (double)pw;
    double grid_h = ratio > 0 ? (double)ratio : ceil(f->bin_h),
           grid_w = ratio > 0 ? (double)ratio : ceil(f->bin_w);
    if (!(grid_h <= most_samples && grid_w <= most_samples))
        return hn_eval_fail(c, HONE_E_LIMIT, "a region of %g x %g elements is too large to sample",
                            h, w);
    f->grid_h = (int64_t)fmax(grid_h, 0);
    f->grid_w = (int64_t)fmax(grid_w, 0);
    return HONE_OK;
}

static hone_status eval_roi_align(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0), *rois = hn_arg(c, 1), *batch_indices = hn_arg(c, 2);
    hn_array *y = hn_ret(c, 0);
    if (!y || y->n_elems == 0)
        return HONE_OK;
    const double *boxes = hn_wide_f64(c, rois), *images = hn_wide_f64(c, batch_indices);
    roi_form *forms = hn_eval_scratch_n(c, (uint64_t)rois->dims[0], sizeof *forms);
    roi_job j = {.forms = forms,
                 .planes = hn_wide_f64(c, x),
                 .out = hn_buffer_f64(c, y),
                 .channels = x->dims[1],
                 .ph = y->dims[2],
                 .pw = y->dims[3],
                 .pool = hn_eval_pool(c)};
    HN_TRY_PTR(j.planes && boxes && images && j.out && forms);
    if (x->dims[2] * x->dims[3] == 0)
        return hn_eval_fail(c, HONE_E_SHAPE, "the images have no elements to sample");
    for (int64_t r = 0; r < rois->dims[0]; r++) {
        forms[r] = (roi_form){.height = x->dims[2],
                              .width = x->dims[3],
                              .is_max = hn_attr_is(hn_eval_node(c), "mode", "max")};
        HN_TRY(roi_batch(c, images[r], x->dims[0], (uint64_t)r, &forms[r].image));
        HN_TRY(read_roi(c, boxes + 4 * r, j.ph, j.pw, &forms[r]));
    }
    hn_pool_for(j.pool, rois->dims[0], 1, roi_sample_range, &j);
    if (hn_eval_stopped(c))
        return HONE_E_CANCELLED;
    hn_narrow_f64(y, j.out);
    return HONE_OK;
}
const hn_impl hn_impl_roi_align[1] = {{.eval = eval_roi_align}};

/* ---- NonMaxSuppression ----------------------------------------------------------------------- */

static hn_corners nms_corners(const float *b, bool is_center) {
    bool is_up = b[0] < b[2], is_right = b[1] < b[3];
    hn_corners box = {b[is_up ? 0 : 2], b[is_right ? 1 : 3], b[is_up ? 2 : 0], b[is_right ? 3 : 1],
                      0};
    if (is_center) /* x, y, width, height */
        box = (hn_corners){b[1] - b[3] / 2, b[0] - b[2] / 2, b[1] + b[3] / 2, b[0] + b[2] / 2, 0};
    box.area = (box.y2 - box.y1) * (box.x2 - box.x1);
    return box;
}

/* Kept boxes lie in strips by their upper edge. Strips are higher than any box, so that those which
 * overlap one are in its own strip or beside it. */
enum { NMS_MOST_STRIPS = 256, NMS_MOST_IN_STRIP = 512, NMS_LEAST_SORTED = 64 };

typedef struct nms_strips {
    int64_t n;
    double top, height;
    int64_t begin[NMS_MOST_STRIPS], kept[NMS_MOST_STRIPS]; /* in the lists; boxes so far */
    hn_corner_lists boxes;
} nms_strips;

typedef struct nms_work {
    int64_t n_boxes, most;
    float iou, score;
    bool has_score, is_center;
    int64_t *order;  /* candidates, then those that are kept */
    uint64_t *items; /* the same candidates with their scores */
    hn_overlap_fn *overlaps;
    nms_strips *strips;
} nms_work;

static hone_status nms_room(hn_eval *c, uint64_t n, nms_work *w) {
    w->strips = hn_eval_scratch_n(c, 1, sizeof *w->strips);
    HN_TRY_PTR(w->strips);
    hn_corner_lists *b = &w->strips->boxes;
    float **lists[] = {&b->y1, &b->x1, &b->y2, &b->x2, &b->area};
    for (size_t i = 0; i < HN_COUNT(lists); i++) {
        *lists[i] = hn_eval_scratch_n(c, n + NMS_MOST_STRIPS * HN_OVERLAP_UNIT, sizeof(float));
        HN_TRY_PTR(*lists[i]);
    }
    return HONE_OK;
}

static int64_t nms_strip_of(const nms_strips *s, const hn_corners *box) {
    return s->n > 1 ? (int64_t)(((double)box->y1 - s->top) / s->height) : 0;
}

/* Strips for the first n boxes of w->order, with room for as many of each strip as there are. One
 * strip serves all where few are kept, or coordinates are no numbers. */
static void nms_cut_strips(const nms_work *w, const float *boxes, int64_t n) {
    nms_strips *s = w->strips;
    double top = HUGE_VAL, bottom = -HUGE_VAL, highest = 0;
    if (HN_MIN(n, w->most) <= NMS_MOST_IN_STRIP) {
        s->n = 1;
        s->begin[0] = s->kept[0] = 0;
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        hn_corners box = nms_corners(boxes + 4 * w->order[i], w->is_center);
        bool is_number = isfinite(box.y1) && isfinite(box.y2);
        double y1 = is_number ? (double)box.y1 : -HUGE_VAL, height = (double)box.y2 - y1;
        top = HN_MIN(top, y1);
        bottom = HN_MAX(bottom, y1);
        highest = is_number ? HN_MAX(highest, height) : highest;
    }
    s->top = top;
    s->height = fmax(highest * 1.001, (bottom - top) / (NMS_MOST_STRIPS - 1));
    s->n = isfinite(top) && s->height > 0 ? (int64_t)((bottom - top) / s->height) + 1 : 1;
    memset(s->kept, 0, sizeof s->kept);
    for (int64_t i = 0; i < n; i++) {
        hn_corners box = nms_corners(boxes + 4 * w->order[i], w->is_center);
        s->kept[nms_strip_of(s, &box)]++;
    }
    for (int64_t i = 0, begin = 0; i < s->n; i++) {
        s->begin[i] = begin;
        begin += (s->kept[i] + HN_OVERLAP_UNIT - 1) / HN_OVERLAP_UNIT * HN_OVERLAP_UNIT;
        s->kept[i] = 0;
    }
}

static bool nms_overlaps_kept(const nms_work *w, const hn_corners *box, int64_t strip) {
    const nms_strips *s = w->strips;
    for (int64_t i = HN_MAX(strip - 1, 0); i <= strip + 1 && i < s->n; i++) {
        hn_corner_lists part = {s->boxes.y1 + s->begin[i], s->boxes.x1 + s->begin[i],
                                s->boxes.y2 + s->begin[i], s->boxes.x2 + s->begin[i],
                                s->boxes.area + s->begin[i]};
        if (w->overlaps(&part, s->kept[i], box, w->iou))
            return true;
    }
    return false;
}

/* Behind the last box of a strip stand some without an area, as the search for overlaps wants it.
 */
static void nms_keep(nms_strips *s, int64_t strip, const hn_corners *box) {
    const hn_corner_lists *b = &s->boxes;
    int64_t k = s->begin[strip] + s->kept[strip]++;
    for (int64_t i = k; k % HN_OVERLAP_UNIT == 0 && i < k + HN_OVERLAP_UNIT; i++)
        b->y1[i] = b->x1[i] = b->y2[i] = b->x2[i] = b->area[i] = 0;
    b->y1[k] = box->y1;
    b->x1[k] = box->x1;
    b->y2[k] = box->y2;
    b->x2[k] = box->x2;
    b->area[k] = box->area;
}

/* Indices of boxes whose score is high enough; without a branch on scores. */
static int64_t nms_candidates(const nms_work *w, const float *scores) {
    int64_t n = 0;
    for (int64_t i = 0; i < w->n_boxes; i++) {
        w->order[n] = i;
        n += !w->has_score || scores[i] > w->score;
    }
    for (int64_t i = 0; i < n; i++)
        w->items[i] = hn_pack_item(hn_float_key(scores[w->order[i]]), w->order[i]);
    return n;
}

/* Keeps the best of one class in w->order; returns how many. Candidates come by falling score, and
 * equal scores in their order; they are sorted when it comes to them, as most never do. */
static int64_t nms_class(const nms_work *w, const float *boxes, const float *scores) {
    int64_t n = nms_candidates(w, scores), kept = 0, n_sorted = 0, n_next = w->most + w->most / 4;
    nms_cut_strips(w, boxes, n);
    for (int64_t i = 0; i < n && kept < w->most && !hn_spent(32 + (uint64_t)kept / 8); i++) {
        if (i == n_sorted) {
            n_next = HN_MIN(HN_MAX(n_next, NMS_LEAST_SORTED), n - i);
            hn_sort_front(w->items + i, n - i, n_next);
            n_sorted += n_next;
            n_next *= 2;
        }
        int64_t index = hn_item_index(w->items[i]);
        hn_corners box = nms_corners(boxes + 4 * index, w->is_center);
        int64_t strip = nms_strip_of(w->strips, &box);
        if (nms_overlaps_kept(w, &box, strip))
            continue;
        nms_keep(w->strips, strip, &box);
        w->order[kept++] = index;
    }
    return kept;
}

static hone_status eval_non_max_suppression(hn_eval *c) {
    const hn_array *boxes = hn_arg(c, 0), *scores = hn_arg(c, 1);
    int64_t batch = scores->dims[0], classes = scores->dims[1], n = scores->dims[2];
    nms_work w = {.n_boxes = n,
                  .most = HN_MIN(hn_arg_i64_or(c, 2, 0), n),
                  .iou = (float)hn_arg_f64_or(c, 3, 0),
                  .overlaps = hn_overlap_find()};
    w.score = (float)hn_arg_f64_or(c, 4, 0);
    w.has_score = hn_arg(c, 4) != NULL;
    w.is_center = hn_attr_i(hn_eval_node(c), "center_point_box", 0) != 0;
    if (n > UINT32_MAX)
        return hn_eval_fail(c, HONE_E_LIMIT, "%lld boxes are too many", (long long)n);
    w.order = hn_eval_scratch_n(c, (uint64_t)n, sizeof *w.order);
    w.items = hn_eval_scratch_n(c, (uint64_t)n, sizeof *w.items);
    int64_t *rows = hn_eval_scratch_n(c, (uint64_t)(batch * classes * HN_MAX(w.most, 0)),
                                      3 * sizeof *rows),
            n_rows = 0;
    HN_TRY_PTR(w.order && w.items && rows);
    HN_TRY(nms_room(c, (uint64_t)n, &w));
    for (int64_t i = 0; i < batch * classes && w.most > 0; i++) {
        const float *image = (const float *)boxes->data + i / classes * n * 4;
        int64_t kept = nms_class(&w, image, (const float *)scores->data + i * n);
        if (hn_eval_stopped(c))
            return HONE_E_CANCELLED;
        for (int64_t k = 0; k < kept; k++, n_rows++) {
            rows[3 * n_rows] = i / classes;
            rows[3 * n_rows + 1] = i % classes;
            rows[3 * n_rows + 2] = w.order[k];
        }
    }
    hn_array *y;
    HN_TRY(hn_ret_alloc(c, 0, HN_I64, 2, (int64_t[]){n_rows, 3}, &y));
    if (y && n_rows > 0)
        memcpy(y->data, rows, (size_t)n_rows * 3 * sizeof *rows);
    return HONE_OK;
}
const hn_impl hn_impl_non_max_suppression[1] = {{.eval = eval_non_max_suppression}};
