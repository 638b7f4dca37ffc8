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

enum { PIXELS = 64, REFERENCES = 1000, QUERIES = 797, ROWS = REFERENCES + QUERIES };

#define TRY(call)                                         \
    do {                                                  \
        if ((call) != TL_STATUS_OK) {                     \
            fprintf(stderr, "digits: %s\n", err.message); \
            return 1;                                     \
        }                                                 \
    } while (0)

static float pixels[ROWS][PIXELS];
static int digits[ROWS];

/* One row: 64 pixels of 0 to 16 and the digit, separated by commas. */
static bool parse_row(const char *line, float *row, int *digit) {
    for (int i = 0; i <= PIXELS; i++) {
        char *end;
        long value = strtol(line, &end, 10);
        bool last = i == PIXELS;
        if (end == line || value < 0 || value > (last ? 9 : 16)) return false;
        if (last ? end[strspn(end, " \r\n")] != 0 : *end != ',') return false;
        if (last) {
            *digit = (int)value;
        } else {
            row[i] = (float)value;
        }
        line = end + 1;
    }
    return true;
}

static bool load(const char *path) {
    char line[1024];
    int number = 0, row = 0;
    FILE *file = fopen(path, "r");
    if (!file) {
        perror(path);
        return false;
    }
    while (row < ROWS && fgets(line, sizeof line, file)) {
        number++;
        if (line[0] == '#') continue;
        if (!parse_row(line, pixels[row], &digits[row])) {
            fprintf(stderr, "%s:%d: not 64 pixels of 0 to 16 and a digit, separated by commas\n", path, number);
            fclose(file);
            return false;
        }
        row++;
    }
    fclose(file);
    if (row < ROWS) {
        fprintf(stderr, "%s:%d: the file ends after %d rows; %d are needed\n", path, number, row, ROWS);
        return false;
    }
    return true;
}

static float squared_norm(const float *row) {
    float sum = 0;
    for (int i = 0; i < PIXELS; i++) sum += row[i] * row[i];
    return sum;
}

/* Fills `distances`, REFERENCES values for each query. Returns 0 or the exit status. */
static int compute(const char *device, int threads, float *distances) {
    static float scaled[REFERENCES][PIXELS], x_norm[REFERENCES], y_norm[QUERIES];
    for (int r = 0; r < REFERENCES; r++) {
        x_norm[r] = squared_norm(pixels[r]);
        for (int i = 0; i < PIXELS; i++) scaled[r][i] = -2 * pixels[r][i];
    }
    for (int q = 0; q < QUERIES; q++) y_norm[q] = squared_norm(pixels[REFERENCES + q]);

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
    tl_tensor *y = tl_tensor_new_2d(ctx, TL_TYPE_F32, PIXELS, QUERIES);
    tl_tensor *x2 = tl_tensor_new_1d(ctx, TL_TYPE_F32, REFERENCES);
    tl_tensor *y2 = tl_tensor_new_2d(ctx, TL_TYPE_F32, 1, QUERIES);
    tl_tensor *distance = tl_add(ctx, tl_add(ctx, tl_mul_mat(ctx, x, y), x2), y2);
    TRY(tl_graph_create(ctx, &distance, 1, &graph, &err)); /* also tells what went wrong above */
    TRY(tl_tensor_write_f32(x, scaled[0], sizeof scaled / sizeof(float), &err));
    TRY(tl_tensor_write_f32(y, pixels[REFERENCES], (size_t)QUERIES * PIXELS, &err));
    TRY(tl_tensor_write_f32(x2, x_norm, REFERENCES, &err));
    TRY(tl_tensor_write_f32(y2, y_norm, QUERIES, &err));

    struct timespec from, to;
    timespec_get(&from, TIME_UTC);
    TRY(tl_graph_compute(graph, backend, &err));
    timespec_get(&to, TIME_UTC);
    TRY(tl_tensor_read_f32(distance, distances, (size_t)QUERIES * REFERENCES, &err));

    double seconds = (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
    double flops = 2.0 * PIXELS * REFERENCES * QUERIES;
    printf("%s, %d threads, %s: %.2f ms, %.1f GFLOP/s\n", tl_backend_device(backend), tl_backend_n_threads(backend),
           tl_backend_isa(backend), seconds * 1e3, flops / seconds * 1e-9);
    tl_graph_free(graph), tl_context_free(ctx), tl_backend_free(backend);
    return 0;
}

static int classify(const float *distances) {
    int right = 0;
    for (int q = 0; q < QUERIES; q++) {
        const float *row = distances + (size_t)q * REFERENCES;
        int nearest = 0;
        for (int r = 1; r < REFERENCES; r++)
            if (row[r] < row[nearest]) nearest = r;
        right += digits[nearest] == digits[REFERENCES + q];
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
    if (!load(file)) return 1;
    float *distances = malloc(sizeof(float) * QUERIES * REFERENCES);
    if (!distances) {
        fprintf(stderr, "digits: no memory\n");
        return 1;
    }
    int status = compute(device, threads, distances);
    if (status == 0) {
        int right = classify(distances);
        printf("accuracy %.2f %% (%d of %d)\n", 100.0 * right / QUERIES, right, QUERIES);
    }
    free(distances);
    return status;
}
