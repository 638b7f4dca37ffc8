package tensorlib

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"testing"
)

func roundTrip[T Element](t *testing.T, typ Type, values ...T) {
	t.Helper()
	if TypeOf[T]() != typ {
		t.Errorf("TypeOf[%T] is %v, want %v", values[0], TypeOf[T](), typ)
	}
	c := newContext(t)
	tensor := must(NewTensorFrom(c, values, int64(len(values))))
	if tensor.Type() != typ || tensor.NBytes() != int64(len(values)*typ.Size()) {
		t.Errorf("%v has type %v and %d bytes", values, tensor.Type(), tensor.NBytes())
	}
	wantValues(t, tensor, values...)

	part := make([]T, len(values)-1)
	if err := ReadAt(tensor, 1, part); err != nil || !reflect.DeepEqual(part, values[1:]) {
		t.Errorf("from 1 on: %v, %v, want %v", part, err, values[1:])
	}
	if err := WriteAt(tensor, 1, values[:1]); err != nil {
		t.Error(err)
	}
	changed := append([]T(nil), values...)
	changed[1] = values[0]
	wantValues(t, tensor, changed...)
}

func TestElementTypes(t *testing.T) {
	roundTrip[float32](t, F32, 1.5, -2, math.MaxFloat32)
	roundTrip[float64](t, F64, 1.5, -2, math.MaxFloat64)
	roundTrip[int8](t, I8, 1, -128, 127)
	roundTrip[int16](t, I16, 1, -32768, 32767)
	roundTrip[int32](t, I32, 1, math.MinInt32, math.MaxInt32)
	roundTrip[int64](t, I64, 1, math.MinInt64, math.MaxInt64)
	roundTrip[uint8](t, U8, 1, 0, 255)
	roundTrip[bool](t, Bool, true, false, false)
}

func TestF32Conversion(t *testing.T) {
	c := newContext(t)
	// 1 + 2^-9 lies between two values of BF16 (7 fraction bits) and is one of F16 (10).
	given := []float32{0.5, -3, 1 + 1.0/512}
	want := map[Type][]float32{
		F32: given, F64: given, F16: given,
		BF16: {0.5, -3, 1},
		I8:   {0, -3, 1}, // 0.5 is a tie and goes to even
	}
	for typ, values := range want {
		tensor := must(c.NewTensor(typ, 3))
		if err := tensor.WriteF32(given); err != nil {
			t.Errorf("%v: %v", typ, err)
		}
		got := make([]float32, 3)
		if err := tensor.ReadF32(got); err != nil || !reflect.DeepEqual(got, values) {
			t.Errorf("%v: got %v, %v, want %v", typ, got, err, values)
		}
	}
	half := must(c.NewTensor(F16, 1))
	if err := half.WriteF32([]float32{1}); err != nil {
		t.Fatal(err)
	}
	raw := make([]byte, 2)
	if err := half.ReadBytes(0, raw); err != nil || !bytes.Equal(raw, []byte{0x00, 0x3c}) {
		t.Errorf("1 as F16 has the bytes %x, %v, want 003c", raw, err)
	}
}

func TestSingleElements(t *testing.T) {
	c := newContext(t)
	a := f32(c, 3, 2)
	if got, err := a.GetF32(2, 1); err != nil || got != 5 {
		t.Errorf("a(2, 1) is %v, %v, want 5", got, err)
	}
	if err := a.SetF32(-1, 1); err != nil { // the row's index is left out
		t.Error(err)
	}
	wantValues[float32](t, a, 0, -1, 2, 3, 4, 5)
}

