/* Gradients: errors that only C can make. Invalid shapes and types are in tests/cases. */
#include "bad_input.h"

/* What is computed again, and graphs within a bound. */
static void test_recompute(void) {
    tl_context *ctx = fresh_context();
    tl_tensor *x = tl_tensor_new_1d(ctx, TL_TYPE_F32, 256), *y = tl_exp(ctx, x), *z = tl_tanh(ctx, y), *none = tl_none();
    tl_tensor *loss = tl_sum(ctx, tl_sqr(ctx, z), NULL), *gradient = NULL;
    ACCEPTED(tl_gradients(ctx, &loss, NULL, 1, &x, 1, &gradient, &err));
    REFUSED(tl_tensor_set_recompute(NULL, true, &err), TL_STATUS_INVALID_ARGUMENT, "t is NULL");
    REFUSED(tl_tensor_set_recompute(none, true, &err), TL_STATUS_INVALID_ARGUMENT, "t is tl_none()");
    REFUSED(tl_tensor_set_recompute(x, true, &err), TL_STATUS_INVALID_ARGUMENT, "leaf");
    REFUSED(tl_tensor_set_recompute(tl_cpy(ctx, x, y), true, &err), TL_STATUS_INVALID_ARGUMENT, "writes into");
    ACCEPTED(tl_tensor_set_recompute(z, true, &err));
    tl_graph *graph = (tl_graph *)&err;
    ACCEPTED(tl_graph_create(ctx, &gradient, 1, &graph, &err));
    size_t marked = tl_graph_n_nodes(graph);
    ACCEPTED(tl_graph_compute(graph, backend, &err));
    tl_graph_free(graph);
    ACCEPTED(tl_tensor_set_recompute(z, false, &err));
    ACCEPTED(tl_graph_create_within(ctx, &gradient, 1, 1 << 20, &graph, &err));
    CHECK(tl_graph_n_nodes(graph) < marked);
    tl_graph_free(graph);
    REFUSED(tl_graph_create_within(ctx, &gradient, 1, 1, &graph, &err), TL_STATUS_OUT_OF_MEMORY, "at least");
    CHECK(graph == NULL);
    REFUSED(tl_graph_create_within(NULL, &gradient, 1, 1, &graph, &err), TL_STATUS_INVALID_ARGUMENT, "ctx is NULL");
    REFUSED(tl_graph_create_within(ctx, NULL, 1, 1, &graph, &err), TL_STATUS_INVALID_ARGUMENT, "outputs is NULL");
    REFUSED(tl_graph_create_within(ctx, &gradient, 0, 1, &graph, &err), TL_STATUS_INVALID_ARGUMENT, "n_outputs is 0");
    REFUSED(tl_graph_create_within(ctx, &none, 1, 1, &graph, &err), TL_STATUS_INVALID_ARGUMENT, "tl_none()");
    REFUSED(tl_graph_create_within(ctx, &gradient, 1, 1 << 20, NULL, &err), TL_STATUS_INVALID_ARGUMENT, "out is NULL");
    tl_context_free(ctx);
}

