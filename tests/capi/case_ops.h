/* The operations of the cases by their functions. Written by `cargo xtask ops` from the descriptions in cpp/ops: change it there.
 * cases.c includes it behind what it calls. */

/* False where it is none of these. */
static bool case_op(const Run *run, char **words, int n, tl_tensor **made) {
    tl_context *ctx = run->current->ctx;
    const char *op = words[2];
    tl_tensor *s[MAX_OPERANDS];
    if (strcmp(op, "add") == 0) {
        operands(run, words, n, 2, s);
        *made = tl_add(ctx, s[0], s[1]);
        return true;
    }
    if (strcmp(op, "transpose") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_transpose(ctx, s[0]);
        return true;
    }
    if (strcmp(op, "cont") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_cont(ctx, s[0]);
        return true;
    }
    if (strcmp(op, "cpy") == 0) {
        operands(run, words, n, 2, s);
        *made = tl_cpy(ctx, s[0], s[1]);
        return true;
    }
    if (strcmp(op, "dup") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_dup(ctx, s[0]);
        return true;
    }
    if (strcmp(op, "get_rows") == 0) {
        operands(run, words, n, 2, s);
        *made = tl_get_rows(ctx, s[0], s[1]);
        return true;
    }
    if (strcmp(op, "set_rows") == 0) {
        operands(run, words, n, 3, s);
        *made = tl_set_rows(ctx, s[0], s[1], s[2]);
        return true;
    }
    return false;
}
