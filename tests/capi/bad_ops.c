/* Constructors of nodes, typed and by name. Invalid shapes and types are in tests/cases; this file has the errors
 * that only C can make: NULL, counts and pointers that contradict each other, malformed attributes. */
#include "bad_input.h"

/* A NULL operand may be said or left to the error before it; it is no other status. */
static void settle(tl_context *ctx) {
    tl_status pending = tl_context_error(ctx, NULL);
    CHECK(pending == TL_STATUS_OK || pending == TL_STATUS_INVALID_ARGUMENT);
}

static void test_null_operands(void) {
    tl_context *ctx = fresh_context();
    tl_tensor *a = tl_tensor_new_2d(ctx, TL_TYPE_F32, 2, 3);
    const int64_t ne[4] = {2, 3, 1, 1};
    const int32_t axes[4] = {0, 1, 2, 3};
    CHECK(!tl_add(NULL, a, a) && !tl_add(ctx, NULL, a) && !tl_add(ctx, a, NULL) && !tl_add(NULL, NULL, NULL));
    CHECK(!tl_mul_mat(NULL, a, a) && !tl_mul_mat(ctx, NULL, a) && !tl_mul_mat(ctx, a, NULL));
    CHECK(!tl_mul_mat_exact(NULL, a, a) && !tl_mul_mat_exact(ctx, NULL, a) && !tl_mul_mat_exact(ctx, a, NULL));
    CHECK(!tl_mul_mat_id(NULL, a, a, a) && !tl_mul_mat_id(ctx, NULL, a, a) && !tl_mul_mat_id(ctx, a, NULL, a) &&
          !tl_mul_mat_id(ctx, a, a, NULL));
    CHECK(!tl_view(NULL, a, 2, ne, NULL, 0) && !tl_view(ctx, NULL, 2, ne, NULL, 0));
    CHECK(!tl_reshape(NULL, a, 2, ne) && !tl_reshape(ctx, NULL, 2, ne));
    CHECK(!tl_permute(NULL, a, axes) && !tl_permute(ctx, NULL, axes));
    CHECK(!tl_transpose(NULL, a) && !tl_transpose(ctx, NULL));
    CHECK(!tl_cont(NULL, a) && !tl_cont(ctx, NULL));
    CHECK(!tl_dup(NULL, a) && !tl_dup(ctx, NULL));
    CHECK(!tl_cpy(NULL, a, a) && !tl_cpy(ctx, NULL, a) && !tl_cpy(ctx, a, NULL));
    CHECK(!tl_cast(NULL, a, TL_TYPE_F16) && !tl_cast(ctx, NULL, TL_TYPE_F16));
    CHECK(!tl_get_rows(NULL, a, a) && !tl_get_rows(ctx, NULL, a) && !tl_get_rows(ctx, a, NULL));
    CHECK(!tl_set_rows(NULL, a, a, a) && !tl_set_rows(ctx, NULL, a, a) && !tl_set_rows(ctx, a, NULL, a) && !tl_set_rows(ctx, a, a, NULL));
    CHECK(!tl_where(NULL, a, a, a) && !tl_where(ctx, NULL, a, a) && !tl_where(ctx, a, NULL, a) && !tl_where(ctx, a, a, NULL));
    CHECK(!tl_exp(NULL, a) && !tl_exp(ctx, NULL) && !tl_clamp(NULL, a, 0, 1) && !tl_clamp(ctx, NULL, 0, 1));
    CHECK(!tl_scale(NULL, a, 2, NULL) && !tl_scale(ctx, NULL, 2, NULL));
    CHECK(!tl_glu(NULL, a, a, TL_GLU_OP_REGLU, NULL) && !tl_glu(ctx, NULL, a, TL_GLU_OP_REGLU, NULL) &&
          !tl_glu(ctx, a, NULL, TL_GLU_OP_REGLU, NULL));
    CHECK(!tl_op(NULL, "add", (tl_tensor *[]){a, a}, 2, NULL, 0));
    settle(ctx);
    /* A NULL that comes from an earlier refusal must not replace its message. */
    CHECK(!tl_cont(ctx, tl_add(ctx, a, tl_mul_mat(ctx, a, tl_transpose(ctx, a)))));
    REFUSED(tl_context_error(ctx, &err), TL_STATUS_SHAPE_MISMATCH, "mul_mat");
    tl_context_free(ctx);
}

