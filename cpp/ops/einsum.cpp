// Sums of products over named dimensions. Two operands at a time are multiplied, the pair with the smallest result
// first. The dimensions of a pair are of four kinds, of which each is joined to one dimension:
//
//   k       of both, and of no other tensor     mul_mat: a {k, m, x}, b {k, n, x} -> {m, n, x}
//   m, n    of one, and needed later
//   x       of both, and needed later
//
// A dimension of one operand that nothing needs is summed first. Without a k, and without an m and an n, the product is
// elementwise. A dimension that occurs twice in an operand is its diagonal: the second one gets another name, and the
// operand is multiplied by an identity matrix of both.
#include "base/fail.hpp"
#include "base/utf8.hpp"
#include "ops/composed.hpp"
#include "ops/elementwise.hpp"
#include "ops/gen/op_facts.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tensorlib::core::ops {

namespace {

// The names of dimensions, dimension 0 first: letters, and codes after them for diagonals.
using Name = char16_t;
using Names = std::u16string;

// All pairs of tensors are compared, as often as there are tensors.
constexpr std::size_t most_tensors = 64;

// A tensor and its dimensions. Those beyond its names have 1 element.
struct Term {
    Tensor *tensor;
    Names names;

    std::int64_t extent(Name name) const {
        const std::size_t d = names.find(name);
        return d == Names::npos ? 1 : tensor->layout.ne[d];
    }
};

bool has(const Names &names, Name name) noexcept { return names.find(name) != Names::npos; }

template <class Keep>
Names filtered(const Names &names, Keep keep) {
    Names kept;
    for (const Name name : names) {
        if (keep(name)) kept += name;
    }
    return kept;
}

class Summation {
public:
    Summation(NodeBatch &nodes, std::string_view equation, std::span<Tensor *const> src) : nodes_(nodes), equation_(equation) { read(src); }

    Tensor *result() {
        for (std::size_t i = 0; i < terms_.size(); i++) drop_unneeded(i);
        while (terms_.size() > 1) multiply_best_pair();
        Tensor *t = in_order(terms_[0], output_, static_cast<std::int64_t>(output_.size()));
        return t->layout.type == DType::f32 ? t : nodes_.make(Op::cast, {t}, {Attr::of_text("to", "f32")});
    }

private:
    [[noreturn]] void refuse(const std::string &why) const {
        fail(Status::invalid_argument, "einsum: equation '%s': %s", shown(equation_).c_str(), why.c_str());
    }

    // ---- The equation.

    void read(std::span<Tensor *const> src) {
        if (src.size() > most_tensors) {
            fail(Status::invalid_argument, "einsum: %zu tensors: up to %zu are valid", src.size(), most_tensors);
        }
        const std::size_t arrow = equation_.find("->");
        std::string_view inputs = equation_.substr(0, arrow);
        for (std::size_t i = 0; i < src.size(); i++) {
            const std::size_t comma = inputs.find(',');
            const bool last = i + 1 == src.size();
            if (last != (comma == std::string_view::npos)) {
                refuse(format_text("%zu tensors are given: as many lists of letters, with commas between them, are valid", src.size()));
            }
            add(letters(inputs.substr(0, comma)), src[i], i);
            if (!last) inputs.remove_prefix(comma + 1);
        }
        if (arrow != std::string_view::npos) {
            output_ = letters(equation_.substr(arrow + 2));
        } else {
            // As in NumPy: what occurs once, in the order of the alphabet.
            for (const auto &[name, count] : occurrences_) {
                if (count == 1) output_ += name;
            }
        }
        for (const Name name : output_) {
            const auto letter = static_cast<char>(name);
            if (!occurrences_.contains(name)) refuse(format_text("no tensor has the dimension '%c' of the result", letter));
            if (std::ranges::count(output_, name) > 1) refuse(format_text("the result has the dimension '%c' twice", letter));
        }
        if (output_.size() > max_dims) refuse(format_text("the result has %zu dimensions: at most 4 are valid", output_.size()));
    }

    Names letters(std::string_view text) const {
        Names names;
        for (const char c : text) {
            if (c == ' ') continue;
            const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
            if (!letter) refuse("letters for dimensions, commas between tensors and -> before the result are valid");
            names += static_cast<Name>(c);
        }
        return names;
    }

