package tensorlib

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

func envOr(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}

// TestCases runs the cases that all languages share, from TENSORLIB_CASES or the
// source tree, on TENSORLIB_DEVICE with TENSORLIB_TEST_THREADS threads. go test
// -v shows its line of counts.
func TestCases(t *testing.T) {
	folder := envOr("TENSORLIB_CASES", filepath.Join("..", "..", "tests", "cases"))
	files := must(filepath.Glob(filepath.Join(folder, "*.cases")))
	if len(files) == 0 {
		t.Fatalf("no *.cases in %s: set TENSORLIB_CASES", folder)
	}
	device := envOr("TENSORLIB_DEVICE", "cpu")
	threads := must(strconv.Atoi(envOr("TENSORLIB_TEST_THREADS", "2")))
	// A joined device such as "cuda:0+cpu" places leafs on each of its devices in
	// turn.
	var parts []*Backend
	for name := range strings.SplitSeq(device, "+") {
		part := must(NewBackend(name, WithThreads(threads)))
		defer part.Close()
		parts = append(parts, part)
	}
	backend := parts[0]
	if len(parts) > 1 {
		backend = must(JoinBackends(parts...))
		defer backend.Close()
	}
	if asked := os.Getenv("TENSORLIB_ISA"); asked != "" && !strings.EqualFold(asked, parts[0].ISA()) {
		t.Fatalf("TENSORLIB_ISA is %s, the backend runs %s", asked, parts[0].ISA())
	}

	var passed, failed, skipped int
	seen := map[string]bool{}
	for _, file := range files {
		cases, err := parseCases(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			err := c.run(backend, parts)
			if seen[c.name] {
				err = fmt.Errorf("the name is taken")
			}
			seen[c.name] = true
			var e *Error
			switch {
			case err == nil:
				passed++
			case device != "cpu" && errors.As(err, &e) && e.Code == StatusUnsupported:
				// A device may lack kernels; the CPU has all of them.
				skipped++
				fmt.Printf("SKIP %s: %s\n", c.name, e.Message)
			default:
				failed++
				t.Fail()
				fmt.Printf("FAIL %s: %v\n", c.name, err)
			}
		}
	}
	if passed+failed == 0 {
		t.Error("no case ran")
	}
	fmt.Printf("cases go %s %s: %d passed, %d failed, %d skipped\n",
		backend.Device(), parts[0].ISA(), passed, failed, skipped)
}

// run returns nil if the case passes. parts are the backends that were joined, or
// the backend itself: nodes are in the first one's context, leafs in each one's
// in turn.
func (c *testCase) run(backend *Backend, parts []*Backend) error {
	var contexts []*Context
	for _, part := range parts {
		ctx, err := NewContext(WithBackend(part))
		if err != nil {
			return err
		}
		defer ctx.Close()
		contexts = append(contexts, ctx)
	}
	ctx, leafs := contexts[0], 0
	tensors := map[string]*Tensor{}
	for i, s := range c.steps {
		of := ctx
		if s.leaf != nil || s.raw != nil {
			of = contexts[leafs%len(contexts)]
			leafs++
		}
		tensor, err := s.make(of, tensors)
		if c.code != "" && c.fails == "" && i == len(c.steps)-1 {
			return c.checkError(err)
		}
		if err != nil {
			return fmt.Errorf("making %s: %w", s.id, err)
		}
		tensors[s.id] = tensor
	}
	if c.fails != "" {
		return c.checkError(backend.Compute(tensors[c.fails]))
	}
	return c.checkOutputs(ctx, backend, tensors)
}

func (c *testCase) checkError(err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return fmt.Errorf("got no error, want %s", c.code)
	}
	if e.Code.String() != "TL_STATUS_"+c.code {
		return fmt.Errorf("got %v (%s), want %s", e.Code, e.Message, c.code)
	}
	for _, word := range c.words {
		if !strings.Contains(e.Message, word) {
			return fmt.Errorf("message %q lacks %q", e.Message, word)
		}
	}
	return nil
}

func (c *testCase) checkOutputs(ctx *Context, backend *Backend, tensors map[string]*Tensor) error {
	if len(c.outs) == 0 {
		return fmt.Errorf("the case expects nothing")
	}
	outputs := make([]*Tensor, len(c.outs))
	for i, out := range c.outs {
		if outputs[i] = tensors[out.id]; outputs[i] == nil {
			return fmt.Errorf("there is no %s", out.id)
		}
		if ne := outputs[i].ne[:]; outputs[i].Type().String() != out.typ || !slices.Equal(ne, out.ne) {
			return fmt.Errorf("%s is %v %v, want %s %v", out.id, outputs[i].Type(), ne, out.typ, out.ne)
		}
	}
	err := backend.Compute(outputs...)
	if c.cpu && !strings.Contains(backend.Device(), "cpu") {
		var e *Error
		if errors.As(err, &e) && e.Code == StatusUnsupported {
			return nil
		}
		return fmt.Errorf("got %v, though it is for the CPU alone", err)
	}
	if err != nil {
		return err
	}
	for i, out := range c.outs {
		if len(out.at) == 0 && outputs[i].Len() > 0 {
			return fmt.Errorf("no values are expected of %s", out.id)
		}
		got := make([]float32, outputs[i].Len())
		if err := outputs[i].ReadF32(got); err != nil {
			return err
		}
		if why := out.differs(got); why != "" {
			return errors.New(why)
		}
	}
	return nil
}

