/* The operations of the cases by their functions. Written by `cargo xtask ops` from the descriptions in cpp/ops: change it there.
 * cases.c includes it after the functions that it calls. */

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
    if (strcmp(op, "sub") == 0) {
        operands(run, words, n, 2, s);
        *made = tl_sub(ctx, s[0], s[1]);
        return true;
    }
    if (strcmp(op, "mul") == 0) {
        operands(run, words, n, 2, s);
        *made = tl_mul(ctx, s[0], s[1]);
        return true;
    }
    if (strcmp(op, "div") == 0) {
        operands(run, words, n, 2, s);
        *made = tl_div(ctx, s[0], s[1]);
        return true;
    }
    if (strcmp(op, "maximum") == 0) {
        operands(run, words, n, 2, s);
        *made = tl_maximum(ctx, s[0], s[1]);
        return true;
    }
    if (strcmp(op, "minimum") == 0) {
        operands(run, words, n, 2, s);
        *made = tl_minimum(ctx, s[0], s[1]);
        return true;
    }
    if (strcmp(op, "pow") == 0) {
        operands(run, words, n, 2, s);
        *made = tl_pow(ctx, s[0], s[1]);
        return true;
    }
    if (strcmp(op, "eq") == 0) {
        operands(run, words, n, 2, s);
        *made = tl_eq(ctx, s[0], s[1]);
        return true;
    }
    if (strcmp(op, "ne") == 0) {
        operands(run, words, n, 2, s);
        *made = tl_ne(ctx, s[0], s[1]);
        return true;
    }
    if (strcmp(op, "lt") == 0) {
        operands(run, words, n, 2, s);
        *made = tl_lt(ctx, s[0], s[1]);
        return true;
    }
    if (strcmp(op, "le") == 0) {
        operands(run, words, n, 2, s);
        *made = tl_le(ctx, s[0], s[1]);
        return true;
    }
    if (strcmp(op, "gt") == 0) {
        operands(run, words, n, 2, s);
        *made = tl_gt(ctx, s[0], s[1]);
        return true;
    }
    if (strcmp(op, "ge") == 0) {
        operands(run, words, n, 2, s);
        *made = tl_ge(ctx, s[0], s[1]);
        return true;
    }
    if (strcmp(op, "add1") == 0) {
        operands(run, words, n, 2, s);
        *made = tl_add1(ctx, s[0], s[1]);
        return true;
    }
    if (strcmp(op, "where") == 0) {
        operands(run, words, n, 3, s);
        *made = tl_where(ctx, s[0], s[1], s[2]);
        return true;
    }
    if (strcmp(op, "scale") == 0) {
        operands(run, words, n, 1, s);
        tl_scale_params params = {.struct_size = sizeof params};
        params.bias = case_number(run, words, n, "bias");
        *made = tl_scale(ctx, s[0], case_number(run, words, n, "scale"), &params);
        return true;
    }
    if (strcmp(op, "clamp") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_clamp(ctx, s[0], case_number(run, words, n, "min"), case_number(run, words, n, "max"));
        return true;
    }
    if (strcmp(op, "fill") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_fill(ctx, s[0], case_number(run, words, n, "value"));
        return true;
    }
    if (strcmp(op, "masked_fill") == 0) {
        operands(run, words, n, 2, s);
        *made = tl_masked_fill(ctx, s[0], s[1], case_number(run, words, n, "value"));
        return true;
    }
    if (strcmp(op, "out_prod") == 0) {
        operands(run, words, n, 2, s);
        *made = tl_out_prod(ctx, s[0], s[1]);
        return true;
    }
    if (strcmp(op, "out_prod_id") == 0) {
        operands(run, words, n, 3, s);
        *made = tl_out_prod_id(ctx, s[0], s[1], s[2], case_int(run, words, n, "experts"));
        return true;
    }
    if (strcmp(op, "solve_tri") == 0) {
        operands(run, words, n, 2, s);
        *made = tl_solve_tri(ctx, s[0], s[1], case_int(run, words, n, "left") != 0, case_int(run, words, n, "lower") != 0,
                             case_int(run, words, n, "unit") != 0);
        return true;
    }
    if (strcmp(op, "transpose") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_transpose(ctx, s[0]);
        return true;
    }
    if (strcmp(op, "stop_gradient") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_stop_gradient(ctx, s[0]);
        return true;
    }
    if (strcmp(op, "expand") == 0) {
        operands(run, words, n, 1, s);
        int64_t ne[4];
        case_ints(run, words, n, "ne", 4, ne);
        *made = tl_expand(ctx, s[0], 4, ne);
        return true;
    }
    if (strcmp(op, "unsqueeze") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_unsqueeze(ctx, s[0], case_int(run, words, n, "dim"));
        return true;
    }
    if (strcmp(op, "squeeze") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_squeeze(ctx, s[0], case_int(run, words, n, "dim"));
        return true;
    }
    if (strcmp(op, "flatten") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_flatten(ctx, s[0], case_int(run, words, n, "first"), case_int(run, words, n, "last"));
        return true;
    }
    if (strcmp(op, "select") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_select(ctx, s[0], case_int(run, words, n, "dim"), case_int(run, words, n, "index"));
        return true;
    }
    if (strcmp(op, "result") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_result(ctx, s[0], case_int(run, words, n, "number"));
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
    if (strcmp(op, "index_select") == 0) {
        operands(run, words, n, 2, s);
        *made = tl_index_select(ctx, s[0], s[1], case_int(run, words, n, "dim"));
        return true;
    }
    if (strcmp(op, "abs") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_abs(ctx, s[0]);
        return true;
    }
    if (strcmp(op, "neg") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_neg(ctx, s[0]);
        return true;
    }
    if (strcmp(op, "sqr") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_sqr(ctx, s[0]);
        return true;
    }
    if (strcmp(op, "sqrt") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_sqrt(ctx, s[0]);
        return true;
    }
    if (strcmp(op, "log") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_log(ctx, s[0]);
        return true;
    }
    if (strcmp(op, "exp") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_exp(ctx, s[0]);
        return true;
    }
    if (strcmp(op, "expm1") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_expm1(ctx, s[0]);
        return true;
    }
    if (strcmp(op, "sin") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_sin(ctx, s[0]);
        return true;
    }
    if (strcmp(op, "cos") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_cos(ctx, s[0]);
        return true;
    }
    if (strcmp(op, "sgn") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_sgn(ctx, s[0]);
        return true;
    }
    if (strcmp(op, "step") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_step(ctx, s[0]);
        return true;
    }
    if (strcmp(op, "floor") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_floor(ctx, s[0]);
        return true;
    }
    if (strcmp(op, "ceil") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_ceil(ctx, s[0]);
        return true;
    }
    if (strcmp(op, "round") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_round(ctx, s[0]);
        return true;
    }
    if (strcmp(op, "trunc") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_trunc(ctx, s[0]);
        return true;
    }
    if (strcmp(op, "erf") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_erf(ctx, s[0]);
        return true;
    }
    if (strcmp(op, "relu") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_relu(ctx, s[0]);
        return true;
    }
    if (strcmp(op, "sigmoid") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_sigmoid(ctx, s[0]);
        return true;
    }
    if (strcmp(op, "tanh") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_tanh(ctx, s[0]);
        return true;
    }
    if (strcmp(op, "elu") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_elu(ctx, s[0]);
        return true;
    }
    if (strcmp(op, "softplus") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_softplus(ctx, s[0]);
        return true;
    }
    if (strcmp(op, "silu") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_silu(ctx, s[0]);
        return true;
    }
    if (strcmp(op, "gelu") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_gelu(ctx, s[0]);
        return true;
    }
    if (strcmp(op, "gelu_erf") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_gelu_erf(ctx, s[0]);
        return true;
    }
    if (strcmp(op, "gelu_quick") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_gelu_quick(ctx, s[0]);
        return true;
    }
    if (strcmp(op, "hardswish") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_hardswish(ctx, s[0]);
        return true;
    }
    if (strcmp(op, "hardsigmoid") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_hardsigmoid(ctx, s[0]);
        return true;
    }
    if (strcmp(op, "leaky_relu") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_leaky_relu(ctx, s[0], case_number(run, words, n, "slope"));
        return true;
    }
    if (strcmp(op, "xielu") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_xielu(ctx, s[0], case_number(run, words, n, "alpha_n"), case_number(run, words, n, "alpha_p"),
                         case_number(run, words, n, "beta"), case_number(run, words, n, "eps"));
        return true;
    }
    if (strcmp(op, "glu") == 0) {
        operands(run, words, n, 2, s);
        tl_glu_params params = {.struct_size = sizeof params};
        params.split = case_int(run, words, n, "split") != 0;
        params.swapped = case_int(run, words, n, "swapped") != 0;
        params.alpha = case_number(run, words, n, "alpha");
        params.limit = case_number(run, words, n, "limit");
        *made = tl_glu(ctx, s[0], s[1], case_choice(run, words, n, "op", "reglu geglu swiglu geglu_erf geglu_quick swiglu_oai"), &params);
        return true;
    }
    if (strcmp(op, "norm") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_norm(ctx, s[0], case_number(run, words, n, "eps"));
        return true;
    }
    if (strcmp(op, "rms_norm") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_rms_norm(ctx, s[0], case_number(run, words, n, "eps"));
        return true;
    }
    if (strcmp(op, "l2_norm") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_l2_norm(ctx, s[0], case_number(run, words, n, "eps"));
        return true;
    }
    if (strcmp(op, "group_norm") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_group_norm(ctx, s[0], case_int(run, words, n, "groups"), case_number(run, words, n, "eps"));
        return true;
    }
    if (strcmp(op, "soft_max") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_soft_max(ctx, s[0]);
        return true;
    }
    if (strcmp(op, "soft_max_ext") == 0) {
        operands(run, words, n, 3, s);
        tl_soft_max_ext_params params = {.struct_size = sizeof params};
        params.scale = case_number(run, words, n, "scale");
        params.max_bias = case_number(run, words, n, "max_bias");
        *made = tl_soft_max_ext(ctx, s[0], s[1], s[2], &params);
        return true;
    }
    if (strcmp(op, "log_soft_max") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_log_soft_max(ctx, s[0]);
        return true;
    }
    if (strcmp(op, "rope") == 0) {
        operands(run, words, n, 3, s);
        int64_t sections[4];
        case_ints(run, words, n, "sections", 4, sections);
        tl_rope_params params = {.struct_size = sizeof params};
        params.mode = case_choice(run, words, n, "mode", "normal neox mrope imrope vision");
        params.n_dims = case_int(run, words, n, "n_dims");
        params.offset = case_int(run, words, n, "offset");
        memcpy(params.sections, sections, sizeof sections);
        params.n_ctx_orig = case_int(run, words, n, "n_ctx_orig");
        params.freq_base = case_number(run, words, n, "freq_base");
        params.freq_scale = case_number(run, words, n, "freq_scale");
        params.ext_factor = case_number(run, words, n, "ext_factor");
        params.attn_factor = case_number(run, words, n, "attn_factor");
        params.beta_fast = case_number(run, words, n, "beta_fast");
        params.beta_slow = case_number(run, words, n, "beta_slow");
        params.inverse = case_int(run, words, n, "inverse") != 0;
        *made = tl_rope(ctx, s[0], s[1], s[2], &params);
        return true;
    }
    if (strcmp(op, "flash_attn_ext") == 0) {
        operands(run, words, n, 5, s);
        tl_flash_attn_ext_params params = {.struct_size = sizeof params};
        params.scale = case_number(run, words, n, "scale");
        params.max_bias = case_number(run, words, n, "max_bias");
        params.logit_softcap = case_number(run, words, n, "logit_softcap");
        *made = tl_flash_attn_ext(ctx, s[0], s[1], s[2], s[3], s[4], &params);
        return true;
    }
    if (strcmp(op, "paged_attention") == 0) {
        operands(run, words, n, 7, s);
        tl_paged_attention_params params = {.struct_size = sizeof params};
        params.page = case_int(run, words, n, "page");
        params.window = case_int(run, words, n, "window");
        params.scale = case_number(run, words, n, "scale");
        params.logit_softcap = case_number(run, words, n, "logit_softcap");
        *made = tl_paged_attention(ctx, s[0], s[1], s[2], s[3], s[4], s[5], s[6], &params);
        return true;
    }
    if (strcmp(op, "sum") == 0) {
        operands(run, words, n, 1, s);
        tl_sum_params params = {.struct_size = sizeof params};
        params.dims = case_dims(run, words, n, "dims");
        params.keep = case_int(run, words, n, "keep") != 0;
        *made = tl_sum(ctx, s[0], &params);
        return true;
    }
    if (strcmp(op, "sum_rows") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_sum_rows(ctx, s[0]);
        return true;
    }
    if (strcmp(op, "mean") == 0) {
        operands(run, words, n, 1, s);
        tl_mean_params params = {.struct_size = sizeof params};
        params.dims = case_dims(run, words, n, "dims");
        params.keep = case_int(run, words, n, "keep") != 0;
        *made = tl_mean(ctx, s[0], &params);
        return true;
    }
    if (strcmp(op, "cumsum") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_cumsum(ctx, s[0]);
        return true;
    }
    if (strcmp(op, "argmax") == 0) {
        operands(run, words, n, 1, s);
        tl_argmax_params params = {.struct_size = sizeof params};
        params.dims = case_dims(run, words, n, "dims");
        params.keep = case_int(run, words, n, "keep") != 0;
        *made = tl_argmax(ctx, s[0], &params);
        return true;
    }
    if (strcmp(op, "argsort") == 0) {
        operands(run, words, n, 1, s);
        tl_argsort_params params = {.struct_size = sizeof params};
        params.order = case_choice(run, words, n, "order", "asc desc");
        *made = tl_argsort(ctx, s[0], &params);
        return true;
    }
    if (strcmp(op, "top_k") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_top_k(ctx, s[0], case_int(run, words, n, "k"));
        return true;
    }
    if (strcmp(op, "count_equal") == 0) {
        operands(run, words, n, 2, s);
        *made = tl_count_equal(ctx, s[0], s[1]);
        return true;
    }
    if (strcmp(op, "cross_entropy_loss") == 0) {
        operands(run, words, n, 2, s);
        *made = tl_cross_entropy_loss(ctx, s[0], s[1]);
        return true;
    }
    if (strcmp(op, "max") == 0) {
        operands(run, words, n, 1, s);
        tl_max_params params = {.struct_size = sizeof params};
        params.dims = case_dims(run, words, n, "dims");
        params.keep = case_int(run, words, n, "keep") != 0;
        *made = tl_max(ctx, s[0], &params);
        return true;
    }
    if (strcmp(op, "min") == 0) {
        operands(run, words, n, 1, s);
        tl_min_params params = {.struct_size = sizeof params};
        params.dims = case_dims(run, words, n, "dims");
        params.keep = case_int(run, words, n, "keep") != 0;
        *made = tl_min(ctx, s[0], &params);
        return true;
    }
    if (strcmp(op, "argmin") == 0) {
        operands(run, words, n, 1, s);
        tl_argmin_params params = {.struct_size = sizeof params};
        params.dims = case_dims(run, words, n, "dims");
        params.keep = case_int(run, words, n, "keep") != 0;
        *made = tl_argmin(ctx, s[0], &params);
        return true;
    }
    if (strcmp(op, "var") == 0) {
        operands(run, words, n, 1, s);
        tl_var_params params = {.struct_size = sizeof params};
        params.dims = case_dims(run, words, n, "dims");
        params.keep = case_int(run, words, n, "keep") != 0;
        *made = tl_var(ctx, s[0], case_int(run, words, n, "correction"), &params);
        return true;
    }
    if (strcmp(op, "std") == 0) {
        operands(run, words, n, 1, s);
        tl_std_params params = {.struct_size = sizeof params};
        params.dims = case_dims(run, words, n, "dims");
        params.keep = case_int(run, words, n, "keep") != 0;
        *made = tl_std(ctx, s[0], case_int(run, words, n, "correction"), &params);
        return true;
    }
    if (strcmp(op, "prod") == 0) {
        operands(run, words, n, 1, s);
        tl_prod_params params = {.struct_size = sizeof params};
        params.dims = case_dims(run, words, n, "dims");
        params.keep = case_int(run, words, n, "keep") != 0;
        *made = tl_prod(ctx, s[0], &params);
        return true;
    }
    if (strcmp(op, "any") == 0) {
        operands(run, words, n, 1, s);
        tl_any_params params = {.struct_size = sizeof params};
        params.dims = case_dims(run, words, n, "dims");
        params.keep = case_int(run, words, n, "keep") != 0;
        *made = tl_any(ctx, s[0], &params);
        return true;
    }
    if (strcmp(op, "all") == 0) {
        operands(run, words, n, 1, s);
        tl_all_params params = {.struct_size = sizeof params};
        params.dims = case_dims(run, words, n, "dims");
        params.keep = case_int(run, words, n, "keep") != 0;
        *made = tl_all(ctx, s[0], &params);
        return true;
    }
    if (strcmp(op, "log_sum_exp") == 0) {
        operands(run, words, n, 1, s);
        tl_log_sum_exp_params params = {.struct_size = sizeof params};
        params.dims = case_dims(run, words, n, "dims");
        params.keep = case_int(run, words, n, "keep") != 0;
        *made = tl_log_sum_exp(ctx, s[0], &params);
        return true;
    }
    if (strcmp(op, "repeat") == 0) {
        operands(run, words, n, 1, s);
        int64_t ne[4];
        case_ints(run, words, n, "ne", 4, ne);
        *made = tl_repeat(ctx, s[0], 4, ne);
        return true;
    }
    if (strcmp(op, "concat") == 0) {
        operands(run, words, n, 2, s);
        *made = tl_concat(ctx, s[0], s[1], case_int(run, words, n, "dim"));
        return true;
    }
    if (strcmp(op, "pad") == 0) {
        operands(run, words, n, 1, s);
        int64_t p[4];
        case_ints(run, words, n, "p", 4, p);
        int64_t lp[4];
        case_ints(run, words, n, "lp", 4, lp);
        tl_pad_params params = {.struct_size = sizeof params};
        memcpy(params.lp, lp, sizeof lp);
        params.circular = case_int(run, words, n, "circular") != 0;
        *made = tl_pad(ctx, s[0], p, &params);
        return true;
    }
    if (strcmp(op, "pad_reflect_1d") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_pad_reflect_1d(ctx, s[0], case_int(run, words, n, "p0"), case_int(run, words, n, "p1"));
        return true;
    }
    if (strcmp(op, "roll") == 0) {
        operands(run, words, n, 1, s);
        int64_t shift[4];
        case_ints(run, words, n, "shift", 4, shift);
        *made = tl_roll(ctx, s[0], shift);
        return true;
    }
    if (strcmp(op, "diag") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_diag(ctx, s[0]);
        return true;
    }
    if (strcmp(op, "tri") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_tri(ctx, s[0], case_choice(run, words, n, "type", "lower lower_diag upper upper_diag"));
        return true;
    }
    if (strcmp(op, "diag_mask_inf") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_diag_mask_inf(ctx, s[0], case_int(run, words, n, "n_past"));
        return true;
    }
    if (strcmp(op, "diag_mask_zero") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_diag_mask_zero(ctx, s[0], case_int(run, words, n, "n_past"));
        return true;
    }
    if (strcmp(op, "acc") == 0) {
        operands(run, words, n, 2, s);
        tl_acc_params params = {.struct_size = sizeof params};
        params.nb1 = case_int(run, words, n, "nb1");
        params.nb2 = case_int(run, words, n, "nb2");
        params.nb3 = case_int(run, words, n, "nb3");
        params.offset = case_int(run, words, n, "offset");
        *made = tl_acc(ctx, s[0], s[1], &params);
        return true;
    }
    if (strcmp(op, "set") == 0) {
        operands(run, words, n, 2, s);
        tl_set_params params = {.struct_size = sizeof params};
        params.nb1 = case_int(run, words, n, "nb1");
        params.nb2 = case_int(run, words, n, "nb2");
        params.nb3 = case_int(run, words, n, "nb3");
        params.offset = case_int(run, words, n, "offset");
        *made = tl_set(ctx, s[0], s[1], &params);
        return true;
    }
    if (strcmp(op, "gather") == 0) {
        operands(run, words, n, 2, s);
        *made = tl_gather(ctx, s[0], s[1], case_int(run, words, n, "dim"));
        return true;
    }
    if (strcmp(op, "add_id") == 0) {
        operands(run, words, n, 3, s);
        *made = tl_add_id(ctx, s[0], s[1], s[2]);
        return true;
    }
    if (strcmp(op, "arange") == 0) {
        operands(run, words, n, 0, s);
        *made = tl_arange(ctx, case_number(run, words, n, "start"), case_number(run, words, n, "stop"), case_number(run, words, n, "step"));
        return true;
    }
    if (strcmp(op, "scatter_add") == 0) {
        operands(run, words, n, 3, s);
        *made = tl_scatter_add(ctx, s[0], s[1], s[2], case_int(run, words, n, "dim"));
        return true;
    }
    if (strcmp(op, "flip") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_flip(ctx, s[0], case_int(run, words, n, "dim"));
        return true;
    }
    if (strcmp(op, "one_hot") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_one_hot(ctx, s[0], case_int(run, words, n, "classes"));
        return true;
    }
    if (strcmp(op, "eye") == 0) {
        operands(run, words, n, 0, s);
        *made = tl_eye(ctx, case_int(run, words, n, "n"));
        return true;
    }
    if (strcmp(op, "linspace") == 0) {
        operands(run, words, n, 0, s);
        *made = tl_linspace(ctx, case_number(run, words, n, "start"), case_number(run, words, n, "stop"), case_int(run, words, n, "n"));
        return true;
    }
    if (strcmp(op, "timestep_embedding") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_timestep_embedding(ctx, s[0], case_int(run, words, n, "dim"), case_int(run, words, n, "max_period"));
        return true;
    }
    if (strcmp(op, "upscale") == 0) {
        operands(run, words, n, 1, s);
        int64_t ne[4];
        case_ints(run, words, n, "ne", 4, ne);
        tl_upscale_params params = {.struct_size = sizeof params};
        params.factor = case_int(run, words, n, "factor");
        params.mode = case_choice(run, words, n, "mode", "nearest bilinear bicubic");
        memcpy(params.ne, ne, sizeof ne);
        params.align_corners = case_int(run, words, n, "align_corners") != 0;
        params.antialias = case_int(run, words, n, "antialias") != 0;
        *made = tl_upscale(ctx, s[0], &params);
        return true;
    }
    if (strcmp(op, "pool_1d") == 0) {
        operands(run, words, n, 1, s);
        tl_pool_1d_params params = {.struct_size = sizeof params};
        params.s = case_int(run, words, n, "s");
        params.p = case_int(run, words, n, "p");
        params.count_padding = case_int(run, words, n, "count_padding") != 0;
        *made = tl_pool_1d(ctx, s[0], case_choice(run, words, n, "op", "max avg"), case_int(run, words, n, "k"), &params);
        return true;
    }
    if (strcmp(op, "pool_2d") == 0) {
        operands(run, words, n, 1, s);
        tl_pool_2d_params params = {.struct_size = sizeof params};
        params.s0 = case_int(run, words, n, "s0");
        params.s1 = case_int(run, words, n, "s1");
        params.p0 = case_int(run, words, n, "p0");
        params.p1 = case_int(run, words, n, "p1");
        params.skip_padding = case_int(run, words, n, "skip_padding") != 0;
        *made = tl_pool_2d(ctx, s[0], case_choice(run, words, n, "op", "max avg"), case_int(run, words, n, "k0"),
                           case_int(run, words, n, "k1"), &params);
        return true;
    }
    if (strcmp(op, "im2col") == 0) {
        operands(run, words, n, 2, s);
        tl_im2col_params params = {.struct_size = sizeof params};
        params.s0 = case_int(run, words, n, "s0");
        params.s1 = case_int(run, words, n, "s1");
        params.p0 = case_int(run, words, n, "p0");
        params.p1 = case_int(run, words, n, "p1");
        params.d0 = case_int(run, words, n, "d0");
        params.d1 = case_int(run, words, n, "d1");
        params.is_2d = case_int(run, words, n, "is_2D") != 0;
        params.to = case_choice(run, words, n, "to", "f32 f16 bf16");
        *made = tl_im2col(ctx, s[0], s[1], &params);
        return true;
    }
    if (strcmp(op, "conv_1d") == 0) {
        operands(run, words, n, 2, s);
        tl_conv_1d_params params = {.struct_size = sizeof params};
        params.s = case_int(run, words, n, "s");
        params.p = case_int(run, words, n, "p");
        params.d = case_int(run, words, n, "d");
        *made = tl_conv_1d(ctx, s[0], s[1], &params);
        return true;
    }
    if (strcmp(op, "conv_2d") == 0) {
        operands(run, words, n, 2, s);
        tl_conv_2d_params params = {.struct_size = sizeof params};
        params.s0 = case_int(run, words, n, "s0");
        params.s1 = case_int(run, words, n, "s1");
        params.p0 = case_int(run, words, n, "p0");
        params.p1 = case_int(run, words, n, "p1");
        params.d0 = case_int(run, words, n, "d0");
        params.d1 = case_int(run, words, n, "d1");
        *made = tl_conv_2d(ctx, s[0], s[1], &params);
        return true;
    }
    if (strcmp(op, "conv_1d_dw") == 0) {
        operands(run, words, n, 2, s);
        tl_conv_1d_dw_params params = {.struct_size = sizeof params};
        params.s = case_int(run, words, n, "s");
        params.p = case_int(run, words, n, "p");
        params.d = case_int(run, words, n, "d");
        *made = tl_conv_1d_dw(ctx, s[0], s[1], &params);
        return true;
    }
    if (strcmp(op, "conv_2d_dw") == 0) {
        operands(run, words, n, 2, s);
        tl_conv_2d_dw_params params = {.struct_size = sizeof params};
        params.s0 = case_int(run, words, n, "s0");
        params.s1 = case_int(run, words, n, "s1");
        params.p0 = case_int(run, words, n, "p0");
        params.p1 = case_int(run, words, n, "p1");
        params.d0 = case_int(run, words, n, "d0");
        params.d1 = case_int(run, words, n, "d1");
        *made = tl_conv_2d_dw(ctx, s[0], s[1], &params);
        return true;
    }
    if (strcmp(op, "conv_transpose_1d") == 0) {
        operands(run, words, n, 2, s);
        tl_conv_transpose_1d_params params = {.struct_size = sizeof params};
        params.s = case_int(run, words, n, "s");
        params.p = case_int(run, words, n, "p");
        params.d = case_int(run, words, n, "d");
        *made = tl_conv_transpose_1d(ctx, s[0], s[1], &params);
        return true;
    }
    if (strcmp(op, "conv_transpose_2d") == 0) {
        operands(run, words, n, 2, s);
        tl_conv_transpose_2d_params params = {.struct_size = sizeof params};
        params.stride = case_int(run, words, n, "stride");
        params.p0 = case_int(run, words, n, "p0");
        params.p1 = case_int(run, words, n, "p1");
        params.d0 = case_int(run, words, n, "d0");
        params.d1 = case_int(run, words, n, "d1");
        *made = tl_conv_transpose_2d(ctx, s[0], s[1], &params);
        return true;
    }
    if (strcmp(op, "im2col_3d") == 0) {
        operands(run, words, n, 2, s);
        tl_im2col_3d_params params = {.struct_size = sizeof params};
        params.s0 = case_int(run, words, n, "s0");
        params.s1 = case_int(run, words, n, "s1");
        params.s2 = case_int(run, words, n, "s2");
        params.p0 = case_int(run, words, n, "p0");
        params.p1 = case_int(run, words, n, "p1");
        params.p2 = case_int(run, words, n, "p2");
        params.d0 = case_int(run, words, n, "d0");
        params.d1 = case_int(run, words, n, "d1");
        params.d2 = case_int(run, words, n, "d2");
        params.to = case_choice(run, words, n, "to", "f32 f16 bf16");
        *made = tl_im2col_3d(ctx, s[0], s[1], case_int(run, words, n, "channels"), &params);
        return true;
    }
    if (strcmp(op, "conv_3d") == 0) {
        operands(run, words, n, 2, s);
        tl_conv_3d_params params = {.struct_size = sizeof params};
        params.s0 = case_int(run, words, n, "s0");
        params.s1 = case_int(run, words, n, "s1");
        params.s2 = case_int(run, words, n, "s2");
        params.p0 = case_int(run, words, n, "p0");
        params.p1 = case_int(run, words, n, "p1");
        params.p2 = case_int(run, words, n, "p2");
        params.d0 = case_int(run, words, n, "d0");
        params.d1 = case_int(run, words, n, "d1");
        params.d2 = case_int(run, words, n, "d2");
        *made = tl_conv_3d(ctx, s[0], s[1], case_int(run, words, n, "channels"), &params);
        return true;
    }
    if (strcmp(op, "col2im_1d") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_col2im_1d(ctx, s[0], case_int(run, words, n, "stride"), case_int(run, words, n, "padding"),
                             case_int(run, words, n, "channels"));
        return true;
    }
    if (strcmp(op, "ssm_conv") == 0) {
        operands(run, words, n, 4, s);
        tl_ssm_conv_params params = {.struct_size = sizeof params};
        params.silu = case_int(run, words, n, "silu") != 0;
        *made = tl_ssm_conv(ctx, s[0], s[1], s[2], s[3], &params);
        return true;
    }
    if (strcmp(op, "random_uniform") == 0) {
        operands(run, words, n, 1, s);
        int64_t ne[4];
        case_ints(run, words, n, "ne", 4, ne);
        *made = tl_random_uniform(ctx, s[0], 4, ne, case_number(run, words, n, "low"), case_number(run, words, n, "high"),
                                  case_int(run, words, n, "stream"));
        return true;
    }
    if (strcmp(op, "random_normal") == 0) {
        operands(run, words, n, 1, s);
        int64_t ne[4];
        case_ints(run, words, n, "ne", 4, ne);
        *made = tl_random_normal(ctx, s[0], 4, ne, case_number(run, words, n, "mean"), case_number(run, words, n, "deviation"),
                                 case_int(run, words, n, "stream"));
        return true;
    }
    if (strcmp(op, "dropout") == 0) {
        operands(run, words, n, 2, s);
        *made = tl_dropout(ctx, s[0], s[1], case_number(run, words, n, "p"), case_int(run, words, n, "stream"));
        return true;
    }
    if (strcmp(op, "opt_step_sgd") == 0) {
        operands(run, words, n, 3, s);
        *made = tl_opt_step_sgd(ctx, s[0], s[1], s[2]);
        return true;
    }
    if (strcmp(op, "opt_step_momentum") == 0) {
        operands(run, words, n, 4, s);
        tl_opt_step_momentum_params params = {.struct_size = sizeof params};
        params.nesterov = case_int(run, words, n, "nesterov") != 0;
        *made = tl_opt_step_momentum(ctx, s[0], s[1], s[2], s[3], &params);
        return true;
    }
    if (strcmp(op, "opt_step_adamw") == 0) {
        operands(run, words, n, 5, s);
        *made = tl_opt_step_adamw(ctx, s[0], s[1], s[2], s[3], s[4]);
        return true;
    }
    if (strcmp(op, "opt_step_lion") == 0) {
        operands(run, words, n, 4, s);
        *made = tl_opt_step_lion(ctx, s[0], s[1], s[2], s[3]);
        return true;
    }
    if (strcmp(op, "mul_mat_sparse") == 0) {
        operands(run, words, n, 4, s);
        tl_mul_mat_sparse_params params = {.struct_size = sizeof params};
        params.by = case_choice(run, words, n, "by", "score magnitude positive");
        params.threshold = case_number(run, words, n, "threshold");
        params.n = case_int(run, words, n, "n");
        params.exact = case_int(run, words, n, "exact") != 0;
        *made = tl_mul_mat_sparse(ctx, s[0], s[1], s[2], s[3], &params);
        return true;
    }
    if (strcmp(op, "axpy") == 0) {
        operands(run, words, n, 4, s);
        tl_axpy_params params = {.struct_size = sizeof params};
        params.by = case_choice(run, words, n, "by", "score magnitude positive");
        params.threshold = case_number(run, words, n, "threshold");
        *made = tl_axpy(ctx, s[0], s[1], s[2], s[3], &params);
        return true;
    }
    if (strcmp(op, "sparse_ffn") == 0) {
        operands(run, words, n, 6, s);
        tl_sparse_ffn_params params = {.struct_size = sizeof params};
        params.activation = case_choice(run, words, n, "activation", "relu silu gelu");
        params.by = case_choice(run, words, n, "by", "score magnitude positive");
        params.threshold = case_number(run, words, n, "threshold");
        params.first = case_choice(run, words, n, "first", "gate up");
        *made = tl_sparse_ffn(ctx, s[0], s[1], s[2], s[3], s[4], s[5], &params);
        return true;
    }
    if (strcmp(op, "bitwise_and") == 0) {
        operands(run, words, n, 2, s);
        *made = tl_bitwise_and(ctx, s[0], s[1]);
        return true;
    }
    if (strcmp(op, "bitwise_or") == 0) {
        operands(run, words, n, 2, s);
        *made = tl_bitwise_or(ctx, s[0], s[1]);
        return true;
    }
    if (strcmp(op, "bitwise_xor") == 0) {
        operands(run, words, n, 2, s);
        *made = tl_bitwise_xor(ctx, s[0], s[1]);
        return true;
    }
    if (strcmp(op, "bitwise_not") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_bitwise_not(ctx, s[0]);
        return true;
    }
    if (strcmp(op, "shift_left") == 0) {
        operands(run, words, n, 2, s);
        *made = tl_shift_left(ctx, s[0], s[1]);
        return true;
    }
    if (strcmp(op, "shift_right") == 0) {
        operands(run, words, n, 2, s);
        *made = tl_shift_right(ctx, s[0], s[1]);
        return true;
    }
    if (strcmp(op, "logical_and") == 0) {
        operands(run, words, n, 2, s);
        *made = tl_logical_and(ctx, s[0], s[1]);
        return true;
    }
    if (strcmp(op, "logical_or") == 0) {
        operands(run, words, n, 2, s);
        *made = tl_logical_or(ctx, s[0], s[1]);
        return true;
    }
    if (strcmp(op, "logical_xor") == 0) {
        operands(run, words, n, 2, s);
        *made = tl_logical_xor(ctx, s[0], s[1]);
        return true;
    }
    if (strcmp(op, "logical_not") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_logical_not(ctx, s[0]);
        return true;
    }
    if (strcmp(op, "win_part") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_win_part(ctx, s[0], case_int(run, words, n, "w"));
        return true;
    }
    if (strcmp(op, "win_unpart") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_win_unpart(ctx, s[0], case_int(run, words, n, "w0"), case_int(run, words, n, "h0"), case_int(run, words, n, "w"));
        return true;
    }
    if (strcmp(op, "get_rel_pos") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_get_rel_pos(ctx, s[0], case_int(run, words, n, "qh"), case_int(run, words, n, "kh"));
        return true;
    }
    if (strcmp(op, "add_rel_pos") == 0) {
        operands(run, words, n, 3, s);
        *made = tl_add_rel_pos(ctx, s[0], s[1], s[2]);
        return true;
    }
    if (strcmp(op, "gated_delta_net") == 0) {
        operands(run, words, n, 6, s);
        tl_gated_delta_net_params params = {.struct_size = sizeof params};
        params.n_states = case_int(run, words, n, "n_states");
        *made = tl_gated_delta_net(ctx, s[0], s[1], s[2], s[3], s[4], s[5], &params);
        return true;
    }
    if (strcmp(op, "ssm_scan") == 0) {
        operands(run, words, n, 7, s);
        tl_ssm_scan_params params = {.struct_size = sizeof params};
        params.n_states = case_int(run, words, n, "n_states");
        *made = tl_ssm_scan(ctx, s[0], s[1], s[2], s[3], s[4], s[5], s[6], &params);
        return true;
    }
    if (strcmp(op, "rwkv_wkv6") == 0) {
        operands(run, words, n, 6, s);
        *made = tl_rwkv_wkv6(ctx, s[0], s[1], s[2], s[3], s[4], s[5]);
        return true;
    }
    if (strcmp(op, "rwkv_wkv7") == 0) {
        operands(run, words, n, 7, s);
        *made = tl_rwkv_wkv7(ctx, s[0], s[1], s[2], s[3], s[4], s[5], s[6]);
        return true;
    }
    if (strcmp(op, "gated_linear_attn") == 0) {
        operands(run, words, n, 5, s);
        *made = tl_gated_linear_attn(ctx, s[0], s[1], s[2], s[3], s[4], case_number(run, words, n, "scale"));
        return true;
    }
    if (strcmp(op, "all_sum") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_all_sum(ctx, s[0], case_group());
        return true;
    }
    if (strcmp(op, "all_max") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_all_max(ctx, s[0], case_group());
        return true;
    }
    if (strcmp(op, "all_gather") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_all_gather(ctx, s[0], case_int(run, words, n, "dim"), case_group());
        return true;
    }
    if (strcmp(op, "sum_scatter") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_sum_scatter(ctx, s[0], case_int(run, words, n, "dim"), case_group());
        return true;
    }
    if (strcmp(op, "broadcast") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_broadcast(ctx, s[0], case_int(run, words, n, "root"), case_group());
        return true;
    }
    if (strcmp(op, "all_to_all") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_all_to_all(ctx, s[0], case_int(run, words, n, "dim"), case_group());
        return true;
    }
    if (strcmp(op, "send") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_send(ctx, s[0], case_int(run, words, n, "to"), case_group());
        return true;
    }
    if (strcmp(op, "receive") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_receive(ctx, s[0], case_int(run, words, n, "from"), case_group());
        return true;
    }
    if (strcmp(op, "copy_to_group") == 0) {
        operands(run, words, n, 1, s);
        *made = tl_copy_to_group(ctx, s[0], case_group());
        return true;
    }
    return false;
}
