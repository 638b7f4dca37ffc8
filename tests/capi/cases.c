/* Runs the language-neutral cases of tests/cases through the C ABI: cases FOLDER
 *
 * One pass over each file, with one function per statement of the grammar (tests/cases/README.md). A case is
 * computed where its `out` line is read, so the `tol` and `at` lines after it only compare. A line outside the
 * grammar ends the run with exit status 2, because a case that is not understood must not look like a case that
 * passed. */
#define _POSIX_C_SOURCE 200809L

#include <dirent.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tensorlib/tensorlib.h>

/* The only group of the cases: that of one rank. */
static tl_group *self_group;
static const tl_group *case_group(void) { return self_group; }

enum { MAX_SLOTS = 64, MAX_PARTS = 4, MAX_WORDS = 32, MAX_FILES = 64, MAX_OPERANDS = 24 };

typedef struct {
    char id[8];
    tl_tensor *tensor;
    float *data; /* a leaf's contents until `out` writes them; NULL for nodes */
    size_t n;
    unsigned char *blocks; /* the same of a leaf whose type has blocks: n_bytes of all so far */
    size_t n_bytes;
} Slot;

typedef struct {
    char name[128];
    tl_context *ctx;              /* of all nodes, on the first device */
    tl_context *leafs[MAX_PARTS]; /* of leafs, on each device in turn; the first is ctx */
    int n_leafs;
    Slot slots[MAX_SLOTS];
    int n_slots;
    tl_error refused; /* of the first operation that returned NULL; code 0 while none did */
    bool judged;      /* `out` or `error` was read */
    bool failed, skipped, cpu_only;
    char why[512]; /* the first reason */
    float *result;
    size_t n_result;
    double tol_abs, tol_rel;
} Case;

typedef struct {
    tl_backend *backend;
    tl_backend *parts[MAX_PARTS]; /* those that it is joined of, where TENSORLIB_DEVICE names several */
    size_t n_parts;
    const char *file;
    int line;
    Case *current;
    int passed, failed, skipped;
} Run;

static void bad_line(const Run *run, const char *what) {
    fprintf(stderr, "%s:%d: %s\n", run->file, run->line, what);
    exit(2);
}

/* Keeps the first reason: what follows is mostly its consequence. */
static void fail(Case *c, const char *format, ...) {
    if (c->failed) return;
    c->failed = true;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(c->why, sizeof c->why, format, arguments);
    va_end(arguments);
}

static Slot *find_slot(const Run *run, const char *id) {
    Case *c = run->current;
    for (int i = 0; i < c->n_slots; i++)
        if (strcmp(c->slots[i].id, id) == 0) return &c->slots[i];
    bad_line(run, "no such tensor");
    return NULL;
}

static Slot *new_slot(const Run *run, const char *id) {
    Case *c = run->current;
    if (c->n_slots == MAX_SLOTS || strlen(id) >= sizeof c->slots[0].id) bad_line(run, "too many tensors, or a long id");
    Slot *slot = &c->slots[c->n_slots++];
    memset(slot, 0, sizeof *slot);
    strcpy(slot->id, id);
    return slot;
}

static long long to_int(const Run *run, const char *word) {
    char *end;
    long long value = strtoll(word, &end, 10);
    if (end == word || *end) bad_line(run, "an integer was expected");
    return value;
}

static double to_number(const Run *run, const char *word) {
    char *end;
    double value = strtod(word, &end);
    if (end == word || *end) bad_line(run, "a number was expected");
    return value;
}

static tl_type to_type(const Run *run, const char *word) {
    tl_type type;
    if (tl_type_from_name(word, &type, NULL) != TL_STATUS_OK) bad_line(run, "no such type");
    return type;
}

static float generated(uint32_t seed, uint32_t i, const char *type) {
    uint32_t x = i ^ (seed * 0x9E3779B1u);
    x = (x ^ (x >> 16)) * 0x7FEB352Du;
    x = (x ^ (x >> 15)) * 0x846CA68Bu;
    x ^= x >> 16;
    x >>= 8;
    if (strcmp(type, "bool") == 0) return (float)(x % 2);
    if (type[0] == 'u') return (float)(x % 200);
    return type[0] == 'i' ? (float)((int)(x % 200) - 100) : (float)((int)(x % 4096) - 2048) / 512.0f;
}

