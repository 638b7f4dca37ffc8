// Shared by all files here: the header, conversions between handles and engine objects, and the barrier that no exception passes.
#pragma once

#include <tensorlib/tensorlib.h>

#include "base/fail.hpp"
#include "graph/graph.hpp"
#include "groups/group.hpp"
#include "runtime/backend.hpp"

#include <cstring>
#include <new>
#include <span>
#include <string>
#include <string_view>

namespace tensorlib::capi {

// A handle is a pointer to the engine's object, with one reference that the caller holds. The header's structs are defined nowhere.
inline core::Backend *unwrap(tl_backend *p) { return reinterpret_cast<core::Backend *>(p); }
inline const core::Backend *unwrap(const tl_backend *p) { return reinterpret_cast<const core::Backend *>(p); }
inline core::Context *unwrap(tl_context *p) { return reinterpret_cast<core::Context *>(p); }
inline const core::Context *unwrap(const tl_context *p) { return reinterpret_cast<const core::Context *>(p); }
// An operand: NULL, tl_none(), or a tensor.
inline core::Tensor *unwrap_operand(tl_tensor *p) { return reinterpret_cast<core::Tensor *>(p); }
// Null for tl_none() too, which is not a tensor.
inline core::Tensor *unwrap(tl_tensor *p) { return unwrap_operand(p) == core::left_out() ? nullptr : unwrap_operand(p); }
inline const core::Tensor *unwrap(const tl_tensor *p) { return unwrap(const_cast<tl_tensor *>(p)); }
inline core::Graph *unwrap(tl_graph *p) { return reinterpret_cast<core::Graph *>(p); }
inline const core::Graph *unwrap(const tl_graph *p) { return reinterpret_cast<const core::Graph *>(p); }
inline core::Group *unwrap(tl_group *p) { return reinterpret_cast<core::Group *>(p); }
inline const core::Group *unwrap(const tl_group *p) { return reinterpret_cast<const core::Group *>(p); }
inline tl_group *wrap(core::Group *p) { return reinterpret_cast<tl_group *>(p); }
inline tl_backend *wrap(core::Backend *p) { return reinterpret_cast<tl_backend *>(p); }
inline tl_context *wrap(core::Context *p) { return reinterpret_cast<tl_context *>(p); }
inline tl_tensor *wrap(core::Tensor *p) { return reinterpret_cast<tl_tensor *>(p); }
inline tl_graph *wrap(core::Graph *p) { return reinterpret_cast<tl_graph *>(p); }

// Stores a code and a message in the caller's error; does nothing for NULL or for a struct smaller than its first version. A message
// that is too long loses characters in the middle.
void set_error(tl_error *err, Status code, const char *message) noexcept;

// Returns the code of the exception that is being handled and stores code and message in the caller's error. Every exception other than
// an Error or exhausted memory is a defect. Allocates no memory, since there may be none.
Status report_current(tl_error *err) noexcept;
// Keeps the code and message of the exception that is being handled in a context.
void keep_current(core::Context &context) noexcept;

// Runs f; turns an exception into a status and a message.
template <class F>
tl_status guarded(tl_error *err, F f) noexcept {
    try {
        f();
        set_error(err, Status::ok, "");
        return TL_STATUS_OK;
    } catch (...) {
        return static_cast<tl_status>(report_current(err));
    }
}

// Copies as much of the text as fits, with a NUL; returns the length of the whole text.
inline std::size_t copy_text(std::string_view text, char *buf, std::size_t size) noexcept {
    if (buf && size > 0) {
        const std::size_t n = text.size() < size ? text.size() : size - 1;
        if (n > 0) std::memcpy(buf, text.data(), n);  // an empty text may have no address
        buf[n] = '\0';
    }
    return text.size();
}

// copy_text() of the text that f returns; 0 and "" if it throws.
template <class F>
std::size_t copied_text(char *buf, std::size_t size, F f) noexcept {
    std::size_t length = copy_text({}, buf, size);
    (void)guarded(nullptr, [&] { length = copy_text(f(), buf, size); });
    return length;
}

// Copies as many of the tensors as fit, NULL for one that was left out; returns their total number.
inline std::size_t copy_tensors(std::span<core::Tensor *const> all, tl_tensor **tensors, std::size_t n) noexcept {
    for (std::size_t i = 0; tensors && i < n && i < all.size(); i++) tensors[i] = all[i] ? wrap(all[i]->known()) : nullptr;
    return all.size();
}

// Runs f, a constructor of a tensor; the context keeps the error of an exception.
template <class F>
tl_tensor *constructed(tl_context *ctx, F f) noexcept {
    if (!ctx) return nullptr;
    try {
        return wrap(f(*unwrap(ctx)));
    } catch (...) {
        keep_current(*unwrap(ctx));
        return nullptr;
    }
}

// Throws Error(invalid_argument) if a required pointer is NULL.
template <class T>
T *required(T *p, const char *function, const char *name) {
    if (!p) core::fail(Status::invalid_argument, "%s: %s is NULL", function, name);
    return p;
}

// required() for a tensor; refuses tl_none() too, which is not a tensor.
inline core::Tensor &required_tensor(tl_tensor *p, const char *function, const char *name) {
    required(p, function, name);
    if (core::Tensor *tensor = unwrap(p)) return *tensor;
    core::fail(Status::invalid_argument, "%s: %s is tl_none(), which stands for an operand that is left out and is no tensor", function,
               name);
}
inline const core::Tensor &required_tensor(const tl_tensor *p, const char *function, const char *name) {
    return required_tensor(const_cast<tl_tensor *>(p), function, name);
}

// No version of any struct is larger: a larger struct_size was never set to sizeof, so nothing is read or written for it.
constexpr std::size_t largest_struct = 4096;

// Writes the defaults of a struct, all zeros, as far as the caller's struct reaches; ignores NULL.
template <class T>
void init_params(T *params, std::size_t struct_size) noexcept {
    static_assert(sizeof(T) <= largest_struct);
    if (!params || struct_size > largest_struct) return;
    std::memset(static_cast<void *>(params), 0, struct_size);
    if (struct_size >= sizeof struct_size) std::memcpy(static_cast<void *>(params), &struct_size, sizeof struct_size);
}

// Converts a caller's struct that begins with struct_size to this library's version of it. FirstSize is the struct's size in version
// 0.1; older callers pass at least that many bytes, and a smaller struct is refused. A larger struct whose unknown tail is not zero is
// refused as well, because it asks for something that this version does not know.
template <std::size_t FirstSize, class T>
T read_params(const T *params, const char *function) {
    static_assert(sizeof(T) >= FirstSize, "a struct of the ABI never shrinks");
    T known{};
    std::size_t size;
    std::memcpy(&size, params, sizeof size);
    if (size < FirstSize || size > largest_struct) {
        core::fail(Status::invalid_argument, "%s: struct_size is %zu: %zu to %zu is valid; was it set to sizeof?", function, size,
                   FirstSize, largest_struct);
    }
    const auto *bytes = reinterpret_cast<const unsigned char *>(params);
    for (std::size_t i = sizeof(T); i < size; i++) {
        if (bytes[i] != 0)
            core::fail(Status::invalid_argument, "%s: byte %zu of params is set, which this version does not know", function, i);
    }
    std::memcpy(&known, params, size < sizeof known ? size : sizeof known);
    return known;
}

// Reads a bool of a caller's struct. The byte may have any value, and loading a bool that is neither 0 nor 1 is undefined behaviour.
inline bool flag(const bool &member, const char *function, const char *name) {
    unsigned char byte;
    std::memcpy(&byte, &member, sizeof byte);
    if (byte > 1) core::fail(Status::invalid_argument, "%s: %s is %d: false (0) or true (1) is valid", function, name, byte);
    return byte != 0;
}

}  // namespace tensorlib::capi
