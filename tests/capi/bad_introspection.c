/* Lists of tensors, names, busy timeouts and observers: NULL, buffers that are too small, and
 * things that do not exist. */
#include "bad_input.h"

static void test_lists(void) {
    tl_context *ctx = fresh_context();
    tl_tensor *x = tl_tensor_new_2d(ctx, TL_TYPE_F32, 4, 2), *y = tl_glu(ctx, x, tl_none(), TL_GLU_OP_SWIGLU, NULL);
    CHECK(x && y);
    tl_tensor *all[4] = {NULL, NULL, NULL, NULL};
    CHECK(tl_context_tensors(NULL, all, 4) == 0);
    CHECK(tl_context_tensors(ctx, NULL, 0) == 2);
    CHECK(tl_context_tensors(ctx, NULL, 4) == 2);
    CHECK(tl_context_tensors(ctx, all, 1) == 2 && all[0] == x && all[1] == NULL);
    CHECK(tl_context_tensors(ctx, all, 4) == 2 && all[1] == y && all[2] == NULL);

    CHECK(tl_context_find(NULL, "x") == NULL && tl_context_find(ctx, NULL) == NULL && tl_context_find(ctx, "") == NULL);
    CHECK(tl_context_find(ctx, "x") == NULL);
    ACCEPTED(tl_tensor_set_name(y, "x", &err));
    CHECK(tl_context_find(ctx, "x") == y);

    all[1] = x;
    CHECK(tl_tensor_sources(NULL, all, 4) == 0 && tl_tensor_sources(tl_none(), all, 4) == 0 && tl_tensor_sources(x, all, 4) == 0);
    CHECK(tl_tensor_sources(y, NULL, 4) == 2);
    CHECK(tl_tensor_sources(y, all, 4) == 2 && all[0] == x && all[1] == NULL);

    CHECK(tl_context_id(NULL) == 0 && tl_context_id(ctx) != 0);
    CHECK(tl_tensor_context(NULL) == NULL && tl_tensor_context(tl_none()) == NULL);
    tl_context *same = tl_tensor_context(y);
    CHECK(same == ctx);
    REFUSED(tl_context_reset(ctx, &err), TL_STATUS_BUSY, "refers");
    tl_context_free(same);

    tl_graph *graph = NULL;
    ACCEPTED(tl_graph_create(ctx, &y, 1, &graph, &err));
    CHECK(tl_graph_nodes(NULL, all, 4) == 0 && tl_graph_leafs(NULL, all, 4) == 0 && tl_graph_outputs(NULL, all, 4) == 0);
    CHECK(tl_graph_nodes(graph, NULL, 4) == 1 && tl_graph_nodes(graph, all, 4) == 1 && all[0] == y);
    CHECK(tl_graph_leafs(graph, all, 4) == 1 && all[0] == x);
    CHECK(tl_graph_outputs(graph, all, 0) == 1 && tl_graph_outputs(graph, all, 4) == 1 && all[0] == y);
    tl_graph_free(graph);
    ACCEPTED(tl_context_reset(ctx, &err));
    CHECK(tl_context_tensors(ctx, all, 4) == 0);
    tl_context_free(ctx);
}

static void test_busy_timeout(void) {
    REFUSED(tl_context_set_busy_timeout(NULL, 1, &err), TL_STATUS_INVALID_ARGUMENT, "ctx");
    CHECK(tl_context_busy_timeout(NULL) == 0);
    tl_context *ctx = fresh_context();
    CHECK(tl_context_busy_timeout(ctx) == 0);
    ACCEPTED(tl_context_set_busy_timeout(ctx, UINT64_MAX, &err)); /* what is free is not waited for */
    CHECK(tl_context_busy_timeout(ctx) == UINT64_MAX);
    tl_tensor *x = tl_tensor_new_1d(ctx, TL_TYPE_F32, 2);
    float values[2] = {1, 2};
    ACCEPTED(tl_tensor_write_f32(x, values, 2, &err));
    void *data = NULL;
    ACCEPTED(tl_tensor_map(x, TL_ACCESS_READ, &data, &err));
    ACCEPTED(tl_context_set_busy_timeout(ctx, 2000000, &err));
    REFUSED(tl_tensor_write_f32(x, values, 2, &err), TL_STATUS_BUSY, "for longer than the busy timeout of 2 ms");
    ACCEPTED(tl_tensor_read_f32(x, values, 2, &err)); /* readers do not exclude each other */
    tl_tensor_unmap(x, TL_ACCESS_READ);
    ACCEPTED(tl_tensor_write_f32(x, values, 2, &err));
    tl_context_free(ctx);
}

