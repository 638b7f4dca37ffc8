// Products of selected rows of a matrix with a round's columns.
//
//   rows       of a quantised constant, few columns: each active row is a stream of its own, and the next one's lines
//              are prefetched with this one's (cpu/simd/packed_rows_i8.hpp).
//   integers   quantised weights, if the ISA has their product (mul_mat_integer.cpp): the blocks of a panel's rows are
//              copied next to each other into the L2 cache, each while the next one's lines are prefetched,
//              then unpacked into a panel of codes, and multiplied by the columns' bytes. Neighbouring rows are
//              unpacked in place; a whole panel of a constant's copy may be read instead.
//   floats     all others: one column by rows of F32, F16 and BF16 one by one, in place, while later ones' lines are
//              prefetched; more columns by neighbouring rows together; other rows are decoded, four at a time.
//
// A group of 32 rows of 4,096 weights of Q4_0 has 72 KiB of blocks and 128 KiB of codes. A row's sums are taken in the
// order of k regardless of its group, so its bits depend on neither threads nor chunks nor which other rows are active.
#include "cpu/kernels/row_products.hpp"

#include <cstring>

namespace tensorlib::core {

namespace {

constexpr std::int64_t float_group = 16, packed_row_group = 64;
// Prefetch distance in bytes of rows, as for panels (cpu/dispatch.cpp). With one packed row of Q4_0 ahead, 50 % of
// 11,008 rows took 648 us; two and three took 545, five 576. Prefetching into the L2 cache alone, or past it, was no
// better. Rows of F16 are as long: all of them took 2473 us at twice the distance, 2300 at this one.
constexpr std::int64_t prefetch_distance = 8192;

const simd::SimdTable::IntegerFormat &format_of(const Layout &a, const simd::SimdTable &simd) noexcept {
    return simd.integer.formats[dtype_index(a.type)];
}

void fetch(const std::byte *from, std::size_t n) noexcept {
    constexpr std::size_t line = 64;
    for (std::size_t i = 0; i < n; i += line) __builtin_prefetch(from + i, 0, 2);
}

}  // namespace

RowProducts::RowProducts(const Layout &a, std::int64_t columns, bool one, bool exact, const ConstantCopy &copy,
                         const simd::SimdTable &simd) noexcept
    : simd_(simd),
      format_(format_of(a, simd)),
      row_format_(simd.packed_rows[dtype_index(a.type)]),
      type_(a.type),
      K_(a.ne[0]),
      M_(a.ne[1]),
      // Panels of a copy are multiplied by all of k at once. Gathered rows are too, for identical bits.
      KC_(even_block(std::max<std::int64_t>(K_, 1), copy.used() ? std::max<std::int64_t>(K_, 1) : integer::largest_kc, simd::scaled_bytes)),
      group_(float_group),
      at_once_(simd.dot.columns),
      row_bytes_(a.row_bytes()),
      integers_(of_integers(a, exact, simd)),
      as_they_lie_(tiles_as_it_lies(a, simd)),
      by_packed_rows_(integers_ && copy.used() && packed_as(a, columns, simd) == PackedAs::rows),
      packs_rows_(by_packed_rows_ && copy.missing()),
      panels_(integers_ && copy.planned() && !by_packed_rows_),
      copy_(copy.data) {
    if (panels_) copy_panel_ = static_cast<std::size_t>(simd.panels[dtype_index(a.type)].bytes(K_));
    if (by_packed_rows_) {
        group_ = packed_row_group;
        packed_row_bytes_ = static_cast<std::size_t>(row_format_.copy.bytes(K_));
        packed_column_ = round_up(static_cast<std::size_t>(row_format_.column_bytes(K_)), 64);
        columns_ = shared_.add<std::byte>(columns * static_cast<std::int64_t>(packed_column_));
        row_ = thread_.add<float>(K_);
        packed_row_ = thread_.add<std::byte>(packs_rows_ ? static_cast<std::int64_t>(packed_row_bytes_) : 0);
    } else if (integers_) {
        layout_.emplace(format_, K_, columns, one && format_.gemm_one);
        group_ = simd.integer.rows, at_once_ = simd.integer.columns;
        shared_.add<std::byte>(static_cast<std::int64_t>(layout_->size));
        rows_ = thread_.add<std::byte>(group_ * static_cast<std::int64_t>(row_bytes_));
        row_ = thread_.add<float>(K_);
        codes_ = thread_.add<std::uint8_t>(KC_ * group_), scales_ = thread_.add<float>(KC_ / format_.scale_group * group_);
        offsets_ = thread_.add<float>(format_.offset_group ? KC_ / format_.offset_group * group_ : 0);
    } else {
        if (as_they_lie_ && columns == 1) {
            one_by_one_ = a.type == DType::f32 ? simd.dot.row_f32 : a.type == DType::f16 ? simd.dot.row_f16 : simd.dot.row_bf16;
        }
        columns_ = shared_.add<float>(columns * static_cast<std::int64_t>(decoded_floats(K_)));
        row_ = rows_ = thread_.add<float>(as_they_lie_ ? 0 : simd::max_dot_rows * static_cast<std::int64_t>(decoded_floats(K_)));
    }
    tile_ = thread_.add<float>(columns * group_ * (panels_ && columns <= at_once_ ? most_panels : 1));
}

void RowProducts::prepare(const Round &round, std::int64_t j, std::byte *thread) const noexcept {
    const std::byte *from = row_address(round.b, {round.first + j, 0, 0});
    if (by_packed_rows_) {
        const float *values = floats_of(round.b, from, 0, K_, at<float>(thread, row_), simd_);
        row_format_.prepare(K_, values, at<char>(round.shared, columns_) + static_cast<std::size_t>(j) * packed_column_);
        return;
    }
    if (!integers_) {
        load_row(round.b, from, 0, K_, const_cast<float *>(column(round, j)), simd_);
        return;
    }
    const std::int64_t first = j / at_once_ * at_once_, n = std::min(at_once_, round.columns - first);
    const float *values = floats_of(round.b, from, 0, K_, at<float>(thread, row_), simd_);
    quantize(simd_, *layout_, values, round.shared, first, n, j);
}

// The packed row at a position of the list.
simd::PackedPanel RowProducts::packed_row_at(const TensorRef &a, const std::int64_t *list, std::int64_t place, std::int64_t end,
                                             std::byte *thread) const noexcept {
    if (packs_rows_) {
        char *packed = at<char>(thread, packed_row_);
        const std::byte *row = row_address(a, {list[place], 0, 0});
        row_format_.copy.pack(K_, reinterpret_cast<const char *>(row), static_cast<std::ptrdiff_t>(a.nb[1]), 1, packed);
        return {packed, format_.codebook, 0};
    }
    const auto packed_row = [&](std::int64_t row) {
        return reinterpret_cast<const char *>(copy_) + static_cast<std::size_t>(row) * packed_row_bytes_;
    };
    const char *from = packed_row(list[place]);
    return {from, format_.codebook, packed_row(row_ahead(list, place, end, packed_row_bytes_)) - from};
}

RowProducts::RowsOfA RowProducts::gathered(const TensorRef &a, const std::int64_t *rows, std::int64_t n, std::byte *thread) const noexcept {
    const auto row = [&](std::int64_t i) { return row_address(a, {rows[i], 0, 0}); };
    if (rows[n - 1] - rows[0] == n - 1) return {reinterpret_cast<const char *>(row(0)), static_cast<std::ptrdiff_t>(a.nb[1])};
    std::byte *to = thread + rows_;
    fetch(row(0), row_bytes_);
    for (std::int64_t i = 0; i < n; i++, to += row_bytes_) {
        if (i + 1 < n) fetch(row(i + 1), row_bytes_);
        std::memcpy(to, row(i), row_bytes_);
    }
    return {reinterpret_cast<const char *>(thread + rows_), static_cast<std::ptrdiff_t>(row_bytes_)};
}

void RowProducts::multiply_integers(const RowsOfA &a, std::int64_t n, const Round &round, std::byte *thread) const noexcept {
    auto *codes = at<std::uint8_t>(thread, codes_);
    float *scales = at<float>(thread, scales_), *offsets = at<float>(thread, offsets_), *tile = at<float>(thread, tile_);
    const int rows = static_cast<int>(n);
    for (std::int64_t k = 0; k < K_; k += KC_) {
        const std::int64_t kc = std::min(KC_, K_ - k);
        const std::ptrdiff_t behind = k / traits(type_).block_size * static_cast<std::ptrdiff_t>(traits(type_).size);
        format_.unpack(kc, a.first + behind, a.stride, rows, codes, scales, offsets);
        for (std::int64_t j = 0; j < round.columns; j += at_once_) {
            const std::int64_t width = std::min(at_once_, round.columns - j);
            const auto kernel = layout_->one ? format_.gemm_one : format_.gemm[width - 1];
            kernel(kc, {codes, scales, offsets}, layout_->at(round.shared, j, width, k), tile + j * group_, group_, rows, k > 0);
        }
    }
}

void RowProducts::multiply_floats(const TensorRef &a, const std::int64_t *rows, std::int64_t n, const Round &round,
                                  std::byte *thread) const noexcept {
    const DotTiles tiles = as_they_lie_ ? as_they_lie_ : simd_.dot.f32;
    float *tile = at<float>(thread, tile_), *decoded = at<float>(thread, rows_);
    const auto column_stride = static_cast<std::ptrdiff_t>(decoded_floats(K_) * sizeof(float));
    // Neighbouring rows, which are all rows if nothing is sparse, are multiplied together in place.
    const auto neighbours = [&](std::int64_t i) {
        std::int64_t count = 1;
        while (count < std::min<std::int64_t>(simd_.dot.rows, n - i) && rows[i + count] == rows[i] + count) count++;
        return count;
    };
    for (std::int64_t i = 0, here = 0; i < n; i += here) {
        here = as_they_lie_ ? neighbours(i) : std::min<std::int64_t>(simd_.dot.rows, n - i);
        const char *first = reinterpret_cast<const char *>(row_address(a, {rows[i], 0, 0}));
        auto stride = static_cast<std::ptrdiff_t>(a.nb[1]);
        if (as_they_lie_) {
            if (i + here < n) fetch(row_address(a, {rows[i + here], 0, 0}), std::min<std::size_t>(row_bytes_, 4096));
        } else {
            for (std::int64_t r = 0; r < here; r++) {
                load_row(a, row_address(a, {rows[i + r], 0, 0}), 0, K_, decoded + static_cast<std::size_t>(r) * decoded_floats(K_), simd_);
            }
            first = reinterpret_cast<const char *>(decoded), stride = column_stride;
        }
        for (std::int64_t j = 0; j < round.columns; j += at_once_) {
            const std::int64_t width = std::min(at_once_, round.columns - j);
            tiles[here - 1][width - 1](K_, first, stride, reinterpret_cast<const char *>(column(round, j)), column_stride,
                                       tile + i + j * group_, group_);
        }
    }
}

std::int64_t RowProducts::row_ahead(const std::int64_t *rows, std::int64_t i, std::int64_t known, std::size_t row_bytes) const noexcept {
    const auto ahead = std::max<std::int64_t>(1, prefetch_distance / static_cast<std::int64_t>(row_bytes));
    return rows[i + ahead < known ? i + ahead : i];
}

void RowProducts::multiply_one_by_one(const TensorRef &a, const std::int64_t *rows, std::int64_t n, std::int64_t known, const Round &round,
                                      std::byte *thread) const noexcept {
    float *tile = at<float>(thread, tile_);
    const auto row = [&](std::int64_t number) { return reinterpret_cast<const char *>(row_address(a, {number, 0, 0})); };
    for (std::int64_t i = 0; i < n; i++) {
        const std::ptrdiff_t ahead = row(row_ahead(rows, i, known, std::max<std::size_t>(row_bytes_, 1))) - row(rows[i]);
        tile[i] = one_by_one_(K_, row(rows[i]), ahead, column(round, 0));
    }
}

const float *RowProducts::multiply_rows(const TensorRef &a, const std::int64_t *rows, std::int64_t n, std::int64_t known,
                                        const Round &round, std::byte *thread) const noexcept {
    if (integers_) {
        multiply_integers(gathered(a, rows, n, thread), n, round, thread);
    } else if (one_by_one_) {
        multiply_one_by_one(a, rows, n, known, round, thread);
    } else {
        multiply_floats(a, rows, n, round, thread);
    }
    return at<float>(thread, tile_);
}

const float *RowProducts::multiply_panels(std::int64_t number, std::int64_t count, const Round &round, std::byte *thread) const noexcept {
    float *tile = at<float>(thread, tile_);
    const std::int64_t height = count * group_;
    const int rows = static_cast<int>(std::min(height, M_ - number * group_));
    simd::PackedPanel panel{reinterpret_cast<const char *>(copy_) + static_cast<std::size_t>(number) * copy_panel_, format_.codebook, 0};
    for (std::int64_t j = 0; j < round.columns; j += at_once_) {
        const std::int64_t width = std::min(at_once_, round.columns - j);
        panel.ahead = simd_.integer.prefetch_distance[width - 1];
        const auto kernel = layout_->one ? format_.gemm_packed_one : format_.gemm_packed[width - 1];
        kernel(K_, panel, layout_->at(round.shared, j, width, 0), tile + j * height, height, rows);
    }
    return tile;
}

}  // namespace tensorlib::core