func TestEmptyTensor(t *testing.T) {
	c := newContext(t)
	empty, err := NewTensorFrom(c, []float32{}, 0, 3)
	if err != nil {
		t.Fatal(err)
	}
	wantValues(t, empty, []float32{}...)
	if err := empty.WriteF32(nil); err != nil {
		t.Error(err)
	}
	if err := empty.Map(AccessRead, func(data []byte) error {
		if len(data) != 0 {
			t.Errorf("mapped %d bytes", len(data))
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

func TestReadingBeforeComputing(t *testing.T) {
	c := newContext(t)
	cpu := newCPU(t)
	a := f32(c, 2)
	inner := must(c.Add(a, a))
	outer := must(c.Add(inner, a))
	for _, node := range []*Tensor{inner, outer} {
		_, err := ReadAll[float32](node)
		wantError(t, err, StatusInvalidArgument)
	}
	if err := cpu.Compute(outer); err != nil {
		t.Fatal(err)
	}
	wantValues[float32](t, outer, 0, 3)
	_, err := ReadAll[float32](inner) // computed, but not an output
	wantError(t, err, StatusInvalidArgument, "output")
	if err := cpu.Compute(outer, inner); err != nil {
		t.Fatal(err)
	}
	wantValues[float32](t, inner, 0, 2)
}

func TestMap(t *testing.T) {
	c := newContext(t)
	a := must(NewTensorFrom(c, []int8{1, 2, 3, 4, 5, 6}, 3, 2))
	column := must(c.View(a, []int64{1, 2}, []int64{3}, 1)) // elements 1 and 4, 3 bytes apart
	err := column.Map(AccessWrite, func(data []byte) error {
		if !bytes.Equal(data, []byte{2, 3, 4, 5}) {
			t.Errorf("the column maps to %v", data)
		}
		data[3] = 9
		wantError(t, Read(a, make([]int8, 6)), StatusBusy)
		wantError(t, c.Reset(), StatusBusy)
		c.Close() // takes effect after the mapping ends
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = ReadAll[int8](a)
	wantError(t, err, StatusInvalidArgument, "Close")
}

func TestMapEnds(t *testing.T) {
	c := newContext(t)
	a := f32(c, 2)
	mine := errors.New("mine")
	if err := a.Map(AccessWrite, func([]byte) error { return mine }); err != mine {
		t.Errorf("Map gives %v, want the callback's error", err)
	}
	func() {
		defer func() {
			if got := recover(); got != "gone" {
				t.Errorf("recovered %v", got)
			}
		}()
		_ = a.Map(AccessWrite, func([]byte) error { panic("gone") })
	}()
	if err := Write(a, []float32{5, 6}); err != nil {
		t.Errorf("a mapping stayed open: %v", err)
	}
	wantValues[float32](t, a, 5, 6)
}

// Allocating as many values as Len returns would end the process.
func TestWhatCannotBeReadTakesNoMemory(t *testing.T) {
	shapes := must(NewContext(WithNoAlloc()))
	defer shapes.Close()
	absent := must(shapes.NewTensor(F32, 1<<50))
	_, err := ReadAll[float32](absent)
	wantError(t, err, StatusInvalidArgument, "no data")
	c := newContext(t)
	one := must(NewTensorFrom(c, []float32{1.5}, 1))
	for _, n := range []int64{1 << 45, 1 << 50, 1 << 60} {
		_, err := ReadAll[float32](must(c.View(one, []int64{1, n}, []int64{0}, 0)))
		wantError(t, err, StatusOutOfMemory, "no memory")
	}
	wantValues(t, must(c.View(one, []int64{1, 3}, []int64{0}, 0)), float32(1.5), 1.5, 1.5)
}

func TestSlicesCountInElements(t *testing.T) {
	c := newContext(t)
	a := must(NewTensorFrom(c, []float32{1, 2, 3, 4, 5, 6}, 3, 2))
	wantValues(t, must(c.Slice(a, []int64{1, 1}, []int64{2, 1})), float32(5), 6)
	wantValues(t, must(c.Narrow(a, 0, 2, 1)), float32(3), 6)
	if shape := must(c.Reshape(a, 2, -1)).Shape(); shape[1] != 3 {
		t.Errorf("shape %v", shape)
	}
	_, err := c.Slice(a, []int64{0}, []int64{1, 1})
	wantError(t, err, StatusInvalidArgument, "1 starts")
	_, err = c.Narrow(a, 1<<32, 0, 1)
	wantError(t, err, StatusInvalidArgument, "0 to 3")
	_, err = c.Narrow(a, 0, 2, 2)
	wantError(t, err, StatusInvalidArgument, "0 to 3 are there")
}

func TestNamesAndFreeze(t *testing.T) {
	c := newContext(t)
	if c.Name() != "" {
		t.Errorf("name %q", c.Name())
	}
	if err := c.SetName("weights"); err != nil || c.Name() != "weights" {
		t.Errorf("name %q, %v", c.Name(), err)
	}
	wantError(t, c.SetName("a\xff"), StatusInvalidArgument, "UTF-8")
	wantError(t, c.SetName("a\x00b"), StatusInvalidArgument, "NUL")
	a := must(NewTensorFrom(c, []float32{1, 2}, 2))
	wantError(t, a.SetName("\xc0"), StatusInvalidArgument, "UTF-8")
	if err := c.Freeze(); err != nil {
		t.Fatal(err)
	}
	_, err := c.Add(a, a)
	wantError(t, err, StatusInvalidArgument, "'weights' was frozen", "another context")
	request := newContext(t)
	if _, err := request.Add(a, a); err != nil {
		t.Error(err)
	}
	var none *Context
	wantError(t, none.Freeze(), StatusInvalidArgument, "nil")
	wantError(t, none.SetName("x"), StatusInvalidArgument, "nil")
}
