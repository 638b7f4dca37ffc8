/* Graphs: building, computing, texts; and calls that a progress callback may not make. */
#include "bad_input.h"

static void test_building(void) {
    tl_context *ctx = fresh_context();
    tl_tensor *a = tl_tensor_new_1d(ctx, TL_TYPE_F32, 4), *b = tl_tensor_new_1d(ctx, TL_TYPE_F32, 3);
    tl_tensor *sum = tl_add(ctx, a, a), *hole[2] = {sum, NULL};
    tl_graph *graph = (tl_graph *)&err;
    REFUSED(tl_graph_create(NULL, &sum, 1, &graph, &err), TL_STATUS_INVALID_ARGUMENT, "");
    CHECK(graph == NULL);
    REFUSED(tl_graph_create(ctx, NULL, 1, &graph, &err), TL_STATUS_INVALID_ARGUMENT, "");
    REFUSED(tl_graph_create(ctx, &sum, 0, &graph, &err), TL_STATUS_INVALID_ARGUMENT, "");
    REFUSED(tl_graph_create(ctx, hole, 2, &graph, &err), TL_STATUS_INVALID_ARGUMENT, "");
    REFUSED(tl_graph_create(ctx, &sum, 1, NULL, &err), TL_STATUS_INVALID_ARGUMENT, "");
    /* A pending constructor's error comes first, and only once. */
    CHECK(tl_add(ctx, a, b) == NULL);
    REFUSED(tl_graph_create(ctx, &sum, 1, &graph, &err), TL_STATUS_SHAPE_MISMATCH, "add");
    CHECK(graph == NULL);
    ACCEPTED(tl_graph_create(ctx, &sum, 1, &graph, &err));
    CHECK(tl_graph_n_nodes(graph) == 1 && tl_graph_n_leafs(graph) == 1);
    tl_graph_free(graph);
    /* One output twice, and a leaf as an output. */
    tl_tensor *twice[3] = {sum, sum, a};
    ACCEPTED(tl_graph_create(ctx, twice, 3, &graph, &err));
    CHECK(tl_graph_n_nodes(graph) == 1);
    ACCEPTED(tl_graph_compute(graph, backend, &err));
    REFUSED(tl_graph_compute(NULL, backend, &err), TL_STATUS_INVALID_ARGUMENT, "");
    REFUSED(tl_graph_compute(graph, NULL, &err), TL_STATUS_INVALID_ARGUMENT, "");
    REFUSED(tl_graph_set_progress(NULL, NULL, NULL, &err), TL_STATUS_INVALID_ARGUMENT, "");
    REFUSED(tl_graph_set_check_finite(NULL, true, &err), TL_STATUS_INVALID_ARGUMENT, "graph is NULL");
    REFUSED(tl_graph_set_batch_invariant(NULL, true, &err), TL_STATUS_INVALID_ARGUMENT, "graph is NULL");
    CHECK(tl_graph_n_nodes(NULL) == 0 && tl_graph_n_leafs(NULL) == 0);
    tl_graph_free(graph), tl_context_free(ctx);
}

/* 100,000 nodes in a row: whoever walks them by recursion runs out of stack. */
static void test_deep_graph(void) {
    enum { DEPTH = 100000 };
    tl_context *ctx = fresh_context();
    tl_tensor *one = tl_tensor_new_1d(ctx, TL_TYPE_F32, 1), *t = one;
    tl_graph *graph = NULL;
    float value = 0;
    for (int i = 0; i < DEPTH && t; i++) t = tl_add(ctx, t, one);
    CHECK(t != NULL);
    ACCEPTED(tl_graph_create(ctx, &t, 1, &graph, &err));
    CHECK(tl_graph_n_nodes(graph) == DEPTH);
    ACCEPTED(tl_tensor_set_f32(one, 0, 0, 0, 0, 1, &err));
    ACCEPTED(tl_graph_compute(graph, backend, &err));
    ACCEPTED(tl_tensor_get_f32(t, 0, 0, 0, 0, &value, &err));
    CHECK(value == DEPTH + 1);
    tl_graph_free(graph), tl_context_free(ctx);
}

