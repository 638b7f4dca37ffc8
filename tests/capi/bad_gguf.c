/* GGUF files: NULL for every argument, files of other formats, values of other types, leafs that are written to, writers
 * misused. */
#include "bad_input.h"

#include <unistd.h>

/* A file of three keys (u32 "n" = 7, string "s" = "hi", array "a" of i32 1, -2, 3) and one tensor "t", [4] F32 of 1 2 3 4. */
typedef struct {
    _Alignas(32) unsigned char bytes[512];
    size_t size;
} File;

static void put(File *file, const void *data, size_t size) {
    memcpy(file->bytes + file->size, data, size);
    file->size += size;
}

static void put_u32(File *file, uint32_t value) { put(file, &value, sizeof value); }

static void put_u64(File *file, uint64_t value) { put(file, &value, sizeof value); }

static void put_text(File *file, const char *text) {
    put_u64(file, strlen(text));
    put(file, text, strlen(text));
}

/* The byte where the tensor's type stands, for those who break it. */
static size_t make_file(File *file) {
    const float values[4] = {1, 2, 3, 4};
    memset(file, 0, sizeof *file);
    put(file, "GGUF", 4), put_u32(file, 3), put_u64(file, 1), put_u64(file, 3);
    put_text(file, "n"), put_u32(file, 4), put_u32(file, 7);
    put_text(file, "s"), put_u32(file, 8), put_text(file, "hi");
    put_text(file, "a"), put_u32(file, 9), put_u32(file, 5), put_u64(file, 3), put_u32(file, 1), put_u32(file, (uint32_t)-2),
        put_u32(file, 3);
    put_text(file, "t"), put_u32(file, 1), put_u64(file, 4);
    size_t type = file->size;
    put_u32(file, 0), put_u64(file, 0);
    file->size = (file->size + 31) / 32 * 32;
    put(file, values, sizeof values);
    return type;
}

static void test_opening(void) {
    tl_gguf *gguf = (tl_gguf *)&err;
    File file;
    make_file(&file);
    REFUSED(tl_gguf_open(NULL, &gguf, &err), TL_STATUS_INVALID_ARGUMENT, "path");
    CHECK(gguf == NULL);
    REFUSED(tl_gguf_open_copy(NULL, &gguf, &err), TL_STATUS_INVALID_ARGUMENT, "path");
    REFUSED(tl_gguf_open("x", NULL, &err), TL_STATUS_INVALID_ARGUMENT, "out");
    REFUSED(tl_gguf_open_copy("x", NULL, &err), TL_STATUS_INVALID_ARGUMENT, "out");
    REFUSED(tl_gguf_open_memory(file.bytes, file.size, NULL, &err), TL_STATUS_INVALID_ARGUMENT, "out");
    REFUSED(tl_gguf_open_memory(NULL, 1, &gguf, &err), TL_STATUS_INVALID_ARGUMENT, "data");
    REFUSED(tl_gguf_open_memory(NULL, 0, &gguf, &err), TL_STATUS_FORMAT, "byte 0");
    REFUSED(tl_gguf_open_memory_copy(NULL, 1, &gguf, &err), TL_STATUS_INVALID_ARGUMENT, "data");
    REFUSED(tl_gguf_open_memory_copy(NULL, 0, &gguf, &err), TL_STATUS_FORMAT, "byte 0");
    REFUSED(tl_gguf_open_memory_copy(file.bytes, file.size, NULL, &err), TL_STATUS_INVALID_ARGUMENT, "out");
    ACCEPTED(tl_gguf_open_memory_copy(file.bytes, file.size, &gguf, &err));
    memset(file.bytes, 0, sizeof file.bytes);
    CHECK(tl_gguf_n_kv(gguf) == 3 && ((const float *)tl_gguf_tensor_data(gguf, 0))[3] == 4);
    tl_gguf_free(gguf);
    REFUSED(tl_gguf_open("", &gguf, &err), TL_STATUS_IO, "No such file");
    REFUSED(tl_gguf_open("/none/such.gguf", &gguf, &err), TL_STATUS_IO, "/none/such.gguf");
    REFUSED(tl_gguf_open_copy("/none/such.gguf", &gguf, &err), TL_STATUS_IO, "No such file");
    /* A path that is longer than a message does not push the reason out of it. */
    char path[600] = "/none/";
    memset(path + 6, 'x', 200);
    for (size_t i = 206; i < sizeof path - 1; i++) path[i] = i % 50 ? 'y' : '/';
    REFUSED(tl_gguf_open(path, &gguf, &err), TL_STATUS_IO, "No such file");
    CHECK(strstr(err.message, "/none/xxx") && strstr(err.message, " ... "));
    REFUSED(tl_gguf_open("/", &gguf, &err), TL_STATUS_IO, "folder");
    REFUSED(tl_gguf_open_copy("/dev/zero", &gguf, &err), TL_STATUS_IO, "regular file");
    CHECK(tl_gguf_open("/none/such.gguf", &gguf, NULL) == TL_STATUS_IO);
    tl_gguf_free(NULL);
}