static void on_case(Run *run, char **words, int n) {
    if (n != 2 || run->current) bad_line(run, "case NAME, after the end of the one before");
    Case *c = calloc(1, sizeof *c);
    if (!c || strlen(words[1]) >= sizeof c->name) bad_line(run, "no memory, or a long name");
    strcpy(c->name, words[1]);
    run->current = c;
    tl_error err = {.struct_size = sizeof err};
    tl_context_params params;
    tl_context_params_init(&params, sizeof params);
    for (size_t i = 0; i < run->n_parts; i++) {
        params.backend = run->parts[i];
        if (tl_context_create(&params, &c->leafs[i], &err) != TL_STATUS_OK) fail(c, "tl_context_create: %s", err.message);
    }
    c->ctx = c->leafs[0];
}

/* For a leaf: one after the other of the devices'. */
static tl_context *next_context(const Run *run) { return run->current->leafs[(size_t)run->current->n_leafs++ % run->n_parts]; }

static bool has_cpu(const Run *run) { return strstr(tl_backend_device(run->backend), "cpu") != NULL; }

static void on_leaf(Run *run, char **words, int n) {
    if (n != 8) bad_line(run, "leaf ID TYPE NE0 NE1 NE2 NE3 SEED");
    Slot *slot = new_slot(run, words[1]);
    tl_type type = to_type(run, words[2]);
    uint32_t seed = (uint32_t)to_int(run, words[7]);
    int64_t ne[4];
    slot->n = 1;
    for (int d = 0; d < 4; d++) slot->n *= (size_t)(ne[d] = to_int(run, words[3 + d]));
    slot->tensor = tl_tensor_new(next_context(run), type, 4, ne);
    slot->data = malloc(slot->n ? slot->n * sizeof(float) : 1);
    if (!slot->tensor || !slot->data) bad_line(run, "this leaf could not be made");
    for (size_t i = 0; i < slot->n; i++) slot->data[i] = generated(seed, (uint32_t)i, words[2]);
}

static void on_blocks(Run *run, char **words, int n) {
    if (n != 7) bad_line(run, "blocks ID TYPE NE0 NE1 NE2 NE3");
    Slot *slot = new_slot(run, words[1]);
    int64_t ne[4];
    for (int d = 0; d < 4; d++) ne[d] = to_int(run, words[3 + d]);
    slot->tensor = tl_tensor_new(next_context(run), to_type(run, words[2]), 4, ne);
    slot->blocks = malloc(slot->tensor ? tl_tensor_nbytes(slot->tensor) + 1 : 1);
    if (!slot->tensor || !slot->blocks) bad_line(run, "this leaf could not be made");
}

static void on_hex(Run *run, char **words, int n) {
    if (n != 3 || strlen(words[2]) % 2 != 0) bad_line(run, "hex ID DIGITS");
    Slot *slot = find_slot(run, words[1]);
    size_t bytes = strlen(words[2]) / 2;
    if (!slot->blocks || slot->n_bytes + bytes > tl_tensor_nbytes(slot->tensor)) bad_line(run, "hex: not such a leaf, or past its end");
    for (size_t i = 0; i < bytes; i++) {
        char digits[3] = {words[2][2 * i], words[2][2 * i + 1], 0}, *end;
        slot->blocks[slot->n_bytes++] = (unsigned char)strtoul(digits, &end, 16);
        if (*end) bad_line(run, "hex digits were expected");
    }
}

static void on_set(Run *run, char **words, int n) {
    if (n != 4) bad_line(run, "set ID INDEX VALUE");
    Slot *slot = find_slot(run, words[1]);
    size_t i = (size_t)to_int(run, words[2]);
    if (!slot->data || i >= slot->n) bad_line(run, "set: not a leaf, or past its end");
    slot->data[i] = (float)to_number(run, words[3]);
}

#include "case_attrs.h"

#include "gen/case_ops.h"

