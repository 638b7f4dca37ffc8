package tensorlib

import (
	"errors"
	"fmt"
	"testing"
)

// Every way into the library with something that it must refuse. Each case must
// give the status and a message with the words, and leave the context usable.
func TestBadInput(t *testing.T) {
	c := newContext(t)
	other := newContext(t, WithNoAlloc())
	cpu := newCPU(t)
	a := f32(c, 2, 4)
	b := f32(c, 7)
	ints := must(NewTensorFrom(c, []int32{1, 2, 3}, 3))
	empty := must(other.NewTensor(F32, 2))
	constant := f32(c, 2)
	if err := constant.SetConstant(); err != nil {
		t.Fatal(err)
	}
	sum := must(c.Add(a, a))
	graph := must(NewGraph(c, sum))
	defer graph.Close()

	tensor := func(_ *Tensor, err error) error { return err }
	four := make([]float32, 4)
	eight := make([]float32, 8)
	cases := []struct {
		name  string
		err   error
		code  Status
		words []string
	}{
		{"tensor/no_dims", tensor(c.NewTensor(F32)), StatusInvalidArgument, nil},
		{"tensor/five_dims", tensor(c.NewTensor(F32, 1, 1, 1, 1, 1)), StatusInvalidArgument, []string{"5"}},
		{"tensor/negative", tensor(c.NewTensor(F32, 2, -1)), StatusInvalidArgument, []string{"-1"}},
		{"tensor/too_big", tensor(c.NewTensor(F64, 1<<40, 1<<40)), StatusInvalidArgument, nil},
		{"tensor/unknown_type", tensor(c.NewTensor(Type(99), 2)), StatusInvalidArgument, []string{"99"}},
		{"tensor/wrong_length", tensor(NewTensorFrom(c, four, 3)), StatusInvalidArgument, []string{"4", "3"}},
		{"tensor/from_into_no_alloc", tensor(NewTensorFrom(other, four, 4)), StatusInvalidArgument, nil},
		{"add/shape", tensor(c.Add(a, b)), StatusShapeMismatch, []string{"add", "7"}},
		{"add/type", tensor(c.Add(a, ints)), StatusTypeMismatch, []string{"add", "i32"}},
		{"add/nil", tensor(c.Add(a, nil)), StatusInvalidArgument, []string{"add", "operand 1", "nil"}},
		{"add/zero_value", tensor(c.Add(&Tensor{}, a)), StatusInvalidArgument, []string{"operand 0", "nil"}},
		{"mul_mat/shape", tensor(c.MulMat(a, b)), StatusShapeMismatch, []string{"mul_mat", "2", "7"}},
		{"view/outside", tensor(c.View(a, []int64{9}, nil, 0)), StatusInvalidArgument, []string{"view"}},
		{"view/strides", tensor(c.View(a, []int64{2, 2}, []int64{4, 8}, 0)), StatusInvalidArgument, []string{"strides"}},
		{"view/negative_stride", tensor(c.View(a, []int64{2, 2}, []int64{-8}, 0)), StatusInvalidArgument, []string{"-8"}},
		{"view/negative_offset", tensor(c.View(a, []int64{2}, nil, -4)), StatusInvalidArgument, []string{"-4"}},
		{"reshape/count", tensor(c.Reshape(a, 3, 3)), StatusShapeMismatch, []string{"reshape"}},
		{"permute/twice", tensor(c.Permute(a, [4]int{0, 0, 1, 2})), StatusInvalidArgument, []string{"permute"}},
		{"permute/narrowing", tensor(c.Permute(a, [4]int{0, 1, 2, 1<<32 + 3})), StatusInvalidArgument, []string{"permute"}},
		{"cpy/count", tensor(c.Cpy(a, b)), StatusShapeMismatch, []string{"cpy"}},
		{"cpy/constant", tensor(c.Cpy(constant, constant)), StatusInvalidArgument, []string{"constant"}},
		{"cast/ints", tensor(c.Cast(ints, F32)), StatusTypeMismatch, []string{"cast", "i32"}},
		{"op/unknown", tensor(c.Op("no_such_op", []*Tensor{a})), StatusInvalidArgument, []string{"no_such_op"}},
		{"op/nul", tensor(c.Op("add\x00", []*Tensor{a, a})), StatusInvalidArgument, []string{"NUL"}},
		{"op/nil_operand", tensor(c.Op("add", []*Tensor{a, nil})), StatusInvalidArgument, []string{"operand 1"}},
		{"op/missing_attribute", tensor(c.Op("permute", []*Tensor{a})), StatusInvalidArgument, []string{"axes"}},
		{"op/unknown_attribute", tensor(c.Op("add", []*Tensor{a, a}, Number("bogus", 1))), StatusInvalidArgument, []string{"bogus"}},
		{"op/seven_ints", tensor(c.Op("reshape", []*Tensor{a}, Ints("ne", 1, 2, 3, 4, 5, 6, 7))), StatusInvalidArgument, []string{"7"}},
		{"op/attribute_nul", tensor(c.Op("cast", []*Tensor{a}, Text("to", "f\x0032"))), StatusInvalidArgument, []string{"NUL"}},
		{"read/node", Read(sum, eight), StatusInvalidArgument, nil},
		{"read/type", Read(ints, make([]int64, 3)), StatusTypeMismatch, []string{"i32", "int64"}},
		{"read/length", Read(a, four), StatusInvalidArgument, []string{"4", "8"}},
		{"read/behind", ReadAt(a, 7, four), StatusInvalidArgument, nil},
		{"read/far_behind", ReadAt(a, 1<<62, four), StatusInvalidArgument, nil},
		{"read/negative", ReadAt(a, -1<<63, four), StatusInvalidArgument, []string{"negative"}},
		{"read/no_data", Read(empty, four[:2]), StatusInvalidArgument, nil},
		{"read/nil", Read[float32](nil, four), StatusInvalidArgument, []string{"nil"}},
		{"read_f32/length", a.ReadF32(four), StatusInvalidArgument, []string{"4", "8"}},
		{"write/node", Write(sum, eight), StatusInvalidArgument, nil},
		{"write/constant", Write(constant, four[:2]), StatusInvalidArgument, []string{"constant"}},
		{"write/behind", WriteAt(a, 5, four), StatusInvalidArgument, nil},
		{"write_f32/not_an_integer", ints.WriteF32([]float32{1, 2, 3e9}), StatusInvalidArgument, []string{"2"}},
		{"get/outside", func() error { _, err := a.GetF32(2, 0); return err }(), StatusInvalidArgument, nil},
		{"get/five", func() error { _, err := a.GetF32(0, 0, 0, 0, 0); return err }(), StatusInvalidArgument, []string{"5"}},
		{"set/outside", a.SetF32(1, 0, -1), StatusInvalidArgument, nil},
		{"map/access", a.Map(Access(7), func([]byte) error { return nil }), StatusInvalidArgument, nil},
		{"map/constant", constant.Map(AccessWrite, func([]byte) error { return nil }), StatusInvalidArgument, nil},
		{"name/nul", a.SetName("a\x00b"), StatusInvalidArgument, []string{"NUL"}},
		{"constant/node", sum.SetConstant(), StatusInvalidArgument, nil},
		{"drop_original/variable", a.DropOriginal(), StatusInvalidArgument, []string{"constant"}},
		{"graph/no_output", func() error { _, err := NewGraph(c); return err }(), StatusInvalidArgument, nil},
		{"graph/nil_output", func() error { _, err := NewGraph(c, a, nil); return err }(), StatusInvalidArgument, []string{"operand 1"}},
		{"graph/nil_backend", graph.Compute(nil), StatusInvalidArgument, []string{"backend"}},
		{"graph/nil", (*Graph)(nil).Compute(cpu), StatusInvalidArgument, []string{"graph"}},
		{"compute/nothing", cpu.Compute(), StatusInvalidArgument, []string{"output"}},
		{"compute/no_data", cpu.Compute(must(other.Add(empty, empty))), StatusInvalidArgument, nil},
		{"allocate/has_data", c.Allocate(nil), StatusInvalidArgument, nil},
		{"context/nil", tensor((*Context)(nil).NewTensor(F32, 1)), StatusInvalidArgument, []string{"nil"}},
		{"context/zero_value", (&Context{}).Reset(), StatusInvalidArgument, []string{"nil"}},
		{"context/nil_backend", func() error { _, err := NewContext(WithBackend(nil)); return err }(), StatusInvalidArgument, []string{"backend"}},
		{"context/limit", tensor(newContext(t, WithMemLimit(1)).NewTensor(F32, 100)), StatusOutOfMemory, []string{"1"}},
		{"backend/unknown", func() error { _, err := NewBackend("abacus"); return err }(), StatusInvalidArgument, []string{"abacus"}},
		{"backend/nul", func() error { _, err := NewBackend("cpu\x00x"); return err }(), StatusInvalidArgument, []string{"NUL"}},
		{"backend/threads", func() error { _, err := NewBackend("cpu", WithThreads(-1)); return err }(), StatusInvalidArgument, []string{"-1"}},
		{"backend/many_threads", func() error { _, err := NewBackend("cpu", WithThreads(1<<32)); return err }(), StatusInvalidArgument, []string{"4294967296"}},
		{"type/unknown", func() error { _, err := ParseType("f33"); return err }(), StatusInvalidArgument, []string{"f33", "f32"}},
	}
	seen := map[string]bool{}
	for _, bad := range cases {
		t.Run(bad.name, func(t *testing.T) { wantError(t, bad.err, bad.code, bad.words...) })
		if seen[bad.name] {
			t.Errorf("two cases are called %s", bad.name)
		}
		seen[bad.name] = true
	}
	// None of it left an error behind or changed anything.
	if err := cpu.Compute(sum); err != nil {
		t.Fatal(err)
	}
	wantValues[float32](t, sum, 0, 2, 4, 6, 8, 10, 12, 14)
}

