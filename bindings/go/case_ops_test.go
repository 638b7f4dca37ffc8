package tensorlib

// Written by `cargo xtask ops` from cpp/ops/*.toml: change it there.

// caseOp makes an operation by its method; known is false where it is none of
// these.
func (s *step) caseOp(c *Context, src []*Tensor) (made *Tensor, known bool, err error) {
	operands := map[string]int{
		"add":       2,
		"transpose": 1,
		"cont":      1,
		"cpy":       2,
		"dup":       1,
		"get_rows":  2,
		"set_rows":  3,
	}
	if n, known := operands[s.op]; !known || len(src) != n {
		return nil, false, nil
	}
	switch s.op {
	case "add":
		made, err = c.Add(src[0], src[1])
	case "transpose":
		made, err = c.Transpose(src[0])
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
	}
	return made, true, err
}
