/* Status names, types, tl_error itself, devices and backends. */
#include "bad_input.h"

static const char *const STATUS_NAMES[] = {
    "TL_STATUS_OK",
    "TL_STATUS_INVALID_ARGUMENT",
    "TL_STATUS_SHAPE_MISMATCH",
    "TL_STATUS_TYPE_MISMATCH",
    "TL_STATUS_CONTEXT_MISMATCH",
    "TL_STATUS_UNSUPPORTED",
    "TL_STATUS_UNAVAILABLE",
    "TL_STATUS_OUT_OF_MEMORY",
    "TL_STATUS_BUSY",
    "TL_STATUS_ABORTED",
    "TL_STATUS_IO",
    "TL_STATUS_FORMAT",
    "TL_STATUS_DEVICE",
    "TL_STATUS_INTERNAL",
    "TL_STATUS_GROUP",
};

static void test_names(void) {
    CHECK(tl_abi_version() == TL_ABI_VERSION);
    CHECK(tl_version() && strcmp(tl_version(), "0.1.0") == 0);
    for (int i = 0; i < 15; i++) CHECK(strcmp(tl_status_name(i), STATUS_NAMES[i]) == 0);
    const tl_status unknown[] = {-1, 15, INT32_MIN, INT32_MAX};
    for (int i = 0; i < 4; i++) CHECK(strcmp(tl_status_name(unknown[i]), "unknown status") == 0);
}

static void test_types(void) {
    const struct {
        tl_type type;
        const char *name;
        size_t size;
    } known[] = {{TL_TYPE_F32, "f32", 4}, {TL_TYPE_F16, "f16", 2}, {TL_TYPE_BF16, "bf16", 2}, {TL_TYPE_F64, "f64", 8},
                 {TL_TYPE_I8, "i8", 1},   {TL_TYPE_I16, "i16", 2}, {TL_TYPE_I32, "i32", 4},   {TL_TYPE_I64, "i64", 8}};
    for (int i = 0; i < 8; i++) {
        CHECK(tl_type_block_size(known[i].type) == 1);
        CHECK(tl_type_size(known[i].type) == known[i].size);
        CHECK(strcmp(tl_type_name(known[i].type), known[i].name) == 0);
        tl_type found = -1;
        ACCEPTED(tl_type_from_name(known[i].name, &found, &err));
        CHECK(found == known[i].type);
    }
    CHECK(tl_type_block_size(TL_TYPE_Q4_K) == 256 && tl_type_size(TL_TYPE_Q4_K) == 144);
    CHECK(tl_type_kind(TL_TYPE_Q4_K) == TL_KIND_WEIGHT && tl_type_partner(TL_TYPE_Q4_K) == TL_TYPE_Q8_K);
    CHECK(tl_type_kind(TL_TYPE_Q8_K) == TL_KIND_ACTIVATION && tl_type_kind(TL_TYPE_BF16) == TL_KIND_FLOATING);
    CHECK(tl_type_kind(TL_TYPE_I8) == TL_KIND_INTEGER && tl_type_partner(TL_TYPE_I8) == TL_TYPE_I8);
    for (size_t i = 0; i < tl_type_count(); i++) CHECK(tl_type_block_size(tl_type_at(i)) > 0);
    CHECK(tl_type_at(0) == TL_TYPE_F32 && tl_type_at(tl_type_count()) == -1 && tl_type_at(SIZE_MAX) == -1);
    /* 4, 5, 31 to 33 and 36 to 38 are retired numbers. */
    const tl_type unknown[] = {-1, 4, 5, 31, 33, 36, 38, 9999, INT32_MIN, INT32_MAX};
    for (int i = 0; i < 10; i++) {
        CHECK(tl_type_block_size(unknown[i]) == 0);
        CHECK(tl_type_size(unknown[i]) == 0);
        CHECK(tl_type_kind(unknown[i]) == -1 && tl_type_partner(unknown[i]) == -1);
        CHECK(tl_type_name(unknown[i]) == NULL);
    }
    tl_type found = -1;
    ACCEPTED(tl_type_from_name("bF16", &found, &err));
    CHECK(found == TL_TYPE_BF16);
    REFUSED(tl_type_from_name(NULL, &found, &err), TL_STATUS_INVALID_ARGUMENT, "");
    REFUSED(tl_type_from_name("f32", NULL, &err), TL_STATUS_INVALID_ARGUMENT, "");
    REFUSED(tl_type_from_name("f33", &found, &err), TL_STATUS_INVALID_ARGUMENT, "are f32, f16");
    REFUSED(tl_type_from_name("", &found, &err), TL_STATUS_INVALID_ARGUMENT, "");
    REFUSED(tl_type_from_name("f32 ", &found, &err), TL_STATUS_INVALID_ARGUMENT, "");
    char large[4096];
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = 0;
    REFUSED(tl_type_from_name(large, &found, &err), TL_STATUS_INVALID_ARGUMENT, "xxx...': the nearest of");
    CHECK(memchr(err.message, 0, sizeof err.message) != NULL);
    CHECK(tl_type_from_name("f33", &found, NULL) == TL_STATUS_INVALID_ARGUMENT);
}