/* An operand that is left out is no NULL, and nothing else is left out. */
static void test_none(void) {
    tl_context *ctx = fresh_context();
    tl_tensor *a = tl_tensor_new_2d(ctx, TL_TYPE_F32, 2, 3), *none = tl_none(), *out[] = {none};
    CHECK(none && none == tl_none());
    NOT_MADE(ctx, tl_add(ctx, a, none), TL_STATUS_INVALID_ARGUMENT,
             "add: a is [2, 3] f32, b is left out: b is no operand that may be left out");
    NOT_MADE(ctx, tl_mul_mat_id(ctx, a, none, a), TL_STATUS_INVALID_ARGUMENT, "b is left out");
    NOT_MADE(ctx, tl_op(ctx, "add", (tl_tensor *[]){none, a}, 2, NULL, 0), TL_STATUS_INVALID_ARGUMENT, "a is left out");
    NOT_MADE(ctx, tl_narrow(ctx, none, 0, 0, 1), TL_STATUS_INVALID_ARGUMENT, "a is left out");
    NOT_MADE(ctx, tl_transpose(ctx, none), TL_STATUS_INVALID_ARGUMENT, "a is left out");
    float values[6] = {0};
    void *data;
    REFUSED(tl_tensor_read_f32(none, values, 6, &err), TL_STATUS_INVALID_ARGUMENT, "tl_none()");
    REFUSED(tl_tensor_write_f32(none, values, 6, &err), TL_STATUS_INVALID_ARGUMENT, "tl_none()");
    REFUSED(tl_tensor_read(none, values, 0, 4, &err), TL_STATUS_INVALID_ARGUMENT, "tl_none()");
    REFUSED(tl_tensor_write(none, values, 0, 4, &err), TL_STATUS_INVALID_ARGUMENT, "tl_none()");
    REFUSED(tl_tensor_get_f32(none, 0, 0, 0, 0, values, &err), TL_STATUS_INVALID_ARGUMENT, "tl_none()");
    REFUSED(tl_tensor_set_f32(none, 0, 0, 0, 0, 1, &err), TL_STATUS_INVALID_ARGUMENT, "tl_none()");
    REFUSED(tl_tensor_map(none, TL_ACCESS_READ, &data, &err), TL_STATUS_INVALID_ARGUMENT, "tl_none()");
    REFUSED(tl_tensor_set_constant(none, &err), TL_STATUS_INVALID_ARGUMENT, "tl_none()");
    REFUSED(tl_tensor_drop_original(none, &err), TL_STATUS_INVALID_ARGUMENT, "tl_none()");
    REFUSED(tl_tensor_set_name(none, "none", &err), TL_STATUS_INVALID_ARGUMENT, "tl_none()");
    tl_tensor_unmap(none, TL_ACCESS_READ);
    CHECK(tl_tensor_type(none) == -1 && tl_tensor_n_dims(none) == 0 && tl_tensor_ne(none, 0) == 0 && tl_tensor_nb(none, 0) == 0);
    CHECK(tl_tensor_nbytes(none) == 0 && tl_tensor_n_elements(none) == 0 && !tl_tensor_op(none) && !tl_tensor_name(none));
    CHECK(!tl_tensor_data(none) && tl_tensor_copy_name(none, NULL, 0) == 0);
    tl_graph *graph = NULL;
    REFUSED(tl_graph_create(ctx, out, 1, &graph, &err), TL_STATUS_INVALID_ARGUMENT, "output 0 is tl_none()");
    tl_context_free(ctx);
}

/* A message longer than tl_error holds loses characters of its middle, whole ones: 200 of two bytes at either parity. */
static void test_long_messages(void) {
    for (int shift = 0; shift < 2; shift++) {
        tl_context *ctx = fresh_context();
        char name[402 + 1] = "x";
        for (int i = 0; i < 200; i++) memcpy(name + shift + 2 * i, "\xc3\xa9", 3);
        tl_tensor *a = tl_tensor_new_1d(ctx, TL_TYPE_F32, 3), *b = tl_tensor_new_1d(ctx, TL_TYPE_F32, 2);
        ACCEPTED(tl_tensor_set_name(a, name, &err));
        NOT_MADE(ctx, tl_add(ctx, b, a), TL_STATUS_SHAPE_MISMATCH, "add");
        CHECK(!tl_add(ctx, b, a));
        tl_context_error(ctx, &err);
        const char *mark = strstr(err.message, " ... "), *end = err.message + strlen(err.message);
        CHECK(mark && end - err.message >= (ptrdiff_t)sizeof err.message - 3);
        /* Characters come whole, before the mark and after it. */
        for (const char *at = err.message; at < end; at++) {
            if ((unsigned char)*at == 0xc3) CHECK((unsigned char)*++at == 0xa9);
            CHECK((unsigned char)*at != 0xa9 || (unsigned char)at[-1] == 0xc3);
        }
        CHECK(strstr(mark, "[3]") || strstr(mark, "valid"));
        tl_context_free(ctx);
    }
}

