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
#ifndef TENSORLIB_H
#define TENSORLIB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if UINTPTR_MAX != UINT64_MAX
#error "tensorlib supports 64-bit targets"
#endif

#ifndef TL_API
#if defined(_WIN32)
#define TL_API
#else
#define TL_API __attribute__((visibility("default")))
#endif
#endif
#if defined(__GNUC__) || defined(__clang__)
#define TL_NODISCARD __attribute__((warn_unused_result))
#else
#define TL_NODISCARD
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ====================================================================================================
 * Status codes, errors and versions
 *
 * Every call that can fail returns a tl_status and takes a caller-owned tl_error, which may be NULL, as its
 * last argument. No input ends the process: invalid arguments, files and device failures return a status
 * with a message. */

/// The result of a call: TL_STATUS_OK or the kind of failure. The numbers never change and none is reused;
/// treat an unknown number as a failure.
typedef int32_t tl_status;

/// Success.
#define TL_STATUS_OK 0

/// An argument is NULL, out of range, unknown or contradicts another one.
#define TL_STATUS_INVALID_ARGUMENT 1

/// The operands' shapes do not fit the operation.
#define TL_STATUS_SHAPE_MISMATCH 2

/// The operands' types do not fit the operation.
#define TL_STATUS_TYPE_MISMATCH 3

/// Operands live on different devices, or their contexts would refer to each other in a cycle.
#define TL_STATUS_CONTEXT_MISMATCH 4

/// The call is valid, but this backend has no kernel for it.
#define TL_STATUS_UNSUPPORTED 5

/// The device, driver or instruction set is missing, or cannot be used from here (a forked child).
#define TL_STATUS_UNAVAILABLE 6

/// A memory limit, a caller's buffer or the machine's memory is exhausted; nothing was changed.
#define TL_STATUS_OUT_OF_MEMORY 7

/// A context is in use by a running graph, an open mapping or another call; try again later.
#define TL_STATUS_BUSY 8

/// A callback stopped the run.
#define TL_STATUS_ABORTED 9

/// The operating system refused a file operation.
#define TL_STATUS_IO 10

/// A file's contents violate its format.
#define TL_STATUS_FORMAT 11

/// The device failed; the backend may be unusable from now on.
#define TL_STATUS_DEVICE 12

/// A defect of this library: please report it with the message.
#define TL_STATUS_INTERNAL 13

/// The ranks of a group disagree, or one of them failed, left or missed the deadline.
#define TL_STATUS_GROUP 14

/// Receives the code and message of a failing call. Owned by the caller; pass NULL to ignore them. Set
/// `struct_size` to `sizeof(tl_error)` first: an error whose struct_size is below 272 (this struct's first
/// size) is not written to. On success the code becomes TL_STATUS_OK and the message empty.
typedef struct tl_error {
    /// Bytes of this struct, set by the caller.
    size_t struct_size;
    /// The status that the call returned.
    tl_status code;
    /// UTF-8, NUL-terminated. Names the operation, the shapes or values, and what would be valid. In a
    /// message that is too long, " ... " replaces characters in the middle, and tl_error_text() returns the
    /// whole message.
    char message[256];
    /// Identifies a shortened message for tl_error_text(); 0 if the message is complete.
    uint32_t text;
} tl_error;

/// Copies as much of an error's whole message as fits into `buf`, with a NUL; `buf` may be NULL. Returns
/// the length of the whole message without the NUL; 0 for NULL, after a success, and if struct_size is
/// too small.
///
/// The process keeps the last 64 shortened messages. For an older one, or one that there was no memory
/// for, this copies `message`. Any thread, including threads other than that of the failed call. Since
/// 0.1.
TL_API size_t tl_error_text(const tl_error *err, char *buf, size_t size);

/// The ABI's version: major * 65536 + minor. A program built against this header runs with any library
/// of the same major and the same or a later minor version: see TL_ABI_VERSION. Any thread. Since 0.1.
TL_API uint32_t tl_abi_version(void);

/// The library's version as text, `"0.1.0"`. Static storage, never NULL, not to be freed. Any
/// thread. Since 0.1.
TL_API const char *tl_version(void);

/// The name of a status, `"TL_STATUS_SHAPE_MISMATCH"`; `"unknown status"` for a number that this library
/// does not know. Static storage, never NULL, not to be freed. Any thread. Since 0.1.
TL_API const char *tl_status_name(tl_status status);

/// The ABI version that this header describes; compare with tl_abi_version().
#define TL_ABI_VERSION 65536

/* ====================================================================================================
 * Storage types
 *
 * How elements are stored. The numbers are those of GGUF, and from 1000 on those of types that GGUF does not have. Later versions add types: ask for a type's traits, or
 * iterate with `tl_type_at`, instead of listing numbers. Quantised types store rows of whole blocks only.
 * docs/formats.md says which type suits which purpose. */

/// A storage type, by its number.
typedef int32_t tl_type;

/// IEEE 754 binary32.
#define TL_TYPE_F32 0

/// IEEE 754 binary16.
#define TL_TYPE_F16 1

/// 8-bit signed integer.
#define TL_TYPE_I8 24

/// 16-bit signed integer.
#define TL_TYPE_I16 25

/// 32-bit signed integer.
#define TL_TYPE_I32 26

/// 64-bit signed integer.
#define TL_TYPE_I64 27

/// IEEE 754 binary64.
#define TL_TYPE_F64 28

/// The upper half of an F32: 8 exponent bits, 7 fraction bits.
#define TL_TYPE_BF16 30

/// 4-bit codes around zero, an F16 scale per 32: 4.5 bits an element.
#define TL_TYPE_Q4_0 2

/// 4-bit codes, an F16 step and minimum per 32: 5 bits.
#define TL_TYPE_Q4_1 3

/// 5-bit codes around zero, an F16 scale per 32: 5.5 bits.
#define TL_TYPE_Q5_0 6

/// 5-bit codes, an F16 step and minimum per 32: 6 bits.
#define TL_TYPE_Q5_1 7

/// 8-bit codes, an F16 scale per 32: 8.5 bits.
#define TL_TYPE_Q8_0 8

/// Q8_0 with the sum of its codes; for activations only.
#define TL_TYPE_Q8_1 9

/// 2-bit codes, 4-bit scales and minimums per 16 of 256: 2.625 bits.
#define TL_TYPE_Q2_K 10

/// 3-bit codes, 6-bit scales per 16 of 256: 3.4375 bits.
#define TL_TYPE_Q3_K 11

/// 4-bit codes, 6-bit scales and minimums per 32 of 256: 4.5 bits.
#define TL_TYPE_Q4_K 12

/// 5-bit codes, 6-bit scales and minimums per 32 of 256: 5.5 bits.
#define TL_TYPE_Q5_K 13

/// 6-bit codes, 8-bit scales per 16 of 256: 6.5625 bits.
#define TL_TYPE_Q6_K 14

/// 8-bit codes, an F32 scale per 256; for activations only.
#define TL_TYPE_Q8_K 15

/// Runs of 8 from a grid of 256: 2.0625 bits.
#define TL_TYPE_IQ2_XXS 16

/// Runs of 8 from a grid of 512: 2.3125 bits.
#define TL_TYPE_IQ2_XS 17

/// Runs of 4 from a grid of 256: 3.0625 bits.
#define TL_TYPE_IQ3_XXS 18

/// Runs of 8 from a grid of 2048 of -1, 0, 1: 1.5625 bits.
#define TL_TYPE_IQ1_S 19

/// 4-bit codes into a table, an F16 scale per 32: 4.5 bits.
#define TL_TYPE_IQ4_NL 20

/// Runs of 4 from a grid of 512: 3.4375 bits.
#define TL_TYPE_IQ3_S 21

/// Runs of 8 from a grid of 1024: 2.5625 bits.
#define TL_TYPE_IQ2_S 22

/// IQ4_NL's codes, 6-bit scales per 32 of 256: 4.25 bits.
#define TL_TYPE_IQ4_XS 23

/// IQ1_S's grid, 3-bit scales per 16 of 256: 1.75 bits.
#define TL_TYPE_IQ1_M 29

/// -1, 0, 1, five digits a byte, an F16 scale per 256: 1.6875 bits.
#define TL_TYPE_TQ1_0 34

/// -1, 0, 1, two bits each, an F16 scale per 256: 2.0625 bits.
#define TL_TYPE_TQ2_0 35

/// 4-bit floats, a power of two per 32: 4.25 bits (OCP Microscaling).
#define TL_TYPE_MXFP4 39

/// 4-bit floats, an 8-bit float as the scale of each 16: 4.5 bits.
#define TL_TYPE_NVFP4 40

/// Signs, an F16 scale per 128: 1.125 bits.
#define TL_TYPE_Q1_0 41

/// -1, 0, 1, 2 in two bits, an F16 scale per 64: 2.25 bits.
#define TL_TYPE_Q2_0 42

/// 8-bit unsigned integer.
#define TL_TYPE_U8 1000

/// A truth value: a byte that is 0 or 1. Whatever is not 0 converts to 1. `tl_tensor_write` refuses other bytes, and
/// memory that is mapped for writing must not be given any.
#define TL_TYPE_BOOL 1001

/// What a type may be used for.
typedef int32_t tl_kind;

/// A plain float.
#define TL_KIND_FLOATING 0

/// An integer, or BOOL.
#define TL_KIND_INTEGER 1

/// A quantised type for weights.
#define TL_KIND_WEIGHT 2

/// A quantised type that products convert activations to; no operand has it.
#define TL_KIND_ACTIVATION 3

/// Elements per block, 1 for plain types; 0 for an unknown type. Any thread. Since 0.1.
TL_API int64_t tl_type_block_size(tl_type type);

/// Bytes per block; 0 for an unknown type. Any thread. Since 0.1.
TL_API size_t tl_type_size(tl_type type);

/// The type's name, `"f32"`; NULL for an unknown type. Static storage, not to be freed. Any thread. Since 0.1.
TL_API const char *tl_type_name(tl_type type);

/// What the type may be used for; -1 for an unknown type. Any thread. Since 0.1.
TL_API tl_kind tl_type_kind(tl_type type);

/// The type that the reference implementation rounds activations to in products with weights of this type, for
/// comparisons with it; the type itself for plain types and activations, -1 for an unknown type. Products of
/// this library round as tl_mul_mat() says, whatever the partner. Any thread. Since 0.1.
TL_API tl_type tl_type_partner(tl_type type);

/// The number of types. Any thread. Since 0.1.
TL_API size_t tl_type_count(void);

/// The type at an index below `tl_type_count`, in the order of their numbers; -1 beyond. Any thread. Since 0.1.
TL_API tl_type tl_type_at(size_t index);

/// Finds a type by its name; upper and lower case are equal. `name` and `out` must not be NULL.
/// TL_STATUS_INVALID_ARGUMENT: one is NULL, or there is no such type (the message lists the nearest). Any
/// thread. Since 0.1.
TL_API TL_NODISCARD tl_status tl_type_from_name(const char *name, tl_type *out, tl_error *err);

/* ====================================================================================================
 * Devices and backends
 *
 * A device computes: "cpu" always exists, and "cuda:0", "cuda:1", ... exist if the library was built with CUDA and the
 * machine has a driver and GPUs; otherwise tl_backend_create() says what is missing. A backend is an opened device. */

/// A device opened for computing, with its own threads or streams. Backends are independent of each other: two backends
/// compute at the same time, even on one device.
///
/// Lifetime: from tl_backend_create() until tl_backend_free(). A context created on a backend keeps it alive, so the
/// two may be freed in any order.
///
/// Threads: any function may be called from any thread. One graph runs at a time, and a second caller of
/// tl_graph_compute() waits for the first. A call from inside the running graph's own progress callback returns
/// TL_STATUS_BUSY.
typedef struct tl_backend tl_backend;

/// Options for opening a backend. Fill it with tl_backend_params_init(), then change what you need.
typedef struct tl_backend_params {
    /// Bytes of this struct, as the caller knows it.
    size_t struct_size;
    /// Threads for CPU work, including the calling thread. 0 = as many as this process may use, as limited by the
    /// affinity mask and the cgroup's quota. At most 1024.
    int32_t n_threads;
    /// CUDA: allows F32 products to be computed in TF32 (10 bits of fraction). Ignored elsewhere.
    bool allow_tf32;
} tl_backend_params;

/// Options for joining backends; none exist yet. Fill it with tl_join_params_init().
typedef struct tl_join_params {
    /// Bytes of this struct, as the caller knows it.
    size_t struct_size;
} tl_join_params;

/// Properties of a device.
typedef struct tl_device_props {
    /// Bytes of this struct, as the caller knows it.
    size_t struct_size;
    /// The name of the processor or card, for display, NUL-terminated.
    char description[128];
    /// Bytes of memory in total; 0 = unknown.
    uint64_t memory_total;
    /// Bytes of memory that were free at the time of the call; 0 = unknown.
    uint64_t memory_free;
    /// CUDA: compute capability, 90 = 9.0; 0 elsewhere.
    int32_t capability;
    /// A simulation for tests, not hardware.
    bool simulated;
} tl_device_props;

/// The number of devices, at least 1 for "cpu". Any thread. Since 0.1.
TL_API size_t tl_device_count(void);

/// The name of a device, as tl_backend_create() takes it: `"cpu"`, `"cuda:0"`. NULL if index is not below
/// tl_device_count(). Static storage, not to be freed. Any thread. Since 0.1.
TL_API const char *tl_device_name(size_t index);

/// Gets the properties of a device.
///
/// `out` belongs to the caller and must not be NULL; its struct_size must be set.
///
/// TL_STATUS_INVALID_ARGUMENT: index is out of range, out is NULL, struct_size is too small. Any thread. Since 0.1.
TL_API TL_NODISCARD tl_status tl_device_get_props(size_t index, tl_device_props *out, tl_error *err);

/// The number of instruction sets that this CPU can run. Any thread. Since 0.1.
TL_API size_t tl_isa_count(void);

/// The name of an instruction set that this CPU can run, best first: the values that the environment variable
/// `TENSORLIB_ISA` accepts here. `"baseline"` is always the last. NULL if index is not below tl_isa_count(). Static
/// storage, not to be freed. Any thread. Since 0.1.
TL_API const char *tl_isa_name(size_t index);

/// Sets the defaults. A NULL `params` is ignored; at most `struct_size` bytes are written. Any thread, as long as
/// params is not shared. Since 0.1.
TL_API void tl_backend_params_init(tl_backend_params *params, size_t struct_size);

/// Opens a device, or joins several.
///
/// `device` is a name as tl_device_name() returns it, such as `"cpu"`; case does not matter. NULL means `"cpu"`.
/// Names separated by `+`, `"cuda:0+cpu"`, open each device and join them (tl_backend_join). `params` may be NULL
/// for the defaults. `out` must not be NULL; it receives the backend, which the caller frees with
/// tl_backend_free(), or NULL on failure.
///
/// This function reads these environment variables:
/// - `TENSORLIB_ISA`: the instruction set of the backend's kernels; the default is the best one that the CPU has.
/// - `TENSORLIB_FUSE`: `0` computes every node separately. By default a product is fused with an addition that is
///   the only reader of its result; the bits are the same. Values other than `0` and `1` are
///   TL_STATUS_INVALID_ARGUMENT.
/// - `TENSORLIB_PACK_LIMIT`: the most bytes that a CPU backend may use for packed copies of constant weights, which
///   make products faster; 0 means none. Results do not depend on it. By default a copy may take half of the memory
///   that is left.
/// - `TENSORLIB_TRACE`: a file that receives a timeline of the backend's runs, for Perfetto (ui.perfetto.dev). The
///   file is emptied first; further backends append `.2`, `.3`, ... to its name.
/// - `TENSORLIB_REFUSE=cuda:0/add,cpu/mul_mat`: operations that a device has to refuse, for tests.
/// - `TENSORLIB_CUDA_DEBUG=1`: waits for each operation, so that an error names the operation that caused it.
/// - `TENSORLIB_CUBLASLT`: `off`, or the path of the library.
///
/// TL_STATUS_INVALID_ARGUMENT: the device does not exist, out is NULL, a parameter is out of range, `TENSORLIB_ISA`
/// names no instruction set, `TENSORLIB_PACK_LIMIT` is not a number. TL_STATUS_UNAVAILABLE: the machine does not
/// have the device or instruction set (the message lists those that it has), or a thread could not be started.
/// TL_STATUS_IO: the file that `TENSORLIB_TRACE` names cannot be written. TL_STATUS_OUT_OF_MEMORY. Any thread.
/// Since 0.1.
TL_API TL_NODISCARD tl_status tl_backend_create(const char *device, const tl_backend_params *params,
        tl_backend **out, tl_error *err);

/// Sets the defaults. A NULL `params` is ignored; at most `struct_size` bytes are written. Any thread, as long as
/// params is not shared. Since 0.1.
TL_API void tl_join_params_init(tl_join_params *params, size_t struct_size);

/// Joins backends of different devices into one, which computes graphs whose tensors lie on any of them.
///
/// Each node is computed by a device that has a kernel for it, where the fewest bytes have to be copied;
/// tl_tensor_place() overrides the choice. Results that a node writes into tensors of other devices are copied
/// there and back. Leafs stay on their contexts' devices, an output ends on its context's device, and every other
/// result lies where it is computed. Operands that are read on another device are copied there once per run,
/// constants once for all runs. tl_graph_plan_text() shows the transfers, tl_graph_plan_bytes() the memory that
/// they take. Memory for intermediates and copies of constants belongs to the backend: no context's mem_limit
/// counts it.
///
/// `backends` has `n` backends, 1 to 32, and is read during the call. The joined backend keeps them alive. Their
/// handles remain the caller's and stay usable: a run of the joined backend waits for their runs. A context created
/// on the joined backend lies on the first device. `params` may be NULL. `out` must not be NULL; it receives the
/// backend, which the caller frees with tl_backend_free(), or NULL on failure.
///
/// TL_STATUS_INVALID_ARGUMENT: backends, one of them or out is NULL, n is out of range, two are of one device, one
/// is joined itself. TL_STATUS_UNAVAILABLE: one belongs to the parent of this forked process.
/// TL_STATUS_OUT_OF_MEMORY. Any thread. Since 0.1.
TL_API TL_NODISCARD tl_status tl_backend_join(tl_backend *const *backends, size_t n,
        const tl_join_params *params, tl_backend **out, tl_error *err);

/// The number of devices that the backend computes on: 1 unless it is joined; 0 for NULL. Any thread. Since 0.1.
TL_API size_t tl_backend_n_devices(const tl_backend *backend);

/// The name of a device of the backend, in the order of joining; NULL for NULL or if index is not below
/// tl_backend_n_devices(). Valid as long as the backend. Any thread. Since 0.1.
TL_API const char *tl_backend_device_at(const tl_backend *backend, size_t index);

/// Releases the handle; NULL is ignored. The backend is closed when no context that was created on it is left. Any
/// thread except inside the backend's own progress callback. Since 0.1.
TL_API void tl_backend_free(tl_backend *backend);

/// The name of the backend's device: `"cpu"`, `"cpu+cuda:0"` for a joined backend; NULL for NULL. Valid as long as
/// the backend. Any thread. Since 0.1.
TL_API const char *tl_backend_device(const tl_backend *backend);

/// The instruction set of the backend's CPU kernels, `"avx512"`, or the GPU's architecture, `"sm_90"` (`"simt"` if
/// it is simulated). A joined backend lists those of all its devices, `"avx512+sm_90"`. NULL for NULL. Valid as
/// long as the backend. Any thread. Since 0.1.
TL_API const char *tl_backend_isa(const tl_backend *backend);

/// The number of CPU threads that the backend computes with, including the calling thread; 1 for a GPU; for a
/// joined backend the largest number of its devices; 0 for NULL. Any thread. Since 0.1.
TL_API int32_t tl_backend_n_threads(const tl_backend *backend);

/// Bytes of packed copies of constants (tl_tensor_set_constant, leafs of GGUF files) that the backend keeps and no
/// context counts; 0 for NULL. The backend makes a constant's copy when it first computes a graph that multiplies
/// with it, if the copy pays and leaves half of the machine's free memory. All graphs of the backend share it. It
/// is freed with the backend or with the constant's context, or passes to the context (tl_tensor_drop_original). A
/// joined backend counts the copies of the backends that were joined, and copies of constants on devices other than
/// their own. Any thread. Since 0.1.
TL_API size_t tl_backend_packed_memory(const tl_backend *backend);

/* ====================================================================================================
 * Quantising
 *
 * Conversion of float matrices to any storage type and back, outside of contexts and graphs, as converters of model
 * files need it. A row is a whole number of blocks (tl_type_block_size()) and takes n_per_row / block size *
 * tl_type_size() bytes; rows follow each other without gaps. The same values give the same bytes on every CPU and with
 * any number of threads. */

/// Encodes `n_rows` rows of `n_per_row` floats as `type`, with a small sum of squared errors. `importance` has
/// `n_per_row` weights of the columns' squared errors, finite and not negative; NULL stands for ones, and so do
/// zeros in all columns of a block. `dst` has space for all rows, at any address, and does not overlap `src`. Uses
/// the calling thread, and the instruction set that TENSORLIB_ISA names.
///
/// TL_STATUS_INVALID_ARGUMENT: the type does not exist, a pointer is NULL (though there are elements), `n_per_row`
/// is not a multiple of the type's block size, sizes are negative or too large, a weight is invalid, or a value
/// does not fit the type (quantised types hold finite numbers only): the message has its row and position, and the
/// contents of `dst` are undefined. TENSORLIB_ISA's errors are those of tl_backend_create(). Any thread. Since 0.1.
TL_API TL_NODISCARD tl_status tl_quantize(tl_type type, const float *src, void *dst, int64_t n_rows,
        int64_t n_per_row, const float *importance, tl_error *err);

/// tl_quantize() with a backend's threads and instruction set; waits for the backend's turn. `backend` must not be
/// NULL. Also TL_STATUS_UNSUPPORTED: the backend is not on the CPU; TL_STATUS_BUSY: called from a callback of a
/// graph that the backend is computing; TL_STATUS_UNAVAILABLE: the process was forked after the backend was made.
/// Any thread. Since 0.1.
TL_API TL_NODISCARD tl_status tl_backend_quantize(tl_backend *backend, tl_type type, const float *src,
        void *dst, int64_t n_rows, int64_t n_per_row, const float *importance, tl_error *err);

/// Decodes `n` elements of `type` to floats. `src` may lie at any address and does not overlap `dst`. Any bytes are
/// accepted; scales that are not finite give infinities and NaNs.
///
/// TL_STATUS_INVALID_ARGUMENT: the type does not exist, a pointer is NULL (though `n` is not 0), or `n` is negative
/// or not a multiple of the type's block size. TENSORLIB_ISA's errors are those of tl_backend_create(). Any thread.
/// Since 0.1.
TL_API TL_NODISCARD tl_status tl_dequantize(tl_type type, const void *src, float *dst, int64_t n,
        tl_error *err);

/* ====================================================================================================
 * Contexts
 *
 * Memory. A context owns tensors and graphs and frees them together. */

/// An arena that owns tensors, graphs and their data. Nothing in it is freed individually, except that a freed
/// graph's memory is reused; everything is freed with the context.
///
/// Lifetime: the handle is valid from tl_context_create() until tl_context_free(). The context's memory lives on as
/// long as a graph, a tensor of another context or an exported tensor (tl_tensor_to_dlpack()) refers to it, so handles
/// may be freed in any order. A tensor's pointer is valid as long as the memory of its context, and until
/// tl_context_reset().
///
/// Errors: constructors of tensors and operations return NULL on failure. The context keeps the first failure until
/// tl_context_error() reads it, and tl_graph_create() also returns it. Constructors can therefore be nested, and
/// one check at the end of a model is enough.
///
/// Threads: any function may be called from any thread. Building (constructors, tl_graph_create()) takes a short
/// lock and may go on while graphs are computed. A run lock per context separates computing, reading and writing:
/// tl_graph_compute() locks contexts that it writes exclusively and contexts that it only reads shared; reads of
/// tensors lock shared and writes exclusively, for the duration of the call. A call that finds the lock taken
/// returns TL_STATUS_BUSY with a message that names the context and the node or leaf of the graph that needs it,
/// either immediately or after the busy timeout (tl_context_set_busy_timeout()).
///
/// Models: keep weights in one context, tl_context_freeze() it, and build each request's nodes in a separate
/// context, which is reset or freed afterwards. Requests then run at the same time, each with its own backend.
/// Nodes in the weights' context would make it grow, and make it BUSY for other requests.
typedef struct tl_context tl_context;

/// Options for making a context. Fill it with tl_context_params_init(), then change what you need.
typedef struct tl_context_params {
    /// Bytes of this struct, as the caller knows it.
    size_t struct_size;
    /// The most bytes that objects and data of this context may take together; 0 = no limit.
    size_t mem_limit;
    /// Memory to use instead of the context's own; the context never grows beyond it. NULL = the context's own. It
    /// must stay valid until the context's memory is no longer in use, and nobody else may touch it.
    void *mem_buffer;
    /// Bytes of mem_buffer.
    size_t mem_buffer_size;
    /// Makes tensors without data; tl_context_allocate() gives leafs their data.
    bool no_alloc;
    /// The backend on whose device the tensors' data live; NULL = host memory.
    struct tl_backend *backend;
} tl_context_params;

/// Sets the defaults. A NULL `params` is ignored; at most `struct_size` bytes are written. Any thread, as long
/// as params is not shared. Since 0.1.
TL_API void tl_context_params_init(tl_context_params *params, size_t struct_size);

/// Makes a context.
///
/// `params` may be NULL for the defaults. `out` must not be NULL; it receives the context, which the caller
/// frees with tl_context_free(), or NULL on failure. Any limit is accepted; tensors that do not fit fail later.
///
/// TL_STATUS_INVALID_ARGUMENT: out is NULL; struct_size is too small, or its unknown tail is not zero;
/// mem_buffer and mem_buffer_size contradict each other. TL_STATUS_OUT_OF_MEMORY. Any thread. Since 0.1.
TL_API TL_NODISCARD tl_status tl_context_create(const tl_context_params *params, tl_context **out,
        tl_error *err);

/// Releases the handle; NULL is ignored. The memory is freed when nothing refers to it any more. Any thread.
/// Since 0.1.
TL_API void tl_context_free(tl_context *ctx);

/// Bytes in use by objects, data and plans; 0 for NULL. Plans stay so that identical graphs can reuse them;
/// plans that no graph uses are dropped when something else needs the memory. Any thread. Since 0.1.
TL_API size_t tl_context_used_memory(const tl_context *ctx);

/// The most bytes that were in use at any time since the context was made; 0 for NULL. Any thread. Since 0.1.
TL_API size_t tl_context_peak_memory(const tl_context *ctx);

/// Allocates data, all zeros, for every leaf of a no_alloc context that has none yet.
///
/// `backend` names the device for the data; NULL = the context's own. It is not kept.
///
/// TL_STATUS_INVALID_ARGUMENT: ctx is NULL, or not a no_alloc context. TL_STATUS_CONTEXT_MISMATCH: backend is
/// of another device than the context. TL_STATUS_OUT_OF_MEMORY: no leaf was changed. TL_STATUS_BUSY. Any
/// thread. Since 0.1.
TL_API TL_NODISCARD tl_status tl_context_allocate(tl_context *ctx, tl_backend *backend, tl_error *err);

/// Removes all tensors from the context; their pointers must not be used any more. Keeps the memory and, unless
/// the memory is a caller's buffer, the plans of its graphs for later graphs of the same structure.
///
/// TL_STATUS_BUSY: a graph, another context or an exported tensor still refers to it, or it is in use; nothing was
/// changed. TL_STATUS_INVALID_ARGUMENT: ctx is NULL. Any thread. Since 0.1.
TL_API TL_NODISCARD tl_status tl_context_reset(tl_context *ctx, tl_error *err);

/// Makes calls wait for data that other threads use, instead of returning TL_STATUS_BUSY immediately.
///
/// A call about this context, one of its tensors or a graph that was created in it waits up to `nanoseconds`
/// for the run locks and the graph that it needs. tl_graph_compute() then also limits its wait for the
/// backend's turn, which is unlimited otherwise. 0, the default, waits for no lock. The time counts from the
/// call; a call that has begun to compute is not stopped.
///
/// A waiting call holds no lock and sleeps. It may notice a free lock late, by an eighth of the time waited and
/// at most by 1 ms. Calls from a callback of a running graph never wait, because they could wait for
/// themselves. tl_context_reset() does not wait for graphs and contexts that refer to the context.
///
/// TL_STATUS_INVALID_ARGUMENT: ctx is NULL. Any thread, at any time. Since 0.1.
TL_API TL_NODISCARD tl_status tl_context_set_busy_timeout(tl_context *ctx, uint64_t nanoseconds,
        tl_error *err);

/// The busy timeout in nanoseconds; 0 for NULL. Any thread. Since 0.1.
TL_API uint64_t tl_context_busy_timeout(const tl_context *ctx);

/// The context's number in messages: 1 for the first context of the process; 0 for NULL. Any thread. Since 0.1.
TL_API uint64_t tl_context_id(const tl_context *ctx);

/// Names the context for messages: `context 3 'weights'`. `name` is UTF-8 and copied; NULL or `""` removes the
/// name. TL_STATUS_INVALID_ARGUMENT: ctx is NULL, or the name is not UTF-8. TL_STATUS_OUT_OF_MEMORY. Any
/// thread. Since 0.1.
TL_API TL_NODISCARD tl_status tl_context_set_name(tl_context *ctx, const char *name, tl_error *err);

/// Copies as much of the context's name as fits into `buf`, with a NUL; `buf` may be NULL. Returns the length
/// of the whole name; 0 if it has none, and for NULL. Any thread. Since 0.1.
TL_API size_t tl_context_name(const tl_context *ctx, char *buf, size_t size);

/// Closes the context for building: from now on constructors of tensors and operations in it fail with a
/// message that says where to build instead, so a model's context cannot grow by a request's nodes by mistake.
/// Nodes in other contexts may refer to its tensors, from any number of threads at a time. tl_context_reset()
/// opens it again. TL_STATUS_INVALID_ARGUMENT: ctx is NULL. Any thread. Since 0.1.
TL_API TL_NODISCARD tl_status tl_context_freeze(tl_context *ctx, tl_error *err);

/// Returns the code of the first failure of a constructor since the last call, and clears it. Copies the
/// failure to `out`, which may be NULL; TL_STATUS_OK if nothing failed. TL_STATUS_INVALID_ARGUMENT: ctx is
/// NULL. Any thread; if several threads build in one context, hold a lock of your own over a constructor and
/// this call. Since 0.1.
TL_API tl_status tl_context_error(tl_context *ctx, tl_error *out);

/* ====================================================================================================
 * Tensors
 *
 * Shapes and strides, and reading and writing of data. */

/// A tensor of up to 4 dimensions: a leaf with data of its own, or a node that an operation computes.
///
/// Shape: `ne[0..4]` elements per dimension, the contiguous one first (a matrix of 4 rows of 2 is {2, 4}); unused
/// dimensions are 1; 0 is valid. Strides: `nb[0..4]` bytes from one element (of a quantised type: one block) to the
/// next in each dimension.
///
/// Ownership: a tensor belongs to its context and is never freed individually; see tl_context. Getters accept NULL and
/// return 0 or NULL for it. Shape, type and strides never change, so the getters may be called from any thread at any
/// time.
///
/// Data: leafs, the outputs of a graph that was computed without error, and views of either are readable. All other
/// nodes share memory inside the graph's plan.
typedef struct tl_tensor tl_tensor;

/// The purpose of a mapping.
typedef int32_t tl_access;

/// Reading: others may read at the same time.
#define TL_ACCESS_READ 0

/// Writing: nobody else may read, write or compute in this context meanwhile.
#define TL_ACCESS_WRITE 1

/// Makes a leaf of n_dims dimensions, filled with zeros. `ne` has n_dims values and is copied.
/// Returns NULL on failure (see tl_context_error()): TL_STATUS_INVALID_ARGUMENT: unknown type, n_dims
/// not 1 to 4, ne is NULL or negative, `ne[0]` is not a multiple of the type's block size, the number of
/// bytes does not fit; TL_STATUS_OUT_OF_MEMORY. The context owns the tensor. Any thread. Since 0.1.
TL_API tl_tensor *tl_tensor_new(tl_context *ctx, tl_type type, int32_t n_dims, const int64_t *ne);

/// tl_tensor_new() for one dimension; the context owns the tensor. Since 0.1.
TL_API tl_tensor *tl_tensor_new_1d(tl_context *ctx, tl_type type, int64_t ne0);

