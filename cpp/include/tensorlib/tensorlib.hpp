// tensorlib for C++: contexts, tensors, graphs and backends as value handles.
//
//     namespace tl = tensorlib;
//     tl::Backend cpu;                                             // all cores
//     tl::Context ctx;
//     auto a = ctx.tensor<float>({2, 4}, {2, 8, 5, 1, 4, 2, 8, 6});
//     auto b = ctx.tensor<float>({2, 3}, {10, 5, 9, 9, 5, 4});
//     auto c = mul_mat(a, b);                                      // [4, 3]; nothing is computed yet
//     cpu.compute({c});                                            // builds a graph and runs it
//     std::vector<float> values = c.read<float>();
//
// Shapes are written with the contiguous dimension first: {2, 4} is 4 rows of 2.
//
// Operations take operands, then required arguments, then options: scale(a, 2, {.bias = 1}). An optional operand that
// is left out is std::nullopt: glu(a, std::nullopt, GluOp::swiglu).
//
// Ownership: all classes are cheap to copy; copies share the object. A tensor keeps its context alive, a graph
// everything that it reaches, a context its backend. An object ends with its last handle, in any order.
//
// Errors: every function that can fail throws tensorlib::Error. Nothing aborts.
//
// Threads: every function may be called from any thread. As for any C++ object, one handle must not be assigned in one
// thread while another uses it. Computing, reading and writing in one context at the same time is Error(busy), at once
// or after Context::set_busy_timeout(): see tl_context in tensorlib.h.
#pragma once

#include <tensorlib/error.hpp>
#include <tensorlib/gen/op_functions.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

// The C ABI's handles (tensorlib.h).
struct tl_context;
struct tl_tensor;
// DLPack's struct, which libraries exchange tensors with. Programs that only pass it on do not need DLPack's header.
struct DLManagedTensorVersioned;

namespace tensorlib {

namespace core {
class Backend;
class Context;
class Graph;
struct Tensor;
}  // namespace core

// Storage types; the numbers are GGUF's. docs/formats.md describes each type.
enum class Type : std::int32_t {
    f32 = 0,
    f16 = 1,
    q4_0 = 2,
    q4_1 = 3,
    q5_0 = 6,
    q5_1 = 7,
    q8_0 = 8,
    q8_1 = 9,
    q2_K = 10,
    q3_K = 11,
    q4_K = 12,
    q5_K = 13,
    q6_K = 14,
    q8_K = 15,
    iq2_xxs = 16,
    iq2_xs = 17,
    iq3_xxs = 18,
    iq1_s = 19,
    iq4_nl = 20,
    iq3_s = 21,
    iq2_s = 22,
    iq4_xs = 23,
    i8 = 24,
    i16 = 25,
    i32 = 26,
    i64 = 27,
    f64 = 28,
    iq1_m = 29,
    bf16 = 30,
    tq1_0 = 34,
    tq2_0 = 35,
    mxfp4 = 39,
    nvfp4 = 40,
    q1_0 = 41,
    q2_0 = 42,
    u8 = 1000,
    boolean = 1001,  // "bool": bytes that are 0 or 1
};

// The type's name, "f32".
const char *type_name(Type type);
// Finds a type by name, ignoring case. Throws Error(invalid_argument), listing all types, if there is none.
Type type_from_name(std::string_view name);

// The storage type of a C++ element type: float, double, the signed integers, std::uint8_t and bool. F16 and BF16 have no C++ type: use
// write_f32() and read_f32().
template <class T>
constexpr Type type_of() {
    if constexpr (std::is_same_v<T, float>)
        return Type::f32;
    else if constexpr (std::is_same_v<T, double>)
        return Type::f64;
    else if constexpr (std::is_same_v<T, std::int8_t>)
        return Type::i8;
    else if constexpr (std::is_same_v<T, std::int16_t>)
        return Type::i16;
    else if constexpr (std::is_same_v<T, std::int32_t>)
        return Type::i32;
    else if constexpr (std::is_same_v<T, std::uint8_t>)
        return Type::u8;
    else if constexpr (std::is_same_v<T, bool>)
        return Type::boolean;
    else {
        static_assert(std::is_same_v<T, std::int64_t>, "no storage type has these elements");
        return Type::i64;
    }
}

// Encodes rows of n_per_row floats as blocks of a storage type, with a small sum of squared errors. importance: empty,
// or a finite, non-negative weight for each column's squared errors. Runs on the calling thread; Backend::quantize()
// uses its own threads. Throws Error(invalid_argument) if values are no whole rows, rows are no whole blocks, or a
// value does not fit the type. Quantised types hold only finite numbers; the message says where the value is.
std::vector<std::byte> quantize(Type type, std::span<const float> values, std::int64_t n_per_row, std::span<const float> importance = {});
// As quantize(), into the caller's memory, which must have exactly the size, at any address.
void quantize_into(Type type, std::span<const float> values, std::int64_t n_per_row, std::span<std::byte> blocks,
                   std::span<const float> importance = {});
// Decodes blocks to floats; the target must have exactly the size. Throws Error(invalid_argument) if bytes are no whole
// blocks.
std::vector<float> dequantize(Type type, std::span<const std::byte> blocks);
void dequantize_into(Type type, std::span<const std::byte> blocks, std::span<float> values);

class Tensor;
// Makes nodes (api/handles.hpp).
struct Nodes;

// Selects elements of a dimension, for Tensor::operator[].
class Index {
public:
    // As the end of a range: that of the dimension.
    static constexpr std::int64_t end = std::numeric_limits<std::int64_t>::max();