static tl_tensor *build_shaped(const Run *run, char **words, int n, tl_tensor *a) {
    tl_context *ctx = run->current->ctx;
    const char *op = words[2];
    int64_t ne[6], values[6];
    if (strcmp(op, "permute") == 0) {
        int32_t axes[4];
        if (case_list(run, words, n, "axes", values) != 4) bad_line(run, "permute: axes=I,I,I,I");
        for (int i = 0; i < 4; i++) axes[i] = (int32_t)values[i];
        return tl_permute(ctx, a, axes);
    }
    if (strcmp(op, "index") == 0) {
        int n_ranges = case_list(run, words, n, "begin", ne), n_dropped;
        int64_t dropped[6];
        uint32_t set = 0;
        if (case_list(run, words, n, "end", values) != n_ranges) bad_line(run, "index: as many values in end as in begin");
        n_dropped = case_list(run, words, n, "dropped", dropped);
        for (int i = 0; i < n_dropped; i++) set |= 1u << dropped[i];
        return tl_index(ctx, a, n_ranges, ne, values, set);
    }
    int n_dims = case_list(run, words, n, "ne", ne);
    if (n_dims == 0) bad_line(run, "view and reshape: ne=...");
    if (strcmp(op, "reshape") == 0) return tl_reshape(ctx, a, n_dims, ne);
    size_t nb[6];
    int n_nb = case_list(run, words, n, "nb", values);
    if (n_nb != 0 && n_nb != n_dims - 1) bad_line(run, "view: nb has one value less than ne");
    for (int i = 0; i < n_nb; i++) nb[i] = (size_t)values[i];
    size_t offset = case_list(run, words, n, "offset", values) ? (size_t)values[0] : 0;
    return tl_view(ctx, a, n_dims, ne, n_nb ? nb : NULL, offset);
}

static tl_tensor *build_of_list(const Run *run, char **words, int n) {
    tl_context *ctx = run->current->ctx;
    tl_tensor *s[MAX_OPERANDS];
    size_t n_src = (size_t)all_operands(run, words, n, MAX_OPERANDS, s);
    if (strcmp(words[2], "einsum") == 0) return tl_einsum(ctx, case_text(run, words, n, "equation"), s, n_src);
    int64_t dim[6];
    if (case_list(run, words, n, "dim", dim) != 1) bad_line(run, "cat and stack: dim=I");
    return strcmp(words[2], "cat") == 0 ? tl_cat(ctx, s, n_src, dim[0]) : tl_stack(ctx, s, n_src, dim[0]);
}

/* Its error is not the context's. */
static tl_tensor *build_gradient(const Run *run, char **words, int n) {
    Case *c = run->current;
    tl_tensor *s[MAX_OPERANDS], *made = NULL;
    tl_error err = {.struct_size = sizeof err};
    operands(run, words, n, 3, s);
    tl_status status = tl_gradients(c->ctx, &s[0], &s[1], 1, &s[2], 1, &made, &err);
    if (status != TL_STATUS_OK && c->refused.code == TL_STATUS_OK) c->refused = err;
    return made;
}

static tl_tensor *build(const Run *run, char **words, int n) {
    tl_context *ctx = run->current->ctx;
    const char *op = words[2];
    tl_tensor *made, *s[MAX_OPERANDS];
    if (case_op(run, words, n, &made)) return made;
    if (strcmp(op, "mul_mat") == 0 || strcmp(op, "mul_mat_exact") == 0) {
        operands(run, words, n, 2, s);
        return strcmp(op, "mul_mat") == 0 ? tl_mul_mat(ctx, s[0], s[1]) : tl_mul_mat_exact(ctx, s[0], s[1]);
    }
    if (strcmp(op, "mul_mat_id") == 0) {
        operands(run, words, n, 3, s);
        return tl_mul_mat_id(ctx, s[0], s[1], s[2]);
    }
    if (strcmp(op, "gradient") == 0) return build_gradient(run, words, n);
    if (strcmp(op, "cat") == 0 || strcmp(op, "stack") == 0 || strcmp(op, "einsum") == 0) return build_of_list(run, words, n);
    operands(run, words, n, 1, s);
    if (strcmp(op, "cast") == 0) return tl_cast(ctx, s[0], to_type(run, case_text(run, words, n, "to")));
    if (strcmp(op, "view") == 0 || strcmp(op, "reshape") == 0 || strcmp(op, "permute") == 0 || strcmp(op, "index") == 0)
        return build_shaped(run, words, n, s[0]);
    bad_line(run, "no such operation");
    return NULL;
}