/* An error that is too small stays as it is; of a larger one only the known part is written. */
static void test_error_struct(void) {
    struct {
        tl_error error;
        unsigned char tail[64];
    } larger;
    tl_type found;
    CHECK(sizeof(tl_error) == 272);
    const size_t too_small[] = {0, 1, 8, 12, 268, 271};
    for (int i = 0; i < 6; i++) {
        unsigned char before[sizeof larger];
        memset(&larger, 0xA5, sizeof larger);
        larger.error.struct_size = too_small[i];
        memcpy(before, &larger, sizeof larger);
        CHECK(tl_type_from_name("f33", &found, &larger.error) == TL_STATUS_INVALID_ARGUMENT);
        CHECK(memcmp(before, &larger, sizeof larger) == 0);
    }
    memset(&larger, 0xA5, sizeof larger);
    larger.error.struct_size = sizeof larger;
    CHECK(tl_type_from_name("f33", &found, &larger.error) == TL_STATUS_INVALID_ARGUMENT);
    CHECK(larger.error.code == TL_STATUS_INVALID_ARGUMENT && strlen(larger.error.message) < 256);
    CHECK(larger.error.struct_size == sizeof larger);
    for (int i = 0; i < 64; i++) CHECK(larger.tail[i] == 0xA5);
    CHECK(tl_type_from_name("f32", &found, &larger.error) == TL_STATUS_OK);
    CHECK(larger.error.code == TL_STATUS_OK && larger.error.message[0] == 0);
}

void test_plain_functions(void) {
    test_names();
    test_types();
    test_error_struct();
}

static void test_devices(void) {
    size_t n = tl_device_count();
    CHECK(n >= 1 && strcmp(tl_device_name(0), "cpu") == 0);
    CHECK(tl_device_name(n) == NULL);
    CHECK(tl_device_name(SIZE_MAX) == NULL);
    tl_device_props props = {.struct_size = sizeof props};
    ACCEPTED(tl_device_get_props(0, &props, &err));
    CHECK(props.description[0] && memchr(props.description, 0, sizeof props.description));
    REFUSED(tl_device_get_props(n, &props, &err), TL_STATUS_INVALID_ARGUMENT, "");
    REFUSED(tl_device_get_props(SIZE_MAX, &props, &err), TL_STATUS_INVALID_ARGUMENT, "");
    REFUSED(tl_device_get_props(0, NULL, &err), TL_STATUS_INVALID_ARGUMENT, "");
    const size_t too_small[] = {0, 8, 64};
    for (int i = 0; i < 3; i++) {
        props.struct_size = too_small[i];
        REFUSED(tl_device_get_props(0, &props, &err), TL_STATUS_INVALID_ARGUMENT, "struct_size");
    }
    size_t isas = tl_isa_count();
    CHECK(isas >= 1 && strcmp(tl_isa_name(isas - 1), "baseline") == 0);
    CHECK(tl_isa_name(isas) == NULL);
    CHECK(tl_isa_name(SIZE_MAX) == NULL);
}