    void add(const Names &names, Tensor *tensor, std::size_t index) {
        const auto name_of = [&] { return format_text("tensor %zu is %s", index + 1, tensor_text(*tensor).c_str()); };
        if (!is_float(tensor->layout.type) && traits(tensor->layout.type).kind != Kind::weight) {
            fail(Status::type_mismatch, "einsum: %s: f32, f16, bf16 or a quantised type that mul_mat takes is valid", name_of().c_str());
        }
        if (names.size() > max_dims) refuse(format_text("%s: at most 4 letters are valid", name_of().c_str()));
        for (std::size_t d = names.size(); d < max_dims; d++) {
            if (tensor->layout.ne[d] != 1)
                refuse(format_text("%s, with %zu letters: one for each dimension is valid", name_of().c_str(), names.size()));
        }
        Term term{tensor, names};
        for (std::size_t d = 0; d < names.size(); d++) {
            const Name name = names[d];
            const std::int64_t n = tensor->layout.ne[d];
            occurrences_[name]++;
            const auto [known, is_new] = extents_.try_emplace(name, n);
            if (!is_new && known->second != n) {
                refuse(format_text("%s: dimension '%c' has %lld elements, and %lld elsewhere", name_of().c_str(), static_cast<char>(name),
                                   static_cast<long long>(n), static_cast<long long>(known->second)));
            }
            if (term.names.find(name) < d) {
                term.names[d] = next_name_++;
                terms_.push_back(diagonal(name, term.names[d], n));
            }
        }
        terms_.push_back(term);
    }

    // 1 where two dimensions have one index, otherwise 0.
    Term diagonal(Name name, Name other, std::int64_t n) { return {nodes_.make(Op::eye, {}, {Attr::of_int("n", n)}), Names{name, other}}; }

    // ---- Dimensions.

    bool is_needed(Name name, std::size_t but = none, std::size_t but_too = none) const {
        if (has(output_, name)) return true;
        for (std::size_t i = 0; i < terms_.size(); i++) {
            if (i != but && i != but_too && has(terms_[i].names, name)) return true;
        }
        return false;
    }

    // Sums over dimensions that nothing else has.
    void drop_unneeded(std::size_t i) {
        Term &term = terms_[i];
        unsigned set = 0;
        for (std::size_t d = 0; d < term.names.size(); d++) set |= is_needed(term.names[d], i) ? 0 : 1u << d;
        if (set == 0) return;
        term.tensor = nodes_.make(Op::sum, {term.tensor}, {Attr::of_dims("dims", set), Attr::of_int("keep", 0)});
        term.names = filtered(term.names, [&](Name name) { return is_needed(name, i); });
    }

    // The tensor with its dimensions in this order. Those that it lacks have 1 element.
    Tensor *in_order(const Term &term, const Names &order, std::int64_t n_dims) {
        std::array<std::int64_t, max_dims> axes{};
        unsigned taken = 0;
        for (std::size_t d = 0; d < term.names.size(); d++) {
            axes[d] = static_cast<std::int64_t>(order.find(term.names[d]));
            taken |= 1u << axes[d];
        }
        std::int64_t next = 0;
        for (std::size_t d = term.names.size(); d < max_dims; d++) {
            while (taken >> next & 1) next++;
            axes[d] = next++;
        }
        Tensor *t = std::ranges::is_sorted(axes) ? term.tensor : permuted(nodes_, term.tensor, axes);
        // Exactly the dimensions that are named.
        const Extents ne = t->layout.ne;
        const auto n = static_cast<std::size_t>(std::max<std::int64_t>(n_dims, 1));
        return t == term.tensor || t->layout.n_dims != static_cast<std::int32_t>(n) ? shaped(nodes_, t, std::span(ne).first(n)) : t;
    }

    std::int64_t size_of(const Names &names) const {
        std::int64_t size = 1;
        for (const Name name : names) size *= extent_of(name);
        return size;
    }
    std::int64_t extent_of(Name name) const {
        for (const Term &term : terms_) {
            if (has(term.names, name)) return term.extent(name);
        }
        return 1;
    }

