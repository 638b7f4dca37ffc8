/* Tensors: making them, reading and writing past the end, mappings, constants, and tensors that cannot
 * be read. */
#include "bad_input.h"

static void test_making(void) {
    tl_context *ctx = fresh_context();
    const int64_t ok[4] = {2, 2, 2, 2};
    CHECK(tl_tensor_new(NULL, TL_TYPE_F32, 2, ok) == NULL);
    CHECK(tl_tensor_new_1d(NULL, TL_TYPE_F32, 1) == NULL);
    CHECK(tl_tensor_new_2d(NULL, TL_TYPE_F32, 1, 1) == NULL);
    CHECK(tl_tensor_new_3d(NULL, TL_TYPE_F32, 1, 1, 1) == NULL);
    CHECK(tl_tensor_new_4d(NULL, TL_TYPE_F32, 1, 1, 1, 1) == NULL);
    NOT_MADE(ctx, tl_tensor_new(ctx, TL_TYPE_F32, 2, NULL), TL_STATUS_INVALID_ARGUMENT, "ne");
    const int32_t dims[] = {0, 5, -1, INT32_MIN, INT32_MAX};
    for (int i = 0; i < 5; i++) NOT_MADE(ctx, tl_tensor_new(ctx, TL_TYPE_F32, dims[i], ok), TL_STATUS_INVALID_ARGUMENT, "");
    const tl_type types[] = {-1, 9999, INT32_MIN, INT32_MAX};
    for (int i = 0; i < 4; i++) NOT_MADE(ctx, tl_tensor_new(ctx, types[i], 2, ok), TL_STATUS_INVALID_ARGUMENT, "");
    /* Products that pass 2^63 elements, or 2^64 bytes, in one step or only over all dimensions; some would
     * come out small if they wrapped around. */
    const int64_t sizes[][4] = {
        {INT64_MAX, 2, 1, 1},
        {1LL << 32, 1LL << 32, 1, 1},
        {1LL << 62, 1, 1, 1},
        {(1LL << 61) + 1, 8, 1, 1},
        {1LL << 20, 1LL << 20, 1LL << 20, 1LL << 20},
        {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX},
        {-1, 1, 1, 1},
        {4, -2, 1, 1},
        {2, 2, INT64_MIN, 1},
        {-1, -1, 1, 1},
        {0, 1, 1, -1},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        NOT_MADE(ctx, tl_tensor_new(ctx, TL_TYPE_F32, 4, sizes[i]), TL_STATUS_INVALID_ARGUMENT, "");
    NOT_MADE(ctx, tl_tensor_new_1d(ctx, TL_TYPE_F32, -3), TL_STATUS_INVALID_ARGUMENT, "-3");
    /* 2^60 bytes fit into 64 bits, but into no machine. */
    NOT_MADE(ctx, tl_tensor_new_1d(ctx, TL_TYPE_I8, 1LL << 60), TL_STATUS_OUT_OF_MEMORY, "");
    CHECK(tl_tensor_new(ctx, TL_TYPE_F32, 4, ok) != NULL);
    tl_context_free(ctx);
}

static void test_getters(void) {
    CHECK(tl_tensor_type(NULL) == -1 && tl_tensor_n_dims(NULL) == 0 && tl_tensor_ne(NULL, 0) == 0);
    CHECK(tl_tensor_nb(NULL, 0) == 0 && tl_tensor_nbytes(NULL) == 0 && tl_tensor_n_elements(NULL) == 0);
    CHECK(tl_tensor_op(NULL) == NULL && tl_tensor_name(NULL) == NULL && tl_tensor_data(NULL) == NULL);
    tl_context *ctx = fresh_context();
    tl_tensor *t = tl_tensor_new_2d(ctx, TL_TYPE_F16, 3, 5);
    CHECK(tl_tensor_type(t) == TL_TYPE_F16 && tl_tensor_n_dims(t) == 2 && tl_tensor_nbytes(t) == 30);
    CHECK(tl_tensor_ne(t, 0) == 3 && tl_tensor_ne(t, 1) == 5 && tl_tensor_ne(t, 2) == 1 && tl_tensor_ne(t, 3) == 1);
    CHECK(tl_tensor_nb(t, 0) == 2 && tl_tensor_nb(t, 1) == 6 && strcmp(tl_tensor_op(t), "leaf") == 0);
    const int32_t dims[] = {-1, 4, INT32_MIN, INT32_MAX};
    for (int i = 0; i < 4; i++) CHECK(tl_tensor_ne(t, dims[i]) == 0 && tl_tensor_nb(t, dims[i]) == 0);
    REFUSED(tl_tensor_set_name(NULL, "x", &err), TL_STATUS_INVALID_ARGUMENT, "");
    CHECK(strcmp(tl_tensor_name(t), "") == 0);
    ACCEPTED(tl_tensor_set_name(t, "weights", &err));
    CHECK(strcmp(tl_tensor_name(t), "weights") == 0);
    char large[20000];
    memset(large, 'n', sizeof large - 1);
    large[sizeof large - 1] = 0;
    ACCEPTED(tl_tensor_set_name(t, large, &err));
    CHECK(strcmp(tl_tensor_name(t), large) == 0);
    ACCEPTED(tl_tensor_set_name(t, NULL, &err));
    CHECK(strcmp(tl_tensor_name(t), "") == 0);
    tl_context_free(ctx);
}

void test_tensors(void) {
    test_making();
    test_getters();
}

static void test_bytes(void) {
    tl_context *ctx = fresh_context();
    tl_tensor *t = tl_tensor_new_1d(ctx, TL_TYPE_F32, 4), *empty = tl_tensor_new_1d(ctx, TL_TYPE_F32, 0);
    char bytes[64] = {0};
    /* offset and size of the 16 bytes: past the end, and sums that wrap around */
    const size_t past[][2] = {{0, 17}, {16, 1}, {17, 0}, {1, 16}, {SIZE_MAX, 1}, {1, SIZE_MAX}, {SIZE_MAX, SIZE_MAX}, {8, SIZE_MAX - 4}};
    for (size_t i = 0; i < sizeof past / sizeof *past; i++) {
        REFUSED(tl_tensor_write(t, bytes, past[i][0], past[i][1], &err), TL_STATUS_INVALID_ARGUMENT, "16");
        REFUSED(tl_tensor_read(t, bytes, past[i][0], past[i][1], &err), TL_STATUS_INVALID_ARGUMENT, "16");
    }
    REFUSED(tl_tensor_write(NULL, bytes, 0, 4, &err), TL_STATUS_INVALID_ARGUMENT, "");
    REFUSED(tl_tensor_read(NULL, bytes, 0, 4, &err), TL_STATUS_INVALID_ARGUMENT, "");
    REFUSED(tl_tensor_write(t, NULL, 0, 4, &err), TL_STATUS_INVALID_ARGUMENT, "");
    REFUSED(tl_tensor_read(t, NULL, 0, 4, &err), TL_STATUS_INVALID_ARGUMENT, "");
    ACCEPTED(tl_tensor_write(t, NULL, 16, 0, &err));
    ACCEPTED(tl_tensor_read(t, NULL, 0, 0, &err));
    ACCEPTED(tl_tensor_write(empty, NULL, 0, 0, &err));
    ACCEPTED(tl_tensor_read_f32(empty, NULL, 0, &err));
    ACCEPTED(tl_tensor_write(t, "\1\2\3", 13, 3, &err)); /* not on an element's border: bytes are bytes */
    ACCEPTED(tl_tensor_read(t, bytes, 12, 4, &err));
    CHECK(memcmp(bytes, "\0\1\2\3", 4) == 0);
    tl_context_free(ctx);
}

static void test_floats(void) {
    tl_context *ctx = fresh_context();
    tl_tensor *t = tl_tensor_new_1d(ctx, TL_TYPE_F32, 4), *bytes = tl_tensor_new_1d(ctx, TL_TYPE_I8, 4);
    float values[8] = {1, 2, 3, 4};
    const size_t counts[] = {0, 3, 5, SIZE_MAX, (SIZE_MAX / 4) + 2};
    for (int i = 0; i < 5; i++) {
        REFUSED(tl_tensor_write_f32(t, values, counts[i], &err), TL_STATUS_INVALID_ARGUMENT, "4");
        REFUSED(tl_tensor_read_f32(t, values, counts[i], &err), TL_STATUS_INVALID_ARGUMENT, "4");
    }
    REFUSED(tl_tensor_write_f32(NULL, values, 4, &err), TL_STATUS_INVALID_ARGUMENT, "");
    REFUSED(tl_tensor_read_f32(NULL, values, 4, &err), TL_STATUS_INVALID_ARGUMENT, "");
    REFUSED(tl_tensor_write_f32(t, NULL, 4, &err), TL_STATUS_INVALID_ARGUMENT, "");
    REFUSED(tl_tensor_read_f32(t, NULL, 4, &err), TL_STATUS_INVALID_ARGUMENT, "");

    ACCEPTED(tl_tensor_write_f32(bytes, (const float[]){2.5f, 3.5f, -2.5f, -128.5f}, 4, &err));
    ACCEPTED(tl_tensor_read_f32(bytes, values, 4, &err));
    CHECK(values[0] == 2 && values[1] == 4 && values[2] == -2 && values[3] == -128);
    const float bad[] = {NAN, INFINITY, -INFINITY, 127.5f, 128, -129, 1e30f};
    for (int i = 0; i < 7; i++) {
        const float row[4] = {9, 9, bad[i], 9};
        REFUSED(tl_tensor_write_f32(bytes, row, 4, &err), TL_STATUS_INVALID_ARGUMENT, "2");
        REFUSED(tl_tensor_set_f32(bytes, 1, 0, 0, 0, bad[i], &err), TL_STATUS_INVALID_ARGUMENT, "");
    }
    ACCEPTED(tl_tensor_read_f32(bytes, values, 4, &err));
    CHECK(values[0] == 2 && values[1] == 4 && values[2] == -2 && values[3] == -128);
    /* 2^31 and 2^63 are floats, but one too many for the integers of that width. */
    tl_tensor *i32 = tl_tensor_new_1d(ctx, TL_TYPE_I32, 1), *i64 = tl_tensor_new_1d(ctx, TL_TYPE_I64, 1);
    REFUSED(tl_tensor_set_f32(i32, 0, 0, 0, 0, 2147483648.0f, &err), TL_STATUS_INVALID_ARGUMENT, "");
    ACCEPTED(tl_tensor_set_f32(i32, 0, 0, 0, 0, -2147483648.0f, &err));
    REFUSED(tl_tensor_set_f32(i64, 0, 0, 0, 0, 9223372036854775808.0f, &err), TL_STATUS_INVALID_ARGUMENT, "");
    ACCEPTED(tl_tensor_set_f32(i64, 0, 0, 0, 0, -9223372036854775808.0f, &err));
    tl_context_free(ctx);
}

static void test_elements(void) {
    tl_context *ctx = fresh_context();
    tl_tensor *t = tl_tensor_new_4d(ctx, TL_TYPE_F32, 2, 3, 4, 5);
    float value = 0;
    const int64_t outside[] = {-1, 5, INT64_MIN, INT64_MAX};
    for (int dim = 0; dim < 4; dim++) {
        for (int i = 0; i < 4; i++) {
            int64_t at[4] = {0};
            at[dim] = outside[i];
            REFUSED(tl_tensor_get_f32(t, at[0], at[1], at[2], at[3], &value, &err), TL_STATUS_INVALID_ARGUMENT, "[2, 3, 4, 5]");
            REFUSED(tl_tensor_set_f32(t, at[0], at[1], at[2], at[3], 1, &err), TL_STATUS_INVALID_ARGUMENT, "[2, 3, 4, 5]");
        }
    }
    REFUSED(tl_tensor_get_f32(t, 0, 0, 0, 0, NULL, &err), TL_STATUS_INVALID_ARGUMENT, "");
    REFUSED(tl_tensor_get_f32(NULL, 0, 0, 0, 0, &value, &err), TL_STATUS_INVALID_ARGUMENT, "");
    REFUSED(tl_tensor_set_f32(NULL, 0, 0, 0, 0, 1, &err), TL_STATUS_INVALID_ARGUMENT, "");
    ACCEPTED(tl_tensor_set_f32(t, 1, 2, 3, 4, 7, &err));
    ACCEPTED(tl_tensor_get_f32(tl_transpose(ctx, t), 2, 1, 3, 4, &value, &err));
    CHECK(value == 7);
    tl_context_free(ctx);
}

static void test_maps(void) {
    tl_context *ctx = fresh_context();
    tl_tensor *t = tl_tensor_new_1d(ctx, TL_TYPE_F32, 4), *sum = tl_add(ctx, t, t);
    tl_graph *graph = NULL;
    void *one = NULL, *two = NULL;
    float values[4];
    ACCEPTED(tl_graph_create(ctx, &sum, 1, &graph, &err));
    REFUSED(tl_tensor_map(NULL, TL_ACCESS_READ, &one, &err), TL_STATUS_INVALID_ARGUMENT, "");
    REFUSED(tl_tensor_map(t, TL_ACCESS_READ, NULL, &err), TL_STATUS_INVALID_ARGUMENT, "");
    const tl_access unknown[] = {-1, 2, INT32_MIN, INT32_MAX};
    for (int i = 0; i < 4; i++) REFUSED(tl_tensor_map(t, unknown[i], &one, &err), TL_STATUS_INVALID_ARGUMENT, "access");
    REFUSED(tl_tensor_map(sum, TL_ACCESS_READ, &one, &err), TL_STATUS_INVALID_ARGUMENT, "");
    tl_tensor_unmap(NULL, TL_ACCESS_READ);

    ACCEPTED(tl_tensor_map(t, TL_ACCESS_READ, &one, &err));
    ACCEPTED(tl_tensor_map(t, TL_ACCESS_READ, &two, &err));
    CHECK(one && one == two && one == tl_tensor_data(t));
    ACCEPTED(tl_tensor_read_f32(t, values, 4, &err));
    REFUSED(tl_tensor_map(t, TL_ACCESS_WRITE, &two, &err), TL_STATUS_BUSY, "");
    REFUSED(tl_tensor_write_f32(t, values, 4, &err), TL_STATUS_BUSY, "");
    REFUSED(tl_graph_compute(graph, backend, &err), TL_STATUS_BUSY, "");
    tl_tensor_unmap(t, TL_ACCESS_READ);
    REFUSED(tl_tensor_write_f32(t, values, 4, &err), TL_STATUS_BUSY, "");
    tl_tensor_unmap(t, TL_ACCESS_READ);
    ACCEPTED(tl_tensor_write_f32(t, values, 4, &err));

    ACCEPTED(tl_tensor_map(t, TL_ACCESS_WRITE, &one, &err));
    REFUSED(tl_tensor_map(t, TL_ACCESS_READ, &two, &err), TL_STATUS_BUSY, "");
    REFUSED(tl_tensor_read_f32(t, values, 4, &err), TL_STATUS_BUSY, "");
    REFUSED(tl_tensor_get_f32(t, 0, 0, 0, 0, values, &err), TL_STATUS_BUSY, "");
    REFUSED(tl_graph_compute(graph, backend, &err), TL_STATUS_BUSY, "");
    tl_tensor_unmap(t, TL_ACCESS_WRITE);
    ACCEPTED(tl_graph_compute(graph, backend, &err));
    ACCEPTED(tl_tensor_map(sum, TL_ACCESS_READ, &one, &err));
    tl_tensor_unmap(sum, TL_ACCESS_READ);
    REFUSED(tl_tensor_map(sum, TL_ACCESS_WRITE, &one, &err), TL_STATUS_INVALID_ARGUMENT, "");
    tl_graph_free(graph), tl_context_free(ctx);
}

static void test_constants(void) {
    tl_context *ctx = fresh_context();
    tl_tensor *t = tl_tensor_new_1d(ctx, TL_TYPE_F32, 4), *other = tl_tensor_new_1d(ctx, TL_TYPE_F32, 4);
    tl_tensor *window = tl_view(ctx, t, 1, (const int64_t[]){2}, NULL, 4);
    float values[4] = {1, 2, 3, 4};
    void *data = NULL;
    REFUSED(tl_tensor_set_constant(NULL, &err), TL_STATUS_INVALID_ARGUMENT, "");
    REFUSED(tl_tensor_set_constant(tl_add(ctx, t, t), &err), TL_STATUS_INVALID_ARGUMENT, "");
    REFUSED(tl_tensor_drop_original(NULL, &err), TL_STATUS_INVALID_ARGUMENT, "");
    REFUSED(tl_tensor_drop_original(t, &err), TL_STATUS_INVALID_ARGUMENT, "constant");
    ACCEPTED(tl_tensor_write_f32(t, values, 4, &err));
    ACCEPTED(tl_tensor_set_constant(t, &err));
    ACCEPTED(tl_tensor_set_constant(t, &err));
    CHECK(tl_tensor_data(t) == NULL && tl_tensor_data(window) == NULL);
    REFUSED(tl_tensor_write_f32(t, values, 4, &err), TL_STATUS_INVALID_ARGUMENT, "constant");
    REFUSED(tl_tensor_write(t, values, 0, 4, &err), TL_STATUS_INVALID_ARGUMENT, "constant");
    REFUSED(tl_tensor_set_f32(t, 0, 0, 0, 0, 5, &err), TL_STATUS_INVALID_ARGUMENT, "constant");
    REFUSED(tl_tensor_set_f32(window, 0, 0, 0, 0, 5, &err), TL_STATUS_INVALID_ARGUMENT, "constant");
    REFUSED(tl_tensor_map(t, TL_ACCESS_WRITE, &data, &err), TL_STATUS_INVALID_ARGUMENT, "constant");
    NOT_MADE(ctx, tl_cpy(ctx, other, t), TL_STATUS_INVALID_ARGUMENT, "constant");
    NOT_MADE(ctx, tl_cpy(ctx, tl_view(ctx, other, 1, (const int64_t[]){2}, NULL, 0), window), TL_STATUS_INVALID_ARGUMENT, "constant");
    REFUSED(tl_tensor_drop_original(t, &err), TL_STATUS_UNSUPPORTED, "");
    ACCEPTED(tl_tensor_read_f32(window, values, 2, &err));
    CHECK(values[0] == 2 && values[1] == 3);
    /* A target that became constant after the node was built is found when it is computed. */
    tl_tensor *late = tl_tensor_new_1d(ctx, TL_TYPE_F32, 4), *copy = tl_cpy(ctx, t, late);
    tl_graph *graph = NULL;
    ACCEPTED(tl_graph_create(ctx, &copy, 1, &graph, &err));
    ACCEPTED(tl_tensor_set_constant(late, &err));
    REFUSED(tl_graph_compute(graph, backend, &err), TL_STATUS_INVALID_ARGUMENT, "constant");
    tl_graph_free(graph), tl_context_free(ctx);
}

/* A constant whose copy a product has made: dropped while it is mapped, read afterwards, and mapped. */
static void test_dropped(void) {
    tl_context *ctx = fresh_context();
    tl_tensor *weights = tl_tensor_new_2d(ctx, TL_TYPE_Q4_0, 64, 40),
              *window = tl_view(ctx, weights, 2, (const int64_t[]){64, 8}, NULL, 360);
    tl_tensor *product = tl_mul_mat(ctx, weights, tl_tensor_new_1d(ctx, TL_TYPE_F32, 64));
    float before[64 * 40], after[64 * 40];
    void *data = NULL;
    tl_graph *graph = NULL;
    for (int i = 0; i < 64 * 40; i++) before[i] = (float)(i % 23) - 11;
    ACCEPTED(tl_tensor_write_f32(weights, before, 64 * 40, &err));
    ACCEPTED(tl_tensor_read_f32(weights, before, 64 * 40, &err));
    ACCEPTED(tl_tensor_set_constant(weights, &err));
    REFUSED(tl_tensor_drop_original(weights, &err), TL_STATUS_UNSUPPORTED, "product");
    ACCEPTED(tl_graph_create(ctx, &product, 1, &graph, &err));
    ACCEPTED(tl_graph_compute(graph, backend, &err));
    if (tl_backend_packed_memory(backend) == 0) {
        skip("constants without their originals", "no packed copies on this ISA");
    } else {
        ACCEPTED(tl_tensor_map(window, TL_ACCESS_READ, &data, &err));
        REFUSED(tl_tensor_drop_original(weights, &err), TL_STATUS_BUSY, "in use");
        tl_tensor_unmap(window, TL_ACCESS_READ);
        ACCEPTED(tl_tensor_drop_original(weights, &err));
        CHECK(tl_backend_packed_memory(backend) == 0);
        CHECK(tl_tensor_data(weights) == NULL && tl_tensor_data(window) == NULL);
        REFUSED(tl_tensor_map(weights, TL_ACCESS_READ, &data, &err), TL_STATUS_UNAVAILABLE, "tensor_read");
        REFUSED(tl_tensor_map(window, TL_ACCESS_READ, &data, &err), TL_STATUS_UNAVAILABLE, "tensor_read");
        CHECK(data == NULL);
        REFUSED(tl_tensor_map(weights, TL_ACCESS_WRITE, &data, &err), TL_STATUS_INVALID_ARGUMENT, "constant");
        REFUSED(tl_tensor_write_f32(weights, before, 64 * 40, &err), TL_STATUS_INVALID_ARGUMENT, "constant");
        REFUSED(tl_tensor_read(weights, after, 1400, 41, &err), TL_STATUS_INVALID_ARGUMENT, "1440");
        ACCEPTED(tl_tensor_read_f32(weights, after, 64 * 40, &err));
        CHECK(memcmp(before, after, sizeof before) == 0);
        ACCEPTED(tl_tensor_get_f32(window, 63, 7, 0, 0, after, &err));
        CHECK(after[0] == before[64 * 18 - 1]);
        ACCEPTED(tl_tensor_drop_original(weights, &err));
        ACCEPTED(tl_graph_compute(graph, backend, &err));
    }
    tl_graph_free(graph), tl_context_free(ctx);
}

static void test_nodes(void) {
    tl_context *ctx = fresh_context();
    tl_tensor *t = tl_tensor_new_1d(ctx, TL_TYPE_F32, 4);
    tl_tensor *between = tl_add(ctx, t, t), *out = tl_add(ctx, between, t);
    tl_tensor *of_node = tl_view(ctx, out, 1, (const int64_t[]){2}, NULL, 8);
    tl_tensor *of_leaf = tl_view(ctx, t, 1, (const int64_t[]){2}, NULL, 8);
    tl_graph *graph = NULL;
    float values[4] = {1, 2, 3, 4};
    ACCEPTED(tl_graph_create(ctx, &out, 1, &graph, &err));
    CHECK(tl_tensor_data(out) == NULL);
    REFUSED(tl_tensor_read_f32(out, values, 4, &err), TL_STATUS_INVALID_ARGUMENT, "");
    REFUSED(tl_tensor_read_f32(of_node, values, 2, &err), TL_STATUS_INVALID_ARGUMENT, "");
    REFUSED(tl_tensor_write_f32(out, values, 4, &err), TL_STATUS_INVALID_ARGUMENT, "add");
    ACCEPTED(tl_tensor_write_f32(t, values, 4, &err));
    ACCEPTED(tl_tensor_write_f32(of_leaf, values, 2, &err));
    ACCEPTED(tl_graph_compute(graph, backend, &err));
    REFUSED(tl_tensor_read_f32(between, values, 4, &err), TL_STATUS_INVALID_ARGUMENT, "make it an output");
    REFUSED(tl_tensor_write_f32(of_node, values, 2, &err), TL_STATUS_INVALID_ARGUMENT, "");
    ACCEPTED(tl_tensor_read_f32(of_node, values, 2, &err));
    CHECK(values[0] == 3 && values[1] == 6);
    tl_graph_free(graph);
    ACCEPTED(tl_tensor_read_f32(out, values, 4, &err)); /* an output outlives its graph */
    tl_context_free(ctx);
}

void test_data(void) {
    test_bytes();
    test_floats();
    test_elements();
    test_maps();
    test_constants();
    test_dropped();
    test_nodes();
}