/// tl_tensor_new() for two dimensions; the context owns the tensor. Since 0.1.
TL_API tl_tensor *tl_tensor_new_2d(tl_context *ctx, tl_type type, int64_t ne0, int64_t ne1);

/// tl_tensor_new() for three dimensions; the context owns the tensor. Since 0.1.
TL_API tl_tensor *tl_tensor_new_3d(tl_context *ctx, tl_type type, int64_t ne0, int64_t ne1, int64_t ne2);

/// tl_tensor_new() for four dimensions; the context owns the tensor. Since 0.1.
TL_API tl_tensor *tl_tensor_new_4d(tl_context *ctx, tl_type type, int64_t ne0, int64_t ne1, int64_t ne2,
        int64_t ne3);

/// The element type; -1 for NULL. Since 0.1.
TL_API tl_type tl_tensor_type(const tl_tensor *t);

/// The number of dimensions that the tensor was made with, 1 to 4; 0 for NULL. Since 0.1.
TL_API int32_t tl_tensor_n_dims(const tl_tensor *t);

/// Elements in dimension dim; 1 for dimensions that the tensor does not use; 0 for NULL or a dim that
/// is not 0 to 3. Since 0.1.
TL_API int64_t tl_tensor_ne(const tl_tensor *t, int32_t dim);

/// Bytes from one element to the next in dimension dim; 0 for NULL or a dim that is not 0 to 3.
/// Since 0.1.
TL_API size_t tl_tensor_nb(const tl_tensor *t, int32_t dim);

/// Bytes of all elements packed without gaps, the size that tl_tensor_read() takes; 0 for NULL.
/// Since 0.1.
TL_API size_t tl_tensor_nbytes(const tl_tensor *t);

/// The number of elements, the product of ne; 0 for NULL. Since 0.1.
TL_API int64_t tl_tensor_n_elements(const tl_tensor *t);

/// The name of the operation that computes the tensor, `"mul_mat"`; `"leaf"` for a leaf; NULL for NULL. Static
/// storage, not to be freed. Since 0.1.
TL_API const char *tl_tensor_op(const tl_tensor *t);

/// Lists the context's tensors, leafs and nodes, in the order in which they were made.
///
/// Writes up to `n` of them to `tensors`, which may be NULL if n is 0, and returns their total number; 0 for NULL.
/// The list includes all nodes of gradients and of functions that are made of several operations. The pointers are
/// valid until tl_context_reset(). Any thread. Since 0.1.
TL_API size_t tl_context_tensors(const tl_context *ctx, tl_tensor **tensors, size_t n);

/// The first of the context's tensors with this name; NULL if there is none, and if ctx or name is NULL or name is
/// `""`. Takes time in proportion to the number of tensors. Any thread. Since 0.1.
TL_API tl_tensor *tl_context_find(const tl_context *ctx, const char *name);

/// Lists the operands of the tensor's operation, in the order of docs/ops.md; NULL stands for an operand that was
/// left out.
///
/// Writes up to `n` of them to `sources`, which may be NULL if n is 0, and returns their total number; 0 for a leaf
/// and for NULL. They are valid as long as the tensor. Any thread. Since 0.1.
TL_API size_t tl_tensor_sources(const tl_tensor *t, tl_tensor **sources, size_t n);

/// The tensor's context with a new reference, which the caller releases with tl_context_free(); NULL for NULL.
/// tl_context_reset() is TL_STATUS_BUSY until then. Any thread. Since 0.1.
TL_API tl_context *tl_tensor_context(const tl_tensor *t);

/// The tensor's name, `""` if it has none; NULL for NULL. Owned by the context, valid until the tensor is renamed
/// or freed; if another thread may do that, use tl_tensor_copy_name(). Since 0.1.
TL_API const char *tl_tensor_name(const tl_tensor *t);

/// Copies as much of the tensor's name as fits into `buf`, with a NUL; `buf` may be NULL. Returns the length of the
/// whole name; 0 if it has none, and for NULL. Any thread. Since 0.1.
TL_API size_t tl_tensor_copy_name(const tl_tensor *t, char *buf, size_t size);

/// Names the tensor for messages, dumps and files. `name` is UTF-8 and copied; NULL removes the name.
/// TL_STATUS_INVALID_ARGUMENT: t is NULL, or the name is not UTF-8. TL_STATUS_OUT_OF_MEMORY. Any thread. Since 0.1.
TL_API TL_NODISCARD tl_status tl_tensor_set_name(tl_tensor *t, const char *name, tl_error *err);

/// The first element's address in host memory; walk it with nb. NULL if the data is on another device, does not
/// exist yet (no_alloc, or a node that no graph has computed), is constant, or lies in memory that another library
/// shares read-only. Owned by the context. This function takes no locks: the caller makes sure that nothing computes
/// or writes meanwhile; tl_tensor_map() locks for you. Since 0.1.
TL_API void *tl_tensor_data(tl_tensor *t);

/// tl_tensor_data() under the context's run lock, until tl_tensor_unmap() with the same access.
///
/// `out` must not be NULL; it receives the first element's address (never NULL on success), which the context owns.
/// TL_STATUS_BUSY: another use of the context excludes this access. TL_STATUS_INVALID_ARGUMENT: t or out is NULL,
/// the access is unknown, the data is not readable (the message says why), or a node's result, a constant or memory
/// shared read-only is mapped for writing. TL_STATUS_UNAVAILABLE: the data is not in host memory, or tl_tensor_drop_original() freed
/// it. Any thread. Since 0.1.
TL_API TL_NODISCARD tl_status tl_tensor_map(tl_tensor *t, tl_access access, void **out, tl_error *err);

/// Ends a mapping; once for each successful tl_tensor_map(), from any thread. NULL is ignored. Since 0.1.
TL_API void tl_tensor_unmap(tl_tensor *t, tl_access access);

/// Writes bytes into a leaf or a view of one.
///
/// `data` has `size` bytes and may be NULL only where size is 0. `offset` and `size` count bytes of
/// the elements packed in ne order, whatever the strides.
///
/// TL_STATUS_INVALID_ARGUMENT: t or data is NULL, offset + size is above tl_tensor_nbytes(), t is a
/// node's result, is constant, lies in memory that another library shares read-only, or has no data yet.
/// TL_STATUS_BUSY. Nothing is written on failure. Any thread. Since 0.1.
TL_API TL_NODISCARD tl_status tl_tensor_write(tl_tensor *t, const void *data, size_t offset, size_t size,
        tl_error *err);

/// Reads bytes of a leaf, of an output that was computed, or of a view of either.
///
/// As tl_tensor_write(); `data` receives `size` bytes. TL_STATUS_INVALID_ARGUMENT also if the data is not readable:
/// the message says what to do. Since 0.1.
TL_API TL_NODISCARD tl_status tl_tensor_read(const tl_tensor *t, void *data, size_t offset, size_t size,
        tl_error *err);

/// Promises that a leaf's contents never change: from now on every write to it, and every operation that targets it
/// or a view of it, is an error, and plans may keep a packed copy. The promise cannot be withdrawn; repeating it
/// has no effect. TL_STATUS_INVALID_ARGUMENT: t is NULL, not a leaf, or has no data yet. TL_STATUS_BUSY. Any
/// thread. Since 0.1.
TL_API TL_NODISCARD tl_status tl_tensor_set_constant(tl_tensor *t, tl_error *err);

/// Sets whether graphs made from now on recompute this node where gradients read it, instead of keeping its result
/// until then. Recomputation takes less memory and more time, and gives the same bits.
///
/// The node is recomputed just before the first node of a call of tl_gradients() that reads it, together with the
/// marked nodes that it is computed from; results of unmarked nodes are kept for it. So mark the nodes between two
/// tensors and leave these two unmarked: then only one such section is in memory at a time. Outputs are kept in any
/// case. Marking a view marks the node that it is a view of. Existing graphs do not change.
///
/// TL_STATUS_INVALID_ARGUMENT: t is NULL, a leaf, a view of a leaf, or writes into an operand. Any thread. Since
/// 0.1.
TL_API TL_NODISCARD tl_status tl_tensor_set_recompute(tl_tensor *t, bool recompute, tl_error *err);

/// Chooses the device that computes a node, in graphs that a joined backend runs (tl_backend_join).
///
/// `device` is a name as tl_device_name() returns it; NULL or "" lets the backend choose again. Placing a view
/// places the node that it is a view of. Existing plans are remade. A backend without that device refuses the
/// graph: TL_STATUS_CONTEXT_MISMATCH.
///
/// TL_STATUS_INVALID_ARGUMENT: t is NULL, a leaf or a view of a leaf (leafs lie where their context does); the
/// device does not exist. Any thread. Since 0.1.
TL_API TL_NODISCARD tl_status tl_tensor_place(tl_tensor *t, const char *device, tl_error *err);

/// Frees the pages of a constant's original data if a packed copy can replace them.
///
/// A CPU backend has a copy after computing a product with the whole tensor, if the plan's text says so
/// (tl_backend_packed_memory() grows). The copy then belongs to the context: tl_context_used_memory() counts it
/// instead of the original, and it outlives the backend. Every reader of the tensor gets the same bits as before,
/// rebuilt from the copy: products with the copy cost nothing more, get_rows rebuilds the rows that it gets, and
/// other operations rebuild the whole tensor in each run. The tensor can no longer be mapped. A leaf of a mapped
/// GGUF file releases its pages and otherwise stays as it is, as do its copies: the system reads the pages again
/// when they are needed.
///
/// TL_STATUS_INVALID_ARGUMENT: t is NULL or not constant. TL_STATUS_UNSUPPORTED, nothing changed: no packed copy
/// holds the whole tensor (only CPU backends keep them); its blocks cannot be rebuilt bit for bit (IQ1, IQ2 and IQ3
/// types; bytes that an encoder would not write); it lies in a caller's buffer, in a file that was read into memory,
/// or in memory of another library. TL_STATUS_OUT_OF_MEMORY, nothing changed: the copy in place of the original
/// exceeds mem_limit. TL_STATUS_BUSY, also while an exported tensor (tl_tensor_to_dlpack()) uses the memory.
/// Repeating it has no effect. Any thread. Since 0.1.
TL_API TL_NODISCARD tl_status tl_tensor_drop_original(tl_tensor *t, tl_error *err);

/// Writes a whole tensor from n floats, converted to its type, `ne[0]` fastest.
///
/// Integer types: rounded to nearest, ties to even; a value out of range or NaN is
/// TL_STATUS_INVALID_ARGUMENT naming its position, and nothing is written. `n` must be
/// tl_tensor_n_elements(). Otherwise as tl_tensor_write(). Since 0.1.
TL_API TL_NODISCARD tl_status tl_tensor_write_f32(tl_tensor *t, const float *data, size_t n, tl_error *err);

/// Reads a whole tensor as n floats, `ne[0]` fastest, rounded to nearest even where the type is wider.
/// `n` must be tl_tensor_n_elements(). Otherwise as tl_tensor_read(). Since 0.1.
TL_API TL_NODISCARD tl_status tl_tensor_read_f32(const tl_tensor *t, float *data, size_t n, tl_error *err);

/// Reads one element, converted to float; `out` must not be NULL. TL_STATUS_INVALID_ARGUMENT also for
/// an index outside the shape. Otherwise as tl_tensor_read(). Since 0.1.
TL_API TL_NODISCARD tl_status tl_tensor_get_f32(const tl_tensor *t, int64_t i0, int64_t i1, int64_t i2,
        int64_t i3, float *out, tl_error *err);

/// Writes one element, converted as by tl_tensor_write_f32(). TL_STATUS_INVALID_ARGUMENT also for an
/// index outside the shape. Since 0.1.
TL_API TL_NODISCARD tl_status tl_tensor_set_f32(tl_tensor *t, int64_t i0, int64_t i1, int64_t i2,
        int64_t i3, float value, tl_error *err);

/* ====================================================================================================
 * Exchange with other libraries
 *
 * DLPack 1.x is how NumPy, JAX, PyTorch and others share tensors without copying. These two functions show a tensor of
 * this library to another one, and the other way round, in host memory.
 *
 * DLPack lists dimensions slowest first, so the shape is reversed: an array of 4 rows and 2 columns has the shape
 * (4, 2) there and {2, 4} here.
 *
 * Threads: the locks of contexts know nothing of reads and writes by the other library. Nobody may write the memory
 * while this library reads it, or access it while this library writes it. */

/// A tensor that two libraries share: DLPack's struct of this name, whose definition is in DLPack's header. Programs
/// that only pass it on do not need that header; the two may be included in any order.
typedef struct DLManagedTensorVersioned DLManagedTensorVersioned;

/// Shares a tensor's memory with another library. Nothing is copied: strides are those of the tensor, and what
/// either side writes, the other one sees.
///
/// The tensor is a leaf with data, an output of a computed graph, or a view of either. Its type is F32, F16, BF16,
/// F64, I8, I16, I32, I64, U8 or BOOL. `out` must not be NULL; it receives the shared tensor, or NULL on failure. Whoever has
/// it last calls its deleter, once, from any thread. Until then the memory stays, even if the context is freed
/// before, and tl_context_reset() is TL_STATUS_BUSY. A graph that is computed again overwrites its outputs, so
/// the other library sees the new values.
///
/// The version is 1.0, the device CPU, byte_offset 0, and strides are set. `data` is NULL if there are no elements.
/// DLPACK_FLAG_BITMASK_READ_ONLY is set for constants, leafs of GGUF files, memory that another library shared
/// read-only, views of these, and views whose elements share bytes. A promise given later (tl_tensor_set_constant)
/// concerns writes by the other library too.
///
/// TL_STATUS_INVALID_ARGUMENT: t or out is NULL, or t has no data yet. TL_STATUS_TYPE_MISMATCH: the type is
/// quantised; tl_cast() gives another one. TL_STATUS_UNAVAILABLE: the data live on a device, or the original was
/// dropped; tl_tensor_read() copies them. TL_STATUS_BUSY, TL_STATUS_OUT_OF_MEMORY. Any thread. Since 0.1.
TL_API TL_NODISCARD tl_status tl_tensor_to_dlpack(tl_tensor *t, struct DLManagedTensorVersioned **out,
        tl_error *err);

/// Makes a tensor over memory that another library shares. Nothing is copied.
///
/// The tensor is a leaf, or a view of one if the elements are not contiguous. It has data in a no_alloc context
/// too. It can be written unless DLPACK_FLAG_BITMASK_READ_ONLY is set: then writing to it or to a view of it, and
/// operations that target it, are errors. It is no constant, because the other library may change it;
/// tl_tensor_set_constant() promises that it does not. An array without dimensions becomes {1}. Two tensors over
/// the same memory are independent for graphs: only accesses through one of them are ordered.
///
/// On success the context owns `managed` and calls its deleter once: when the context is reset, or when its memory
/// is freed, on the thread that does it, without any lock. On failure, when NULL is returned, the caller still owns
/// it, and the deleter was not called. Contexts that share memory in a circle by way of another library are never
/// freed.
///
/// Returns NULL on failure (see tl_context_error()): TL_STATUS_UNSUPPORTED: the version is not 1.x.
/// TL_STATUS_UNAVAILABLE: the data do not lie in host memory (CPU, or pinned by CUDA), or the context's do not.
/// TL_STATUS_TYPE_MISMATCH: the type is none of those that tl_tensor_to_dlpack() takes, or has several lanes.
/// TL_STATUS_INVALID_ARGUMENT: managed is NULL; there are more than 4 dimensions; a dimension or stride is
/// negative; 4 dimensions are strided and none of them has the stride 1; data is NULL or not aligned for the type,
/// although there are elements; shape, strides and byte_offset do not fit an address space; the context is frozen.
/// TL_STATUS_CONTEXT_MISMATCH: the memory belongs to this context, or to one that refers to it.
/// TL_STATUS_OUT_OF_MEMORY. The context owns the tensor. Any thread. Since 0.1.
TL_API tl_tensor *tl_tensor_from_dlpack(tl_context *ctx, struct DLManagedTensorVersioned *managed);

/* ====================================================================================================
 * Groups of ranks
 *
 * A group is a number of ranks that compute together, each with a handle of its own. Functions such as tl_all_sum() make
 * nodes that exchange tensors between the ranks of a group. Each rank computes a graph of its own with the same nodes of
 * the group, in the order in which they were built. Before a graph's first run the ranks compare these nodes, and a
 * difference is an error on all of them. */

/// A rank's handle of a group.
///
/// Lifetime: from tl_group_create() until tl_group_free(). Contexts with nodes of the group keep it alive, until they are
/// reset or freed. A rank leaves the group when nothing keeps its handle any more, which is an error for ranks that go on.
///
/// Threads: any function may be called from any thread. One graph that uses the handle is computed at a time; a second one
/// gets TL_STATUS_BUSY. Different handles are independent.
typedef struct tl_group tl_group;

/// Options for making a group. Fill it with tl_group_params_init(), then change what you need.
typedef struct tl_group_params {
    /// Bytes of this struct, as the caller knows it.
    size_t struct_size;
    /// How many milliseconds a rank waits for another one before the group fails. 0 = 300,000, five minutes.
    uint64_t timeout_ms;
} tl_group_params;

/// Sets the defaults. A NULL `params` is ignored; at most `struct_size` bytes are written. Any thread, as long as
/// params is not shared. Since 0.1.
TL_API void tl_group_params_init(tl_group_params *params, size_t struct_size);

/// Makes a group, or joins the one to which the process belongs.
///
/// `name` says how the ranks are connected:
/// - `"self"`: one rank.
/// - `"local:N"`: N ranks, 1 to 1024, that are threads of this process. The handle is that of rank 0, and
///   tl_group_member() gives those of the others.
/// - `"mpi"`: all processes that a launcher such as mpirun has started, each a rank. They make their groups in the same order.
///   The machine's MPI library is opened at run time; the environment variable TENSORLIB_MPI may name another file.
/// - `"auto"`, or NULL: `"mpi"` if a launcher has started the process as one of several, otherwise `"self"`.
///
/// `params` may be NULL for the defaults. `out` must not be NULL; it receives the handle, which the caller frees with
/// tl_group_free(), or NULL on failure.
///
/// TL_STATUS_INVALID_ARGUMENT: there is no such name, N or timeout_ms is out of range, out is NULL.
/// TL_STATUS_UNAVAILABLE: there is no usable MPI library, or not the launcher's. TL_STATUS_GROUP: the other processes have not
/// made the group in time. TL_STATUS_OUT_OF_MEMORY. Any thread. Since 0.1.
TL_API TL_NODISCARD tl_status tl_group_create(const char *name, const tl_group_params *params,
        tl_group **out, tl_error *err);

/// Takes the handle of another rank out of that of rank 0 of a local group. The caller frees it with tl_group_free(). A
/// handle can be taken once; what is not taken is freed with rank 0's.
///
/// TL_STATUS_INVALID_ARGUMENT: group or out is NULL, the group is not `"local:N"` or the handle not rank 0's, rank is
/// not 1 to N - 1, or was taken. Any thread. Since 0.1.
TL_API TL_NODISCARD tl_status tl_group_member(tl_group *group, int32_t rank, tl_group **out, tl_error *err);

/// Divides a group: ranks of one colour form a new group, in the order of their keys, and of their ranks where keys are
/// equal. All ranks call it, and it waits for them. `out` receives the handle of the new group, which the caller frees
/// with tl_group_free(), or NULL for a negative colour. The group itself stays.
///
/// TL_STATUS_INVALID_ARGUMENT: group or out is NULL, or the function of a custom operation calls. TL_STATUS_GROUP:
/// another rank failed, left, made another call or missed the deadline. TL_STATUS_BUSY: another thread uses the handle.
/// TL_STATUS_OUT_OF_MEMORY. Any thread. Since 0.1.
TL_API TL_NODISCARD tl_status tl_group_split(tl_group *group, int32_t colour, int32_t key, tl_group **out,
        tl_error *err);

/// The handle's rank, from 0; 0 for NULL. Any thread. Since 0.1.
TL_API int32_t tl_group_rank(const tl_group *group);

/// The number of ranks; 0 for NULL. Any thread. Since 0.1.
TL_API int32_t tl_group_size(const tl_group *group);

/// Writes what connects the ranks, for display, to `buf`, at most `size` bytes including the NUL, and returns the
/// length needed without the NUL. It names the library and its version, and says why `"auto"` chose one rank. `buf` may be
/// NULL if size is 0. Returns 0 for NULL, and if memory runs out. Any thread. Since 0.1.
TL_API size_t tl_group_text(const tl_group *group, char *buf, size_t size);

/// Gives up a handle. NULL is ignored. Any thread. Since 0.1.
TL_API void tl_group_free(tl_group *group);

/// Which elements rank `rank` of `size` ranks has of `n` elements that are divided over the ranks, in whole blocks of `block` elements, such as
/// the blocks of a quantised type. `first` and `count` receive the number of its first element and how many it has.
/// The shares follow each other in the order of ranks. They differ by at most one block, and the first ranks have more.
/// If there are fewer blocks than ranks, some have none. The last block may be partial.
///
/// TL_STATUS_INVALID_ARGUMENT: n is negative, block or size is less than 1, rank is not 0 to size - 1, first or count is
/// NULL; both are 0 then, where they are not NULL. Any thread. Since 0.1.
TL_API TL_NODISCARD tl_status tl_shard_range(int64_t n, int64_t block, int32_t rank, int32_t size,
        int64_t *first, int64_t *count, tl_error *err);

/* ====================================================================================================
 * Operations
 *
 * Constructors of nodes; only graphs compute them. All constructors follow these rules: operands may live in
 * other contexts of the same device, which ctx then keeps alive; a NULL operand gives NULL; on failure they
 * return NULL and ctx keeps the first error (tl_context_error()): TL_STATUS_INVALID_ARGUMENT,
 * TL_STATUS_SHAPE_MISMATCH, TL_STATUS_TYPE_MISMATCH, TL_STATUS_CONTEXT_MISMATCH or TL_STATUS_OUT_OF_MEMORY.
 * The context owns the result. Any thread. */

/// 1 to 6 integers; booleans are 0 and 1.
#define TL_ATTR_INTS 0

/// One number.
#define TL_ATTR_NUMBER 1

/// Text.
#define TL_ATTR_TEXT 2

/// Bits of a set of dimensions, for members called `dims`.
#define TL_DIM_0 1

/// Dimension 1.
#define TL_DIM_1 2

/// Dimension 2.
#define TL_DIM_2 4

/// Dimension 3.
#define TL_DIM_3 8

/// The end of a dimension, for tl_index().
#define TL_END INT64_MAX

/// A named attribute of an operation for tl_op(). Pointers are read during the call only. This struct is
/// frozen: it will never grow.
typedef struct tl_attr {
    /// The attribute's name, `"axes"`.
    const char *name;
    /// TL_ATTR_INTS, TL_ATTR_NUMBER or TL_ATTR_TEXT. An attribute of one integer also accepts an integral
    /// number, and a number also accepts one integer.
    int32_t kind;
    /// The number of values in ints.
    int32_t n_ints;
    /// The values of TL_ATTR_INTS.
    int64_t ints[6];
    /// The value of TL_ATTR_NUMBER.
    double number;
    /// The value of TL_ATTR_TEXT, NUL-terminated.
    const char *text;
} tl_attr;

/// The matrix product: a {k, m, x, y} and b {k, n, X, Y} give F32 {m, n, X, Y}, each element the dot
/// product of a row of a and a row of b. X must be a multiple of x and Y of y: X/x consecutive slices of b
/// share a slice of a. k = 0 gives zeros. Operands need not be contiguous. Types: a any float or weight
/// type, b F32, F16 or BF16.
///
/// If a is quantised, b may be rounded to 8 bits with a scale for each 32 elements along k. An element of
/// the result is then off by up to the sum over k of |a| * h, in addition to F32's own rounding. h is a
/// 127th of the larger of two values: the largest |b| of the 32 elements, and a 16th of the largest |b| of
/// the 256 elements around them. Q2_0 uses 64 elements instead of 32, Q1_0 128, TQ1_0 and TQ2_0 256. A
/// single column may be rounded to 16 bits instead. If a is BF16, b may be rounded to BF16, by up to 2^-8
/// of an element. tl_mul_mat_exact() does not round. The bits may depend on n and, for an F32, F16 or BF16
/// a, on whether a is constant. The context owns the result; NULL on failure. Since 0.1.
TL_API tl_tensor *tl_mul_mat(tl_context *ctx, tl_tensor *a, tl_tensor *b);

/// tl_mul_mat() without rounding of b: only sums round, in F32. Shapes and types are those of tl_mul_mat();
/// in tl_op() it is `"mul_mat"` with the attribute `exact` = 1. It is slower where tl_mul_mat() rounds b
/// (on the CPU: quantised weights on avx512 and avx2, BF16 on avx512); elsewhere the two are equal. The
/// context owns the result; NULL on failure. Since 0.1.
TL_API tl_tensor *tl_mul_mat_exact(tl_context *ctx, tl_tensor *a, tl_tensor *b);

/// Multiplies each column by the matrix that an index selects (a mixture of experts): a {k, m, experts}, b
/// {k, x, tokens} and ids {used, tokens} of I32 or I64 give F32 {m, used, tokens}; x divides used. Column
/// (u, t) is the product of the expert ids[u, t] and b's column (u mod x, t). Types, strides, k = 0 and the
/// rounding of b are those of tl_mul_mat(); in tl_op() it is `"mul_mat_id"`, which takes the attribute
/// `exact` = 1 as `"mul_mat"` does. The index -1 gives zeros; computing fails with
/// TL_STATUS_INVALID_ARGUMENT, naming position and value, for any other index without an expert. The
/// context owns the result; NULL on failure. Since 0.1.
TL_API tl_tensor *tl_mul_mat_id(tl_context *ctx, tl_tensor *a, tl_tensor *b, tl_tensor *ids);

/// A window into a's memory: n_dims dimensions `ne`, strides `nb[1..]` in bytes (n_dims - 1 values; NULL =
/// contiguous), and `offset`, in bytes from a's first element. The window must lie inside the memory of a's
/// root. Its rows may overlap, so strides given in elements by mistake are accepted too; tl_narrow() and
/// tl_slice() count in elements. `ne` and `nb` are copied. The context owns the result; NULL on failure.
/// Since 0.1.
TL_API tl_tensor *tl_view(tl_context *ctx, tl_tensor *a, int32_t n_dims, const int64_t *ne,
        const size_t *nb, size_t offset);

/// The elements `start[d]` to `start[d] + ne[d]` of each of a's dimensions, with a's strides; n_dims is at
/// least a's. In dimension 0 of a quantised type start and ne are multiples of the block size. In tl_op()
/// it is `"view"` with `start` and `ne`. A view. `start` and `ne` are copied. The context owns the result;
/// NULL on failure. Since 0.1.
TL_API tl_tensor *tl_slice(tl_context *ctx, tl_tensor *a, int32_t n_dims, const int64_t *start,
        const int64_t *ne);

/// tl_slice() in one dimension `dim`, 0 to 3: `length` elements from `start` on. The context owns the
/// result; NULL on failure. Since 0.1.
TL_API tl_tensor *tl_narrow(tl_context *ctx, tl_tensor *a, int32_t dim, int64_t start, int64_t length);

/// A part of each of a's first n_dims dimensions, and all of the others: the elements `begin[d]` to
/// `end[d]`, without the latter. If bit d of `dropped` (TL_DIM_0 and others) is set, it is the element
/// `begin[d]` alone, and the result lacks the dimension. Negative ones count from the end of the dimension: -1
/// is the last element. An end of TL_END is that of the dimension. n_dims is 0 to 4. `begin` and `end` are
/// read during the call only. A view. The context owns the result; NULL on failure. Since 0.1.
TL_API tl_tensor *tl_index(tl_context *ctx, tl_tensor *a, int32_t n_dims, const int64_t *begin,
        const int64_t *end, uint32_t dropped);

/// a's elements in another shape of the same size, in the same order. One dimension may be -1: it is
/// computed from the others. A view: if a is not contiguous, strides must be able to express the new shape,
/// otherwise apply tl_cont() first. `ne` is copied. The context owns the result; NULL on failure. Since
/// 0.1.
TL_API tl_tensor *tl_reshape(tl_context *ctx, tl_tensor *a, int32_t n_dims, const int64_t *ne);

/// a's dimensions in another order: source dimension i becomes dimension `axes[i]`. A view. `axes` has 4
/// values, a permutation of 0 to 3, and is copied. The context owns the result; NULL on failure.
/// Since 0.1.
TL_API tl_tensor *tl_permute(tl_context *ctx, tl_tensor *a, const int32_t *axes);

/// A contiguous copy in another type. Integers convert to integers exactly; F64 and integers convert to
/// each other rounded to nearest even; everything else goes through F32, rounded to nearest even or as the
/// type is encoded. Computing fails with TL_STATUS_INVALID_ARGUMENT, naming the position, for a value that
/// the type cannot hold (beyond an integer's range; NaN or infinity in a quantised type). `ne[0]` must be a
/// multiple of the type's block size. The context owns the result; NULL on failure. Since 0.1.
TL_API tl_tensor *tl_cast(tl_context *ctx, tl_tensor *a, tl_type type);

/// Concatenates n_tensors tensors along dimension `dim`, 0 to 3: at least one, all of one type, and of one
/// shape except in `dim`. `tensors` is read during the call only. The context owns the result; NULL on
/// failure. Since 0.1.
TL_API tl_tensor *tl_cat(tl_context *ctx, tl_tensor *const *tensors, size_t n_tensors, int64_t dim);

/// Stacks n_tensors tensors of one type and shape along a new dimension `dim`, which is inserted as by
/// tl_unsqueeze(): at least one tensor, of at most 3 dimensions. `tensors` is read during the call only. The
/// context owns the result; NULL on failure. Since 0.1.
TL_API tl_tensor *tl_stack(tl_context *ctx, tl_tensor *const *tensors, size_t n_tensors, int64_t dim);

/// Sums products of n_tensors tensors whose dimensions have names. `equation` has a list of letters for each
/// tensor, one for each dimension and dimension 0 first, and one for the result: `"km,kn->mn"` is
/// tl_mul_mat(). NumPy lists the same dimensions in the opposite order. Letters that the result lacks are
/// summed. Without `->`, the result has the letters that occur once, in the order of the alphabet. A letter
/// that a tensor has twice selects its diagonal. Tensors and products of two have at most 4 dimensions.
/// Types: F32, F16 or BF16, and weights that tl_mul_mat() takes, with its rounding. `equation` and `tensors`
/// are read during the call only. The context owns the result; NULL on failure. Since 0.1.
TL_API tl_tensor *tl_einsum(tl_context *ctx, const char *equation, tl_tensor *const *tensors,
        size_t n_tensors);

/// Fails if `b` would repeat as tiles: if one of its extents is neither 1 nor that of `a`, but divides it.
/// tl_add() and others take such operands; the operators of bindings call this function first, so that a slip is
/// an error. `op` is the name of an operation with two operands, such as "add". All other extents are tl_add()'s
/// to check. TL_STATUS_SHAPE_MISMATCH: b would repeat; the message shows both shapes. TL_STATUS_INVALID_ARGUMENT:
/// an operand is NULL, or there is no such operation. Any thread. Since 0.1.
TL_API TL_NODISCARD tl_status tl_refuse_tiles(const char *op, const tl_tensor *a, const tl_tensor *b,
        tl_error *err);

/// Makes the node of any operation by name, for tools, tests and bindings that enumerate operations. `src`
/// has n_src operands; optional ones may be tl_none(), or missing at the end. `attrs` has n_attrs
/// attributes. Both may be NULL if their count is 0, and are read during the call only. docs/ops.md lists
/// names and attributes; an optional attribute of 0 has its default. Unknown, missing or malformed ones are
/// TL_STATUS_INVALID_ARGUMENT. The context owns the result; NULL on failure. Since 0.1.
TL_API tl_tensor *tl_op(tl_context *ctx, const char *op, tl_tensor *const *src, size_t n_src,
        const tl_attr *attrs, size_t n_attrs);

/// Stands for an operand that is left out, in the middle or at the end. It is never NULL, because NULL is
/// the result of a failed constructor. It is always the same pointer, belongs to no context and must not be
/// freed. Only constructors of nodes accept it; for other functions it is not a tensor. Any thread. Since
/// 0.1.
TL_API tl_tensor *tl_none(void);

/// The number of operations. Any thread. Since 0.1.
TL_API size_t tl_op_count(void);

/// An operation's name; NULL if index is not below tl_op_count(). Static storage, not to be freed. Any
/// thread. Since 0.1.
TL_API const char *tl_op_name(size_t index);

