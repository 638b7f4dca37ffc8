/* A network learns handwritten digits: 64 pixels, 256 hidden units, 10 classes.
 *
 *     digits_network [--file CSV]
 *
 * Images 1 to 1000 of the file train it, the others test it. The nodes of a step (answers, loss, gradients, AdamW) are made once for
 * each size of batch; then leafs are rewritten and the graph is computed again. First values, order and rates are those of
 * examples/rust/digits_network.rs, so that the same numbers come out in every language. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tensorlib/tensorlib.h>

enum { PIXELS = 64, HIDDEN = 256, CLASSES = 10, PARAMETERS = 4 };
enum { TRAIN = 1000, MOST = 4096, BATCH = 32, EPOCHS = 60, WARM_UP = 50, SEED = 1 };
static const double RATE = 0.01, LAST_FACTOR = 0.01, DECAY = 0.1, BETA1 = 0.9, BETA2 = 0.999, EPSILON = 1e-8;

/* The leafs of n images, what is computed of them, and the graph of that. */
typedef struct {
    int n;
    tl_tensor *pixels, *digits, *loss, *right;
    tl_graph *graph;
} Batch;

static float images[MOST][PIXELS]; /* of 0 to 1 */
static int32_t digits[MOST];
static int n_images;
static tl_backend *backend;
static tl_context *ctx;
static tl_tensor *parameters[PARAMETERS], *m[PARAMETERS], *v[PARAMETERS], *settings; /* and what AdamW needs */
static tl_graph *first_values;
static Batch whole, rest, test;
static tl_error err = {.struct_size = sizeof err}; /* the library's last one */

/* Says what is wrong; gives false, to be returned. */
#define FAIL(...) (fprintf(stderr, "digits_network: "), fprintf(stderr, __VA_ARGS__), fputc('\n', stderr), false)
#define TRY(call) \
    if ((call) != TL_STATUS_OK) return FAIL("%s", err.message)

/* 64 pixels of 0 to 16 and the digit, separated by commas. */
static bool parse(const char *line, float *pixels, int32_t *digit) {
    for (int i = 0; i <= PIXELS; i++) {
        char *end;
        const bool is_pixel = i < PIXELS;
        const long value = strtol(line, &end, 10);
        if (end == line || value < 0 || value > (is_pixel ? 16 : 9)) return false;
        if (is_pixel ? *end != ',' : end[strspn(end, " \r\n")] != 0) return false;
        if (is_pixel) pixels[i] = (float)value / 16;
        *digit = (int32_t)value; /* the last one stays */
        line = end + 1;
    }
    return true;
}

static bool read_images(const char *path) {
    char line[1024];
    int number = 0;
    FILE *file = fopen(path, "r");
    if (!file) return FAIL("%s: cannot be read", path);
    bool ok = true;
    while (ok && fgets(line, sizeof line, file)) {
        number++;
        if (line[0] == '#' || line[strspn(line, " \r\n")] == 0) continue;
        if (n_images == MOST) {
            ok = FAIL("%s:%d: up to %d images are valid", path, number, MOST);
        } else if (!parse(line, images[n_images], &digits[n_images])) {
            ok = FAIL("%s:%d: not 64 pixels of 0 to 16 and a digit, separated by commas", path, number);
        } else {
            n_images++;
        }
    }
    fclose(file);
    if (ok && n_images <= TRAIN) ok = FAIL("%s:%d: %d images: more than %d are needed", path, number, n_images, TRAIN);
    return ok;
}

