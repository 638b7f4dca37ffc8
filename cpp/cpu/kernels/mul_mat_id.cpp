// mul_mat_id: each column of b by the matrix that a number chooses, an expert's. The columns of one expert are multiplied together, so
// that its weights are read, and unpacked or packed, once for all of them.
//
//   set up:     the slots (u, t) of ids, sorted by their experts; the runs of one expert      one thread
//   for each round of places in that order:
//     prepare:  b's columns in that order, as bytes or floats                                 shared workspace, all threads
//     compute:  for each run and range of rows (a chunk): the expert's rows by the run's columns,
//               a tile at a time, from which each column goes to its place in c               the thread's workspace
//
// How many columns an expert gets is known when the set-up is done, the number of chunks before: there are chunks for as many runs as a
// round can have, the smaller one of its places and the experts; those without a run end at once. In weights in blocks the product is of
// integers (as in mul_mat_integer.cpp), else of floats: by dot products for up to 8 columns of an expert in a round, packed for more.
// Rounds depend on the shapes alone, runs on the numbers too: a column's bits on neither threads nor chunks.
#include "cpu/kernels/mul_mat.hpp"

#include "base/checked.hpp"
#include "cpu/cpu_backend.hpp"
#include "cpu/kernels/convert.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace tensorlib::core {

namespace {

// ---- Slots. The one of (u, t) is number u + used * t, in ids and as a column of c.

// The expert of a slot; where a has none of that number this is noted, and the answer is -1.
std::int64_t expert_of(const Step &step, std::int64_t slot) noexcept {
    const TensorRef &ids = step.src[2];
    const auto u = static_cast<std::size_t>(slot % ids.ne[0]), t = static_cast<std::size_t>(slot / ids.ne[0]);
    const std::int64_t number = integer_value(ids.type, ids.data + u * ids.nb[0] + t * ids.nb[1]);
    if (number >= 0 && number < step.src[0].ne[2]) return number;
    note_fault(step, 2, slot);
    return -1;
}

const std::byte *column_of_b(const Step &step, std::int64_t slot) noexcept {
    const TensorRef &b = step.src[1];
    const std::int64_t used = step.dst.ne[1];
    return row_address(b, {slot % used % b.ne[1], slot / used, 0});
}
float *column_of_c(const Step &step, std::int64_t slot) noexcept {
    return reinterpret_cast<float *>(step.dst.data) + slot * step.dst.ne[0];
}

struct Entry {
    std::int64_t expert, slot;
};
// The entries of one expert: places `first` to `end` - 1 of the sorted ones.
struct Run {
    std::int64_t expert, first, end;
    std::int64_t size() const noexcept { return end - first; }
};

// The set-up's part of the workspace.
struct Slots {
    std::int64_t count, experts, most_runs;
    int passes = 0;  // bytes of an expert's number
    Parts parts;
    std::array<std::size_t, 2> entries;  // each pass of the sort goes from one to the other
    std::size_t runs, n_runs;

