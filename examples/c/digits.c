/* Classifies handwritten digits by their nearest neighbour, with one graph of mul_mat and add.
 *
 *     digits [--device NAME] [--threads N] [--file CSV]
 *
 * The squared distance of a query y to a reference x is |x|^2 + |y|^2 - 2 x.y. One leaf holds -2 x for all
 * references, so that the product gives -2 x.y at once; two leafs hold the norms, which add repeats along rows
 * and columns. All distances are integers below 2^24, which F32 holds exactly. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tensorlib/tensorlib.h>

enum { PIXELS = 64, REFERENCES = 1000 };

#define TRY(call)                                         \
    do {                                                  \
        if ((call) != TL_STATUS_OK) {                     \
            fprintf(stderr, "digits: %s\n", err.message); \
            return 1;                                     \
        }                                                 \
    } while (0)

/* The first REFERENCES rows are references, all others queries. */
typedef struct {
    float pixels[PIXELS];
    int digit;
} Image;

static Image *images;
static size_t n_queries;

/* One row: 64 pixels of 0 to 16 and the digit, separated by commas. */
static bool parse_row(const char *line, Image *image) {
    for (int i = 0; i <= PIXELS; i++) {
        char *end;
        long value = strtol(line, &end, 10);
        bool last = i == PIXELS;
        if (end == line || value < 0 || value > (last ? 9 : 16)) return false;
        if (last ? end[strspn(end, " \r\n")] != 0 : *end != ',') return false;
        if (last) {
            image->digit = (int)value;
        } else {
            image->pixels[i] = (float)value;
        }
        line = end + 1;
    }
    return true;
}

static bool load(const char *path) {
    char line[1024];
    size_t rows = 0, room = 0;
    int number = 0;
    FILE *file = fopen(path, "r");
    if (!file) {
        perror(path);
        return false;
    }
    while (fgets(line, sizeof line, file)) {
        number++;
        if (line[0] == '#' || line[strspn(line, " \r\n")] == 0) continue;
        if (rows == room) {
            room = room ? 2 * room : 2048;
            Image *grown = realloc(images, room * sizeof *images);
            if (!grown) break;
            images = grown;
        }
        if (!parse_row(line, &images[rows])) {
            fprintf(stderr, "%s:%d: not 64 pixels of 0 to 16 and a digit, separated by commas\n", path, number);
            fclose(file);
            return false;
        }
        rows++;
    }
    bool ended = feof(file) != 0;
    fclose(file);
    if (!ended || rows <= REFERENCES) {
        const char *why = ended ? "the file ends" : "reading stopped";
        fprintf(stderr, "%s:%d: %s after %zu rows; more than %d are needed\n", path, number, why, rows, REFERENCES);
        return false;
    }
    n_queries = rows - REFERENCES;
    return true;
}

static float squared_norm(const float *row) {
    float sum = 0;
    for (int i = 0; i < PIXELS; i++) sum += row[i] * row[i];
    return sum;
}

/* The leafs' contents. */
typedef struct {
    float *minus_2x, *x_norms, *y, *y_norms;
} Leafs;

static bool fill(Leafs *l) {
    l->minus_2x = malloc(sizeof(float) * REFERENCES * PIXELS);
    l->x_norms = malloc(sizeof(float) * REFERENCES);
    l->y = malloc(sizeof(float) * n_queries * PIXELS);
    l->y_norms = malloc(sizeof(float) * n_queries);
    if (!l->minus_2x || !l->x_norms || !l->y || !l->y_norms) return false;
    for (size_t r = 0; r < REFERENCES; r++) {
        l->x_norms[r] = squared_norm(images[r].pixels);
        for (int i = 0; i < PIXELS; i++) l->minus_2x[r * PIXELS + (size_t)i] = -2 * images[r].pixels[i];
    }
    for (size_t q = 0; q < n_queries; q++) {
        l->y_norms[q] = squared_norm(images[REFERENCES + q].pixels);
        memcpy(l->y + q * PIXELS, images[REFERENCES + q].pixels, sizeof images[0].pixels);
    }
    return true;
}