static void on_op(Run *run, char **words, int n) {
    if (n < 4) bad_line(run, "op ID OP SRC... [KEY=...]");
    Case *c = run->current;
    if (c->refused.code != TL_STATUS_OK) fail(c, "an operation before the last was refused: %s", c->refused.message);
    tl_tensor *made = build(run, words, n); /* before new_slot: a source must not be the result */
    Slot *slot = new_slot(run, words[1]);
    slot->tensor = made;
    tl_error err = {.struct_size = sizeof err};
    if (!made && tl_context_error(c->ctx, &err) != TL_STATUS_OK && c->refused.code == TL_STATUS_OK) c->refused = err;
    if (!made && c->refused.code == TL_STATUS_OK) fail(c, "%s gave NULL, and its context no error", words[2]);
}

static tl_status write_leafs(const Case *c, tl_error *err) {
    tl_status status = TL_STATUS_OK;
    for (int i = 0; i < c->n_slots && status == TL_STATUS_OK; i++) {
        const Slot *s = &c->slots[i];
        if (s->data) status = tl_tensor_write_f32(s->tensor, s->data, s->n, err);
        if (s->blocks) status = tl_tensor_write(s->tensor, s->blocks, 0, s->n_bytes, err);
    }
    return status;
}

/* Writes the leafs, computes, reads the result. */
static void compute(Run *run, tl_tensor *out) {
    Case *c = run->current;
    tl_graph *graph = NULL;
    tl_error err = {.struct_size = sizeof err};
    tl_status status = tl_graph_create(c->ctx, &out, 1, &graph, &err);
    if (status == TL_STATUS_OK) status = write_leafs(c, &err);
    if (status == TL_STATUS_OK) {
        status = tl_graph_compute(graph, run->backend, &err);
        /* A device may lack kernels; the CPU has all. */
        if (status == TL_STATUS_UNSUPPORTED && strcmp(tl_backend_device(run->backend), "cpu") != 0) {
            c->skipped = true;
            snprintf(c->why, sizeof c->why, "%s", err.message);
        } else if (c->cpu_only && !has_cpu(run)) {
            fail(c, "computed, though it is for the CPU alone");
        }
    }
    c->n_result = (size_t)tl_tensor_n_elements(out);
    c->result = malloc(c->n_result ? c->n_result * sizeof(float) : 1);
    if (!c->result) bad_line(run, "no memory for the result");
    if (status == TL_STATUS_OK) status = tl_tensor_read_f32(out, c->result, c->n_result, &err);
    if (status != TL_STATUS_OK && !c->skipped) fail(c, "%s: %s", tl_status_name(status), err.message);
    tl_graph_free(graph);
}

static void on_cpu_only(Run *run, char **words, int n) {
    if (n != 1) bad_line(run, "cpu_only");
    (void)words;
    run->current->cpu_only = true;
}

static void on_out(Run *run, char **words, int n) {
    if (n != 7) bad_line(run, "out ID TYPE NE0 NE1 NE2 NE3");
    Case *c = run->current;
    tl_tensor *out = find_slot(run, words[1])->tensor;
    c->judged = true;
    if (c->failed) return;
    if (!out) {
        fail(c, "refused: %s", c->refused.message);
        return;
    }
    if (tl_tensor_type(out) != to_type(run, words[2])) fail(c, "the type is %s", tl_type_name(tl_tensor_type(out)));
    for (int d = 0; d < 4; d++)
        if (tl_tensor_ne(out, d) != to_int(run, words[3 + d]))
            fail(c, "ne[%d] is %lld, not %s", d, (long long)tl_tensor_ne(out, d), words[3 + d]);
    if (!c->failed) compute(run, out);
}

