/* Contexts: parameters, limits, buffers, no_alloc, reset, references between contexts, order of freeing. */
#include "bad_input.h"

static tl_context_params defaults(void) {
    tl_context_params params;
    tl_context_params_init(&params, sizeof params);
    return params;
}

static void refuse_params(const tl_context_params *params, const char *word) {
    tl_context *out = (tl_context *)&err;
    REFUSED(tl_context_create(params, &out, &err), TL_STATUS_INVALID_ARGUMENT, word);
    CHECK(out == NULL);
}

static void test_params(void) {
    REFUSED(tl_context_create(NULL, NULL, &err), TL_STATUS_INVALID_ARGUMENT, "");
    tl_context_params params = defaults();
    const size_t wrong[] = {0, 1, 8, 16, 4097, SIZE_MAX};
    for (int i = 0; i < 6; i++) {
        params.struct_size = wrong[i];
        refuse_params(&params, "struct_size");
    }
    params = defaults();
    memset(&params.no_alloc, 2, 1);
    refuse_params(&params, "no_alloc is 2");
    struct {
        tl_context_params params;
        unsigned char tail[16];
    } later = {.params = defaults()};
    later.params.struct_size = sizeof later;
    tl_context_free(context_of(&later.params));
    later.tail[0] = 1;
    refuse_params(&later.params, "byte 48");
    char buffer[64];
    params = defaults();
    params.mem_buffer = buffer;
    refuse_params(&params, "mem_buffer");
    params = defaults();
    params.mem_buffer_size = 64;
    refuse_params(&params, "mem_buffer");
}

static void test_limits(void) {
    tl_context_params params = defaults();
    params.mem_limit = 1;
    tl_context *ctx = context_of(&params);
    NOT_MADE(ctx, tl_tensor_new_1d(ctx, TL_TYPE_F32, 1), TL_STATUS_OUT_OF_MEMORY, "");
    tl_context_free(ctx);

    params.mem_limit = 65536;
    ctx = context_of(&params);
    NOT_MADE(ctx, tl_tensor_new_1d(ctx, TL_TYPE_F32, 16384), TL_STATUS_OUT_OF_MEMORY, "65536");
    tl_tensor *small = tl_tensor_new_1d(ctx, TL_TYPE_F32, 16); /* the refusal took nothing away */
    CHECK(small != NULL);
    CHECK(tl_context_used_memory(ctx) >= 64 && tl_context_used_memory(ctx) <= 65536);
    size_t made = 0;
    while (tl_tensor_new_1d(ctx, TL_TYPE_F32, 16)) made++;
    CHECK(made > 10 && made < 1024);
    REFUSED(tl_context_error(ctx, &err), TL_STATUS_OUT_OF_MEMORY, "65536");
    CHECK(tl_context_peak_memory(ctx) <= 65536 && tl_context_peak_memory(ctx) >= tl_context_used_memory(ctx));
    tl_graph *graph = (tl_graph *)&err;
    REFUSED(tl_graph_create(ctx, &small, 0, &graph, &err), TL_STATUS_INVALID_ARGUMENT, "");
    CHECK(graph == NULL);
    tl_context_free(ctx);
    CHECK(tl_context_used_memory(NULL) == 0);
    CHECK(tl_context_peak_memory(NULL) == 0);
}

/* Everything stays inside the caller's buffer, whatever its alignment, and starts as zeros all the same. */
static void test_buffers(void) {
    enum { SIZE = 32768, GUARD = 64 };
    unsigned char *memory = malloc(SIZE + 2 * GUARD);
    tl_context_params params = defaults();
    for (size_t shift = 0; shift < 4; shift++) {
        memset(memory, 0xA5, SIZE + 2 * GUARD);
        params.mem_buffer = memory + GUARD + shift;
        params.mem_buffer_size = SIZE - shift;
        tl_context *ctx = context_of(&params);
        tl_tensor *t = tl_tensor_new_1d(ctx, TL_TYPE_F32, 100);
        float values[100];
        ACCEPTED(tl_tensor_read_f32(t, values, 100, &err));
        bool zeros = true;
        for (int i = 0; i < 100; i++) zeros = zeros && values[i] == 0;
        CHECK(zeros);
        while (tl_tensor_new_1d(ctx, TL_TYPE_F32, 200)) {
        }
        REFUSED(tl_context_error(ctx, &err), TL_STATUS_OUT_OF_MEMORY, "");
        while (tl_tensor_new_1d(ctx, TL_TYPE_I8, 1)) {
        }
        tl_context_free(ctx);
        bool intact = true;
        for (size_t i = 0; i < GUARD; i++) intact = intact && memory[i] == 0xA5 && memory[GUARD + SIZE + i] == 0xA5;
        CHECK(intact);
    }
    const size_t too_small[] = {1, 7, 64};
    for (int i = 0; i < 3; i++) {
        params.mem_buffer = memory;
        params.mem_buffer_size = too_small[i];
        tl_context *ctx = context_of(&params);
        NOT_MADE(ctx, tl_tensor_new_1d(ctx, TL_TYPE_F32, 16), TL_STATUS_OUT_OF_MEMORY, "");
        tl_context_free(ctx);
    }
    free(memory);
}