void test_gradients(void) {
    tl_context *ctx = fresh_context();
    tl_tensor *a = tl_tensor_new_1d(ctx, TL_TYPE_F32, 4), *b = tl_tensor_new_1d(ctx, TL_TYPE_F32, 3), *none = tl_none();
    tl_tensor *loss = tl_sum(ctx, tl_sqr(ctx, a), NULL), *hole[2] = {loss, NULL}, *absent[2] = {a, none};
    tl_tensor *grads[2] = {a, a};
    REFUSED(tl_gradients(NULL, &loss, NULL, 1, &a, 1, grads, &err), TL_STATUS_INVALID_ARGUMENT, "ctx is NULL");
    CHECK(!grads[0] && grads[1] == a);
    REFUSED(tl_gradients(ctx, NULL, NULL, 1, &a, 1, grads, &err), TL_STATUS_INVALID_ARGUMENT, "ys is NULL");
    REFUSED(tl_gradients(ctx, &loss, NULL, 1, NULL, 1, grads, &err), TL_STATUS_INVALID_ARGUMENT, "wrt is NULL");
    REFUSED(tl_gradients(ctx, &loss, NULL, 1, &a, 1, NULL, &err), TL_STATUS_INVALID_ARGUMENT, "grads is NULL");
    REFUSED(tl_gradients(ctx, NULL, NULL, 0, &a, 1, grads, &err), TL_STATUS_INVALID_ARGUMENT, "at least one");
    REFUSED(tl_gradients(ctx, &loss, NULL, 1, NULL, 0, NULL, &err), TL_STATUS_INVALID_ARGUMENT, "grads is NULL");
    REFUSED(tl_gradients(ctx, &loss, NULL, 1, NULL, 0, grads, &err), TL_STATUS_INVALID_ARGUMENT, "at least one");
    REFUSED(tl_gradients(ctx, hole, NULL, 2, &a, 1, grads, &err), TL_STATUS_INVALID_ARGUMENT, "ys[1] is NULL");
    REFUSED(tl_gradients(ctx, absent, NULL, 2, &a, 1, grads, &err), TL_STATUS_INVALID_ARGUMENT, "ys[1] is tl_none()");
    grads[1] = a;
    REFUSED(tl_gradients(ctx, &loss, NULL, 1, absent, 2, grads, &err), TL_STATUS_INVALID_ARGUMENT, "wrt[1] is tl_none()");
    CHECK(!grads[0] && !grads[1]);
    REFUSED(tl_gradients(ctx, &a, &b, 1, &a, 1, grads, &err), TL_STATUS_SHAPE_MISMATCH, "its seed [3] f32");
    /* A pending constructor's error comes first, and only once. */
    CHECK(tl_add(ctx, a, b) == NULL);
    REFUSED(tl_gradients(ctx, &loss, NULL, 1, &a, 1, grads, &err), TL_STATUS_SHAPE_MISMATCH, "add");
    size_t used = tl_context_used_memory(ctx);
    REFUSED(tl_gradients(ctx, &a, NULL, 1, &a, 1, grads, &err), TL_STATUS_INVALID_ARGUMENT, "no seed");
    CHECK(tl_context_used_memory(ctx) == used);
    /* No seeds, and seeds that are left out. */
    ACCEPTED(tl_gradients(ctx, &loss, NULL, 1, &a, 1, grads, &err));
    ACCEPTED(tl_gradients(ctx, &loss, &none, 1, &a, 1, grads, &err));
    tl_tensor *null = NULL;
    ACCEPTED(tl_gradients(ctx, &loss, &null, 1, &a, 1, grads, NULL));
    const float values[4] = {1, -2, 3, 0.5f};
    float found[4];
    tl_graph *graph;
    ACCEPTED(tl_tensor_write(a, values, 0, sizeof values, &err));
    ACCEPTED(tl_graph_create(ctx, grads, 1, &graph, &err));
    ACCEPTED(tl_graph_compute(graph, backend, &err));
    ACCEPTED(tl_tensor_read(grads[0], found, 0, sizeof found, &err));
    for (int i = 0; i < 4; i++) CHECK(found[i] == 2 * values[i]);
    tl_graph_free(graph);
    bool reach = true;
    REFUSED(tl_gradients_reach(NULL, a, &reach, &err), TL_STATUS_INVALID_ARGUMENT, "y is NULL");
    CHECK(!reach);
    REFUSED(tl_gradients_reach(loss, none, &reach, &err), TL_STATUS_INVALID_ARGUMENT, "t is tl_none()");
    REFUSED(tl_gradients_reach(loss, a, NULL, &err), TL_STATUS_INVALID_ARGUMENT, "out is NULL");
    ACCEPTED(tl_gradients_reach(loss, a, &reach, &err));
    CHECK(reach);
    ACCEPTED(tl_gradients_reach(loss, b, &reach, &err));
    CHECK(!reach);
    tl_context_free(ctx);
    test_recompute();
}
