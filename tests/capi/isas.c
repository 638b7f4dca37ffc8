/* Prints the ISAs that this machine can run, best first, one per line. The test suites are
 * repeated for each of them. Only the library knows the list. */
#include <stdio.h>

#include <tensorlib/tensorlib.h>

int main(void) {
    size_t n = tl_isa_count();
    for (size_t i = 0; i < n; i++) {
        const char *name = tl_isa_name(i);
        if (!name) return 1;
        puts(name);
    }
    return n == 0 || tl_isa_name(n) != NULL;
}
