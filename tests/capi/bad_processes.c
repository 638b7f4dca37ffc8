/* Process-wide behaviour: TENSORLIB_ISA, TENSORLIB_TRACE, and a backend that was carried into a forked child. */
#include "bad_input.h"

#if defined(__unix__) || defined(__APPLE__)

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void test_isa(void) {
    const char *before = getenv("TENSORLIB_ISA");
    char kept[64] = "";
    if (before) snprintf(kept, sizeof kept, "%s", before);
    tl_backend *out = backend;
    setenv("TENSORLIB_ISA", "abacus", 1);
    REFUSED(tl_backend_create("cpu", NULL, &out, &err), TL_STATUS_INVALID_ARGUMENT, "abacus");
    CHECK(out == NULL && strstr(err.message, "baseline"));
    bool avx512 = false;
    for (size_t i = 0; i < tl_isa_count(); i++) {
        const char *name = tl_isa_name(i);
        avx512 = avx512 || strcmp(name, "avx512") == 0;
        setenv("TENSORLIB_ISA", name, 1);
        ACCEPTED(tl_backend_create("cpu", NULL, &out, &err));
        CHECK(strcmp(tl_backend_isa(out), name) == 0);
        tl_backend_free(out);
    }
    if (avx512) {
        skip("an ISA that the CPU lacks", "this CPU has them all");
    } else {
        setenv("TENSORLIB_ISA", "avx512", 1);
        REFUSED(tl_backend_create("cpu", NULL, &out, &err), TL_STATUS_UNAVAILABLE, "baseline");
    }
    if (before) {
        setenv("TENSORLIB_ISA", kept, 1);
    } else {
        unsetenv("TENSORLIB_ISA");
    }
}

static void test_trace(void) {
    tl_backend *out = backend;
    setenv("TENSORLIB_TRACE", "/no/such/folder/trace.json", 1);
    REFUSED(tl_backend_create("cpu", NULL, &out, &err), TL_STATUS_IO, "/no/such/folder/trace.json");
    CHECK(out == NULL && strstr(err.message, "TENSORLIB_TRACE"));
    setenv("TENSORLIB_TRACE", "", 1);
    ACCEPTED(tl_backend_create("cpu", NULL, &out, &err));
    tl_backend_free(out);
    unsetenv("TENSORLIB_TRACE");
}

/* The child has the pool's memory but not its threads: computing there must be refused, and freeing must not wait
 * for them. The parent's threads get time to park first: a condition variable with waiters is what blocks. */
static void test_fork(void) {
    tl_context *ctx = fresh_context();
    tl_tensor *a = tl_tensor_new_1d(ctx, TL_TYPE_F32, 100000), *sum = tl_add(ctx, a, a);
    tl_graph *graph = NULL;
    ACCEPTED(tl_graph_create(ctx, &sum, 1, &graph, &err));
    ACCEPTED(tl_graph_compute(graph, backend, &err));
    nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(30); /* a hang ends as a signal, which is no exit status */
        tl_status status = tl_graph_compute(graph, backend, &err);
        const char *answer = status == TL_STATUS_UNAVAILABLE && err.message[0] ? "true" : "false";
        tl_graph_free(graph), tl_context_free(ctx), tl_backend_free(backend);
        /* Not _exit(): a leak checker would count what the parent still holds, and its threads' parts too. */
        execlp(answer, answer, (char *)NULL);
        _exit(2);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ACCEPTED(tl_graph_compute(graph, backend, &err)); /* the parent's goes on */
    tl_graph_free(graph), tl_context_free(ctx);
}

void test_processes(void) {
    test_isa();
    test_trace();
    test_fork();
}

#else

void test_processes(void) {
    skip("TENSORLIB_ISA", "there is no setenv here");
    skip("TENSORLIB_TRACE", "there is no setenv here");
    skip("a forked child", "there is no fork here");
}

#endif