    explicit Slots(const Tensor &node) noexcept
        : count(node.layout.n_rows()), experts(node.src[0]->layout.ne[2]), most_runs(std::min(count, experts)) {
        for (std::int64_t last = experts - 1; last > 0; last >>= 8) passes++;
        for (std::size_t &at : entries) at = parts.add<Entry>(count);
        runs = parts.add<Run>(most_runs), n_runs = parts.add<std::int64_t>(1);
    }
    template <class T>
    static T *at(const Step &step, std::size_t offset) noexcept {
        return reinterpret_cast<T *>(step.workspace + offset);
    }
};

// A pass of a radix sort: stable, and without an array of all experts.
void sort_by_byte(const Entry *from, Entry *to, std::int64_t n, int byte) noexcept {
    const auto digit = [byte](const Entry &e) { return static_cast<std::size_t>(e.expert >> (8 * byte) & 255); };
    std::array<std::int64_t, 257> first{};
    for (std::int64_t i = 0; i < n; i++) first[digit(from[i]) + 1]++;
    for (std::size_t d = 1; d < first.size(); d++) first[d] += first[d - 1];
    for (std::int64_t i = 0; i < n; i++) to[first[digit(from[i])]++] = from[i];
}

void set_up(const Slots &slots, const Step &step) noexcept {
    Entry *from = Slots::at<Entry>(step, slots.entries[0]), *to = Slots::at<Entry>(step, slots.entries[1]);
    std::int64_t n = 0, n_runs = 0;
    for (std::int64_t slot = 0; slot < slots.count; slot++) {
        const std::int64_t expert = expert_of(step, slot);
        if (expert < 0) {
            std::memset(column_of_c(step, slot), 0, static_cast<std::size_t>(step.dst.ne[0]) * sizeof(float));
        } else {
            from[n++] = {expert, slot};
        }
    }
    for (int byte = 0; byte < slots.passes; byte++, std::swap(from, to)) sort_by_byte(from, to, n, byte);
    Run *runs = Slots::at<Run>(step, slots.runs);
    for (std::int64_t place = 0; place < n; place++) {
        if (place == 0 || from[place].expert != from[place - 1].expert) runs[n_runs++] = {from[place].expert, place, place};
        runs[n_runs - 1].end++;
    }
    *Slots::at<std::int64_t>(step, slots.n_runs) = n_runs;
}

// The sorted slots of a round, places counted from its first; runs are cut at its ends.
class Round {
public:
    Round(const Slots &slots, const Step &step, std::int64_t phase, std::int64_t places) noexcept
        : begin_(phase / 2 * places),
          all_(Slots::at<Run>(step, slots.runs)),
          end_of_all_(all_ + *Slots::at<std::int64_t>(step, slots.n_runs)),
          entries_(Slots::at<Entry>(step, slots.entries[static_cast<std::size_t>(slots.passes & 1)]) + begin_) {
        const std::int64_t sorted = all_ == end_of_all_ ? 0 : end_of_all_[-1].end;
        size_ = std::clamp<std::int64_t>(sorted - begin_, 0, places);
        first_ = holding(0);
    }

    std::int64_t size() const noexcept { return size_; }
    const Entry *entries(std::int64_t place) const noexcept { return entries_ + place; }
    Run run_of(std::int64_t place) const noexcept { return cut(*holding(place)); }
    // The run of this number among those of the round; false where there are fewer.
    bool run_at(std::int64_t index, Run &run) const noexcept {
        if (index >= end_of_all_ - first_ || first_[index].first >= begin_ + size_) return false;
        run = cut(first_[index]);
        return true;
    }

private:
    const Run *holding(std::int64_t place) const noexcept {
        return std::upper_bound(all_, end_of_all_, begin_ + place, [](std::int64_t at, const Run &run) { return at < run.end; });
    }
    Run cut(const Run &run) const noexcept {
        return {run.expert, std::max<std::int64_t>(run.first - begin_, 0), std::min(run.end - begin_, size_)};
    }

    std::int64_t begin_, size_;
    const Run *all_, *end_of_all_, *first_;
    const Entry *entries_;
};

// Rows of a tile [n][height] to the columns of these slots, from row `first` on.
void scatter(const Step &step, const Entry *slots, std::int64_t n, const float *tile, std::int64_t height, std::int64_t first,
             std::int64_t rows, bool add) noexcept {
    for (std::int64_t j = 0; j < n; j++, tile += height) {
        float *to = column_of_c(step, slots[j].slot) + first;
        if (add) {
            for (std::int64_t i = 0; i < rows; i++) to[i] += tile[i];
        } else {
            std::memcpy(to, tile, static_cast<std::size_t>(rows) * sizeof(float));
        }
    }
}

// What both products are cut into. Kept in KernelPlan::choice but for what follows from the shapes.
enum Choice { choice_kc, choice_places, choice_rows, choice_count };
static_assert(choice_count <= std::tuple_size_v<decltype(KernelPlan::choice)>);

struct Blocking {
    Slots slots;
    std::int64_t K, M, KC, places, rows_per_chunk, row_chunks;

    Blocking(const Tensor &node, const KernelPlan &plan) noexcept
        : slots(node),
          K(node.src[0]->layout.ne[0]),
          M(node.layout.ne[0]),
          KC(plan.choice[choice_kc]),
          places(plan.choice[choice_places]),
          rows_per_chunk(plan.choice[choice_rows]),
          row_chunks(ceil_div(M, rows_per_chunk)) {}

