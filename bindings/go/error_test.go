package tensorlib

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// failure drops the value that a call returned together with its error.
func failure[T any](_ T, err error) error { return err }

// badCase is a call that must return this status and a message with these words.
type badCase struct {
	name  string
	err   error
	code  Status
	words []string
}

// badTensors makes tensors; other has no data.
func badTensors(c, other *Context) []badCase {
	four := make([]float32, 4)
	return []badCase{
		{"tensor/no_dims", failure(c.NewTensor(F32)), StatusInvalidArgument, nil},
		{"tensor/five_dims", failure(c.NewTensor(F32, 1, 1, 1, 1, 1)), StatusInvalidArgument, []string{"5"}},
		{"tensor/negative", failure(c.NewTensor(F32, 2, -1)), StatusInvalidArgument, []string{"-1"}},
		{"tensor/too_big", failure(c.NewTensor(F64, 1<<40, 1<<40)), StatusInvalidArgument, nil},
		{"tensor/unknown_type", failure(c.NewTensor(Type(99), 2)), StatusInvalidArgument, []string{"99"}},
		{"tensor/wrong_length", failure(NewTensorFrom(c, four, 3)), StatusInvalidArgument, []string{"4", "3"}},
		{"tensor/from_into_no_alloc", failure(NewTensorFrom(other, four, 4)), StatusInvalidArgument, nil},
	}
}

// badOperations builds nodes.
func badOperations(c *Context, a, b, ints, constant *Tensor) []badCase {
	seven := []int64{2, 4, 1, 1, 1, 1, 1}
	return []badCase{
		{"add/shape", failure(c.Add(a, b)), StatusShapeMismatch, []string{"add", "7"}},
		{"add/type", failure(c.Add(a, ints)), StatusTypeMismatch, []string{"add", "i32"}},
		{"add/nil", failure(c.Add(a, nil)), StatusInvalidArgument, []string{"add", "operand 1", "nil"}},
		{"add/zero_value", failure(c.Add(&Tensor{}, a)), StatusInvalidArgument, []string{"operand 0", "nil"}},
		{"mul_mat/shape", failure(c.MulMat(a, b)), StatusShapeMismatch, []string{"mul_mat", "2", "7"}},
		{"mul_mat/nil", failure(c.MulMat(nil, a)), StatusInvalidArgument, []string{"mul_mat", "operand 0", "nil"}},
		{"mul_mat_exact/shape", failure(c.MulMatExact(a, b)), StatusShapeMismatch, []string{"mul_mat", "2", "7"}},
		{"mul_mat_exact/type", failure(c.MulMatExact(a, ints)), StatusTypeMismatch, []string{"mul_mat", "i32"}},
		{"mul_mat_exact/nil", failure(c.MulMatExact(a, nil)), StatusInvalidArgument, []string{"mul_mat", "operand 1", "nil"}},
		{"mul_mat/exact_2", failure(c.Op("mul_mat", []*Tensor{a, a}, Ints("exact", 2))), StatusInvalidArgument, []string{"exact is 2"}},
		{"mul_mat_id/floats", failure(c.MulMatID(a, a, a)), StatusTypeMismatch, []string{"mul_mat_id", "i32 or i64"}},
		{"mul_mat_id/columns", failure(c.MulMatID(a, a, ints)), StatusShapeMismatch, []string{"mul_mat_id", "divide"}},
		{"mul_mat_id/nil", failure(c.MulMatID(a, a, nil)), StatusInvalidArgument, []string{"mul_mat_id", "operand 2", "nil"}},
		{"view/outside", failure(c.View(a, []int64{9}, nil, 0)), StatusInvalidArgument, []string{"view"}},
		{"view/strides", failure(c.View(a, []int64{2, 2}, []int64{4, 8}, 0)), StatusInvalidArgument, []string{"strides"}},
		{"view/negative_stride", failure(c.View(a, []int64{2, 2}, []int64{-8}, 0)), StatusInvalidArgument, []string{"-8"}},
		{"view/negative_offset", failure(c.View(a, []int64{2}, nil, -4)), StatusInvalidArgument, []string{"-4"}},
		{"reshape/count", failure(c.Reshape(a, 3, 3)), StatusShapeMismatch, []string{"reshape"}},
		{"permute/twice", failure(c.Permute(a, [4]int{0, 0, 1, 2})), StatusInvalidArgument, []string{"permute"}},
		{"permute/narrowing", failure(c.Permute(a, [4]int{0, 1, 2, 1<<32 + 3})), StatusInvalidArgument, []string{"permute"}},
		{"cpy/count", failure(c.Cpy(a, b)), StatusShapeMismatch, []string{"cpy"}},
		{"cpy/constant", failure(c.Cpy(constant, constant)), StatusInvalidArgument, []string{"constant"}},
		{"get_rows/floats", failure(c.GetRows(ints, a)), StatusTypeMismatch, []string{"get_rows", "i32 or i64"}},
		{"set_rows/shape", failure(c.SetRows(a, a, ints)), StatusShapeMismatch, []string{"set_rows"}},
		{"op/unknown", failure(c.Op("no_such_op", []*Tensor{a})), StatusInvalidArgument, []string{"no_such_op"}},
		{"op/nul", failure(c.Op("add\x00", []*Tensor{a, a})), StatusInvalidArgument, []string{"NUL"}},
		{"op/nil_operand", failure(c.Op("add", []*Tensor{a, nil})), StatusInvalidArgument, []string{"b is left out", "no operand that may be"}},
		{"op/missing_attribute", failure(c.Op("permute", []*Tensor{a})), StatusInvalidArgument, []string{"axes"}},
		{"op/unknown_attribute", failure(c.Op("dup", []*Tensor{a}, Number("bogus", 1))), StatusInvalidArgument, []string{"bogus"}},
		{"op/seven_ints", failure(c.Op("reshape", []*Tensor{a}, Ints("ne", seven...))), StatusInvalidArgument, []string{"7"}},
		{"op/attribute_nul", failure(c.Op("cast", []*Tensor{a}, Text("to", "f\x0032"))), StatusInvalidArgument, []string{"NUL"}},
	}
}