/* ====================================================================================================
 * Functions of operations
 *
 * Arguments are the operands, then the required attributes, then a struct of the optional attributes. NULL for
 * that struct selects the defaults, as does 0 for any of its members. It is read during the call only. For an
 * optional operand, tl_none() leaves it out. A member `dims` is a set of dimensions: TL_DIM_0 | TL_DIM_2, or 0 for
 * all. A shape is `n_dims` extents, 1 to 4. The context owns the result; on failure a function returns NULL. The
 * chapter on operations says what holds for all of them.
 *
 * `tl_scale_params params = {.struct_size = sizeof params, .bias = 1};`
 *
 * `tl_tensor *c = tl_scale(ctx, tl_glu(ctx, a, tl_none(), TL_GLU_OP_SWIGLU, NULL), 2, &params);` */

/// Optional attributes of tl_scale(). Since 0.1.
typedef struct tl_scale_params {
    /// sizeof(tl_scale_params).
    size_t struct_size;
    /// Added to each product. Default: 0.
    double bias;
} tl_scale_params;

/// The attribute `op` of tl_glu(): the activation.
typedef int32_t tl_glu_op;

/// Activation tl_relu().
#define TL_GLU_OP_REGLU 0

/// Activation tl_gelu().
#define TL_GLU_OP_GEGLU 1

/// Activation tl_silu().
#define TL_GLU_OP_SWIGLU 2

/// Activation tl_gelu_erf().
#define TL_GLU_OP_GEGLU_ERF 3

/// Activation tl_gelu_quick().
#define TL_GLU_OP_GEGLU_QUICK 4

/// `g / (1 + e^(-alpha g)) * (u + 1)`, where g is min(gate, limit) and u is up, limited to -limit to limit.
#define TL_GLU_OP_SWIGLU_OAI 5

/// Optional attributes of tl_glu(). Since 0.1.
typedef struct tl_glu_params {
    /// sizeof(tl_glu_params).
    size_t struct_size;
    /// If true, the gate and up are two operands, and `b` is required. Default: false.
    bool split;
    /// If true, the gate and up are exchanged. Default: false.
    bool swapped;
    /// Factor in the logistic function of `swiglu_oai`. Other activations do not take it. Default: 1.702.
    double alpha;
    /// Limit of the gate and of up with `swiglu_oai`. Other activations do not take it. Range: 1e-6 to
    /// 1e38. Default: 7.
    double limit;
} tl_glu_params;

/// Optional attributes of tl_soft_max_ext(). Since 0.1.
typedef struct tl_soft_max_ext_params {
    /// sizeof(tl_soft_max_ext_params).
    size_t struct_size;
    /// Factor of `a`. Default: 1.
    double scale;
    /// Steepness of the slopes, usually 8. A value above 0 requires `mask`. Range: 0 to 10000. Default: 0.
    double max_bias;
} tl_soft_max_ext_params;

/// The attribute `mode` of tl_rope(): the elements that form pair k. Default: normal.
typedef int32_t tl_rope_mode;

/// Elements 2 k and 2 k + 1.
#define TL_ROPE_MODE_NORMAL 0

/// Elements k and k + n_dims / 2.
#define TL_ROPE_MODE_NEOX 1

/// Elements k and k + n_dims / 2, with four positions for each token, see `sections`.
#define TL_ROPE_MODE_MROPE 2

/// As mrope, with sections that take turns pair by pair.
#define TL_ROPE_MODE_IMROPE 3

/// Elements k and k + n_dims, with four positions for each token, see `sections`.
#define TL_ROPE_MODE_VISION 4

/// Optional attributes of tl_rope(). Since 0.1.
typedef struct tl_rope_params {
    /// sizeof(tl_rope_params).
    size_t struct_size;
    /// The elements that form pair k. Default: normal.
    tl_rope_mode mode;
    /// Number of elements of each row that are rotated, from `offset` on; with `vision`, half of that
    /// number. It must be even, except with `vision`. 0 rotates all. Range: 0 to 1048576. Default: 0.
    int64_t n_dims;
    /// The first element that is rotated. Range: 0 to 1048576. Default: 0.
    int64_t offset;
    /// For `mrope`, `imrope` and `vision` only: the number of consecutive pairs that use the first position
    /// of a token, the second, the third and the fourth. After these pairs the sequence repeats. With
    /// `imrope`, let z be k modulo the sum of the sections: a pair uses position z mod 3, or the fourth if
    /// z / 3 is not below that section. Each 0 to 1048576.
    int64_t sections[4];
    /// Context length that the model was trained for. Required if `ext_factor` is above 0. At least 0.
    /// Default: 0.
    int64_t n_ctx_orig;
    /// Base of the frequencies. Range: 0.001 to 1e38. Default: 10000.
    double freq_base;
    /// Factor of the positions, which stretches the context. Range: 1e-6 to 1000000. Default: 1.
    double freq_scale;
    /// Strength of YaRN. 0 disables it. Range: 0 to 1000000. Default: 0.
    double ext_factor;
    /// Factor of the result. Range: 1e-6 to 1000000. Default: 1.
    double attn_factor;
    /// Pairs with more turns than this within `n_ctx_orig` are not stretched. Range: 1e-6 to 1000000000.
    /// Default: 32.
    double beta_fast;
    /// Pairs with fewer turns than this within `n_ctx_orig` are stretched fully. Range: 1e-6 to 1000000000.
    /// Default: 1.
    double beta_slow;
    /// If true, rotates in the opposite direction, by -t. Default: false.
    bool inverse;
} tl_rope_params;

/// Optional attributes of tl_flash_attn_ext(). Since 0.1.
typedef struct tl_flash_attn_ext_params {
    /// sizeof(tl_flash_attn_ext_params).
    size_t struct_size;
    /// Factor of the products. 0 selects 1 / sqrt(n). Default: 0.
    double scale;
    /// Steepness of the slopes, usually 8. A value above 0 requires `mask`. Range: 0 to 10000. Default: 0.
    double max_bias;
    /// Soft cap of the scaled products. 0 disables it. Range: 0 to 1000000. Default: 0.
    double logit_softcap;
} tl_flash_attn_ext_params;

/// Optional attributes of tl_paged_attention(). Since 0.1.
typedef struct tl_paged_attention_params {
    /// sizeof(tl_paged_attention_params).
    size_t struct_size;
    /// Rows of a page. Range: 1 to 65536. Default: 64.
    int64_t page;
    /// Number of keys that a token sees, including its own. 0: all. At least 0. Default: 0.
    int64_t window;
    /// Factor of the products. 0 selects 1 / sqrt(n). Default: 0.
    double scale;
    /// Soft cap of the scaled products. 0 disables it. Range: 0 to 1000000. Default: 0.
    double logit_softcap;
} tl_paged_attention_params;

/// Optional attributes of tl_sum(). Since 0.1.
typedef struct tl_sum_params {
    /// sizeof(tl_sum_params).
    size_t struct_size;
    /// The dimensions to reduce, in any order. Each 0 to 3. Default: all.
    uint32_t dims;
    /// Whether the reduced dimensions stay, with 1 element each. Default: false.
    bool keep;
} tl_sum_params;

/// Optional attributes of tl_mean(). Since 0.1.
typedef struct tl_mean_params {
    /// sizeof(tl_mean_params).
    size_t struct_size;
    /// The dimensions to reduce, in any order. Each 0 to 3. Default: all.
    uint32_t dims;
    /// Whether the reduced dimensions stay, with 1 element each. Default: false.
    bool keep;
} tl_mean_params;

/// Optional attributes of tl_argmax(). Since 0.1.
typedef struct tl_argmax_params {
    /// sizeof(tl_argmax_params).
    size_t struct_size;
    /// The dimensions to reduce, in any order. Each 0 to 3. Default: all.
    uint32_t dims;
    /// Whether the reduced dimensions stay, with 1 element each. Default: false.
    bool keep;
} tl_argmax_params;

/// The attribute `order` of tl_argsort(): the direction. Default: asc.
typedef int32_t tl_argsort_order;

/// Smallest element first.
#define TL_ARGSORT_ORDER_ASC 0

/// Largest element first.
#define TL_ARGSORT_ORDER_DESC 1

/// Optional attributes of tl_argsort(). Since 0.1.
typedef struct tl_argsort_params {
    /// sizeof(tl_argsort_params).
    size_t struct_size;
    /// The direction. Default: asc.
    tl_argsort_order order;
} tl_argsort_params;

/// Optional attributes of tl_max(). Since 0.1.
typedef struct tl_max_params {
    /// sizeof(tl_max_params).
    size_t struct_size;
    /// The dimensions to reduce, in any order. Each 0 to 3. Default: all.
    uint32_t dims;
    /// Whether the reduced dimensions stay, with 1 element each. Default: false.
    bool keep;
} tl_max_params;

/// Optional attributes of tl_min(). Since 0.1.
typedef struct tl_min_params {
    /// sizeof(tl_min_params).
    size_t struct_size;
    /// The dimensions to reduce, in any order. Each 0 to 3. Default: all.
    uint32_t dims;
    /// Whether the reduced dimensions stay, with 1 element each. Default: false.
    bool keep;
} tl_min_params;

/// Optional attributes of tl_argmin(). Since 0.1.
typedef struct tl_argmin_params {
    /// sizeof(tl_argmin_params).
    size_t struct_size;
    /// The dimensions to reduce, in any order. Each 0 to 3. Default: all.
    uint32_t dims;
    /// Whether the reduced dimensions stay, with 1 element each. Default: false.
    bool keep;
} tl_argmin_params;

/// Optional attributes of tl_var(). Since 0.1.
typedef struct tl_var_params {
    /// sizeof(tl_var_params).
    size_t struct_size;
    /// The dimensions to reduce, in any order. Each 0 to 3. Default: all.
    uint32_t dims;
    /// Whether the reduced dimensions stay, with 1 element each. Default: false.
    bool keep;
} tl_var_params;

/// Optional attributes of tl_std(). Since 0.1.
typedef struct tl_std_params {
    /// sizeof(tl_std_params).
    size_t struct_size;
    /// The dimensions to reduce, in any order. Each 0 to 3. Default: all.
    uint32_t dims;
    /// Whether the reduced dimensions stay, with 1 element each. Default: false.
    bool keep;
} tl_std_params;

/// Optional attributes of tl_prod(). Since 0.1.
typedef struct tl_prod_params {
    /// sizeof(tl_prod_params).
    size_t struct_size;
    /// The dimensions to reduce, in any order. Each 0 to 3. Default: all.
    uint32_t dims;
    /// Whether the reduced dimensions stay, with 1 element each. Default: false.
    bool keep;
} tl_prod_params;

/// Optional attributes of tl_any(). Since 0.1.
typedef struct tl_any_params {
    /// sizeof(tl_any_params).
    size_t struct_size;
    /// The dimensions to reduce, in any order. Each 0 to 3. Default: all.
    uint32_t dims;
    /// Whether the reduced dimensions stay, with 1 element each. Default: false.
    bool keep;
} tl_any_params;

/// Optional attributes of tl_all(). Since 0.1.
typedef struct tl_all_params {
    /// sizeof(tl_all_params).
    size_t struct_size;
    /// The dimensions to reduce, in any order. Each 0 to 3. Default: all.
    uint32_t dims;
    /// Whether the reduced dimensions stay, with 1 element each. Default: false.
    bool keep;
} tl_all_params;

/// Optional attributes of tl_log_sum_exp(). Since 0.1.
typedef struct tl_log_sum_exp_params {
    /// sizeof(tl_log_sum_exp_params).
    size_t struct_size;
    /// The dimensions to reduce, in any order. Each 0 to 3. Default: all.
    uint32_t dims;
    /// Whether the reduced dimensions stay, with 1 element each. Default: false.
    bool keep;
} tl_log_sum_exp_params;

/// Optional attributes of tl_pad(). Since 0.1.
typedef struct tl_pad_params {
    /// sizeof(tl_pad_params).
    size_t struct_size;
    /// Number of elements before the first one of each dimension. Each at least 0.
    int64_t lp[4];
    /// If true, `a` repeats instead of zeros. Default: false.
    bool circular;
} tl_pad_params;

/// The attribute `part` of tl_tri(): the triangle that is kept.
typedef int32_t tl_tri_type;

/// i0 < i1, the lower triangle without the diagonal.
#define TL_TRI_TYPE_LOWER 0

/// i0 <= i1, the lower triangle with the diagonal.
#define TL_TRI_TYPE_LOWER_DIAG 1

/// i1 < i0, the upper triangle without the diagonal.
#define TL_TRI_TYPE_UPPER 2

/// i1 <= i0, the upper triangle with the diagonal.
#define TL_TRI_TYPE_UPPER_DIAG 3

/// Optional attributes of tl_acc(). Since 0.1.
typedef struct tl_acc_params {
    /// sizeof(tl_acc_params).
    size_t struct_size;
    /// Stride in bytes from one row of the window to the next. 0 selects that of `c`. At least 0.
    /// Default: 0.
    int64_t nb1;
    /// Stride in bytes from one matrix of the window to the next. 0 selects that of `c`. At least 0.
    /// Default: 0.
    int64_t nb2;
    /// Stride in bytes of dimension 3 of the window. 0 selects that of `c`. At least 0. Default: 0.
    int64_t nb3;
    /// Start of the window, in bytes. At least 0. Default: 0.
    int64_t offset;
} tl_acc_params;

/// Optional attributes of tl_set(). Since 0.1.
typedef struct tl_set_params {
    /// sizeof(tl_set_params).
    size_t struct_size;
    /// Stride in bytes from one row of the window to the next. 0 selects that of `c`. At least 0.
    /// Default: 0.
    int64_t nb1;
    /// Stride in bytes from one matrix of the window to the next. 0 selects that of `c`. At least 0.
    /// Default: 0.
    int64_t nb2;
    /// Stride in bytes of dimension 3 of the window. 0 selects that of `c`. At least 0. Default: 0.
    int64_t nb3;
    /// Start of the window, in bytes. At least 0. Default: 0.
    int64_t offset;
} tl_set_params;

/// The attribute `mode` of tl_upscale(): the interpolation. Default: nearest.
typedef int32_t tl_upscale_mode;

/// The nearest pixel.
#define TL_UPSCALE_MODE_NEAREST 0

/// Linear interpolation in both dimensions.
#define TL_UPSCALE_MODE_BILINEAR 1

/// Cubic interpolation in both dimensions.
#define TL_UPSCALE_MODE_BICUBIC 2

/// Optional attributes of tl_upscale(). Since 0.1.
typedef struct tl_upscale_params {
    /// sizeof(tl_upscale_params).
    size_t struct_size;
    /// Factor of the width and of the height. 0: `ne` is the size. At least 0. Default: 0.
    int64_t factor;
    /// The interpolation. Default: nearest.
    tl_upscale_mode mode;
    /// Shape of the result. Dimensions that it lacks are 1. Each at least 0.
    int64_t ne[4];
    /// If true, the centres of the pixels in the corners stay where they are. Default: false.
    bool align_corners;
    /// If true, `bilinear` takes all pixels into account that an image becomes smaller by. Default: false.
    bool antialias;
} tl_upscale_params;

/// The attribute `op` of tl_pool_1d(): the operation on a window.
typedef int32_t tl_pool_1d_op;

/// The maximum.
#define TL_POOL_1D_OP_MAX 0

/// The average.
#define TL_POOL_1D_OP_AVG 1

/// Optional attributes of tl_pool_1d(). Since 0.1.
typedef struct tl_pool_1d_params {
    /// sizeof(tl_pool_1d_params).
    size_t struct_size;
    /// Stride of the windows. 0 selects `k`. At least 0. Default: 0.
    int64_t s;
    /// Padding at both ends of a row. At least 0. Default: 0.
    int64_t p;
    /// If true, an average counts padding as zeros. Default: false.
    bool count_padding;
} tl_pool_1d_params;

/// The attribute `op` of tl_pool_2d(): the operation on a window.
typedef int32_t tl_pool_2d_op;

/// The maximum.
#define TL_POOL_2D_OP_MAX 0

/// The average.
#define TL_POOL_2D_OP_AVG 1

/// Optional attributes of tl_pool_2d(). Since 0.1.
typedef struct tl_pool_2d_params {
    /// sizeof(tl_pool_2d_params).
    size_t struct_size;
    /// Stride of the windows in dimension 0. 0 selects `k0`. At least 0. Default: 0.
    int64_t s0;
    /// Stride of the windows in dimension 1. 0 selects `k1`. At least 0. Default: 0.
    int64_t s1;
    /// Padding at both ends of dimension 0. At least 0. Default: 0.
    int64_t p0;
    /// Padding at both ends of dimension 1. At least 0. Default: 0.
    int64_t p1;
    /// If true, an average does not count padding. Default: false.
    bool skip_padding;
} tl_pool_2d_params;

/// The attribute `to` of tl_im2col(): type of the result. Default: f32.
typedef int32_t tl_im2col_to;

/// `f32`.
#define TL_IM2COL_TO_F32 0

/// `f16`.
#define TL_IM2COL_TO_F16 1

/// `bf16`.
#define TL_IM2COL_TO_BF16 2

/// Optional attributes of tl_im2col(). Since 0.1.
typedef struct tl_im2col_params {
    /// sizeof(tl_im2col_params).
    size_t struct_size;
    /// Stride of the windows in dimension 0. At least 1. Default: 1.
    int64_t s0;
    /// Stride of the windows in dimension 1. At least 1. Default: 1.
    int64_t s1;
    /// Padding at both ends of dimension 0. At least 0. Default: 0.
    int64_t p0;
    /// Padding at both ends of dimension 1. At least 0. Default: 0.
    int64_t p1;
    /// Dilation: the distance between the taps of a window in dimension 0. At least 1. Default: 1.
    int64_t d0;
    /// Dilation: the distance between the taps of a window in dimension 1. At least 1. Default: 1.
    int64_t d1;
    /// If true, `b` has images, else signals. Default: false.
    bool is_2d;
    /// Type of the result. Default: f32.
    tl_im2col_to to;
} tl_im2col_params;

/// Optional attributes of tl_conv_1d(). Since 0.1.
typedef struct tl_conv_1d_params {
    /// sizeof(tl_conv_1d_params).
    size_t struct_size;
    /// Stride of the windows. At least 1. Default: 1.
    int64_t s;
    /// Padding at both ends of a row. At least 0. Default: 0.
    int64_t p;
    /// Dilation: the distance between the taps of a window. At least 1. Default: 1.
    int64_t d;
} tl_conv_1d_params;

/// Optional attributes of tl_conv_2d(). Since 0.1.
typedef struct tl_conv_2d_params {
    /// sizeof(tl_conv_2d_params).
    size_t struct_size;
    /// Stride of the windows in dimension 0. At least 1. Default: 1.
    int64_t s0;
    /// Stride of the windows in dimension 1. At least 1. Default: 1.
    int64_t s1;
    /// Padding at both ends of dimension 0. At least 0. Default: 0.
    int64_t p0;
    /// Padding at both ends of dimension 1. At least 0. Default: 0.
    int64_t p1;
    /// Dilation: the distance between the taps of a window in dimension 0. At least 1. Default: 1.
    int64_t d0;
    /// Dilation: the distance between the taps of a window in dimension 1. At least 1. Default: 1.
    int64_t d1;
} tl_conv_2d_params;

/// Optional attributes of tl_conv_1d_dw(). Since 0.1.
typedef struct tl_conv_1d_dw_params {
    /// sizeof(tl_conv_1d_dw_params).
    size_t struct_size;
    /// Stride of the windows. At least 1. Default: 1.
    int64_t s;
    /// Padding at both ends of a row. At least 0. Default: 0.
    int64_t p;
    /// Dilation: the distance between the taps of a window. At least 1. Default: 1.
    int64_t d;
} tl_conv_1d_dw_params;

/// Optional attributes of tl_conv_2d_dw(). Since 0.1.
typedef struct tl_conv_2d_dw_params {
    /// sizeof(tl_conv_2d_dw_params).
    size_t struct_size;
    /// Stride of the windows in dimension 0. At least 1. Default: 1.
    int64_t s0;
    /// Stride of the windows in dimension 1. At least 1. Default: 1.
    int64_t s1;
    /// Padding at both ends of dimension 0. At least 0. Default: 0.
    int64_t p0;
    /// Padding at both ends of dimension 1. At least 0. Default: 0.
    int64_t p1;
    /// Dilation: the distance between the taps of a window in dimension 0. At least 1. Default: 1.
    int64_t d0;
    /// Dilation: the distance between the taps of a window in dimension 1. At least 1. Default: 1.
    int64_t d1;
} tl_conv_2d_dw_params;

/// Optional attributes of tl_conv_transpose_1d(). Since 0.1.
typedef struct tl_conv_transpose_1d_params {
    /// sizeof(tl_conv_transpose_1d_params).
    size_t struct_size;
    /// Distance in the result of elements that are neighbours in `b`. At least 1. Default: 1.
    int64_t s;
    /// Number of elements cut off at both ends of the result. At least 0. Default: 0.
    int64_t p;
    /// Dilation: the distance between the taps of a window. At least 1. Default: 1.
    int64_t d;
} tl_conv_transpose_1d_params;

/// Optional attributes of tl_conv_transpose_2d(). Since 0.1.
typedef struct tl_conv_transpose_2d_params {
    /// sizeof(tl_conv_transpose_2d_params).
    size_t struct_size;
    /// Distance in the result of elements that are neighbours in `b`. At least 1. Default: 1.
    int64_t stride;
    /// Number of elements cut off at both ends of dimension 0. At least 0. Default: 0.
    int64_t p0;
    /// Number of elements cut off at both ends of dimension 1. At least 0. Default: 0.
    int64_t p1;
    /// Dilation: the distance between the taps of a window in dimension 0. At least 1. Default: 1.
    int64_t d0;
    /// Dilation: the distance between the taps of a window in dimension 1. At least 1. Default: 1.
    int64_t d1;
} tl_conv_transpose_2d_params;

/// The attribute `to` of tl_im2col_3d(): type of the result. Default: f32.
typedef int32_t tl_im2col_3d_to;

/// `f32`.
#define TL_IM2COL_3D_TO_F32 0

/// `f16`.
#define TL_IM2COL_3D_TO_F16 1

/// `bf16`.
#define TL_IM2COL_3D_TO_BF16 2

/// Optional attributes of tl_im2col_3d(). Since 0.1.
typedef struct tl_im2col_3d_params {
    /// sizeof(tl_im2col_3d_params).
    size_t struct_size;
    /// Stride of the windows in dimension 0. At least 1. Default: 1.
    int64_t s0;
    /// Stride of the windows in dimension 1. At least 1. Default: 1.
    int64_t s1;
    /// Stride of the windows in dimension 2. At least 1. Default: 1.
    int64_t s2;
    /// Padding at both ends of dimension 0. At least 0. Default: 0.
    int64_t p0;
    /// Padding at both ends of dimension 1. At least 0. Default: 0.
    int64_t p1;
    /// Padding at both ends of dimension 2. At least 0. Default: 0.
    int64_t p2;
    /// Dilation: the distance between the taps of a window in dimension 0. At least 1. Default: 1.
    int64_t d0;
    /// Dilation: the distance between the taps of a window in dimension 1. At least 1. Default: 1.
    int64_t d1;
    /// Dilation: the distance between the taps of a window in dimension 2. At least 1. Default: 1.
    int64_t d2;
    /// Type of the result. Default: f32.
    tl_im2col_3d_to to;
} tl_im2col_3d_params;

/// Optional attributes of tl_conv_3d(). Since 0.1.
typedef struct tl_conv_3d_params {
    /// sizeof(tl_conv_3d_params).
    size_t struct_size;
    /// Stride of the windows in dimension 0. At least 1. Default: 1.
    int64_t s0;
    /// Stride of the windows in dimension 1. At least 1. Default: 1.
    int64_t s1;
    /// Stride of the windows in dimension 2. At least 1. Default: 1.
    int64_t s2;
    /// Padding at both ends of dimension 0. At least 0. Default: 0.
    int64_t p0;
    /// Padding at both ends of dimension 1. At least 0. Default: 0.
    int64_t p1;
    /// Padding at both ends of dimension 2. At least 0. Default: 0.
    int64_t p2;
    /// Dilation: the distance between the taps of a window in dimension 0. At least 1. Default: 1.
    int64_t d0;
    /// Dilation: the distance between the taps of a window in dimension 1. At least 1. Default: 1.
    int64_t d1;
    /// Dilation: the distance between the taps of a window in dimension 2. At least 1. Default: 1.
    int64_t d2;
} tl_conv_3d_params;

/// Optional attributes of tl_ssm_conv(). Since 0.1.
typedef struct tl_ssm_conv_params {
    /// sizeof(tl_ssm_conv_params).
    size_t struct_size;
    /// If true, `silu` is applied to the sums. Default: false.
    bool silu;
} tl_ssm_conv_params;

/// Optional attributes of tl_opt_step_momentum(). Since 0.1.
typedef struct tl_opt_step_momentum_params {
    /// sizeof(tl_opt_step_momentum_params).
    size_t struct_size;
    /// If true, the last term is `rate (grad[i] + momentum velocity[i])` (Nesterov). Default: false.
    bool nesterov;
} tl_opt_step_momentum_params;

/// The attribute `by` of tl_mul_mat_sparse(): the test for active neurons, where s is the score. A NaN is
/// not active. Default: score.
typedef int32_t tl_mul_mat_sparse_by;

/// s >= threshold.
#define TL_MUL_MAT_SPARSE_BY_SCORE 0

/// abs(s) >= threshold.
#define TL_MUL_MAT_SPARSE_BY_MAGNITUDE 1

/// s > 0.
#define TL_MUL_MAT_SPARSE_BY_POSITIVE 2

/// Optional attributes of tl_mul_mat_sparse(). Since 0.1.
typedef struct tl_mul_mat_sparse_params {
    /// sizeof(tl_mul_mat_sparse_params).
    size_t struct_size;
    /// The test for active neurons, where s is the score. A NaN is not active. Default: score.
    tl_mul_mat_sparse_by by;
    /// Threshold of the tests `score` and `magnitude`, rounded to F32. Default: 0.
    double threshold;
    /// Number of neurons. Required with `rows` and without `scores`. At least 0. Default: 0.
    int64_t n;
    /// If true, no kernel rounds an operand. Default: false.
    bool exact;
} tl_mul_mat_sparse_params;

/// The attribute `by` of tl_axpy(): the test for active neurons, where s is the score or, without `scores`,
/// the element of `h`. A NaN in `scores` is not active, and a NaN in `h` is. Default: score.
typedef int32_t tl_axpy_by;

/// s >= threshold.
#define TL_AXPY_BY_SCORE 0

/// abs(s) >= threshold.
#define TL_AXPY_BY_MAGNITUDE 1

/// s > 0.
#define TL_AXPY_BY_POSITIVE 2

/// Optional attributes of tl_axpy(). Since 0.1.
typedef struct tl_axpy_params {
    /// sizeof(tl_axpy_params).
    size_t struct_size;
    /// The test for active neurons, where s is the score or, without `scores`, the element of `h`. A NaN in
    /// `scores` is not active, and a NaN in `h` is. Default: score.
    tl_axpy_by by;
    /// Threshold of the tests `score` and `magnitude`, rounded to F32. Default: 0.
    double threshold;
} tl_axpy_params;

/// The attribute `activation` of tl_sparse_ffn(): the activation of the gate. Default: relu.
typedef int32_t tl_sparse_ffn_activation;

/// `relu`.
#define TL_SPARSE_FFN_ACTIVATION_RELU 0

/// `silu`.
#define TL_SPARSE_FFN_ACTIVATION_SILU 1

/// `gelu`.
#define TL_SPARSE_FFN_ACTIVATION_GELU 2

/// The attribute `by` of tl_sparse_ffn(): the test for active neurons, where s is the score or, without
/// `scores`, the element of the projection. A NaN in `scores` is not active, and a NaN in a projection is.
/// Default: score.
typedef int32_t tl_sparse_ffn_by;

/// s >= threshold.
#define TL_SPARSE_FFN_BY_SCORE 0

/// abs(s) >= threshold.
#define TL_SPARSE_FFN_BY_MAGNITUDE 1

/// s > 0.
#define TL_SPARSE_FFN_BY_POSITIVE 2

/// The attribute `first` of tl_sparse_ffn(): the projection that is computed for all neurons and tested, if
/// there are no `scores`. Default: gate.
typedef int32_t tl_sparse_ffn_first;

/// `gate`.
#define TL_SPARSE_FFN_FIRST_GATE 0

/// `up`.
#define TL_SPARSE_FFN_FIRST_UP 1

/// Optional attributes of tl_sparse_ffn(). Since 0.1.
typedef struct tl_sparse_ffn_params {
    /// sizeof(tl_sparse_ffn_params).
    size_t struct_size;
    /// The activation of the gate. Default: relu.
    tl_sparse_ffn_activation activation;
    /// The test for active neurons, where s is the score or, without `scores`, the element of the
    /// projection. A NaN in `scores` is not active, and a NaN in a projection is. Default: score.
    tl_sparse_ffn_by by;
    /// Threshold of the tests `score` and `magnitude`, rounded to F32. Default: 0.
    double threshold;
    /// The projection that is computed for all neurons and tested, if there are no `scores`. Default: gate.
    tl_sparse_ffn_first first;
} tl_sparse_ffn_params;

/// Optional attributes of tl_gated_delta_net(). Since 0.1.
typedef struct tl_gated_delta_net_params {
    /// sizeof(tl_gated_delta_net_params).
    size_t struct_size;
    /// Number of states that the second result has for each sequence, the newest first. Range: 1
    /// to 1048576. Default: 1.
    int64_t n_states;
} tl_gated_delta_net_params;

/// Optional attributes of tl_ssm_scan(). Since 0.1.
typedef struct tl_ssm_scan_params {
    /// sizeof(tl_ssm_scan_params).
    size_t struct_size;
    /// Number of states that the second result has for each sequence, the newest first. Range: 1
    /// to 1048576. Default: 1.
    int64_t n_states;
} tl_ssm_scan_params;

/// Adds `b` to `a`, element-wise.
///
/// Computes `c[i] = a[i mod shape(a)] + b[i mod shape(b)]`.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
///   elements then repeat as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are each F32, F16 or BF16, computed in F32 and rounded once; or both I32, I64
///   or F64, computed in this type. Integers wrap around where they overflow.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_add(tl_context *ctx, tl_tensor *a, tl_tensor *b);

/// Subtracts `b` from `a`, element-wise.
///
/// Computes `c[i] = a[i mod shape(a)] - b[i mod shape(b)]`.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
///   elements then repeat as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are each F32, F16 or BF16, computed in F32 and rounded once; or both I32, I64
///   or F64, computed in this type. Integers wrap around where they overflow.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_sub(tl_context *ctx, tl_tensor *a, tl_tensor *b);

/// Multiplies `a` by `b`, element-wise.
///
/// Computes `c[i] = a[i mod shape(a)] * b[i mod shape(b)]`.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
///   elements then repeat as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are each F32, F16 or BF16, computed in F32 and rounded once; or both I32, I64
///   or F64, computed in this type. Integers wrap around where they overflow.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_mul(tl_context *ctx, tl_tensor *a, tl_tensor *b);

/// Divides `a` by `b`, element-wise.
///
/// Computes `c[i] = a[i mod shape(a)] / b[i mod shape(b)]`.
///
/// Dividing a float by 0 gives an infinity, and 0 / 0 gives NaN. A quotient of integers is rounded
/// towards 0.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
///   elements then repeat as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are each F32, F16 or BF16, computed in F32 and rounded once; or both I32, I64
///   or F64, computed in this type. Integers wrap around where they overflow.
/// - Result: The type of `a`.
/// - Computing fails with TL_STATUS_INVALID_ARGUMENT for an integer divisor of 0. The message names the
///   first such element.
///
/// Since 0.1.
TL_API tl_tensor *tl_div(tl_context *ctx, tl_tensor *a, tl_tensor *b);

/// Takes the larger of `a` and `b`, element-wise.
///
/// Computes `c[i] = max(a[i mod shape(a)], b[i mod shape(b)])`.
///
/// The result is NaN if either element is NaN. 0 counts as larger than -0.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
///   elements then repeat as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are each F32, F16 or BF16, computed in F32 and rounded once; or both I32, I64
///   or F64, computed in this type. Integers wrap around where they overflow.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_maximum(tl_context *ctx, tl_tensor *a, tl_tensor *b);

