/* Shared by the parts of bad_input: counted checks, and the backend with two threads that all parts use. */
#ifndef BAD_INPUT_H
#define BAD_INPUT_H

#define _POSIX_C_SOURCE 200809L

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tensorlib/tensorlib.h>

/* Counts a check; a false one is printed with its place. */
#define CHECK(condition) check_at(__FILE__, __LINE__, #condition, (condition))

/* The call must return this status, with the same code and a message that contains `word` in `err`. */
#define REFUSED(call, status, word) refused_at(__FILE__, __LINE__, #call, (call), (status), (word))

/* The call must return TL_STATUS_OK, and leave `err` saying so. */
#define ACCEPTED(call) accepted_at(__FILE__, __LINE__, #call, (call))

/* The constructor must give NULL and leave this status and a message with `word` in the context. */
#define NOT_MADE(ctx, call, status, word) not_made_at(__FILE__, __LINE__, #call, (ctx), (call), (status), (word))

/* The error that all calls inside REFUSED and ACCEPTED must be given. */
extern tl_error err;
extern tl_backend *backend;

void check_at(const char *file, int line, const char *text, bool holds);
void refused_at(const char *file, int line, const char *text, tl_status got, tl_status want, const char *word);
void accepted_at(const char *file, int line, const char *text, tl_status got);
void not_made_at(const char *file, int line, const char *text, tl_context *ctx, const tl_tensor *got, tl_status want, const char *word);
void skip(const char *what, const char *why);

/* A context with the defaults; ends the program where there is none, as no check could follow. */
tl_context *fresh_context(void);
/* A context on params; the same. */
tl_context *context_of(const tl_context_params *params);

void test_plain_functions(void);
void test_backends(void);
void test_gpus(void);
void test_joins(void);
void test_contexts(void);
void test_lifetimes(void);
void test_tensors(void);
void test_data(void);
void test_ops(void);
void test_op_by_name(void);
void test_gguf(void);
void test_gradients(void);
void test_graphs(void);
void test_callbacks(void);
void test_introspection(void);
void test_processes(void);
void test_quantize(void);

#endif