    // One element, whose dimension the result lacks. Negative ones count from the end: -1 is the last.
    constexpr Index(std::int64_t at) : begin_(at), end_(at), is_range_(false) {}
    // The elements [first, last). Negative ones count from the end.
    constexpr Index(std::int64_t first, std::int64_t last) : begin_(first), end_(last), is_range_(true) {}

private:
    friend class Tensor;
    std::int64_t begin_, end_;
    bool is_range_;
};
// All elements of a dimension.
inline constexpr Index every{0, Index::end};

struct BackendOptions {
    int n_threads = 0;        // including the calling thread; 0 = all that this process may use
    bool allow_tf32 = false;  // CUDA: F32 products may be computed in TF32 (10 bits of fraction)
};

// Properties of a device; numbers are 0 if unknown.
struct DeviceInfo {
    std::string name;                                 // the name that Backend takes: "cpu", "cuda:0"
    std::string description;                          // the processor's or card's own name
    std::uint64_t memory_total = 0, memory_free = 0;  // bytes
    int capability = 0;                               // CUDA: compute capability, 90 = 9.0
    bool simulated = false;                           // for tests, not hardware
};

// The devices of this machine; the first is always "cpu".
std::vector<DeviceInfo> devices();

// A device opened for computing. One graph runs at a time; a second caller waits.
class Backend {
public:
    // Opens a device by its name, or several, "cuda:0+cpu", and joins them. Throws Error(invalid_argument) for an
    // unknown device, and Error(unavailable) if it, or the instruction set that TENSORLIB_ISA selects, is not
    // available.
    explicit Backend(std::string_view device = "cpu", BackendOptions options = {});

    // Joins backends of different devices into one, which computes graphs whose tensors lie on any of them. Each node
    // runs where the fewest bytes are copied for it, or where Tensor::place() says. Leafs stay where their contexts
    // are, and an output ends on its context's device. A context made on the joined backend lies on the first device.
    // Throws Error(invalid_argument) if there are none, or more than 32, if two use one device, or if one is itself
    // joined.
    static Backend join(std::span<const Backend> backends);
    static Backend join(std::initializer_list<Backend> backends);

    // Builds a graph of these outputs and computes it. For many runs, make a Graph once.
    void compute(std::initializer_list<Tensor> outputs) const;
    void compute(std::span<const Tensor> outputs) const;

    // quantize() and quantize_into() with this backend's threads. Throws Error(unsupported) if it is not on the CPU.
    std::vector<std::byte> quantize(Type type, std::span<const float> values, std::int64_t n_per_row,
                                    std::span<const float> importance = {}) const;
    void quantize_into(Type type, std::span<const float> values, std::int64_t n_per_row, std::span<std::byte> blocks,
                       std::span<const float> importance = {}) const;