func TestErrorsAsAndIs(t *testing.T) {
	c := newContext(t)
	_, err := c.Add(f32(c, 2), f32(c, 3))
	err = fmt.Errorf("building the model: %w", err)
	var e *Error
	if !errors.As(err, &e) || e.Code != StatusShapeMismatch || e.Message == "" {
		t.Errorf("errors.As found %+v in %v", e, err)
	}
	if !errors.Is(err, &Error{Code: StatusShapeMismatch}) {
		t.Errorf("errors.Is does not find the code in %v", err)
	}
	if errors.Is(err, &Error{Code: StatusBusy}) {
		t.Errorf("errors.Is finds StatusBusy in %v", err)
	}
	if errors.Is(err, &Error{Code: StatusShapeMismatch, Message: "another"}) {
		t.Errorf("errors.Is finds another message in %v", err)
	}
}

func TestStatusNames(t *testing.T) {
	if got := StatusShapeMismatch.String(); got != "TL_STATUS_SHAPE_MISMATCH" {
		t.Errorf("StatusShapeMismatch is %q", got)
	}
	if got := Status(1234).String(); got != "unknown status 1234" {
		t.Errorf("an unknown status is %q", got)
	}
	if got := (&Error{Code: StatusBusy}).Error(); got != "TL_STATUS_BUSY" {
		t.Errorf("an error without message is %q", got)
	}
}