/* A text of `length` bytes is cut at every size, NUL included, and never written past. */
static void check_text(size_t length, size_t (*write)(void *, char *, size_t), void *data) {
    char *buf = malloc(length + 16);
    for (size_t size = 0; size <= length + 8; size += size < 8 ? 1 : length / 5 + 1) {
        memset(buf, 0x5A, length + 16);
        CHECK(write(data, buf, size) == length);
        bool holds = size == 0 || strlen(buf) == (size <= length ? size - 1 : length);
        CHECK(holds && buf[size] == 0x5A);
    }
    free(buf);
}

static size_t write_dot(void *graph, char *buf, size_t size) { return tl_graph_dot(graph, buf, size); }

static size_t write_plan(void *graph, char *buf, size_t size) { return tl_graph_plan_text(graph, backend, buf, size, &err); }

static void test_texts(void) {
    tl_context *ctx = fresh_context();
    tl_tensor *a = tl_tensor_new_2d(ctx, TL_TYPE_F32, 4, 4), *out = tl_add(ctx, tl_mul_mat(ctx, a, a), a);
    tl_graph *graph = NULL;
    char buf[8];
    /* A name may hold what means something in DOT; it must not end a string early. */
    ACCEPTED(tl_tensor_set_name(a, "a\"b\\c\n}", &err));
    ACCEPTED(tl_graph_create(ctx, &out, 1, &graph, &err));
    CHECK(tl_graph_dot(NULL, buf, sizeof buf) == 0);
    size_t dot = tl_graph_dot(graph, NULL, 0), plan = tl_graph_plan_text(graph, backend, NULL, 0, &err);
    CHECK(dot > 20 && plan > 10);
    check_text(dot, write_dot, graph);
    check_text(plan, write_plan, graph);
    CHECK(tl_graph_plan_text(NULL, backend, buf, sizeof buf, &err) == 0 && err.code == TL_STATUS_INVALID_ARGUMENT);
    CHECK(tl_graph_plan_text(graph, NULL, buf, sizeof buf, &err) == 0 && err.code == TL_STATUS_INVALID_ARGUMENT);
    CHECK(tl_graph_plan_text(graph, NULL, NULL, 0, NULL) == 0);
    tl_graph_free(graph), tl_context_free(ctx);
}

static size_t write_name(void *ctx, char *buf, size_t size) { return tl_context_name(ctx, buf, size); }

static size_t write_tensor_name(void *t, char *buf, size_t size) { return tl_tensor_copy_name(t, buf, size); }

static void test_names(void) {
    tl_context *ctx = fresh_context();
    tl_tensor *t = tl_tensor_new_1d(ctx, TL_TYPE_F32, 4);
    char buf[8] = "x";
    CHECK(tl_context_name(ctx, buf, sizeof buf) == 0 && buf[0] == 0);
    ACCEPTED(tl_context_set_name(ctx, "the weights", &err));
    ACCEPTED(tl_tensor_set_name(t, "a \xc3\xa4", &err));
    check_text(11, write_name, ctx);
    check_text(4, write_tensor_name, t);
    REFUSED(tl_context_set_name(ctx, "\x80", &err), TL_STATUS_INVALID_ARGUMENT, "UTF-8");
    REFUSED(tl_tensor_set_name(t, "abc\xe2\x82", &err), TL_STATUS_INVALID_ARGUMENT, "byte 3");
    REFUSED(tl_context_set_name(NULL, "x", &err), TL_STATUS_INVALID_ARGUMENT, "ctx is NULL");
    CHECK(tl_context_name(NULL, buf, sizeof buf) == 0 && tl_tensor_copy_name(NULL, buf, sizeof buf) == 0);
    REFUSED(tl_context_freeze(NULL, &err), TL_STATUS_INVALID_ARGUMENT, "ctx is NULL");
    ACCEPTED(tl_context_freeze(ctx, &err));
    ACCEPTED(tl_context_freeze(ctx, &err));
    NOT_MADE(ctx, tl_tensor_new_1d(ctx, TL_TYPE_F32, 4), TL_STATUS_INVALID_ARGUMENT, "'the weights' was frozen");
    NOT_MADE(ctx, tl_add(ctx, t, t), TL_STATUS_INVALID_ARGUMENT, "build in another context");
    ACCEPTED(tl_context_set_name(ctx, NULL, &err));
    ACCEPTED(tl_context_reset(ctx, &err));
    CHECK(tl_tensor_new_1d(ctx, TL_TYPE_F32, 4) != NULL);
    tl_context_free(ctx);
}

