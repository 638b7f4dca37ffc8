#include "handles.hpp"

#include <cstdio>
#include <exception>

namespace tensorlib::capi {

namespace {

// sizeof(tl_error) in version 0.1; part of the ABI.
constexpr std::size_t first_error_size = 272;
static_assert(sizeof(tl_error) == first_error_size);

}  // namespace

void set_error(tl_error *err, Status code, const char *message) noexcept {
    if (!err || err->struct_size < first_error_size) return;
    err->code = static_cast<tl_status>(code);
    std::size_t length = std::strlen(message);
    constexpr std::size_t most = sizeof err->message - 1;
    if (length > most) {
        length = most;
        // 10xxxxxx continues a UTF-8 character: step back to where the cut one begins.
        while (length > 0 && (static_cast<unsigned char>(message[length]) & 0xc0) == 0x80) length--;
    }
    std::memcpy(err->message, message, length);
    err->message[length] = '\0';
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
