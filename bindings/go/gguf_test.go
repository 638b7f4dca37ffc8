package tensorlib

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

var ggufValues = []struct {
	key   string
	value any
}{
	{"u8", uint8(200)}, {"i8", int8(-100)}, {"u16", uint16(60000)}, {"i16", int16(-30000)},
	{"u32", uint32(4000000000)}, {"i32", int32(-2000000000)}, {"u64", ^uint64(0)}, {"i64", int64(-1 << 63)},
	{"f32", float32(3.25)}, {"f64", -1e300}, {"bool", true}, {"text", "gr\u00fc\u00df\x00."}, {"empty", ""},
	{"u8s", []uint8{1, 2}}, {"i8s", []int8{-1}}, {"u16s", []uint16{1}}, {"i16s", []int16{-1}},
	{"u32s", []uint32{1}}, {"i32s", []int32{1, -2, 3}}, {"u64s", []uint64{1}}, {"i64s", []int64{-1}},
	{"f32s", []float32{0.5}}, {"f64s", []float64{}}, {"bools", []bool{true, false}}, {"texts", []string{"a", "", "bc"}},
}

func writeGGUF(t *testing.T, path string) {
	t.Helper()
	c := newContext(t)
	weights := f32(c, 2, 3)
	if err := weights.SetName("weights"); err != nil {
		t.Fatal(err)
	}
	w := must(NewGGUFWriter(path, WithGGUFAlignment(64), WithGGUFVersion(2)))
	defer w.Close()
	for _, v := range ggufValues {
		if err := w.Set(v.key, v.value); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{w.Add(weights), w.Declare("scalar", I32)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if n, err := fmt.Fprint(w, "\x07\x00\x00\x00"); n != 4 || err != nil {
		t.Fatalf("written %d bytes, %v", n, err)
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	if w.Parts() != 1 {
		t.Errorf("%d parts, want 1", w.Parts())
	}
}

func TestGGUF(t *testing.T) {
	path := filepath.Join(t.TempDir(), "small.gguf")
	writeGGUF(t, path)
	for name, g := range map[string]*GGUF{
		"mapped": must(OpenGGUF(path)), "read": must(ReadGGUF(path)), "parsed": must(ParseGGUF(must(os.ReadFile(path)))),
	} {
		t.Run(name, func(t *testing.T) {
			if g.Version() != 2 || g.Alignment() != 64 || g.Parts() != 1 {
				t.Errorf("version %d, alignment %d, %d parts", g.Version(), g.Alignment(), g.Parts())
			}
			if len(g.Keys()) != len(ggufValues)+1 || g.Keys()[0] != "u8" {
				t.Errorf("keys are %q", g.Keys())
			}
			for _, v := range ggufValues {
				if got, err := g.Value(v.key); err != nil || !reflect.DeepEqual(got, v.value) {
					t.Errorf("%s is %#v, %v; want %#v", v.key, got, err, v.value)
				}
			}
			if must(g.Uint("u8")) != 200 || must(g.Int("u32")) != 4000000000 || must(g.Float("f32")) != 3.25 || !must(g.Bool("bool")) || must(g.Text("text")) != "gr\u00fc\u00df\x00." {
				t.Error("a getter gives another value")
			}
			want := []GGUFTensor{{"weights", F32, []int64{2, 3}, 24}, {"scalar", I32, []int64{}, 4}}
			if got := g.Tensors(); !reflect.DeepEqual(got, want) {
				t.Errorf("tensors are %v, want %v", got, want)
			}
			if got := must(g.TensorBytes("scalar")); !reflect.DeepEqual(got, []byte{7, 0, 0, 0}) {
				t.Errorf("the scalar's bytes are %v", got)
			}
			c := newContext(t)
			leaf := must(c.GGUFTensor(g, "weights"))
			g.Close()
			g.Close()
			wantValues(t, leaf, float32(0), 1, 2, 3, 4, 5)
			wantError(t, Write(leaf, make([]float32, 6)), StatusInvalidArgument, "'weights'", "GGUF file and is read-only")
			_, err := g.Value("u8")
			wantError(t, err, StatusInvalidArgument, "Close")
			if g.Version() != 0 || g.Keys() != nil || g.Tensors() != nil {
				t.Error("a closed file answers")
			}
		})
	}
}

func TestGGUFParts(t *testing.T) {
	folder, c := t.TempDir(), newContext(t)
	w := must(NewGGUFWriter(filepath.Join(folder, "big.gguf"), WithGGUFSplitSize(1024)))
	defer w.Close()
	for i := range 3 {
		tensor := f32(c, 200)
		if err := tensor.SetName(fmt.Sprint("t", i)); err != nil {
			t.Fatal(err)
		}
		if err := w.Add(tensor); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(); err != nil || w.Parts() != 3 {
		t.Fatalf("%d parts, %v", w.Parts(), err)
	}
	g := must(OpenGGUF(filepath.Join(folder, "big-00002-of-00003.gguf")))
	defer g.Close()
	if g.Parts() != 3 || len(g.Tensors()) != 3 {
		t.Errorf("%v has %d parts", g, g.Parts())
	}
	other := must(NewGGUFWriter(filepath.Join(folder, "copy.gguf")))
	defer other.Close()
	if err := other.CopyKeys(g); err != nil {
		t.Error(err)
	}
}

func TestGGUFErrors(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "small.gguf")
	writeGGUF(t, path)
	g, c := must(ReadGGUF(path)), newContext(t)
	w := must(NewGGUFWriter(filepath.Join(folder, "w.gguf")))
	last := func(_ any, err error) error { return err }
	for _, row := range []struct {
		err   error
		code  Status
		words []string
	}{
		{last(OpenGGUF(filepath.Join(folder, "none"))), StatusIO, []string{"none", "No such file"}},
		{last(ReadGGUF(folder)), StatusIO, []string{"folder"}},
		{last(OpenGGUF("a\x00b")), StatusInvalidArgument, []string{"NUL"}},
		{last(ParseGGUF([]byte("GGUF"))), StatusFormat, []string{"byte 4"}},
		{last(ParseGGUF(nil)), StatusFormat, []string{"byte 0"}},
		{last(g.Value("nothing")), StatusInvalidArgument, []string{`"nothing"`}},
		{last(g.Uint("i8")), StatusTypeMismatch, []string{"'i8' is i8"}},
		{last(g.Text("u8s")), StatusTypeMismatch, []string{"'u8s' is array"}},
		{last(g.TensorBytes("nothing")), StatusInvalidArgument, []string{`"nothing"`}},
		{last(c.GGUFTensor(g, "nothing")), StatusInvalidArgument, []string{"'nothing'"}},
		{last(c.GGUFTensor(nil, "weights")), StatusInvalidArgument, []string{"nil"}},
		{last(NewGGUFWriter(filepath.Join(folder, "none", "x"))), StatusIO, []string{"No such file"}},
		{last(NewGGUFWriter(path, WithGGUFAlignment(3))), StatusInvalidArgument, []string{"alignment 3"}},
		{w.Set("k", 1), StatusTypeMismatch, []string{`"k"`, "int"}},
		{w.Set("", "x"), StatusInvalidArgument, []string{"key is empty"}},
		{w.Set("split.no", "x"), StatusInvalidArgument, []string{"split.no"}},
		{w.Declare("t", F32, -1), StatusInvalidArgument, []string{"-1"}},
		{w.Declare("t", F32, 4), StatusOK, nil},
		{w.Declare("t", F32, 4), StatusInvalidArgument, []string{"'t'", "already"}},
		{w.Finish(), StatusInvalidArgument, []string{"'t' lacks 16"}},
		{last(w.Write(make([]byte, 17))), StatusInvalidArgument, []string{"17"}},
		{w.CopyKeys(nil), StatusInvalidArgument, []string{"nil"}},
		{(*GGUFWriter)(nil).Finish(), StatusInvalidArgument, []string{"nil"}},
	} {
		if row.code == StatusOK {
			if row.err != nil {
				t.Error(row.err)
			}
			continue
		}
		wantError(t, row.err, row.code, row.words...)
	}
	w.Close()
	wantError(t, w.Finish(), StatusInvalidArgument, "Close")
	g.Close()
	if names := must(os.ReadDir(folder)); len(names) != 1 {
		t.Errorf("files left: %v", names)
	}
}