    std::string device() const;                // "cpu+cuda:0" for a joined backend
    std::vector<std::string> devices() const;  // in the order of joining
    std::string isa() const;                   // "avx512", or "sm_90" for a GPU
    int n_threads() const;
    // The bytes of packed copies of constants. A copy is made when a graph that multiplies with the constant is first
    // computed. All graphs of the backend share it, and it is freed with the backend or the constant's context. No
    // context counts it.
    std::size_t packed_memory() const;

private:
    friend class Context;
    friend class Graph;
    explicit Backend(std::shared_ptr<core::Backend> impl) : impl_(std::move(impl)) {}
    std::shared_ptr<core::Backend> impl_;
};

struct ContextOptions {
    std::size_t mem_limit = 0;          // limit in bytes for objects and data; 0 = none
    std::span<std::byte> mem_buffer{};  // memory to use instead; must outlive everything that refers to the context
    bool no_alloc = false;              // only shapes, until allocate()
};

// An arena that owns tensors and their data.
class Context : public ContextOps {
public:
    explicit Context(const ContextOptions &options = {});
    // Tensors' data live on the backend's device.
    explicit Context(const Backend &backend, const ContextOptions &options = {});

    // A leaf, filled with zeros or from values in ne order, exactly as many as the shape has elements.
    Tensor zeros(Type type, const Shape &shape) const;
    template <class T>
    Tensor tensor(const Shape &shape, std::span<const T> values) const;
    template <class T>
    Tensor tensor(const Shape &shape, const std::vector<T> &values) const;
    template <class T>
    Tensor tensor(const Shape &shape, std::initializer_list<T> values) const;

    // Any operation by name. An attribute is integers ("axes", "ne", ...), a text ("to") or a number: the first of
    // these that is given. An optional attribute that is 0 has its default. An optional operand may be std::nullopt, or
    // missing at the end. docs/ops.md lists the operations.
    struct Attribute {
        std::string name;
        std::vector<std::int64_t> ints;
        std::string text;
        double number = 0;
    };
    Tensor op(std::string_view name, std::initializer_list<std::optional<Tensor>> sources,
              std::initializer_list<Attribute> attributes = {}) const;

    // The gradients of the sum of the outputs ys with respect to each of wrt, as nodes of this context: contiguous F32
    // with wrt's shapes, and zeros where nothing depends on one. ys and wrt are F32, F16 or BF16. seeds are the
    // gradients of the ys, F32 with their shapes; without one, 1 for an output of one element. This context is usually
    // the youngest of the ys'. Gradients flow along operands (docs/ops.md says where they end), not through memory that
    // other nodes write. Throws Error, and then appends nothing: unsupported names all nodes that cannot be
    // differentiated.
    std::vector<Tensor> gradients(std::span<const Tensor> ys, std::span<const Tensor> wrt,
                                  std::span<const std::optional<Tensor>> seeds = {}) const;

    // As in ContextOps, whose functions are the free ones with the node in this context.
    Tensor cat(std::span<const Tensor> tensors, int dim) const;
    Tensor stack(std::span<const Tensor> tensors, int dim) const;
    Tensor einsum(std::string_view equation, std::span<const Tensor> tensors) const;
    Tensor mul_mat(const Tensor &a, const Tensor &b) const;
    Tensor mul_mat_exact(const Tensor &a, const Tensor &b) const;
    Tensor mul_mat_id(const Tensor &a, const Tensor &b, const Tensor &ids) const;

    // For messages: "context 3 'weights'". UTF-8; "" removes the name.
    void set_name(std::string_view name) const;
    std::string name() const;
    // Closes the context for building: new leafs and nodes in it are Error(invalid_argument) from now on, so that a
    // model does not grow by nodes that were meant for a request's context. reset() opens it again.
    void freeze() const;

    // How long a call about this context, its tensors and graphs waits for what other threads use before it throws
    // Error(busy). 0, the default, waits for no lock. Graph::compute() waits no longer for the backend either. A
    // negative time is Error(invalid_argument). Calls from a callback never wait. See tl_context_set_busy_timeout().
    void set_busy_timeout(std::chrono::nanoseconds timeout) const;
    std::chrono::nanoseconds busy_timeout() const;

    // tensors(): leafs and nodes in the order of their creation. find(): the first of that name.
    std::vector<Tensor> tensors() const;
    std::optional<Tensor> find(std::string_view name) const;
    // The context's number in messages.
    std::uint64_t id() const;

    // A tensor over memory that another library shares, without a copy: a leaf, or a view of one if the elements are not
    // contiguous. The deleter runs when the context is reset or freed. If this throws, the caller still owns `managed`.
    // See tl_tensor_from_dlpack().
    Tensor from_dlpack(DLManagedTensorVersioned *managed) const;