/* Weights and biases. Each value from -1 / sqrt(inputs) to 1 / sqrt(inputs) is as likely, by the seed and the parameter's number. */
static bool make_parameters(void) {
    static const int64_t ne[PARAMETERS][4] = {{PIXELS, HIDDEN, 1, 1}, {HIDDEN, 1, 1, 1}, {HIDDEN, CLASSES, 1, 1}, {CLASSES, 1, 1, 1}};
    tl_tensor *begin[PARAMETERS];
    for (int i = 0; i < PARAMETERS; i++) {
        parameters[i] = tl_tensor_new(ctx, TL_TYPE_F32, 4, ne[i]);
        m[i] = tl_tensor_new(ctx, TL_TYPE_F32, 4, ne[i]); /* zeros, as all leafs at first */
        v[i] = tl_tensor_new(ctx, TL_TYPE_F32, 4, ne[i]);
        tl_tensor *state = tl_tensor_new_1d(ctx, TL_TYPE_I64, 2);
        TRY(tl_tensor_write(state, (int64_t[]){SEED, i}, 0, 2 * sizeof(int64_t), &err));
        const double bound = 1 / sqrt(i < 2 ? PIXELS : HIDDEN);
        begin[i] = tl_cpy(ctx, tl_random_uniform(ctx, state, 4, ne[i], -bound, bound, 0), parameters[i]);
    }
    settings = tl_tensor_new_1d(ctx, TL_TYPE_F32, 7);
    TRY(tl_graph_create(ctx, begin, PARAMETERS, &first_values, &err)); /* also says what went wrong above */
    TRY(tl_graph_compute(first_values, backend, &err));
    return true;
}

/* The nodes for n images: the loss, and steps down its gradients in training, how many answers are right in testing. */
static bool make_batch(Batch *batch, int n, bool is_training) {
    tl_tensor **p = parameters, *gradients[PARAMETERS], *outputs[1 + PARAMETERS];
    batch->n = n;
    batch->pixels = tl_tensor_new_2d(ctx, TL_TYPE_F32, PIXELS, n);
    batch->digits = tl_tensor_new_2d(ctx, TL_TYPE_I32, 1, n);
    tl_tensor *hidden = tl_relu(ctx, tl_add(ctx, tl_mul_mat(ctx, p[0], batch->pixels), p[1]));
    tl_tensor *logits = tl_add(ctx, tl_mul_mat(ctx, p[2], hidden), p[3]); /* {10, n} */
    tl_tensor *of_digits = tl_gather(ctx, tl_log_soft_max(ctx, logits), batch->digits, 0);
    batch->loss = outputs[0] = tl_scale(ctx, tl_sum(ctx, of_digits, NULL), -1.0 / n, NULL);
    if (!is_training) {
        tl_argmax_params of_rows = {.struct_size = sizeof of_rows, .dims = TL_DIM_0};
        tl_tensor *answers = tl_reshape(ctx, tl_argmax(ctx, logits, &of_rows), 2, (int64_t[]){1, n});
        batch->right = outputs[1] = tl_count_equal(ctx, answers, batch->digits);
        TRY(tl_graph_create(ctx, outputs, 2, &batch->graph, &err));
        return true;
    }
    TRY(tl_gradients(ctx, &batch->loss, NULL, 1, p, PARAMETERS, gradients, &err));
    for (int i = 0; i < PARAMETERS; i++) outputs[1 + i] = tl_opt_step_adamw(ctx, p[i], gradients[i], m[i], v[i], settings);
    TRY(tl_graph_create(ctx, outputs, 1 + PARAMETERS, &batch->graph, &err));
    return true;
}

/* Computes a batch of the images with these numbers. */
static bool compute(const Batch *batch, const int *numbers, float *loss) {
    for (int i = 0; i < batch->n; i++) {
        const size_t row = sizeof images[0], label = sizeof digits[0], place = (size_t)i;
        TRY(tl_tensor_write(batch->pixels, images[numbers[i]], place * row, row, &err));
        TRY(tl_tensor_write(batch->digits, &digits[numbers[i]], place * label, label, &err));
    }
    TRY(tl_graph_compute(batch->graph, backend, &err));
    TRY(tl_tensor_read_f32(batch->loss, loss, 1, &err));
    return true;
}

