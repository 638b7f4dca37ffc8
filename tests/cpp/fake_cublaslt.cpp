// See fake_cublaslt.hpp. Structures carry a mark of their kind, sizes of attributes are checked, and a product is
// accepted only with the algorithm and the workspace that were given out for it: calls that the real library would
// accept silently and compute wrongly are errors here. FAKE_CUBLASLT_VERSION replaces the version.
#include "fake_cublaslt.hpp"

#include <cstdlib>
#include <cstring>

#define FAKE_API extern "C" __attribute__((visibility("default")))

namespace {

constexpr int ok = 0, not_initialized = 1, invalid_value = 7, not_supported = 15;
constexpr std::size_t workspace_needed = 512;

struct Object {
    enum Kind : std::uint32_t { handle = 0x1001, desc, layout, preference } kind;
};
struct Desc : Object {
    int compute, scale, transpose_a = 0;
};
struct LayoutOf : Object {
    int type;
    std::uint64_t rows, columns;
    std::int64_t stride, batch_stride = 0;
    std::int32_t batch = 1;
};
struct Preference : Object {
    std::size_t workspace = 0;
    std::uint32_t alignment[4] = {0, 0, 0, 0};
};
struct Algorithm {
    std::uint64_t data[8];
};
struct Heuristic {
    Algorithm algorithm;
    std::size_t workspace_size;
    int state;
    float waves;
    int reserved[4];
};

FakeMultiply multiply = nullptr;
FakeCounts counts{};

template <class T>
T *as(void *p, Object::Kind kind) {
    return p && static_cast<Object *>(p)->kind == kind ? static_cast<T *>(p) : nullptr;
}

template <class T>
bool take(T &to, const void *value, std::size_t size) {
    if (!value || size != sizeof to) return false;
    std::memcpy(&to, value, size);
    return true;
}

// Fails where the four do not describe c = a^T b in F32.
int read(void *handle, void *desc, void *a, void *b, void *c, void *d, FakeProduct &p) {
    if (!as<Object>(handle, Object::handle)) return not_initialized;
    const auto *how = as<Desc>(desc, Object::desc);
    const auto *la = as<LayoutOf>(a, Object::layout), *lb = as<LayoutOf>(b, Object::layout), *lc = as<LayoutOf>(c, Object::layout);
    if (!how || !la || !lb || !lc || d != c) return invalid_value;
    if (how->transpose_a != 1 || how->scale != 0 || (how->compute != 68 && how->compute != 77)) return not_supported;
    if (la->type != 0 || lb->type != 0 || lc->type != 0) return not_supported;
    const bool fits = la->rows == lb->rows && lc->rows == la->columns && lc->columns == lb->columns;
    const auto strides_fit = [](const LayoutOf &l) { return l.stride >= static_cast<std::int64_t>(l.rows); };
    if (!fits || !strides_fit(*la) || !strides_fit(*lb) || !strides_fit(*lc)) return invalid_value;
    if (la->batch != lb->batch || la->batch != lc->batch || la->batch < 1) return invalid_value;
    p = {static_cast<std::int64_t>(lc->rows),
         static_cast<std::int64_t>(lc->columns),
         static_cast<std::int64_t>(la->rows),
         la->stride,
         lb->stride,
         lc->stride,
         la->batch,
         la->batch_stride,
         lb->batch_stride,
         lc->batch_stride,
         how->compute == 77,
         nullptr,
         nullptr,
         nullptr,
         nullptr,
         nullptr};
    return ok;
}

Algorithm algorithm_of(const FakeProduct &p) {
    return {{0xfaceu, static_cast<std::uint64_t>(p.M), static_cast<std::uint64_t>(p.N), static_cast<std::uint64_t>(p.K),
             static_cast<std::uint64_t>(p.batch), static_cast<std::uint64_t>(p.a_batch_stride), static_cast<std::uint64_t>(p.tf32), 8}};
}

template <class T, class... A>
int create(void **out, A... values) {
    counts.descriptions++;
    *out = new T{values...};
    return ok;
}

template <class T>
int destroy(void *p, Object::Kind kind) {
    auto *object = as<T>(p, kind);
    if (!object) return invalid_value;
    counts.descriptions--;
    delete object;
    return ok;
}

}  // namespace

FAKE_API void fake_cublaslt_connect(FakeMultiply to) { multiply = to; }
FAKE_API FakeCounts fake_cublaslt_counts() { return counts; }