static void test_no_alloc(void) {
    tl_context_params params = defaults();
    params.no_alloc = true;
    tl_context *ctx = context_of(&params), *plain = fresh_context();
    tl_tensor *a = tl_tensor_new_1d(ctx, TL_TYPE_F32, 8), *sum = tl_add(ctx, a, a);
    tl_graph *graph = NULL;
    float values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    void *data = NULL;
    CHECK(a && sum && tl_tensor_data(a) == NULL);
    REFUSED(tl_tensor_write_f32(a, values, 8, &err), TL_STATUS_INVALID_ARGUMENT, "");
    REFUSED(tl_tensor_read_f32(a, values, 8, &err), TL_STATUS_INVALID_ARGUMENT, "");
    REFUSED(tl_tensor_map(a, TL_ACCESS_READ, &data, &err), TL_STATUS_INVALID_ARGUMENT, "");
    REFUSED(tl_tensor_set_constant(a, &err), TL_STATUS_INVALID_ARGUMENT, "");
    ACCEPTED(tl_graph_create(ctx, &sum, 1, &graph, &err));
    REFUSED(tl_graph_compute(graph, backend, &err), TL_STATUS_INVALID_ARGUMENT, "");
    REFUSED(tl_context_allocate(NULL, NULL, &err), TL_STATUS_INVALID_ARGUMENT, "");
    REFUSED(tl_context_allocate(plain, NULL, &err), TL_STATUS_INVALID_ARGUMENT, "no_alloc");
    ACCEPTED(tl_context_allocate(ctx, NULL, &err));
    ACCEPTED(tl_tensor_read_f32(a, values, 8, &err));
    CHECK(values[0] == 0 && values[7] == 0);
    values[3] = 5;
    ACCEPTED(tl_tensor_write_f32(a, values, 8, &err));
    ACCEPTED(tl_context_allocate(ctx, backend, &err)); /* nothing is left to do, and nothing is lost */
    ACCEPTED(tl_graph_compute(graph, backend, &err));
    ACCEPTED(tl_tensor_get_f32(sum, 3, 0, 0, 0, values, &err));
    CHECK(values[0] == 10);
    tl_graph_free(graph), tl_context_free(plain), tl_context_free(ctx);

    params.mem_limit = 16384;
    ctx = context_of(&params);
    a = tl_tensor_new_1d(ctx, TL_TYPE_F32, 64);
    CHECK(a && tl_tensor_new_1d(ctx, TL_TYPE_F32, 1 << 20)); /* shapes alone fit */
    REFUSED(tl_context_allocate(ctx, NULL, &err), TL_STATUS_OUT_OF_MEMORY, "16384");
    CHECK(tl_tensor_data(a) == NULL);
    tl_context_free(ctx);
}

static void test_first_error(void) {
    tl_context *ctx = fresh_context();
    REFUSED(tl_context_error(NULL, &err), TL_STATUS_INVALID_ARGUMENT, "");
    CHECK(tl_context_error(NULL, NULL) == TL_STATUS_INVALID_ARGUMENT);
    ACCEPTED(tl_context_error(ctx, &err));
    tl_tensor *a = tl_tensor_new_1d(ctx, TL_TYPE_F32, 4), *b = tl_tensor_new_1d(ctx, TL_TYPE_F32, 3);
    CHECK(tl_add(ctx, tl_mul_mat(ctx, a, b), a) == NULL); /* nested: add gets a NULL and adds no error */
    CHECK(tl_reshape(ctx, a, 9, NULL) == NULL && tl_tensor_new_1d(ctx, -5, 4) == NULL);
    REFUSED(tl_context_error(ctx, &err), TL_STATUS_SHAPE_MISMATCH, "mul_mat");
    CHECK(strstr(err.message, "[4]") && strstr(err.message, "[3]"));
    ACCEPTED(tl_context_error(ctx, &err));
    CHECK(tl_add(ctx, a, b) == NULL);
    CHECK(tl_context_error(ctx, NULL) == TL_STATUS_SHAPE_MISMATCH);
    ACCEPTED(tl_context_error(ctx, &err));
    tl_context_free(ctx);
}

