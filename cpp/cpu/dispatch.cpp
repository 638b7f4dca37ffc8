#include "cpu/dispatch.hpp"

#include "base/cpu_features.hpp"
#include "base/fail.hpp"
#include "base/text.hpp"

#include <cstdint>
#include <string_view>

namespace tensorlib::core {

// The build writes simd_isas.inc: TL_ISA_ENTRY(isa) for each ISA that it has compiled, best first.
#define TL_ISA_ENTRY(isa)        \
    namespace simd::isa {        \
    void fill(SimdTable &table); \
    }
#include "simd_isas.inc"
#undef TL_ISA_ENTRY

namespace {

constexpr std::size_t max_isas = 4;

// Every ISA that a build may have, so that a misspelt name differs from a missing processor.
constexpr const char *known_isas[] = {"avx512", "avx2", "baseline"};

bool runs(std::string_view isa, const CpuFeatures &features) {
    if (isa == "avx512") return features.avx512;
    if (isa == "avx2") return features.avx2;
    return isa == "baseline";
}

// Prefetch distances of products with packed panels, by the number of columns that they take at a time. Measured:
// docs/performance/products.md, prefetch distances.
struct Fetching {
    int few;                  // the most columns that count as few
    std::int64_t ahead_few;   // bytes, for panels of codes, with few columns
    std::int64_t ahead_many;  // with more columns
    int floats_from_cache;    // up to this many columns, panels of floats are read as if they were in a cache, without
                              // prefetching
    bool halves_as_stream;    // one column by rows of F16 and BF16: row after row, without prefetching
};

// Zen 5 and unknown processors: their prefetchers stop at a page's end.
constexpr Fetching fetching_of_pages{0, 8192, 8192, 0, false};
// Zen 3 and 4: their prefetchers follow a stream by themselves. A core has only 24 miss buffers for lines that programs
// prefetch.
constexpr Fetching fetching_of_streams{4, 0, 2048, 3, false};
// Zen 4, the only one on which rows as a stream were measured.
constexpr Fetching fetching_of_zen4{4, 0, 2048, 3, true};

const Fetching &fetching_of(const CpuFeatures &features) {
    if (!features.follows_streams) return fetching_of_pages;
    return features.avx512 ? fetching_of_zen4 : fetching_of_streams;
}

void enter_fetching(simd::SimdTable &table, const Fetching &fetching) {
    for (int n = 1; n <= simd::max_integer_columns; n++) {
        table.integer.prefetch_distance[n - 1] = n <= fetching.few ? fetching.ahead_few : fetching.ahead_many;
    }
    simd::SimdTable::Gemms &all = table.gemm;
    for (simd::SimdTable::Gemm *gemm :
         {&all.f32, &all.bf16, &all.f16_by_f32, &all.bf16_by_f32, &all.f32_in_order, &all.f16_by_f32_in_order, &all.bf16_by_f32_in_order}) {
        for (int n = 1; n <= fetching.floats_from_cache; n++) gemm->from_memory[n - 1] = gemm->from_cache[n - 1];
    }
    for (int rows = 1; fetching.halves_as_stream && rows <= table.dot.rows; rows++) {
        table.dot.f16[rows - 1][0] = table.dot.f16_stream[rows - 1];
        table.dot.bf16[rows - 1][0] = table.dot.bf16_stream[rows - 1];
    }
}

struct Isas {
    Isa isa[max_isas] = {};
    std::size_t count = 0;

    Isas() {
        void (*const fills[])(simd::SimdTable &) = {
#define TL_ISA_ENTRY(isa) simd::isa::fill,
#include "simd_isas.inc"
#undef TL_ISA_ENTRY
        };
        const char *const names[] = {
#define TL_ISA_ENTRY(isa) #isa,
#include "simd_isas.inc"
#undef TL_ISA_ENTRY
        };
        constexpr std::size_t n = sizeof names / sizeof names[0];
        static_assert(n <= max_isas);
        const CpuFeatures features = cpu_features();
        for (std::size_t i = 0; i < n; i++) {
            if (!runs(names[i], features)) continue;
            Isa &entry = isa[count++];
            entry.name = names[i];
            // The baseline fills first, and tuned kernels override it: an ISA may leave kernels to it that it does not
            // improve.
            fills[n - 1](entry.kernels);
            fills[i](entry.kernels);
            enter_fetching(entry.kernels, fetching_of(features));
        }
    }
};

const Isas &isas() noexcept {
    static const Isas all;
    return all;
}

}  // namespace

std::size_t isa_count() noexcept { return isas().count; }
const Isa &isa_at(std::size_t index) noexcept { return isas().isa[index]; }

const Isa &choose_isa(const std::string &name, const char *what) {
    if (name.empty()) return isa_at(0);
    std::string available;
    for (std::size_t i = 0; i < isa_count(); i++) {
        if (equal_ignoring_case(name, isa_at(i).name)) return isa_at(i);
        available += (i ? ", " : "") + std::string(isa_at(i).name);
    }
    for (const char *known : known_isas) {
        if (equal_ignoring_case(name, known)) {
            fail(Status::unavailable, "%s: TENSORLIB_ISA asks for %s, which this CPU or this build lacks: it has %s", what, known,
                 available.c_str());
        }
    }
    fail(Status::invalid_argument, "%s: TENSORLIB_ISA is '%.64s', which is no ISA: this CPU has %s", what, name.c_str(), available.c_str());
}

}  // namespace tensorlib::core
