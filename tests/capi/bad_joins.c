/* Joined backends, nodes placed on a device, and the memory that a graph would take, on two virtual CPUs, which main()
 * requests. */
#include "bad_input.h"

static tl_backend *opened(const char *device) {
    tl_backend *made = NULL;
    ACCEPTED(tl_backend_create(device, NULL, &made, &err));
    return made;
}

static void test_arguments(tl_backend *a, tl_backend *b, tl_backend *joined) {
    tl_backend *parts[33], *out = a;
    for (int i = 0; i < 33; i++) parts[i] = a;
    parts[1] = b;
    REFUSED(tl_backend_join(parts, 2, NULL, NULL, &err), TL_STATUS_INVALID_ARGUMENT, "out is NULL");
    REFUSED(tl_backend_join(NULL, 2, NULL, &out, &err), TL_STATUS_INVALID_ARGUMENT, "backends is NULL");
    CHECK(out == NULL);
    REFUSED(tl_backend_join(parts, 0, NULL, &out, &err), TL_STATUS_INVALID_ARGUMENT, "0 backends");
    REFUSED(tl_backend_join(parts, 33, NULL, &out, &err), TL_STATUS_INVALID_ARGUMENT, "1 to 32");
    REFUSED(tl_backend_join(parts, SIZE_MAX, NULL, &out, &err), TL_STATUS_INVALID_ARGUMENT, "1 to 32");
    REFUSED(tl_backend_join(parts, 3, NULL, &out, &err), TL_STATUS_INVALID_ARGUMENT, "backends 0 and 2 are both of cpu:0");
    parts[1] = NULL;
    REFUSED(tl_backend_join(parts, 2, NULL, &out, &err), TL_STATUS_INVALID_ARGUMENT, "backend 1 is NULL");
    parts[1] = joined;
    REFUSED(tl_backend_join(parts, 2, NULL, &out, &err), TL_STATUS_INVALID_ARGUMENT, "joined itself");
    parts[1] = b;
    tl_join_params params;
    tl_join_params_init(&params, sizeof params);
    tl_join_params_init(NULL, 8);
    ACCEPTED(tl_backend_join(parts, 2, &params, &out, &err));
    CHECK(out && strcmp(tl_backend_device(out), "cpu:0+cpu:1") == 0 && tl_backend_n_devices(out) == 2);
    CHECK(strcmp(tl_backend_device_at(out, 1), "cpu:1") == 0 && tl_backend_device_at(out, 2) == NULL);
    tl_backend_free(out);
    params.struct_size = 4;
    REFUSED(tl_backend_join(parts, 2, &params, &out, &err), TL_STATUS_INVALID_ARGUMENT, "struct_size");
    CHECK(tl_backend_n_devices(NULL) == 0 && tl_backend_device_at(NULL, 0) == NULL && tl_backend_n_devices(a) == 1);
    /* By name. */
    ACCEPTED(tl_backend_create("cpu:1+CPU", NULL, &out, &err));
    CHECK(strcmp(tl_backend_device(out), "cpu:1+cpu") == 0);
    tl_backend_free(out);
    REFUSED(tl_backend_create("cpu+", NULL, &out, &err), TL_STATUS_INVALID_ARGUMENT, "there are: cpu");
    REFUSED(tl_backend_create("cpu+abacus", NULL, &out, &err), TL_STATUS_INVALID_ARGUMENT, "abacus");
    REFUSED(tl_backend_create("cpu+cpu", NULL, &out, &err), TL_STATUS_INVALID_ARGUMENT, "one of each device");
    CHECK(out == NULL);
}