// An operation whose operand failed fails too, and says so itself: its error is
// not that of the operand, and the context keeps none of them.
func TestNestedError(t *testing.T) {
	c := newContext(t)
	cpu := newCPU(t)
	a := f32(c, 2)
	broken, err := c.MulMat(a, f32(c, 3))
	wantError(t, err, StatusShapeMismatch, "mul_mat")
	_, err = c.Add(broken, a)
	wantError(t, err, StatusInvalidArgument, "add", "operand 0", "nil")
	sum, err := c.Add(a, a)
	if err != nil {
		t.Fatal(err)
	}
	if err := cpu.Compute(sum); err != nil {
		t.Fatal(err)
	}
	wantValues[float32](t, sum, 0, 2)
}

func TestABIRule(t *testing.T) {
	for _, rule := range []struct {
		header, library uint32
		ok              bool
	}{
		{0x10000, 0x10000, true},
		{0x10000, 0x10005, true},
		{0x10005, 0x10000, false},
		{0x10000, 0x20000, false},
		{0x20000, 0x10000, false},
	} {
		err := compareABI(rule.header, rule.library)
		if rule.ok && err != nil {
			t.Errorf("%#x with %#x: %v", rule.header, rule.library, err)
		}
		if !rule.ok {
			wantError(t, err, StatusUnavailable, "ABI")
		}
	}
}