/// Takes the smaller of `a` and `b`, element-wise.
///
/// Computes `c[i] = min(a[i mod shape(a)], b[i mod shape(b)])`.
///
/// The result is NaN if either element is NaN. 0 counts as larger than -0.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
///   elements then repeat as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are each F32, F16 or BF16, computed in F32 and rounded once; or both I32, I64
///   or F64, computed in this type. Integers wrap around where they overflow.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_minimum(tl_context *ctx, tl_tensor *a, tl_tensor *b);

/// Raises `a` to the power of `b`, element-wise.
///
/// Computes `c[i] = a[i mod shape(a)] ^ b[i mod shape(b)]`.
///
/// Special cases of floats are those of C. A finite negative element to a power that is not an integer
/// gives NaN. Any element, even NaN, to the power of 0 gives 1.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
///   elements then repeat as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are each F32, F16 or BF16, computed in F32 to within 2 ulp and rounded once; or
///   both I32, I64 or F64, computed in this type. Integers wrap around where they overflow, and 0 to
///   the power of 0 is 1. F64 is within 2 ulp.
/// - Result: The type of `a`.
/// - Computing fails with TL_STATUS_INVALID_ARGUMENT for an integer exponent below 0. The message names
///   the first such element.
///
/// Since 0.1.
TL_API tl_tensor *tl_pow(tl_context *ctx, tl_tensor *a, tl_tensor *b);

/// Tests whether `a` equals `b`, element-wise: 1 if it does, 0 otherwise.
///
/// Computes `c[i] = 1 if a[i mod shape(a)] == b[i mod shape(b)] else 0`.
///
/// A comparison with NaN gives 0. 0 and -0 are equal.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
///   elements then repeat as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are each F32, F16 or BF16, compared in F32, and `c` has the type of `a`; or
///   both I32, I64 or F64, and `c` is F32.
///
/// Since 0.1.
TL_API tl_tensor *tl_eq(tl_context *ctx, tl_tensor *a, tl_tensor *b);

/// Tests whether `a` differs from `b`, element-wise: 1 if it does, 0 otherwise.
///
/// Computes `c[i] = 1 if a[i mod shape(a)] != b[i mod shape(b)] else 0`.
///
/// A comparison with NaN gives 1. 0 and -0 are equal.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
///   elements then repeat as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are each F32, F16 or BF16, compared in F32, and `c` has the type of `a`; or
///   both I32, I64 or F64, and `c` is F32.
///
/// Since 0.1.
TL_API tl_tensor *tl_ne(tl_context *ctx, tl_tensor *a, tl_tensor *b);

/// Tests whether `a` is less than `b`, element-wise: 1 if it is, 0 otherwise.
///
/// Computes `c[i] = 1 if a[i mod shape(a)] < b[i mod shape(b)] else 0`.
///
/// A comparison with NaN gives 0. 0 and -0 are equal.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
///   elements then repeat as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are each F32, F16 or BF16, compared in F32, and `c` has the type of `a`; or
///   both I32, I64 or F64, and `c` is F32.
///
/// Since 0.1.
TL_API tl_tensor *tl_lt(tl_context *ctx, tl_tensor *a, tl_tensor *b);

/// Tests whether `a` is at most `b`, element-wise: 1 if it is, 0 otherwise.
///
/// Computes `c[i] = 1 if a[i mod shape(a)] <= b[i mod shape(b)] else 0`.
///
/// A comparison with NaN gives 0. 0 and -0 are equal.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
///   elements then repeat as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are each F32, F16 or BF16, compared in F32, and `c` has the type of `a`; or
///   both I32, I64 or F64, and `c` is F32.
///
/// Since 0.1.
TL_API tl_tensor *tl_le(tl_context *ctx, tl_tensor *a, tl_tensor *b);

/// Tests whether `a` is greater than `b`, element-wise: 1 if it is, 0 otherwise.
///
/// Computes `c[i] = 1 if a[i mod shape(a)] > b[i mod shape(b)] else 0`.
///
/// A comparison with NaN gives 0. 0 and -0 are equal.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
///   elements then repeat as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are each F32, F16 or BF16, compared in F32, and `c` has the type of `a`; or
///   both I32, I64 or F64, and `c` is F32.
///
/// Since 0.1.
TL_API tl_tensor *tl_gt(tl_context *ctx, tl_tensor *a, tl_tensor *b);

/// Tests whether `a` is at least `b`, element-wise: 1 if it is, 0 otherwise.
///
/// Computes `c[i] = 1 if a[i mod shape(a)] >= b[i mod shape(b)] else 0`.
///
/// A comparison with NaN gives 0. 0 and -0 are equal.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
///   elements then repeat as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are each F32, F16 or BF16, compared in F32, and `c` has the type of `a`; or
///   both I32, I64 or F64, and `c` is F32.
///
/// Since 0.1.
TL_API tl_tensor *tl_ge(tl_context *ctx, tl_tensor *a, tl_tensor *b);

/// Adds the single element of `b` to each element of `a`.
///
/// Computes `c[i] = a[i] + b[0]`.
/// - Shapes: `c` has the shape of `a`. `b` has one element.
/// - Types: `a` and `b` are each F32, F16 or BF16, computed in F32 and rounded once; or both I32, I64
///   or F64, computed in this type. Integers wrap around where they overflow.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_add1(tl_context *ctx, tl_tensor *a, tl_tensor *b);

/// Selects elements of `a` where `condition` is not 0, and elements of `b` elsewhere.
///
/// Computes `c[i] = a[i mod shape(a)] if condition[i mod shape(condition)] != 0 else
/// b[i mod shape(b)]`.
///
/// A NaN in `condition` counts as not 0.
/// - Shapes: `condition`, `a` and `b` are broadcast to the shape of `c`. In each dimension their
///   extents are equal, or 1, whose elements repeat. An extent of `condition` or `b` may also divide
///   that of `a`, and its elements then repeat as tiles. A dimension that a shape lacks is 1.
/// - Types: `condition` is a float, an integer or BOOL. `a` and `b` have one type, which is not
///   quantised; or all three are F32, F16 or BF16, and `b` is rounded to the type of `a`. `c` has the
///   type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_where(tl_context *ctx, tl_tensor *condition, tl_tensor *a, tl_tensor *b);

/// Multiplies each element by `scale` and adds `bias`.
///
/// Computes `c[i] = a[i] * scale + bias`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: F32, F16 or BF16, computed in F32; or I32, I64 or F64, computed in this type. The product
///   and the sum are each rounded. For integers, `scale` and `bias` are integers of the type, and
///   results wrap around.
/// - Result: The type of `a`.
/// - `scale`: factor of each element.
///
/// Since 0.1.
TL_API tl_tensor *tl_scale(tl_context *ctx, tl_tensor *a, double scale, const tl_scale_params *params);

/// Limits each element to the range from `min` to `max`.
///
/// Computes `c[i] = min(max, max(min, a[i]))`.
///
/// NaN stays NaN.
/// - Shapes: `c` has the shape of `a`.
/// - Types: F32, F16 or BF16, computed in F32 and rounded once; or I32, I64 or F64, computed in this
///   type. Integers wrap around where they overflow.
/// - Result: The type of `a`.
/// - `min`: lower bound. It must not exceed `max`.
/// - `max`: upper bound.
///
/// Since 0.1.
TL_API tl_tensor *tl_clamp(tl_context *ctx, tl_tensor *a, double min, double max);

/// Fills a tensor of the shape and type of `a` with one value.
///
/// Computes `c[i] = value`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: F32, F16 or BF16, to which the value is rounded; or I32, I64 or F64. For integers, the
///   value is an integer of the type.
/// - Result: The type of `a`.
/// - `value`: value of all elements. NaN is valid.
///
/// Since 0.1.
TL_API tl_tensor *tl_fill(tl_context *ctx, tl_tensor *a, double value);

/// Replaces elements of `a` where `mask` is not 0 by a value.
///
/// Computes `c[i] = value if mask[i mod shape(mask)] != 0 else a[i]`.
///
/// A NaN in `mask` counts as not 0.
/// - Shapes: `c` has the shape of `a`. Each extent of `mask` is that of `a`, or 1.
/// - Types: `a` is F32, F16 or BF16, and the value is rounded to this type; or `a` is F64; or `a` is an
///   integer or BOOL, and the value is a number of its type. `mask` is a float, an integer or BOOL.
/// - Result: The type of `a`.
/// - `value`: the value. NaN and infinity are valid.
///
/// Since 0.1.
TL_API tl_tensor *tl_masked_fill(tl_context *ctx, tl_tensor *a, tl_tensor *mask, double value);

/// Sums outer products: of each row of `a` and the row of `b` with the same index.
///
/// Computes `c[m, n, i2, i3] = sum over k of a[m, k, i2 / (X/x), i3 / (Y/y)] * b[n, k, i2, i3]`.
///
/// This is tl_mul_mat() of both operands transposed. k = 0 gives zeros. Products and sums are computed
/// in F32, and no operand is rounded. A quantised `a` is decoded first; on the CPU this takes memory
/// for all of it.
/// - Shapes: `a` {m, k, x, y}, `b` {n, k, X, Y}, `c` {m, n, X, Y}. x divides X and y divides Y, as for
///   tl_mul_mat().
/// - Types: `a` has a float type, or a quantised type other than Q8_1 and Q8_K. `b` is F32, F16 or
///   BF16.
/// - Result: F32.
///
/// Since 0.1.
TL_API tl_tensor *tl_out_prod(tl_context *ctx, tl_tensor *a, tl_tensor *b);

/// Sums, for each expert, the outer products of the rows of `a` and `b` that `ids` assigns to it.
///
/// Computes `c[n, m, e] = sum over (u, t) with ids[u, t] = e of a[n, u mod x, t] * b[m, u, t]`.
///
/// An expert without rows gets zeros. The index -1 stands for no expert: its rows are not read.
/// Products and sums are computed in F32, in the order of the rows, (0, 0), (1, 0) and so on. No
/// operand is rounded.
/// - Shapes: `a` {n, x, tokens}, `b` {m, used, tokens}, `ids` {used, tokens}, `c` {n, m, experts}. x
///   divides used: with x = 1 all experts of a token share its row of `a`, with x = used each has a row
///   of its own.
/// - Types: `a` and `b` are each F32, F16 or BF16. `ids` is I32 or I64.
/// - Result: F32.
/// - `experts`: number of experts. Range: 0 to 2^31 - 1.
/// - Computing fails with TL_STATUS_INVALID_ARGUMENT for an index that is neither an expert nor -1. The
///   message names the first such element.
///
/// Since 0.1.
TL_API tl_tensor *tl_out_prod_id(tl_context *ctx, tl_tensor *a, tl_tensor *b, tl_tensor *ids,
        int64_t experts);

/// Solves systems of equations with triangular matrices.
///
/// Computes `sum over k of a[k, r] c[i, k] = b[i, r]`.
///
/// Row r of `a` has the coefficients of equation r, and `c` the unknowns of one system in each column.
/// Elements of `a` on the other side of the diagonal are not read. The unknowns follow one after the
/// other (substitution). A 0 on the diagonal gives infinities and NaN. For X a = b solve the transposed
/// system.
/// - Shapes: `a` {n, n, x, y}, `b` and `c` {m, n, x, y}.
/// - Types: `a` and `b` are each F32, F16 or BF16. Computed in F32.
/// - Result: F32.
/// - `left`: must be true: `a` is left of the unknowns.
/// - `lower`: whether the lower triangle of `a` is read, else the upper one.
/// - `unit`: whether 1 takes the place of the diagonal, which is then not read.
///
/// Since 0.1.
TL_API tl_tensor *tl_solve_tri(tl_context *ctx, tl_tensor *a, tl_tensor *b, bool left, bool lower,
        bool unit);

/// Swaps dimensions 0 and 1 of `a`.
///
/// Computes `c[i1, i0, i2, i3] = a[i0, i1, i2, i3]`.
/// - Shapes: `c` has the shape of `a` with the first two dimensions swapped.
/// - Types: Any type that is not quantised.
/// - Result: A view of `a`. Nothing is computed.
///
/// Since 0.1.
TL_API tl_tensor *tl_transpose(tl_context *ctx, tl_tensor *a);

/// Returns `a`, and stops gradients.
///
/// Computes `c[i] = a[i]`.
/// - Shapes: `c` has the shape and the strides of `a`.
/// - Types: Any type.
/// - Result: A view of `a`. Nothing is computed.
///
/// Since 0.1.
TL_API tl_tensor *tl_stop_gradient(tl_context *ctx, tl_tensor *a);

/// Repeats `a` along dimensions of 1 element without copying it.
///
/// Computes `c[i0, i1, i2, i3] = a[i0 mod n0, i1 mod n1, i2 mod n2, i3 mod n3]`.
///
/// The strides of the repeated dimensions are 0. Operators broadcast by themselves; tl_expand() is for
/// operations that do not. tl_repeat() copies, and repeats dimensions of any size.
/// - Shapes: `a` {n0, n1, n2, n3}. `c` differs from `a` only in dimensions in which `a` has 1 element.
/// - Types: Any type.
/// - Result: A view of `a`. Nothing is computed.
/// - `ne`: shape of the result. Dimensions that it lacks are 1. Each at least 0.
///
/// Since 0.1.
TL_API tl_tensor *tl_expand(tl_context *ctx, tl_tensor *a, int32_t n_dims, const int64_t *ne);

/// Inserts a dimension of 1 element.
///
/// Dimension d of `a` is dimension d of `c` before `dim`, and d + 1 from there on.
/// - Shapes: `a` has at most 3 dimensions, and `c` has one more.
/// - Types: Any type. If `dim` is 0, it is not quantised.
/// - Result: A view of `a`. Nothing is computed.
/// - `dim`: the inserted dimension. Range: 0 to 3.
///
/// Since 0.1.
TL_API tl_tensor *tl_unsqueeze(tl_context *ctx, tl_tensor *a, int64_t dim);

/// Removes a dimension of 1 element.
///
/// Dimension d of `a` is dimension d of `c` before `dim`, and d - 1 after it.
/// - Shapes: Dimension `dim` of `a` has 1 element. `c` has at least one dimension.
/// - Types: Any type.
/// - Result: A view of `a`. Nothing is computed.
/// - `dim`: the removed dimension. Range: 0 to 3.
///
/// Since 0.1.
TL_API tl_tensor *tl_squeeze(tl_context *ctx, tl_tensor *a, int64_t dim);

/// Joins neighbouring dimensions to one.
///
/// The elements of `c` are those of `a`, in the same order.
///
/// `c` is a view of `a` if strides can express it, as always for a contiguous `a`, and a copy
/// otherwise.
/// - Shapes: Dimension `first` of `c` has as many elements as dimensions `first` to `last` of `a`
///   together.
/// - Types: Any type.
/// - Result: The type of `a`.
/// - `first`: the first joined dimension. Range: 0 to 3.
/// - `last`: the last one. Dimensions that `a` lacks have 1 element, so 3 joins all that follow. Range:
///   0 to 3.
///
/// Since 0.1.
TL_API tl_tensor *tl_flatten(tl_context *ctx, tl_tensor *a, int64_t first, int64_t last);

/// Returns the elements of `a` with one index in a dimension, without that dimension.
///
/// Computes `c[i0, i2, i3] = a[i0, index, i2, i3]`.
///
/// The formula is for `dim` 1.
/// - Shapes: `c` has the shape of `a` without dimension `dim`.
/// - Types: Any type. If `dim` is 0, it is not quantised.
/// - Result: A view of `a`. Nothing is computed.
/// - `dim`: the dimension; 0 is the contiguous one. Range: 0 to 3.
/// - `index`: the index. Negative ones count from the end: -1 is the last.
///
/// Since 0.1.
TL_API tl_tensor *tl_select(tl_context *ctx, tl_tensor *a, int64_t dim, int64_t index);

/// Returns another result of the operation that made `a`.
///
/// c is result number `number` of the operation whose first result is `a`.
///
/// An operation with several results returns the first one. Its description says what the others are.
/// All are computed together.
/// - Shapes: Those of the operation's description.
/// - Types: Any type.
/// - Result: A view of `a`. Nothing is computed.
/// - `number`: which result. 0 is `a` itself. Range: 0 to 9.
///
/// Since 0.1.
TL_API tl_tensor *tl_result(tl_context *ctx, tl_tensor *a, int64_t number);

/// Copies `a` into contiguous memory.
///
/// Computes `c[i] = a[i]`.
/// - Shapes: `c` has the shape of `a` and is contiguous.
/// - Types: Any type. Elements are copied exactly.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_cont(tl_context *ctx, tl_tensor *a);

/// Copies the elements of `src` into `dst`.
///
/// Element j of `dst` becomes element j of `src`, where both are counted along dimension 0 first.
///
/// Later nodes of the graph that read `dst`, through any view, see the new elements. `dst` must not be
/// constant, and no two of its elements may share memory. `src` must not share memory with `dst`,
/// unless both are the same elements.
/// - Shapes: `src` and `dst` have the same number of elements.
/// - Types: Any type into any type, converted as by tl_cast().
/// - Result: A view of `dst`, which is overwritten when the node is computed. Make the result an output
///   of the graph, or use it in another node: otherwise nothing is written.
/// - Computing fails with TL_STATUS_INVALID_ARGUMENT for a value that the type of `dst` cannot hold.
///   The message names the first such element.
///
/// Since 0.1.
TL_API tl_tensor *tl_cpy(tl_context *ctx, tl_tensor *src, tl_tensor *dst);

/// Copies `a`.
///
/// Computes `c[i] = a[i]`.
/// - Shapes: `c` has the shape of `a` and is contiguous.
/// - Types: Any type. Elements are copied exactly.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_dup(tl_context *ctx, tl_tensor *a);

/// Gathers rows of `a` by index.
///
/// Computes `c[i, r, i2, i3] = a[i, rows[r, i2, i3], i2, i3]`.
/// - Shapes: `a` {n, m, x, y}, `rows` {r, x, y}, `c` {n, r, x, y}. A row may be taken any number of
///   times.
/// - Types: `a` has any type, and `rows` is I32 or I64. `c` has the type of `a` if that is an integer
///   type, and is F32 otherwise. The conversion is exact, except that F64 is rounded.
/// - Computing fails with TL_STATUS_INVALID_ARGUMENT for a row index out of range. The message names
///   the first such element.
///
/// Since 0.1.
TL_API tl_tensor *tl_get_rows(tl_context *ctx, tl_tensor *a, tl_tensor *rows);

/// Stores the rows of `b` in `a` by index.
///
/// Computes `a[i, rows[r, i2 mod x', i3 mod y'], i2, i3] = b[i, r, i2, i3]`.
///
/// If an index occurs twice, the later row remains. `a` must not be constant, and no two of its
/// elements may share memory. `a` must not share memory with `b` or `rows`.
/// - Shapes: `a` {n, m, x, y}, `b` {n, r, x, y}, `rows` {r, x', y'}. x' divides x and y' divides y.
/// - Types: `a` and `b` have any types: `b` is converted to the type of `a` as by tl_cast(). `rows` is
///   I32 or I64.
/// - Result: A view of `a`, which is overwritten when the node is computed. Make the result an output
///   of the graph, or use it in another node: otherwise nothing is written.
/// - Computing fails with TL_STATUS_INVALID_ARGUMENT for a row index out of range, whose row is not
///   stored, and for a value that the type of `a` cannot hold. The message names the first such
///   element.
///
/// Since 0.1.
TL_API tl_tensor *tl_set_rows(tl_context *ctx, tl_tensor *a, tl_tensor *b, tl_tensor *rows);

/// Gathers parts of `a` by index along a dimension.
///
/// Computes `c[i0, k, i2, i3] = a[i0, indices[k], i2, i3]`.
///
/// The formula is for `dim` 1. For another dimension, the index takes the place of i1, i2 or i3.
/// tl_get_rows() and tl_gather() do the work, and are named in errors while computing. A non-contiguous
/// `a` may be copied first.
/// - Shapes: `indices` {n}. `c` has the shape of `a` with n elements in dimension `dim`.
/// - Types: `a` has any type. If `dim` is 0, it is not quantised. `indices` is I32 or I64. `c` has the
///   type of `a`, or F32 if that is quantised. Elements are copied exactly.
/// - `dim`: the dimension; 0 is the contiguous one. Range: 0 to 3.
/// - Computing fails with TL_STATUS_INVALID_ARGUMENT for an index out of range. The message names the
///   first such element.
///
/// Since 0.1.
TL_API tl_tensor *tl_index_select(tl_context *ctx, tl_tensor *a, tl_tensor *indices, int64_t dim);

/// Takes the absolute value of each element.
///
/// Computes `c[i] = |a[i]|`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: F32, F16 or BF16, computed in F32 and rounded once; or I32, I64 or F64, computed in this
///   type. Integers wrap around where they overflow.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_abs(tl_context *ctx, tl_tensor *a);

/// Negates each element.
///
/// Computes `c[i] = -a[i]`.
///
/// The negation of 0 is -0.
/// - Shapes: `c` has the shape of `a`.
/// - Types: F32, F16 or BF16, computed in F32 and rounded once; or I32, I64 or F64, computed in this
///   type. Integers wrap around where they overflow.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_neg(tl_context *ctx, tl_tensor *a);

/// Squares each element.
///
/// Computes `c[i] = a[i] * a[i]`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: F32, F16 or BF16, computed in F32 and rounded once; or I32, I64 or F64, computed in this
///   type. Integers wrap around where they overflow.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_sqr(tl_context *ctx, tl_tensor *a);

/// Takes the square root of each element.
///
/// Computes `c[i] = sqrt(a[i])`.
///
/// Negative elements give NaN.
/// - Shapes: `c` has the shape of `a`.
/// - Types: F32, F16 or BF16, computed in F32 and rounded once; or F64.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_sqrt(tl_context *ctx, tl_tensor *a);

/// Takes the natural logarithm of each element.
///
/// Computes `c[i] = log(a[i])`.
///
/// 0 gives -infinity. Negative elements give NaN.
/// - Shapes: `c` has the shape of `a`.
/// - Types: F32, F16 or BF16. Computed in F32 to within 2 ulp and rounded once.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_log(tl_context *ctx, tl_tensor *a);

/// Raises e to the power of each element.
///
/// Computes `c[i] = e ^ a[i]`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: F32, F16 or BF16. Computed in F32 to within 1 ulp and rounded once.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_exp(tl_context *ctx, tl_tensor *a);

/// Raises e to the power of each element and subtracts 1, with full precision near 0.
///
/// Computes `c[i] = e ^ a[i] - 1`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: F32, F16 or BF16. Computed in F32 to within 2 ulp and rounded once.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_expm1(tl_context *ctx, tl_tensor *a);

/// Takes the sine of each element, in radians.
///
/// Computes `c[i] = sin(a[i])`.
///
/// Infinities give NaN.
/// - Shapes: `c` has the shape of `a`.
/// - Types: F32, F16 or BF16. Computed in F32 to within 2 ulp and rounded once.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_sin(tl_context *ctx, tl_tensor *a);

/// Takes the cosine of each element, in radians.
///
/// Computes `c[i] = cos(a[i])`.
///
/// Infinities give NaN.
/// - Shapes: `c` has the shape of `a`.
/// - Types: F32, F16 or BF16. Computed in F32 to within 2 ulp and rounded once.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_cos(tl_context *ctx, tl_tensor *a);

/// Takes the sign of each element: -1, 0 or 1.
///
/// Computes `c[i] = a[i] / |a[i]| if a[i] != 0 else a[i]`.
///
/// -0 and NaN are kept.
/// - Shapes: `c` has the shape of `a`.
/// - Types: F32, F16 or BF16, computed in F32 and rounded once; or I32, I64 or F64, computed in this
///   type. Integers wrap around where they overflow.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_sgn(tl_context *ctx, tl_tensor *a);

/// Maps positive elements to 1 and all others to 0.
///
/// Computes `c[i] = 1 if a[i] > 0 else 0`.
///
/// NaN stays NaN.
/// - Shapes: `c` has the shape of `a`.
/// - Types: F32, F16 or BF16. Computed in F32 and rounded once.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_step(tl_context *ctx, tl_tensor *a);

/// Rounds each element down to an integer.
///
/// Computes `c[i] = floor(a[i])`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: F32, F16 or BF16, computed in F32 and rounded once; or F64.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_floor(tl_context *ctx, tl_tensor *a);

/// Rounds each element up to an integer.
///
/// Computes `c[i] = ceil(a[i])`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: F32, F16 or BF16, computed in F32 and rounded once; or F64.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_ceil(tl_context *ctx, tl_tensor *a);

/// Rounds each element to the nearest integer, and halves away from 0.
///
/// Computes `c[i] = sgn(a[i]) * floor(|a[i]| + 1/2)`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: F32, F16 or BF16, computed in F32 and rounded once; or F64.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_round(tl_context *ctx, tl_tensor *a);

/// Rounds each element toward 0 to an integer.
///
/// Computes `c[i] = sgn(a[i]) * floor(|a[i]|)`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: F32, F16 or BF16, computed in F32 and rounded once; or F64.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_trunc(tl_context *ctx, tl_tensor *a);

/// Applies the error function to each element.
///
/// Computes `c[i] = 2 / sqrt(pi) * integral from 0 to a[i] of e ^ (-t^2) dt`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: F32, F16 or BF16. Computed in F32 to within 2 ulp and rounded once.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_erf(tl_context *ctx, tl_tensor *a);

/// Applies the rectified linear unit (ReLU): negative elements become 0.
///
/// Computes `c[i] = max(a[i], 0)`.
///
/// NaN stays NaN.
/// - Shapes: `c` has the shape of `a`.
/// - Types: F32, F16 or BF16. Computed in F32 and rounded once.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_relu(tl_context *ctx, tl_tensor *a);

/// Applies the logistic function to each element.
///
/// Computes `c[i] = 1 / (1 + e ^ -a[i])`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: F32, F16 or BF16. Computed in F32 with an error of at most 1e-6 of the result, and rounded
///   once.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_sigmoid(tl_context *ctx, tl_tensor *a);

/// Takes the hyperbolic tangent of each element.
///
/// Computes `c[i] = tanh(a[i])`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: F32, F16 or BF16. Computed in F32 to within 2 ulp and rounded once.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_tanh(tl_context *ctx, tl_tensor *a);

/// Applies the exponential linear unit (ELU) to each element.
///
/// Computes `c[i] = a[i] if a[i] > 0 else e ^ a[i] - 1`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: F32, F16 or BF16. Computed in F32 with an error of at most 1e-6 of the result, and rounded
///   once.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_elu(tl_context *ctx, tl_tensor *a);

/// Applies the softplus function to each element.
///
/// Computes `c[i] = log(1 + e ^ a[i])`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: F32, F16 or BF16. Computed in F32 with an error of at most 1e-6 of the result, and rounded
///   once.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_softplus(tl_context *ctx, tl_tensor *a);

/// Multiplies each element by its tl_sigmoid() (SiLU, swish).
///
/// Computes `c[i] = a[i] / (1 + e ^ -a[i])`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: F32, F16 or BF16. Computed in F32 with an error of at most 1e-6 of the result, and rounded
///   once.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_silu(tl_context *ctx, tl_tensor *a);

/// Applies the Gaussian error linear unit (GELU), approximated with tanh.
///
/// Computes `c[i] = a[i] / 2 * (1 + tanh(sqrt(2 / pi) * (a[i] + 0.044715 a[i]^3)))`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: F32, F16 or BF16. Computed in F32 with an error of at most 1e-6 of the result, and rounded
///   once.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_gelu(tl_context *ctx, tl_tensor *a);

/// Applies the Gaussian error linear unit (GELU), with the error function.
///
/// Computes `c[i] = a[i] / 2 * (1 + erf(a[i] / sqrt(2)))`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: F32, F16 or BF16. Computed in F32 with an error of at most 1e-6 of the result, and rounded
///   once.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_gelu_erf(tl_context *ctx, tl_tensor *a);

/// Applies the Gaussian error linear unit (GELU), approximated with tl_sigmoid().
///
/// Computes `c[i] = a[i] / (1 + e ^ (-1.702 a[i]))`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: F32, F16 or BF16. Computed in F32 with an error of at most 1e-6 of the result, and rounded
///   once.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_gelu_quick(tl_context *ctx, tl_tensor *a);

/// Multiplies each element by its tl_hardsigmoid().
///
/// Computes `c[i] = a[i] * min(max(a[i] + 3, 0), 6) / 6`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: F32, F16 or BF16. Computed in F32 with an error of at most 1e-6 of the result, and rounded
///   once.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_hardswish(tl_context *ctx, tl_tensor *a);

/// Approximates the tl_sigmoid() of each element by three straight lines.
///
/// Computes `c[i] = min(max(a[i] + 3, 0), 6) / 6`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: F32, F16 or BF16. Computed in F32 with an error of at most 1e-6 of the result, and rounded
///   once.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_hardsigmoid(tl_context *ctx, tl_tensor *a);

/// Applies the leaky rectified linear unit: negative elements are multiplied by `slope`.
///
/// Computes `c[i] = a[i] if a[i] > 0 else slope * a[i]`.
///
/// NaN stays NaN.
/// - Shapes: `c` has the shape of `a`.
/// - Types: F32, F16 or BF16. Computed in F32 and rounded once.
/// - Result: The type of `a`.
/// - `slope`: factor of negative elements.
///
/// Since 0.1.
TL_API tl_tensor *tl_leaky_relu(tl_context *ctx, tl_tensor *a, double slope);

/// Applies the integrated exponential linear unit (xIELU, arXiv 2411.13010) to each element.
///
/// Computes `c[i] = alpha_p a[i]^2 + beta a[i] if a[i] > 0 else alpha_n (e ^ min(a[i], eps) - 1 -
/// a[i]) + beta a[i]`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: F32, F16 or BF16. Computed in F32 with an error of at most 1e-6 of the larger of the two
///   summands, and rounded once.
/// - Result: The type of `a`.
/// - `alpha_n`: factor of the exponential part below 0, to which no softplus is applied.
/// - `alpha_p`: factor of the square above 0, to which no softplus is applied.
/// - `beta`: slope at 0.
/// - `eps`: upper bound of the exponent below 0. Models use -1e-6.
///
/// Since 0.1.
TL_API tl_tensor *tl_xielu(tl_context *ctx, tl_tensor *a, double alpha_n, double alpha_p, double beta,
        double eps);

/// Applies an activation to a gate and multiplies the result by another operand (gated linear unit).
///
/// Computes `c[i] = activation(gate[i]) * up[i]`.
/// - Shapes: With `b`: `a`, `b` and `c` have the same shape, the gate is `a` and up is `b`. Without
///   `b`: `a` is {2 n, m, x, y} and `c` is {n, m, x, y}, the gate is the first half of each row of `a`
///   and up the second half. If `a` has rows of 2 n + 1 elements, the last one is not read.
/// - Types: `a` and `b` are each F32, F16 or BF16. Computed in F32: the activation has an error of at
///   most 1e-6 of its value, and the product is rounded once.
/// - Result: The type of `a`.
/// - `b` is optional: tl_none() leaves it out.
/// - `op`: the activation.
///
/// Since 0.1.
TL_API tl_tensor *tl_glu(tl_context *ctx, tl_tensor *a, tl_tensor *b, tl_glu_op op,
        const tl_glu_params *params);

/// Subtracts the mean of each row and divides by the standard deviation (layer normalisation without
/// weight and bias).
///
/// Computes `c[i, r] = (a[i, r] - mean(a[r])) / sqrt(variance(a[r]) + eps)`; `variance(x) = mean((x -
/// mean(x))^2)`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: F32, F16 or BF16. Sums are computed as by tl_sum(), everything else in F32. The result is
///   rounded once.
/// - Result: The type of `a`.
/// - `eps`: added to the variance, so that rows without variation become 0. Range: 0 to 1e38.
///
/// Since 0.1.
TL_API tl_tensor *tl_norm(tl_context *ctx, tl_tensor *a, double eps);

/// Divides each row by its root mean square.
///
/// Computes `c[i, r] = a[i, r] / sqrt(mean(a[r]^2) + eps)`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: F32, F16 or BF16. Sums are computed as by tl_sum(), everything else in F32. The result is
///   rounded once.
/// - Result: The type of `a`.
/// - `eps`: added to the mean square, so that rows of zeros stay zeros. Range: 0 to 1e38.
///
/// Since 0.1.
TL_API tl_tensor *tl_rms_norm(tl_context *ctx, tl_tensor *a, double eps);

/// Divides each row by its Euclidean length.
///
/// Computes `c[i, r] = a[i, r] / max(sqrt(sum(a[r]^2)), eps)`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: F32, F16 or BF16. Sums are computed as by tl_sum(), everything else in F32. The result is
///   rounded once.
/// - Result: The type of `a`.
/// - `eps`: smallest divisor, so that rows of zeros stay zeros. Range: 0 to 1e38.
///
/// Since 0.1.
TL_API tl_tensor *tl_l2_norm(tl_context *ctx, tl_tensor *a, double eps);