static void test_slices(void) {
    tl_context *ctx = fresh_context();
    tl_tensor *t = tl_tensor_new_2d(ctx, TL_TYPE_F32, 4, 3);
    const int64_t start[2] = {1, 1}, ne[2] = {2, 2};
    tl_tensor *slice = tl_slice(ctx, t, 2, start, ne), *narrow = tl_narrow(ctx, t, 1, 2, 1);
    CHECK(tl_tensor_ne(slice, 0) == 2 && tl_tensor_ne(slice, 1) == 2 && tl_tensor_nb(slice, 1) == 16);
    CHECK(tl_tensor_ne(narrow, 1) == 1);
    NOT_MADE(ctx, tl_slice(ctx, NULL, 2, start, ne), TL_STATUS_INVALID_ARGUMENT, "NULL");
    NOT_MADE(ctx, tl_slice(ctx, t, 2, NULL, ne), TL_STATUS_INVALID_ARGUMENT, "start is NULL");
    NOT_MADE(ctx, tl_slice(ctx, t, 2, start, NULL), TL_STATUS_INVALID_ARGUMENT, "NULL");
    NOT_MADE(ctx, tl_slice(ctx, t, 5, start, ne), TL_STATUS_INVALID_ARGUMENT, "1 to 4");
    NOT_MADE(ctx, tl_narrow(ctx, NULL, 0, 0, 1), TL_STATUS_INVALID_ARGUMENT, "NULL");
    NOT_MADE(ctx, tl_narrow(ctx, t, 7, 0, 1), TL_STATUS_INVALID_ARGUMENT, "0 to 3");
    NOT_MADE(ctx, tl_narrow(ctx, t, 1, 2, 2), TL_STATUS_INVALID_ARGUMENT, "0 to 3 are there");
    CHECK(tl_slice(NULL, t, 2, start, ne) == NULL && tl_narrow(NULL, t, 0, 0, 1) == NULL);
    tl_context_free(ctx);
}

void test_graphs(void) {
    test_names();
    test_slices();

    test_building();
    test_deep_graph();
    test_texts();
}

typedef struct {
    tl_context *ctx;
    tl_graph *graph;
    tl_tensor *leaf, *out;
    size_t calls, last_done, total; /* calls: one for each step */
    size_t stop_at;                 /* the step after which the callback returns false; 0 = none */
} Watch;

/* Counts the steps: one that takes long, as on a busy machine, is reported several times before it is done. */
static bool is_next_step(Watch *watch, size_t done) {
    if (done == watch->last_done) return false;
    watch->last_done = done;
    watch->calls++;
    return true;
}

static bool on_progress(void *user_data, size_t done, size_t total) {
    Watch *watch = user_data;
    watch->total = total;
    return !is_next_step(watch, done) || watch->calls != watch->stop_at;
}

/* While a graph runs, its backend and what it writes are taken: no call waits for them. */
static bool intrude(void *user_data, size_t done, size_t total) {
    Watch *watch = user_data;
    float values[4] = {0};
    void *data = NULL;
    if (!is_next_step(watch, done) || watch->calls > 1) return true;
    CHECK(done >= 1 && done <= total);
    REFUSED(tl_graph_compute(watch->graph, backend, &err), TL_STATUS_BUSY, "");
    REFUSED(tl_tensor_read_f32(watch->out, values, 4, &err), TL_STATUS_BUSY, "");
    REFUSED(tl_tensor_write_f32(watch->leaf, values, 4, &err), TL_STATUS_BUSY, "");
    REFUSED(tl_tensor_map(watch->leaf, TL_ACCESS_WRITE, &data, &err), TL_STATUS_BUSY, "");
    REFUSED(tl_graph_set_progress(watch->graph, NULL, NULL, &err), TL_STATUS_BUSY, "");
    REFUSED(tl_context_reset(watch->ctx, &err), TL_STATUS_BUSY, "");
    /* Another graph is no way around the backend's lock; building goes on. */
    tl_context *other = fresh_context();
    tl_tensor *t = tl_tensor_new_1d(other, TL_TYPE_F32, 4), *sum = tl_add(other, t, t);
    tl_graph *graph = NULL;
    ACCEPTED(tl_graph_create(other, &sum, 1, &graph, &err));
    REFUSED(tl_graph_compute(graph, backend, &err), TL_STATUS_BUSY, "");
    CHECK(tl_add(watch->ctx, watch->leaf, watch->leaf) != NULL);
    tl_graph_free(graph), tl_context_free(other);
    return true;
}