    Round round(const Step &step, const Slice &slice) const noexcept { return {slots, step, slice.phase, places}; }
    // The run and the rows of a chunk; false where it has none.
    bool work_of(const Round &round, const Slice &slice, Run &run, Range &rows) const noexcept {
        const std::int64_t first = slice.chunk % row_chunks * rows_per_chunk;
        rows = {first, std::min(first + rows_per_chunk, M)};
        return round.run_at(slice.chunk / row_chunks, run);
    }
};

// Rows of a chunk, whole tiles and `most` at most: an expert may get all slots, so its rows alone are to make four chunks a thread.
std::int64_t rows_of_chunk(const Problem &p, std::int64_t tile, std::int64_t most) noexcept {
    const std::int64_t tiles = ceil_div(p.node.layout.ne[0], tile);
    return tile * std::clamp<std::int64_t>(p.n_threads == 1 ? most : tiles / (4 * p.n_threads), 1, std::min(most, tiles));
}

// What the products' plans have in common; `columns` and `thread` are bytes of a round's columns and of a thread.
void plan_rounds(const Problem &p, const Blocking &b, std::int64_t places_per_chunk, std::size_t columns, std::size_t thread,
                 KernelPlan &plan) noexcept {
    plan.setup_chunks = 1;
    plan.n_phases = 2 * ceil_div(b.slots.count, b.places);
    const std::int64_t runs = std::min(b.places, b.slots.most_runs);
    plan.n_chunks = {ceil_div(b.places, places_per_chunk), std::max<std::int64_t>(1, runs * b.row_chunks)};
    plan.workspace = b.slots.parts.size + columns + static_cast<std::size_t>(p.n_threads) * thread;
}

// ---- Nothing to add up, or no elements: zeros. The numbers are checked all the same.

const char *refuse_unless_empty(const Problem &p) noexcept {
    return p.node.src[0]->layout.ne[0] == 0 || p.node.layout.n_elements() == 0 ? nullptr : "not empty";
}

void plan_empty(const Problem &, KernelPlan &) noexcept {}

void run_empty(const Step &step, const Slice &) noexcept {
    for (std::int64_t slot = 0; slot < step.node->layout.n_rows(); slot++) expert_of(step, slot);
    std::memset(step.dst.data, 0, step.node->layout.nbytes());
}

// ---- Weights in blocks by activations rounded to bytes.

namespace integers {

// Panels of a chunk: some one after the other, as the next one is fetched ahead.
constexpr std::int64_t most_panels = 16;

struct Bytes : Blocking {
    const leaf::LeafTable::IntegerFormat &format;
    std::int64_t rows, columns;
    ByteLayout layout;
    // A constant's copy and the bytes of a panel of it, as in mul_mat_integer.cpp.
    const char *copy;
    std::size_t copy_panel;
    Parts thread;
    std::size_t codes, code_scales, code_offsets, row, tile;

    Bytes(const Tensor &node, const KernelPlan &plan, const leaf::LeafTable &leaf) noexcept
        : Blocking(node, plan),
          format(leaf.integer[dtype_index(node.src[0]->layout.type)]),
          rows(leaf.integer_rows),
          columns(leaf.integer_columns),
          layout(format, K, places),
          copy(reinterpret_cast<const char *>(plan.copy)),
          copy_panel(static_cast<std::size_t>(leaf.panels[dtype_index(node.src[0]->layout.type)].bytes(K))) {
        codes = thread.add<std::uint8_t>(KC * rows), code_scales = thread.add<float>(KC / format.scale_group * rows);
        code_offsets = thread.add<float>(format.offset_group ? KC / format.offset_group * rows : 0);
        row = thread.add<float>(K), tile = thread.add<float>(rows * columns);
    }

