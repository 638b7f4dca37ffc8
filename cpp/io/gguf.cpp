#include "io/gguf.hpp"

#include "base/fail.hpp"
#include "base/utf8.hpp"
#include "io/gguf_reader.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace tensorlib::core {

namespace {

constexpr const char *what = "gguf_open";

// The index of a file among its parts, and their number, as the file says.
struct Split {
    std::uint64_t own = 0, count = 1;
    std::optional<std::uint64_t> n_tensors;
};

Split split_of(const GgufReader &part) {
    Split split;
    split.own = part.number("split.no").value_or(0);
    split.count = part.number("split.count").value_or(1);
    split.n_tensors = part.number("split.tensors.count");
    return split;
}

std::string part_suffix(std::uint64_t index, std::uint64_t count) {
    return format_text("-%05llu-of-%05llu.gguf", static_cast<unsigned long long>(index + 1), static_cast<unsigned long long>(count));
}

template <class Named>
std::vector<std::uint32_t> order_by_name(const std::vector<Named> &list) {
    std::vector<std::uint32_t> order(list.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return list[a].name < list[b].name; });
    return order;
}

template <class Named>
std::optional<std::size_t> find(const std::vector<Named> &list, const std::vector<std::uint32_t> &order, std::string_view name) noexcept {
    const auto found = std::lower_bound(order.begin(), order.end(), name, [&](auto i, std::string_view n) { return list[i].name < n; });
    if (found == order.end() || list[*found].name != name) return {};
    return *found;
}

Ref<FileBytes> load(const std::string &path, Gguf::Access access) {
    return access == Gguf::Access::map ? FileBytes::map(what, path) : FileBytes::read(what, path);
}

}  // namespace

Ref<Gguf> Gguf::open(const std::string &path, Access access) {
    static_assert(std::endian::native == std::endian::little, "files are little-endian, and read as they are");
    const Ref<FileBytes> bytes = load(path, access);
    GgufReader reader(what, path, bytes->bytes());
    reader.run();
    const Split split = split_of(reader);
    auto file = Ref<Gguf>::adopt(new Gguf);
    file->version_ = reader.version;
    file->alignment_ = reader.alignment;
    file->keys_ = std::move(reader.keys);
    file->tensors_ = std::move(reader.tensors);
    file->parts_.push_back(bytes);
    if (split.count > 1) file->open_other_parts(split.own, split.count, access);
    file->index();
    if (split.count > 1 && split.n_tensors && *split.n_tensors != file->tensors_.size()) {
        fail(Status::format, "%s: the %llu parts have %zu tensors, and split.tensors.count is %llu in %s", what,
             static_cast<unsigned long long>(split.count), file->tensors_.size(), static_cast<unsigned long long>(*split.n_tensors),
             path.c_str());
    }
    return file;
}

// Replaces what was read from part `own` by all parts in order, with the metadata of the first.
void Gguf::open_other_parts(std::size_t own, std::size_t count, Access access) {
    const std::string path = parts_[0]->path();
    const std::string suffix = part_suffix(own, count);
    // split.count has 16 bits; a name has five digits.
    if (own >= count || count > 65535)
        fail(Status::format, "%s: split.no is %zu and split.count %zu: less than the count, up to 65535, is valid in %s", what, own, count,
             path.c_str());
    if (!path.ends_with(suffix)) {
        fail(Status::format, "%s: part %zu of %zu: its other parts are found by its name, which must end in %s; it is %s", what, own + 1,
             count, suffix.c_str(), path.c_str());
    }
    const std::string stem = path.substr(0, path.size() - suffix.size());
    std::vector<GgufTensor> own_tensors = std::move(tensors_);
    const Ref<FileBytes> own_bytes = parts_[0];
    tensors_.clear();
    parts_.clear();
    for (std::size_t i = 0; i < count; i++) {
        std::vector<GgufTensor> tensors;
        if (i == own) {
            tensors = std::move(own_tensors);
            parts_.push_back(own_bytes);
        } else {
            const std::string other = stem + part_suffix(i, count);
            parts_.push_back(load(other, access));
            GgufReader reader(what, other, parts_.back()->bytes());
            reader.run();
            const Split split = split_of(reader);
            if (split.own != i || split.count != count) {
                fail(Status::format, "%s: %s says that it is part %llu of %llu: %zu of %zu is valid", what, other.c_str(),
                     static_cast<unsigned long long>(split.own + 1), static_cast<unsigned long long>(split.count), i + 1, count);
            }
            tensors = std::move(reader.tensors);
            if (i == 0) {
                version_ = reader.version;
                alignment_ = reader.alignment;
                keys_ = std::move(reader.keys);
            }
        }
        for (GgufTensor &tensor : tensors) {
            tensor.part = static_cast<std::uint32_t>(i);
            tensors_.push_back(std::move(tensor));
        }
    }
}

Ref<Gguf> Gguf::open_memory(const void *data, std::size_t size, Access access) {
    if (!data && size != 0) fail(Status::invalid_argument, "gguf_open_memory: data is NULL: %zu bytes are valid", size);
    auto file = Ref<Gguf>::adopt(new Gguf);
    file->parts_.push_back(access == Access::map ? FileBytes::borrow(data, size) : FileBytes::copy("gguf_open_memory", data, size));
    GgufReader reader("gguf_open_memory", "memory", file->parts_[0]->bytes());
    reader.run();
    file->version_ = reader.version;
    file->alignment_ = reader.alignment;
    file->keys_ = std::move(reader.keys);
    file->tensors_ = std::move(reader.tensors);
    file->index();
    return file;
}

void Gguf::index() {
    keys_by_name_ = order_by_name(keys_);
    tensors_by_name_ = order_by_name(tensors_);
    for (std::size_t i = 1; i < tensors_by_name_.size(); i++) {
        const GgufTensor &one = tensors_[tensors_by_name_[i - 1]], &next = tensors_[tensors_by_name_[i]];
        if (one.name != next.name) continue;
        fail(Status::format, "%s: tensor '%s' is in parts %u and %u of %s", what, shown(one.name).c_str(), one.part + 1, next.part + 1,
             parts_[0]->path().c_str());
    }
}

std::optional<std::size_t> Gguf::find_key(std::string_view name) const noexcept { return find(keys_, keys_by_name_, name); }
std::optional<std::size_t> Gguf::find_tensor(std::string_view name) const noexcept { return find(tensors_, tensors_by_name_, name); }

Tensor *Gguf::new_leaf(Context &context, std::string_view name) const {
    const auto index = find_tensor(name);
    if (!index) {
        fail(Status::invalid_argument, "gguf_tensor: no tensor '%s' among the %zu of %s", shown(name).c_str(), tensors_.size(),
             parts_[0]->path().empty() ? "the file in memory" : parts_[0]->path().c_str());
    }
    const GgufTensor &tensor = tensors_[*index];
    const FileBytes &part = *parts_[tensor.part];
    return context.new_file_leaf({tensor.layout, tensor.name.c_str(), tensor.data, &part, part.mapped()});
}

}  // namespace tensorlib::core