/* Files with four other bytes somewhere, and files that are cut short. */
static void test_broken_files(void) {
    tl_gguf *gguf = NULL;
    File file;
    size_t type = make_file(&file);
    const struct {
        size_t at;
        uint32_t value;
        const char *word;
    } rows[] = {
        {0, 0, "byte 0"},
        {4, 1, "version 1"},
        {4, 77, "version 77"},
        {4, 3u << 24, "big-endian"},
        {12, 1, "number of tensors"},
        {20, 1, "number of keys"},
        {24, 9999, "a key is 9999"},
        {33, 13, "type 13"},
        {type, 4, "type 4"},
        {type, 31, "retired"},
        {type, 999, "type 999"},
        {type + 4, 1, "offset"},
        {type + 4, 32, "offset 32"},
        {type + 8, 1, "offset"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        make_file(&file);
        memcpy(file.bytes + rows[i].at, &rows[i].value, 4);
        REFUSED(tl_gguf_open_memory(file.bytes, file.size, &gguf, &err), TL_STATUS_FORMAT, rows[i].word);
        CHECK(gguf == NULL);
    }
    make_file(&file);
    for (size_t size = 0; size < file.size; size++) REFUSED(tl_gguf_open_memory(file.bytes, size, &gguf, &err), TL_STATUS_FORMAT, "byte");
}

static void test_nulls(void) {
    CHECK(tl_gguf_version(NULL) == 0 && tl_gguf_alignment(NULL) == 0 && tl_gguf_n_parts(NULL) == 0);
    CHECK(tl_gguf_n_kv(NULL) == 0 && tl_gguf_key(NULL, 0) == NULL && tl_gguf_find(NULL, "n") == -1);
    CHECK(tl_gguf_kv_type(NULL, 0) == -1 && tl_gguf_array_type(NULL, 0) == -1 && tl_gguf_array_n(NULL, 0) == 0);
    CHECK(tl_gguf_kv_data(NULL, 0, NULL) == NULL);
    CHECK(tl_gguf_n_tensors(NULL) == 0 && tl_gguf_tensor_name(NULL, 0) == NULL && tl_gguf_tensor_find(NULL, "t") == -1);
    CHECK(tl_gguf_tensor_type(NULL, 0) == -1 && tl_gguf_tensor_n_dims(NULL, 0) == 0 && tl_gguf_tensor_ne(NULL, 0, 0) == 0);
    CHECK(tl_gguf_tensor_nbytes(NULL, 0) == 0 && tl_gguf_tensor_offset(NULL, 0) == 0 && tl_gguf_tensor_data(NULL, 0) == NULL);
    uint64_t u = 0;
    int64_t i = 0;
    double d = 0;
    bool b = false;
    const char *text = NULL;
    size_t size = 0;
    REFUSED(tl_gguf_get_u64(NULL, 0, &u, &err), TL_STATUS_INVALID_ARGUMENT, "gguf is NULL");
    REFUSED(tl_gguf_get_i64(NULL, 0, &i, &err), TL_STATUS_INVALID_ARGUMENT, "gguf is NULL");
    REFUSED(tl_gguf_get_f64(NULL, 0, &d, &err), TL_STATUS_INVALID_ARGUMENT, "gguf is NULL");
    REFUSED(tl_gguf_get_bool(NULL, 0, &b, &err), TL_STATUS_INVALID_ARGUMENT, "gguf is NULL");
    REFUSED(tl_gguf_get_string(NULL, 0, &text, &size, &err), TL_STATUS_INVALID_ARGUMENT, "gguf is NULL");
    REFUSED(tl_gguf_array_u64(NULL, 0, 0, &u, &err), TL_STATUS_INVALID_ARGUMENT, "gguf is NULL");
    REFUSED(tl_gguf_array_i64(NULL, 0, 0, &i, &err), TL_STATUS_INVALID_ARGUMENT, "gguf is NULL");
    REFUSED(tl_gguf_array_f64(NULL, 0, 0, &d, &err), TL_STATUS_INVALID_ARGUMENT, "gguf is NULL");
    REFUSED(tl_gguf_array_bool(NULL, 0, 0, &b, &err), TL_STATUS_INVALID_ARGUMENT, "gguf is NULL");
    REFUSED(tl_gguf_array_string(NULL, 0, 0, &text, &size, &err), TL_STATUS_INVALID_ARGUMENT, "gguf is NULL");
    REFUSED(tl_gguf_array_read(NULL, 0, TL_GGUF_TYPE_I32, 0, 0, NULL, &err), TL_STATUS_INVALID_ARGUMENT, "gguf is NULL");
}

static void test_values(void) {
    File file;
    tl_gguf *gguf = NULL;
    make_file(&file);
    ACCEPTED(tl_gguf_open_memory(file.bytes, file.size, &gguf, &err));
    CHECK(tl_gguf_version(gguf) == 3 && tl_gguf_alignment(gguf) == 32 && tl_gguf_n_parts(gguf) == 1 && tl_gguf_n_kv(gguf) == 3);
    CHECK(strcmp(tl_gguf_key(gguf, 2), "a") == 0 && tl_gguf_key(gguf, 3) == NULL && tl_gguf_key(gguf, SIZE_MAX) == NULL);
    CHECK(tl_gguf_find(gguf, "s") == 1 && tl_gguf_find(gguf, "none") == -1 && tl_gguf_find(gguf, NULL) == -1);
    CHECK(tl_gguf_kv_type(gguf, 2) == TL_GGUF_TYPE_ARRAY && tl_gguf_kv_type(gguf, 3) == -1);
    CHECK(tl_gguf_array_type(gguf, 2) == TL_GGUF_TYPE_I32 && tl_gguf_array_type(gguf, 0) == -1 && tl_gguf_array_n(gguf, 2) == 3);
    uint64_t u = 0;
    int64_t i = 0;
    double d = 0;
    bool b = false;
    const char *text = NULL;
    size_t size = 0;
    int32_t ints[3] = {0};
    ACCEPTED(tl_gguf_get_u64(gguf, 0, &u, &err));
    ACCEPTED(tl_gguf_get_i64(gguf, 0, &i, &err));
    ACCEPTED(tl_gguf_get_f64(gguf, 0, &d, &err));
    CHECK(u == 7 && i == 7 && d == 7);
    ACCEPTED(tl_gguf_get_string(gguf, 1, &text, &size, &err));
    CHECK(size == 2 && strcmp(text, "hi") == 0);
    ACCEPTED(tl_gguf_get_string(gguf, 1, &text, NULL, &err));
    ACCEPTED(tl_gguf_array_i64(gguf, 2, 1, &i, &err));
    CHECK(i == -2);
    ACCEPTED(tl_gguf_array_read(gguf, 2, TL_GGUF_TYPE_I32, 0, 3, ints, &err));
    CHECK(ints[0] == 1 && ints[1] == -2 && ints[2] == 3);
    CHECK(memcmp(tl_gguf_kv_data(gguf, 2, &size), ints, 12) == 0 && size == 12);
    CHECK(tl_gguf_kv_data(gguf, 1, &size) != NULL && size == 2);
    CHECK(tl_gguf_kv_data(gguf, 3, &size) == NULL && size == 0);

    REFUSED(tl_gguf_get_u64(gguf, 3, &u, &err), TL_STATUS_INVALID_ARGUMENT, "3 keys");
    REFUSED(tl_gguf_get_u64(gguf, 0, NULL, &err), TL_STATUS_INVALID_ARGUMENT, "out");
    REFUSED(tl_gguf_get_u64(gguf, 1, &u, &err), TL_STATUS_TYPE_MISMATCH, "'s' is string");
    REFUSED(tl_gguf_get_i64(gguf, 2, &i, &err), TL_STATUS_TYPE_MISMATCH, "'a' is array");
    REFUSED(tl_gguf_get_f64(gguf, 1, &d, &err), TL_STATUS_TYPE_MISMATCH, "'s'");
    REFUSED(tl_gguf_get_bool(gguf, 0, &b, &err), TL_STATUS_TYPE_MISMATCH, "'n' is u32");
    REFUSED(tl_gguf_get_string(gguf, 0, &text, &size, &err), TL_STATUS_TYPE_MISMATCH, "'n' is u32");
    REFUSED(tl_gguf_array_u64(gguf, 2, 1, &u, &err), TL_STATUS_TYPE_MISMATCH, "element 1");
    REFUSED(tl_gguf_array_i64(gguf, 2, 3, &i, &err), TL_STATUS_INVALID_ARGUMENT, "has 3");
    REFUSED(tl_gguf_array_f64(gguf, 0, 0, &d, &err), TL_STATUS_TYPE_MISMATCH, "no array");
    REFUSED(tl_gguf_array_bool(gguf, 2, 0, &b, &err), TL_STATUS_TYPE_MISMATCH, "i32");
    REFUSED(tl_gguf_array_string(gguf, 2, 0, &text, &size, &err), TL_STATUS_TYPE_MISMATCH, "i32");
    REFUSED(tl_gguf_array_string(gguf, 2, 0, &text, NULL, &err), TL_STATUS_INVALID_ARGUMENT, "size");
    REFUSED(tl_gguf_array_read(gguf, 2, TL_GGUF_TYPE_U32, 0, 1, ints, &err), TL_STATUS_TYPE_MISMATCH, "u32");
    REFUSED(tl_gguf_array_read(gguf, 2, 13, 0, 1, ints, &err), TL_STATUS_INVALID_ARGUMENT, "13");
    REFUSED(tl_gguf_array_read(gguf, 2, -1, 0, 1, ints, &err), TL_STATUS_INVALID_ARGUMENT, "-1");
    REFUSED(tl_gguf_array_read(gguf, 2, TL_GGUF_TYPE_I32, 1, UINT64_MAX, ints, &err), TL_STATUS_INVALID_ARGUMENT, "has 3");
    REFUSED(tl_gguf_array_read(gguf, 2, TL_GGUF_TYPE_I32, 0, 1, NULL, &err), TL_STATUS_INVALID_ARGUMENT, "out");
    tl_gguf_free(gguf);
}

static void test_leafs(void) {
    File file;
    tl_gguf *gguf = NULL;
    make_file(&file);
    ACCEPTED(tl_gguf_open_memory(file.bytes, file.size, &gguf, &err));
    CHECK(tl_gguf_n_tensors(gguf) == 1 && strcmp(tl_gguf_tensor_name(gguf, 0), "t") == 0 && tl_gguf_tensor_name(gguf, 1) == NULL);
    CHECK(tl_gguf_tensor_find(gguf, "t") == 0 && tl_gguf_tensor_find(gguf, "u") == -1 && tl_gguf_tensor_find(gguf, NULL) == -1);
    CHECK(tl_gguf_tensor_type(gguf, 0) == TL_TYPE_F32 && tl_gguf_tensor_type(gguf, 1) == -1);
    CHECK(tl_gguf_tensor_n_dims(gguf, 0) == 1 && tl_gguf_tensor_ne(gguf, 0, 0) == 4 && tl_gguf_tensor_ne(gguf, 0, 3) == 1);
    CHECK(tl_gguf_tensor_ne(gguf, 0, 4) == 0 && tl_gguf_tensor_ne(gguf, 0, -1) == 0 && tl_gguf_tensor_ne(gguf, 1, 0) == 0);
    CHECK(tl_gguf_tensor_nbytes(gguf, 0) == 16 && tl_gguf_tensor_nbytes(gguf, 1) == 0 && tl_gguf_tensor_offset(gguf, 0) == 0);
    CHECK(tl_gguf_tensor_data(gguf, 0) == file.bytes + file.size - 16 && tl_gguf_tensor_data(gguf, 1) == NULL);

    tl_context *ctx = fresh_context();
    CHECK(tl_gguf_tensor(gguf, NULL, "t") == NULL);
    NOT_MADE(ctx, tl_gguf_tensor(NULL, ctx, "t"), TL_STATUS_INVALID_ARGUMENT, "gguf is NULL");
    NOT_MADE(ctx, tl_gguf_tensor(gguf, ctx, NULL), TL_STATUS_INVALID_ARGUMENT, "name is NULL");
    NOT_MADE(ctx, tl_gguf_tensor(gguf, ctx, "u"), TL_STATUS_INVALID_ARGUMENT, "no tensor 'u'");
    tl_context_params params;
    tl_context_params_init(&params, sizeof params);
    params.mem_limit = 16;
    tl_context *narrow = context_of(&params);
    NOT_MADE(narrow, tl_gguf_tensor(gguf, narrow, "t"), TL_STATUS_OUT_OF_MEMORY, "16");
    tl_context_free(narrow);

    tl_tensor *t = tl_gguf_tensor(gguf, ctx, "t"), *own = tl_tensor_new_1d(ctx, TL_TYPE_F32, 4), *sum = tl_add(ctx, t, t);
    const int64_t two[2] = {2, 2};
    float values[4] = {0};
    void *data = NULL;
    tl_graph *graph = NULL;
    tl_gguf_free(gguf); /* the context keeps what it needs */
    CHECK(t != NULL && strcmp(tl_tensor_name(t), "t") == 0 && tl_tensor_data(t) == NULL);
    REFUSED(tl_tensor_write(t, values, 0, 16, &err), TL_STATUS_INVALID_ARGUMENT, "GGUF file and is read-only");
    REFUSED(tl_tensor_write_f32(t, values, 4, &err), TL_STATUS_INVALID_ARGUMENT, "GGUF file and is read-only");
    REFUSED(tl_tensor_set_f32(t, 0, 0, 0, 0, 1, &err), TL_STATUS_INVALID_ARGUMENT, "GGUF file and is read-only");
    REFUSED(tl_tensor_map(t, TL_ACCESS_WRITE, &data, &err), TL_STATUS_INVALID_ARGUMENT, "GGUF file and is read-only");
    REFUSED(tl_tensor_write_f32(tl_reshape(ctx, t, 2, two), values, 4, &err), TL_STATUS_INVALID_ARGUMENT, "GGUF file and is read-only");
    NOT_MADE(ctx, tl_cpy(ctx, own, t), TL_STATUS_INVALID_ARGUMENT, "GGUF file and is read-only");
    NOT_MADE(ctx, tl_set_rows(ctx, t, own, tl_tensor_new_1d(ctx, TL_TYPE_I32, 1)), TL_STATUS_INVALID_ARGUMENT,
             "GGUF file and is read-only");
    ACCEPTED(tl_tensor_set_constant(t, &err));
    REFUSED(tl_tensor_drop_original(t, &err), TL_STATUS_UNSUPPORTED, "packed");
    ACCEPTED(tl_tensor_map(t, TL_ACCESS_READ, &data, &err));
    CHECK(((const float *)data)[3] == 4);
    tl_tensor_unmap(t, TL_ACCESS_READ);
    ACCEPTED(tl_graph_create(ctx, &sum, 1, &graph, &err));
    ACCEPTED(tl_graph_compute(graph, backend, &err));
    ACCEPTED(tl_tensor_read_f32(sum, values, 4, &err));
    CHECK(values[0] == 2 && values[3] == 8);
    tl_graph_free(graph);
    ACCEPTED(tl_context_reset(ctx, &err));
    tl_context_free(ctx);
}

static void test_writer_nulls(tl_gguf_writer *writer) {
    const int64_t ne[1] = {4};
    REFUSED(tl_gguf_writer_set_u8(NULL, "k", 1, &err), TL_STATUS_INVALID_ARGUMENT, "writer is NULL");
    REFUSED(tl_gguf_writer_set_i8(NULL, "k", 1, &err), TL_STATUS_INVALID_ARGUMENT, "writer is NULL");
    REFUSED(tl_gguf_writer_set_u16(NULL, "k", 1, &err), TL_STATUS_INVALID_ARGUMENT, "writer is NULL");
    REFUSED(tl_gguf_writer_set_i16(NULL, "k", 1, &err), TL_STATUS_INVALID_ARGUMENT, "writer is NULL");
    REFUSED(tl_gguf_writer_set_u32(NULL, "k", 1, &err), TL_STATUS_INVALID_ARGUMENT, "writer is NULL");
    REFUSED(tl_gguf_writer_set_i32(NULL, "k", 1, &err), TL_STATUS_INVALID_ARGUMENT, "writer is NULL");
    REFUSED(tl_gguf_writer_set_u64(NULL, "k", 1, &err), TL_STATUS_INVALID_ARGUMENT, "writer is NULL");
    REFUSED(tl_gguf_writer_set_i64(NULL, "k", 1, &err), TL_STATUS_INVALID_ARGUMENT, "writer is NULL");
    REFUSED(tl_gguf_writer_set_f32(NULL, "k", 1, &err), TL_STATUS_INVALID_ARGUMENT, "writer is NULL");
    REFUSED(tl_gguf_writer_set_f64(NULL, "k", 1, &err), TL_STATUS_INVALID_ARGUMENT, "writer is NULL");
    REFUSED(tl_gguf_writer_set_bool(NULL, "k", true, &err), TL_STATUS_INVALID_ARGUMENT, "writer is NULL");
    REFUSED(tl_gguf_writer_set_string(NULL, "k", "x", 1, &err), TL_STATUS_INVALID_ARGUMENT, "writer is NULL");
    REFUSED(tl_gguf_writer_set_array(NULL, "k", 0, ne, 1, &err), TL_STATUS_INVALID_ARGUMENT, "writer is NULL");
    REFUSED(tl_gguf_writer_set_string_array(NULL, "k", NULL, NULL, 0, &err), TL_STATUS_INVALID_ARGUMENT, "writer is NULL");
    REFUSED(tl_gguf_writer_copy_kv(NULL, NULL, &err), TL_STATUS_INVALID_ARGUMENT, "writer is NULL");
    REFUSED(tl_gguf_writer_add_tensor(NULL, NULL, &err), TL_STATUS_INVALID_ARGUMENT, "writer is NULL");
    REFUSED(tl_gguf_writer_declare_tensor(NULL, "t", 0, 1, ne, &err), TL_STATUS_INVALID_ARGUMENT, "writer is NULL");
    REFUSED(tl_gguf_writer_write_data(NULL, ne, 1, &err), TL_STATUS_INVALID_ARGUMENT, "writer is NULL");
    REFUSED(tl_gguf_writer_finish(NULL, &err), TL_STATUS_INVALID_ARGUMENT, "writer is NULL");
    REFUSED(tl_gguf_writer_set_u8(writer, NULL, 1, &err), TL_STATUS_INVALID_ARGUMENT, "key is NULL");
    REFUSED(tl_gguf_writer_set_string(writer, NULL, "x", 1, &err), TL_STATUS_INVALID_ARGUMENT, "key is NULL");
    REFUSED(tl_gguf_writer_set_string(writer, "k", NULL, 1, &err), TL_STATUS_INVALID_ARGUMENT, "text is NULL");
    REFUSED(tl_gguf_writer_set_array(writer, NULL, 0, ne, 1, &err), TL_STATUS_INVALID_ARGUMENT, "key is NULL");
    REFUSED(tl_gguf_writer_set_array(writer, "k", 0, NULL, 1, &err), TL_STATUS_INVALID_ARGUMENT, "NULL");
    REFUSED(tl_gguf_writer_set_string_array(writer, "k", NULL, NULL, 1, &err), TL_STATUS_INVALID_ARGUMENT, "texts is NULL");
    REFUSED(tl_gguf_writer_copy_kv(writer, NULL, &err), TL_STATUS_INVALID_ARGUMENT, "gguf is NULL");
    REFUSED(tl_gguf_writer_add_tensor(writer, NULL, &err), TL_STATUS_INVALID_ARGUMENT, "tensor is NULL");
    REFUSED(tl_gguf_writer_declare_tensor(writer, NULL, 0, 1, ne, &err), TL_STATUS_INVALID_ARGUMENT, "name is NULL");
    REFUSED(tl_gguf_writer_declare_tensor(writer, "t", 0, 1, NULL, &err), TL_STATUS_INVALID_ARGUMENT, "ne is NULL");
    CHECK(tl_gguf_writer_n_parts(NULL) == 0);
    tl_gguf_writer_free(NULL);
    tl_gguf_writer_params_init(NULL, 24);
}

/* A writer of version 2 with an alignment of 64. */
static tl_gguf_writer *make_writer(const char *path) {
    tl_gguf_writer *writer = (tl_gguf_writer *)&err;
    tl_gguf_writer_params params;
    tl_gguf_writer_params_init(&params, sizeof params);
    REFUSED(tl_gguf_writer_create(NULL, NULL, &writer, &err), TL_STATUS_INVALID_ARGUMENT, "path");
    CHECK(writer == NULL);
    REFUSED(tl_gguf_writer_create(path, NULL, NULL, &err), TL_STATUS_INVALID_ARGUMENT, "out");
    REFUSED(tl_gguf_writer_create("", NULL, &writer, &err), TL_STATUS_INVALID_ARGUMENT, "path");
    REFUSED(tl_gguf_writer_create("/none/such.gguf", NULL, &writer, &err), TL_STATUS_IO, "/none/such.gguf");
    params.struct_size = 8;
    REFUSED(tl_gguf_writer_create(path, &params, &writer, &err), TL_STATUS_INVALID_ARGUMENT, "struct_size");
    params.struct_size = sizeof params;
    params.version = 1;
    REFUSED(tl_gguf_writer_create(path, &params, &writer, &err), TL_STATUS_INVALID_ARGUMENT, "version 1");
    params.version = 2;
    params.alignment = 33;
    REFUSED(tl_gguf_writer_create(path, &params, &writer, &err), TL_STATUS_INVALID_ARGUMENT, "alignment 33");
    params.alignment = 64;
    ACCEPTED(tl_gguf_writer_create(path, &params, &writer, &err));
    return writer;
}

static void test_writer(void) {
    char path[] = "/tmp/tensorlib-bad-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    tl_gguf_writer *writer = make_writer(path);
    test_writer_nulls(writer);
    const int64_t ne[5] = {4, 1, 1, 1, 1}, bad[1] = {-1}, block[1] = {33};
    const char *texts[2] = {"a", NULL};
    const size_t sizes[2] = {1, 0};
    const float values[4] = {1, 2, 3, 4};
    tl_context *ctx = fresh_context();
    ACCEPTED(tl_gguf_writer_set_u32(writer, "n", 7, &err));
    ACCEPTED(tl_gguf_writer_set_string(writer, "s", NULL, 0, &err));
    ACCEPTED(tl_gguf_writer_set_string_array(writer, "a", texts, sizes, 2, &err));
    ACCEPTED(tl_gguf_writer_set_array(writer, "e", TL_GGUF_TYPE_F64, NULL, 0, &err));
    REFUSED(tl_gguf_writer_set_string_array(writer, "b", texts, NULL, 2, &err), TL_STATUS_INVALID_ARGUMENT, "text 1 is NULL");
    REFUSED(tl_gguf_writer_set_u32(writer, "n", 7, &err), TL_STATUS_INVALID_ARGUMENT, "'n' is set already");
    REFUSED(tl_gguf_writer_set_array(writer, "b", 13, ne, 1, &err), TL_STATUS_INVALID_ARGUMENT, "13");
    REFUSED(tl_gguf_writer_set_array(writer, "b", TL_GGUF_TYPE_STRING, ne, 1, &err), TL_STATUS_INVALID_ARGUMENT, "string");
    REFUSED(tl_gguf_writer_set_u32(writer, "split.count", 7, &err), TL_STATUS_INVALID_ARGUMENT, "split.count");
    REFUSED(tl_gguf_writer_set_u32(writer, "", 7, &err), TL_STATUS_INVALID_ARGUMENT, "a key is empty");
    REFUSED(tl_gguf_writer_declare_tensor(writer, "", 0, 1, ne, &err), TL_STATUS_INVALID_ARGUMENT, "1 to 64 bytes");
    REFUSED(tl_gguf_writer_add_tensor(writer, tl_tensor_new_1d(ctx, TL_TYPE_F32, 4), &err), TL_STATUS_INVALID_ARGUMENT, "name is empty");
    REFUSED(tl_gguf_writer_declare_tensor(writer, "t", 4, 1, ne, &err), TL_STATUS_INVALID_ARGUMENT, "no type 4");
    REFUSED(tl_gguf_writer_declare_tensor(writer, "t", 0, 5, ne, &err), TL_STATUS_INVALID_ARGUMENT, "5");
    REFUSED(tl_gguf_writer_declare_tensor(writer, "t", 0, -1, ne, &err), TL_STATUS_INVALID_ARGUMENT, "-1");
    REFUSED(tl_gguf_writer_declare_tensor(writer, "t", 0, 1, bad, &err), TL_STATUS_INVALID_ARGUMENT, "-1");
    REFUSED(tl_gguf_writer_declare_tensor(writer, "t", 2, 1, block, &err), TL_STATUS_INVALID_ARGUMENT, "33");
    ACCEPTED(tl_gguf_writer_declare_tensor(writer, "t", TL_TYPE_F32, 1, ne, &err));
    REFUSED(tl_gguf_writer_finish(writer, &err), TL_STATUS_INVALID_ARGUMENT, "'t' lacks 16");
    REFUSED(tl_gguf_writer_write_data(writer, values, 17, &err), TL_STATUS_INVALID_ARGUMENT, "17");
    ACCEPTED(tl_gguf_writer_write_data(writer, values, 16, &err));
    ACCEPTED(tl_gguf_writer_finish(writer, &err));
    CHECK(tl_gguf_writer_n_parts(writer) == 1);
    REFUSED(tl_gguf_writer_finish(writer, &err), TL_STATUS_INVALID_ARGUMENT, "finished");
    tl_gguf_writer_free(writer);
    tl_gguf *gguf = NULL;
    ACCEPTED(tl_gguf_open(path, &gguf, &err));
    CHECK(tl_gguf_n_kv(gguf) == 5 && tl_gguf_version(gguf) == 2 && tl_gguf_alignment(gguf) == 64);
    tl_gguf_free(gguf);
    CHECK(remove(path) == 0);
    close(fd);
    tl_context_free(ctx);
}

void test_gguf(void) {
    test_opening();
    test_broken_files();
    test_nulls();
    test_values();
    test_leafs();
    test_writer();
}