    std::byte *columns_at(const Step &step) const noexcept { return step.workspace + slots.parts.size; }
    template <class T>
    T *of_thread(const Step &step, const Slice &slice, std::size_t part) const noexcept {
        return reinterpret_cast<T *>(columns_at(step) + layout.size + static_cast<std::size_t>(slice.thread) * thread.size + part);
    }
};

void plan(const Problem &p, KernelPlan &plan) noexcept {
    plan_copy(p, plan);
    const leaf::LeafTable &leaf = static_cast<const CpuBackend &>(p.backend).leaf();
    const Layout &a = p.node.src[0]->layout;
    const auto bytes = static_cast<std::int64_t>(ByteLayout(leaf.integer[dtype_index(a.type)], a.ne[0], 1).size);
    plan.choice[choice_kc] = even_block(a.ne[0], integer::largest_kc, leaf::scaled_bytes);
    plan.choice[choice_places] = std::clamp<std::int64_t>(integer::round_bytes / bytes, 1, p.node.layout.n_rows());
    plan.choice[choice_rows] = rows_of_chunk(p, leaf.integer_rows, most_panels);
    const Bytes b(p.node, plan, leaf);
    plan_rounds(p, b, integer::columns_per_chunk, b.layout.size, b.thread.size, plan);
}

void quantize_columns(const Bytes &b, const Step &step, const Slice &slice) noexcept {
    const Round round = b.round(step, slice);
    const TensorRef &src = step.src[1];
    const bool as_it_lies = src.type == DType::f32 && src.nb[0] == sizeof(float);
    auto *row = b.of_thread<float>(step, slice, b.row);
    const std::int64_t begin = slice.chunk * integer::columns_per_chunk, end = std::min(begin + integer::columns_per_chunk, round.size());
    for (std::int64_t place = begin; place < end; place++) {
        const Run run = round.run_of(place);
        const std::int64_t first = place - (place - run.first) % b.columns, n = std::min(b.columns, run.end - first);
        const std::byte *from = column_of_b(step, round.entries(place)->slot);
        if (!as_it_lies) load_row(src, from, 0, b.K, row, slice.leaf);
        slice.leaf.quantize_column(b.K, as_it_lies ? reinterpret_cast<const float *>(from) : row, b.format,
                                   b.layout.at(b.columns_at(step), first, n, 0), static_cast<int>(n), static_cast<int>(place - first));
    }
}

void multiply(const Bytes &b, const Step &step, const Slice &slice) noexcept {
    const Round round = b.round(step, slice);
    Run run;
    Range chunk;
    if (!b.work_of(round, slice, run, chunk)) return;
    const TensorRef &a = step.src[0];
    auto *codes = b.of_thread<std::uint8_t>(step, slice, b.codes);
    auto *scales = b.of_thread<float>(step, slice, b.code_scales), *offsets = b.of_thread<float>(step, slice, b.code_offsets);
    auto *tile = b.of_thread<float>(step, slice, b.tile);
    for (std::int64_t m = chunk.begin; m < chunk.end; m += b.rows) {
        const int rows = static_cast<int>(std::min(b.rows, b.M - m));
        // Panels of all experts are numbered through.
        const auto panel = static_cast<std::size_t>(run.expert * ceil_div(b.M, b.rows) + m / b.rows);
        const leaf::PackedPanel packed{b.copy ? b.copy + panel * b.copy_panel : nullptr, b.format.levels};
        if (b.copy && run.size() <= b.format.packed_columns) {
            for (std::int64_t place = run.first; place < run.end; place += b.columns) {
                const std::int64_t n = std::min(b.columns, run.end - place);
                b.format.gemm_packed[n - 1](b.K, packed, b.layout.at(b.columns_at(step), place, n, 0), tile, b.rows, rows);
                scatter(step, round.entries(place), n, tile, b.rows, m, rows, false);
            }
            continue;
        }
        for (std::int64_t k = 0; k < b.K; k += b.KC) {
            const std::int64_t kc = std::min(b.KC, b.K - k);
            integer::unpack_panel(b.format, packed, a, {m, run.expert, 0}, k, kc, rows, codes, scales, offsets);
            for (std::int64_t place = run.first; place < run.end; place += b.columns) {
                const std::int64_t n = std::min(b.columns, run.end - place);
                b.format.gemm[n - 1](kc, {codes, scales, offsets}, b.layout.at(b.columns_at(step), place, n, k), tile, b.rows, rows, false);
                scatter(step, round.entries(place), n, tile, b.rows, m, rows, k > 0);
            }
        }
    }
}

void run(const Step &step, const Slice &slice) noexcept {
    const Bytes b(*step.node, step.plan, slice.leaf);
    if (slice.phase < 0) {
        set_up(b.slots, step);
    } else if (slice.phase % 2 == 0) {
        quantize_columns(b, step, slice);
    } else {
        multiply(b, step, slice);
    }
}

}  // namespace integers

// ---- Any types and strides, in F32. A place has K floats of the shared workspace: its column, or its share of a panel [K][n].

namespace floats {

struct Floats : Blocking {
    std::int64_t MR, NR, most_dots;
    DotTiles as_they_lie;
    Parts columns, thread;
    std::size_t panels, decoded, tile;

