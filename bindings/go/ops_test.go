package tensorlib

import (
	"reflect"
	"sort"
	"testing"
)

// Each operation once with numbers that can be checked by eye; the shared case
// files contain the rest.
func TestOperations(t *testing.T) {
	c := newContext(t)
	cpu := newCPU(t)
	a := f32(c, 3, 2) // 0 1 2 / 3 4 5
	row := must(NewTensorFrom(c, []float32{10, 20, 30}, 3))
	target := must(c.NewTensor(BF16, 2, 3))
	transposed := must(c.Transpose(a))
	column := must(c.View(a, []int64{1, 2}, []int64{12}, 4))
	for _, op := range []struct {
		tensor *Tensor
		name   string
		shape  []int64
		want   []float32
	}{
		{name: "add", tensor: must(c.Add(a, row)), shape: []int64{3, 2}, want: []float32{10, 21, 32, 13, 24, 35}},
		{name: "mul_mat", tensor: must(c.MulMat(a, row)), shape: []int64{2, 1}, want: []float32{80, 260}},
		{name: "mul_mat", tensor: must(c.MulMatExact(a, row)), shape: []int64{2, 1}, want: []float32{80, 260}},
		{name: "view", tensor: column, shape: []int64{1, 2}, want: []float32{1, 4}},
		{name: "view", tensor: must(c.View(a, []int64{2}, nil, 8)), shape: []int64{2}, want: []float32{2, 3}},
		{name: "reshape", tensor: must(c.Reshape(a, 2, 3)), shape: []int64{2, 3}, want: []float32{0, 1, 2, 3, 4, 5}},
		{name: "permute", tensor: must(c.Permute(a, [4]int{2, 0, 1, 3})), shape: []int64{2, 1, 3},
			want: []float32{0, 3, 1, 4, 2, 5}},
		{name: "transpose", tensor: transposed, shape: []int64{2, 3}, want: []float32{0, 3, 1, 4, 2, 5}},
		{name: "cont", tensor: must(c.Cont(transposed)), shape: []int64{2, 3}, want: []float32{0, 3, 1, 4, 2, 5}},
		{name: "dup", tensor: must(c.Dup(column)), shape: []int64{1, 2}, want: []float32{1, 4}},
		{name: "cpy", tensor: must(c.Cpy(a, target)), shape: []int64{2, 3}, want: []float32{0, 1, 2, 3, 4, 5}},
		{name: "cast", tensor: must(c.Cast(a, F16)), shape: []int64{3, 2}, want: []float32{0, 1, 2, 3, 4, 5}},
		{name: "scale", tensor: must(c.Scale(row, 2, nil)), shape: []int64{3}, want: []float32{20, 40, 60}},
		{name: "glu", tensor: must(c.Glu(row, row, GluOpReglu, &GluOptions{Split: true})), shape: []int64{3},
			want: []float32{100, 400, 900}},
		{name: "where", tensor: must(c.Where(row, a, row)), shape: []int64{3, 2}, want: []float32{0, 1, 2, 3, 4, 5}},
	} {
		t.Run(op.name, func(t *testing.T) {
			if op.tensor.Op() != op.name {
				t.Errorf("Op is %q", op.tensor.Op())
			}
			if err := cpu.Compute(op.tensor); err != nil {
				t.Fatal(err)
			}
			got := make([]float32, op.tensor.Len())
			if err := op.tensor.ReadF32(got); err != nil || !reflect.DeepEqual(got, op.want) {
				t.Errorf("got %v, %v, want %v", got, err, op.want)
			}
			// The engine decides how many of four dimensions a result has; the others are
			// 1.
			for dim, ne := range op.shape {
				if op.tensor.Dim(dim) != ne {
					t.Errorf("dimension %d is %d, want %d", dim, op.tensor.Dim(dim), ne)
				}
			}
		})
	}
	if target.Type() != BF16 {
		t.Errorf("the target became %v", target.Type())
	}
}

// Operations by name equal the methods, including their attributes.
func TestOpByName(t *testing.T) {
	c := newContext(t)
	cpu := newCPU(t)
	a := f32(c, 3, 2)
	ids := must(NewTensorFrom(c, []int32{0, 0}, 2))
	one := []*Tensor{a}
	for _, op := range []struct {
		named, typed *Tensor
	}{
		{must(c.Op("add", []*Tensor{a, a})), must(c.Add(a, a))},
		{must(c.Op("mul_mat", []*Tensor{a, a}, Ints("exact", 1))), must(c.MulMatExact(a, a))},
		{must(c.Op("mul_mat_id", []*Tensor{a, a, ids}, Ints("exact", 1))), must(c.MulMatID(a, a, ids))},
		{
			must(c.Op("view", one, Ints("ne", 1, 2), Ints("nb", 12), Ints("offset", 4))),
			must(c.View(a, []int64{1, 2}, []int64{12}, 4)),
		},
		{must(c.Op("view", one, Ints("ne", 2), Number("offset", 8))), must(c.View(a, []int64{2}, nil, 8))},
		{must(c.Op("reshape", one, Ints("ne", 2, 3))), must(c.Reshape(a, 2, 3))},
		{must(c.Op("permute", one, Ints("axes", 1, 0, 2, 3))), must(c.Transpose(a))},
		{must(c.Op("cast", one, Text("to", "BF16"))), must(c.Cast(a, BF16))},
	} {
		if err := cpu.Compute(op.named, op.typed); err != nil {
			t.Fatal(err)
		}
		named, typed := make([]float32, op.named.Len()), make([]float32, op.typed.Len())
		if err := op.named.ReadF32(named); err != nil {
			t.Error(err)
		}
		if err := op.typed.ReadF32(typed); err != nil {
			t.Error(err)
		}
		if op.named.Type() != op.typed.Type() || op.named.ne != op.typed.ne || !reflect.DeepEqual(named, typed) {
			t.Errorf("by name %v %v, by method %v %v", op.named, named, op.typed, typed)
		}
	}
	ops := Ops()
	sort.Strings(ops)
	for _, name := range []string{"add", "cast", "cont", "cpy", "dup", "get_rows", "mul_mat", "mul_mat_id", "permute", "reshape", "set_rows", "transpose", "view"} {
		if i := sort.SearchStrings(ops, name); i == len(ops) || ops[i] != name {
			t.Errorf("Ops lacks %s: %v", name, ops)
		}
	}
}