/* tl_X_params_init() may write struct_size bytes, not one more; a caller of an older header has fewer. */
static void test_init_of(void (*init)(void *, size_t), size_t whole) {
    unsigned char bytes[256];
    const size_t sizes[] = {0, 1, 8, 12, whole - 1, whole, whole + 32};
    for (int i = 0; i < 7; i++) {
        memset(bytes, 0xA5, sizeof bytes);
        init(bytes, sizes[i]);
        bool untouched = true;
        for (size_t b = sizes[i]; b < sizeof bytes; b++) untouched = untouched && bytes[b] == 0xA5;
        CHECK(untouched);
    }
    /* No struct is as large as this: nothing is written. */
    memset(bytes, 0xA5, sizeof bytes);
    const size_t absurd[] = {4097, SIZE_MAX};
    for (int i = 0; i < 2; i++) init(bytes, absurd[i]);
    for (size_t b = 0; b < sizeof bytes; b++) CHECK(bytes[b] == 0xA5);
    init(NULL, whole);
}

static void init_backend_params(void *p, size_t size) { tl_backend_params_init(p, size); }

static void init_context_params(void *p, size_t size) { tl_context_params_init(p, size); }

static void refuse_params(tl_backend_params params, const char *word) {
    tl_backend *out = backend;
    REFUSED(tl_backend_create("cpu", &params, &out, &err), TL_STATUS_INVALID_ARGUMENT, word);
    CHECK(out == NULL);
}

static void test_backend_params(void) {
    tl_backend_params params;
    tl_backend_params_init(&params, sizeof params);
    CHECK(params.struct_size == sizeof params && params.n_threads == 0 && !params.allow_tf32);
    const int32_t threads[] = {-1, 1025, INT32_MIN, INT32_MAX};
    for (int i = 0; i < 4; i++) {
        params.n_threads = threads[i];
        refuse_params(params, "n_threads");
    }
    params.n_threads = 1;
    const size_t wrong[] = {0, 1, 8, 4097, SIZE_MAX / 2, SIZE_MAX};
    for (int i = 0; i < 6; i++) {
        params.struct_size = wrong[i];
        refuse_params(params, "struct_size");
    }
    params.struct_size = sizeof params;
    memset(&params.allow_tf32, 170, 1);
    refuse_params(params, "allow_tf32 is 170");
    params.allow_tf32 = false;
    struct {
        tl_backend_params params;
        unsigned char tail[24];
    } later = {.params = params};
    later.params.struct_size = sizeof later;
    tl_backend *out = NULL;
    ACCEPTED(tl_backend_create("cpu", &later.params, &out, &err));
    CHECK(tl_backend_n_threads(out) == 1);
    tl_backend_free(out);
    later.tail[23] = 1;
    REFUSED(tl_backend_create("cpu", &later.params, &out, &err), TL_STATUS_INVALID_ARGUMENT, "byte 39");
}

void test_backends(void) {
    test_devices();
    test_init_of(init_backend_params, sizeof(tl_backend_params));
    test_init_of(init_context_params, sizeof(tl_context_params));
    test_backend_params();
    tl_backend *out = backend;
    REFUSED(tl_backend_create("cpu", NULL, NULL, &err), TL_STATUS_INVALID_ARGUMENT, "");
    REFUSED(tl_backend_create("toaster:7", NULL, &out, &err), TL_STATUS_INVALID_ARGUMENT, "cpu");
    CHECK(out == NULL);
    REFUSED(tl_backend_create("", NULL, &out, &err), TL_STATUS_INVALID_ARGUMENT, "");
    ACCEPTED(tl_backend_create("CPU", NULL, &out, &err));
    CHECK(strcmp(tl_backend_device(out), "cpu") == 0 && tl_backend_isa(out) && tl_backend_n_threads(out) >= 1);
    tl_backend_free(out);
    ACCEPTED(tl_backend_create(NULL, NULL, &out, &err));
    tl_backend_free(out);
    tl_backend_free(NULL);
    CHECK(tl_backend_device(NULL) == NULL);
    CHECK(tl_backend_isa(NULL) == NULL);
    CHECK(tl_backend_n_threads(NULL) == 0);
    CHECK(tl_backend_packed_memory(NULL) == 0);
}
