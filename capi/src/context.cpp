#include "handles.hpp"

using namespace tensorlib;
using capi::guarded;
using capi::required;
using capi::unwrap;
using capi::wrap;

void tl_context_params_init(tl_context_params *params, size_t struct_size) { capi::init_params(params, struct_size); }

tl_status tl_context_create(const tl_context_params *params, tl_context **out, tl_error *err) {
    constexpr const char *function = "context_create";
    if (out) *out = nullptr;
    return guarded(err, [&] {
        required(out, function, "out");
        core::ContextParams wanted;
        if (params) {
            const tl_context_params given = capi::read_params<48>(params, function);
            wanted.mem_limit = given.mem_limit;
            wanted.mem_buffer = given.mem_buffer;
            wanted.mem_buffer_size = given.mem_buffer_size;
            wanted.no_alloc = capi::flag(given.no_alloc, "context_create", "no_alloc");
            if (given.backend) {
                wanted.memory = &unwrap(given.backend)->device().memory();
                wanted.keep_alive = unwrap(given.backend);
            }
        }
        *out = wrap(core::Context::create(wanted).release());
    });
}

void tl_context_free(tl_context *ctx) {
    if (ctx) unwrap(ctx)->drop_ref();
}

size_t tl_context_used_memory(const tl_context *ctx) { return ctx ? unwrap(ctx)->used_memory() : 0; }

size_t tl_context_peak_memory(const tl_context *ctx) { return ctx ? unwrap(ctx)->peak_memory() : 0; }

tl_status tl_context_allocate(tl_context *ctx, tl_backend *backend, tl_error *err) {
    constexpr const char *function = "context_allocate";
    return guarded(err, [&] {
        core::Context &context = *unwrap(required(ctx, function, "ctx"));
        if (backend && !unwrap(backend)->part_on(context.memory())) {
            core::fail(Status::context_mismatch, "%s: the context lives on %s, the backend on %s", function, context.memory().device(),
                       unwrap(backend)->device().name());
        }
        core::RunGuard run(context, true, function);
        context.allocate();
    });
}

tl_status tl_context_reset(tl_context *ctx, tl_error *err) {
    return guarded(err, [&] { unwrap(required(ctx, "context_reset", "ctx"))->reset(); });
}

tl_status tl_context_set_busy_timeout(tl_context *ctx, uint64_t nanoseconds, tl_error *err) {
    return guarded(err, [&] { unwrap(required(ctx, "context_set_busy_timeout", "ctx"))->set_busy_timeout(nanoseconds); });
}

uint64_t tl_context_busy_timeout(const tl_context *ctx) { return ctx ? unwrap(ctx)->busy_timeout() : 0; }

uint64_t tl_context_id(const tl_context *ctx) { return ctx ? unwrap(ctx)->id() : 0; }

tl_status tl_context_set_name(tl_context *ctx, const char *name, tl_error *err) {
    return guarded(err, [&] { unwrap(required(ctx, "context_set_name", "ctx"))->set_name(name); });
}

size_t tl_context_name(const tl_context *ctx, char *buf, size_t size) {
    return capi::copied_text(buf, size, [&] { return ctx ? unwrap(ctx)->name() : std::string(); });
}

tl_status tl_context_freeze(tl_context *ctx, tl_error *err) {
    return guarded(err, [&] { unwrap(required(ctx, "context_freeze", "ctx"))->freeze(); });
}

tl_status tl_context_error(tl_context *ctx, tl_error *out) {
    std::optional<Error> error;
    const tl_status status = guarded(out, [&] { error = unwrap(required(ctx, "context_error", "ctx"))->take_error(); });
    if (!error) return status;
    capi::set_error(out, error->code(), error->what());
    return static_cast<tl_status>(error->code());
}
