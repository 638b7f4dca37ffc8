/* Quantising and back: sizes, pointers, values and weights that are not valid. */
#include "bad_input.h"

static float values[2 * 256], weights[256];
static unsigned char blocks[2 * 512];

static const struct {
    tl_type type;
    int64_t n_rows, n_per_row;
    bool no_src, no_dst;
    const char *word;
} BAD_CALLS[] = {
    {.type = -1, .n_rows = 1, .n_per_row = 256, .word = "no type -1"},
    {.type = 4, .n_rows = 1, .n_per_row = 256, .word = "no type 4"},
    {.type = 9999, .n_rows = 1, .n_per_row = 256, .word = "no type 9999"},
    {.type = INT32_MIN, .n_rows = 1, .n_per_row = 256, .word = "no type"},
    {.type = TL_TYPE_Q4_K, .n_rows = -1, .n_per_row = 256, .word = "n_rows is -1"},
    {.type = TL_TYPE_Q4_K, .n_rows = INT64_MIN, .n_per_row = 256, .word = "n_rows"},
    {.type = TL_TYPE_Q4_K, .n_rows = 1, .n_per_row = -256, .word = "n_per_row is -256"},
    {.type = TL_TYPE_Q4_K, .n_rows = 1, .n_per_row = INT64_MIN, .word = "n_per_row"},
    {.type = TL_TYPE_Q4_K, .n_rows = 1, .n_per_row = 100, .word = "a multiple of 256 is valid for q4_K"},
    {.type = TL_TYPE_Q8_0, .n_rows = 1, .n_per_row = 33, .word = "a multiple of 32"},
    {.type = TL_TYPE_Q4_K, .n_rows = INT64_MAX, .n_per_row = 256, .word = "more than any memory"},
    {.type = TL_TYPE_Q4_K, .n_rows = INT64_MAX / 256, .n_per_row = 256, .word = "more than any memory"},
    {.type = TL_TYPE_F32, .n_rows = 2, .n_per_row = INT64_MAX, .word = "more than any memory"},
    {.type = TL_TYPE_Q4_K, .n_rows = 1, .n_per_row = 256, .no_src = true, .word = "src is NULL"},
    {.type = TL_TYPE_Q4_K, .n_rows = 1, .n_per_row = 256, .no_dst = true, .word = "dst is NULL"},
    {.type = TL_TYPE_F16, .n_rows = 1, .n_per_row = 1, .no_src = true, .word = "src is NULL"},
};

/* The call on both functions. */
static void refuse(tl_type type, const float *src, void *dst, int64_t n_rows, int64_t n_per_row, const float *importance,
                   const char *word) {
    REFUSED(tl_quantize(type, src, dst, n_rows, n_per_row, importance, &err), TL_STATUS_INVALID_ARGUMENT, word);
    REFUSED(tl_backend_quantize(backend, type, src, dst, n_rows, n_per_row, importance, &err), TL_STATUS_INVALID_ARGUMENT, word);
}

static void test_values(void) {
    const struct {
        tl_type type;
        float bad;
        int at;
        const char *word;
    } unfit[] = {
        {TL_TYPE_Q4_K, NAN, 0, "value 0 of row 0 is nan: q4_K holds finite numbers only"},
        {TL_TYPE_Q4_K, INFINITY, 256 + 255, "value 255 of row 1 is inf"},
        {TL_TYPE_IQ1_S, -INFINITY, 300, "value 44 of row 1 is -inf"},
        {TL_TYPE_Q8_K, NAN, 17, "value 17 of row 0"},
        {TL_TYPE_I8, 128, 3, "value 3 of row 0 is 128: i8 holds integers within its range only"},
        {TL_TYPE_I32, NAN, 3, "value 3 of row 0 is nan: i32"},
    };
    for (size_t i = 0; i < sizeof unfit / sizeof *unfit; i++) {
        const float kept = values[unfit[i].at];
        values[unfit[i].at] = unfit[i].bad;
        refuse(unfit[i].type, values, blocks, 2, 256, NULL, unfit[i].word);
        values[unfit[i].at] = kept;
    }
    const float bad_weights[] = {-1, -1e-30f, NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 5; i++) {
        weights[200] = bad_weights[i];
        refuse(TL_TYPE_Q4_K, values, blocks, 2, 256, weights, "importance 200 is");
    }
    weights[200] = -0.0f;
    ACCEPTED(tl_quantize(TL_TYPE_Q4_K, values, blocks, 2, 256, weights, &err));
}