// What the operators of bindings refuse.
static void test_tiles(tl_context *ctx) {
    tl_tensor *four = tl_tensor_new_2d(ctx, TL_TYPE_F32, 4, 12), *two = tl_tensor_new_1d(ctx, TL_TYPE_F32, 2);
    tl_tensor *three = tl_tensor_new_1d(ctx, TL_TYPE_F32, 3), *one = tl_tensor_new_1d(ctx, TL_TYPE_F32, 1);
    REFUSED(tl_refuse_tiles("add", four, two, &err), TL_STATUS_SHAPE_MISMATCH,
            "add: a is [4, 12] f32, b is [2] f32: in dimension 0, b would repeat 2 times");
    REFUSED(tl_refuse_tiles("mul", four, two, &err), TL_STATUS_SHAPE_MISMATCH, "\n  a  4  12\n  b  2\n     ^");
    ACCEPTED(tl_refuse_tiles("add", four, one, &err));
    ACCEPTED(tl_refuse_tiles("add", one, four, &err));
    ACCEPTED(tl_refuse_tiles("add", two, four, &err));
    // No tiles: tl_add() refuses it.
    ACCEPTED(tl_refuse_tiles("add", four, three, &err));
    REFUSED(tl_refuse_tiles(NULL, four, two, &err), TL_STATUS_INVALID_ARGUMENT, "op");
    REFUSED(tl_refuse_tiles("ad", four, two, &err), TL_STATUS_INVALID_ARGUMENT, "ad");
    REFUSED(tl_refuse_tiles("neg", four, two, &err), TL_STATUS_INVALID_ARGUMENT, "op is neg");
    REFUSED(tl_refuse_tiles("add", NULL, two, &err), TL_STATUS_INVALID_ARGUMENT, "a is NULL");
    REFUSED(tl_refuse_tiles("add", four, tl_none(), &err), TL_STATUS_INVALID_ARGUMENT, "tl_none()");
    CHECK(tl_refuse_tiles("add", four, two, NULL) == TL_STATUS_SHAPE_MISMATCH);
}