/* Sums of leafs of two devices; the contexts go before the backend that they were computed on. */
static void test_graphs_of_two(tl_backend *a, tl_backend *b, tl_backend *joined) {
    tl_context_params params;
    tl_context_params_init(&params, sizeof params);
    params.backend = a;
    tl_context *first = context_of(&params);
    params.backend = b;
    tl_context *second = context_of(&params);
    tl_tensor *x = tl_tensor_new_1d(first, TL_TYPE_F32, 4), *y = tl_tensor_new_1d(second, TL_TYPE_F32, 4);
    const float ones[4] = {1, 2, 3, 4};
    float got[4] = {0};
    ACCEPTED(tl_tensor_write_f32(x, ones, 4, &err));
    ACCEPTED(tl_tensor_write_f32(y, ones, 4, &err));
    tl_tensor *sum = tl_add(second, x, y), *twice = tl_add(second, sum, sum);
    tl_graph *graph = NULL;
    ACCEPTED(tl_graph_create(second, &twice, 1, &graph, &err));
    REFUSED(tl_graph_compute(graph, b, &err), TL_STATUS_CONTEXT_MISMATCH, "cpu:0");
    REFUSED(tl_graph_compute(graph, backend, &err), TL_STATUS_CONTEXT_MISMATCH, "computes on cpu");
    ACCEPTED(tl_graph_compute(graph, joined, &err));
    ACCEPTED(tl_tensor_read_f32(twice, got, 4, &err));
    CHECK(got[0] == 4 && got[3] == 16);

    size_t bytes[3] = {7, 7, 7};
    REFUSED(tl_graph_plan_bytes(NULL, joined, bytes, 3, &err), TL_STATUS_INVALID_ARGUMENT, "graph is NULL");
    REFUSED(tl_graph_plan_bytes(graph, NULL, bytes, 3, &err), TL_STATUS_INVALID_ARGUMENT, "backend is NULL");
    REFUSED(tl_graph_plan_bytes(graph, joined, NULL, 3, &err), TL_STATUS_INVALID_ARGUMENT, "bytes is NULL");
    REFUSED(tl_graph_plan_bytes(graph, joined, bytes, 1, &err), TL_STATUS_INVALID_ARGUMENT, "room for 2");
    REFUSED(tl_graph_plan_bytes(graph, a, bytes, 3, &err), TL_STATUS_CONTEXT_MISMATCH, "cpu:1");
    CHECK(bytes[0] == 7);
    ACCEPTED(tl_graph_plan_bytes(graph, joined, bytes, 3, &err));
    CHECK(bytes[0] >= 16 && bytes[1] >= 32 && bytes[2] == 7);

    REFUSED(tl_tensor_place(NULL, "cpu:0", &err), TL_STATUS_INVALID_ARGUMENT, "t is NULL");
    REFUSED(tl_tensor_place(tl_none(), "cpu:0", &err), TL_STATUS_INVALID_ARGUMENT, "tl_none()");
    REFUSED(tl_tensor_place(x, "cpu:1", &err), TL_STATUS_INVALID_ARGUMENT, "leaf");
    REFUSED(tl_tensor_place(sum, "cpu:99", &err), TL_STATUS_INVALID_ARGUMENT, "there are: cpu, cpu:0, cpu:1");
    ACCEPTED(tl_tensor_place(sum, "cpu", &err));
    REFUSED(tl_graph_compute(graph, joined, &err), TL_STATUS_CONTEXT_MISMATCH, "was placed on cpu");
    ACCEPTED(tl_tensor_place(sum, "Cpu:0", &err));
    ACCEPTED(tl_graph_compute(graph, joined, &err));
    char text[4096];
    CHECK(tl_graph_plan_text(graph, joined, text, sizeof text, &err) < sizeof text && strstr(text, "segment on cpu:0"));
    ACCEPTED(tl_tensor_place(sum, NULL, &err));
    ACCEPTED(tl_tensor_place(sum, "", &err));
    ACCEPTED(tl_graph_compute(graph, joined, &err));
    tl_graph_free(graph);
    tl_context_free(second);
    tl_context_free(first);
}

void test_joins(void) {
    tl_backend *a = opened("cpu:0"), *b = opened("cpu:1"), *joined = NULL;
    tl_backend *parts[] = {a, b};
    ACCEPTED(tl_backend_join(parts, 2, NULL, &joined, &err));
    test_arguments(a, b, joined);
    test_graphs_of_two(a, b, joined);
    /* The parts' handles go first. */
    tl_backend_free(a);
    tl_backend_free(b);
    tl_context_params params;
    tl_context_params_init(&params, sizeof params);
    params.backend = joined;
    tl_context *ctx = context_of(&params);
    tl_tensor *x = tl_tensor_new_1d(ctx, TL_TYPE_F32, 4), *sum = tl_add(ctx, x, x);
    tl_graph *graph = NULL;
    ACCEPTED(tl_graph_create(ctx, &sum, 1, &graph, &err));
    ACCEPTED(tl_graph_compute(graph, joined, &err));
    tl_graph_free(graph);
    tl_backend_free(joined);
    tl_context_free(ctx);
}