func TestGetters(t *testing.T) {
	c := newContext(t)
	a := f32(c, 3, 2)
	view := must(c.Transpose(a))
	if got := view.Strides(); !reflect.DeepEqual(got[:2], []int64{12, 4}) {
		t.Errorf("the transposed strides are %v", got)
	}
	if a.NDims() != 2 || !reflect.DeepEqual(a.Shape(), []int64{3, 2}) || a.Len() != 6 || a.NBytes() != 24 {
		t.Errorf("a has %d dimensions %v, %d elements, %d bytes", a.NDims(), a.Shape(), a.Len(), a.NBytes())
	}
	if a.Dim(0) != 3 || a.Dim(3) != 1 || a.Dim(4) != 0 || a.Dim(-1) != 0 {
		t.Errorf("the dimensions are %d %d %d %d", a.Dim(0), a.Dim(3), a.Dim(4), a.Dim(-1))
	}
	if a.Context() != c || a.Name() != "" || a.String() != "leaf: f32 [3, 2]" {
		t.Errorf("a is %v with the name %q", a, a.Name())
	}
	a.Shape()[0] = 7
	if a.Dim(0) != 3 {
		t.Error("the shape can be changed from outside")
	}
	if err := a.SetName("Gewichte π"); err != nil || a.String() != "leaf Gewichte π: f32 [3, 2]" {
		t.Errorf("after SetName (%v) a is %v", err, a)
	}
	if err := a.SetName(""); err != nil || a.Name() != "" {
		t.Errorf("the name is still %q (%v)", a.Name(), err)
	}
}

func TestTypes(t *testing.T) {
	for _, typ := range Types() {
		back, err := ParseType(typ.String())
		if err != nil || back != typ {
			t.Errorf("%v parses to %v, %v", typ, back, err)
		}
		plain := typ.Kind() == KindFloating || typ.Kind() == KindInteger
		if plain != (typ.BlockSize() == 1) || typ.Size() < 1 || typ.Size() > 292 {
			t.Errorf("%v has blocks of %d elements and %d bytes", typ, typ.BlockSize(), typ.Size())
		}
	}
	if n := len(Types()); n < 35 || Q4_K.Partner() != Q8_K || Q8_K.Kind() != KindActivation {
		t.Errorf("%d types; Q4_K's partner is %v", n, Q4_K.Partner())
	}
	if typ, err := ParseType("Bf16"); err != nil || typ != BF16 {
		t.Errorf("Bf16 parses to %v, %v", typ, err)
	}
	if none := Type(99); none.BlockSize() != 0 || none.Size() != 0 || none.String() != "type 99" {
		t.Errorf("an unknown type is %v with %d bytes in %d elements", none, none.Size(), none.BlockSize())
	}
}

func TestDevices(t *testing.T) {
	devices, err := Devices()
	if err != nil || len(devices) == 0 || devices[0].Name != "cpu" {
		t.Fatalf("the devices are %v, %v", devices, err)
	}
	if devices[0].Description == "" || devices[0].MemoryTotal == 0 || devices[0].Simulated {
		t.Errorf("the CPU is %+v", devices[0])
	}
	isas := ISAs()
	if len(isas) == 0 || isas[len(isas)-1] != "baseline" {
		t.Errorf("the instruction sets are %v, the last must be baseline", isas)
	}
	cpu := must(NewBackend("CPU", WithThreads(3), WithTF32()))
	defer cpu.Close()
	if cpu.Device() != "cpu" || cpu.Threads() != 3 || cpu.ISA() == "" {
		t.Errorf("the backend is %q with %d threads of %q", cpu.Device(), cpu.Threads(), cpu.ISA())
	}
	if Version() == "" {
		t.Error("the library has no version")
	}
}

func TestConstant(t *testing.T) {
	c := newContext(t)
	cpu := newCPU(t)
	w := f32(c, 2, 2)
	y := must(c.MulMat(w, f32(c, 2)))
	if err := w.SetConstant(); err != nil {
		t.Fatal(err)
	}
	if err := w.SetConstant(); err != nil {
		t.Errorf("a second promise: %v", err)
	}
	if err := cpu.Compute(y); err != nil {
		t.Fatal(err)
	}
	wantValues[float32](t, y, 1, 3)
	wantValues[float32](t, w, 0, 1, 2, 3)
	if err := w.DropOriginal(); err != nil { // a packed copy need not exist
		wantError(t, err, StatusUnsupported)
	}
	wantValues[float32](t, w, 0, 1, 2, 3)
}

func TestGradientsReach(t *testing.T) {
	c := newContext(t)
	a, b := f32(c, 3), f32(c, 3)
	y := must(c.Mul(a, must(c.StopGradient(b))))
	if reach, err := y.GradientsReach(a); err != nil || !reach {
		t.Errorf("through a product: %v, %v", reach, err)
	}
	if reach, err := y.GradientsReach(b); err != nil || reach {
		t.Errorf("where they end: %v, %v", reach, err)
	}
	if _, err := y.GradientsReach(nil); err == nil {
		t.Error("nil is taken")
	}
}