static void test_shapes(void) {
    tl_context *ctx = fresh_context();
    tl_tensor *a = tl_tensor_new_2d(ctx, TL_TYPE_F32, 2, 3);
    const int64_t ne[4] = {2, 3, 1, 1}, minus[4] = {-2, -3, 1, 1};
    const size_t nb[3] = {8, 24, 24}, wrapping[3] = {SIZE_MAX - 7, 0, 0};
    const int32_t dims[] = {0, 5, -1, INT32_MIN, INT32_MAX};
    for (int i = 0; i < 5; i++) {
        NOT_MADE(ctx, tl_view(ctx, a, dims[i], ne, nb, 0), TL_STATUS_INVALID_ARGUMENT, "view");
        NOT_MADE(ctx, tl_reshape(ctx, a, dims[i], ne), TL_STATUS_INVALID_ARGUMENT, "reshape");
    }
    NOT_MADE(ctx, tl_view(ctx, a, 2, NULL, nb, 0), TL_STATUS_INVALID_ARGUMENT, "view");
    NOT_MADE(ctx, tl_view(ctx, a, 2, minus, NULL, 0), TL_STATUS_INVALID_ARGUMENT, "view");
    NOT_MADE(ctx, tl_view(ctx, a, 2, ne, NULL, 4), TL_STATUS_INVALID_ARGUMENT, "view");
    NOT_MADE(ctx, tl_view(ctx, a, 2, ne, NULL, SIZE_MAX), TL_STATUS_INVALID_ARGUMENT, "view");
    NOT_MADE(ctx, tl_view(ctx, a, 2, ne, NULL, SIZE_MAX - 23), TL_STATUS_INVALID_ARGUMENT, "view");
    NOT_MADE(ctx, tl_view(ctx, a, 2, ne, wrapping, 16), TL_STATUS_INVALID_ARGUMENT, "view");
    NOT_MADE(ctx, tl_reshape(ctx, a, 2, NULL), TL_STATUS_INVALID_ARGUMENT, "reshape");
    NOT_MADE(ctx, tl_reshape(ctx, a, 2, minus), TL_STATUS_INVALID_ARGUMENT, "reshape");
    NOT_MADE(ctx, tl_permute(ctx, a, NULL), TL_STATUS_INVALID_ARGUMENT, "permute");
    const int32_t axes[][4] = {{-1, 0, 1, 2}, {0, 0, 0, 0}, {0, 1, 2, INT32_MAX}, {INT32_MIN, 1, 2, 3}};
    for (int i = 0; i < 4; i++) NOT_MADE(ctx, tl_permute(ctx, a, axes[i]), TL_STATUS_INVALID_ARGUMENT, "permute");
    NOT_MADE(ctx, tl_mul_mat_exact(ctx, a, tl_transpose(ctx, a)), TL_STATUS_SHAPE_MISMATCH, "mul_mat");
    NOT_MADE(ctx, tl_mul_mat_id(ctx, a, a, a), TL_STATUS_TYPE_MISMATCH, "mul_mat_id");
    tl_tensor *number = tl_tensor_new_1d(ctx, TL_TYPE_I32, 1);
    NOT_MADE(ctx, tl_mul_mat_id(ctx, a, number, number), TL_STATUS_TYPE_MISMATCH, "mul_mat_id");
    NOT_MADE(ctx, tl_mul_mat_id(ctx, a, a, number), TL_STATUS_SHAPE_MISMATCH, "mul_mat_id");
    const tl_type types[] = {-1, 9999, INT32_MIN, INT32_MAX};
    for (int i = 0; i < 4; i++) NOT_MADE(ctx, tl_cast(ctx, a, types[i]), TL_STATUS_INVALID_ARGUMENT, "cast");
    tl_context_free(ctx);
}

