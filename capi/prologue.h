/* tensorlib: tensors, computation graphs and fast kernels. The C ABI.
 *
 * GENERATED from rust/tensorlib-sys/src by `cargo xtask header`: change it there.
 *
 * A complete program (cc demo.c $(pkg-config --cflags --libs tensorlib)):
 *
 *     #include <stdio.h>
 *     #include <tensorlib/tensorlib.h>
 *     #define TRY(call) if ((call) != TL_STATUS_OK) { fprintf(stderr, "%s\n", err.message); return 1; }
 *
 *     int main(void) {
 *         const float a_data[8] = {2, 8, 5, 1, 4, 2, 8, 6}, b_data[6] = {10, 5, 9, 9, 5, 4};
 *         float       c_data[12];
 *         tl_error    err = {.struct_size = sizeof err};
 *         tl_backend *cpu = NULL;
 *         tl_context *ctx = NULL;
 *         tl_graph   *graph = NULL;
 *         TRY(tl_backend_create("cpu", NULL, &cpu, &err));
 *         TRY(tl_context_create(NULL, &ctx, &err));
 *         tl_tensor *a = tl_tensor_new_2d(ctx, TL_TYPE_F32, 2, 4);
 *         tl_tensor *b = tl_tensor_new_2d(ctx, TL_TYPE_F32, 2, 3);
 *         tl_tensor *c = tl_mul_mat(ctx, a, b);
 *         TRY(tl_graph_create(ctx, &c, 1, &graph, &err));
 *         TRY(tl_tensor_write_f32(a, a_data, 8, &err));
 *         TRY(tl_tensor_write_f32(b, b_data, 6, &err));
 *         TRY(tl_graph_compute(graph, cpu, &err));
 *         TRY(tl_tensor_read_f32(c, c_data, 12, &err));
 *         for (int i = 0; i < 12; i++) printf("%g%c", c_data[i], i % 4 == 3 ? '\n' : ' ');
 *         tl_graph_free(graph), tl_context_free(ctx), tl_backend_free(cpu);
 *         return 0;
 *     }
 *
 * Conventions
 *   Shapes     The contiguous dimension first: {2, 4} is 4 rows of 2.
 *   Errors     tl_status and an optional tl_error; constructors return NULL and their context keeps the
 *              first error. Nothing aborts.
 *   Ownership  tl_X_create() returns a handle that tl_X_free() releases; free(NULL) is ignored; handles may
 *              be freed in any order. Tensors belong to their context. Other pointers are the caller's and
 *              are read or written during the call only, unless the comment says otherwise.
 *   Threads    Every function may be called from any thread; the comment of tl_context says what may overlap.
 *   Structs    Structs that begin with struct_size may grow at the end in later versions. Set struct_size to
 *              sizeof; bytes beyond the struct that the library knows must be zero.
 *   Text       UTF-8, NUL-terminated.
 */