/* What a step is told: its rate, which rises over the first steps and falls along half a cosine, and AdamW's numbers. */
static bool write_settings(int step, int steps) {
    const double part = (double)(step - WARM_UP) / (steps - WARM_UP), half_cosine = (1 + cos(acos(-1) * part)) / 2;
    const double factor = step < WARM_UP ? (step + 1.0) / WARM_UP : LAST_FACTOR + (1 - LAST_FACTOR) * half_cosine;
    const double unbias1 = 1 / (1 - pow(BETA1, step + 1)), unbias2 = 1 / (1 - pow(BETA2, step + 1));
    const double values[] = {RATE * factor, BETA1, BETA2, EPSILON, DECAY, unbias1, unbias2};
    for (int i = 0; i < 7; i++) TRY(tl_tensor_set_f32(settings, i, 0, 0, 0, (float)values[i], &err));
    return true;
}

/* SplitMix64 (Steele, Lea, Flood, 2014). */
static const uint64_t GAMMA = 0x9e3779b97f4a7c15;

static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

/* Where the sequence of a seed with a number begins, and the next number of a sequence. */
static uint64_t sequence(uint64_t seed, uint64_t number) { return mix(seed + GAMMA) ^ mix(number * GAMMA + 1); }
static uint64_t next(uint64_t *state) { return mix(*state += GAMMA); }

/* Puts the numbers from 0 to n - 1 into the order of an epoch (Durstenfeld, 1964). */
static void shuffle(int *numbers, int n, int epoch) {
    uint64_t of_epochs = sequence(SEED, (uint64_t)epoch), state = sequence(next(&of_epochs), UINT64_MAX);
    for (int i = 0; i < n; i++) numbers[i] = i;
    for (int i = n - 1; i > 0; i--) {
        /* The upper 64 bits of random (i + 1): from 0 to i, each as likely but for 2^-53. */
        const uint64_t random = next(&state), choices = (uint64_t)i + 1;
        const uint64_t j = ((random >> 32) * choices + (((random & UINT32_MAX) * choices) >> 32)) >> 32;
        const int number = numbers[i];
        numbers[i] = numbers[j], numbers[j] = number;
    }
}

static bool run(const char *path) {
    static int numbers[MOST];
    float loss = 0;
    int64_t right = 0;
    if (!read_images(path)) return false;
    const int n_test = n_images - TRAIN, steps = EPOCHS * ((TRAIN + BATCH - 1) / BATCH);
    TRY(tl_backend_create("cpu", NULL, &backend, &err));
    TRY(tl_context_create(NULL, &ctx, &err));
    if (!make_parameters() || !make_batch(&whole, BATCH, true) || !make_batch(&rest, TRAIN % BATCH, true)) return false;
    if (!make_batch(&test, n_test, false)) return false;

    for (int epoch = 0, step = 0; epoch < EPOCHS; epoch++) {
        double sum = 0;
        shuffle(numbers, TRAIN, epoch);
        for (int at = 0; at < TRAIN; at += BATCH, step++) {
            const Batch *batch = TRAIN - at < BATCH ? &rest : &whole;
            if (!write_settings(step, steps) || !compute(batch, numbers + at, &loss)) return false;
            sum += (double)loss * batch->n;
        }
        if ((epoch + 1) % 10 == 0) printf("epoch %d: loss %.12f\n", epoch + 1, sum / TRAIN);
    }
    for (int i = 0; i < n_test; i++) numbers[i] = TRAIN + i;
    if (!compute(&test, numbers, &loss)) return false;
    TRY(tl_tensor_read(test.right, &right, 0, sizeof right, &err));
    printf("accuracy %.2f %%\n", 100.0 * (double)right / n_test);
    return true;
}

int main(int argc, char **argv) {
    if (argc != 1 && (argc != 3 || strcmp(argv[1], "--file") != 0)) {
        fprintf(stderr, "usage: digits_network [--file CSV]\n");
        return 2;
    }
    const bool ok = run(argc == 3 ? argv[2] : "examples/data/digits.csv");
    tl_graph_free(first_values), tl_graph_free(whole.graph), tl_graph_free(rest.graph), tl_graph_free(test.graph);
    tl_context_free(ctx), tl_backend_free(backend);
    return ok ? 0 : 1;
}