/* Structs of options: of any size that is known, NULL, and what their members may not say. */
static void test_options(void) {
    tl_context *ctx = fresh_context();
    tl_tensor *a = tl_tensor_new_2d(ctx, TL_TYPE_F32, 6, 2), *none = tl_none();
    CHECK(tl_scale(ctx, a, 2, NULL) && tl_glu(ctx, a, none, TL_GLU_OP_SWIGLU, NULL));
    tl_scale_params scale = {.struct_size = sizeof scale, .bias = 1};
    CHECK(tl_scale(ctx, a, 2, &scale));
    const size_t wrong[] = {0, 1, sizeof(size_t) - 1, 4097, SIZE_MAX};
    for (int i = 0; i < 5; i++) {
        scale.struct_size = wrong[i];
        NOT_MADE(ctx, tl_scale(ctx, a, 2, &scale), TL_STATUS_INVALID_ARGUMENT, "scale: struct_size");
        const tl_glu_params glu = {.struct_size = wrong[i]};
        NOT_MADE(ctx, tl_glu(ctx, a, a, TL_GLU_OP_SWIGLU, &glu), TL_STATUS_INVALID_ARGUMENT, "glu: struct_size");
    }
    /* One that ends before an option leaves it out; members of later versions must be 0. */
    scale.struct_size = sizeof(size_t);
    CHECK(tl_scale(ctx, a, 2, &scale));
    struct {
        tl_scale_params params;
        unsigned char tail[16];
    } later = {.params = {.struct_size = sizeof later, .bias = 1}};
    CHECK(tl_scale(ctx, a, 2, &later.params));
    later.tail[3] = 1;
    NOT_MADE(ctx, tl_scale(ctx, a, 2, &later.params), TL_STATUS_INVALID_ARGUMENT, "scale");
    scale = (tl_scale_params){.struct_size = sizeof scale, .bias = NAN};
    NOT_MADE(ctx, tl_scale(ctx, a, 2, &scale), TL_STATUS_INVALID_ARGUMENT, "attribute bias is NaN");
    NOT_MADE(ctx, tl_scale(ctx, a, NAN, NULL), TL_STATUS_INVALID_ARGUMENT, "attribute scale is NaN");

    const tl_glu_op unknown[] = {-1, 6, INT32_MIN, INT32_MAX};
    for (int i = 0; i < 4; i++)
        NOT_MADE(ctx, tl_glu(ctx, a, a, unknown[i], NULL), TL_STATUS_INVALID_ARGUMENT, "one of reglu, geglu, swiglu, geglu_erf");
    const tl_attr word = {.name = "op", .kind = TL_ATTR_TEXT, .text = "swish"},
                  gate = {.name = "op", .kind = TL_ATTR_TEXT, .text = "reglu"};
    NOT_MADE(ctx, tl_op(ctx, "glu", &a, 1, &word, 1), TL_STATUS_INVALID_ARGUMENT, "glu: attribute op is 'swish'");
    NOT_MADE(ctx, tl_op(ctx, "glu", &a, 1, NULL, 0), TL_STATUS_INVALID_ARGUMENT, "attribute op is missing");
    CHECK(tl_op(ctx, "glu", &a, 1, &gate, 1) && tl_op(ctx, "glu", (tl_tensor *[]){a, none}, 2, &gate, 1));
    tl_glu_params glu = {.struct_size = sizeof glu, .split = true};
    CHECK(tl_glu(ctx, a, a, TL_GLU_OP_GEGLU, &glu));
    NOT_MADE(ctx, tl_glu(ctx, a, none, TL_GLU_OP_GEGLU, &glu), TL_STATUS_INVALID_ARGUMENT, "b is left out, split is 1");
    glu = (tl_glu_params){.struct_size = sizeof glu, .limit = 5};
    CHECK(tl_glu(ctx, a, a, TL_GLU_OP_SWIGLU_OAI, &glu));
    NOT_MADE(ctx, tl_glu(ctx, a, a, TL_GLU_OP_SWIGLU, &glu), TL_STATUS_INVALID_ARGUMENT, "alpha and limit are of swiglu_oai alone");
    glu.limit = -5;
    NOT_MADE(ctx, tl_glu(ctx, a, a, TL_GLU_OP_SWIGLU_OAI, &glu), TL_STATUS_INVALID_ARGUMENT, "limit is -5");
    NOT_MADE(ctx, tl_glu(ctx, none, a, TL_GLU_OP_REGLU, NULL), TL_STATUS_INVALID_ARGUMENT, "a is left out");
    /* A byte that is no bool. */
    glu = (tl_glu_params){.struct_size = sizeof glu};
    memset(&glu.split, 170, 1);
    NOT_MADE(ctx, tl_glu(ctx, a, a, TL_GLU_OP_REGLU, &glu), TL_STATUS_INVALID_ARGUMENT, "glu: split is 170");
    tl_rope_params rope = {.struct_size = sizeof rope};
    memset(&rope.inverse, 2, 1);
    NOT_MADE(ctx, tl_rope(ctx, a, tl_tensor_new_1d(ctx, TL_TYPE_I32, 1), none, &rope), TL_STATUS_INVALID_ARGUMENT, "rope: inverse is 2");
    tl_context_free(ctx);
}

/* Sets of dimensions: bits that no dimension has, and sets of which NULL is the default. */
static void test_dims(void) {
    tl_context *ctx = fresh_context();
    tl_tensor *a = tl_tensor_new_2d(ctx, TL_TYPE_F32, 2, 3);
    tl_sum_params params = {.struct_size = sizeof params};
    CHECK(tl_tensor_n_elements(tl_sum(ctx, a, NULL)) == 1 && tl_tensor_n_elements(tl_sum(ctx, a, &params)) == 1);
    params.dims = TL_DIM_1;
    CHECK(tl_tensor_ne(tl_sum(ctx, a, &params), 0) == 2);
    params.dims = TL_DIM_0 | TL_DIM_3;
    params.keep = true;
    CHECK(tl_tensor_ne(tl_sum(ctx, a, &params), 1) == 3);
    const uint32_t wrong[] = {1u << 4, TL_DIM_0 | 1u << 31, UINT32_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        params.dims = wrong[i];
        NOT_MADE(ctx, tl_sum(ctx, a, &params), TL_STATUS_INVALID_ARGUMENT, "sum: attribute dims");
        const tl_argmax_params of_places = {.struct_size = sizeof of_places, .dims = wrong[i]};
        NOT_MADE(ctx, tl_argmax(ctx, a, &of_places), TL_STATUS_INVALID_ARGUMENT, "argmax: attribute dims");
    }
    NOT_MADE(ctx, tl_var(ctx, a, -1, NULL), TL_STATUS_INVALID_ARGUMENT, "correction is -1");
    CHECK(!tl_sum(NULL, a, NULL) && !tl_sum(ctx, NULL, NULL));
    settle(ctx);
    tl_context_free(ctx);
}

