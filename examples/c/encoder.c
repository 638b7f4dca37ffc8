/* A text encoder of the BERT family: prints the vector of a text, given as tokens.
 *
 *     encoder MODEL.gguf TOKEN...
 *
 * MODEL.gguf has the architecture bert. The vector is the mean of the tokens' vectors in the last layer, whatever
 * pooling the file names, divided by its length. It is printed one element a line, with six digits after the point.
 * TENSORLIB_DEVICE names the device; the CPU is the default.
 *
 * Constructors of tensors accept the NULL of a constructor that failed, and the context keeps the first error. The graph
 * is therefore written without a test at each node, and tl_graph_create() reports what went wrong. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tensorlib/tensorlib.h>

typedef struct {
    tl_gguf *file;
    tl_backend *backend;
    tl_context *ctx;
    tl_graph *graph;
    int64_t width, layers, heads;
    double eps;
    tl_error err; /* the library's last error */
} Encoder;

/* Says what is wrong; gives false, to be returned. */
#define FAIL(...) (fprintf(stderr, "encoder: "), fprintf(stderr, __VA_ARGS__), fputc('\n', stderr), false)

static bool done(Encoder *e, tl_status status) { return status == TL_STATUS_OK || FAIL("%s", e->err.message); }

static bool find_key(const Encoder *e, const char *key, size_t *index) {
    int64_t found = tl_gguf_find(e->file, key);
    *index = (size_t)found;
    return found >= 0 || FAIL("the file has no key '%s'", key);
}

/* A setting that is a whole number of 1 or more. */
static bool read_count(Encoder *e, const char *key, int64_t *count) {
    size_t index;
    if (!find_key(e, key, &index) || !done(e, tl_gguf_get_i64(e->file, index, count, &e->err))) return false;
    return *count >= 1 || FAIL("%s is %" PRId64 ": 1 or more is valid", key, *count);
}

static bool read_settings(Encoder *e) {
    size_t index;
    const char *architecture;
    if (!find_key(e, "general.architecture", &index)) return false;
    if (!done(e, tl_gguf_get_string(e->file, index, &architecture, NULL, &e->err))) return false;
    if (strcmp(architecture, "bert") != 0) return FAIL("the architecture is '%s': bert is valid", architecture);
    if (!read_count(e, "bert.block_count", &e->layers)) return false;
    if (!read_count(e, "bert.attention.head_count", &e->heads)) return false;
    return find_key(e, "bert.attention.layer_norm_epsilon", &index) && done(e, tl_gguf_get_f64(e->file, index, &e->eps, &e->err));
}

/* One of the file's tensors: layer is -1 for those that are in none. */
static tl_tensor *weight(Encoder *e, int64_t layer, const char *name, const char *ending) {
    char full[96];
    if (layer < 0) {
        snprintf(full, sizeof full, "%s.%s", name, ending);
    } else {
        snprintf(full, sizeof full, "blk.%" PRId64 ".%s.%s", layer, name, ending);
    }
    return tl_gguf_tensor(e->file, e->ctx, full);
}

static tl_tensor *linear(Encoder *e, int64_t layer, const char *name, tl_tensor *x) {
    tl_tensor *product = tl_mul_mat(e->ctx, weight(e, layer, name, "weight"), x);
    return tl_add(e->ctx, product, weight(e, layer, name, "bias"));
}

static tl_tensor *norm(Encoder *e, int64_t layer, const char *name, tl_tensor *x) {
    tl_tensor *scaled = tl_mul(e->ctx, tl_norm(e->ctx, x, e->eps), weight(e, layer, name, "weight"));
    return tl_add(e->ctx, scaled, weight(e, layer, name, "bias"));
}

/* {width, tokens} as {width / heads, tokens, heads}. */
static tl_tensor *split_heads(Encoder *e, tl_tensor *x) {
    int64_t ne[] = {e->width / e->heads, e->heads, -1};
    return tl_permute(e->ctx, tl_reshape(e->ctx, x, 3, ne), (int32_t[]){0, 2, 1, 3});
}

static tl_tensor *one_layer(Encoder *e, int64_t layer, tl_tensor *x) {
    tl_context *ctx = e->ctx;
    tl_tensor *q = split_heads(e, linear(e, layer, "attn_q", x));
    tl_tensor *k = split_heads(e, linear(e, layer, "attn_k", x));
    tl_tensor *v = split_heads(e, linear(e, layer, "attn_v", x));
    tl_tensor *attended = tl_flash_attn_ext(ctx, q, k, v, tl_none(), tl_none(), NULL); /* {width / heads, heads, tokens} */
    attended = tl_reshape(ctx, attended, 2, (int64_t[]){e->width, -1});
    attended = linear(e, layer, "attn_output", attended);
    x = norm(e, layer, "attn_output_norm", tl_add(ctx, attended, x));
    tl_tensor *inner = tl_gelu_erf(ctx, linear(e, layer, "ffn_up", x));
    return norm(e, layer, "layer_output_norm", tl_add(ctx, linear(e, layer, "ffn_down", inner), x));
}

