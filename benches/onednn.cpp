#include "onednn.hpp"

#include "support.hpp"

#include <cstdio>

#if __has_include(<dlfcn.h>)
#include <dlfcn.h>
#endif

namespace tensorlib::bench {

namespace {

// dnnl_types.h: kinds, types, arguments and queries that are used here, and what a processor may be taken for.
constexpr int cpu = 1, f32 = 3, of_src = 1, of_dst = 17, of_weights = 33, implementation = 8, in_order = 1;
// What dnnl_version() points to begins so.
struct Version {
    int major, minor, patch;
};
constexpr int sse41 = 0x1, avx2 = 0x7, any_isa = 0;

}  // namespace

#if __has_include(<dlfcn.h>)
OneDnn::OneDnn(const std::string &isa) {
    void *library = dlopen("libdnnl.so.3", RTLD_NOW | RTLD_LOCAL);
    const bool primitives = library != nullptr;
    if (!library) library = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        description_ = "absent (apt-get install libdnnl3, or libdnnl2, would give it)";
        return;
    }
    bool all = true;
    const auto find = [&]<class F>(F &function, const char *symbol) {
        function = reinterpret_cast<F>(dlsym(library, symbol));
        all = all && function;
    };
    int (*set_isa)(int) = nullptr, (*get_isa)() = nullptr;
    const Version *(*version)() = nullptr;
    find(set_isa, "dnnl_set_max_cpu_isa");
    find(get_isa, "dnnl_get_effective_cpu_isa");
    find(version, "dnnl_version");
    find(f_.sgemm, "dnnl_sgemm");
    if (primitives) {
        find(f_.engine_create, "dnnl_engine_create");
        find(f_.stream_create, "dnnl_stream_create");
        find(f_.descriptor_create, "dnnl_memory_desc_create_with_strides");
        find(f_.descriptor_destroy, "dnnl_memory_desc_destroy");
        find(f_.memory_create, "dnnl_memory_create");
        find(f_.memory_destroy, "dnnl_memory_destroy");
        find(f_.memory_set, "dnnl_memory_set_data_handle");
        find(f_.product_create, "dnnl_matmul_primitive_desc_create");
        find(f_.description_query, "dnnl_primitive_desc_query");
        find(f_.description_destroy, "dnnl_primitive_desc_destroy");
        find(f_.primitive_create, "dnnl_primitive_create");
        find(f_.primitive_destroy, "dnnl_primitive_destroy");
        find(f_.execute, "dnnl_primitive_execute");
        find(f_.wait, "dnnl_stream_wait");
    }
    if (!all) {
        description_ = "absent (libdnnl is there but lacks some functions)";
        return;
    }
    set_isa(isa == "avx512" ? any_isa : isa == "avx2" ? avx2 : sse41);
    // Its threads are OpenMP's, where it is built with that: the library's own dependency.
    omp_set_threads_ = reinterpret_cast<void (*)(int)>(dlsym(library, "omp_set_num_threads"));
    if (primitives) check(f_.engine_create(&engine_, cpu, 0) == 0 && f_.stream_create(&stream_, engine_, in_order) == 0, "oneDNN's engine");
    there_ = true;
    char effective[16];
    std::snprintf(effective, sizeof effective, "%#x", get_isa());
    description_ = "oneDNN " + std::to_string(version()->major) + "." + std::to_string(version()->minor) + "." +
                   std::to_string(version()->patch) + (primitives ? ", matmul" : ", sgemm") + ", effective ISA " + effective +
                   (omp_set_threads_ ? "" : "; its threads cannot be set");
}
#else
OneDnn::OneDnn(const std::string &) { description_ = "absent (this system cannot load libraries by name)"; }
#endif

OneDnn::~OneDnn() { release(); }

void OneDnn::set_threads(int n) {
    if (omp_set_threads_) omp_set_threads_(n);
    threads_ = n;
}

void OneDnn::release() {
    for (Handle &memory : memories_) {
        if (memory) f_.memory_destroy(memory);
        memory = nullptr;
    }
    if (primitive_) f_.primitive_destroy(primitive_);
    primitive_ = nullptr;
}

// As it sees them, rows first: dst [n, m] = src [n, k] x weights [k, m], of which weights lie by columns.
void OneDnn::prepare(std::int64_t k, std::int64_t m, std::int64_t n) {
    release();
    const std::int64_t sizes[3][2] = {{n, k}, {k, m}, {n, m}}, strides[3][2] = {{k, 1}, {1, k}, {m, 1}};
    Handle descriptors[3], description;
    for (int i = 0; i < 3; i++) {
        check(f_.descriptor_create(&descriptors[i], 2, sizes[i], f32, strides[i]) == 0, "oneDNN's descriptor");
        check(f_.memory_create(&memories_[static_cast<std::size_t>(i)], descriptors[i], engine_, nullptr) == 0, "oneDNN's memory");
    }
    check(f_.product_create(&description, engine_, descriptors[0], descriptors[1], nullptr, descriptors[2], nullptr) == 0,
          "oneDNN's product");
    check(f_.primitive_create(&primitive_, description) == 0, "oneDNN's primitive");
    const char *name = nullptr;
    if (f_.description_query(description, implementation, 0, static_cast<void *>(&name)) == 0 && name) kernel_ = name;
    f_.description_destroy(description);
    for (Handle descriptor : descriptors) f_.descriptor_destroy(descriptor);
    shape_ = {k, m, n};
    prepared_threads_ = threads_;
}

void OneDnn::mul_mat(std::int64_t k, std::int64_t m, std::int64_t n, const float *a, const float *b, float *c) {
    if (!f_.execute) {
        kernel_ = "sgemm";
        check(f_.sgemm('N', 'T', n, m, k, 1, b, k, a, k, 0, c, m) == 0, "dnnl_sgemm");
        return;
    }
    if (shape_ != std::array{k, m, n} || prepared_threads_ != threads_) prepare(k, m, n);
    f_.memory_set(memories_[0], const_cast<float *>(b));
    f_.memory_set(memories_[1], const_cast<float *>(a));
    f_.memory_set(memories_[2], c);
    const Argument arguments[] = {{of_src, memories_[0]}, {of_weights, memories_[1]}, {of_dst, memories_[2]}};
    check(f_.execute(primitive_, stream_, 3, arguments) == 0 && f_.wait(stream_) == 0, "oneDNN's execution");
}

}  // namespace tensorlib::bench