/// Subtracts the mean of each group of channels and divides by the standard deviation.
///
/// Computes `c[i] = (a[i] - mean(G)) / sqrt(variance(G) + eps)`.
///
/// G is the group of `a[i]`. The channels are dimension 2. With k = ceil(channels / groups), group j
/// has the channels j k to j k + k - 1; the last groups have the channels that remain.
/// - Shapes: `a` {n, m, channels, batch}. `c` has the shape of `a`.
/// - Types: F32, F16 or BF16. Sums are computed as by tl_sum(), everything else in F32. The result is
///   rounded once.
/// - Result: The type of `a`.
/// - `groups`: number of groups. At most the number of channels. At least 1.
/// - `eps`: added to the variance, so that groups without variation become 0. Range: 0 to 1e38.
///
/// Since 0.1.
TL_API tl_tensor *tl_group_norm(tl_context *ctx, tl_tensor *a, int64_t groups, double eps);

/// Computes the softmax of each row: weights that sum to 1.
///
/// Computes `c[i, r] = e^(a[i, r] - max(a[r])) / sum over j of e^(a[j, r] - max(a[r]))`.
///
/// -infinity has the weight 0. A row that has only -infinity, or has NaN or infinity in it, becomes
/// NaN.
/// - Shapes: `c` has the shape of `a`.
/// - Types: F32, F16 or BF16. Sums are computed as by tl_sum(), everything else in F32. The result is
///   rounded once.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_soft_max(tl_context *ctx, tl_tensor *a);

/// Scales and masks each row and computes its softmax (attention weights).
///
/// Computes `x[i] = scale a[i, r] + slope(h) mask[i, r]`; `c[i, r] = e^(x[i] - m) / (e^(sinks[h] - m) +
/// sum over j of e^(x[j] - m))`.
///
/// m is the largest of x and `sinks[h]`, and h is the index in dimension 2, the head. The terms of an
/// operand that is left out are dropped. slope(h) is 1 if `max_bias` is 0. Otherwise let p be the
/// largest power of 2 that is at most the number of heads: slope(h) is 2^(-max_bias (h + 1) / p) for h
/// < p, and 2^(-max_bias (2 (h - p) + 1) / (2 p)) for the other heads (Press, Smith and Lewis, Train
/// Short, Test Long, 2022). -infinity has the weight 0. Without `sinks`, a row that has only -infinity
/// becomes NaN. A row with NaN or infinity in it becomes NaN.
/// - Shapes: `a` {n, m, heads, batch}, `mask` {n, m', x, y}, `sinks` {heads}. `c` has the shape of `a`.
///   m' is at least m; further rows of `mask` are not read. x divides heads and y divides batch.
/// - Types: `a` and `mask` are each F32, F16 or BF16, and `sinks` is F32. Sums are computed as by
///   tl_sum(), everything else in F32. The result is rounded once.
/// - Result: The type of `a`.
/// - `mask` and `sinks` are optional: tl_none() leaves one out.
///
/// Since 0.1.
TL_API tl_tensor *tl_soft_max_ext(tl_context *ctx, tl_tensor *a, tl_tensor *mask, tl_tensor *sinks,
        const tl_soft_max_ext_params *params);

/// Computes the logarithm of the tl_soft_max() of each row.
///
/// Computes `c[i, r] = a[i, r] - m - log(sum over j of e^(a[j, r] - m))`; `m = max(a[r])`.
///
/// -infinity stays -infinity. A row that has only -infinity, or has NaN or infinity in it, becomes NaN.
/// - Shapes: `c` has the shape of `a`.
/// - Types: F32, F16 or BF16. Sums are computed as by tl_sum(), everything else in F32. The result is
///   rounded once.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_log_soft_max(tl_context *ctx, tl_tensor *a);

/// Rotates pairs of elements of each row by angles that are proportional to its position (rotary
/// position embedding).
///
/// Computes `(x, y) = m (x cos t - y sin t, x sin t + y cos t)`; `t = position w(k)`; `w(k) =
/// freq_base^(-2 k / n_dims) / freq_factors[k] * (freq_scale (1 - r(k)) + r(k))`.
///
/// (x, y) is pair k of the n_dims / 2 pairs of a row. All other elements are copied. With `vision`
/// there are n_dims pairs, and k in w(k) counts from the first pair of the section. Without
/// `freq_factors` all factors are 1. Without `ext_factor`, r(k) = 0 and m = attn_factor. With
/// `ext_factor` (YaRN, Peng and others, 2023), m = attn_factor (1 + 0.1 ln(1 / freq_scale)) and r(k) =
/// ext_factor (1 - q), where q is (k - low) / max(high - low, 0.001) limited to 0 to 1. There low =
/// max(0, floor(d(beta_fast))), high = min(n_dims - 1, ceil(d(beta_slow))) and d(beta) = n_dims
/// ln(n_ctx_orig / (2 pi beta)) / (2 ln freq_base).
/// - Shapes: `a` {n, heads, tokens, batch}, `positions` {tokens} or {tokens, batch}, `freq_factors`
///   {n_dims / 2}. `c` has the shape of `a`. If `mode` is `mrope`, `imrope` or `vision`, `positions` is
///   {4 tokens} or {4 tokens, batch}: all positions of the first section, then all of the second, and
///   so on.
/// - Types: `a` is F32, F16 or BF16, `positions` I32 or I64, `freq_factors` F32. Angles are computed in
///   F64 and the rest in F32, with an error of at most 8 * 2^-24 m (|x| + |y|). The result is rounded
///   once to the type of `a`.
/// - Result: The type of `a`.
/// - `freq_factors` is optional: tl_none() leaves it out.
///
/// Since 0.1.
TL_API tl_tensor *tl_rope(tl_context *ctx, tl_tensor *a, tl_tensor *positions, tl_tensor *freq_factors,
        const tl_rope_params *params);

/// Computes attention: for each query, the mean of the values, weighted by the softmax of its products
/// with the keys.
///
/// Computes `x[j] = scale (q[., t, h, b] . k[., j, h', b']) + slope(h) mask[j, t]`; `w = softmax(x)`;
/// `c[d, h, t, b] = sum over j of w[j] v[d, j, h', b']`.
///
/// h' = h / (heads / heads') is the head of `k` and `v` that query head h uses, and b' follows in the
/// same way. With `sinks`, `e^sinks[h]` is one more summand of the softmax, which has no value. With
/// `logit_softcap` s above 0, the product becomes s tanh(scale (q . k) / s). slope(h) is 1 if
/// `max_bias` is 0. Otherwise let p be the largest power of 2 that is at most the number of heads:
/// slope(h) is 2^(-max_bias (h + 1) / p) for h < p, and 2^(-max_bias (2 (h - p) + 1) / (2 p)) for the
/// other heads (Press, Smith and Lewis, Train Short, Test Long, 2022). Keys with a mask of -infinity
/// for all queries of a block are skipped. Other masked keys multiply their value by 0, which gives NaN
/// if the value is not finite. A query without keys becomes NaN unless there are `sinks`. A query with
/// NaN or infinity among its products becomes NaN.
/// - Shapes: `q` {n, tokens, heads, batch}, `k` {n, keys, heads', batch'}, `v`
///   {m, keys, heads', batch'}, `mask` {keys, tokens', x, y}, `sinks` {heads}, `c`
///   {m, heads, tokens, batch}. heads' divides heads and batch' divides batch. tokens' is at least
///   tokens; further rows of `mask` are not read. x divides heads and y divides batch.
/// - Types: `q` and `mask` are each F32, F16 or BF16. `k` and `v` each have a float type, or a
///   quantised type other than Q8_1 and Q8_K. `sinks` is F32. Computed in F32: products and sums over
///   up to 144 keys, and then block by block. e^x is computed to within 1e-6.
/// - Result: F32.
/// - `mask` and `sinks` are optional: tl_none() leaves one out.
///
/// Since 0.1.
TL_API tl_tensor *tl_flash_attn_ext(tl_context *ctx, tl_tensor *q, tl_tensor *k, tl_tensor *v,
        tl_tensor *mask, tl_tensor *sinks, const tl_flash_attn_ext_params *params);

/// Computes causal attention of tokens of several sequences, whose keys and values lie in pages of a
/// pool.
///
/// Computes `x[j] = scale (q[., t, h] . k[., h', r(j)]) for j from max(0, p - window + 1) to p, where p
/// = positions[t]`; `w = softmax(x)`; `c[d, h, t] = sum over j of w[j] v[d, h', r(j)]`; `r(j) = page
/// pages[floor(j / page), sequences[t]] + j mod page`.
///
/// A token sees the keys of its own sequence up to its own position, or the last `window` of them if
/// `window` is above 0. h' = h / (heads / heads') is the head of `k` and `v` that query head h uses.
/// Rows of `k` and `v` that no token sees are not read, nor are numbers of pages that no token needs.
/// With `sinks`, `e^sinks[h]` is one more summand of the softmax, which has no value. With
/// `logit_softcap` s above 0, the product becomes s tanh(scale (q . k) / s). A query with NaN or
/// infinity among its products becomes NaN. A number of a page, a position or a sequence that does not
/// exist is an error of the run. One pool serves any number of sequences: PagedAttention (Kwon and
/// others, 2023).
/// - Shapes: `q` {n, tokens, heads}, `k` {n, heads', rows}, `v` {m, heads', rows}, `pages`
///   {most, n_sequences}, `positions` {tokens}, `sequences` {tokens}, `sinks` {heads}, `c`
///   {m, heads, tokens}. heads' divides heads and `page` divides rows.
/// - Types: `q` is F32, F16 or BF16. `k` and `v` each have a float type, or a quantised type other than
///   Q8_1 and Q8_K. `pages`, `positions` and `sequences` are I32 or I64. `sinks` is F32. Computed in
///   F32: products and sums over up to 256 keys, and then block by block. e^x is computed to within
///   1e-6.
/// - Result: F32.
/// - `sinks` is optional: tl_none() leaves it out.
///
/// Since 0.1.
TL_API tl_tensor *tl_paged_attention(tl_context *ctx, tl_tensor *q, tl_tensor *k, tl_tensor *v,
        tl_tensor *pages, tl_tensor *positions, tl_tensor *sequences, tl_tensor *sinks,
        const tl_paged_attention_params *params);

/// Sums `a` over dimensions.
///
/// Computes `c[k] = sum over r of a[k, r]`.
///
/// k is an index in the dimensions that stay, r one in the reduced dimensions. Along dimension 0,
/// elements are summed in F32 in blocks of 1024, each of which has 32 partial sums that are added
/// pairwise. If dimension 0 stays, they are summed in F32 in blocks of 32. Blocks are summed in F64.
/// The error is at most 2^-18.6 of the sum of the magnitudes. The order depends on the shape and on the
/// positions of the elements alone.
/// - Shapes: `c` has the shape of `a` without the dimensions `dims`, and is {1} if none is left. If
///   `keep` is true, they stay with 1 element each. The sum of no elements is 0.
/// - Types: `a` is a float, an integer or BOOL. `c` is F32 for F32, F16 and BF16, F64 for F64, and
///   otherwise I64, which wraps around where it overflows. F64 is computed in F64, in an order that
///   depends on the shape alone.
///
/// Since 0.1.
TL_API tl_tensor *tl_sum(tl_context *ctx, tl_tensor *a, const tl_sum_params *params);

/// Sums each row of `a`.
///
/// Computes `c[0, i1, i2, i3] = sum over i of a[i, i1, i2, i3]`.
///
/// It is tl_sum() over dimension 0, which stays with 1 element.
/// - Shapes: `a` {n, m, x, y}, `c` {1, m, x, y}. The sum of an empty row is 0.
/// - Types: `a` is a float, an integer or BOOL. `c` is F32 for F32, F16 and BF16, F64 for F64, and
///   otherwise I64, which wraps around where it overflows. F64 is computed in F64, in an order that
///   depends on the shape alone.
///
/// Since 0.1.
TL_API tl_tensor *tl_sum_rows(tl_context *ctx, tl_tensor *a);

/// Computes the mean of `a` over dimensions.
///
/// Computes `c[k] = (sum over r of a[k, r]) / n`.
///
/// k is an index in the dimensions that stay, r one in the reduced dimensions, n the number of reduced
/// elements.
/// - Shapes: `c` has the shape of `a` without the dimensions `dims`, and is {1} if none is left. If
///   `keep` is true, they stay with 1 element each. The mean of no elements is NaN.
/// - Types: `a` is a float, an integer or BOOL. Summed as by tl_sum(), integers in F64, and divided in
///   F64. `c` is F32 for F32, F16 and BF16, rounded once, and F64 for other types.
///
/// Since 0.1.
TL_API tl_tensor *tl_mean(tl_context *ctx, tl_tensor *a, const tl_mean_params *params);

/// Computes the running sums of each row of `a`.
///
/// Computes `c[i, i1, i2, i3] = sum over j <= i of a[j, i1, i2, i3]`.
///
/// In F32, the sum of the preceding blocks of 1024 elements is computed as by tl_sum(). Within such a
/// block, elements are summed in blocks of 256: runs of 16 pairwise, and these one after another. The
/// error is at most 2^-18.7 of the sum of the magnitudes up to the element.
/// - Shapes: `c` has the shape of `a`.
/// - Types: `a` is a float, an integer or BOOL. `c` is F32 for F32, F16 and BF16, F64 for F64, and
///   otherwise I64, which wraps around where it overflows. F64 is computed in F64, in an order that
///   depends on the shape alone.
///
/// Since 0.1.
TL_API tl_tensor *tl_cumsum(tl_context *ctx, tl_tensor *a);

/// Finds the index of the largest element of `a` over dimensions.
///
/// Computes `c[k] = the smallest r for which a[k, r] is largest`.
///
/// k is an index in the dimensions that stay, r one in the reduced dimensions. The reduced elements are
/// counted in the order of their dimensions: over dimensions 0 and 1, element (i0, i1) has the index
/// i0 + i1 times the extent of dimension 0. NaN is less than everything else, so NaN alone gives 0. -0
/// and 0 are equal.
/// - Shapes: `c` has the shape of `a` without the dimensions `dims`, and is {1} if none is left. If
///   `keep` is true, they stay with 1 element each. Each reduced dimension has 1 element or more,
///   unless `c` is empty. At most 2^31 - 1 elements are reduced to one.
/// - Types: `a` is a float, an integer or BOOL.
/// - Result: I32.
///
/// Since 0.1.
TL_API tl_tensor *tl_argmax(tl_context *ctx, tl_tensor *a, const tl_argmax_params *params);

/// Computes the indices that sort each row of `a`.
///
/// Computes `a[c[0], i1, i2, i3] <= a[c[1], i1, i2, i3] <= .. in ascending order, >= in descending
/// order`.
///
/// Equal elements keep their order in both directions. -0 and 0 are equal, and NaN is last in both
/// directions.
/// - Shapes: `c` has the shape of `a`. Rows have at most 2^31 - 1 elements.
/// - Types: `a` is a float, an integer or BOOL.
/// - Result: I32.
///
/// Since 0.1.
TL_API tl_tensor *tl_argsort(tl_context *ctx, tl_tensor *a, const tl_argsort_params *params);

/// Finds the indices of the `k` largest elements of each row of `a`, the largest first.
///
/// Computes `c[j, i1, i2, i3] = the index of the (j + 1)-th largest element of row (i1, i2, i3) of a`.
///
/// Among equal elements, the one with the smaller index comes first. -0 and 0 are equal, and NaN is
/// less than everything else.
/// - Shapes: `a` {n, m, x, y}, `c` {k, m, x, y}. k is 0 to n, and n is at most 2^31 - 1.
/// - Types: `a` is a float, an integer or BOOL.
/// - Result: I32.
/// - `k`: number of elements of each row. Range: 0 to 2^31 - 1.
///
/// Since 0.1.
TL_API tl_tensor *tl_top_k(tl_context *ctx, tl_tensor *a, int64_t k);

/// Counts the positions at which `a` and `b` are equal.
///
/// Computes `c[0] = number of i with a[i] = b[i]`.
///
/// NaN equals nothing. -0 and 0 are equal.
/// - Shapes: `a` and `b` have the same shape. `c` {1}.
/// - Types: `a` and `b` have the same type, which is not quantised.
/// - Result: I64.
///
/// Since 0.1.
TL_API tl_tensor *tl_count_equal(tl_context *ctx, tl_tensor *a, tl_tensor *b);

/// Computes the mean over all rows of the cross entropy of the labels `b` and the softmax of the logits
/// `a`.
///
/// Computes `c[0] = -(1 / rows) * sum over rows and i of b[i] * log(soft_max(a)[i])`.
///
/// Each row is taken relative to its largest element, so no exponential overflows. Where `b` is 0
/// nothing is added, even if `a` is -infinity. NaN in either operand makes the result NaN.
/// - Shapes: `a` (logits) and `b` (labels, as probabilities) have the same shape. `c` {1}. Without rows
///   the result is NaN.
/// - Types: `a` and `b` are each F32, F16 or BF16. Sums are computed as by tl_sum().
/// - Result: F32.
///
/// Since 0.1.
TL_API tl_tensor *tl_cross_entropy_loss(tl_context *ctx, tl_tensor *a, tl_tensor *b);

/// Finds the largest element of `a` over dimensions.
///
/// Computes `c[k] = the largest a[k, r] over all r`.
///
/// k is an index in the dimensions that stay, r one in the reduced dimensions. NaN if one of the
/// elements is NaN. 0 counts as larger than -0.
/// - Shapes: `c` has the shape of `a` without the dimensions `dims`, and is {1} if none is left. If
///   `keep` is true, they stay with 1 element each. Each reduced dimension has 1 element or more,
///   unless `c` is empty.
/// - Types: `a` is a float, an integer or BOOL. `c` has the type of `a`, but is F32 if that is F16 or
///   BF16.
///
/// Since 0.1.
TL_API tl_tensor *tl_max(tl_context *ctx, tl_tensor *a, const tl_max_params *params);

/// Finds the smallest element of `a` over dimensions.
///
/// Computes `c[k] = the smallest a[k, r] over all r`.
///
/// k is an index in the dimensions that stay, r one in the reduced dimensions. NaN if one of the
/// elements is NaN. 0 counts as larger than -0.
/// - Shapes: `c` has the shape of `a` without the dimensions `dims`, and is {1} if none is left. If
///   `keep` is true, they stay with 1 element each. Each reduced dimension has 1 element or more,
///   unless `c` is empty.
/// - Types: `a` is a float, an integer or BOOL. `c` has the type of `a`, but is F32 if that is F16 or
///   BF16.
///
/// Since 0.1.
TL_API tl_tensor *tl_min(tl_context *ctx, tl_tensor *a, const tl_min_params *params);

/// Finds the index of the smallest element of `a` over dimensions.
///
/// Computes `c[k] = the smallest r for which a[k, r] is smallest`.
///
/// k is an index in the dimensions that stay, r one in the reduced dimensions. The reduced elements are
/// counted in the order of their dimensions: over dimensions 0 and 1, element (i0, i1) has the index
/// i0 + i1 times the extent of dimension 0. NaN is greater than everything else, so NaN alone gives 0.
/// -0 and 0 are equal.
/// - Shapes: `c` has the shape of `a` without the dimensions `dims`, and is {1} if none is left. If
///   `keep` is true, they stay with 1 element each. Each reduced dimension has 1 element or more,
///   unless `c` is empty. At most 2^31 - 1 elements are reduced to one.
/// - Types: `a` is a float, an integer or BOOL.
/// - Result: I32.
///
/// Since 0.1.
TL_API tl_tensor *tl_argmin(tl_context *ctx, tl_tensor *a, const tl_argmin_params *params);

/// Computes the variance of `a` over dimensions.
///
/// Computes `c[k] = (sum over r of (a[k, r] - mean)^2) / (n - correction)`.
///
/// k is an index in the dimensions that stay, r one in the reduced dimensions, n the number of reduced
/// elements. Elements are taken in blocks: of 1024 along dimension 0, or of 32 if dimension 0 stays.
/// The mean and the squares of a block are computed in F32, in a second pass over it, and blocks are
/// joined in F64. The divisor is 0 where n is less than `correction`, and 0 / 0 is NaN.
/// - Shapes: `c` has the shape of `a` without the dimensions `dims`, and is {1} if none is left. If
///   `keep` is true, they stay with 1 element each.
/// - Types: `a` is a float, an integer or BOOL. Integers are computed in F64. `c` is F32 for F32, F16
///   and BF16, rounded once, and F64 for other types.
/// - `correction`: what is subtracted from the number of elements: 0 gives the variance of the
///   elements, as in NumPy and JAX, and 1 estimates that of a population from a sample, as in PyTorch
///   and candle. Range: 0 to 2^31 - 1.
///
/// Since 0.1.
TL_API tl_tensor *tl_var(tl_context *ctx, tl_tensor *a, int64_t correction, const tl_var_params *params);

/// Computes the standard deviation of `a` over dimensions: the square root of tl_var().
///
/// Computes `c[k] = sqrt((sum over r of (a[k, r] - mean)^2) / (n - correction))`.
///
/// k is an index in the dimensions that stay, r one in the reduced dimensions, n the number of reduced
/// elements.
/// - Shapes: `c` has the shape of `a` without the dimensions `dims`, and is {1} if none is left. If
///   `keep` is true, they stay with 1 element each.
/// - Types: `a` is a float, an integer or BOOL. Computed as tl_var(), with the root in F64. `c` is F32
///   for F32, F16 and BF16, rounded once, and F64 for other types.
/// - `correction`: what is subtracted from the number of elements: 0 gives the variance of the
///   elements, as in NumPy and JAX, and 1 estimates that of a population from a sample, as in PyTorch
///   and candle. Range: 0 to 2^31 - 1.
///
/// Since 0.1.
TL_API tl_tensor *tl_std(tl_context *ctx, tl_tensor *a, int64_t correction, const tl_std_params *params);

/// Multiplies the elements of `a` over dimensions.
///
/// Computes `c[k] = product over r of a[k, r]`.
///
/// k is an index in the dimensions that stay, r one in the reduced dimensions. Products of floats are
/// computed in F64, in an order that depends on the shape alone.
/// - Shapes: `c` has the shape of `a` without the dimensions `dims`, and is {1} if none is left. If
///   `keep` is true, they stay with 1 element each. The product of no elements is 1.
/// - Types: `a` is a float, an integer or BOOL. `c` is F32 for F32, F16 and BF16, F64 for F64, and
///   otherwise I64, which wraps around where it overflows. F64 is computed in F64, in an order that
///   depends on the shape alone.
///
/// Since 0.1.
TL_API tl_tensor *tl_prod(tl_context *ctx, tl_tensor *a, const tl_prod_params *params);

/// Tests whether any element of `a` is not 0, over dimensions.
///
/// Computes `c[k] = 1 if a[k, r] != 0 for some r, else 0`.
///
/// k is an index in the dimensions that stay, r one in the reduced dimensions. NaN is not 0.
/// - Shapes: `c` has the shape of `a` without the dimensions `dims`, and is {1} if none is left. If
///   `keep` is true, they stay with 1 element each. No elements give 0.
/// - Types: `a` is a float, an integer or BOOL. `c` is BOOL if `a` is, and F32 otherwise.
///
/// Since 0.1.
TL_API tl_tensor *tl_any(tl_context *ctx, tl_tensor *a, const tl_any_params *params);

/// Tests whether no element of `a` is 0, over dimensions.
///
/// Computes `c[k] = 1 if a[k, r] != 0 for every r, else 0`.
///
/// k is an index in the dimensions that stay, r one in the reduced dimensions. NaN is not 0.
/// - Shapes: `c` has the shape of `a` without the dimensions `dims`, and is {1} if none is left. If
///   `keep` is true, they stay with 1 element each. No elements give 1.
/// - Types: `a` is a float, an integer or BOOL. `c` is BOOL if `a` is, and F32 otherwise.
///
/// Since 0.1.
TL_API tl_tensor *tl_all(tl_context *ctx, tl_tensor *a, const tl_all_params *params);

/// Computes the logarithm of the sum of the exponentials of `a` over dimensions.
///
/// Computes `c[k] = log(sum over r of e^a[k, r])`.
///
/// k is an index in the dimensions that stay, r one in the reduced dimensions. Elements are taken
/// relative to the largest, so no exponential overflows.
/// - Shapes: `c` has the shape of `a` without the dimensions `dims`, and is {1} if none is left. If
///   `keep` is true, they stay with 1 element each. No elements give -infinity.
/// - Types: `a` is a float, an integer or BOOL. Exponentials are computed in F32, or in F64 for other
///   types, and summed as by tl_sum(); the logarithm is computed in F64. `c` is F32 for F32, F16 and
///   BF16, rounded once, and F64 for other types.
///
/// Since 0.1.
TL_API tl_tensor *tl_log_sum_exp(tl_context *ctx, tl_tensor *a, const tl_log_sum_exp_params *params);

/// Repeats `a` until it fills a shape.
///
/// Computes `c[i0, i1, i2, i3] = a[i0 mod n0, i1 mod n1, i2 mod n2, i3 mod n3]`.
///
/// Element-wise operations broadcast operands without tl_repeat(), and a tl_view() with strides of 0
/// repeats rows without copying them.
/// - Shapes: `a` {n0, n1, n2, n3}. Each extent of `c` is a multiple of that of `a`.
/// - Types: Any type. Elements are copied exactly.
/// - Result: The type of `a`.
/// - `ne`: shape of the result. Dimensions that it lacks are 1. Each at least 0.
///
/// Since 0.1.
TL_API tl_tensor *tl_repeat(tl_context *ctx, tl_tensor *a, int32_t n_dims, const int64_t *ne);

/// Concatenates `a` and `b` along a dimension.
///
/// Computes `c[i] = a[i] if i < n else b[i - n]`.
///
/// i is the index in dimension `dim`, and n is the size of `a` there. tl_cat() takes any number of
/// tensors. By name, the operation takes up to 10.
/// - Shapes: `a` and `b` have the same shape except in dimension `dim`, where `c` has the sum of their
///   sizes.
/// - Types: Any type, the same for `a` and `b`. Elements are copied exactly.
/// - Result: The type of `a`.
/// - `dim`: the dimension; 0 is the contiguous one. Range: 0 to 3.
///
/// Since 0.1.
TL_API tl_tensor *tl_concat(tl_context *ctx, tl_tensor *a, tl_tensor *b, int64_t dim);

/// Extends `a` in each dimension, by zeros or by its own repetitions.
///
/// Computes `c[i] = a[i - lp] if a has element i - lp else 0`.
///
/// With `circular`, `c[i]` = `a[(i - lp) mod n]`, where n is the extent of `a` in the dimension.
/// - Shapes: Dimension d of `c` has the size of that of `a` plus `lp[d]` and `p[d]`. With `circular`,
///   dimensions of `a` that are extended are not empty.
/// - Types: Any type. For a quantised type `p[0]` and `lp[0]` are multiples of the block size. Elements
///   are copied exactly.
/// - Result: The type of `a`.
/// - `p`: number of elements after the last one of each dimension. Each at least 0.
///
/// Since 0.1.
TL_API tl_tensor *tl_pad(tl_context *ctx, tl_tensor *a, const int64_t *p, const tl_pad_params *params);

/// Extends each row of `a` at both ends by its mirror image.
///
/// Computes `c[i] = a[p0 - i] for i < p0`; `c[i] = a[i - p0] for p0 <= i < p0 + n`; `c[i] =
/// a[2 (n - 1) - (i - p0)] for i >= p0 + n`.
/// - Shapes: `a` {n, ..}, `c` {p0 + n + p1, ..}. p0 and p1 must be less than n.
/// - Types: Any type that is not quantised. Elements are copied exactly.
/// - Result: The type of `a`.
/// - `p0`: number of elements before each row. At least 0.
/// - `p1`: number of elements after each row. At least 0.
///
/// Since 0.1.
TL_API tl_tensor *tl_pad_reflect_1d(tl_context *ctx, tl_tensor *a, int64_t p0, int64_t p1);

/// Shifts `a` cyclically in each dimension.
///
/// Computes `c[(i + shift) mod n] = a[i] in each dimension, of size n`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: Any type. For a quantised type `shift[0]` is a multiple of the block size. Elements are
///   copied exactly.
/// - Result: The type of `a`.
/// - `shift`: shift in each dimension. A negative one shifts toward the beginning.
///
/// Since 0.1.
TL_API tl_tensor *tl_roll(tl_context *ctx, tl_tensor *a, const int64_t *shift);

/// Makes matrices that have the rows of `a` as their diagonals.
///
/// Computes `c[i0, i1, i2, i3] = a[i0, 0, i2, i3] if i0 = i1 else 0`.
/// - Shapes: `a` {n, 1, x, y}, `c` {n, n, x, y}.
/// - Types: Any type that is not quantised. Elements are copied exactly.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_diag(tl_context *ctx, tl_tensor *a);

/// Keeps a triangle of each matrix of `a` and sets all other elements to 0.
///
/// Computes `c[i0, i1] = a[i0, i1] if (i0, i1) is in the triangle else 0`.
/// - Shapes: `c` has the shape of `a`. Matrices need not be square.
/// - Types: Any type that is not quantised. Elements are copied exactly.
/// - Result: The type of `a`.
/// - `part`: the triangle that is kept.
///
/// Since 0.1.
TL_API tl_tensor *tl_tri(tl_context *ctx, tl_tensor *a, tl_tri_type part);

/// Sets the attention scores of later positions to -infinity (causal mask).
///
/// Computes `c[i0, i1] = a[i0, i1] if i0 <= n_past + i1 else -infinity`.
/// - Shapes: `a` {keys, queries, ..}. `c` has the shape of `a`.
/// - Types: F32, F16 or BF16. Elements are copied exactly.
/// - Result: The type of `a`.
/// - `n_past`: position of the first query. At least 0.
///
/// Since 0.1.
TL_API tl_tensor *tl_diag_mask_inf(tl_context *ctx, tl_tensor *a, int64_t n_past);

/// Sets the attention scores of later positions to 0 (causal mask).
///
/// Computes `c[i0, i1] = a[i0, i1] if i0 <= n_past + i1 else 0`.
/// - Shapes: `a` {keys, queries, ..}. `c` has the shape of `a`.
/// - Types: F32, F16 or BF16. Elements are copied exactly.
/// - Result: The type of `a`.
/// - `n_past`: position of the first query. At least 0.
///
/// Since 0.1.
TL_API tl_tensor *tl_diag_mask_zero(tl_context *ctx, tl_tensor *a, int64_t n_past);

/// Adds `b` to a window of a copy of `a`.
///
/// Computes `c = a`; `window(c)[i0, i1, i2, i3] += b[i0, i1, i2, i3]`.
///
/// The window starts `offset` bytes after the first element of `c` and has the strides `nb1`, `nb2` and
/// `nb3`. `a` is not changed.
/// - Shapes: `c` has the shape of `a` and is contiguous. `b` has any shape that fits. No two elements
///   of the window may share memory.
/// - Types: `a` and `b` are each F32, F16 or BF16. Computed in F32 and rounded once to the type of `a`.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_acc(tl_context *ctx, tl_tensor *a, tl_tensor *b, const tl_acc_params *params);

/// Stores `b` in a window of a copy of `a`.
///
/// Computes `c = a`; `window(c)[i0, i1, i2, i3] = b[i0, i1, i2, i3]`.
///
/// The window starts `offset` bytes after the first element of `c` and has the strides `nb1`, `nb2` and
/// `nb3`. `a` is not changed.
/// - Shapes: `c` has the shape of `a` and is contiguous. `b` has any shape that fits. No two elements
///   of the window may share memory.
/// - Types: Any type, the same for `a` and `b`. Elements are copied exactly.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_set(tl_context *ctx, tl_tensor *a, tl_tensor *b, const tl_set_params *params);

/// Gathers elements of `a` by index along a dimension.
///
/// Computes `c[i0, i1, i2, i3] = a[indices[i0, i1, i2, i3], i1, i2, i3]`.
///
/// The formula is for `dim` 0. For another dimension, the index takes the place of i1, i2 or i3.
/// - Shapes: `c` has the shape of `indices`. In dimensions other than `dim`, `indices` is at most as
///   large as `a`.
/// - Types: `a` has any type that is not quantised, and `indices` is I32 or I64. Elements are copied
///   exactly.
/// - Result: The type of `a`.
/// - `dim`: the dimension; 0 is the contiguous one. Range: 0 to 3.
/// - Computing fails with TL_STATUS_INVALID_ARGUMENT for an index out of range. The message names the
///   first such element.
///
/// Since 0.1.
TL_API tl_tensor *tl_gather(tl_context *ctx, tl_tensor *a, tl_tensor *indices, int64_t dim);