/* Lists of tensors and of indices: NULL, and counts that are none. */
static void test_lists(void) {
    tl_context *ctx = fresh_context();
    tl_tensor *a = tl_tensor_new_2d(ctx, TL_TYPE_F32, 2, 3);
    tl_tensor *const two[] = {a, a}, *const holes[] = {a, NULL}, *const none[] = {a, tl_none()};
    CHECK(tl_tensor_ne(tl_cat(ctx, two, 2, 1), 1) == 6 && tl_tensor_ne(tl_stack(ctx, two, 2, 0), 0) == 2);
    CHECK(tl_tensor_n_elements(tl_einsum(ctx, "ij,ij->", two, 2)) == 1);
    NOT_MADE(ctx, tl_cat(ctx, NULL, 2, 0), TL_STATUS_INVALID_ARGUMENT, "tensors is NULL");
    NOT_MADE(ctx, tl_cat(ctx, two, 0, 0), TL_STATUS_INVALID_ARGUMENT, "cat: 0 operands");
    NOT_MADE(ctx, tl_stack(ctx, two, SIZE_MAX, 0), TL_STATUS_INVALID_ARGUMENT, "stack: 18446744073709551615 operands");
    NOT_MADE(ctx, tl_stack(ctx, none, 2, 0), TL_STATUS_INVALID_ARGUMENT, "may be left out");
    NOT_MADE(ctx, tl_cat(ctx, two, 2, INT64_MIN), TL_STATUS_INVALID_ARGUMENT, "attribute dim");
    NOT_MADE(ctx, tl_einsum(ctx, NULL, two, 2), TL_STATUS_INVALID_ARGUMENT, "equation is NULL");
    NOT_MADE(ctx, tl_einsum(ctx, "\xff,%s->", two, 2), TL_STATUS_INVALID_ARGUMENT, "letters for dimensions");
    CHECK(!tl_cat(ctx, holes, 2, 0) && !tl_cat(NULL, two, 2, 0));
    settle(ctx);

    const int64_t ne[] = {2, 3, 2, 1, 1}, negative[] = {2, 3, -1};
    CHECK(tl_tensor_n_elements(tl_expand(ctx, a, 3, ne)) == 12 && tl_tensor_n_elements(tl_repeat(ctx, a, 2, ne)) == 6);
    NOT_MADE(ctx, tl_expand(ctx, a, 0, ne), TL_STATUS_INVALID_ARGUMENT, "expand: n_dims is 0: 1 to 4 are valid");
    NOT_MADE(ctx, tl_repeat(ctx, a, 5, ne), TL_STATUS_INVALID_ARGUMENT, "repeat: n_dims is 5: 1 to 4 are valid");
    NOT_MADE(ctx, tl_expand(ctx, a, 2, NULL), TL_STATUS_INVALID_ARGUMENT, "expand: ne is NULL");
    NOT_MADE(ctx, tl_repeat(ctx, a, 3, negative), TL_STATUS_INVALID_ARGUMENT, "-1");
    NOT_MADE(ctx, tl_random_uniform(ctx, a, INT32_MIN, ne, 0, 1, 0), TL_STATUS_INVALID_ARGUMENT, "n_dims is -2147483648");
    CHECK(!tl_expand(ctx, NULL, 2, ne) && !tl_repeat(NULL, a, 2, ne));
    settle(ctx);

    const int64_t begin[] = {0, -1, 0, 0, 0}, end[] = {TL_END, 0, TL_END, TL_END, TL_END};
    tl_tensor *row = tl_index(ctx, a, 2, begin, end, TL_DIM_1);
    CHECK(tl_tensor_n_dims(row) == 1 && tl_tensor_ne(row, 0) == 2);
    CHECK(tl_tensor_n_elements(tl_index(ctx, a, 0, NULL, NULL, 0)) == 6);
    NOT_MADE(ctx, tl_index(ctx, a, 1, NULL, end, 0), TL_STATUS_INVALID_ARGUMENT, "begin is NULL");
    NOT_MADE(ctx, tl_index(ctx, a, 1, begin, NULL, 0), TL_STATUS_INVALID_ARGUMENT, "end is NULL");
    NOT_MADE(ctx, tl_index(ctx, a, -1, begin, end, 0), TL_STATUS_INVALID_ARGUMENT, "n_dims is -1");
    NOT_MADE(ctx, tl_index(ctx, a, 5, begin, end, 0), TL_STATUS_INVALID_ARGUMENT, "n_dims is 5");
    NOT_MADE(ctx, tl_index(ctx, a, 1, begin, end, TL_DIM_1), TL_STATUS_INVALID_ARGUMENT, "dropped is 2");
    NOT_MADE(ctx, tl_index(ctx, tl_none(), 1, begin, end, 0), TL_STATUS_INVALID_ARGUMENT, "left out");
    CHECK(!tl_index(ctx, NULL, 1, begin, end, 0) && !tl_index(NULL, a, 1, begin, end, 0));
    settle(ctx);
    test_tiles(ctx);
    tl_context_free(ctx);
}