    // A handle that shares a context of the C ABI, which the caller keeps and frees as before. Throws
    // Error(invalid_argument) for null, and for a context that another copy of the library has made: link the C
    // functions from tensorlib::cpp, which has them.
    static Context from(tl_context *context);

    // Allocates data for the leafs of a no_alloc context.
    void allocate() const;
    // Empties the context. It keeps its memory and the plans of its graphs, for graphs of equal structure. Throws
    // Error(busy) while tensors, graphs or copies of the handle exist.
    void reset();

    std::size_t used_memory() const;
    std::size_t peak_memory() const;

private:
    friend class Tensor;
    friend class Graph;
    friend class Gguf;
    friend struct Nodes;
    explicit Context(std::shared_ptr<core::Context> impl) : impl_(std::move(impl)) {}
    std::shared_ptr<core::Context> impl_;
};

// A leaf or a node. Its context keeps it; the handle keeps the context. A handle made without arguments, or moved from,
// is null: all functions except assignment and the test throw Error(invalid_argument).
class Tensor : public TensorOps {
public:
    Tensor() = default;
    explicit operator bool() const noexcept { return context_ != nullptr; }

    Type type() const;
    int n_dims() const;
    std::array<std::int64_t, 4> shape() const;   // ne; unused dimensions are 1
    std::array<std::size_t, 4> strides() const;  // nb, in bytes
    std::int64_t n_elements() const;
    std::size_t nbytes() const;  // of the packed elements
    std::string op() const;      // "leaf", "mul_mat"
    // The operands, in the order of docs/ops.md; none for a leaf, std::nullopt for an operand that was left out.
    std::vector<std::optional<Tensor>> sources() const;

    // from(): a handle of a tensor of the C ABI, which keeps its context. handle(): this tensor for the C ABI, valid as
    // long as a handle exists. Throws as Context::from().
    static Tensor from(tl_tensor *tensor);
    tl_tensor *handle() const;

    std::string name() const;
    void set_name(std::string_view name) const;
    Context context() const {
        get();
        return Context(context_);
    }

    // The whole tensor, packed in ne order; T must be the tensor's own element type. read: leafs, computed outputs and
    // views of them. write: leafs and views of them, with as many values as there are elements.
    template <class T>
    std::vector<T> read() const;
    template <class T>
    void write(std::span<const T> values) const;
    // A part of the tensor: as many elements as there are values, starting with element `first`.
    template <class T>
    void read_at(std::int64_t first, std::span<T> values) const;
    template <class T>
    void write_at(std::int64_t first, std::span<const T> values) const;
    // One element; indices that are left out are 0. get<float>() and set() convert from and to any type; get<T>() for
    // another T needs a tensor of that type. set() throws Error(invalid_argument) for a value that the tensor's type,
    // or a float on the way to it, does not hold: integers are never rounded.
    template <class T = float>
    T get(const Shape &index) const;
    template <class T>
    void set(const Shape &index, T value) const;
    void write_bytes(const void *data, std::size_t offset, std::size_t size) const;
    void read_bytes(void *data, std::size_t offset, std::size_t size) const;
    // Convert from and to any type.
    std::vector<float> read_f32() const;
    void write_f32(std::span<const float> values) const;

    // Shares the memory with another library, without a copy; shape and strides are reversed. The memory stays until the
    // deleter of the result has run, which the last owner calls. See tl_tensor_to_dlpack().
    DLManagedTensorVersioned *to_dlpack() const;

    // Promises that a leaf's contents never change.
    void set_constant() const;
    // Frees a constant's memory if a packed copy can stand in for it; Error(unsupported) if none can.
    void drop_original() const;
    // Sets whether graphs that are made from now on recompute this node where gradients read it, instead of keeping it
    // until then. For a view, this applies to its root. Error(invalid_argument) for a leaf, and for a node that writes
    // into an operand.
    void set_recompute(bool recompute) const;
    // Sets which device computes this node when a joined backend runs it; "" leaves it open again.
    // Error(invalid_argument) for a leaf, a view of one, and a device that does not exist.
    void place(std::string_view device) const;

