package tensorlib

// Written by `cargo xtask ops` from cpp/ops/*.toml: change it there.

// caseOp makes an operation by its method; known is false where it is none of
// these.
func (s *step) caseOp(c *Context, src []*Tensor) (made *Tensor, known bool, err error) {
	operands := map[string]int{
		"add":                2,
		"sub":                2,
		"mul":                2,
		"div":                2,
		"maximum":            2,
		"minimum":            2,
		"pow":                2,
		"eq":                 2,
		"ne":                 2,
		"lt":                 2,
		"le":                 2,
		"gt":                 2,
		"ge":                 2,
		"add1":               2,
		"where":              3,
		"scale":              1,
		"clamp":              1,
		"fill":               1,
		"masked_fill":        2,
		"out_prod":           2,
		"out_prod_id":        3,
		"solve_tri":          2,
		"transpose":          1,
		"stop_gradient":      1,
		"expand":             1,
		"unsqueeze":          1,
		"squeeze":            1,
		"flatten":            1,
		"select":             1,
		"result":             1,
		"cont":               1,
		"cpy":                2,
		"dup":                1,
		"get_rows":           2,
		"set_rows":           3,
		"index_select":       2,
		"abs":                1,
		"neg":                1,
		"sqr":                1,
		"sqrt":               1,
		"log":                1,
		"exp":                1,
		"expm1":              1,
		"sin":                1,
		"cos":                1,
		"sgn":                1,
		"step":               1,
		"floor":              1,
		"ceil":               1,
		"round":              1,
		"trunc":              1,
		"erf":                1,
		"relu":               1,
		"sigmoid":            1,
		"tanh":               1,
		"elu":                1,
		"softplus":           1,
		"silu":               1,
		"gelu":               1,
		"gelu_erf":           1,
		"gelu_quick":         1,
		"hardswish":          1,
		"hardsigmoid":        1,
		"leaky_relu":         1,
		"xielu":              1,
		"glu":                2,
		"norm":               1,
		"rms_norm":           1,
		"l2_norm":            1,
		"group_norm":         1,
		"soft_max":           1,
		"soft_max_ext":       3,
		"log_soft_max":       1,
		"rope":               3,
		"flash_attn_ext":     5,
		"paged_attention":    7,
		"sum":                1,
		"sum_rows":           1,
		"mean":               1,
		"cumsum":             1,
		"argmax":             1,
		"argsort":            1,
		"top_k":              1,
		"count_equal":        2,
		"cross_entropy_loss": 2,
		"max":                1,
		"min":                1,
		"argmin":             1,
		"var":                1,
		"std":                1,
		"prod":               1,
		"any":                1,
		"all":                1,
		"log_sum_exp":        1,
		"repeat":             1,
		"concat":             2,
		"pad":                1,
		"pad_reflect_1d":     1,
		"roll":               1,
		"diag":               1,
		"tri":                1,
		"diag_mask_inf":      1,
		"diag_mask_zero":     1,
		"acc":                2,
		"set":                2,
		"gather":             2,
		"add_id":             3,
		"arange":             0,
		"scatter_add":        3,
		"flip":               1,
		"one_hot":            1,
		"eye":                0,
		"linspace":           0,
		"timestep_embedding": 1,
		"upscale":            1,
		"pool_1d":            1,
		"pool_2d":            1,
		"im2col":             2,
		"conv_1d":            2,
		"conv_2d":            2,
		"conv_1d_dw":         2,
		"conv_2d_dw":         2,
		"conv_transpose_1d":  2,
		"conv_transpose_2d":  2,
		"im2col_3d":          2,
		"conv_3d":            2,
		"col2im_1d":          1,
		"ssm_conv":           4,
		"random_uniform":     1,
		"random_normal":      1,
		"dropout":            2,
		"opt_step_sgd":       3,
		"opt_step_momentum":  4,
		"opt_step_adamw":     5,
		"opt_step_lion":      4,
		"mul_mat_sparse":     4,
		"axpy":               4,
		"sparse_ffn":         6,
		"bitwise_and":        2,
		"bitwise_or":         2,
		"bitwise_xor":        2,
		"bitwise_not":        1,
		"shift_left":         2,
		"shift_right":        2,
		"logical_and":        2,
		"logical_or":         2,
		"logical_xor":        2,
		"logical_not":        1,
		"win_part":           1,
		"win_unpart":         1,
		"get_rel_pos":        1,
		"add_rel_pos":        3,
		"gated_delta_net":    6,
		"ssm_scan":           7,
		"rwkv_wkv6":          6,
		"rwkv_wkv7":          7,
		"gated_linear_attn":  5,
		"all_sum":            1,
		"all_max":            1,
		"all_gather":         1,
		"sum_scatter":        1,
		"broadcast":          1,
		"all_to_all":         1,
		"send":               1,
		"receive":            1,
		"copy_to_group":      1,
	}
	if n, known := operands[s.op]; !known || len(src) != n {
		return nil, false, nil
	}
	switch s.op {
	case "add":
		made, err = c.Add(src[0], src[1])
	case "sub":
		made, err = c.Sub(src[0], src[1])
	case "mul":
		made, err = c.Mul(src[0], src[1])
	case "div":
		made, err = c.Div(src[0], src[1])
	case "maximum":
		made, err = c.Maximum(src[0], src[1])
	case "minimum":
		made, err = c.Minimum(src[0], src[1])
	case "pow":
		made, err = c.Pow(src[0], src[1])
	case "eq":
		made, err = c.Eq(src[0], src[1])
	case "ne":
		made, err = c.Ne(src[0], src[1])
	case "lt":
		made, err = c.Lt(src[0], src[1])
	case "le":
		made, err = c.Le(src[0], src[1])
	case "gt":
		made, err = c.Gt(src[0], src[1])
	case "ge":
		made, err = c.Ge(src[0], src[1])
	case "add1":
		made, err = c.Add1(src[0], src[1])
	case "where":
		made, err = c.Where(src[0], src[1], src[2])
	case "scale":
		options := &ScaleOptions{
			Bias: s.number("bias"),
		}
		made, err = c.Scale(src[0], s.number("scale"), options)
	case "clamp":
		made, err = c.Clamp(src[0], s.number("min"), s.number("max"))
	case "fill":
		made, err = c.Fill(src[0], s.number("value"))
	case "masked_fill":
		made, err = c.MaskedFill(src[0], src[1], s.number("value"))
	case "out_prod":
		made, err = c.OutProd(src[0], src[1])
	case "out_prod_id":
		made, err = c.OutProdID(src[0], src[1], src[2], s.integer("experts"))
	case "solve_tri":
		made, err = c.SolveTri(src[0], src[1], s.integer("left") != 0, s.integer("lower") != 0, s.integer("unit") != 0)
	case "transpose":
		made, err = c.Transpose(src[0])
	case "stop_gradient":
		made, err = c.StopGradient(src[0])
	case "expand":
		made, err = c.Expand(src[0], s.ints("ne"))
	case "unsqueeze":
		made, err = c.Unsqueeze(src[0], s.integer("dim"))
	case "squeeze":
		made, err = c.Squeeze(src[0], s.integer("dim"))
	case "flatten":
		made, err = c.Flatten(src[0], s.integer("first"), s.integer("last"))
	case "select":
		made, err = c.Select(src[0], s.integer("dim"), s.integer("index"))
	case "result":
		made, err = c.Result(src[0], s.integer("number"))
	case "cont":
		made, err = c.Cont(src[0])
	case "cpy":
		made, err = c.Cpy(src[0], src[1])
	case "dup":
		made, err = c.Dup(src[0])
	case "get_rows":
		made, err = c.GetRows(src[0], src[1])
	case "set_rows":
		made, err = c.SetRows(src[0], src[1], src[2])
	case "index_select":
		made, err = c.IndexSelect(src[0], src[1], s.integer("dim"))
	case "abs":
		made, err = c.Abs(src[0])
	case "neg":
		made, err = c.Neg(src[0])
	case "sqr":
		made, err = c.Sqr(src[0])
	case "sqrt":
		made, err = c.Sqrt(src[0])
	case "log":
		made, err = c.Log(src[0])
	case "exp":
		made, err = c.Exp(src[0])
	case "expm1":
		made, err = c.Expm1(src[0])
	case "sin":
		made, err = c.Sin(src[0])
	case "cos":
		made, err = c.Cos(src[0])
	case "sgn":
		made, err = c.Sgn(src[0])
	case "step":
		made, err = c.Step(src[0])
	case "floor":
		made, err = c.Floor(src[0])
	case "ceil":
		made, err = c.Ceil(src[0])
	case "round":
		made, err = c.Round(src[0])
	case "trunc":
		made, err = c.Trunc(src[0])
	case "erf":
		made, err = c.Erf(src[0])
	case "relu":
		made, err = c.Relu(src[0])
	case "sigmoid":
		made, err = c.Sigmoid(src[0])
	case "tanh":
		made, err = c.Tanh(src[0])
	case "elu":
		made, err = c.Elu(src[0])
	case "softplus":
		made, err = c.Softplus(src[0])
	case "silu":
		made, err = c.Silu(src[0])
	case "gelu":
		made, err = c.Gelu(src[0])
	case "gelu_erf":
		made, err = c.GeluErf(src[0])
	case "gelu_quick":
		made, err = c.GeluQuick(src[0])
	case "hardswish":
		made, err = c.Hardswish(src[0])
	case "hardsigmoid":
		made, err = c.Hardsigmoid(src[0])
	case "leaky_relu":
		made, err = c.LeakyRelu(src[0], s.number("slope"))
	case "xielu":
		made, err = c.Xielu(src[0], s.number("alpha_n"), s.number("alpha_p"), s.number("beta"), s.number("eps"))
	case "glu":
		options := &GluOptions{
			Split:   s.integer("split") != 0,
			Swapped: s.integer("swapped") != 0,
			Alpha:   s.number("alpha"),
			Limit:   s.number("limit"),
		}
		made, err = c.Glu(src[0], src[1], GluOp(s.choice("op", "reglu", "geglu", "swiglu", "geglu_erf", "geglu_quick", "swiglu_oai")), options)
	case "norm":
		made, err = c.Norm(src[0], s.number("eps"))
	case "rms_norm":
		made, err = c.RmsNorm(src[0], s.number("eps"))
	case "l2_norm":
		made, err = c.L2Norm(src[0], s.number("eps"))
	case "group_norm":
		made, err = c.GroupNorm(src[0], s.integer("groups"), s.number("eps"))
	case "soft_max":
		made, err = c.SoftMax(src[0])
	case "soft_max_ext":
		options := &SoftMaxExtOptions{
			Scale:   s.number("scale"),
			MaxBias: s.number("max_bias"),
		}
		made, err = c.SoftMaxExt(src[0], src[1], src[2], options)
	case "log_soft_max":
		made, err = c.LogSoftMax(src[0])
	case "rope":
		options := &RopeOptions{
			Mode:       RopeMode(s.choice("mode", "normal", "neox", "mrope", "imrope", "vision")),
			NDims:      s.integer("n_dims"),
			Offset:     s.integer("offset"),
			Sections:   [4]int64(s.list("sections", 4)),
			NCtxOrig:   s.integer("n_ctx_orig"),
			FreqBase:   s.number("freq_base"),
			FreqScale:  s.number("freq_scale"),
			ExtFactor:  s.number("ext_factor"),
			AttnFactor: s.number("attn_factor"),
			BetaFast:   s.number("beta_fast"),
			BetaSlow:   s.number("beta_slow"),
			Inverse:    s.integer("inverse") != 0,
		}
		made, err = c.Rope(src[0], src[1], src[2], options)
	case "flash_attn_ext":
		options := &FlashAttnExtOptions{
			Scale:        s.number("scale"),
			MaxBias:      s.number("max_bias"),
			LogitSoftcap: s.number("logit_softcap"),
		}
		made, err = c.FlashAttnExt(src[0], src[1], src[2], src[3], src[4], options)
	case "paged_attention":
		options := &PagedAttentionOptions{
			Page:         s.integer("page"),
			Window:       s.integer("window"),
			Scale:        s.number("scale"),
			LogitSoftcap: s.number("logit_softcap"),
		}
		made, err = c.PagedAttention(src[0], src[1], src[2], src[3], src[4], src[5], src[6], options)
	case "sum":
		made, err = c.Sum(src[0], s.dims())
	case "sum_rows":
		made, err = c.SumRows(src[0])
	case "mean":
		made, err = c.Mean(src[0], s.dims())
	case "cumsum":
		made, err = c.Cumsum(src[0])
	case "argmax":
		made, err = c.Argmax(src[0], s.dims())
	case "argsort":
		options := &ArgsortOptions{
			Order: ArgsortOrder(s.choice("order", "asc", "desc")),
		}
		made, err = c.Argsort(src[0], options)
	case "top_k":
		made, err = c.TopK(src[0], s.integer("k"))
	case "count_equal":
		made, err = c.CountEqual(src[0], src[1])
	case "cross_entropy_loss":
		made, err = c.CrossEntropyLoss(src[0], src[1])
	case "max":
		made, err = c.Max(src[0], s.dims())
	case "min":
		made, err = c.Min(src[0], s.dims())
	case "argmin":
		made, err = c.Argmin(src[0], s.dims())
	case "var":
		made, err = c.Var(src[0], s.integer("correction"), s.dims())
	case "std":
		made, err = c.Std(src[0], s.integer("correction"), s.dims())
	case "prod":
		made, err = c.Prod(src[0], s.dims())
	case "any":
		made, err = c.Any(src[0], s.dims())
	case "all":
		made, err = c.All(src[0], s.dims())
	case "log_sum_exp":
		made, err = c.LogSumExp(src[0], s.dims())
	case "repeat":
		made, err = c.Repeat(src[0], s.ints("ne"))
	case "concat":
		made, err = c.Concat(src[0], src[1], s.integer("dim"))
	case "pad":
		options := &PadOptions{
			Lp:       [4]int64(s.list("lp", 4)),
			Circular: s.integer("circular") != 0,
		}
		made, err = c.Pad(src[0], [4]int64(s.list("p", 4)), options)
	case "pad_reflect_1d":
		made, err = c.PadReflect1d(src[0], s.integer("p0"), s.integer("p1"))
	case "roll":
		made, err = c.Roll(src[0], [4]int64(s.list("shift", 4)))
	case "diag":
		made, err = c.Diag(src[0])
	case "tri":
		made, err = c.Tri(src[0], TriType(s.choice("type", "lower", "lower_diag", "upper", "upper_diag")))
	case "diag_mask_inf":
		made, err = c.DiagMaskInf(src[0], s.integer("n_past"))
	case "diag_mask_zero":
		made, err = c.DiagMaskZero(src[0], s.integer("n_past"))
	case "acc":
		options := &AccOptions{
			Nb1:    s.integer("nb1"),
			Nb2:    s.integer("nb2"),
			Nb3:    s.integer("nb3"),
			Offset: s.integer("offset"),
		}
		made, err = c.Acc(src[0], src[1], options)
	case "set":
		options := &SetOptions{
			Nb1:    s.integer("nb1"),
			Nb2:    s.integer("nb2"),
			Nb3:    s.integer("nb3"),
			Offset: s.integer("offset"),
		}
		made, err = c.Set(src[0], src[1], options)
	case "gather":
		made, err = c.Gather(src[0], src[1], s.integer("dim"))
	case "add_id":
		made, err = c.AddId(src[0], src[1], src[2])
	case "arange":
		made, err = c.Arange(s.number("start"), s.number("stop"), s.number("step"))
	case "scatter_add":
		made, err = c.ScatterAdd(src[0], src[1], src[2], s.integer("dim"))
	case "flip":
		made, err = c.Flip(src[0], s.integer("dim"))
	case "one_hot":
		made, err = c.OneHot(src[0], s.integer("classes"))
	case "eye":
		made, err = c.Eye(s.integer("n"))
	case "linspace":
		made, err = c.Linspace(s.number("start"), s.number("stop"), s.integer("n"))
	case "timestep_embedding":
		made, err = c.TimestepEmbedding(src[0], s.integer("dim"), s.integer("max_period"))
	case "upscale":
		options := &UpscaleOptions{
			Factor:       s.integer("factor"),
			Mode:         UpscaleMode(s.choice("mode", "nearest", "bilinear", "bicubic")),
			Shape:        [4]int64(s.list("ne", 4)),
			AlignCorners: s.integer("align_corners") != 0,
			Antialias:    s.integer("antialias") != 0,
		}
		made, err = c.Upscale(src[0], options)
	case "pool_1d":
		options := &Pool1dOptions{
			S:            s.integer("s"),
			P:            s.integer("p"),
			CountPadding: s.integer("count_padding") != 0,
		}
		made, err = c.Pool1d(src[0], PoolOp(s.choice("op", "max", "avg")), s.integer("k"), options)
	case "pool_2d":
		options := &Pool2dOptions{
			S0:          s.integer("s0"),
			S1:          s.integer("s1"),
			P0:          s.integer("p0"),
			P1:          s.integer("p1"),
			SkipPadding: s.integer("skip_padding") != 0,
		}
		made, err = c.Pool2d(src[0], PoolOp(s.choice("op", "max", "avg")), s.integer("k0"), s.integer("k1"), options)
	case "im2col":
		options := &Im2colOptions{
			S0:   s.integer("s0"),
			S1:   s.integer("s1"),
			P0:   s.integer("p0"),
			P1:   s.integer("p1"),
			D0:   s.integer("d0"),
			D1:   s.integer("d1"),
			Is2D: s.integer("is_2D") != 0,
			To:   Im2colTo(s.choice("to", "f32", "f16", "bf16")),
		}
		made, err = c.Im2col(src[0], src[1], options)
	case "conv_1d":
		options := &Conv1dOptions{
			S: s.integer("s"),
			P: s.integer("p"),
			D: s.integer("d"),
		}
		made, err = c.Conv1d(src[0], src[1], options)
	case "conv_2d":
		options := &Conv2dOptions{
			S0: s.integer("s0"),
			S1: s.integer("s1"),
			P0: s.integer("p0"),
			P1: s.integer("p1"),
			D0: s.integer("d0"),
			D1: s.integer("d1"),
		}
		made, err = c.Conv2d(src[0], src[1], options)
	case "conv_1d_dw":
		options := &Conv1dDwOptions{
			S: s.integer("s"),
			P: s.integer("p"),
			D: s.integer("d"),
		}
		made, err = c.Conv1dDw(src[0], src[1], options)
	case "conv_2d_dw":
		options := &Conv2dDwOptions{
			S0: s.integer("s0"),
			S1: s.integer("s1"),
			P0: s.integer("p0"),
			P1: s.integer("p1"),
			D0: s.integer("d0"),
			D1: s.integer("d1"),
		}
		made, err = c.Conv2dDw(src[0], src[1], options)
	case "conv_transpose_1d":
		options := &ConvTranspose1dOptions{
			S: s.integer("s"),
			P: s.integer("p"),
			D: s.integer("d"),
		}
		made, err = c.ConvTranspose1d(src[0], src[1], options)
	case "conv_transpose_2d":
		options := &ConvTranspose2dOptions{
			Stride: s.integer("stride"),
			P0:     s.integer("p0"),
			P1:     s.integer("p1"),
			D0:     s.integer("d0"),
			D1:     s.integer("d1"),
		}
		made, err = c.ConvTranspose2d(src[0], src[1], options)
	case "im2col_3d":
		options := &Im2col3dOptions{
			S0: s.integer("s0"),
			S1: s.integer("s1"),
			S2: s.integer("s2"),
			P0: s.integer("p0"),
			P1: s.integer("p1"),
			P2: s.integer("p2"),
			D0: s.integer("d0"),
			D1: s.integer("d1"),
			D2: s.integer("d2"),
			To: Im2col3dTo(s.choice("to", "f32", "f16", "bf16")),
		}
		made, err = c.Im2col3d(src[0], src[1], s.integer("channels"), options)
	case "conv_3d":
		options := &Conv3dOptions{
			S0: s.integer("s0"),
			S1: s.integer("s1"),
			S2: s.integer("s2"),
			P0: s.integer("p0"),
			P1: s.integer("p1"),
			P2: s.integer("p2"),
			D0: s.integer("d0"),
			D1: s.integer("d1"),
			D2: s.integer("d2"),
		}
		made, err = c.Conv3d(src[0], src[1], s.integer("channels"), options)
	case "col2im_1d":
		made, err = c.Col2im1d(src[0], s.integer("stride"), s.integer("padding"), s.integer("channels"))
	case "ssm_conv":
		options := &SsmConvOptions{
			Silu: s.integer("silu") != 0,
		}
		made, err = c.SsmConv(src[0], src[1], src[2], src[3], options)
	case "random_uniform":
		made, err = c.RandomUniform(src[0], s.ints("ne"), s.number("low"), s.number("high"), s.integer("stream"))
	case "random_normal":
		made, err = c.RandomNormal(src[0], s.ints("ne"), s.number("mean"), s.number("deviation"), s.integer("stream"))
	case "dropout":
		made, err = c.Dropout(src[0], src[1], s.number("p"), s.integer("stream"))
	case "opt_step_sgd":
		made, err = c.OptStepSgd(src[0], src[1], src[2])
	case "opt_step_momentum":
		options := &OptStepMomentumOptions{
			Nesterov: s.integer("nesterov") != 0,
		}
		made, err = c.OptStepMomentum(src[0], src[1], src[2], src[3], options)
	case "opt_step_adamw":
		made, err = c.OptStepAdamw(src[0], src[1], src[2], src[3], src[4])
	case "opt_step_lion":
		made, err = c.OptStepLion(src[0], src[1], src[2], src[3])
	case "mul_mat_sparse":
		options := &MulMatSparseOptions{
			By:        SparseBy(s.choice("by", "score", "magnitude", "positive")),
			Threshold: s.number("threshold"),
			N:         s.integer("n"),
			Exact:     s.integer("exact") != 0,
		}
		made, err = c.MulMatSparse(src[0], src[1], src[2], src[3], options)
	case "axpy":
		options := &AxpyOptions{
			By:        SparseBy(s.choice("by", "score", "magnitude", "positive")),
			Threshold: s.number("threshold"),
		}
		made, err = c.Axpy(src[0], src[1], src[2], src[3], options)
	case "sparse_ffn":
		options := &SparseFfnOptions{
			Activation: SparseFfnActivation(s.choice("activation", "relu", "silu", "gelu")),
			By:         SparseBy(s.choice("by", "score", "magnitude", "positive")),
			Threshold:  s.number("threshold"),
			First:      SparseFfnFirst(s.choice("first", "gate", "up")),
		}
		made, err = c.SparseFfn(src[0], src[1], src[2], src[3], src[4], src[5], options)
	case "bitwise_and":
		made, err = c.BitwiseAnd(src[0], src[1])
	case "bitwise_or":
		made, err = c.BitwiseOr(src[0], src[1])
	case "bitwise_xor":
		made, err = c.BitwiseXor(src[0], src[1])
	case "bitwise_not":
		made, err = c.BitwiseNot(src[0])
	case "shift_left":
		made, err = c.ShiftLeft(src[0], src[1])
	case "shift_right":
		made, err = c.ShiftRight(src[0], src[1])
	case "logical_and":
		made, err = c.LogicalAnd(src[0], src[1])
	case "logical_or":
		made, err = c.LogicalOr(src[0], src[1])
	case "logical_xor":
		made, err = c.LogicalXor(src[0], src[1])
	case "logical_not":
		made, err = c.LogicalNot(src[0])
	case "win_part":
		made, err = c.WinPart(src[0], s.integer("w"))
	case "win_unpart":
		made, err = c.WinUnpart(src[0], s.integer("w0"), s.integer("h0"), s.integer("w"))
	case "get_rel_pos":
		made, err = c.GetRelPos(src[0], s.integer("qh"), s.integer("kh"))
	case "add_rel_pos":
		made, err = c.AddRelPos(src[0], src[1], src[2])
	case "gated_delta_net":
		options := &GatedDeltaNetOptions{
			NStates: s.integer("n_states"),
		}
		made, err = c.GatedDeltaNet(src[0], src[1], src[2], src[3], src[4], src[5], options)
	case "ssm_scan":
		options := &SsmScanOptions{
			NStates: s.integer("n_states"),
		}
		made, err = c.SsmScan(src[0], src[1], src[2], src[3], src[4], src[5], src[6], options)
	case "rwkv_wkv6":
		made, err = c.RwkvWkv6(src[0], src[1], src[2], src[3], src[4], src[5])
	case "rwkv_wkv7":
		made, err = c.RwkvWkv7(src[0], src[1], src[2], src[3], src[4], src[5], src[6])
	case "gated_linear_attn":
		made, err = c.GatedLinearAttn(src[0], src[1], src[2], src[3], src[4], s.number("scale"))
	case "all_sum":
		made, err = c.AllSum(src[0], s.group())
	case "all_max":
		made, err = c.AllMax(src[0], s.group())
	case "all_gather":
		made, err = c.AllGather(src[0], s.integer("dim"), s.group())
	case "sum_scatter":
		made, err = c.SumScatter(src[0], s.integer("dim"), s.group())
	case "broadcast":
		made, err = c.Broadcast(src[0], s.integer("root"), s.group())
	case "all_to_all":
		made, err = c.AllToAll(src[0], s.integer("dim"), s.group())
	case "send":
		made, err = c.Send(src[0], s.integer("to"), s.group())
	case "receive":
		made, err = c.Receive(src[0], s.integer("from"), s.group())
	case "copy_to_group":
		made, err = c.CopyToGroup(src[0], s.group())
	}
	return made, true, err
}