/* Computing must fail; `word` lines look at its message. */
static void on_fails(Run *run, char **words, int n) {
    if (n != 3) bad_line(run, "fails ID STATUS");
    Case *c = run->current;
    tl_tensor *out = find_slot(run, words[1])->tensor;
    c->judged = true;
    if (!out) {
        fail(c, "refused: %s", c->refused.message);
        return;
    }
    tl_graph *graph = NULL;
    tl_error err = {.struct_size = sizeof err};
    tl_status status = tl_graph_create(c->ctx, &out, 1, &graph, &err);
    if (status == TL_STATUS_OK) status = write_leafs(c, &err);
    if (status != TL_STATUS_OK) {
        fail(c, "before computing: %s", err.message);
    } else {
        status = tl_graph_compute(graph, run->backend, &err);
        if (strcmp(tl_status_name(status) + strlen("TL_STATUS_"), words[2]) != 0) fail(c, "%s, not %s", tl_status_name(status), words[2]);
    }
    c->refused = err;
    tl_graph_free(graph);
}

static void on_tol(Run *run, char **words, int n) {
    if (n != 3) bad_line(run, "tol ABS REL");
    run->current->tol_abs = to_number(run, words[1]);
    run->current->tol_rel = to_number(run, words[2]);
}

static bool close_enough(const Case *c, double got, double want) {
    if (isnan(want)) return isnan(got);
    if (isinf(want)) return got == want;
    return isfinite(got) && fabs(got - want) <= c->tol_abs + c->tol_rel * fabs(want);
}

static void on_at(Run *run, char **words, int n) {
    if (n < 3) bad_line(run, "at INDEX VALUE...");
    Case *c = run->current;
    if (!c->judged) bad_line(run, "at before out");
    if (c->failed || c->skipped) return;
    size_t at = (size_t)to_int(run, words[1]);
    for (int w = 2; w < n; w++, at++) {
        double want = to_number(run, words[w]);
        if (at >= c->n_result) bad_line(run, "at: past the end of the result");
        if (!close_enough(c, c->result[at], want)) fail(c, "element %zu is %.9g, not %s (+- %g)", at, c->result[at], words[w], c->tol_abs);
    }
}

static void on_error(Run *run, char **words, int n) {
    if (n != 2) bad_line(run, "error STATUS");
    Case *c = run->current;
    c->judged = true;
    const char *got = tl_status_name(c->refused.code);
    if (c->refused.code == TL_STATUS_OK) {
        fail(c, "%s was expected, but the operation was accepted", words[1]);
    } else if (strncmp(got, "TL_STATUS_", 10) != 0 || strcmp(got + 10, words[1]) != 0) {
        fail(c, "%s was expected, not %s: %s", words[1], got, c->refused.message);
    }
}

static void on_word(Run *run, const char *line) {
    Case *c = run->current;
    if (!strstr(c->refused.message, line)) fail(c, "\"%s\" is not in the message: %s", line, c->refused.message);
}

static void on_end(Run *run) {
    Case *c = run->current;
    if (!c->judged) bad_line(run, "a case without out and error");
    if (c->failed) {
        printf("FAIL %s: %s\n", c->name, c->why);
        run->failed++;
    } else if (c->skipped && !c->cpu_only) {
        printf("SKIP %s: %s\n", c->name, c->why);
        run->skipped++;
    } else {
        run->passed++;
    }
    for (int i = 0; i < c->n_slots; i++) {
        free(c->slots[i].data);
        free(c->slots[i].blocks);
    }
    free(c->result);
    for (size_t i = 0; i < run->n_parts; i++) tl_context_free(c->leafs[i]);
    free(c);
    run->current = NULL;
}

static void on_line(Run *run, char *line) {
    static const struct {
        const char *name;
        void (*run)(Run *, char **, int);
    } statements[] = {{"leaf", on_leaf},     {"set", on_set}, {"op", on_op},       {"out", on_out},
                      {"blocks", on_blocks}, {"hex", on_hex}, {"fails", on_fails}, {"cpu_only", on_cpu_only},
                      {"tol", on_tol},       {"at", on_at},   {"error", on_error}};
    line[strcspn(line, "\r\n")] = 0;
    if (line[0] == 0 || line[0] == '#') return;
    if (run->current && strncmp(line, "word ", 5) == 0) {
        on_word(run, line + 5);
        return;
    }
    char *words[MAX_WORDS];
    int n = 0;
    for (char *w = strtok(line, " "); w; w = strtok(NULL, " ")) {
        if (n == MAX_WORDS) bad_line(run, "more than 32 words");
        words[n++] = w;
    }
    if (strcmp(words[0], "case") == 0) {
        on_case(run, words, n);
        return;
    }
    if (!run->current) bad_line(run, "a statement outside a case");
    if (strcmp(words[0], "end") == 0) {
        on_end(run);
        return;
    }
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        if (strcmp(words[0], statements[i].name) == 0) {
            statements[i].run(run, words, n);
            return;
        }
    }
    bad_line(run, "no such statement");
}