    // Nodes. A node lives in the context of its operands. If these differ, it lives in the youngest one, so that young
    // contexts (a token's) refer to old ones (the weights') and never the other way round. A node of two weights lives
    // in the weights' context; Context::add() and others choose another one.
    //
    // view: strides[1..] and offset in bytes. Rows may overlap, so strides that are given in elements by mistake are
    // accepted too. narrow() and slice() count in elements.
    Tensor view(const Shape &shape, std::span<const std::size_t> strides = {}, std::size_t offset = 0) const;
    // narrow: `length` elements of dimension dim, starting at `start`. slice: the same in each dimension.
    Tensor narrow(int dim, std::int64_t start, std::int64_t length) const;
    Tensor slice(const Shape &start, const Shape &shape) const;
    // A part of each dimension, dimension 0 first; all of those that are not given: t[{every, {3, 5}, k}]. A view.
    Tensor operator[](std::initializer_list<Index> indices) const;
    // Parts of a dimension, as views: of `size` elements each, the last one perhaps smaller; of these sizes; n of one
    // size, the last ones perhaps smaller or missing, as in PyTorch; or each element, without the dimension.
    std::vector<Tensor> split(std::int64_t size, int dim) const;
    std::vector<Tensor> split(std::span<const std::int64_t> sizes, int dim) const;
    std::vector<Tensor> chunk(std::int64_t n, int dim) const;
    std::vector<Tensor> unbind(int dim) const;
    // One extent may be -1: what the others leave. A view: if this is not contiguous, strides must be able to express
    // the new shape; otherwise apply cont() first.
    Tensor reshape(const Shape &shape) const;
    Tensor permute(const std::array<int, 4> &axes) const;
    Tensor cast(Type type) const;

    // Context::gradients() of this tensor, which has one element, in its context.
    std::vector<Tensor> gradients(std::initializer_list<Tensor> wrt) const;
    // For a tensor of any shape, given its gradient `seed`; in the younger of both contexts.
    std::vector<Tensor> gradients(std::initializer_list<Tensor> wrt, const Tensor &seed) const;
    // Whether gradients of this tensor flow to t. If not, gradients() gives zeros.
    bool gradients_reach(const Tensor &t) const;

private:
    friend class Context;
    friend class Graph;
    friend class Gguf;
    friend class GgufWriter;
    friend struct Nodes;
    Tensor(std::shared_ptr<core::Context> context, core::Tensor *tensor) : context_(std::move(context)), tensor_(tensor) {}
    void check_type(Type wanted) const;
    // The offset in bytes of element `first`, for values of this size.
    std::size_t offset_of(std::int64_t first, std::size_t size) const;
    // The element's number in ne order.
    std::int64_t position_of(const char *what, const Shape &index) const;
    float get_f32(const Shape &index) const;
    void set_f32(const Shape &index, float value) const;
    [[noreturn]] void fail_inexact(const std::string &value) const;
    // Throws Error(invalid_argument) for a null handle.
    core::Tensor &get() const;
    // Throws Error(invalid_argument) if the data cannot be read. Called before memory is allocated for them.
    void check_readable() const;
    // Throws Error(out_of_memory) for that many values of this size.
    [[noreturn]] void fail_no_memory(std::size_t size) const;
    // Room for all elements of a tensor that can be read.
    template <class T>
    std::vector<T> room() const;

