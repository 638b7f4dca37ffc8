/* Calls every function of the header with invalid input: NULL, absurd sizes, unknown types, wrong
 * struct_size, misuse of handles. Each call returns a status with a message, and the process survives.
 * No arguments. */
#include "bad_input.h"

tl_error err = {.struct_size = sizeof(tl_error)};
tl_backend *backend;

static int passed, failed, skipped;

void check_at(const char *file, int line, const char *text, bool holds) {
    passed += holds;
    failed += !holds;
    if (!holds) printf("FAIL %s:%d: %s\n", file, line, text);
}

void refused_at(const char *file, int line, const char *text, tl_status got, tl_status want, const char *word) {
    bool holds = got == want && err.code == got && err.message[0] && strstr(err.message, word);
    check_at(file, line, text, holds);
    if (!holds)
        printf("    returned %s, wanted %s and \"%s\"; err: code %d, \"%s\"\n", tl_status_name(got), tl_status_name(want), word,
               (int)err.code, err.message);
}

void accepted_at(const char *file, int line, const char *text, tl_status got) {
    bool holds = got == TL_STATUS_OK && err.code == TL_STATUS_OK && err.message[0] == 0;
    check_at(file, line, text, holds);
    if (!holds) printf("    returned %s; err: code %d, \"%s\"\n", tl_status_name(got), (int)err.code, err.message);
}

void not_made_at(const char *file, int line, const char *text, tl_context *ctx, const tl_tensor *got, tl_status want, const char *word) {
    tl_status status = tl_context_error(ctx, &err);
    check_at(file, line, text, got == NULL);
    refused_at(file, line, text, status, want, word);
}

void skip(const char *what, const char *why) {
    printf("SKIP %s: %s\n", what, why);
    skipped++;
}

tl_context *context_of(const tl_context_params *params) {
    tl_context *ctx = NULL;
    if (tl_context_create(params, &ctx, &err) != TL_STATUS_OK) {
        printf("FAIL no context to test with: %s\n", err.message);
        exit(1);
    }
    return ctx;
}

tl_context *fresh_context(void) { return context_of(NULL); }

int main(void) {
    setenv("TENSORLIB_CPU_VIRTUAL_DEVICES", "2", 1); /* before anything asks for the devices */
    setvbuf(stdout, NULL, _IOLBF, 0);                /* what was printed is not lost should a check end the process */
    tl_backend_params params;
    tl_backend_params_init(&params, sizeof params);
    params.n_threads = 2;
    if (tl_backend_create("cpu", &params, &backend, &err) != TL_STATUS_OK) {
        printf("FAIL no backend to test with: %s\n", err.message);
        return 1;
    }
    test_plain_functions();
    test_backends();
    test_gpus();
    test_joins();
    test_contexts();
    test_lifetimes();
    test_tensors();
    test_data();
    test_ops();
    test_op_by_name();
    test_gguf();
    test_gradients();
    test_graphs();
    test_callbacks();
    test_introspection();
    test_quantize();
    test_processes();
    tl_backend_free(backend);
    printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
    return failed != 0;
}
