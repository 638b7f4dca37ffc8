/* The value of f(x) = a x^2 + b and its gradient. The nodes are made once; then x is rewritten and they are computed again. */
#include <stdio.h>

#include <tensorlib/tensorlib.h>

#define TRY(call) \
    if ((call) != TL_STATUS_OK) return fprintf(stderr, "value_and_gradient: %s\n", err.message), 1

int main(void) {
    tl_error err = {.struct_size = sizeof err};
    tl_backend *cpu = NULL;
    tl_context *ctx = NULL;
    tl_graph *graph = NULL;
    TRY(tl_backend_create("cpu", NULL, &cpu, &err));
    TRY(tl_context_create(NULL, &ctx, &err));
    tl_tensor *a = tl_tensor_new_1d(ctx, TL_TYPE_F32, 1);
    tl_tensor *b = tl_tensor_new_1d(ctx, TL_TYPE_F32, 1);
    tl_tensor *x = tl_tensor_new_1d(ctx, TL_TYPE_F32, 1);
    tl_tensor *f = tl_add(ctx, tl_mul(ctx, a, tl_sqr(ctx, x)), b), *slope;
    TRY(tl_gradients(ctx, &f, NULL, 1, &x, 1, &slope, &err)); /* of one output, with respect to one tensor: df/dx */
    TRY(tl_graph_create(ctx, (tl_tensor *[]){f, slope}, 2, &graph, &err));
    TRY(tl_tensor_write_f32(a, &(float){3}, 1, &err));
    TRY(tl_tensor_write_f32(b, &(float){2}, 1, &err));

    const float values[] = {2, 0, -1.5F, 10};
    for (int i = 0; i < 4; i++) {
        float value, gradient;
        TRY(tl_tensor_write_f32(x, &values[i], 1, &err));
        TRY(tl_graph_compute(graph, cpu, &err));
        TRY(tl_tensor_read_f32(f, &value, 1, &err));
        TRY(tl_tensor_read_f32(slope, &gradient, 1, &err));
        printf("x = %g: f(x) = %g, df/dx = %g\n", (double)values[i], (double)value, (double)gradient);
    }
    tl_graph_free(graph), tl_context_free(ctx), tl_backend_free(cpu);
    return 0;
}
