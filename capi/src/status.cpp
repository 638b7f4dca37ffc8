#include "handles.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string_view>

namespace tensorlib::capi {

namespace {

// sizeof(tl_error) in version 0.1; part of the ABI.
constexpr std::size_t first_error_size = 272;
static_assert(sizeof(tl_error) == first_error_size);

// Of a message that is too long, what stays of its beginning, and what stands for its middle: a path may be there, and the reason comes
// last.
constexpr std::size_t kept_beginning = 160;
constexpr std::string_view cut_mark = " ... ";

// Whether a UTF-8 character goes on here: 10xxxxxx.
bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

}  // namespace

void set_error(tl_error *err, Status code, const char *message) noexcept {
    if (!err || err->struct_size < first_error_size) return;
    err->code = static_cast<tl_status>(code);
    const std::string_view text = message;
    constexpr std::size_t most = sizeof err->message - 1;
    char *out = err->message;
    const auto append = [&](std::string_view part) { out = std::copy(part.begin(), part.end(), out); };
    if (text.size() <= most) {
        append(text);
    } else {
        std::size_t end = kept_beginning, begin = text.size() - (most - kept_beginning - cut_mark.size());
        while (end > 0 && is_continuation(text[end])) end--;
        while (begin < text.size() && is_continuation(text[begin])) begin++;
        append(text.substr(0, end));
        append(cut_mark);
        append(text.substr(begin));
    }
    *out = '\0';
}

namespace {

// Calls use(code, message) with the exception that is being handled, by reference: a copy would ask for memory.
template <class Use>
void with_current(Use use) noexcept {
    try {
        throw;
    } catch (const Error &error) {
        use(error.code(), error.what());
    } catch (const std::bad_alloc &) {
        use(Status::out_of_memory, "out of memory");
    } catch (const std::exception &error) {
        char message[256];
        std::snprintf(message, sizeof message, "internal error: %s", error.what());
        use(Status::internal, message);
    } catch (...) {
        use(Status::internal, "internal error");
    }
}

}  // namespace

Status report_current(tl_error *err) noexcept {
    Status status = Status::internal;
    with_current([&](Status code, const char *message) noexcept {
        status = code;
        set_error(err, code, message);
    });
    return status;
}

void keep_current(core::Context &context) noexcept {
    with_current([&](Status code, const char *message) noexcept { context.keep_error(code, message); });
}

}  // namespace tensorlib::capi

uint32_t tl_abi_version(void) { return TL_ABI_VERSION; }

const char *tl_version(void) { return TENSORLIB_VERSION; }

const char *tl_status_name(tl_status status) {
    switch (status) {
#define TL_STATUS_CASE(name) \
    case name: return #name;
        TL_STATUS_CASE(TL_STATUS_OK)
        TL_STATUS_CASE(TL_STATUS_INVALID_ARGUMENT)
        TL_STATUS_CASE(TL_STATUS_SHAPE_MISMATCH)
        TL_STATUS_CASE(TL_STATUS_TYPE_MISMATCH)
        TL_STATUS_CASE(TL_STATUS_CONTEXT_MISMATCH)
        TL_STATUS_CASE(TL_STATUS_UNSUPPORTED)
        TL_STATUS_CASE(TL_STATUS_UNAVAILABLE)
        TL_STATUS_CASE(TL_STATUS_OUT_OF_MEMORY)
        TL_STATUS_CASE(TL_STATUS_BUSY)
        TL_STATUS_CASE(TL_STATUS_ABORTED)
        TL_STATUS_CASE(TL_STATUS_IO)
        TL_STATUS_CASE(TL_STATUS_FORMAT)
        TL_STATUS_CASE(TL_STATUS_DEVICE)
        TL_STATUS_CASE(TL_STATUS_INTERNAL)
#undef TL_STATUS_CASE
    }
    return "unknown status";
}