/* The graph from token numbers, an I32 leaf {n}, to the vector. */
static tl_tensor *forward(Encoder *e, tl_tensor *embeddings, tl_tensor *ids, int64_t n) {
    tl_context *ctx = e->ctx;
    tl_tensor *positions = tl_narrow(ctx, weight(e, -1, "position_embd", "weight"), 1, 0, n);
    tl_tensor *type = tl_narrow(ctx, weight(e, -1, "token_types", "weight"), 1, 0, 1); /* all are of the first type */
    tl_tensor *x = tl_add(ctx, tl_add(ctx, tl_get_rows(ctx, embeddings, ids), positions), type);
    x = norm(e, -1, "token_embd_norm", x);
    for (int64_t layer = 0; layer < e->layers && x; layer++) x = one_layer(e, layer, x);
    tl_mean_params of_tokens = {.struct_size = sizeof of_tokens, .dims = TL_DIM_1};
    return tl_l2_norm(ctx, tl_mean(ctx, x, &of_tokens), 1e-12);
}

/* Numbers of tokens from the arguments. */
static bool parse_tokens(char **arguments, int64_t n, int64_t vocabulary, int32_t *tokens) {
    for (int64_t i = 0; i < n; i++) {
        char *end;
        long long token = strtoll(arguments[i], &end, 10); /* too long ones become the largest number, which is refused */
        if (end == arguments[i] || *end || token < 0 || token >= vocabulary)
            return FAIL("token %s: 0 to %" PRId64 " are valid", arguments[i], vocabulary - 1);
        tokens[i] = (int32_t)token;
    }
    return true;
}

static bool print_vector(Encoder *e, const tl_tensor *vector) {
    size_t width = (size_t)tl_tensor_n_elements(vector);
    float *values = malloc(width * sizeof *values);
    bool ok = values ? done(e, tl_tensor_read_f32(vector, values, width, &e->err)) : FAIL("no memory");
    for (size_t i = 0; ok && i < width; i++) printf("%.6f\n", (double)values[i]);
    free(values);
    return ok;
}

static bool run(Encoder *e, const char *path, char **arguments, int64_t n) {
    const char *device = getenv("TENSORLIB_DEVICE");
    tl_context_params params;
    tl_context_params_init(&params, sizeof params);
    if (!done(e, tl_gguf_open(path, &e->file, &e->err)) || !read_settings(e)) return false;
    if (!done(e, tl_backend_create(device && *device ? device : "cpu", NULL, &e->backend, &e->err))) return false;
    params.backend = e->backend;
    if (!done(e, tl_context_create(&params, &e->ctx, &e->err))) return false;

    tl_tensor *embeddings = weight(e, -1, "token_embd", "weight"); /* {width, vocabulary} */
    if (!embeddings) return done(e, tl_context_error(e->ctx, &e->err));
    e->width = tl_tensor_ne(embeddings, 0);
    if (e->width % e->heads) return FAIL("%" PRId64 " heads do not divide the width, %" PRId64, e->heads, e->width);
    tl_tensor *ids = tl_tensor_new_1d(e->ctx, TL_TYPE_I32, n);
    size_t size = (size_t)n * sizeof(int32_t);
    int32_t *tokens = malloc(size);
    bool ok = tokens ? parse_tokens(arguments, n, tl_tensor_ne(embeddings, 1), tokens) : FAIL("no memory");
    ok = ok && done(e, tl_tensor_write(ids, tokens, 0, size, &e->err));
    free(tokens);
    if (!ok) return false;

    tl_tensor *vector = forward(e, embeddings, ids, n);
    return done(e, tl_graph_create(e->ctx, &vector, 1, &e->graph, &e->err)) && done(e, tl_graph_compute(e->graph, e->backend, &e->err)) &&
           print_vector(e, vector);
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: encoder MODEL.gguf TOKEN...\n");
        return 2;
    }
    Encoder e = {.err = {.struct_size = sizeof e.err}};
    bool ok = run(&e, argv[1], argv + 2, argc - 2);
    tl_graph_free(e.graph), tl_context_free(e.ctx), tl_backend_free(e.backend), tl_gguf_free(e.file);
    return ok ? 0 : 1;
}