struct seen {
    int calls;
    float value;
    bool go_on;
};

static bool observe(void *user_data, tl_tensor *node, size_t done, size_t total) {
    struct seen *seen = user_data;
    seen->calls++;
    CHECK(done >= 1 && done <= total);
    float values[3] = {0, 0, 0};
    ACCEPTED(tl_tensor_read_f32(node, values, 2, &err));
    seen->value = values[1];
    REFUSED(tl_tensor_read_f32(node, values, 3, &err), TL_STATUS_INVALID_ARGUMENT, "");
    REFUSED(tl_tensor_read(node, values, 4, 8, &err), TL_STATUS_INVALID_ARGUMENT, "");
    REFUSED(tl_tensor_get_f32(node, 2, 0, 0, 0, values, &err), TL_STATUS_INVALID_ARGUMENT, "outside");
    REFUSED(tl_tensor_write_f32(node, values, 2, &err), TL_STATUS_BUSY, "");
    return seen->go_on;
}

static void test_observers(void) {
    REFUSED(tl_graph_set_observer(NULL, observe, NULL, &err), TL_STATUS_INVALID_ARGUMENT, "graph");
    tl_context *ctx = fresh_context();
    tl_tensor *x = tl_tensor_new_1d(ctx, TL_TYPE_F32, 2), *y = tl_exp(ctx, tl_sqr(ctx, x));
    float values[2] = {0, 1};
    ACCEPTED(tl_tensor_write_f32(x, values, 2, &err));
    tl_graph *graph = NULL;
    ACCEPTED(tl_graph_create(ctx, &y, 1, &graph, &err));
    struct seen seen = {0, 0, true};
    ACCEPTED(tl_graph_set_observer(graph, observe, &seen, &err));
    ACCEPTED(tl_graph_compute(graph, backend, &err));
    CHECK(seen.calls == 2 && seen.value > 2.7f && seen.value < 2.72f);
    seen.go_on = false;
    REFUSED(tl_graph_compute(graph, backend, &err), TL_STATUS_ABORTED, "observer after 1 of 2 nodes");
    CHECK(seen.calls == 3 && seen.value == 1);
    ACCEPTED(tl_graph_set_observer(graph, NULL, NULL, &err));
    ACCEPTED(tl_graph_compute(graph, backend, &err));
    CHECK(seen.calls == 3);
    tl_graph_free(graph);
    tl_context_free(ctx);
}

static void test_error_text(void) {
    char path[400], text[600];
    memset(path, 'x', sizeof path);
    path[0] = '/';
    path[sizeof path - 1] = '\0';
    tl_gguf *file = NULL;
    REFUSED(tl_gguf_open(path, &file, &err), TL_STATUS_IO, " ... ");
    CHECK(tl_error_text(&err, text, sizeof text) > 399 && strstr(text, path));
    CHECK(tl_error_text(NULL, text, sizeof text) == 0 && text[0] == '\0');
    tl_error small = err;
    small.struct_size = 271;
    CHECK(tl_error_text(&small, NULL, 0) == 0);
    small = err;
    small.text = 0xfffffffe; /* one that was never given */
    CHECK(tl_error_text(&small, text, sizeof text) == strlen(err.message));
    CHECK(strcmp(text, err.message) == 0);
}

void test_introspection(void) {
    test_lists();
    test_busy_timeout();
    test_observers();
    test_error_text();
}