    std::shared_ptr<core::Context> context_;
    core::Tensor *tensor_ = nullptr;
};

// The operands are broadcast: in each dimension their extents are equal or one of them is 1. The functions of the same names also
// repeat a b whose extent divides that of a; operators throw Error(shape_mismatch), because that is rarely meant.
Tensor operator+(const Tensor &a, const Tensor &b);
Tensor operator-(const Tensor &a, const Tensor &b);
Tensor operator*(const Tensor &a, const Tensor &b);
Tensor operator/(const Tensor &a, const Tensor &b);
inline Tensor operator-(const Tensor &a) { return neg(a); }
// A number counts as F32, or as I32, I64 or F64 with a tensor of such a type. The result has the tensor's type.
Tensor operator+(const Tensor &a, double b);
Tensor operator-(const Tensor &a, double b);
Tensor operator*(const Tensor &a, double b);
Tensor operator/(const Tensor &a, double b);
Tensor operator+(double a, const Tensor &b);
Tensor operator-(double a, const Tensor &b);
Tensor operator*(double a, const Tensor &b);
Tensor operator/(double a, const Tensor &b);
// a {k, m, ...} and b {k, n, ...} give {m, n, ...}.
//
// If a is quantised, b may be rounded to 8 bits, with a scale for each 32 elements of k. An element of the result is
// then off by up to the sum over k of |a| * h, in addition to F32's own rounding. h is a 127th of the largest |b| of
// the 32, or of a 16th of the largest of their 256 if this is more. With Q2_0, 64 elements replace the 32, with Q1_0
// 128, with TQ1_0 and TQ2_0 256. A single column may be rounded to 16 bits instead. If a is BF16, b may be rounded to
// BF16, by up to 2^-8 of an element. mul_mat_exact does not round. The bits may depend on n and, if a is F32, F16 or
// BF16, on whether it is constant.
Tensor mul_mat(const Tensor &a, const Tensor &b);
// mul_mat without rounding b. It is slower where mul_mat rounds: on the CPU, for quantised types on avx512 and avx2,
// and for BF16 on avx512. Elsewhere the two are equal.
Tensor mul_mat_exact(const Tensor &a, const Tensor &b);
// a {k, m, experts}, b {k, x, tokens} and ids {used, tokens} (i32 or i64), where x divides used, give {m, used,
// tokens}. Column (u, t) is the product of the expert ids[u, t] and b's column (u mod x, t). Rounds as mul_mat does; by
// name, Context::op, it takes `exact` = 1. The index -1 gives zeros; any other index that is no expert's is an error of
// computing.
Tensor mul_mat_id(const Tensor &a, const Tensor &b, const Tensor &ids);

// Concatenates tensors of one type along a dimension; their shapes are equal in all others.
Tensor cat(std::span<const Tensor> tensors, int dim);
Tensor cat(std::initializer_list<Tensor> tensors, int dim);
// Stacks tensors of one type and shape along a new dimension, which is inserted as by unsqueeze().
Tensor stack(std::span<const Tensor> tensors, int dim);
Tensor stack(std::initializer_list<Tensor> tensors, int dim);
// Sums products of tensors whose dimensions have names. The equation has a list of letters for each tensor, one for
// each dimension and dimension 0 first, and one for the result: "km,kn->mn" is mul_mat(). NumPy lists the same
// dimensions in the opposite order. Letters that the result lacks are summed. Without "->", the result has the letters
// that occur once, in the order of the alphabet. A letter that a tensor has twice selects its diagonal. Tensors and
// products of two have at most 4 dimensions.
Tensor einsum(std::string_view equation, std::span<const Tensor> tensors);
Tensor einsum(std::string_view equation, std::initializer_list<Tensor> tensors);
// A grid of the points whose coordinates are the elements of 1 to 4 vectors: result d has the shape of all lengths, and
// element i of vector d where the index in dimension d is i. Views. PyTorch's order "ij".
std::vector<Tensor> meshgrid(std::span<const Tensor> vectors);
std::vector<Tensor> meshgrid(std::initializer_list<Tensor> vectors);

// The nodes that some outputs need, computed as often as you like.
class Graph {
public:
    explicit Graph(std::initializer_list<Tensor> outputs) : Graph(std::span<const Tensor>(outputs.begin(), outputs.size())) {}
    // The graph's memory belongs to the first output's context.
    explicit Graph(std::span<const Tensor> outputs);
    // A graph whose intermediates take at most `memory` bytes, without kernels' workspaces. If they would take more,
    // nodes that gradients read are recomputed, cheap ones first. Throws Error(out_of_memory), with the smallest size
    // that it finds, if that does not suffice.
    static Graph within(std::span<const Tensor> outputs, std::size_t memory);

    void compute(const Backend &backend) const;
    // Called on the computing thread after each node, and on the CPU about every 10 ms while a node takes longer.
    // Return false to stop with Error(aborted), also within a node; after the last node this has no effect, because the
    // results exist. An exception stops the run too, and compute() throws it.
    using Progress = std::function<bool(std::size_t done, std::size_t total)>;
    void set_progress(Progress progress) const;
    // Called on the computing thread with each node that computes something, when its result exists. node.read_f32()
    // and others read the result, even an intermediate's, until the callback returns. Each node runs by itself
    // meanwhile, which is slower and gives identical bits. Return values and exceptions have the meaning of Progress's.
    using Observe = std::function<bool(const Tensor &node, std::size_t done, std::size_t total)>;
    void set_observer(Observe observe) const;
    // Sets whether later runs fail at the first result with a NaN, or with an infinity that no operand has:
    // Error(invalid_argument) names it. Each node runs by itself meanwhile, and slowly.
    void set_check_finite(bool check) const;
    // Sets whether later runs give each column of mul_mat and mul_mat_id, and each query of flash_attn_ext and
    // paged_attention, the bits that it has alone, however many are computed with it. Prompts are slower. compute() throws
    // Error(unsupported) on a backend other than the CPU, and for mul_mat_sparse, axpy and sparse_ffn.
    void set_batch_invariant(bool on) const;

