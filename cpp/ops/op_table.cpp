#include "base/fail.hpp"
#include "base/nearest.hpp"
#include "base/utf8.hpp"
#include "ops/node_batch.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <vector>

namespace tensorlib::core {

namespace {

void leaf_infer(std::span<Tensor *const>, const Attrs &, NodeSpec &) {
    fail(Status::invalid_argument, "leaf: no operation: make leafs with tensor_new");
}

constexpr OpDef leaf_def{
    {.op = Op::leaf, .name = "leaf"},
    {.infer = leaf_infer, .cost = ops::no_cost},
};

std::string names_of(const OpDef &def) {
    std::string text;
    for (const AttrDef &attr : def.attrs) text += (text.empty() ? "" : ", ") + std::string(attr.name);
    return text.empty() ? "it has none" : text;
}

// An attribute's values: "3", "1, 2", "0.5".
std::string values_text(const Attr &attr) {
    if (attr.kind == AttrKind::number) return format_text("%.12g", attr.number);
    std::string text;
    for (std::int32_t i = 0; i < attr.n_ints; i++)
        text += format_text("%s%lld", i ? ", " : "", static_cast<long long>(attr.ints[static_cast<std::size_t>(i)]));
    return text;
}

// "0.5 to 2 is valid", "at least 1 is valid".
std::string range_text(const AttrDef &def) {
    if (!std::isfinite(def.most)) return format_text("at least %.12g is valid", def.least);
    if (!std::isfinite(def.least)) return format_text("at most %.12g is valid", def.most);
    return format_text("%.12g to %.12g is valid", def.least, def.most);
}

const AttrDef &find_attr_def(const OpDef &def, std::string_view name) {
    for (const AttrDef &known : def.attrs) {
        if (known.name == name) return known;
    }
    fail(Status::invalid_argument, "%s: no attribute '%s': valid: %s", def.name, shown(name).c_str(), names_of(def).c_str());
}

// Converts a word to its position. Typed functions pass the position itself, which is valid too.
Attr chosen(const OpDef &def, const AttrDef &wanted, Attr attr) {
    const std::span<const char *const> values = wanted.values;
    std::int64_t place = attr.ints[0];
    if (attr.kind == AttrKind::text)
        place = std::ranges::find(values, attr.text, [](const char *word) { return std::string_view(word); }) - values.begin();
    if ((attr.kind == AttrKind::ints && attr.n_ints != 1) || attr.kind == AttrKind::number || place < 0 || place >= std::ssize(values)) {
        std::string words;
        for (const char *word : values) words += (words.empty() ? "" : ", ") + std::string(word);
        const std::string given = attr.kind == AttrKind::text ? format_text("'%s'", shown(attr.text).c_str()) : values_text(attr);
        fail(Status::invalid_argument, "%s: attribute %s is %s: one of %s is valid", def.name, wanted.name, given.c_str(), words.c_str());
    }
    return Attr::of_int(wanted.name, place);
}

// The attribute in the kind that the definition requires. One integer and a number with an integral value are
// interchangeable.
Attr converted(const OpDef &def, const AttrDef &wanted, Attr attr) {
    if (!wanted.values.empty()) return chosen(def, wanted, attr);
    constexpr double exact = 9007199254740992.0;  // 2^53: doubles represent every integer up to here
    if (wanted.kind == AttrKind::ints && attr.kind == AttrKind::number && attr.number >= -exact && attr.number <= exact &&
        attr.number == static_cast<double>(static_cast<std::int64_t>(attr.number))) {
        attr.kind = AttrKind::ints;
        attr.n_ints = 1;
        attr.ints[0] = static_cast<std::int64_t>(attr.number);
    } else if (wanted.kind == AttrKind::number && attr.kind == AttrKind::ints && attr.n_ints == 1) {
        attr.kind = AttrKind::number;
        attr.number = static_cast<double>(attr.ints[0]);
    }
    if (attr.kind != wanted.kind) {
        constexpr const char *kinds[] = {"integers", "a number", "text"};
        const auto kind = static_cast<std::size_t>(attr.kind);
        fail(Status::invalid_argument, "%s: attribute %s is %s: %s is valid", def.name, wanted.name,
             kind < 3 ? kinds[kind] : "of no known kind", kinds[static_cast<std::size_t>(wanted.kind)]);
    }
    if (wanted.kind == AttrKind::ints && (attr.n_ints < wanted.min_ints || attr.n_ints > wanted.max_ints)) {
        fail(Status::invalid_argument, "%s: attribute %s has %d values: %d to %d are valid", def.name, wanted.name, attr.n_ints,
             wanted.min_ints, wanted.max_ints);
    }
    return attr;
}

// Whether the attribute equals the default, as if it were left out. Where negative numbers are valid, -0 is one of them.
bool is_default(const AttrDef &wanted, const Attr &attr) {
    if (wanted.required || attr.kind == AttrKind::text) return false;
    if (attr.kind == AttrKind::number) return attr.number == 0 && !(wanted.least < 0 && std::signbit(attr.number));
    const std::span<const std::int64_t> values(attr.ints.data(), static_cast<std::size_t>(attr.n_ints));
    return wanted.min_ints == wanted.max_ints && std::ranges::all_of(values, [](std::int64_t value) { return value == 0; });
}

void check_range(const OpDef &def, const AttrDef &wanted, const Attr &attr) {
    const auto inside = [&](double value) { return value >= wanted.least && value <= wanted.most; };
    const std::span<const std::int64_t> ints(attr.ints.data(), static_cast<std::size_t>(attr.n_ints));
    bool valid = std::ranges::all_of(ints, [&](std::int64_t value) { return inside(static_cast<double>(value)); });
    if (attr.kind == AttrKind::number) valid = std::isnan(attr.number) ? wanted.nan : inside(attr.number);
    if (valid) return;
    if (std::isnan(attr.number)) fail(Status::invalid_argument, "%s: attribute %s is NaN: a number is valid", def.name, wanted.name);
    fail(Status::invalid_argument, "%s: attribute %s is %s: %s", def.name, wanted.name, values_text(attr).c_str(),
         range_text(wanted).c_str());
}

constexpr const OpDef *table[] = {
#define TL_OP(name, number) &ops::name,
#include "graph/gen/op_list.inc"
#undef TL_OP
};

}  // namespace

const OpDef &op_def(Op op) noexcept {
    switch (op) {
        case Op::leaf: return leaf_def;
#define TL_OP(name, number) \
    case Op::name: return ops::name;
#include "graph/gen/op_list.inc"
#undef TL_OP
    }
    return leaf_def;  // not reached: an Op is one of the list
}

const OpDef *find_op(std::string_view name) noexcept {
    for (const OpDef *def : table) {
        if (name == def->name) return def;
    }
    return nullptr;
}

const OpDef &op_named(std::string_view name) {
    if (const OpDef *def = find_op(name)) return *def;
    std::vector<std::string_view> names;
    for (const OpDef *def : table) names.push_back(def->name);
    fail(Status::invalid_argument, "op: no operation '%s': the nearest of %zu are %s", shown(name).c_str(), names.size(),
         nearest_names(name, names).c_str());
}

std::span<const OpDef *const> all_ops() noexcept { return table; }

std::string operands_text(const OpFacts &def, std::span<Tensor *const> src, const char *null) {
    std::string text;
    for (std::size_t i = 0; i < src.size(); i++) {
        const std::string what = !src[i] ? null : src[i] == left_out() ? "left out" : tensor_text(*src[i]);
        const std::string number = i < def.operands.size() ? "" : std::to_string(i - def.operands.size() + 2);
        text += format_text("%s%s%s is %s", i ? ", " : "", operand_at(def, i).name, number.c_str(), what.c_str());
    }
    return text;
}

void check_without_blocks(const OpFacts &def, std::span<Tensor *const> src) {
    if (traits(src[0]->layout.type).block_size == 1) return;
    fail(Status::type_mismatch, "%s: %s: a type without blocks is valid, as those would be taken apart", def.name,
         operands_text(def, src).c_str());
}

void check_operand_count(const OpDef &def, std::size_t count) {
    std::size_t least = def.operands.size();
    while (least > 0 && def.operands[least - 1].optional) least--;
    const std::size_t most = !def.repeats_last ? def.operands.size() : def.compose ? most_listed : max_sources;
    if (count >= least && count <= most) return;
    if (least == most) fail(Status::invalid_argument, "%s: %zu operands: exactly %zu are valid", def.name, count, least);
    fail(Status::invalid_argument, "%s: %zu operands: %zu to %zu are valid", def.name, count, least, most);
}

bool Attrs::flag(const char *op, std::string_view name) const {
    const std::int64_t value = integer(name, 0);
    if (value == 0 || value == 1) return value == 1;
    fail(Status::invalid_argument, "%s: %.*s is %lld: 0 or 1 is valid", op, static_cast<int>(name.size()), name.data(),
         static_cast<long long>(value));
}

DType Attrs::type(const char *op, std::string_view name) const { return traits_named(op, text(name)).type; }

Attrs checked_attrs(const OpDef &def, std::span<const Attr> attrs, std::span<Attr, Attrs::most> room) {
    if (attrs.size() > room.size())
        fail(Status::invalid_argument, "%s: %zu attributes: valid: %s", def.name, attrs.size(), names_of(def).c_str());
    for (std::size_t i = 0; i < attrs.size(); i++) {
        room[i] = converted(def, find_attr_def(def, attrs[i].name), attrs[i]);
        for (std::size_t j = 0; j < i; j++) {
            if (room[j].name == room[i].name)
                fail(Status::invalid_argument, "%s: attribute %s is given twice", def.name, find_attr_def(def, attrs[i].name).name);
        }
    }
    for (const AttrDef &wanted : def.attrs) {
        const auto named = [&](const Attr &attr) { return attr.name == wanted.name; };
        if (wanted.required && std::ranges::none_of(room.first(attrs.size()), named))
            fail(Status::invalid_argument, "%s: attribute %s is missing", def.name, wanted.name);
    }
    std::size_t n_given = 0;
    for (std::size_t i = 0; i < attrs.size(); i++) {
        const AttrDef &wanted = find_attr_def(def, room[i].name);
        if (is_default(wanted, room[i])) continue;
        check_range(def, wanted, room[i]);
        room[n_given++] = room[i];
    }
    return Attrs(room.first(n_given));
}

namespace {

// The nodes of a composed operation. An error of one of them names the operation too.
Tensor *composed(Context &context, const OpDef &def, std::span<Tensor *const> src, const Attrs &attrs, NodeBatch *batch) {
    NodeBatch nodes(context);
    try {
        Tensor *last = def.compose(nodes, src, attrs);
        if (batch) batch->take(nodes);
        nodes.keep();
        return last;
    } catch (const Error &error) {
        if (std::string_view(error.what()).starts_with(std::string(def.name) + ":")) throw;
        fail(error.code(), "%s: %s", def.name, error.what());
    }
}

// A view of the first of several results, which takes the node back if there is no memory for it.
Tensor *first_result(Context &context, Tensor &node, NodeBatch *batch) {
    NodeBatch nodes(context);
    nodes.adopt(node);
    const ResultPart part = op_def(node.op).part(node, 0);
    Tensor *first =
        nodes.make(Op::view, {&node}, {Attr::of_ints("ne", std::span(part.layout.ne).first(static_cast<std::size_t>(part.layout.n_dims)))});
    if (batch) batch->take(nodes);
    nodes.keep();
    return first;
}

}  // namespace

Tensor *build_node(Context &context, Op op, std::span<Tensor *const> src, std::span<const Attr> attrs, NodeBatch *batch) {
    const OpDef &def = op_def(op);
    check_operand_count(def, src.size());
    // All operands, null for those that are left out.
    std::array<Tensor *, max_sources> few{};
    std::vector<Tensor *> many(src.size() > max_sources ? src.size() : 0);
    Tensor **operands = many.empty() ? few.data() : many.data();
    for (std::size_t i = 0; i < src.size(); i++) {
        const Tensor *source = src[i];
        if (!source) fail(Status::invalid_argument, "%s: %s", def.name, operands_text(def, src, "NULL").c_str());
        if (source == left_out()) {
            if (operand_at(def, i).optional) continue;
            fail(Status::invalid_argument, "%s: %s: %s is no operand that may be left out", def.name,
                 operands_text(def, src, "NULL").c_str(), operand_at(def, i).name);
        }
        operands[i] = src[i];
    }
    std::array<Attr, Attrs::most> checked;
    const Attrs given = checked_attrs(def, attrs, checked);
    const std::span<Tensor *const> all(operands, std::max(src.size(), def.operands.size()));
    if (def.compose) return composed(context, def, all, given, batch);
    NodeSpec spec;
    spec.op = op;
    spec.src = all;
    for (std::size_t i = 0; i < all.size(); i++) {
        const Role role = operand_at(def, i).role;
        if (!operands[i] || (role != Role::viewed && role != Role::written)) continue;
        if (!spec.view_of) spec.view_of = operands[i];
        if (role == Role::written) spec.written = static_cast<std::uint16_t>(spec.written | 1u << i);
    }
    def.infer(spec.src, given, spec);
    Tensor *made = context.new_node(spec);
    return def.n_results == 1 ? made : first_result(context, *made, batch);
}

namespace ops {

Cost copy_cost(const Tensor &node) {
    double bytes = static_cast<double>(node.layout.nbytes());
    for (const Tensor *source : node.sources()) bytes += static_cast<double>(source->layout.nbytes());
    return {0, bytes};
}

Cost no_cost(const Tensor &) { return {}; }

}  // namespace ops

}  // namespace tensorlib::core
