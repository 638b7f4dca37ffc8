/* File names are UTF-8, whatever the system's encoding is: writes a file with a non-ASCII name, reads it back, and finds the name in a
 * message. */
#include <stdio.h>
#include <string.h>
#include <tensorlib/tensorlib.h>

#define PATH "tensorlib_\xc3\xbc\xe2\x82\xac_\xe6\x97\xa5.gguf"

static tl_error err = {.struct_size = sizeof err};

static int failed(const char *what) {
    printf("%s: %s\n", what, err.message);
    return 1;
}

int main(void) {
    remove(PATH);
    tl_gguf_writer *writer = NULL;
    tl_gguf *file = NULL;
    if (tl_gguf_open(PATH, &file, &err) != TL_STATUS_IO || !strstr(err.message, PATH)) return failed("a missing file");
    for (int i = 0; i < 2; i++) { /* the second one replaces the first */
        if (tl_gguf_writer_create(PATH, NULL, &writer, &err)) return failed("tl_gguf_writer_create");
        if (tl_gguf_writer_set_string(writer, "general.name", "\xc3\xa9", 2, &err)) return failed("tl_gguf_writer_set_string");
        if (tl_gguf_writer_finish(writer, &err)) return failed("tl_gguf_writer_finish");
        tl_gguf_writer_free(writer);
    }
    if (tl_gguf_open(PATH, &file, &err)) return failed("tl_gguf_open");
    tl_gguf_free(file);
    if (tl_gguf_open_copy(PATH, &file, &err)) return failed("tl_gguf_open_copy");
    tl_gguf_free(file);
#ifdef _WIN32
    /* Names are UTF-16 there, and bytes that are not UTF-8 name nothing. */
    const char *broken = "tensorlib_\xff.gguf";
    if (tl_gguf_open(broken, &file, &err) != TL_STATUS_INVALID_ARGUMENT || !strstr(err.message, "is not UTF-8")) return failed("no UTF-8");
    if (tl_gguf_open_copy(broken, &file, &err) != TL_STATUS_INVALID_ARGUMENT) return failed("no UTF-8, copied");
    if (tl_gguf_writer_create(broken, NULL, &writer, &err) != TL_STATUS_INVALID_ARGUMENT) return failed("no UTF-8, written");
#else
    /* The C library takes names as the system has them, which is UTF-8 elsewhere. */
    if (remove(PATH) != 0) return failed("no file has the name");
#endif
    return 0;
}