    std::size_t n_nodes() const;
    std::size_t n_leafs() const;
    // In running order, including views; a node that is recomputed for gradients occurs as often as it is computed.
    std::vector<Tensor> nodes() const;
    std::vector<Tensor> leafs() const;
    std::vector<Tensor> outputs() const;
    std::string dot() const;
    std::string plan_text(const Backend &backend) const;
    // The bytes that computing the graph takes on each of the backend's devices: leafs and outputs there,
    // intermediates, workspace, copies. Leafs need no data for it.
    std::vector<std::size_t> plan_bytes(const Backend &backend) const;

private:
    Graph(std::span<const Tensor> outputs, std::optional<std::size_t> memory, const char *what);
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

template <class T>
Tensor Context::tensor(const Shape &shape, std::span<const T> values) const {
    Tensor t = zeros(type_of<T>(), shape);
    t.template write<T>(values);
    return t;
}

template <class T>
Tensor Context::tensor(const Shape &shape, const std::vector<T> &values) const {
    if constexpr (std::is_same_v<T, bool>) {
        // A vector of bool has bits.
        const auto copy = std::make_unique<bool[]>(values.size());
        std::copy(values.begin(), values.end(), copy.get());
        return tensor<bool>(shape, std::span<const bool>(copy.get(), values.size()));
    } else {
        return tensor<T>(shape, std::span<const T>(values));
    }
}

template <class T>
Tensor Context::tensor(const Shape &shape, std::initializer_list<T> values) const {
    return tensor<T>(shape, std::span<const T>(values.begin(), values.size()));
}

template <class T>
std::vector<T> Tensor::read() const {
    check_type(type_of<T>());
    // A vector of bool has bits.
    std::vector<std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>> values = room<typename decltype(values)::value_type>();
    read_bytes(values.data(), 0, values.size() * sizeof(T));
    if constexpr (std::is_same_v<T, bool>) {
        return std::vector<bool>(values.begin(), values.end());
    } else {
        return values;
    }
}

template <class T>
void Tensor::read_at(std::int64_t first, std::span<T> values) const {
    check_type(type_of<T>());
    read_bytes(values.data(), offset_of(first, sizeof(T)), values.size() * sizeof(T));
}

template <class T>
void Tensor::write_at(std::int64_t first, std::span<const T> values) const {
    check_type(type_of<T>());
    write_bytes(values.data(), offset_of(first, sizeof(T)), values.size() * sizeof(T));
}

template <class T>
T Tensor::get(const Shape &index) const {
    if constexpr (std::is_same_v<T, float>) {
        return get_f32(index);
    } else {
        T value;
        read_at(position_of("get", index), std::span<T>(&value, 1));
        return value;
    }
}

template <class T>
void Tensor::set(const Shape &index, T value) const {
    static_assert(std::is_arithmetic_v<T>, "an element is set to a number");
    const auto exactly = [&](auto element) { write_at<decltype(element)>(position_of("set", index), {&element, 1}); };
    if (type() == Type::f64) return exactly(static_cast<double>(value));
    if constexpr (std::is_integral_v<T>) {
        if (type() == Type::i64 && std::in_range<std::int64_t>(static_cast<long long>(value)))
            return exactly(static_cast<std::int64_t>(value));
        if (type() == Type::i32 && static_cast<std::int32_t>(value) == value) return exactly(static_cast<std::int32_t>(value));
        if (static_cast<T>(static_cast<float>(value)) != value) fail_inexact(std::to_string(value));
    }
    set_f32(index, static_cast<float>(value));
}

template <class T>
std::vector<T> Tensor::room() const {
    check_readable();
    try {
        return std::vector<T>(static_cast<std::size_t>(n_elements()));
    } catch (const std::exception &) {
        fail_no_memory(sizeof(T));
    }
}

template <class T>
void Tensor::write(std::span<const T> values) const {
    check_type(type_of<T>());
    if (values.size() != static_cast<std::size_t>(n_elements())) {
        throw Error(Status::invalid_argument,
                    "write: " + std::to_string(values.size()) + " values for a tensor of " + std::to_string(n_elements()) + " elements");
    }
    write_bytes(values.data(), 0, values.size() * sizeof(T));
}

}  // namespace tensorlib