/// Adds to each row of `a` the row of `b` that `ids` selects.
///
/// Computes `c[i, u, t] = a[i, u, t] + b[i, ids[u, t]]`.
/// - Shapes: `a` {n, used, tokens}, `b` {n, experts}, `ids` {used, tokens}. `c` has the shape of `a`.
/// - Types: `a` and `b` are each F32, F16 or BF16, and `ids` is I32 or I64. Computed in F32 and rounded
///   once to the type of `a`.
/// - Result: The type of `a`.
/// - Computing fails with TL_STATUS_INVALID_ARGUMENT for a row index out of range. The message names
///   the first such element.
///
/// Since 0.1.
TL_API tl_tensor *tl_add_id(tl_context *ctx, tl_tensor *a, tl_tensor *b, tl_tensor *ids);

/// Makes a vector of equally spaced numbers.
///
/// Computes `c[i] = start + i step`.
/// - Shapes: `c` {n}, n = (stop - start) / step, rounded up. `stop` itself is not included. n is 0 if
///   `start` equals `stop`.
/// - Types: F32. Computed in F64 and rounded once.
/// - Result: F32.
/// - `start`: the first number.
/// - `stop`: end of the range, which is not included.
/// - `step`: difference between neighbours. It is negative if the numbers decrease.
///
/// Since 0.1.
TL_API tl_tensor *tl_arange(tl_context *ctx, double start, double stop, double step);

/// Adds the elements of `b` to elements of a copy of `a`, by index along a dimension.
///
/// Computes `c = a`; `c[indices[i0 mod n0, i1 mod n1, i2 mod n2, i3 mod n3], i1, i2, i3] +=
/// b[i0, i1, i2, i3]`.
///
/// The formula is for `dim` 0. For another dimension, the index takes the place of i1, i2 or i3.
/// Elements are added in the order of `b`, so the bits are always the same. Integers wrap around. `a`
/// is not changed.
/// - Shapes: `c` has the shape of `a`. In dimensions other than `dim`, `b` is at most as large as `a`.
///   `indices` {n0, n1, n2, n3} is broadcast to `b`: each of its dimensions is 1 or divides that of
///   `b`.
/// - Types: `a` is F32 and `b` is F32, F16 or BF16, or both are I32, I64 or F64. `indices` is I32 or
///   I64. `c` has the type of `a`.
/// - Result: The type of `a`.
/// - `dim`: the dimension; 0 is the contiguous one. Range: 0 to 3.
/// - Computing fails with TL_STATUS_INVALID_ARGUMENT for an index out of range, for which nothing is
///   added. The message names the first such element.
///
/// Since 0.1.
TL_API tl_tensor *tl_scatter_add(tl_context *ctx, tl_tensor *a, tl_tensor *b, tl_tensor *indices,
        int64_t dim);

/// Reverses `a` along a dimension.
///
/// Computes `c[i] = a[n - 1 - i]`.
///
/// i is the index in dimension `dim`, and n is the size of `a` there.
/// - Shapes: `c` has the shape of `a`.
/// - Types: Any type. If `dim` is 0, it is not quantised. Elements are copied exactly.
/// - Result: The type of `a`.
/// - `dim`: the dimension; 0 is the contiguous one. Range: 0 to 3.
///
/// Since 0.1.
TL_API tl_tensor *tl_flip(tl_context *ctx, tl_tensor *a, int64_t dim);

/// Turns each index into a row with a 1 at the index and 0 elsewhere.
///
/// Computes `c[i, j0, j1, j2] = 1 if indices[j0, j1, j2] = i else 0`.
///
/// An index outside 0 to classes - 1, such as -1, gives a row of zeros.
/// - Shapes: `indices` {n0, n1, n2}, `c` {classes, n0, n1, n2}.
/// - Types: `indices` is an integer or BOOL. `c` is F32.
/// - Result: F32.
/// - `classes`: the number of classes. Range: 0 to 16777216.
///
/// Since 0.1.
TL_API tl_tensor *tl_one_hot(tl_context *ctx, tl_tensor *indices, int64_t classes);

/// Makes an identity matrix.
///
/// Computes `c[i, j] = 1 if i = j else 0`.
/// - Shapes: `c` {n, n}.
/// - Types: F32.
/// - Result: F32.
/// - `n`: the number of rows. Range: 0 to 16777216.
///
/// Since 0.1.
TL_API tl_tensor *tl_eye(tl_context *ctx, int64_t n);

/// Makes a vector of `n` equally spaced numbers from `start` to `stop`.
///
/// Computes `c[i] = start + i (stop - start) / (n - 1)`.
///
/// `stop` is the last number, unlike that of tl_arange(). A single number is `start`.
/// - Shapes: `c` {n}.
/// - Types: F32. Computed in F64 and rounded once, where F64 tells neighbours apart.
/// - Result: F32.
/// - `start`: the first number.
/// - `stop`: the last number.
/// - `n`: how many numbers. At least 0.
///
/// Since 0.1.
TL_API tl_tensor *tl_linspace(tl_context *ctx, double start, double stop, int64_t n);

/// Turns each time into a row of cosines and sines of growing periods (sinusoidal embedding).
///
/// Computes `c[j, t] = cos(timesteps[t] w(j)) for j < h`; `c[j + h, t] = sin(timesteps[t] w(j))`; `w(j)
/// = max_period^(-j / h)`; `h = floor(dim / 2)`.
///
/// The last element of a row is 0 if `dim` is odd.
/// - Shapes: `timesteps` {n}, `c` {dim, n}.
/// - Types: `timesteps` is F32, F16 or BF16. Computed in F32: angles are off by up to 4e-7 of their
///   size.
/// - Result: F32.
/// - `dim`: length of a row. Range: 1 to 1048576.
/// - `max_period`: the period that the slowest of infinitely many waves would have, in radians. At
///   least 1.
///
/// Since 0.1.
TL_API tl_tensor *tl_timestep_embedding(tl_context *ctx, tl_tensor *timesteps, int64_t dim,
        int64_t max_period);

/// Enlarges or reduces images, by a factor or to a size.
///
/// Computes `c[i0, i1] = sum over j0 and j1 of w0(i0, j0) w1(i1, j1) a[j0, j1]`.
///
/// In a dimension of n pixels that becomes one of m, the centre of pixel i is x = (i + 1/2) n / m -
/// 1/2, or with `align_corners` i (n - 1) / (m - 1). `nearest` takes pixel floor(i n / m), or floor(i
/// (n - 1) / (m - 1)). `bilinear` has the weights 1 - |j - x| for the pixels j around x, and `bicubic`
/// those of cubic convolution with a = -0.75 (Keys, 1981) for the four around it. Beyond an edge, the
/// pixels at the edge are used. With `antialias`, `bilinear` has the weights 1 - |j - x| / max(1, n /
/// m), divided by their sum, as far as they are above 0 and j exists. Dimensions 2 and 3 are always
/// those of `nearest`.
/// - Shapes: `a` {w, h, x, y}, `c` {factor w, factor h, x, y}, or the shape `ne`. Either `factor` or
///   `ne` is given.
/// - Types: F32, F16 or BF16. With `nearest`, elements are copied exactly. Otherwise they are computed
///   in F32, first between rows and then between columns, and rounded once.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_upscale(tl_context *ctx, tl_tensor *a, const tl_upscale_params *params);

/// Takes the maximum or the average of each window that slides along the rows of `a`.
///
/// Computes `c[o] = max or average over t < k of a[o s + t - p]`.
///
/// Only elements inside `a` take part. In a window without one, which p >= k makes, the maximum is the
/// lowest number of F32 and the average 0, as in ggml. The maximum is exact, and is NaN if a window has
/// a NaN. The average is summed in F64 and rounded once. It is taken over the elements inside `a`, as
/// in ggml, or with `count_padding` over all `k`, as in PyTorch.
/// - Shapes: `a` {n, ..}, `c` {(n + 2 p - k) / s + 1, ..}, rounded down.
/// - Types: F32, F16 or BF16.
/// - Result: The type of `a`.
/// - `op`: the operation on a window.
/// - `k`: length of the window. At least 1.
///
/// Since 0.1.
TL_API tl_tensor *tl_pool_1d(tl_context *ctx, tl_tensor *a, tl_pool_1d_op op, int64_t k,
        const tl_pool_1d_params *params);

/// Takes the maximum or the average of each window that slides over the matrices of `a`.
///
/// Computes `c[x, y] = max or average over t0 < k0, t1 < k1 of a[x s0 + t0 - p0, y s1 + t1 - p1]`.
///
/// The maximum is that of the elements inside `a`. In a window without one, which p0 >= k0 or p1 >= k1
/// makes, the maximum is the lowest number of F32 and the average 0, as in ggml. A maximum is exact,
/// and is NaN if a window has a NaN. The average is summed in F64 and rounded once. It is taken over
/// all k0 k1 elements, where padding counts as zeros, as in ggml and PyTorch, or with `skip_padding`
/// over the elements inside `a`.
/// - Shapes: `a` {w, h, ..}, `c` {(w + 2 p0 - k0) / s0 + 1, (h + 2 p1 - k1) / s1 + 1, ..}, rounded
///   down.
/// - Types: F32, F16 or BF16.
/// - Result: The type of `a`.
/// - `op`: the operation on a window.
/// - `k0`: width of the window. At least 1.
/// - `k1`: height of the window. At least 1.
///
/// Since 0.1.
TL_API tl_tensor *tl_pool_2d(tl_context *ctx, tl_tensor *a, tl_pool_2d_op op, int64_t k0, int64_t k1,
        const tl_pool_2d_params *params);

/// Copies the elements under each window of a convolution into a row of the result.
///
/// Computes `c[(channel kh + ty) kw + tx, x, y, n] =
/// b[x s0 + tx d0 - p0, y s1 + ty d1 - p1, channel, n]`.
///
/// Elements outside `b` count as zeros. A window that is larger than `b` with its padding is refused,
/// as by PyTorch: ggml computes one position, whose window is cut off. `a` is the kernel, of which only
/// the shape is used. The convolution is the product of the result and the kernel, reshaped to
/// {kw kh channels, outputs}.
/// - Shapes: For images: `a` {kw, kh, channels, outputs}, `b` {w, h, channels, images}, `c`
///   {kw kh channels, w', h', images}, with w' = (w + 2 p0 - (kw - 1) d0 - 1) / s0 + 1 and h' = (h + 2
///   p1 - (kh - 1) d1 - 1) / s1 + 1, both rounded down. For signals: `a` {k, channels, outputs}, `b`
///   {n, channels, signals}, `c` {k channels, (n + 2 p0 - (k - 1) d0 - 1) / s0 + 1, signals}, rounded
///   down.
/// - Types: `a` and `b` are each F32, F16 or BF16. `c` has the type `to`, to which each element is
///   rounded once.
///
/// Since 0.1.
TL_API tl_tensor *tl_im2col(tl_context *ctx, tl_tensor *a, tl_tensor *b, const tl_im2col_params *params);

/// Convolves the signals `b` with the kernel `a`.
///
/// Computes `c[x, m, n] = sum over channels and t < k of a[t, channel, m]
/// b[x s + t d - p, channel, n]`.
///
/// Elements outside `b` count as zeros. A window that is larger than `b` with its padding is refused,
/// as by PyTorch: ggml computes one position, whose window is cut off.
/// - Shapes: `a` {k, channels, outputs}, `b` {n, channels, signals}, `c`
///   {(n + 2 p - (k - 1) d - 1) / s + 1, outputs, signals}, rounded down.
/// - Types: `a` and `b` are each F32, F16 or BF16. Computed in F32.
/// - Result: F32.
///
/// Since 0.1.
TL_API tl_tensor *tl_conv_1d(tl_context *ctx, tl_tensor *a, tl_tensor *b, const tl_conv_1d_params *params);

/// Convolves the images `b` with the kernel `a`.
///
/// Computes `c[x, y, m, n] = sum over channels, tx < kw and ty < kh of a[tx, ty, channel, m]
/// b[x s0 + tx d0 - p0, y s1 + ty d1 - p1, channel, n]`.
///
/// Elements outside `b` count as zeros. A window that is larger than `b` with its padding is refused,
/// as by PyTorch: ggml computes one position, whose window is cut off.
/// - Shapes: `a` {kw, kh, channels, outputs}, `b` {w, h, channels, images}, `c`
///   {w', h', outputs, images}, with w' = (w + 2 p0 - (kw - 1) d0 - 1) / s0 + 1 and h' = (h + 2 p1 -
///   (kh - 1) d1 - 1) / s1 + 1, both rounded down.
/// - Types: `a` and `b` are each F32, F16 or BF16. Computed in F32.
/// - Result: F32.
///
/// Since 0.1.
TL_API tl_tensor *tl_conv_2d(tl_context *ctx, tl_tensor *a, tl_tensor *b, const tl_conv_2d_params *params);

/// Convolves each channel of the signals `b` with the same channel of the kernel `a` (depthwise).
///
/// Computes `c[x, m, n] = sum over t < k of a[t, 0, m] b[x s + t d - p, m, n]`.
///
/// Elements outside `b` count as zeros. A window that is larger than `b` with its padding is refused,
/// as by PyTorch: ggml computes one position, whose window is cut off.
/// - Shapes: `a` {k, 1, channels}, `b` {n, channels, signals}, `c`
///   {(n + 2 p - (k - 1) d - 1) / s + 1, channels, signals}, rounded down.
/// - Types: `a` and `b` are each F32, F16 or BF16. Computed in F32.
/// - Result: F32.
///
/// Since 0.1.
TL_API tl_tensor *tl_conv_1d_dw(tl_context *ctx, tl_tensor *a, tl_tensor *b,
        const tl_conv_1d_dw_params *params);

/// Convolves each channel of the images `b` with the same channel of the kernel `a` (depthwise).
///
/// Computes `c[x, y, m, n] = sum over tx < kw and ty < kh of a[tx, ty, 0, m]
/// b[x s0 + tx d0 - p0, y s1 + ty d1 - p1, m, n]`.
///
/// Elements outside `b` count as zeros. A window that is larger than `b` with its padding is refused,
/// as by PyTorch: ggml computes one position, whose window is cut off.
/// - Shapes: `a` {kw, kh, 1, channels}, `b` {w, h, channels, images}, `c` {w', h', channels, images},
///   with w' = (w + 2 p0 - (kw - 1) d0 - 1) / s0 + 1 and h' = (h + 2 p1 - (kh - 1) d1 - 1) / s1 + 1,
///   both rounded down.
/// - Types: `a` and `b` are each F32, F16 or BF16. Computed in F32.
/// - Result: F32.
///
/// Since 0.1.
TL_API tl_tensor *tl_conv_2d_dw(tl_context *ctx, tl_tensor *a, tl_tensor *b,
        const tl_conv_2d_dw_params *params);

/// Computes the transposed convolution of the signals `b` with the kernel `a`.
///
/// Computes `c[x s + t d - p, m, n] = sum over channels, and the x and t < k that give this index, of
/// a[t, m, channel] b[x, channel, n]`.
/// - Shapes: `a` {k, outputs, channels}, `b` {n, channels, signals}, `c`
///   {(n - 1) s - 2 p + (k - 1) d + 1, outputs, signals}.
/// - Types: `a` and `b` are each F32, F16 or BF16. Computed in F32.
/// - Result: F32.
///
/// Since 0.1.
TL_API tl_tensor *tl_conv_transpose_1d(tl_context *ctx, tl_tensor *a, tl_tensor *b,
        const tl_conv_transpose_1d_params *params);

/// Computes the transposed convolution of the images `b` with the kernel `a`.
///
/// Computes `c[x stride + tx d0 - p0, y stride + ty d1 - p1, m, n] = sum over channels, and the x, y,
/// tx < kw and ty < kh that give these indices, of a[tx, ty, m, channel] b[x, y, channel, n]`.
/// - Shapes: `a` {kw, kh, outputs, channels}, `b` {w, h, channels, images}, `c`
///   {w', h', outputs, images}, with w' = (w - 1) stride - 2 p0 + (kw - 1) d0 + 1 and h' = (h - 1)
///   stride - 2 p1 + (kh - 1) d1 + 1.
/// - Types: `a` and `b` are each F32, F16 or BF16. Computed in F32.
/// - Result: F32.
///
/// Since 0.1.
TL_API tl_tensor *tl_conv_transpose_2d(tl_context *ctx, tl_tensor *a, tl_tensor *b,
        const tl_conv_transpose_2d_params *params);

/// Copies the elements under each window of a convolution of volumes into a row of the result.
///
/// Computes `c[((channel kd + tz) kh + ty) kw + tx, x, y, z + d' n] =
/// b[x s0 + tx d0 - p0, y s1 + ty d1 - p1, z s2 + tz d2 - p2, channel + channels n]`.
///
/// Elements outside `b` count as zeros. A window that is larger than `b` with its padding is refused,
/// as by PyTorch: ggml computes one position, whose window is cut off. `a` is the kernel, of which only
/// the shape is used.
/// - Shapes: `a` {kw, kh, kd, channels outputs}, `b` {w, h, d, channels volumes}, `c`
///   {kw kh kd channels, w', h', d' volumes}, with w' = (w + 2 p0 - (kw - 1) d0 - 1) / s0 + 1 and h' =
///   (h + 2 p1 - (kh - 1) d1 - 1) / s1 + 1, both rounded down, and d' in the same way. kd is at
///   most 4096.
/// - Types: `a` and `b` are each F32, F16 or BF16. `c` has the type `to`, to which each element is
///   rounded once.
/// - `channels`: number of channels of a volume of `b`. At least 1.
///
/// Since 0.1.
TL_API tl_tensor *tl_im2col_3d(tl_context *ctx, tl_tensor *a, tl_tensor *b, int64_t channels,
        const tl_im2col_3d_params *params);

/// Convolves the volumes `b` with the kernel `a`.
///
/// Computes `c[x, y, z, m + outputs n] = sum over channels, tx < kw, ty < kh and tz < kd of
/// a[tx, ty, tz, channel + channels m]
/// b[x s0 + tx d0 - p0, y s1 + ty d1 - p1, z s2 + tz d2 - p2, channel + channels n]`.
///
/// Elements outside `b` count as zeros. A window that is larger than `b` with its padding is refused,
/// as by PyTorch: ggml computes one position, whose window is cut off. It is the sum of a tl_conv_2d()
/// for each plane of the kernel.
/// - Shapes: `a` {kw, kh, kd, channels outputs}, `b` {w, h, d, channels volumes}, `c`
///   {w', h', d', outputs volumes}, with w' = (w + 2 p0 - (kw - 1) d0 - 1) / s0 + 1 and h' = (h + 2
///   p1 - (kh - 1) d1 - 1) / s1 + 1, both rounded down, and d' in the same way. kd is at most 4096.
/// - Types: `a` and `b` are each F32, F16 or BF16. Computed in F32.
/// - Result: F32.
/// - `channels`: number of channels of a volume of `b`. At least 1.
///
/// Since 0.1.
TL_API tl_tensor *tl_conv_3d(tl_context *ctx, tl_tensor *a, tl_tensor *b, int64_t channels,
        const tl_conv_3d_params *params);

/// Adds up windows that overlap: the second half of a transposed convolution of signals.
///
/// Computes `c[x, channel] = sum over t < k and j with j stride + t - padding = x of
/// a[t + k channel, j]`.
/// - Shapes: `a` {k channels, n}, `c` {(n - 1) stride + k - 2 padding, channels}. k is at most 4096
///   times `stride`.
/// - Types: F32, F16 or BF16. Sums are computed in F32 and rounded once.
/// - Result: The type of `a`.
/// - `stride`: distance of neighbouring windows in the result. At least 1.
/// - `padding`: number of elements cut off at both ends of the result. At least 0.
/// - `channels`: number of channels of the result. At least 1.
///
/// Since 0.1.
TL_API tl_tensor *tl_col2im_1d(tl_context *ctx, tl_tensor *a, int64_t stride, int64_t padding,
        int64_t channels);

/// Convolves each channel of sequences with its own short kernel, without looking ahead, as state space
/// models do.
///
/// Computes `c[i, t, s] = f(sum over j < k of kernel[j, i] x[t + j, i, s] + bias[i])`; `x is `state`
/// followed by `a`, or `a``.
///
/// f is `silu` if that is true, otherwise nothing. The first tokens need k - 1 elements before them:
/// these are the `state`, which are the last k - 1 elements of x when the next tokens come, or `a`
/// begins with them. A tl_conv_1d_dw(), transposed.
/// - Shapes: `a` {t, channels, sequences} with a `state` {k - 1, channels, sequences}, or
///   {k - 1 + t, channels, sequences} without one. `kernel` {k, channels}, `bias` {channels}, `c`
///   {channels, t, sequences}.
/// - Types: All operands are each F32, F16 or BF16. Computed in F32.
/// - Result: F32.
/// - `state` and `bias` are optional: tl_none() leaves one out.
///
/// Since 0.1.
TL_API tl_tensor *tl_ssm_conv(tl_context *ctx, tl_tensor *a, tl_tensor *kernel, tl_tensor *state,
        tl_tensor *bias, const tl_ssm_conv_params *params);

/// Draws random numbers that are uniformly distributed between two bounds.
///
/// Computes `c[i] = low + (high - low) u[i]`; `u[i] = (the upper 24 bits of word i) 2^-24`.
///
/// Elements i are counted along dimension 0 first. Word i is word i mod 4 of Philox4x32-10 (J. K.
/// Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, Parallel Random Numbers: As Easy as 1, 2, 3, 2011).
/// Its key is the lower and the upper half of the seed. Its counter is i / 4, `stream`, and the lower
/// and the upper half of the counter in `state`. So results depend on `state`, `stream` and the shape
/// alone, and a graph draws the same numbers in each run until the caller advances the counter.
/// Operations with the same stream draw the same words, and those with another stream draw others. low
/// <= c <= high: c is high only if low + (high - low) (1 - 2^-24) rounds to it, and never if low is 0
/// and high is above 2^-126.
/// - Shapes: `state` {2}: a seed and a counter. `c` has at most 2^34 elements.
/// - Types: `state` is I64, `c` is F32. The bounds are rounded to F32, and so is each operation of the
///   formula, so the bits are the same on every device.
/// - Result: F32.
/// - `ne`: shape of the result. Dimensions that it lacks are 1. Each at least 0.
/// - `low`: lower bound.
/// - `high`: upper bound. It is not less than `low`.
/// - `stream`: stream of random words. Operations that are to draw different numbers need different
///   streams. Range: 0 to 2^31 - 1.
///
/// Since 0.1.
TL_API tl_tensor *tl_random_uniform(tl_context *ctx, tl_tensor *state, int32_t n_dims, const int64_t *ne,
        double low, double high, int64_t stream);

/// Draws normally distributed random numbers.
///
/// Computes `c[i] = mean + deviation z`; `z = quantile of the standard normal distribution at (word i +
/// 1/2) 2^-32`.
///
/// Words are those of tl_random_uniform(). The quantile is computed by the rational functions of M. J.
/// Wichura (AS 241, 1988). The largest |z| is 6.338, at 2^-33.
/// - Shapes: `state` {2}: a seed and a counter. `c` has at most 2^34 elements.
/// - Types: `state` is I64, `c` is F32. Everything is computed in F64, with each operation rounded, and
///   `c` is then rounded to F32, so the bits are the same on every device.
/// - Result: F32.
/// - `ne`: shape of the result. Dimensions that it lacks are 1. Each at least 0.
/// - `mean`: mean of the distribution.
/// - `deviation`: standard deviation. At least 0.
/// - `stream`: stream of random words. Operations that are to draw different numbers need different
///   streams. Range: 0 to 2^31 - 1.
///
/// Since 0.1.
TL_API tl_tensor *tl_random_normal(tl_context *ctx, tl_tensor *state, int32_t n_dims, const int64_t *ne,
        double mean, double deviation, int64_t stream);

/// Sets random elements of `a` to 0 and scales the others up to keep the mean.
///
/// Computes `c[i] = a[i] / (1 - p) if word i >= p 2^32 else 0`.
///
/// Words are those of tl_random_uniform(), with i counted along dimension 0 first. An element that is
/// dropped becomes 0 even if it is NaN.
/// - Shapes: `c` has the shape of `a`, with at most 2^34 elements. `state` {2}: a seed and a counter.
/// - Types: `a` is F32, F16 or BF16 with any strides, and `state` is I64. 1 - p is rounded to F32, and
///   the quotient is rounded to F32 and then to the type of `a`, so the bits are the same on every
///   device.
/// - Result: The type of `a`.
/// - `p`: probability that an element is dropped: 0 or more, and less than 1.
/// - `stream`: stream of random words. Operations that are to draw different numbers need different
///   streams. Range: 0 to 2^31 - 1.
///
/// Since 0.1.
TL_API tl_tensor *tl_dropout(tl_context *ctx, tl_tensor *a, tl_tensor *state, double p, int64_t stream);

/// Updates `a` by a step of gradient descent.
///
/// Computes `a[i] = a[i] (1 - rate decay) - rate grad[i]`.
///
/// Operands that are written must be contiguous and not constant, and must not share memory with
/// another operand. A node that was differentiated reads the values from before the step, regardless of
/// the order of the outputs of the graph.
/// - Shapes: `a` and `grad` have the same shape. `settings` {2} holds rate and decay.
/// - Types: `a` is F32, `grad` is F32, F16 or BF16, and `settings` is F32. Each operation of the
///   formula is rounded to F32, so the bits are the same on every device.
/// - Result: A view of `a`, which is overwritten when the node is computed. Make the result an output
///   of the graph, or use it in another node: otherwise nothing is written.
///
/// Since 0.1.
TL_API tl_tensor *tl_opt_step_sgd(tl_context *ctx, tl_tensor *a, tl_tensor *grad, tl_tensor *settings);

/// Updates `a` by a step of gradient descent with momentum.
///
/// Computes `velocity[i] = momentum velocity[i] + grad[i]`; `a[i] = a[i] (1 - rate decay) - rate
/// velocity[i]`.
///
/// Operands that are written must be contiguous and not constant, and must not share memory with
/// another operand. A node that was differentiated reads the values from before the step, regardless of
/// the order of the outputs of the graph.
/// - Shapes: `a`, `grad` and `velocity` have the same shape. `velocity` is zeros before the first step.
///   `settings` {3} holds rate, decay and momentum.
/// - Types: `a` and `velocity` are F32, `grad` is F32, F16 or BF16, and `settings` is F32. Each
///   operation of the formula is rounded to F32, so the bits are the same on every device.
/// - Result: A view of `a`, which is overwritten when the node is computed. Make the result an output
///   of the graph, or use it in another node: otherwise nothing is written.
/// - `velocity` is overwritten as well.
///
/// Since 0.1.
TL_API tl_tensor *tl_opt_step_momentum(tl_context *ctx, tl_tensor *a, tl_tensor *grad, tl_tensor *velocity,
        tl_tensor *settings, const tl_opt_step_momentum_params *params);

/// Updates `a` by a step of AdamW (I. Loshchilov, F. Hutter, Decoupled Weight Decay Regularization,
/// 2019).
///
/// Computes `m[i] = beta1 m[i] + (1 - beta1) grad[i]`; `v[i] = beta2 v[i] + (1 - beta2) grad[i]^2`;
/// `a[i] = a[i] (1 - rate decay) - rate m[i] unbias1 / (sqrt(v[i] unbias2) + eps)`.
///
/// With a decay of 0 this is Adam. Operands that are written must be contiguous and not constant, and
/// must not share memory with another operand. A node that was differentiated reads the values from
/// before the step, regardless of the order of the outputs of the graph.
/// - Shapes: `a`, `grad`, `m` and `v` have the same shape. `m` and `v` are zeros before the first step.
///   `settings` {7} holds rate, beta1, beta2, eps, decay, unbias1 = 1 / (1 - beta1^t) and unbias2 = 1 /
///   (1 - beta2^t), where t is 1 in the first step.
/// - Types: `a`, `m` and `v` are F32, `grad` is F32, F16 or BF16, and `settings` is F32. Each operation
///   of the formula is rounded to F32, so the bits are the same on every device.
/// - Result: A view of `a`, which is overwritten when the node is computed. Make the result an output
///   of the graph, or use it in another node: otherwise nothing is written.
/// - `m` and `v` are overwritten as well.
///
/// Since 0.1.
TL_API tl_tensor *tl_opt_step_adamw(tl_context *ctx, tl_tensor *a, tl_tensor *grad, tl_tensor *m,
        tl_tensor *v, tl_tensor *settings);

/// Updates `a` by a step of Lion (X. Chen and others, Symbolic Discovery of Optimization Algorithms,
/// 2023).
///
/// Computes `a[i] = a[i] (1 - rate decay) - rate sgn(beta1 m[i] + (1 - beta1) grad[i])`; `m[i] = beta2
/// m[i] + (1 - beta2) grad[i]`.
///
/// Operands that are written must be contiguous and not constant, and must not share memory with
/// another operand. A node that was differentiated reads the values from before the step, regardless of
/// the order of the outputs of the graph.
/// - Shapes: `a`, `grad` and `m` have the same shape. `m` is zeros before the first step. `settings`
///   {4} holds rate, beta1, beta2 and decay.
/// - Types: `a` and `m` are F32, `grad` is F32, F16 or BF16, and `settings` is F32. Each operation of
///   the formula is rounded to F32, so the bits are the same on every device.
/// - Result: A view of `a`, which is overwritten when the node is computed. Make the result an output
///   of the graph, or use it in another node: otherwise nothing is written.
/// - `m` is overwritten as well.
///
/// Since 0.1.
TL_API tl_tensor *tl_opt_step_lion(tl_context *ctx, tl_tensor *a, tl_tensor *grad, tl_tensor *m,
        tl_tensor *settings);

/// Computes the elements of a matrix product whose neurons are active, and sets all others to 0.
///
/// Computes `c[i, t] = sum over k of a[k, i] * b[k, t] if neuron i is active for token t else 0`.
///
/// Row i of `a` belongs to neuron i, and row t of `b` to token t. With `rows`, `a` has the weights of
/// these neurons only, in ascending order, and `c` is 0 for all others. Without `scores`, `rows` is
/// required, and all of its neurons are active. k = 0 gives zeros.
/// - Shapes: `a` {k, n}, `b` {k, T}, `scores` {n, T}, `c` {n, T}. With `rows` {m}: `a` {k, m}, and n is
///   that of `scores` or the attribute `n`.
/// - Types: `a` and `b` as for tl_mul_mat(), and with the same rounding of `b`. `scores` is F32, and
///   `rows` is I32.
/// - Result: F32.
/// - `scores` and `rows` are optional: tl_none() leaves one out.
/// - Computing fails with TL_STATUS_INVALID_ARGUMENT for `rows` that do not ascend, or are out of
///   range. The message names the first such element.
///
/// Since 0.1.
TL_API tl_tensor *tl_mul_mat_sparse(tl_context *ctx, tl_tensor *a, tl_tensor *b, tl_tensor *scores,
        tl_tensor *rows, const tl_mul_mat_sparse_params *params);

/// Sums the rows of `a_t`, each multiplied by the activation of its neuron, over the active neurons.
///
/// Computes `c[k, t] = sum over active i with h[i, t] != 0 of h[i, t] * a_t[k, i]`.
///
/// This is the product with the transpose of `a_t`, of which only the rows of active neurons are read.
/// With `rows`, `a_t` has the rows of these neurons only, in ascending order, and all others count as
/// zeros. Without `scores`, `h` itself is tested. Products and sums are computed in F32, and no operand
/// is rounded.
/// - Shapes: `a_t` {k, n}, `h` {n, T}, `scores` {n, T}, `c` {k, T}. With `rows` {m}: `a_t` {k, m}.
/// - Types: `a_t` has a float type, or a quantised type other than Q8_1 and Q8_K. `h` is F32, F16 or
///   BF16, `scores` is F32, and `rows` is I32.
/// - Result: F32.
/// - `scores` and `rows` are optional: tl_none() leaves one out.
/// - Computing fails with TL_STATUS_INVALID_ARGUMENT for `rows` that do not ascend, or are out of
///   range. The message names the first such element.
///
/// Since 0.1.
TL_API tl_tensor *tl_axpy(tl_context *ctx, tl_tensor *a_t, tl_tensor *h, tl_tensor *scores, tl_tensor *rows,
        const tl_axpy_params *params);