static void run_file(Run *run, const char *path) {
    char line[8192];
    FILE *file = fopen(path, "r");
    run->file = path;
    run->line = 0;
    if (!file) bad_line(run, "cannot be opened");
    while (fgets(line, sizeof line, file)) {
        run->line++;
        if (!strchr(line, '\n')) bad_line(run, "a line longer than 8190 bytes, or no newline at the end");
        on_line(run, line);
    }
    if (run->current) bad_line(run, "the file ends inside a case");
    fclose(file);
}

static int by_name(const void *a, const void *b) { return strcmp(a, b); }

static void run_folder(Run *run, const char *folder) {
    static char paths[MAX_FILES][1024];
    size_t n = 0;
    DIR *dir = opendir(folder);
    if (!dir) {
        perror(folder);
        exit(2);
    }
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        size_t length = strlen(e->d_name);
        if (length < 6 || strcmp(e->d_name + length - 6, ".cases") != 0) continue;
        if (n == MAX_FILES || snprintf(paths[n], sizeof paths[n], "%s/%s", folder, e->d_name) >= (int)sizeof paths[n]) {
            fprintf(stderr, "%s: too many case files, or a long path\n", folder);
            exit(2);
        }
        n++;
    }
    closedir(dir);
    qsort(paths, n, sizeof paths[0], by_name);
    for (size_t i = 0; i < n; i++) run_file(run, paths[i]);
}

static const char *setting(const char *name, const char *otherwise) {
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

/* "cuda:0+cpu": each, and all of them joined. */
static bool open_devices(Run *run, const char *devices, const tl_backend_params *params, tl_error *err) {
    char names[256];
    snprintf(names, sizeof names, "%s", devices);
    for (char *name = strtok(names, "+"); name && run->n_parts < MAX_PARTS; name = strtok(NULL, "+")) {
        if (tl_backend_create(name, params, &run->parts[run->n_parts], err) != TL_STATUS_OK) return false;
        run->n_parts++;
    }
    if (run->n_parts > 1) return tl_backend_join(run->parts, run->n_parts, NULL, &run->backend, err) == TL_STATUS_OK;
    run->backend = run->parts[0];
    return true;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: cases FOLDER\n");
        return 2;
    }
    Run run = {0};
    tl_error err = {.struct_size = sizeof err};
    tl_backend_params params;
    tl_backend_params_init(&params, sizeof params);
    params.n_threads = atoi(setting("TENSORLIB_TEST_THREADS", "2"));
    const char *device = setting("TENSORLIB_DEVICE", "cpu");
    if (!open_devices(&run, device, &params, &err)) {
        fprintf(stderr, "%s: %s\n", device, err.message);
        return 2;
    }
    const char *isa = tl_backend_isa(run.parts[0]), *asked = setting("TENSORLIB_ISA", isa);
    if (strcmp(isa, asked) != 0) {
        fprintf(stderr, "TENSORLIB_ISA asks for %s, but the backend's ISA is %s\n", asked, isa);
        return 2;
    }
    if (tl_group_create("self", NULL, &self_group, &err) != TL_STATUS_OK) {
        fprintf(stderr, "self: %s\n", err.message);
        return 2;
    }
    run_folder(&run, argv[1]);
    tl_group_free(self_group);
    printf("cases c %s %s: %d passed, %d failed, %d skipped\n", device, isa, run.passed, run.failed, run.skipped);
    if (run.n_parts > 1) tl_backend_free(run.backend);
    for (size_t i = 0; i < run.n_parts; i++) tl_backend_free(run.parts[i]);
    if (run.passed + run.failed + run.skipped == 0) fprintf(stderr, "%s: no cases\n", argv[1]);
    return run.failed != 0 || run.passed + run.skipped == 0;
}
