/* Channels-last 1x1 convolutions in bfloat16: a product of pixels with filters, whose tiles are
 * those of matrix products. */
#include "cpu/kernels/conv_nhwc/conv_nhwc.h"

enum { BF16_LEAST_WIDTH = 32 }; /* fewer channels or filters take as long in float */

bool hn_bf16_nhwc_can(const hn_conv_nhwc_job *job) {
    const hn_window *s = job->window;
    for (int32_t a = 0; a < s->n_axes; a++)
        if (s->kernel[a] != 1 || s->stride[a] != 1 || s->pad[a] != 0 || s->in[a] != s->out[a])
            return false;
    return hn_gemm_has_bf16() && job->groups == 1 && job->channels >= BF16_LEAST_WIDTH &&
           job->filters >= BF16_LEAST_WIDTH;
}

int64_t hn_bf16_nhwc_packed_elems(const hn_conv_nhwc_job *job) {
    return hn_gemm_packed_elems_bf16(job->filters, job->channels);
}

void hn_bf16_nhwc_pack(const hn_conv_nhwc_job *job, float *out) {
    hn_gemm_pack_bf16(
        &(hn_gemm_job_f32){
            .n = job->filters, .k = job->channels, .b = job->w, .b_row = 1, .b_col = job->channels},
        out);
}

void hn_bf16_nhwc_f32(hn_pool *pool, const hn_conv_nhwc_job *job) {
    hn_epilogue_f32 epilogue = job->epilogue;
    epilogue.residual_stride = hn_conv_nhwc_residual_stride(job);
    hn_gemm_f32(pool, &(hn_gemm_job_f32){.m = job->batch * job->window->out_elems,
                                         .n = job->filters,
                                         .k = job->channels,
                                         .a = job->x,
                                         .a_row = hn_conv_nhwc_x_stride(job),
                                         .a_col = 1,
                                         .packed_b = job->packed_w,
                                         .packed_as = HN_STORED_BF16_PAIRS,
                                         .c = job->y,
                                         .c_row = hn_conv_nhwc_y_stride(job),
                                         .epilogue = &epilogue});
}