/* A callback frees every handle that there is: the run keeps what it needs. */
static bool free_all(void *user_data, size_t done, size_t total) {
    tl_graph **graph = user_data;
    (void)done, (void)total;
    tl_graph_free(*graph);
    *graph = NULL;
    return true;
}

typedef struct {
    tl_graph *graph;
    tl_backend *backend;
    tl_context *ctx;
} Handles;

static bool free_handles(void *user_data, size_t done, size_t total) {
    Handles *all = user_data;
    (void)done, (void)total;
    tl_graph_free(all->graph), tl_backend_free(all->backend), tl_context_free(all->ctx);
    memset(all, 0, sizeof *all);
    return true;
}

static void test_freeing_inside(void) {
    tl_context *ctx = fresh_context();
    tl_tensor *leaf = tl_tensor_new_1d(ctx, TL_TYPE_F32, 4), *out = tl_add(ctx, tl_add(ctx, leaf, leaf), leaf);
    tl_graph *graph = NULL;
    float value = 0;
    ACCEPTED(tl_tensor_set_f32(leaf, 1, 0, 0, 0, 5, &err));
    ACCEPTED(tl_graph_create(ctx, &out, 1, &graph, &err));
    ACCEPTED(tl_graph_set_progress(graph, free_all, &graph, &err));
    ACCEPTED(tl_graph_compute(graph, backend, &err));
    CHECK(graph == NULL);
    ACCEPTED(tl_tensor_get_f32(out, 1, 0, 0, 0, &value, &err));
    CHECK(value == 15);
    Handles all = {.ctx = ctx};
    ACCEPTED(tl_backend_create("cpu", NULL, &all.backend, &err));
    ACCEPTED(tl_graph_create(ctx, &out, 1, &all.graph, &err));
    ACCEPTED(tl_graph_set_progress(all.graph, free_handles, &all, &err));
    ACCEPTED(tl_graph_compute(all.graph, all.backend, &err));
    CHECK(all.graph == NULL && all.backend == NULL && all.ctx == NULL);
}

void test_callbacks(void) {
    test_freeing_inside();

    Watch watch = {.ctx = fresh_context()};
    float values[4] = {1, 2, 3, 4};
    watch.leaf = watch.out = tl_tensor_new_1d(watch.ctx, TL_TYPE_F32, 4);
    /* Copies between the sums, which would be one step otherwise. */
    for (int i = 0; i < 5; i++) watch.out = i % 2 ? tl_cont(watch.ctx, watch.out) : tl_add(watch.ctx, watch.out, watch.leaf);
    ACCEPTED(tl_tensor_write_f32(watch.leaf, values, 4, &err));
    ACCEPTED(tl_graph_create(watch.ctx, &watch.out, 1, &watch.graph, &err));

    ACCEPTED(tl_graph_set_progress(watch.graph, on_progress, &watch, &err));
    ACCEPTED(tl_graph_compute(watch.graph, backend, &err));
    CHECK(watch.calls == 5 && watch.last_done == 5 && watch.total == 5);
    watch.calls = watch.last_done = 0;
    watch.stop_at = 3;
    REFUSED(tl_graph_compute(watch.graph, backend, &err), TL_STATUS_ABORTED, "");
    CHECK(watch.calls == 3 && watch.last_done == 3);
    REFUSED(tl_tensor_read_f32(watch.out, values, 4, &err), TL_STATUS_INVALID_ARGUMENT, "not computed");
    watch.calls = watch.last_done = watch.stop_at = 0;
    ACCEPTED(tl_graph_compute(watch.graph, backend, &err));
    ACCEPTED(tl_tensor_read_f32(watch.out, values, 4, &err));
    CHECK(values[3] == 16);

    ACCEPTED(tl_graph_set_progress(watch.graph, intrude, &watch, &err));
    watch.calls = watch.last_done = 0;
    ACCEPTED(tl_graph_compute(watch.graph, backend, &err));
    CHECK(watch.calls == 5);
    ACCEPTED(tl_graph_set_progress(watch.graph, NULL, NULL, &err));
    watch.calls = 0;
    ACCEPTED(tl_graph_compute(watch.graph, backend, &err));
    CHECK(watch.calls == 0);
    tl_graph_free(watch.graph), tl_context_free(watch.ctx);
}
