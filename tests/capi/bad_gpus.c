/* Devices whose pointers the host cannot follow: two virtual CPUs, and every CUDA device of the machine, real or simulated. */
#include "bad_input.h"

static void test_pointers(tl_context *ctx, const char *name) {
    tl_tensor *t = tl_tensor_new_1d(ctx, TL_TYPE_F32, 4);
    const float values[4] = {1, 2, 3, 4};
    float got[4] = {0};
    CHECK(t && tl_tensor_data(t) == NULL);
    void *mapped = got;
    REFUSED(tl_tensor_map(t, TL_ACCESS_READ, &mapped, &err), TL_STATUS_UNAVAILABLE, name);
    CHECK(mapped == NULL);
    REFUSED(tl_tensor_map(t, TL_ACCESS_WRITE, &mapped, &err), TL_STATUS_UNAVAILABLE, "host memory");
    ACCEPTED(tl_tensor_write_f32(t, values, 4, &err));
    ACCEPTED(tl_tensor_read_f32(t, got, 4, &err));
    CHECK(memcmp(values, got, sizeof got) == 0);
    REFUSED(tl_tensor_read_f32(t, got, 3, &err), TL_STATUS_INVALID_ARGUMENT, "4");
    REFUSED(tl_tensor_read(t, got, 8, 12, &err), TL_STATUS_INVALID_ARGUMENT, "16");
    ACCEPTED(tl_tensor_set_constant(t, &err));
    REFUSED(tl_tensor_write_f32(t, values, 4, &err), TL_STATUS_INVALID_ARGUMENT, "constant");
}

static void test_two_devices(tl_context *ctx, tl_backend *gpu, const char *name) {
    tl_context *here = fresh_context();
    tl_tensor *a = tl_tensor_new_1d(here, TL_TYPE_F32, 4), *b = tl_tensor_new_1d(ctx, TL_TYPE_F32, 4);
    /* They may be mixed, for a joined backend. */
    tl_tensor *mixed = tl_cpy(here, b, a), *sum = tl_add(here, a, a);
    tl_graph *graph = NULL;
    ACCEPTED(tl_graph_create(here, &mixed, 1, &graph, &err));
    REFUSED(tl_graph_compute(graph, gpu, &err), TL_STATUS_CONTEXT_MISMATCH, "on cpu");
    REFUSED(tl_graph_compute(graph, backend, &err), TL_STATUS_CONTEXT_MISMATCH, name);
    tl_graph_free(graph);
    ACCEPTED(tl_graph_create(here, &sum, 1, &graph, &err));
    REFUSED(tl_graph_compute(graph, gpu, &err), TL_STATUS_CONTEXT_MISMATCH, name);
    ACCEPTED(tl_graph_compute(graph, backend, &err));
    tl_graph_free(graph);
    REFUSED(tl_context_allocate(here, gpu, &err), TL_STATUS_CONTEXT_MISMATCH, name);
    tl_context_free(here);
}

static void test_memory(tl_backend *gpu, const char *name) {
    tl_context_params params;
    tl_context_params_init(&params, sizeof params);
    params.backend = gpu;
    params.mem_limit = 1 << 20;
    tl_context *small = context_of(&params);
    NOT_MADE(small, tl_tensor_new_1d(small, TL_TYPE_F32, 1 << 20), TL_STATUS_OUT_OF_MEMORY, "1048576");
    CHECK(tl_tensor_new_1d(small, TL_TYPE_F32, 1000) != NULL);
    tl_context_free(small);
    params.mem_limit = 0;
    tl_context *large = context_of(&params);
    NOT_MADE(large, tl_tensor_new_1d(large, TL_TYPE_F32, (int64_t)1 << 58), TL_STATUS_OUT_OF_MEMORY, name);
    tl_tensor *t = tl_tensor_new_1d(large, TL_TYPE_F32, 1000);
    float one;
    CHECK(t != NULL);
    ACCEPTED(tl_tensor_get_f32(t, 999, 0, 0, 0, &one, &err));
    CHECK(one == 0);
    tl_context_free(large);
}

static void test_device(size_t index) {
    const char *name = tl_device_name(index);
    tl_device_props props = {.struct_size = sizeof props};
    ACCEPTED(tl_device_get_props(index, &props, &err));
    bool is_gpu = strncmp(name, "cuda:", 5) == 0;
    /* The portable fallback does not know how much memory a CPU has. */
    CHECK(props.description[0] && props.memory_total >= props.memory_free && (props.memory_free > 0 || !is_gpu));
    CHECK(is_gpu ? props.capability >= 75 && props.capability < 1000 : props.capability == 0);
    tl_backend_params options;
    tl_backend_params_init(&options, sizeof options);
    options.n_threads = -1;
    tl_backend *gpu = NULL;
    REFUSED(tl_backend_create(name, &options, &gpu, &err), TL_STATUS_INVALID_ARGUMENT, "n_threads");
    CHECK(gpu == NULL);
    options.n_threads = 7;
    options.allow_tf32 = true;
    ACCEPTED(tl_backend_create(name, &options, &gpu, &err));
    CHECK(strcmp(tl_backend_device(gpu), name) == 0 && tl_backend_n_threads(gpu) == (is_gpu ? 1 : 7) && tl_backend_isa(gpu)[0]);
    tl_context_params params;
    tl_context_params_init(&params, sizeof params);
    params.backend = gpu;
    tl_context *ctx = context_of(&params);
    test_pointers(ctx, name);
    test_two_devices(ctx, gpu, name);
    test_memory(gpu, name);
    tl_backend_free(gpu); /* before what was made on it */
    tl_context_free(ctx);
}

void test_gpus(void) {
    for (size_t i = 1; i < tl_device_count(); i++) test_device(i);
    if (tl_device_count() == 3) skip("GPUs", "there are none");
    tl_backend *none = NULL;
    REFUSED(tl_backend_create("cuda:999", NULL, &none, &err), TL_STATUS_UNAVAILABLE, "cuda:999");
    CHECK(none == NULL);
}