void test_ops(void) {
    test_lists();
    test_long_messages();
    test_options();
    test_dims();
    test_null_operands();
    test_none();
    test_shapes();
}

static tl_attr ints(const char *name, int32_t n, int64_t first, int64_t second) {
    tl_attr attr = {.name = name, .kind = TL_ATTR_INTS, .n_ints = n, .ints = {first, second, 2, 3, 0, 0}};
    return attr;
}

static tl_attr number(const char *name, double value) {
    tl_attr attr = {.name = name, .kind = TL_ATTR_NUMBER, .number = value};
    return attr;
}

static tl_attr text(const char *name, const char *value) {
    tl_attr attr = {.name = name, .kind = TL_ATTR_TEXT, .text = value};
    return attr;
}

static void test_names_and_counts(tl_context *ctx, tl_tensor *a) {
    /* More than any operation takes. */
    tl_tensor *const src[11] = {a, a, a, a, a, a, a, a, a, a, a}, *const holes[2] = {a, NULL};
    size_t n = tl_op_count();
    CHECK(n >= 10 && tl_op_name(n) == NULL && tl_op_name(SIZE_MAX) == NULL);
    for (size_t i = 0; i < n; i++) {
        const char *name = tl_op_name(i);
        CHECK(name && name[0]);
        NOT_MADE(ctx, tl_op(ctx, name, NULL, 0, NULL, 0), TL_STATUS_INVALID_ARGUMENT, name);
        NOT_MADE(ctx, tl_op(ctx, name, src, 11, NULL, 0), TL_STATUS_INVALID_ARGUMENT, name);
    }
    NOT_MADE(ctx, tl_op(ctx, NULL, src, 2, NULL, 0), TL_STATUS_INVALID_ARGUMENT, "");
    NOT_MADE(ctx, tl_op(ctx, "", src, 2, NULL, 0), TL_STATUS_INVALID_ARGUMENT, "");
    NOT_MADE(ctx, tl_op(ctx, "matmul", src, 2, NULL, 0), TL_STATUS_INVALID_ARGUMENT, "are mul_mat,");
    NOT_MADE(ctx, tl_op(ctx, "add", NULL, 2, NULL, 0), TL_STATUS_INVALID_ARGUMENT, "");
    NOT_MADE(ctx, tl_op(ctx, "add", src, 1, NULL, 0), TL_STATUS_INVALID_ARGUMENT, "add");
    NOT_MADE(ctx, tl_op(ctx, "add", src, SIZE_MAX, NULL, 0), TL_STATUS_INVALID_ARGUMENT, "add");
    NOT_MADE(ctx, tl_op(ctx, "add", src, 2, NULL, 1), TL_STATUS_INVALID_ARGUMENT, "");
    CHECK(tl_op(ctx, "add", holes, 2, NULL, 0) == NULL);
    settle(ctx);
    tl_tensor *sum = tl_op(ctx, "add", src, 2, NULL, 0);
    CHECK(sum && strcmp(tl_tensor_op(sum), "add") == 0);
}