// make makes a leaf, or an operation by its own method.
func (s *step) make(c *Context, tensors map[string]*Tensor) (*Tensor, error) {
	if s.leaf != nil {
		return s.leaf.make(c)
	}
	if s.raw != nil {
		return s.raw.make(c)
	}
	src := make([]*Tensor, len(s.src))
	for i, id := range s.src {
		if id == "none" { // left out: nil
			continue
		}
		if src[i] = tensors[id]; src[i] == nil {
			return nil, fmt.Errorf("there is no %s", id)
		}
	}
	if made, known, err := s.caseOp(c, src); known {
		return made, err
	}
	switch {
	case s.op == "mul_mat" && len(src) == 2:
		return c.MulMat(src[0], src[1])
	case s.op == "mul_mat_exact" && len(src) == 2:
		return c.MulMatExact(src[0], src[1])
	case s.op == "mul_mat_id" && len(src) == 3:
		return c.MulMatID(src[0], src[1], src[2])
	case s.op == "gradient" && len(src) == 3:
		made, err := c.Gradients(src[:1], src[1:2], src[2:])
		if err != nil {
			return nil, err
		}
		return made[0], nil
	case s.op == "cat":
		return c.Cat(src, s.integer("dim"))
	case s.op == "stack":
		return c.Stack(src, s.integer("dim"))
	case s.op == "einsum":
		return c.Einsum(s.attrs["equation"], src...)
	case len(src) != 1:
		return nil, fmt.Errorf("%s of %d operands: this runner does not know it", s.op, len(src))
	}
	return s.unary(c, src[0])
}

// newOfType makes a leaf of a type that the file names.
func newOfType(c *Context, typ string, ne []int64) (*Tensor, error) {
	parsed, err := ParseType(typ)
	if err != nil {
		return nil, err
	}
	return c.NewTensor(parsed, ne...)
}

func (l *leaf) make(c *Context) (*Tensor, error) {
	t, err := newOfType(c, l.typ, l.ne)
	if err != nil {
		return nil, err
	}
	return t, t.WriteF32(l.values(t.Len(), t.Type()))
}

func (b *blocks) make(c *Context) (*Tensor, error) {
	t, err := newOfType(c, b.typ, b.ne)
	if err != nil {
		return nil, err
	}
	return t, t.WriteBytes(0, b.bytes)
}

// unary makes an operation of one operand whose attributes need conversion.
func (s *step) unary(c *Context, a *Tensor) (*Tensor, error) {
	switch s.op {
	case "view":
		return c.View(a, s.ints("ne"), s.ints("nb"), s.integer("offset"))
	case "index":
		return a.Index(s.indices()...)
	case "reshape":
		return c.Reshape(a, s.ints("ne")...)
	case "permute":
		var axes [4]int
		for i, axis := range s.list("axes", len(axes)) {
			axes[i] = int(axis)
		}
		return c.Permute(a, axes)
	case "cast":
		typ, err := ParseType(s.attrs["to"])
		if err != nil {
			return nil, err
		}
		return c.Cast(a, typ)
	}
	return nil, fmt.Errorf("this runner does not know %s", s.op)
}

func (s *step) indices() []Index {
	begin, end, dropped := s.ints("begin"), s.ints("end"), s.ints("dropped")
	indices := make([]Index, len(begin))
	for d := range indices {
		indices[d] = Range(begin[d], end[d])
		for _, other := range dropped {
			if other == int64(d) {
				indices[d] = At(begin[d])
			}
		}
	}
	return indices
}

// The attributes of a step. An absent attribute is 0, which stands for its
// default; a malformed one ends the run, because a line that is not understood
// must not look like a case that passed.

// ints returns nil if the attribute is absent.
func (s *step) ints(name string) []int64 {
	if s.attrs[name] == "" {
		return nil
	}
	f := &fields{words: strings.Split(s.attrs[name], ",")}
	values := f.ints(len(f.words))
	if f.err != nil {
		panic(fmt.Sprintf("%s=%s: %v", name, s.attrs[name], f.err))
	}
	return values
}

func (s *step) integer(name string) int64 {
	if values := s.ints(name); len(values) > 0 {
		return values[0]
	}
	return 0
}

func (s *step) number(name string) float64 {
	if s.attrs[name] == "" {
		return 0
	}
	return must(strconv.ParseFloat(s.attrs[name], 64))
}

// dims returns the attributes dims and keep.
func (s *step) dims() *Dims {
	var dims []int
	for _, dim := range s.ints("dims") {
		dims = append(dims, int(dim))
	}
	if s.integer("keep") != 0 {
		return Along(dims...).Keep()
	}
	return Along(dims...)
}

func (s *step) list(name string, length int) []int64 {
	values := s.ints(name)
	if values == nil {
		return make([]int64, length)
	}
	if len(values) != length {
		panic(fmt.Sprintf("%s=%s: not %d values", name, s.attrs[name], length))
	}
	return values
}

// choice returns the index of the attribute's word among words.
// group returns the only group of the cases: that of one rank.
func (s *step) group() *Group { return selfGroup() }

var selfGroup = sync.OnceValue(func() *Group { return must(NewGroup("self", nil)) })

func (s *step) choice(name string, words ...string) int {
	if s.attrs[name] == "" {
		return 0
	}
	place := slices.Index(words, s.attrs[name])
	if place < 0 {
		panic(fmt.Sprintf("%s=%s: not one of %v", name, s.attrs[name], words))
	}
	return place
}