/// Computes a gated feed-forward block over its active neurons only.
///
/// Computes `c[j, t] = sum over active i of activation(sum over k of gate[k, i] x[k, t]) * (sum over k
/// of up[k, i] x[k, t]) * down_t[j, i]`.
///
/// Row i of each matrix belongs to neuron i, and the down projection is transposed. With `rows`, the
/// matrices have the rows of these neurons only, in ascending order, out of the neurons that `scores`
/// has. Without `scores`, the operation finds the active neurons itself: it computes one projection of
/// all neurons, which `first` selects, and tests it. The projection by `gate` is tested after the
/// activation. `rows` must then be left out.
/// - Shapes: `x` {k, T}, `gate` {k, n}, `up` {k, n}, `down_t` {m, n}, `scores` {n, T}, `c` {m, T}. With
///   `rows` {r}, the matrices have r rows instead of n.
/// - Types: `gate`, `up` and `down_t` each have a float type, or a quantised type other than Q8_1 and
///   Q8_K. `x` is F32, F16 or BF16, `scores` is F32, and `rows` is I32. Kernels may round `x`, as for
///   tl_mul_mat().
/// - Result: F32.
/// - `scores` and `rows` are optional: tl_none() leaves one out.
/// - Computing fails with TL_STATUS_INVALID_ARGUMENT for `rows` that do not ascend, or are out of
///   range. The message names the first such element.
///
/// Since 0.1.
TL_API tl_tensor *tl_sparse_ffn(tl_context *ctx, tl_tensor *x, tl_tensor *gate, tl_tensor *up,
        tl_tensor *down_t, tl_tensor *scores, tl_tensor *rows, const tl_sparse_ffn_params *params);

/// Keeps the bits that `a` and `b` both have.
///
/// Computes `c[i] = a[i mod shape(a)] & b[i mod shape(b)]`.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
///   elements then repeat as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are both I8, I16, I32, I64, U8 or BOOL.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_bitwise_and(tl_context *ctx, tl_tensor *a, tl_tensor *b);

/// Joins the bits of `a` and `b`.
///
/// Computes `c[i] = a[i mod shape(a)] | b[i mod shape(b)]`.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
///   elements then repeat as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are both I8, I16, I32, I64, U8 or BOOL.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_bitwise_or(tl_context *ctx, tl_tensor *a, tl_tensor *b);

/// Keeps the bits that either `a` or `b` has, but not both.
///
/// Computes `c[i] = a[i mod shape(a)] ^ b[i mod shape(b)]`.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
///   elements then repeat as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are both I8, I16, I32, I64, U8 or BOOL.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_bitwise_xor(tl_context *ctx, tl_tensor *a, tl_tensor *b);

/// Inverts each bit of `a`; BOOL has one.
///
/// Computes `c[i] = ~a[i]`.
/// - Shapes: `c` has the shape of `a`.
/// - Types: I8, I16, I32, I64, U8 or BOOL.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_bitwise_not(tl_context *ctx, tl_tensor *a);

/// Moves the bits of each element of `a` up by as many places as `b` says.
///
/// Computes `c[i] = a[i mod shape(a)] * 2^b[i mod shape(b)]`.
///
/// A `b` below 0, or as large as the bits of the type, moves all bits out. Bits that leave the type are
/// lost, and zeros come in.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
///   elements then repeat as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are both I8, I16, I32, I64 or U8.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_shift_left(tl_context *ctx, tl_tensor *a, tl_tensor *b);

/// Moves the bits of each element of `a` down by as many places as `b` says.
///
/// Computes `c[i] = floor(a[i mod shape(a)] / 2^b[i mod shape(b)])`.
///
/// A `b` below 0, or as large as the bits of the type, moves all bits out. Copies of the sign come in.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
///   elements then repeat as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are both I8, I16, I32, I64 or U8.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_shift_right(tl_context *ctx, tl_tensor *a, tl_tensor *b);

/// Tests whether `a` and `b` are both not 0.
///
/// Computes `c[i] = 1 if a[i mod shape(a)] != 0 and b[i mod shape(b)] != 0 else 0`.
///
/// NaN counts as not 0.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
///   elements then repeat as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are each a float, an integer or BOOL. `c` is BOOL if both are, has the type of
///   `a` if that is F32, F16 or BF16, and is F32 otherwise.
///
/// Since 0.1.
TL_API tl_tensor *tl_logical_and(tl_context *ctx, tl_tensor *a, tl_tensor *b);

/// Tests whether `a` or `b` is not 0.
///
/// Computes `c[i] = 1 if a[i mod shape(a)] != 0 or b[i mod shape(b)] != 0 else 0`.
///
/// NaN counts as not 0.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
///   elements then repeat as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are each a float, an integer or BOOL. `c` is BOOL if both are, has the type of
///   `a` if that is F32, F16 or BF16, and is F32 otherwise.
///
/// Since 0.1.
TL_API tl_tensor *tl_logical_or(tl_context *ctx, tl_tensor *a, tl_tensor *b);

/// Tests whether either `a` or `b` is not 0, but not both.
///
/// Computes `c[i] = 1 if (a[i mod shape(a)] != 0) != (b[i mod shape(b)] != 0) else 0`.
///
/// NaN counts as not 0.
/// - Shapes: `a` and `b` are broadcast to the shape of `c`. In each dimension their extents are equal,
///   or one of them is 1 and its elements repeat. An extent of `b` may also divide that of `a`, and its
///   elements then repeat as tiles. A dimension that a shape lacks is 1.
/// - Types: `a` and `b` are each a float, an integer or BOOL. `c` is BOOL if both are, has the type of
///   `a` if that is F32, F16 or BF16, and is F32 otherwise.
///
/// Since 0.1.
TL_API tl_tensor *tl_logical_xor(tl_context *ctx, tl_tensor *a, tl_tensor *b);

/// Tests whether `a` is 0.
///
/// Computes `c[i] = 1 if a[i] = 0 else 0`.
///
/// NaN counts as not 0.
/// - Shapes: `c` has the shape of `a`.
/// - Types: `a` is a float, an integer or BOOL. `c` has the type of `a` if that is BOOL, F32, F16 or
///   BF16, and is F32 otherwise.
///
/// Since 0.1.
TL_API tl_tensor *tl_logical_not(tl_context *ctx, tl_tensor *a);

/// Divides images into square windows.
///
/// Computes `c[i, x, y, p + px q + px py n] = a[i, p w + x, q w + y, n], or 0 beyond the edges of `a``.
///
/// px and py are the numbers of windows across and down, rounded up.
/// - Shapes: `a` {n, w0, h0, images}, `c` {n, w, w, px py images}, px = w0 / `w` and py = h0 / `w`,
///   rounded up.
/// - Types: Any type without blocks. Elements are copied exactly.
/// - Result: The type of `a`.
/// - `w`: width and height of a window. Range: 1 to 1048576.
///
/// Since 0.1.
TL_API tl_tensor *tl_win_part(tl_context *ctx, tl_tensor *a, int64_t w);

/// Puts the windows of tl_win_part() together.
///
/// Computes `c[i, x, y, n] = a[i, x mod w, y mod w, floor(x / w) + px floor(y / w) + px py n]`.
///
/// px = `w0` / `w` and py = `h0` / `w`, rounded up.
/// - Shapes: `a` {n, w, w, px py images}, `c` {n, w0, h0, images}.
/// - Types: Any type without blocks. Elements are copied exactly.
/// - Result: The type of `a`.
/// - `w0`: width of the images. Range: 1 to 16777216.
/// - `h0`: height of the images. Range: 1 to 16777216.
/// - `w`: width and height of a window. Range: 1 to 1048576.
///
/// Since 0.1.
TL_API tl_tensor *tl_win_unpart(tl_context *ctx, tl_tensor *a, int64_t w0, int64_t h0, int64_t w);

/// Gathers the rows of `a` that belong to the distances between queries and keys.
///
/// Computes `c[i, k, q] = a[i, q - k + kh - 1]`.
/// - Shapes: `a` {n, qh + kh - 1}, `c` {n, kh, qh}.
/// - Types: F32, F16, BF16, F64, I32 or I64. Elements are copied exactly.
/// - Result: The type of `a`.
/// - `qh`: number of queries. Range: 1 to 1048576.
/// - `kh`: number of keys. Range: 1 to 1048576.
///
/// Since 0.1.
TL_API tl_tensor *tl_get_rel_pos(tl_context *ctx, tl_tensor *a, int64_t qh, int64_t kh);

/// Adds to attention scores a term for the horizontal and one for the vertical distance.
///
/// Computes `c[x + kw y, i, n] = a[x + kw y, i, n] + pw[x, i, n] + ph[y, i, n]`.
///
/// i = qx + qw qy is a query, and x and y are the column and the row of a key.
/// - Shapes: `a` {kw kh, qw qh, batch}, `pw` {kw, qw, qh, batch}, `ph` {kh, qw, qh, batch}. `c` has the
///   shape of `a`.
/// - Types: `a`, `pw` and `ph` are each F32, F16 or BF16. Each addition is computed in F32 and rounded
///   once to the type of `a`.
/// - Result: The type of `a`.
///
/// Since 0.1.
TL_API tl_tensor *tl_add_rel_pos(tl_context *ctx, tl_tensor *a, tl_tensor *pw, tl_tensor *ph);

/// Runs the gated delta rule over the tokens of sequences (Yang and others, Gated Delta Networks,
/// 2024).
///
/// Computes `M[j, i] = e^g M[j, i] + beta (v[j] - sum over i of e^g M[j, i] k[i]) k[i]`; `c[j] = sum
/// over i of M[j, i] q[i] / sqrt(S)`.
///
/// This is for a token of a head, and M is the state that the token before it left: `state` for the
/// first one. g is a number for each head, or one for each i. Head h uses head h mod heads' of `q` and
/// `k`, and sequence n uses theirs number n sequences' / sequences. The second result are the states
/// after the last token, and after those before it with `n_states` above 1: state s of that many is the
/// one s tokens before the end, after those of all sequences for s - 1. It is 0 if there are fewer
/// tokens than that. Without tokens, state 0 is `state`.
/// - Shapes: `q` and `k` {S, heads', tokens, sequences'}, `v` and `c` {S, heads, tokens, sequences},
///   `g` {1 or S, heads, tokens, sequences}, `beta` {1, heads, tokens, sequences}, `state`
///   {S, S, heads, sequences} with index i first. heads' divides heads and sequences' divides
///   sequences.
/// - Types: All F32, as is what is computed. e^x is computed to within 1e-6.
/// - Result: F32.
/// - Result 1, by tl_result(): the states, {S, S, heads, sequences `n_states`}.
///
/// Since 0.1.
TL_API tl_tensor *tl_gated_delta_net(tl_context *ctx, tl_tensor *q, tl_tensor *k, tl_tensor *v,
        tl_tensor *g, tl_tensor *beta, tl_tensor *state, const tl_gated_delta_net_params *params);

/// Runs a selective state space model over the tokens of sequences (Gu and Dao, Mamba, 2023).
///
/// Computes `M[j, i] = e^(d a[i]) M[j, i] + d x[j] b[i]`; `y[j] = sum over i of M[j, i] c[i]`; `d =
/// log(1 + e^dt)`.
///
/// This is for a token of a head, and M is the state that the token before it left. Sequence n begins
/// with state number `ids[n]` of `state`. `a` is a number for each head (Mamba 2), or one for each i
/// (Mamba). Head h uses group h / (heads / groups) of `b` and `c`. The second result are the states
/// after the last token, and after those before it with `n_states` above 1: state s of that many is the
/// one s tokens before the end, after those of all sequences for s - 1. It is 0 if there are fewer
/// tokens than that. Without tokens, state 0 is `state`.
/// - Shapes: `state` {d_state, dim, heads, any} with index i first, `x` and y
///   {dim, heads, tokens, sequences}, `dt` {heads, tokens, sequences}, `a` {1 or d_state, heads}, `b`
///   and `c` {d_state, groups, tokens, sequences}, `ids` {sequences}. groups divides heads.
/// - Types: `ids` is I32 or I64, the others are F32, as is what is computed. e^x is computed to within
///   1e-6.
/// - Result: F32.
/// - Result 1, by tl_result(): the states, {d_state, dim, heads, sequences `n_states`}.
/// - Computing fails with TL_STATUS_INVALID_ARGUMENT for an id that is no state. The message names the
///   first such element.
///
/// Since 0.1.
TL_API tl_tensor *tl_ssm_scan(tl_context *ctx, tl_tensor *state, tl_tensor *x, tl_tensor *dt, tl_tensor *a,
        tl_tensor *b, tl_tensor *c, tl_tensor *ids, const tl_ssm_scan_params *params);

/// Runs the time mixing of RWKV 6 over the tokens of sequences (Peng and others, Eagle and Finch,
/// 2024).
///
/// Computes `c[j] = sum over i of r[i] (M[i, j] + tf[i] k[i] v[j])`; `M[i, j] = td[i] M[i, j] + k[i]
/// v[j]`.
///
/// This is for a token of a head, and M is the state that the token before it left: `state` for the
/// first one of a sequence. Sequences have as many tokens each, one sequence after the other.
/// - Shapes: `k`, `v`, `r` and `td` {S, heads, tokens}, `tf` {S, heads}, `state` {S S heads, sequences}
///   with index j first, `c` {S heads, tokens}. sequences divides tokens.
/// - Types: All F32, as is what is computed.
/// - Result: F32.
/// - Result 1, by tl_result(): the states, in the shape of `state`.
///
/// Since 0.1.
TL_API tl_tensor *tl_rwkv_wkv6(tl_context *ctx, tl_tensor *k, tl_tensor *v, tl_tensor *r, tl_tensor *tf,
        tl_tensor *td, tl_tensor *state);

/// Runs the time mixing of RWKV 7 over the tokens of sequences (Peng and others, Goose, 2025).
///
/// Computes `M[j, i] = w[i] M[j, i] + v[j] k[i] + b[i] sum over l of M[j, l] a[l]`; `c[j] = sum over i
/// of M[j, i] r[i]`.
///
/// This is for a token of a head, and M is the state that the token before it left: `state` for the
/// first one of a sequence. Sequences have as many tokens each, one sequence after the other.
/// - Shapes: `r`, `w`, `k`, `v`, `a` and `b` {S, heads, tokens}, `state` {S S heads, sequences} with
///   index i first, `c` {S heads, tokens}. sequences divides tokens.
/// - Types: All F32, as is what is computed.
/// - Result: F32.
/// - Result 1, by tl_result(): the states, in the shape of `state`.
///
/// Since 0.1.
TL_API tl_tensor *tl_rwkv_wkv7(tl_context *ctx, tl_tensor *r, tl_tensor *w, tl_tensor *k, tl_tensor *v,
        tl_tensor *a, tl_tensor *b, tl_tensor *state);

/// Runs gated linear attention over the tokens of sequences (Yang and others, 2023).
///
/// Computes `M[i, j] = g[i] M[i, j] + k[i] v[j]`; `c[j] = scale sum over i of q[i] M[i, j]`.
///
/// This is for a token of a head, and M is the state that the token before it left: `state` for the
/// first one of a sequence. Sequences have as many tokens each, one sequence after the other.
/// - Shapes: `k`, `v`, `q` and `g` {S, heads, tokens}, `state` {S S heads, sequences} with index j
///   first, `c` {S heads, tokens}. sequences divides tokens.
/// - Types: All F32, as is what is computed.
/// - Result: F32.
/// - Result 1, by tl_result(): the states, in the shape of `state`.
/// - `scale`: factor of the result.
///
/// Since 0.1.
TL_API tl_tensor *tl_gated_linear_attn(tl_context *ctx, tl_tensor *k, tl_tensor *v, tl_tensor *q,
        tl_tensor *g, tl_tensor *state, double scale);

/// Adds the tensors `a` of all ranks of a group, element by element.
///
/// Computes `c = the sum of `a` over all ranks`.
///
/// All ranks of the group compute it, each in a graph of its own. The nodes of groups are computed in
/// the order in which they were built. A rank that fails, or misses the deadline, is an error on the
/// others. Sums of F16, BF16, and of F32 and F64 of at most 64 KiB, are computed in the order of the
/// ranks, so their bits do not depend on what connects the ranks. Larger sums of F32 and F64 have equal
/// bits on all ranks.
/// - Shapes: `a` has the same shape and type on all ranks. `c` has the shape of `a`.
/// - Types: F32, F16 or BF16, computed in F32 and rounded once; or I32, I64 or F64, computed in this
///   type. Integers wrap around where they overflow.
/// - Result: The type of `a`.
/// - `group`: the group, of which this process or thread is a rank.
///
/// Since 0.1.
TL_API tl_tensor *tl_all_sum(tl_context *ctx, tl_tensor *a, const tl_group *group);

/// Finds the largest elements of the tensors `a` of all ranks of a group.
///
/// Computes `c = the largest element of `a` over all ranks, in each position`.
///
/// All ranks of the group compute it, each in a graph of its own. The nodes of groups are computed in
/// the order in which they were built. A rank that fails, or misses the deadline, is an error on the
/// others. NaN if one of the elements is NaN. 0 counts as larger than -0.
/// - Shapes: `a` has the same shape and type on all ranks. `c` has the shape of `a`.
/// - Types: F32, F16 or BF16, computed in F32 and rounded once; or I32, I64 or F64, computed in this
///   type. Integers wrap around where they overflow.
/// - Result: The type of `a`.
/// - `group`: the group, of which this process or thread is a rank.
///
/// Since 0.1.
TL_API tl_tensor *tl_all_max(tl_context *ctx, tl_tensor *a, const tl_group *group);

/// Concatenates the tensors `a` of all ranks of a group along a dimension, in the order of the ranks.
///
/// Computes `c[i0, k + rank * ne1, i2, i3] = a[i0, k, i2, i3] of that rank`.
///
/// The formula is for `dim` 1. All ranks of the group compute it, each in a graph of its own. The nodes
/// of groups are computed in the order in which they were built. A rank that fails, or misses the
/// deadline, is an error on the others.
/// - Shapes: `a` has the same shape and type on all ranks. `c` has the shape of `a`, but as many times
///   its elements in dimension `dim` as there are ranks.
/// - Types: Any type; a quantised one as long as no row is divided. Elements are copied exactly.
/// - Result: The type of `a`.
/// - `dim`: the dimension; 0 is the contiguous one. Range: 0 to 3.
/// - `group`: the group, of which this process or thread is a rank.
///
/// Since 0.1.
TL_API tl_tensor *tl_all_gather(tl_context *ctx, tl_tensor *a, int64_t dim, const tl_group *group);

/// Adds the tensors `a` of all ranks of a group, and gives each rank its part along a dimension.
///
/// Computes `c[i0, k, i2, i3] = the sum of a[i0, k + rank * ne1 / ranks, i2, i3] over all ranks`.
///
/// The formula is for `dim` 1, where `rank` is the rank that computes. All ranks of the group compute
/// it, each in a graph of its own. The nodes of groups are computed in the order in which they were
/// built. A rank that fails, or misses the deadline, is an error on the others. Sums are computed in
/// the order of the ranks.
/// - Shapes: `a` has the same shape and type on all ranks. The number of ranks divides the elements of
///   dimension `dim`, and `c` has as many times fewer in it.
/// - Types: F32, F16 or BF16, computed in F32 and rounded once; or I32, I64 or F64, computed in this
///   type. Integers wrap around where they overflow.
/// - Result: The type of `a`.
/// - `dim`: the dimension; 0 is the contiguous one. Range: 0 to 3.
/// - `group`: the group, of which this process or thread is a rank.
///
/// Since 0.1.
TL_API tl_tensor *tl_sum_scatter(tl_context *ctx, tl_tensor *a, int64_t dim, const tl_group *group);

/// Gives all ranks of a group the tensor `a` of one of them.
///
/// Computes `c = `a` of the rank `root``.
///
/// All ranks of the group compute it, each in a graph of its own. The nodes of groups are computed in
/// the order in which they were built. A rank that fails, or misses the deadline, is an error on the
/// others.
/// - Shapes: `a` has the same shape and type on all ranks. `c` has the shape of `a`.
/// - Types: Any type; a quantised one as long as no row is divided. Elements are copied exactly.
/// - Result: The type of `a`.
/// - `root`: the rank whose tensor it is. Range: 0 to 2^31 - 1.
/// - `group`: the group, of which this process or thread is a rank.
///
/// Since 0.1.
TL_API tl_tensor *tl_broadcast(tl_context *ctx, tl_tensor *a, int64_t root, const tl_group *group);

/// Gives each rank of a group its part of the tensors `a` of all ranks, in the order of the ranks.
///
/// Computes `c[i0, k + r * ne1 / ranks, i2, i3] = a[i0, k + rank * ne1 / ranks, i2, i3] of rank r`.
///
/// The formula is for `dim` 1, where `rank` is the rank that computes. All ranks of the group compute
/// it, each in a graph of its own. The nodes of groups are computed in the order in which they were
/// built. A rank that fails, or misses the deadline, is an error on the others.
/// - Shapes: `a` has the same shape and type on all ranks. The number of ranks divides the elements of
///   dimension `dim`. `c` has the shape of `a`.
/// - Types: Any type; a quantised one as long as no row is divided. Elements are copied exactly.
/// - Result: The type of `a`.
/// - `dim`: the dimension; 0 is the contiguous one. Range: 0 to 3.
/// - `group`: the group, of which this process or thread is a rank.
///
/// Since 0.1.
TL_API tl_tensor *tl_all_to_all(tl_context *ctx, tl_tensor *a, int64_t dim, const tl_group *group);

/// Sends `a` to another rank of a group, which receives it with tl_receive().
///
/// Computes `c = a`.
///
/// The tensor is copied, so the sender does not wait. It is sent when the node is computed: make it, or
/// a node that reads it, an output of the graph. All ranks of the group compute it, each in a graph of
/// its own. The nodes of groups are computed in the order in which they were built. A rank that fails,
/// or misses the deadline, is an error on the others.
/// - Shapes: `c` has the shape of `a`.
/// - Types: Any type; a quantised one as long as no row is divided. Elements are copied exactly.
/// - Result: The type of `a`.
/// - `to`: the rank that receives it. Range: 0 to 2^31 - 1.
/// - `group`: the group, of which this process or thread is a rank.
///
/// Since 0.1.
TL_API tl_tensor *tl_send(tl_context *ctx, tl_tensor *a, int64_t to, const tl_group *group);

/// Receives the tensor that another rank of a group sends with tl_send().
///
/// Computes `c = what the rank `from` sends`.
///
/// Only the shape and the type of `a` are used. All ranks of the group compute it, each in a graph of
/// its own. The nodes of groups are computed in the order in which they were built. A rank that fails,
/// or misses the deadline, is an error on the others.
/// - Shapes: `c` has the shape of `a`, which is that of what is sent.
/// - Types: Any type; a quantised one as long as no row is divided. Elements are copied exactly.
/// - Result: The type of `a`.
/// - `from`: the rank that sends it. Range: 0 to 2^31 - 1.
/// - `group`: the group, of which this process or thread is a rank.
///
/// Since 0.1.
TL_API tl_tensor *tl_receive(tl_context *ctx, tl_tensor *a, int64_t from, const tl_group *group);

/// Marks `a`, which is the same on all ranks of a group, as an operand of what the ranks compute
/// differently.
///
/// Computes `c = a`.
///
/// Nothing is computed. With tensor parallelism, the input of a layer whose matrices are divided among
/// the ranks is such an operand.
/// - Shapes: `c` has the shape and the strides of `a`.
/// - Types: Any type.
/// - Result: A view of `a`. Nothing is computed.
/// - `group`: the group, of which this process or thread is a rank.
///
/// Since 0.1.
TL_API tl_tensor *tl_copy_to_group(tl_context *ctx, tl_tensor *a, const tl_group *group);

/* ====================================================================================================
 * Custom operations
 *
 * Operations of your own: functions that a plan calls as it runs its other kernels. Nodes of them are planned, traced, recomputed
 * and placed like all others, and have gradients if you build them. They are computed on the CPU. */

/// An operation that the caller made. Handle with a count of references: nodes hold one through their context, so it may be freed
/// while nodes exist. Any thread.
typedef struct tl_custom_op tl_custom_op;

/// The memory of an operand or of a result, during a call of a tl_custom_compute_fn. Element (i0, i1, i2, i3) of a type without
/// blocks is at `data + i0 * nb[0] + i1 * nb[1] + i2 * nb[2] + i3 * nb[3]`. This struct is frozen: it will never grow.
typedef struct tl_custom_view {
    /// The first element. An operand's memory must not be written.
    void *data;
    /// The type of the elements.
    tl_type type;
    /// The number of dimensions, 1 to 4.
    int32_t n_dims;
    /// The extents. Those of missing dimensions are 1.
    int64_t ne[4];
    /// The strides in bytes.
    size_t nb[4];
} tl_custom_view;

/// What a tl_custom_compute_fn is to compute: elements [begin, end) of the result, counted along dimension 0 first. The struct is
/// the library's, and valid during the call.
typedef struct tl_custom_slice {
    /// Bytes of this struct, set by the library. Later versions are larger.
    size_t struct_size;
    /// The operands, which may have any strides.
    const struct tl_custom_view *src;
    /// The number of operands.
    size_t n_src;
    /// The whole result, which is contiguous. Only elements [begin, end) may be written, and all of them must be.
    struct tl_custom_view dst;
    /// The first element of the slice.
    int64_t begin;
    /// The element after the last one.
    int64_t end;
    /// A number of the thread, from 0 and below the backend's threads. No two calls of one node have the same number at a time.
    int32_t thread;
} tl_custom_slice;

/// The type and the shape of a result, which a tl_custom_shape_fn fills in.
typedef struct tl_custom_result {
    /// Bytes of this struct, set by the library. Later versions are larger.
    size_t struct_size;
    /// The type, which must not be quantised. Set to that of the first operand before the call.
    tl_type type;
    /// The number of dimensions, 1 to 4. Set to that of the first operand before the call.
    int32_t n_dims;
    /// The extents. Set to those of the first operand before the call.
    int64_t ne[4];
} tl_custom_result;

/// Says what the result for some operands is, or why there is none: by a status other than TL_STATUS_OK, and a message in `err`,
/// which is never NULL. Called by tl_custom(), on its thread. It may ask for the operands' types and shapes. Must not throw or unwind.
typedef tl_status (*tl_custom_shape_fn)(void *user_data,
                                        tl_tensor *const *src,
                                        size_t n_src,
                                        tl_custom_result *result,
                                        tl_error *err);

/// Computes a slice. Called while a graph is computed, on any thread, for several slices at once: what it shares must be safe for
/// that. The result must not depend on how it is divided. A status other than TL_STATUS_OK, with a message in `err`, which is never
/// NULL, fails the run. Inside it, calls that make or free tensors' memory, compute, read or write fail with
/// TL_STATUS_INVALID_ARGUMENT, because the run holds what they would wait for. Must not throw or unwind.
typedef tl_status (*tl_custom_compute_fn)(void *user_data,
                                          const tl_custom_slice *slice,
                                          tl_error *err);

/// Builds the gradient of operand number `operand` of `node` from `gradient`, which is that of the node: F32, of the node's shape.
/// Called by tl_gradients(), on its thread, for operands of F32, F16 or BF16 whose gradient is wanted. Makes nodes in `ctx`, and
/// returns one of F32, F16 or BF16 in the operand's shape. tl_tensor_sources() gives the node's operands. NULL, with a message in
/// `err`, or with an error that ctx keeps, fails the call; nodes that were made until then stay in ctx. Must not throw or unwind.
typedef struct tl_tensor *(*tl_custom_gradient_fn)(void *user_data,
                                                   struct tl_context *ctx,
                                                   struct tl_tensor *node,
                                                   struct tl_tensor *gradient,
                                                   size_t operand,
                                                   struct tl_error *err);

/// Called once with the user data, when neither the caller nor a node needs the operation any more: on the thread that drops the
/// last reference. Must not throw or unwind.
typedef void (*tl_custom_destroy_fn)(void *user_data);

/// What a custom operation is. Set struct_size and leave what you do not need zero (tl_custom_params_init()).
typedef struct tl_custom_params {
    /// Bytes of this struct, set by the caller.
    size_t struct_size;
    /// The name, for messages, plans and traces: 1 to 64 bytes of UTF-8.
    const char *name;
    /// NULL: the result has the type and the shape of the first operand.
    tl_custom_shape_fn shape;
    /// Required.
    tl_custom_compute_fn compute;
    /// NULL: the operation has no gradient.
    tl_custom_gradient_fn gradient;
    /// Passed to all functions.
    void *user_data;
    /// Frees the user data; may be NULL.
    tl_custom_destroy_fn destroy;
    /// Slices begin at multiples of this many elements: 0 for whole rows, 1 for any element. -1: the result is one slice.
    int64_t slice_unit;
    /// About how many operations an element takes; 0 counts as 1. It decides how many threads are worth waking.
    double cost;
} tl_custom_params;

/// Sets a struct of `struct_size` bytes to its defaults, all zeros, and its struct_size. NULL is ignored. Any thread. Since 0.1.
TL_API void tl_custom_params_init(tl_custom_params *params, size_t struct_size);

/// Makes an operation, which the caller frees with tl_custom_op_free(). It can have any number of nodes, in any contexts; graphs
/// that are built again reuse their plans. On failure `out` is NULL and the user data stays the caller's: destroy is not called.
/// TL_STATUS_INVALID_ARGUMENT: a pointer is NULL, or the name, slice_unit or cost is not valid. TL_STATUS_OUT_OF_MEMORY. Any
/// thread. Since 0.1.
TL_API TL_NODISCARD tl_status tl_custom_op_create(const tl_custom_params *params, tl_custom_op **out,
        tl_error *err);

/// Drops the caller's reference; NULL is ignored. Contexts with nodes of the operation keep it until they are reset or freed. Any
/// thread. Since 0.1.
TL_API void tl_custom_op_free(tl_custom_op *op);

/// Appends a node of a custom operation with 1 to 10 operands of any types. The function is called when a graph with the node is
/// computed. In tl_op() it is `"custom"`, with the attribute `function`, tl_custom_op_number(). The context owns the result; NULL
/// on failure: what tl_custom_shape_fn returned, TL_STATUS_INVALID_ARGUMENT if `op` is NULL or the shape is not valid, or
/// TL_STATUS_TYPE_MISMATCH for a quantised result. Any thread. Since 0.1.
TL_API tl_tensor *tl_custom(tl_context *ctx, const tl_custom_op *op, tl_tensor *const *src, size_t n_src);

/// The number of an operation, which no other one of the process ever has; 0 for NULL. Any thread. Since 0.1.
TL_API uint64_t tl_custom_op_number(const tl_custom_op *op);

/* ====================================================================================================
 * Gradients
 *
 * Derivatives of outputs as nodes, which are computed, fused and printed like all others, on every backend, and can be
 * differentiated again. */

/// Appends to `ctx` the nodes that compute the gradients of the sum of the outputs `ys` with respect to each tensor
/// of `wrt`, and stores them in `grads`: `grads[j]` has the shape of `wrt[j]`, is F32 and contiguous, and is zero
/// if no y depends on `wrt[j]`. The call computes nothing; a graph computes the nodes, together with the outputs if
/// both are among its outputs.
///
/// `ys` and `wrt` are leafs or nodes of F32, F16 or BF16. `seeds` are the gradients that flow into the outputs:
/// F32, each of the shape of its y. An output of one element, such as a loss, needs no seed: NULL for all seeds, or
/// NULL or tl_none() for one, stands for 1. `ctx` is any context that may refer to those of the outputs and seeds,
/// usually the youngest of them; it owns the nodes. ys, seeds (unless NULL) and wrt are read during the call only;
/// grads receives n_wrt tensors, or NULLs on failure.
///
/// Gradients flow along operands: through views, repetitions and conversions, into weights of F32, F16 or BF16, and
/// through products with quantised weights, which are constants themselves. They end at tl_stop_gradient(), at
/// indices, and at operands for which an operation defines no gradient (docs/ops.md). Writes into memory by other
/// means are not tracked.
///
/// Returns the context's pending constructor error first, and clears it. On any error no nodes were appended.
/// TL_STATUS_INVALID_ARGUMENT: a pointer is NULL, n_ys or n_wrt is 0, or an output of more than one element has no
/// seed. TL_STATUS_TYPE_MISMATCH, TL_STATUS_SHAPE_MISMATCH: outputs, seeds or wrt do not fit.
/// TL_STATUS_CONTEXT_MISMATCH. TL_STATUS_UNSUPPORTED: some nodes cannot be differentiated; the message names all of
/// them. TL_STATUS_OUT_OF_MEMORY. Any thread. Since 0.1.
TL_API TL_NODISCARD tl_status tl_gradients(tl_context *ctx, tl_tensor *const *ys, tl_tensor *const *seeds,
        size_t n_ys, tl_tensor *const *wrt, size_t n_wrt, tl_tensor **grads, tl_error *err);