static void test_attributes(tl_context *ctx, tl_tensor *a) {
    const tl_attr axes = ints("axes", 4, 1, 0), to = text("to", "F16");
    tl_attr odd_kind = ints("axes", 4, 1, 0), no_text = text("to", NULL), no_name = ints(NULL, 4, 1, 0);
    odd_kind.kind = 17;
    const struct {
        const char *op;
        int n;
        tl_attr attrs[2];
    } bad[] = {
        {"permute", 0, {axes}},
        {"permute", 1, {ints("axis", 4, 1, 0)}},
        {"permute", 1, {ints("axes", 3, 1, 0)}},
        {"permute", 1, {ints("axes", -1, 1, 0)}},
        {"permute", 1, {ints("axes", 7, 1, 0)}},
        {"permute", 1, {ints("axes", INT32_MAX, 1, 0)}},
        {"permute", 1, {ints("axes", 4, 1LL << 32, 0)}},
        {"permute", 1, {number("axes", 1)}},
        {"permute", 1, {text("axes", "1,0,2,3")}},
        {"permute", 1, {odd_kind}},
        {"permute", 1, {no_name}},
        {"permute", 2, {axes, axes}},
        {"permute", 2, {axes, number("speed", 11)}},
        {"cont", 1, {axes}},
        {"cast", 0, {to}},
        {"cast", 1, {no_text}},
        {"cast", 1, {text("to", "f33")}},
        {"cast", 1, {number("to", NAN)}},
        {"view", 2, {ints("ne", 1, 2, 0), number("offset", 0.5)}},
        {"view", 2, {ints("ne", 1, 2, 0), number("offset", NAN)}},
        {"view", 2, {ints("ne", 1, 2, 0), number("offset", -4)}},
        {"view", 2, {ints("ne", 1, 2, 0), number("offset", 1e300)}},
        {"view", 2, {ints("ne", 1, 2, 0), ints("nb", 3, 8, 8)}},
        {"view", 1, {number("offset", 0)}},
        {"reshape", 1, {ints("ne", 0, 6, 1)}},
        {"reshape", 1, {ints("ne", 5, 6, 1)}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        NOT_MADE(ctx, tl_op(ctx, bad[i].op, &a, 1, bad[i].attrs, (size_t)bad[i].n), TL_STATUS_INVALID_ARGUMENT, "");
    NOT_MADE(ctx, tl_op(ctx, "permute", &a, 1, &axes, SIZE_MAX), TL_STATUS_INVALID_ARGUMENT, "");

    tl_tensor *const twice[2] = {a, a};
    const tl_attr not_exact[] = {ints("exact", 1, 2, 0), ints("exact", 1, -1, 0), ints("exact", 2, 1, 1), number("exact", 0.5),
                                 text("exact", "1")};
    for (size_t i = 0; i < sizeof not_exact / sizeof *not_exact; i++)
        NOT_MADE(ctx, tl_op(ctx, "mul_mat", twice, 2, &not_exact[i], 1), TL_STATUS_INVALID_ARGUMENT, "exact");
    tl_tensor *const routed[3] = {a, tl_tensor_new_1d(ctx, TL_TYPE_F32, 2), tl_tensor_new_1d(ctx, TL_TYPE_I32, 1)};
    for (size_t i = 0; i < sizeof not_exact / sizeof *not_exact; i++)
        NOT_MADE(ctx, tl_op(ctx, "mul_mat_id", routed, 3, &not_exact[i], 1), TL_STATUS_INVALID_ARGUMENT, "exact");
    const tl_attr exact = number("exact", 1);
    CHECK(tl_op(ctx, "mul_mat_id", routed, 3, &exact, 1) != NULL);
    tl_tensor *product = tl_op(ctx, "mul_mat", twice, 2, &exact, 1);
    CHECK(product && strcmp(tl_tensor_op(product), "mul_mat") == 0);

    tl_tensor *turned = tl_op(ctx, "permute", &a, 1, &axes, 1), *half = tl_op(ctx, "cast", &a, 1, &to, 1);
    CHECK(turned && tl_tensor_ne(turned, 0) == 3 && half && tl_tensor_type(half) == TL_TYPE_F16);
    const tl_attr window[2] = {number("ne", 2), number("offset", 8)};
    tl_tensor *view = tl_op(ctx, "view", &a, 1, window, 2);
    CHECK(view && tl_tensor_ne(view, 0) == 2 && tl_tensor_n_dims(view) == 1);
}

void test_op_by_name(void) {
    tl_context *ctx = fresh_context();
    tl_tensor *a = tl_tensor_new_2d(ctx, TL_TYPE_F32, 2, 3);
    test_names_and_counts(ctx, a);
    test_attributes(ctx, a);
    ACCEPTED(tl_context_error(ctx, &err));
    tl_context_free(ctx);
}
