package tensorlib

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func envOr(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}

// TestCases runs the cases that all languages share, from TENSORLIB_CASES or the
// source tree, on TENSORLIB_DEVICE with TENSORLIB_TEST_THREADS threads. Use
// go test -v to see its line of counts.
func TestCases(t *testing.T) {
	folder := envOr("TENSORLIB_CASES", filepath.Join("..", "..", "tests", "cases"))
	files := must(filepath.Glob(filepath.Join(folder, "*.cases")))
	if len(files) == 0 {
		t.Fatalf("no *.cases in %s: set TENSORLIB_CASES", folder)
	}
	device := envOr("TENSORLIB_DEVICE", "cpu")
	threads := must(strconv.Atoi(envOr("TENSORLIB_TEST_THREADS", "2")))
	backend, err := NewBackend(device, WithThreads(threads))
	if err != nil {
		t.Fatal(err)
	}
	defer backend.Close()
	if asked := os.Getenv("TENSORLIB_ISA"); asked != "" && !strings.EqualFold(asked, backend.ISA()) {
		t.Fatalf("TENSORLIB_ISA is %s, the backend runs %s", asked, backend.ISA())
	}

	var passed, failed, skipped int
	seen := map[string]bool{}
	for _, file := range files {
		cases, err := parseCases(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			err := c.run(backend)
			if seen[c.name] {
				err = fmt.Errorf("the name is taken")
			}
			seen[c.name] = true
			var e *Error
			switch {
			case err == nil:
				passed++
			case device != "cpu" && errors.As(err, &e) && e.Code == StatusUnsupported:
				// A device may lack kernels; the CPU has all.
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
		backend.Device(), backend.ISA(), passed, failed, skipped)
}

// run gives nil where the case passes.
func (c *testCase) run(backend *Backend) error {
	ctx, err := NewContext(WithBackend(backend))
	if err != nil {
		return err
	}
	defer ctx.Close()
	tensors := map[string]*Tensor{}
	for i, s := range c.steps {
		tensor, err := s.make(ctx, tensors)
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
	if c.cpu && backend.Device() != "cpu" {
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

// make makes a leaf or an operation, by the method of its own.
func (s *step) make(c *Context, tensors map[string]*Tensor) (*Tensor, error) {
	if s.leaf != nil {
		typ, err := ParseType(s.leaf.typ)
		if err != nil {
			return nil, err
		}
		t, err := c.NewTensor(typ, s.leaf.ne...)
		if err != nil {
			return nil, err
		}
		return t, t.WriteF32(s.leaf.values(t.Len(), typ))
	}
	if s.raw != nil {
		typ, err := ParseType(s.raw.typ)
		if err != nil {
			return nil, err
		}
		t, err := c.NewTensor(typ, s.raw.ne...)
		if err != nil {
			return nil, err
		}
		return t, t.WriteBytes(0, s.raw.bytes)
	}
	if len(s.src) > 3 {
		return nil, fmt.Errorf("%s has %d operands", s.op, len(s.src))
	}
	var src [3]*Tensor
	for i, id := range s.src {
		if src[i] = tensors[id]; src[i] == nil {
			return nil, fmt.Errorf("there is no %s", id)
		}
	}
	switch s.op {
	case "add":
		return c.Add(src[0], src[1])
	case "mul_mat":
		return c.MulMat(src[0], src[1])
	case "mul_mat_exact":
		return c.MulMatExact(src[0], src[1])
	case "mul_mat_id":
		return c.MulMatID(src[0], src[1], src[2])
	case "get_rows":
		return c.GetRows(src[0], src[1])
	case "set_rows":
		return c.SetRows(src[0], src[1], src[2])
	case "view":
		var offset int64
		if given := s.ints["offset"]; len(given) == 1 {
			offset = given[0]
		}
		return c.View(src[0], s.ints["ne"], s.ints["nb"], offset)
	case "reshape":
		return c.Reshape(src[0], s.ints["ne"]...)
	case "permute":
		if len(s.ints["axes"]) != 4 {
			return nil, fmt.Errorf("permute has axes %v", s.ints["axes"])
		}
		var axes [4]int
		for i, axis := range s.ints["axes"] {
			axes[i] = int(axis)
		}
		return c.Permute(src[0], axes)
	case "transpose":
		return c.Transpose(src[0])
	case "cont":
		return c.Cont(src[0])
	case "dup":
		return c.Dup(src[0])
	case "cpy":
		return c.Cpy(src[0], src[1])
	case "cast":
		typ, err := ParseType(s.to)
		if err != nil {
			return nil, err
		}
		return c.Cast(src[0], typ)
	}
	return nil, fmt.Errorf("this runner does not know %s", s.op)
}