FAKE_API std::size_t cublasLtGetVersion() {
    const char *version = std::getenv("FAKE_CUBLASLT_VERSION");
    return version ? static_cast<std::size_t>(std::atol(version)) : 130002;
}
FAKE_API int cublasLtCreate(void **out) {
    counts.handles++;
    *out = new Object{Object::handle};
    return ok;
}
FAKE_API int cublasLtDestroy(void *p) {
    auto *handle = as<Object>(p, Object::handle);
    if (!handle) return invalid_value;
    counts.handles--;
    delete handle;
    return ok;
}

FAKE_API int cublasLtMatmulDescCreate(void **out, int compute, int scale) {
    return create<Desc>(out, Object{Object::desc}, compute, scale);
}
FAKE_API int cublasLtMatmulDescDestroy(void *p) { return destroy<Desc>(p, Object::desc); }
FAKE_API int cublasLtMatmulDescSetAttribute(void *p, int attribute, const void *value, std::size_t size) {
    auto *desc = as<Desc>(p, Object::desc);
    return desc && attribute == 3 && take(desc->transpose_a, value, size) ? ok : invalid_value;
}

FAKE_API int cublasLtMatrixLayoutCreate(void **out, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t stride) {
    return create<LayoutOf>(out, Object{Object::layout}, type, rows, columns, stride);
}
FAKE_API int cublasLtMatrixLayoutDestroy(void *p) { return destroy<LayoutOf>(p, Object::layout); }
FAKE_API int cublasLtMatrixLayoutSetAttribute(void *p, int attribute, const void *value, std::size_t size) {
    auto *layout = as<LayoutOf>(p, Object::layout);
    if (!layout) return invalid_value;
    if (attribute == 5) return take(layout->batch, value, size) ? ok : invalid_value;
    return attribute == 6 && take(layout->batch_stride, value, size) ? ok : invalid_value;
}

FAKE_API int cublasLtMatmulPreferenceCreate(void **out) { return create<Preference>(out, Object{Object::preference}); }
FAKE_API int cublasLtMatmulPreferenceDestroy(void *p) { return destroy<Preference>(p, Object::preference); }
FAKE_API int cublasLtMatmulPreferenceSetAttribute(void *p, int attribute, const void *value, std::size_t size) {
    auto *preference = as<Preference>(p, Object::preference);
    if (!preference) return invalid_value;
    if (attribute == 1) return take(preference->workspace, value, size) ? ok : invalid_value;
    return attribute >= 5 && attribute <= 8 && take(preference->alignment[attribute - 5], value, size) ? ok : invalid_value;
}

FAKE_API int cublasLtMatmulAlgoGetHeuristic(void *handle, void *desc, void *a, void *b, void *c, void *d, void *preference, int asked,
                                            Heuristic *results, int *found) {
    counts.heuristics++;
    FakeProduct p;
    if (const int status = read(handle, desc, a, b, c, d, p); status != ok) return status;
    const auto *wanted = as<Preference>(preference, Object::preference);
    if (!wanted || asked < 1 || wanted->workspace < workspace_needed) return invalid_value;
    for (const std::uint32_t alignment : wanted->alignment) {
        if (alignment < 4 || (alignment & (alignment - 1)) != 0) return invalid_value;
    }
    *results = {algorithm_of(p), workspace_needed, ok, 1, {0, 0, 0, 0}};
    *found = 1;
    return ok;
}

FAKE_API int cublasLtMatmul(void *handle, void *desc, const float *alpha, const float *a, void *la, const float *b, void *lb,
                            const float *beta, const float *c, void *lc, float *d, void *ld, const Algorithm *algorithm, void *workspace,
                            std::size_t workspace_size, void *stream) {
    FakeProduct p;
    if (const int status = read(handle, desc, la, lb, lc, ld, p); status != ok) return status;
    const Algorithm wanted = algorithm_of(p);
    if (*alpha != 1 || *beta != 0 || c != d || std::memcmp(algorithm, &wanted, sizeof wanted) != 0) return invalid_value;
    if (!workspace || workspace_size < workspace_needed || !multiply) return invalid_value;
    p.a = a;
    p.b = b;
    p.c = d;
    p.workspace = workspace;
    p.stream = stream;
    counts.matmuls++;
    return multiply(p);
}
