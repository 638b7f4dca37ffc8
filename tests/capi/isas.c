/* Prints the ISAs that this machine runs, best first, one per line: what the test suites are
 * repeated for. The library decides; nobody else keeps a list. */
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
