/* Prints the names of this machine's devices, one per line. The test suites of the CUDA backend run on each
 * of them. */
#include <stdio.h>

#include <tensorlib/tensorlib.h>

int main(void) {
    size_t n = tl_device_count();
    for (size_t i = 0; i < n; i++) {
        const char *name = tl_device_name(i);
        if (!name) return 1;
        puts(name);
    }
    return n == 0 || tl_device_name(n) != NULL;
}