// badAccess reads and changes tensors; sum is a node, and empty has no data.
func badAccess(a, ints, empty, constant, sum *Tensor) []badCase {
	four := make([]float32, 4)
	eight := make([]float32, 8)
	return []badCase{
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
		{"get/outside", failure(a.GetF32(2, 0)), StatusInvalidArgument, nil},
		{"get/five", failure(a.GetF32(0, 0, 0, 0, 0)), StatusInvalidArgument, []string{"5"}},
		{"set/outside", a.SetF32(1, 0, -1), StatusInvalidArgument, nil},
		{"map/access", a.Map(Access(7), func([]byte) error { return nil }), StatusInvalidArgument, nil},
		{"map/constant", constant.Map(AccessWrite, func([]byte) error { return nil }), StatusInvalidArgument, nil},
		{"name/nul", a.SetName("a\x00b"), StatusInvalidArgument, []string{"NUL"}},
		{"constant/node", sum.SetConstant(), StatusInvalidArgument, nil},
		{"drop_original/variable", a.DropOriginal(), StatusInvalidArgument, []string{"constant"}},
	}
}

// badHandles makes and uses graphs, contexts, backends and types.
func badHandles(t *testing.T, c, other *Context, cpu *Backend, graph *Graph, a, empty *Tensor) []badCase {
	return []badCase{
		{"graph/no_output", failure(NewGraph(c)), StatusInvalidArgument, nil},
		{"graph/nil_output", failure(NewGraph(c, a, nil)), StatusInvalidArgument, []string{"operand 1"}},
		{"graph/nil_backend", graph.Compute(nil), StatusInvalidArgument, []string{"backend"}},
		{"graph/nil", (*Graph)(nil).Compute(cpu), StatusInvalidArgument, []string{"graph"}},
		{"compute/nothing", cpu.Compute(), StatusInvalidArgument, []string{"output"}},
		{"compute/no_data", cpu.Compute(must(other.Add(empty, empty))), StatusInvalidArgument, nil},
		{"allocate/has_data", c.Allocate(nil), StatusInvalidArgument, nil},
		{"context/nil", failure((*Context)(nil).NewTensor(F32, 1)), StatusInvalidArgument, []string{"nil"}},
		{"context/zero_value", (&Context{}).Reset(), StatusInvalidArgument, []string{"nil"}},
		{"context/nil_backend", failure(NewContext(WithBackend(nil))), StatusInvalidArgument, []string{"backend"}},
		{"context/limit", failure(newContext(t, WithMemLimit(1)).NewTensor(F32, 100)), StatusOutOfMemory, []string{"1"}},
		{"backend/unknown", failure(NewBackend("abacus")), StatusInvalidArgument, []string{"abacus"}},
		{"backend/nul", failure(NewBackend("cpu\x00x")), StatusInvalidArgument, []string{"NUL"}},
		{"backend/threads", failure(NewBackend("cpu", WithThreads(-1))), StatusInvalidArgument, []string{"-1"}},
		{"backend/many_threads", failure(NewBackend("cpu", WithThreads(1<<32))), StatusInvalidArgument, []string{"4294967296"}},
		{"type/unknown", failure(ParseType("f33")), StatusInvalidArgument, []string{"f33", "f32"}},
	}
}

// Every function of the library with input that it must refuse. No case may
// leave an error in the context.
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

	seen := map[string]bool{}
	for _, bad := range slices.Concat(
		badTensors(c, other),
		badOperations(c, a, b, ints, constant),
		badAccess(a, ints, empty, constant, sum),
		badHandles(t, c, other, cpu, graph, a, empty),
	) {
		t.Run(bad.name, func(t *testing.T) { wantError(t, bad.err, bad.code, bad.words...) })
		if seen[bad.name] {
			t.Errorf("two cases are called %s", bad.name)
		}
		seen[bad.name] = true
	}
	// No failure left an error or changed anything.
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

// An operation whose operand failed fails too, with an error of its own, and the
// context keeps neither of the two errors.
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