static void test_dequantize(void) {
    float back[256];
    const tl_type unknown[] = {-1, 5, 9999, INT32_MAX};
    for (int i = 0; i < 4; i++) REFUSED(tl_dequantize(unknown[i], blocks, back, 256, &err), TL_STATUS_INVALID_ARGUMENT, "no type");
    REFUSED(tl_dequantize(TL_TYPE_Q4_K, blocks, back, -256, &err), TL_STATUS_INVALID_ARGUMENT, "multiple of 256");
    REFUSED(tl_dequantize(TL_TYPE_Q4_K, blocks, back, 1, &err), TL_STATUS_INVALID_ARGUMENT, "multiple of 256");
    REFUSED(tl_dequantize(TL_TYPE_Q4_K, NULL, back, 256, &err), TL_STATUS_INVALID_ARGUMENT, "src is NULL");
    REFUSED(tl_dequantize(TL_TYPE_Q4_K, blocks, NULL, 256, &err), TL_STATUS_INVALID_ARGUMENT, "dst is NULL");
    ACCEPTED(tl_dequantize(TL_TYPE_Q4_K, NULL, NULL, 0, &err));
    /* Any bytes, at an odd address. */
    memset(blocks, 0xFF, sizeof blocks);
    for (size_t i = 0; i < tl_type_count(); i++) {
        const tl_type type = tl_type_at(i);
        ACCEPTED(tl_dequantize(type, blocks + 1, back, tl_type_block_size(type), &err));
    }
    CHECK(tl_dequantize(TL_TYPE_Q4_K, NULL, back, 256, NULL) == TL_STATUS_INVALID_ARGUMENT);
}

/* Every type, at an odd address: no byte beyond its own is written, and both functions write the same. */
static void test_every_type(void) {
    unsigned char other[sizeof blocks];
    for (size_t i = 0; i < tl_type_count(); i++) {
        const tl_type type = tl_type_at(i);
        const size_t size = 2 * 256 / (size_t)tl_type_block_size(type) * tl_type_size(type);
        if (1 + size >= sizeof blocks) continue;
        memset(blocks, 0xA5, sizeof blocks);
        memset(other, 0xA5, sizeof other);
        /* U8 has no negative numbers. */
        float from[512];
        for (size_t v = 0; v < 512; v++) from[v] = type == TL_TYPE_U8 && values[v] < 0 ? -values[v] : values[v];
        ACCEPTED(tl_quantize(type, from, blocks + 1, 2, 256, NULL, &err));
        ACCEPTED(tl_backend_quantize(backend, type, from, other + 1, 1, 512, NULL, &err));
        CHECK(memcmp(blocks, other, sizeof blocks) == 0);
        CHECK(blocks[0] == 0xA5 && blocks[1 + size] == 0xA5);
    }
}

static void test_gpus_do_not_quantize(void) {
    tl_backend *gpu = NULL;
    if (tl_backend_create("cuda:0", NULL, &gpu, &err) != TL_STATUS_OK) {
        skip("quantising on a GPU", err.message);
        return;
    }
    REFUSED(tl_backend_quantize(gpu, TL_TYPE_Q4_K, values, blocks, 2, 256, NULL, &err), TL_STATUS_UNSUPPORTED, "does not quantise");
    tl_backend_free(gpu);
}

void test_quantize(void) {
    for (int i = 0; i < 512; i++) values[i] = (float)(i % 37 - 18);
    for (int i = 0; i < 256; i++) weights[i] = (float)(i % 5);
    for (size_t i = 0; i < sizeof BAD_CALLS / sizeof *BAD_CALLS; i++) {
        refuse(BAD_CALLS[i].type, BAD_CALLS[i].no_src ? NULL : values, BAD_CALLS[i].no_dst ? NULL : blocks, BAD_CALLS[i].n_rows,
               BAD_CALLS[i].n_per_row, NULL, BAD_CALLS[i].word);
    }
    REFUSED(tl_backend_quantize(NULL, TL_TYPE_Q4_K, values, blocks, 2, 256, NULL, &err), TL_STATUS_INVALID_ARGUMENT, "backend is NULL");
    ACCEPTED(tl_quantize(TL_TYPE_Q4_K, NULL, NULL, 0, 256, NULL, &err));
    ACCEPTED(tl_quantize(TL_TYPE_Q4_K, NULL, NULL, INT64_MAX, 0, NULL, &err));
    ACCEPTED(tl_backend_quantize(backend, TL_TYPE_Q4_K, NULL, NULL, 0, 0, NULL, &err));
    CHECK(tl_quantize(TL_TYPE_Q4_K, values, blocks, 2, 255, NULL, NULL) == TL_STATUS_INVALID_ARGUMENT);
    test_values();
    test_dequantize();
    test_every_type();
    test_gpus_do_not_quantize();
}