/* Fills `distances`, REFERENCES values for each query. Returns 0 or the exit status. */
static int compute(const char *device, int threads, const Leafs *l, float *distances) {
    tl_error err = {.struct_size = sizeof err};
    tl_backend *backend = NULL;
    tl_context *ctx = NULL;
    tl_graph *graph = NULL;
    tl_backend_params backend_params;
    tl_context_params context_params;
    tl_backend_params_init(&backend_params, sizeof backend_params);
    backend_params.n_threads = threads;
    TRY(tl_backend_create(device, &backend_params, &backend, &err));
    tl_context_params_init(&context_params, sizeof context_params);
    context_params.backend = backend;
    TRY(tl_context_create(&context_params, &ctx, &err));

    tl_tensor *x = tl_tensor_new_2d(ctx, TL_TYPE_F32, PIXELS, REFERENCES);
    tl_tensor *y = tl_tensor_new_2d(ctx, TL_TYPE_F32, PIXELS, (int64_t)n_queries);
    tl_tensor *x2 = tl_tensor_new_1d(ctx, TL_TYPE_F32, REFERENCES);
    tl_tensor *y2 = tl_tensor_new_2d(ctx, TL_TYPE_F32, 1, (int64_t)n_queries);
    tl_tensor *distance = tl_add(ctx, tl_add(ctx, tl_mul_mat(ctx, x, y), x2), y2);
    TRY(tl_graph_create(ctx, &distance, 1, &graph, &err)); /* also tells what went wrong above */
    TRY(tl_tensor_write_f32(x, l->minus_2x, REFERENCES * PIXELS, &err));
    TRY(tl_tensor_write_f32(y, l->y, n_queries * PIXELS, &err));
    TRY(tl_tensor_write_f32(x2, l->x_norms, REFERENCES, &err));
    TRY(tl_tensor_write_f32(y2, l->y_norms, n_queries, &err));

    struct timespec from, to;
    timespec_get(&from, TIME_UTC);
    TRY(tl_graph_compute(graph, backend, &err));
    timespec_get(&to, TIME_UTC);
    TRY(tl_tensor_read_f32(distance, distances, n_queries * REFERENCES, &err));

    double seconds = (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
    double flops = 2.0 * PIXELS * REFERENCES * (double)n_queries;
    printf("%s, %d threads, %s: %.2f ms, %.1f GFLOP/s\n", tl_backend_device(backend), tl_backend_n_threads(backend),
           tl_backend_isa(backend), seconds * 1e3, flops / seconds * 1e-9);
    tl_graph_free(graph), tl_context_free(ctx), tl_backend_free(backend);
    return 0;
}

static size_t count_right(const float *distances) {
    size_t right = 0;
    for (size_t q = 0; q < n_queries; q++) {
        const float *row = distances + q * REFERENCES;
        int nearest = 0;
        for (int r = 1; r < REFERENCES; r++)
            if (row[r] < row[nearest]) nearest = r;
        right += images[nearest].digit == images[REFERENCES + q].digit;
    }
    return right;
}

int main(int argc, char **argv) {
    const char *device = "cpu", *file = "examples/data/digits.csv";
    int threads = 0;
    for (int i = 1; i < argc; i += 2) {
        char *end = "";
        bool value = i + 1 < argc;
        if (value && strcmp(argv[i], "--device") == 0) {
            device = argv[i + 1];
        } else if (value && strcmp(argv[i], "--file") == 0) {
            file = argv[i + 1];
        } else if (value && strcmp(argv[i], "--threads") == 0) {
            threads = (int)strtol(argv[i + 1], &end, 10);
        } else {
            end = "?";
        }
        if (*end) {
            fprintf(stderr, "usage: digits [--device NAME] [--threads N] [--file CSV]\n");
            return 2;
        }
    }
    Leafs leafs = {0};
    float *distances = NULL;
    int status = 1;
    if (load(file)) {
        distances = malloc(sizeof(float) * n_queries * REFERENCES);
        if (distances && fill(&leafs)) {
            status = compute(device, threads, &leafs, distances);
        } else {
            fprintf(stderr, "digits: no memory\n");
        }
    }
    if (status == 0) {
        size_t right = count_right(distances);
        printf("accuracy %.2f %% (%zu of %zu)\n", 100.0 * (double)right / (double)n_queries, right, n_queries);
    }
    free(leafs.minus_2x), free(leafs.x_norms), free(leafs.y), free(leafs.y_norms);
    free(distances), free(images);
    return status;
}