static void test_reset(void) {
    tl_context *weights = fresh_context(), *ctx = fresh_context();
    tl_graph *graph = NULL;
    REFUSED(tl_context_reset(NULL, &err), TL_STATUS_INVALID_ARGUMENT, "");
    tl_tensor *w = tl_tensor_new_1d(weights, TL_TYPE_F32, 4), *sum = tl_add(ctx, w, w);
    REFUSED(tl_context_reset(weights, &err), TL_STATUS_BUSY, "");
    ACCEPTED(tl_graph_create(ctx, &sum, 1, &graph, &err));
    REFUSED(tl_context_reset(ctx, &err), TL_STATUS_BUSY, "");
    ACCEPTED(tl_graph_compute(graph, backend, &err)); /* nothing was changed */
    tl_graph_free(graph);
    ACCEPTED(tl_context_reset(ctx, &err));
    ACCEPTED(tl_context_reset(weights, &err));
    ACCEPTED(tl_context_reset(weights, &err));
    CHECK(tl_tensor_new_1d(weights, TL_TYPE_F32, 4) != NULL);
    tl_context_free(ctx), tl_context_free(weights);
}

void test_contexts(void) {
    test_params();
    test_limits();
    test_buffers();
    test_no_alloc();
    test_first_error();
    test_reset();
}

static void test_circles(void) {
    tl_context *one = fresh_context(), *two = fresh_context(), *three = fresh_context();
    tl_tensor *a = tl_tensor_new_1d(one, TL_TYPE_F32, 4);
    tl_tensor *b = tl_add(two, a, a), *c = tl_add(three, b, b);
    CHECK(b && c);
    NOT_MADE(one, tl_add(one, b, b), TL_STATUS_CONTEXT_MISMATCH, "add");
    NOT_MADE(one, tl_add(one, a, c), TL_STATUS_CONTEXT_MISMATCH, "add");
    NOT_MADE(two, tl_transpose(two, c), TL_STATUS_CONTEXT_MISMATCH, "transpose");
    CHECK(tl_add(three, a, b) != NULL);
    tl_context_free(two), tl_context_free(one), tl_context_free(three);
}

/* A graph over three contexts, computed; then its five handles freed in the order `order`. */
static void free_in_order(const int *order) {
    tl_backend *own = NULL;
    ACCEPTED(tl_backend_create("cpu", NULL, &own, &err));
    tl_context_params params = defaults();
    params.backend = own;
    tl_context *one = context_of(&params), *two = context_of(&params), *three = context_of(&params);
    tl_graph *graph = NULL;
    tl_tensor *a = tl_tensor_new_1d(one, TL_TYPE_F32, 4), *b = tl_add(two, a, a), *c = tl_add(three, b, a);
    ACCEPTED(tl_graph_create(three, &c, 1, &graph, &err));
    ACCEPTED(tl_tensor_write_f32(a, (const float[]){1, 2, 3, 4}, 4, &err));
    bool backend_left = true, graph_left = true;
    for (int i = 0; i < 5; i++) {
        switch (order[i]) {
            case 0: tl_backend_free(own), backend_left = false; break;
            case 1: tl_context_free(one); break;
            case 2: tl_context_free(two); break;
            case 3: tl_context_free(three); break;
            default: tl_graph_free(graph), graph_left = false;
        }
        float last = 0;
        if (graph_left && backend_left) ACCEPTED(tl_graph_compute(graph, own, &err));
        if (graph_left && backend_left) ACCEPTED(tl_tensor_get_f32(c, 3, 0, 0, 0, &last, &err));
        if (graph_left && backend_left) CHECK(last == 12);
    }
}

static void test_orders(void) {
    for (int code = 0; code < 3125; code++) {
        int order[5], seen = 0;
        for (int i = 0, rest = code; i < 5; i++, rest /= 5) seen |= 1 << (order[i] = rest % 5);
        if (seen == 31) free_in_order(order);
    }
    tl_context_free(NULL);
    tl_graph_free(NULL);
}

void test_lifetimes(void) {
    test_circles();
    test_orders();
}