    Floats(const Tensor &node, const KernelPlan &plan, const leaf::LeafTable &leaf) noexcept
        : Blocking(node, plan), MR(leaf.gemm_rows), NR(leaf.gemm_columns), as_they_lie(tiles_as_it_lies(node.src[0]->layout, leaf)) {
        // Rows of F32 that do not lie along k are gathered by packing.
        most_dots = as_they_lie || node.src[0]->layout.type != DType::f32 ? most_dot_columns : 0;
        columns.add<float>(places * K);
        panels = thread.add<float>(ceil_div(rows_per_chunk, MR) * MR * KC);
        const auto dot_rows = static_cast<std::int64_t>(leaf::max_dot_rows * decoded_floats(K));
        decoded = thread.add<float>(std::max(std::max(MR, NR) * KC, as_they_lie ? 0 : dot_rows));
        tile = thread.add<float>(std::max<std::int64_t>(MR * NR, leaf::max_dot_rows * leaf::max_dot_columns));
    }

    float *column(const Step &step, std::int64_t place) const noexcept {
        return reinterpret_cast<float *>(step.workspace + slots.parts.size) + place * K;
    }
    float *of_thread(const Step &step, const Slice &slice, std::size_t part) const noexcept {
        std::byte *threads = step.workspace + slots.parts.size + columns.size;
        return reinterpret_cast<float *>(threads + static_cast<std::size_t>(slice.thread) * thread.size + part);
    }
};

const char *take_all(const Problem &) noexcept { return nullptr; }

void plan(const Problem &p, KernelPlan &plan) noexcept {
    const leaf::LeafTable &leaf = static_cast<const CpuBackend &>(p.backend).leaf();
    const Layout &a = p.node.src[0]->layout;
    plan.choice[choice_kc] = even_block(a.ne[0], packed::largest_kc, std::max<std::int64_t>(16, traits(a.type).block_size));
    plan.choice[choice_places] = std::clamp<std::int64_t>(packed::round_floats / a.ne[0], 1, p.node.layout.n_rows());
    plan.choice[choice_rows] = rows_of_chunk(p, leaf.gemm_rows, packed::largest_mc / leaf.gemm_rows);
    const Floats b(p.node, plan, leaf);
    plan_rounds(p, b, b.NR, b.columns.size, b.thread.size, plan);
}

// The panel of a group of columns, blocks of k one after the other.
void pack_group(const Floats &b, const Step &step, const Slice &slice, const Round &round, std::int64_t first, int n) noexcept {
    float *decoded = b.of_thread(step, slice, b.decoded), *panel = b.column(step, first);
    for (std::int64_t k = 0; k < b.K; k += b.KC) {
        const std::int64_t kc = std::min(b.KC, b.K - k);
        for (int j = 0; j < n; j++) {
            load_row(step.src[1], column_of_b(step, round.entries(first + j)->slot), k, kc, decoded + j * kc, slice.leaf);
        }
        constexpr std::ptrdiff_t size = sizeof(float);
        slice.leaf.pack_f32(kc, reinterpret_cast<const char *>(decoded), size, kc * size, n, n, panel + k * n);
    }
}

void pack_columns(const Floats &b, const Step &step, const Slice &slice) noexcept {
    const Round round = b.round(step, slice);
    const std::int64_t begin = slice.chunk * b.NR, end = std::min(begin + b.NR, round.size());
    for (std::int64_t place = begin; place < end; place++) {
        const Run run = round.run_of(place);
        if (run.size() <= b.most_dots) {
            load_row(step.src[1], column_of_b(step, round.entries(place)->slot), 0, b.K, b.column(step, place), slice.leaf);
        } else if ((place - run.first) % b.NR == 0) {
            // The group's other columns may be another chunk's places: they are packed here.
            pack_group(b, step, slice, round, place, static_cast<int>(std::min(b.NR, run.end - place)));
        }
    }
}

void multiply_dots(const Floats &b, const Step &step, const Slice &slice, const Round &round, const Run &run, const Range &rows) noexcept {
    const TensorRef &a = step.src[0];
    const DotTiles tiles = b.as_they_lie ? b.as_they_lie : slice.leaf.dot_f32;
    float *tile = b.of_thread(step, slice, b.tile), *decoded = b.of_thread(step, slice, b.decoded);
    const std::ptrdiff_t column_stride = b.K * static_cast<std::ptrdiff_t>(sizeof(float));
    for (std::int64_t m = rows.begin; m < rows.end;) {
        const std::int64_t R = std::min<std::int64_t>(slice.leaf.dot_rows, rows.end - m);
        const auto *first = reinterpret_cast<const char *>(row_address(a, {m, run.expert, 0}));
        const FloatRows weights = float_rows(a, first, R, decoded_floats(b.K), !b.as_they_lie, decoded, slice.leaf);
        for (std::int64_t place = run.first; place < run.end;) {
            const std::int64_t width = std::min<std::int64_t>(slice.leaf.dot_columns, run.end - place);
            tiles[R - 1][width - 1](b.K, weights.first, weights.stride, reinterpret_cast<const char *>(b.column(step, place)),
                                    column_stride, tile, leaf::max_dot_rows);
            scatter(step, round.entries(place), width, tile, leaf::max_dot_rows, m, R, false);
            place += width;
        }
        m += R;
    }
}

void multiply_packed(const Floats &b, const Step &step, const Slice &slice, const Round &round, const Run &run,
                     const Range &rows) noexcept {
    float *panels = b.of_thread(step, slice, b.panels), *decoded = b.of_thread(step, slice, b.decoded);
    float *tile = b.of_thread(step, slice, b.tile);
    const auto height = [&](std::int64_t m) { return static_cast<int>(std::min(b.MR, rows.end - m)); };
    for (std::int64_t k = 0; k < b.K; k += b.KC) {
        const std::int64_t kc = std::min(b.KC, b.K - k);
        for (std::int64_t m = rows.begin; m < rows.end; m += b.MR) {
            const auto *first = reinterpret_cast<const char *>(row_address(step.src[0], {m, run.expert, 0}));
            packed::pack_floats(step.src[0], first, k, kc, height(m), static_cast<int>(b.MR), panels + (m - rows.begin) * kc, decoded,
                                slice.leaf);
        }
        for (std::int64_t place = run.first; place < run.end; place += b.NR) {
            const std::int64_t n = std::min(b.NR, run.end - place);
            const float *columns = b.column(step, place) + k * n;
            for (std::int64_t m = rows.begin; m < rows.end; m += b.MR) {
                slice.leaf.gemm_f32.from_cache[n - 1](kc, panels + (m - rows.begin) * kc, columns, tile, b.MR, height(m), false);
                scatter(step, round.entries(place), n, tile, b.MR, m, height(m), k > 0);
            }
        }
    }
}

void run(const Step &step, const Slice &slice) noexcept {
    const Floats b(*step.node, step.plan, slice.leaf);
    if (slice.phase < 0) {
        set_up(b.slots, step);
        return;
    }
    if (slice.phase % 2 == 0) {
        pack_columns(b, step, slice);
        return;
    }
    const Round round = b.round(step, slice);
    Run run;
    Range rows;
    if (!b.work_of(round, slice, run, rows)) return;
    if (run.size() <= b.most_dots) {
        multiply_dots(b, step, slice, round, run, rows);
    } else {
        multiply_packed(b, step, slice, round, run, rows);
    }
}

}  // namespace floats

constexpr CpuKernel table[] = {
    {{Op::mul_mat_id, "mul_mat_id_empty", refuse_unless_empty, plan_empty}, run_empty},
    {{Op::mul_mat_id, "mul_mat_id_integer", integer::refuse, integers::plan}, integers::run},
    {{Op::mul_mat_id, "mul_mat_id_f32", floats::take_all, floats::plan}, floats::run},
};

}  // namespace

const std::span<const CpuKernel> kernels::mul_mat_id = table;

}  // namespace tensorlib::core