    // ---- Products.

    // The dimensions of a product of two terms: those that something needs later.
    Names of_product(std::size_t i, std::size_t j) const {
        Names all = terms_[i].names;
        for (const Name name : terms_[j].names) {
            if (!has(all, name)) all += name;
        }
        return filtered(all, [&](Name name) { return is_needed(name, i, j); });
    }

    void multiply_best_pair() {
        std::size_t best_i = none, best_j = none;
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t i = 0; i < terms_.size(); i++) {
            for (std::size_t j = i + 1; j < terms_.size(); j++) {
                const Names names = of_product(i, j);
                double size = 1;
                for (const Name name : names) size *= static_cast<double>(extent_of(name));
                if (names.size() > max_dims || size >= least) continue;
                best_i = i, best_j = j, least = size;
            }
        }
        if (best_i == none) {
            fail(Status::unsupported,
                 "einsum: equation '%s': every product of two tensors has more than 4 dimensions: at most 4 are supported",
                 shown(equation_).c_str());
        }
        const Term product = multiplied(best_i, best_j);
        terms_.erase(terms_.begin() + static_cast<std::ptrdiff_t>(best_j));
        terms_[best_i] = product;
        drop_unneeded(best_i);
    }

    Term multiplied(std::size_t i, std::size_t j) {
        const Term *a = &terms_[i], *b = &terms_[j];
        const auto common = [&](Name name) { return has(a->names, name) && has(b->names, name); };
        const Names k = filtered(a->names, [&](Name name) { return common(name) && !is_needed(name, i, j); });
        const Names x = filtered(a->names, [&](Name name) { return common(name) && is_needed(name, i, j); });
        Names m = filtered(a->names, [&](Name name) { return !common(name); }),
              n = filtered(b->names, [&](Name name) { return !common(name); });
        if (k.empty() || (m.empty() && n.empty() && !x.empty())) return elementwise(*a, *b, k + m + n + x);
        // m comes first in the result.
        const auto place = [&](const Names &names) { return names.empty() ? Names::npos : output_.find(names[0]); };
        if (place(n) < place(m)) std::swap(a, b), std::swap(m, n);
        const auto matrix = [&](const Term &term, const Names &rows) {
            Tensor *t = in_order(term, k + rows + x, max_dims);
            return shaped(nodes_, t, std::array<std::int64_t, 3>{size_of(k), size_of(rows), size_of(x)});
        };
        Tensor *product = nodes_.make(Op::mul_mat, {matrix(*a, m), matrix(*b, n)});
        const Names names = m + n + x;
        Extents ne{1, 1, 1, 1};
        for (std::size_t d = 0; d < names.size(); d++) ne[d] = extent_of(names[d]);
        return {shaped(nodes_, product, std::span(ne).first(std::max<std::size_t>(names.size(), 1))), names};
    }

    Term elementwise(const Term &a, const Term &b, const Names &all) {
        if (all.size() > max_dims) {
            fail(Status::unsupported, "einsum: equation '%s': a product of two tensors has %zu dimensions: at most 4 are supported",
                 shown(equation_).c_str(), all.size());
        }
        // The first operand's type is that of the result, which is F32 as that of all other products.
        Tensor *left = in_order(a, all, max_dims), *right = in_order(b, all, max_dims);
        if (left->layout.type != DType::f32) left = nodes_.make(Op::cast, {left}, {Attr::of_text("to", "f32")});
        return {nodes_.make(Op::mul, {left, right}), all};
    }

    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    NodeBatch &nodes_;
    std::string_view equation_;
    std::vector<Term> terms_;
    Names output_;
    std::map<Name, int> occurrences_;
    std::map<Name, std::int64_t> extents_;
    Name next_name_ = 256;
};

Tensor *einsum_compose(NodeBatch &nodes, std::span<Tensor *const> src, const EinsumAttrs &attrs) {
    return Summation(nodes, attrs.equation, src).result();
}

}  // namespace

constexpr OpDef einsum{facts::einsum, {.compose = composed<EinsumAttrs, einsum_compose>}};

}  // namespace tensorlib::core::ops
