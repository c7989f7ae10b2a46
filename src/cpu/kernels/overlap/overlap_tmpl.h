/* Boxes that overlap one, for one width. 5 loads and 6 operations per vector; most boxes are far
 * from each other, so the division waits for one that is not. */
hn_overlap_fn V_NAME(hn_overlaps);
V_TARGET bool V_NAME(hn_overlaps)(const hn_corner_lists *boxes, int64_t n, const hn_corners *box,
                                  float threshold) {
    V y1 = V_SET1(box->y1), x1 = V_SET1(box->x1), y2 = V_SET1(box->y2), x2 = V_SET1(box->x2);
    V area = V_SET1(box->area), most = V_SET1(threshold), zero = V_ZERO();
    if (!(box->area > 0))
        return false;
    for (int64_t i = 0; i < n; i += V_ELEMS) {
        V h = V_SUB(V_MIN(y2, V_LOAD(boxes->y2 + i)), V_MAX(y1, V_LOAD(boxes->y1 + i)));
        V w = V_SUB(V_MIN(x2, V_LOAD(boxes->x2 + i)), V_MAX(x1, V_LOAD(boxes->x1 + i)));
        V areas = V_LOAD(boxes->area + i);
        V_TRUTH meet = V_BOTH(V_BOTH(V_LESS(zero, h), V_LESS(zero, w)), V_LESS(zero, areas));
        if (!V_ANY(meet))
            continue;
        V shared = V_MUL(h, w), either = V_SUB(V_ADD(area, areas), shared);
        V_TRUTH overlap = V_BOTH(V_LESS(zero, either), V_LESS(most, V_DIV(shared, either)));
        if (V_ANY(V_BOTH(meet, overlap)))
            return true;
    }
    return false;
}