/// Whether gradients of y flow to t along operands. If not, tl_gradients() returns zeros for floats, and fails for
/// tensors of other types. `out` is false on failure. TL_STATUS_INVALID_ARGUMENT: a pointer is NULL, or a tensor is
/// tl_none(). TL_STATUS_OUT_OF_MEMORY. Any thread. Since 0.1.
TL_API TL_NODISCARD tl_status tl_gradients_reach(tl_tensor *y, tl_tensor *t, bool *out, tl_error *err);

/* ====================================================================================================
 * Graphs
 *
 * The nodes to compute, and their order. */

/// The nodes that some outputs need, in an order in which they can be computed. Immutable once built; it can be
/// computed any number of times, with new values in its leafs.
///
/// Lifetime: from tl_graph_create() until tl_graph_free(). A graph keeps the memory of all contexts that it reaches
/// alive.
///
/// Threads: any function may be called from any thread. A graph is computed by one caller at a time.
typedef struct tl_graph tl_graph;

/// Called on the thread that called tl_graph_compute(), after each computed node and during long ones: `done` of
/// `total` nodes are computed (views compute nothing and count with the node before them). Return true to continue,
/// false to stop the run with TL_STATUS_ABORTED. Must not throw or unwind.
typedef bool (*tl_progress_fn)(void *user_data, size_t done, size_t total);

/// Called on the thread that called tl_graph_compute(), after each node that computes something, with that node: `done`
/// of `total` nodes are computed. Return true to continue, false to stop the run with TL_STATUS_ABORTED. Must not throw
/// or unwind.
typedef bool (*tl_observe_fn)(void *user_data, tl_tensor *node, size_t done, size_t total);

/// Builds the graph of `n_outputs` outputs: post-order from each in turn, every tensor once.
///
/// `ctx` owns the graph's memory. `outputs` is read during the call only. `out` must not be NULL; it
/// receives the graph, which the caller frees with tl_graph_free(), or NULL on failure.
///
/// Returns the context's pending constructor error first, and clears it.
/// TL_STATUS_INVALID_ARGUMENT: ctx, out, outputs or one of them is NULL, or n_outputs is 0.
/// TL_STATUS_OUT_OF_MEMORY. Any thread. Since 0.1.
TL_API TL_NODISCARD tl_status tl_graph_create(tl_context *ctx, tl_tensor *const *outputs, size_t n_outputs,
        tl_graph **out, tl_error *err);

/// Builds a graph whose intermediates take at most `memory` bytes, not counting kernels' workspaces
/// (tl_graph_plan_text() shows both).
///
/// If all nodes together would take more, some nodes that gradients read are recomputed instead of kept: cheap
/// nodes first, then whole sections of the graph. Results have the same bits. The plan's text lists the recomputed
/// nodes and the bytes saved. A limit that is large enough changes nothing.
///
/// Arguments and statuses as tl_graph_create(); TL_STATUS_OUT_OF_MEMORY also if no plan within `memory` is found:
/// the message has the fewest bytes for which one was found. Any thread. Since 0.1.
TL_API TL_NODISCARD tl_status tl_graph_create_within(tl_context *ctx, tl_tensor *const *outputs,
        size_t n_outputs, size_t memory, tl_graph **out, tl_error *err);

/// Frees the graph; NULL is ignored. Its outputs' data stay with their contexts. Any thread. Since 0.1.
TL_API void tl_graph_free(tl_graph *graph);

/// The number of nodes, including views; 0 for NULL. Any thread. Since 0.1.
TL_API size_t tl_graph_n_nodes(const tl_graph *graph);

/// The number of leafs; 0 for NULL. Any thread. Since 0.1.
TL_API size_t tl_graph_n_leafs(const tl_graph *graph);

/// Lists the nodes in the order of computation, including views.
///
/// Writes up to `n` of them to `nodes`, which may be NULL if n is 0, and returns their total number; 0 for NULL.
/// They are valid as long as the graph. A node that is recomputed for gradients (tl_graph_create_within()) is
/// listed once for each time it is computed. Any thread. Since 0.1.
TL_API size_t tl_graph_nodes(const tl_graph *graph, tl_tensor **nodes, size_t n);

/// Lists the leafs that the graph's nodes read or write, as tl_graph_nodes(). Any thread. Since 0.1.
TL_API size_t tl_graph_leafs(const tl_graph *graph, tl_tensor **leafs, size_t n);

/// Lists the outputs in the order in which they were given, as tl_graph_nodes(). Any thread. Since 0.1.
TL_API size_t tl_graph_outputs(const tl_graph *graph, tl_tensor **outputs, size_t n);

/// Computes the graph and returns when the results are complete. The first call with a backend makes a plan
/// (kernels, memory, threads) and later calls reuse it. Once this graph is freed, another graph of the same context
/// with the same operations, shapes, types and constants reuses it too.
///
/// TL_STATUS_INVALID_ARGUMENT: graph or backend is NULL, or a leaf has no data yet. TL_STATUS_CONTEXT_MISMATCH:
/// some data live on a device that the backend does not compute on. TL_STATUS_UNSUPPORTED: no kernel of the backend
/// supports a node (the message says why). TL_STATUS_UNAVAILABLE: the backend belongs to the parent of this forked
/// process. TL_STATUS_BUSY: a context is in use, or the call comes from the backend's own callback.
/// TL_STATUS_ABORTED: the callback stopped the run. TL_STATUS_OUT_OF_MEMORY: also if a joined backend cannot keep
/// the limit of tl_graph_create_within(). After a failure the outputs count as not computed, unless the call
/// changed nothing: BUSY, UNAVAILABLE and CONTEXT_MISMATCH. Any thread. Since 0.1.
TL_API TL_NODISCARD tl_status tl_graph_compute(tl_graph *graph, tl_backend *backend, tl_error *err);

/// Sets the callback of future runs; NULL removes it. `user_data` is passed to it unchanged and must live until the
/// callback is replaced or the graph is freed.
///
/// The callback runs on the thread that computes: after each node, and on the CPU about every 10 ms while a node
/// takes longer. It gets the number of nodes computed so far. Stopping a run skips the rest of the current node.
/// The answer after the last node has no effect, as the results are complete. TL_STATUS_INVALID_ARGUMENT: graph is
/// NULL. TL_STATUS_BUSY: the graph is being computed. Any thread. Since 0.1.
TL_API TL_NODISCARD tl_status tl_graph_set_progress(tl_graph *graph, tl_progress_fn progress,
        void *user_data, tl_error *err);

/// Sets the observer of future runs, which is called with each node when its result is complete; NULL removes it.
/// `user_data` is passed to it unchanged and must live until the observer is replaced or the graph is freed.
///
/// While the observer runs, tl_tensor_read(), tl_tensor_read_f32() and tl_tensor_get_f32() can read the node's
/// result on this thread, even if it is an intermediate, but no other tensor of a context that the run writes. The
/// observer is called once for each node that computes something, in the order of computation; views have no result
/// of their own. Each node runs separately, which is slow and gives the same bits. The answer after the last node
/// has no effect, as the results are complete.
///
/// TL_STATUS_INVALID_ARGUMENT: graph is NULL. TL_STATUS_BUSY: the graph is being computed. Any thread. Since 0.1.
TL_API TL_NODISCARD tl_status tl_graph_set_observer(tl_graph *graph, tl_observe_fn observe, void *user_data,
        tl_error *err);

/// Makes future runs check each result and fail at the first that has a NaN, or an infinity although no operand has
/// one. Use it to find where a NaN comes from.
///
/// Such a run fails with TL_STATUS_INVALID_ARGUMENT; the message names the operation, tensor, element, value and
/// operands. Leafs that are read are checked first, for NaNs only. Infinities of leafs, of diag_mask_inf, of an
/// infinite fill and of results computed from them count as intended. Integers and quantised types are not checked.
/// Each node runs separately and its result is read, which is slow and gives the same bits.
///
/// TL_STATUS_INVALID_ARGUMENT: graph is NULL. TL_STATUS_BUSY: the graph is being computed. Any thread. Since 0.1.
TL_API TL_NODISCARD tl_status tl_graph_set_check_finite(tl_graph *graph, bool check, tl_error *err);

/// Makes future runs batch-invariant: each column of mul_mat and mul_mat_id, and each query of flash_attn_ext and
/// paged_attention, has the bits that it has if it is computed alone, however many are computed with it. Use it
/// where results must not depend on how tokens are grouped, such as a prompt that is fed at once or in parts.
///
/// A query's bits do not depend on keys that its mask hides either. Operations that take each row by itself, such as
/// norms, rope and get_rows, are always batch-invariant. A column is then rounded to 8 bits even if it is the only
/// one, and BF16 weights are multiplied in F32. Prompts are slower, single columns hardly.
///
/// TL_STATUS_INVALID_ARGUMENT: graph is NULL. TL_STATUS_BUSY: the graph is being computed. Computing the graph then
/// fails with TL_STATUS_UNSUPPORTED on a backend other than the CPU, and for mul_mat_sparse, axpy and sparse_ffn,
/// which have no such kernels. Any thread. Since 0.1.
TL_API TL_NODISCARD tl_status tl_graph_set_batch_invariant(tl_graph *graph, bool on, tl_error *err);

/// Writes the graph in Graphviz's DOT language to `buf`, at most `size` bytes including the NUL, and returns the
/// length needed without the NUL. `buf` may be NULL if size is 0. Returns 0 for NULL, and if memory runs out. Any
/// thread. Since 0.1.
TL_API size_t tl_graph_dot(const tl_graph *graph, char *buf, size_t size);

/// Writes the plan as text, a line per node: kernel, chunks, threads, workspace, memory, and why better kernels
/// refused. `buf` and the result as in tl_graph_dot(); 0 on failure, with the reason in `err` (statuses as in
/// tl_graph_compute()). Any thread. Since 0.1.
TL_API size_t tl_graph_plan_text(tl_graph *graph, tl_backend *backend, char *buf, size_t size,
        tl_error *err);

/// Bytes that computing the graph takes on each device of the backend, in the order of joining: leafs and outputs
/// that lie there, intermediates, workspace, transfers to the device, and packed copies of constants. Nothing is
/// allocated, and leafs need no data, so a graph of a no_alloc context tells its need in advance.
///
/// `bytes` has space for `n` numbers and receives tl_backend_n_devices() of them. The planner itself counts; only
/// packed copies may turn out smaller, if there is no memory for one.
///
/// TL_STATUS_INVALID_ARGUMENT: graph, backend or bytes is NULL, n is below the number of devices. Other statuses as
/// tl_graph_compute(). Any thread. Since 0.1.
TL_API TL_NODISCARD tl_status tl_graph_plan_bytes(tl_graph *graph, tl_backend *backend, size_t *bytes,
        size_t n, tl_error *err);

/* ====================================================================================================
 * GGUF files
 *
 * Metadata and tensors in one file, the usual format for distributing models. Versions 2 and 3, little-endian. */

/// An opened and checked file: every length, count and offset in it lies inside its bytes. Immutable.
///
/// A file may be split into shards, NAME-00001-of-00003.gguf: opening any of them opens all, with the metadata of the
/// first.
///
/// Lifetime: from tl_gguf_open() until tl_gguf_free(). Names, texts and data that the functions below return live as
/// long. Tensors made by tl_gguf_tensor() keep the bytes that they need alive.
///
/// A mapped file must not be written to or truncated while it is open: reads would return undefined contents, and
/// touching a truncated page ends the process. tl_gguf_open_copy() reads the file once instead.
///
/// Threads: any function may be called from any thread. Getters accept NULL.
typedef struct tl_gguf tl_gguf;

/// The type of a metadata value, by its GGUF number.
typedef int32_t tl_gguf_type;

/// 8-bit unsigned integer.
#define TL_GGUF_TYPE_U8 0

/// 8-bit signed integer.
#define TL_GGUF_TYPE_I8 1

/// 16-bit unsigned integer.
#define TL_GGUF_TYPE_U16 2

/// 16-bit signed integer.
#define TL_GGUF_TYPE_I16 3

/// 32-bit unsigned integer.
#define TL_GGUF_TYPE_U32 4

/// 32-bit signed integer.
#define TL_GGUF_TYPE_I32 5

/// IEEE 754 binary32.
#define TL_GGUF_TYPE_F32 6

/// A byte that is 0 or 1.
#define TL_GGUF_TYPE_BOOL 7

/// A length and that many bytes, usually UTF-8.
#define TL_GGUF_TYPE_STRING 8

/// Elements of one type, which may be arrays.
#define TL_GGUF_TYPE_ARRAY 9

/// 64-bit unsigned integer.
#define TL_GGUF_TYPE_U64 10

/// 64-bit signed integer.
#define TL_GGUF_TYPE_I64 11

/// IEEE 754 binary64.
#define TL_GGUF_TYPE_F64 12

/// Opens a file by mapping it: its pages are loaded when they are touched.
///
/// `path` must not be NULL. `out` must not be NULL; it receives the file, which the caller frees with
/// tl_gguf_free(), or NULL on failure.
///
/// TL_STATUS_IO: the file or another shard of it cannot be opened (the message has path and reason), or is a folder
/// or a device. TL_STATUS_FORMAT: the file is empty, its contents violate the format (the message says how and at
/// which byte), or its shards do not match. TL_STATUS_INVALID_ARGUMENT: path or out is NULL.
/// TL_STATUS_OUT_OF_MEMORY. Any thread. Since 0.1.
TL_API TL_NODISCARD tl_status tl_gguf_open(const char *path, tl_gguf **out, tl_error *err);

/// tl_gguf_open() for a file that is read into memory at once and may change afterwards. Since 0.1.
TL_API TL_NODISCARD tl_status tl_gguf_open_copy(const char *path, tl_gguf **out, tl_error *err);

/// tl_gguf_open() for bytes in memory, which are not copied: they must stay valid and unchanged until the handle
/// and every context with tensors over them are freed. `data` may have any alignment, and be NULL if size is 0.
/// Other shards of a split file are not looked for. Statuses as tl_gguf_open(), except TL_STATUS_IO. Since 0.1.
TL_API TL_NODISCARD tl_status tl_gguf_open_memory(const void *data, size_t size, tl_gguf **out,
        tl_error *err);

/// tl_gguf_open_memory() for bytes that are copied: the caller may free them after the call. Since 0.1.
TL_API TL_NODISCARD tl_status tl_gguf_open_memory_copy(const void *data, size_t size, tl_gguf **out,
        tl_error *err);

/// Releases the handle; NULL is ignored. The bytes stay as long as a context has tensors over them. Any thread.
/// Since 0.1.
TL_API void tl_gguf_free(tl_gguf *gguf);

/// The format's version, 2 or 3; 0 for NULL. Since 0.1.
TL_API uint32_t tl_gguf_version(const tl_gguf *gguf);

/// The alignment of tensors: their offsets are multiples of it; 0 for NULL. Since 0.1.
TL_API size_t tl_gguf_alignment(const tl_gguf *gguf);

/// The number of shards, 1 for a file that is not split; 0 for NULL. Since 0.1.
TL_API size_t tl_gguf_n_parts(const tl_gguf *gguf);

/// The number of metadata keys; 0 for NULL. Since 0.1.
TL_API size_t tl_gguf_n_kv(const tl_gguf *gguf);

/// A key's name, UTF-8; NULL if index is not below tl_gguf_n_kv(). Lives as long as gguf. Since 0.1.
TL_API const char *tl_gguf_key(const tl_gguf *gguf, size_t index);

/// The index of a key, or -1 if it does not exist. Since 0.1.
TL_API int64_t tl_gguf_find(const tl_gguf *gguf, const char *key);

/// The type of a key's value; -1 for an invalid index. Since 0.1.
TL_API tl_gguf_type tl_gguf_kv_type(const tl_gguf *gguf, size_t index);

/// The type of an array's elements; -1 for an invalid index or a value that is not an array. Since 0.1.
TL_API tl_gguf_type tl_gguf_array_type(const tl_gguf *gguf, size_t index);

/// The number of an array's elements; 0 for an invalid index or a value that is not an array. Since 0.1.
TL_API uint64_t tl_gguf_array_n(const tl_gguf *gguf, size_t index);

/// Gets a value of any integer type that is 0 or more, as an unsigned integer.
///
/// `out` must not be NULL; it is untouched on failure. TL_STATUS_TYPE_MISMATCH: the value is not such a number (the
/// message has the key, its type and what would be valid). TL_STATUS_INVALID_ARGUMENT: gguf or out is NULL, or the
/// index is invalid. All getters return these statuses. Any thread. Since 0.1.
TL_API TL_NODISCARD tl_status tl_gguf_get_u64(const tl_gguf *gguf, size_t index, uint64_t *out,
        tl_error *err);

/// Gets a value of any integer type below 2^63, as a signed integer. Otherwise as tl_gguf_get_u64(). Since 0.1.
TL_API TL_NODISCARD tl_status tl_gguf_get_i64(const tl_gguf *gguf, size_t index, int64_t *out,
        tl_error *err);

/// Gets a float, or an integer that a double represents exactly. Otherwise as tl_gguf_get_u64(). Since 0.1.
TL_API TL_NODISCARD tl_status tl_gguf_get_f64(const tl_gguf *gguf, size_t index, double *out, tl_error *err);

/// Gets a bool; numbers do not count as bools. Otherwise as tl_gguf_get_u64(). Since 0.1.
TL_API TL_NODISCARD tl_status tl_gguf_get_bool(const tl_gguf *gguf, size_t index, bool *out, tl_error *err);

/// Gets a string: a pointer to its first byte, with a NUL after its last, and its number of bytes. It may contain
/// any bytes, including NULs. `out` must not be NULL, `size` may be. Lives as long as gguf. Otherwise as
/// tl_gguf_get_u64(). Since 0.1.
TL_API TL_NODISCARD tl_status tl_gguf_get_string(const tl_gguf *gguf, size_t index, const char **out,
        size_t *size, tl_error *err);

/// tl_gguf_get_u64() for one element of an array. TL_STATUS_INVALID_ARGUMENT also if the element does not exist.
/// Since 0.1.
TL_API TL_NODISCARD tl_status tl_gguf_array_u64(const tl_gguf *gguf, size_t index, uint64_t element,
        uint64_t *out, tl_error *err);

/// tl_gguf_get_i64() for one element of an array. Since 0.1.
TL_API TL_NODISCARD tl_status tl_gguf_array_i64(const tl_gguf *gguf, size_t index, uint64_t element,
        int64_t *out, tl_error *err);

/// tl_gguf_get_f64() for one element of an array. Since 0.1.
TL_API TL_NODISCARD tl_status tl_gguf_array_f64(const tl_gguf *gguf, size_t index, uint64_t element,
        double *out, tl_error *err);

/// tl_gguf_get_bool() for one element of an array. Since 0.1.
TL_API TL_NODISCARD tl_status tl_gguf_array_bool(const tl_gguf *gguf, size_t index, uint64_t element,
        bool *out, tl_error *err);

/// Gets one string of an array: a pointer to its first byte, and its number of bytes. Unlike a string of
/// tl_gguf_get_string() it lies in the file without a NUL at its end, so `size` must not be NULL either. Since 0.1.
TL_API TL_NODISCARD tl_status tl_gguf_array_string(const tl_gguf *gguf, size_t index, uint64_t element,
        const char **out, size_t *size, tl_error *err);

/// Copies `n` elements of an array of numbers or bools, starting at `first`, to `out`, which may be NULL if n is 0.
/// TL_STATUS_TYPE_MISMATCH: `type` is not exactly that of the elements, or not that of a number or bool.
/// TL_STATUS_INVALID_ARGUMENT: the range ends after the last element. Any thread. Since 0.1.
TL_API TL_NODISCARD tl_status tl_gguf_array_read(const tl_gguf *gguf, size_t index, tl_gguf_type type,
        uint64_t first, uint64_t n, void *out, tl_error *err);

/// A value's bytes as stored in the file, at any alignment, and their number: the elements of an array, including
/// the headers (type u32, count u64) of nested arrays; the characters of a string; otherwise the value. NULL and 0
/// for an invalid index. `size` may be NULL. Lives as long as gguf. Since 0.1.
TL_API const void *tl_gguf_kv_data(const tl_gguf *gguf, size_t index, size_t *size);

/// The number of tensors in all shards; 0 for NULL. Since 0.1.
TL_API size_t tl_gguf_n_tensors(const tl_gguf *gguf);

/// A tensor's name, UTF-8; NULL if index is not below tl_gguf_n_tensors(). Lives as long as gguf. Since 0.1.
TL_API const char *tl_gguf_tensor_name(const tl_gguf *gguf, size_t index);

/// The index of a tensor, or -1 if it does not exist. Since 0.1.
TL_API int64_t tl_gguf_tensor_find(const tl_gguf *gguf, const char *name);

/// A tensor's element type; -1 for an invalid index. Since 0.1.
TL_API tl_type tl_gguf_tensor_type(const tl_gguf *gguf, size_t index);

/// A tensor's number of dimensions in the file, 0 to 4; 0 for an invalid index. Since 0.1.
TL_API int32_t tl_gguf_tensor_n_dims(const tl_gguf *gguf, size_t index);

/// A tensor's elements in dimension dim; 1 for dimensions that it does not use; 0 for an invalid index, or a dim
/// that is not 0 to 3. Since 0.1.
TL_API int64_t tl_gguf_tensor_ne(const tl_gguf *gguf, size_t index, int32_t dim);

/// Bytes of a tensor's data; 0 for an invalid index. Since 0.1.
TL_API size_t tl_gguf_tensor_nbytes(const tl_gguf *gguf, size_t index);

/// The offset of a tensor's data, in bytes from the first tensor byte of its shard; 0 for an invalid index. Since
/// 0.1.
TL_API uint64_t tl_gguf_tensor_offset(const tl_gguf *gguf, size_t index);

/// A tensor's bytes in the file, tl_gguf_tensor_nbytes() of them, at an alignment that depends on the file; NULL
/// for an invalid index. Read-only. Lives as long as gguf. Since 0.1.
TL_API const void *tl_gguf_tensor_data(const tl_gguf *gguf, size_t index);

/// Makes a leaf with the contents and the name of one of the file's tensors. In host memory the leaf uses the
/// file's bytes, which the context keeps until it is reset or its memory is freed, and only the tensor object
/// counts against the limit. On a device, and if kernels cannot use the data at their address in the file, the leaf
/// is a copy. In a no_alloc context it has data too. Each call makes a new leaf.
///
/// The leaf is constant from the start: it can be read and computed with like any leaf, but writing to it or to a
/// view of it, and operations that target it, are errors.
///
/// Returns NULL on failure (see tl_context_error()): TL_STATUS_INVALID_ARGUMENT: gguf or name is NULL, or the
/// tensor does not exist; TL_STATUS_OUT_OF_MEMORY; TL_STATUS_DEVICE. The context owns the tensor. Any thread. Since
/// 0.1.
TL_API tl_tensor *tl_gguf_tensor(tl_gguf *gguf, tl_context *ctx, const char *name);

/* ====================================================================================================
 * Writing GGUF files
 *
 * First declare keys and tensors, then write the data in portions. The file gets its name when it is complete. */

/// A file being written. tl_gguf_writer_finish() gives it its name in one step, replacing an existing file; until then
/// nobody sees it under that name, and a process that ends earlier leaves the target unchanged. On systems that cannot
/// create files without names, such a process leaves a file .tensorlib-*.tmp in the target's folder.
///
/// Lifetime: from tl_gguf_writer_create() until tl_gguf_writer_free(). A writer keeps the contexts of added tensors
/// until it has finished.
///
/// Threads: one caller at a time.
typedef struct tl_gguf_writer tl_gguf_writer;

/// Options for writing a file. Fill it with tl_gguf_writer_params_init(), then change what you need.
typedef struct tl_gguf_writer_params {
    /// Bytes of this struct, as the caller knows it.
    size_t struct_size;
    /// The version of the format: 2 or 3; 0 = 3.
    uint32_t version;
    /// The alignment of tensors: their offsets become multiples of it. A power of two, at least 8; 0 = 32.
    uint32_t alignment;
    /// The most bytes per file: more data go to further shards, NAME-00001-of-00003.gguf for the path NAME.gguf. No
    /// tensor is split, so a file with one tensor may be larger. 0 = one file.
    uint64_t split_size;
} tl_gguf_writer_params;

/// Sets the defaults. A NULL `params` is ignored; at most `struct_size` bytes are written. Any thread, as long as
/// params is not shared. Since 0.1.
TL_API void tl_gguf_writer_params_init(tl_gguf_writer_params *params, size_t struct_size);

/// Begins a file.
///
/// `path` must not be NULL. `params` may be NULL for the defaults. `out` must not be NULL; it receives the writer, which
/// the caller frees with tl_gguf_writer_free(), or NULL on failure.
///
/// TL_STATUS_IO: no file can be made in that folder (the message has path and reason). TL_STATUS_INVALID_ARGUMENT:
/// a pointer is NULL, the path is empty, or params are out of range. TL_STATUS_OUT_OF_MEMORY. Since 0.1.
TL_API TL_NODISCARD tl_status tl_gguf_writer_create(const char *path, const tl_gguf_writer_params *params,
        tl_gguf_writer **out, tl_error *err);

/// Sets a key to a value of this type. Names are UTF-8 of 1 to 65535 bytes, and copied.
///
/// TL_STATUS_INVALID_ARGUMENT: a pointer is NULL; the key is already set, has an invalid name, or belongs to the
/// writer (general.alignment and split.*, which params set); data were already written, or the writer has finished
/// or failed. All setters return these statuses. Since 0.1.
TL_API TL_NODISCARD tl_status tl_gguf_writer_set_u8(tl_gguf_writer *writer, const char *key, uint8_t value,
        tl_error *err);

/// tl_gguf_writer_set_u8() for this type. Since 0.1.
TL_API TL_NODISCARD tl_status tl_gguf_writer_set_i8(tl_gguf_writer *writer, const char *key, int8_t value,
        tl_error *err);

/// tl_gguf_writer_set_u8() for this type. Since 0.1.
TL_API TL_NODISCARD tl_status tl_gguf_writer_set_u16(tl_gguf_writer *writer, const char *key,
        uint16_t value, tl_error *err);

/// tl_gguf_writer_set_u8() for this type. Since 0.1.
TL_API TL_NODISCARD tl_status tl_gguf_writer_set_i16(tl_gguf_writer *writer, const char *key, int16_t value,
        tl_error *err);

/// tl_gguf_writer_set_u8() for this type. Since 0.1.
TL_API TL_NODISCARD tl_status tl_gguf_writer_set_u32(tl_gguf_writer *writer, const char *key,
        uint32_t value, tl_error *err);

/// tl_gguf_writer_set_u8() for this type. Since 0.1.
TL_API TL_NODISCARD tl_status tl_gguf_writer_set_i32(tl_gguf_writer *writer, const char *key, int32_t value,
        tl_error *err);

/// tl_gguf_writer_set_u8() for this type. Since 0.1.
TL_API TL_NODISCARD tl_status tl_gguf_writer_set_f32(tl_gguf_writer *writer, const char *key, float value,
        tl_error *err);

/// tl_gguf_writer_set_u8() for this type. Since 0.1.
TL_API TL_NODISCARD tl_status tl_gguf_writer_set_bool(tl_gguf_writer *writer, const char *key, bool value,
        tl_error *err);

/// tl_gguf_writer_set_u8() for this type. Since 0.1.
TL_API TL_NODISCARD tl_status tl_gguf_writer_set_u64(tl_gguf_writer *writer, const char *key,
        uint64_t value, tl_error *err);

/// tl_gguf_writer_set_u8() for this type. Since 0.1.
TL_API TL_NODISCARD tl_status tl_gguf_writer_set_i64(tl_gguf_writer *writer, const char *key, int64_t value,
        tl_error *err);

/// tl_gguf_writer_set_u8() for this type. Since 0.1.
TL_API TL_NODISCARD tl_status tl_gguf_writer_set_f64(tl_gguf_writer *writer, const char *key, double value,
        tl_error *err);

/// Sets a key to a string of `size` bytes, which are copied; `text` may be NULL if size is 0. Otherwise as
/// tl_gguf_writer_set_u8(). Since 0.1.
TL_API TL_NODISCARD tl_status tl_gguf_writer_set_string(tl_gguf_writer *writer, const char *key,
        const char *text, size_t size, tl_error *err);

/// Sets a key to an array of `n` numbers or bools (bytes of 0 or 1) of this type, which are copied; `data` may be
/// NULL if n is 0. Otherwise as tl_gguf_writer_set_u8(). Since 0.1.
TL_API TL_NODISCARD tl_status tl_gguf_writer_set_array(tl_gguf_writer *writer, const char *key,
        tl_gguf_type type, const void *data, uint64_t n, tl_error *err);

/// Sets a key to an array of `n` strings, which are copied. `sizes` has their lengths in bytes, or is NULL if each
/// ends with a NUL. Otherwise as tl_gguf_writer_set_u8(). Since 0.1.
TL_API TL_NODISCARD tl_status tl_gguf_writer_set_string_array(tl_gguf_writer *writer, const char *key,
        const char *const *texts, const size_t *sizes, size_t n, tl_error *err);

/// Copies all keys of a file, including nested arrays, except those that are already set and those that belong to
/// the writer. `gguf` is not kept. Otherwise as tl_gguf_writer_set_u8(). Since 0.1.
TL_API TL_NODISCARD tl_status tl_gguf_writer_copy_kv(tl_gguf_writer *writer, const tl_gguf *gguf,
        tl_error *err);

/// Adds a tensor under its own name, 1 to 64 bytes of UTF-8. Its data are read later, by tl_gguf_writer_finish() or
/// by tl_gguf_writer_write_data() for a later tensor, so it may still be computed until then. The writer keeps its
/// context until it has finished.
///
/// TL_STATUS_INVALID_ARGUMENT: a pointer is NULL; the name is already used or invalid; data were already written,
/// or the writer has finished or failed. Since 0.1.
TL_API TL_NODISCARD tl_status tl_gguf_writer_add_tensor(tl_gguf_writer *writer, tl_tensor *tensor,
        tl_error *err);

/// Declares a tensor whose data tl_gguf_writer_write_data() supplies. `ne` has n_dims values, 0 to 4, and may be
/// NULL for 0 dimensions: a scalar. Otherwise as tl_gguf_writer_add_tensor(); TL_STATUS_INVALID_ARGUMENT also for a
/// shape or type that tl_tensor_new() refuses. Since 0.1.
TL_API TL_NODISCARD tl_status tl_gguf_writer_declare_tensor(tl_gguf_writer *writer, const char *name,
        tl_type type, int32_t n_dims, const int64_t *ne, tl_error *err);

/// Writes the next `size` bytes of the first declared tensor that is incomplete. Tensors are written in the order
/// of declaration, each in any number of portions. After the first call, keys and tensors can no longer be added.
///
/// TL_STATUS_INVALID_ARGUMENT: data is NULL, or there are more bytes than the tensor lacks (nothing was written);
/// or a tensor added before it cannot be read yet. TL_STATUS_IO: the file could not be written (for example, no
/// space is left); the writer has failed. TL_STATUS_BUSY: an added tensor is in use; the call may be repeated.
/// Since 0.1.
TL_API TL_NODISCARD tl_status tl_gguf_writer_write_data(tl_gguf_writer *writer, const void *data,
        size_t size, tl_error *err);

/// Writes the remaining data, flushes all files to the disk and gives them their names, the first shard last.
///
/// TL_STATUS_INVALID_ARGUMENT: a declared tensor lacks data, or an added one cannot be read (it is not computed).
/// TL_STATUS_BUSY: an added tensor is in use. The call may be repeated after either. TL_STATUS_IO: as
/// tl_gguf_writer_write_data(). Since 0.1.
TL_API TL_NODISCARD tl_status tl_gguf_writer_finish(tl_gguf_writer *writer, tl_error *err);

/// The number of shards; 0 before data were written, and for NULL. Since 0.1.
TL_API size_t tl_gguf_writer_n_parts(const tl_gguf_writer *writer);

/// Frees the writer; NULL is ignored. A writer that has not finished leaves no file. Since 0.1.
TL_API void tl_gguf_writer_free(tl_gguf_writer *writer);

#ifdef __cplusplus
}
#endif

#endif /* TENSORLIB_H */
