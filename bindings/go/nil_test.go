package tensorlib

import (
	"fmt"
	"testing"
)

// Nil and zero handles return errors or empty results, and no call panics.
func TestNilNeverPanics(t *testing.T) {
	for name, call := range nilCalls(t) {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if value := recover(); value != nil {
					t.Errorf("panics: %v", value)
				}
			}()
			call()
		})
	}
}

func nilCalls(t *testing.T) map[string]func() {
	var tensor *Tensor
	var c *Context
	var g *Graph
	var b *Backend
	var file *GGUF
	var writer *GGUFWriter
	return map[string]func(){
		"Tensor.Context":    func() { tensor.Context() },
		"Tensor.Type":       func() { tensor.Type() },
		"Tensor.NDims":      func() { tensor.NDims() },
		"Tensor.Shape":      func() { tensor.Shape() },
		"Tensor.Strides":    func() { tensor.Strides() },
		"Tensor.Dim":        func() { tensor.Dim(0) },
		"Tensor.Len":        func() { tensor.Len() },
		"Tensor.NBytes":     func() { tensor.NBytes() },
		"Tensor.Op":         func() { tensor.Op() },
		"Tensor.Name":       func() { tensor.Name() },
		"Tensor.String":     func() { _ = fmt.Sprint(tensor) },
		"zero Tensor":       func() { _ = fmt.Sprint(&Tensor{}); (&Tensor{}).Shape() },
		"Context.Name":      func() { c.Name() },
		"Context.Used":      func() { c.UsedMemory() },
		"Context.Close":     func() { c.Close() },
		"Context.Tensors":   func() { c.Tensors() },
		"Context.Find":      func() { c.Find("a") },
		"Context.ID":        func() { c.ID() },
		"Context.Busy":      func() { c.BusyTimeout() },
		"Tensor.Sources":    func() { tensor.Sources(); (&Tensor{}).Sources() },
		"Graph.Tensors":     func() { g.NodeTensors(); g.LeafTensors(); g.OutputTensors() },
		"Graph.Nodes":       func() { g.Nodes() },
		"Graph.Leafs":       func() { g.Leafs() },
		"Graph.Close":       func() { g.Close() },
		"Backend.Device":    func() { b.Device() },
		"Backend.Devices":   func() { b.Devices() },
		"Backend.ISA":       func() { b.ISA() },
		"Backend.Threads":   func() { b.Threads() },
		"Backend.Packed":    func() { b.PackedMemory() },
		"Backend.Close":     func() { b.Close() },
		"zero Backend":      func() { (&Backend{}).Device(); (&Backend{}).Close() },
		"GGUF.Keys":         func() { file.Keys() },
		"GGUF.Close":        func() { file.Close() },
		"GGUFWriter.Close":  func() { writer.Close() },
		"GGUFWriter.Parts":  func() { writer.Parts() },
		"GGUFWriter.Finish": func() { wantError(t, writer.Finish(), StatusInvalidArgument, "nil") },
	}
}

func TestNilIsRefused(t *testing.T) {
	var tensor *Tensor
	var c *Context
	var g *Graph
	var b *Backend
	wantError(t, tensor.SetName("a"), StatusInvalidArgument, "nil")
	wantError(t, g.Compute(b), StatusInvalidArgument, "nil")
	wantError(t, b.Compute(), StatusInvalidArgument, "no output")
	wantError(t, b.Compute(nil), StatusInvalidArgument, "no output")
	wantError(t, c.Reset(), StatusInvalidArgument, "nil")
	cpu := newCPU(t)
	real := newContext(t)
	x := f32(real, 2)
	wantError(t, x.Map(AccessRead, nil), StatusInvalidArgument, "nil")
	// Nothing stays mapped after that.
	if err := Write(x, []float32{1, 2}); err != nil {
		t.Error(err)
	}
	wantError(t, must(NewGraph(real, x)).Compute(b), StatusInvalidArgument, "nil")
	wantError(t, cpu.Compute(x, nil), StatusInvalidArgument, "nil")
	for _, err := range []error{
		func() error { _, err := NewContext(nil); return err }(),
		func() error { _, err := NewBackend("cpu", nil); return err }(),
		func() error { _, err := c.NewTensor(F32, 1); return err }(),
		func() error { _, err := c.Add(tensor, tensor); return err }(),
		func() error { _, err := NewGraph(c, x); return err }(),
		func() error { _, err := JoinBackends(nil, cpu); return err }(),
	} {
		wantError(t, err, StatusInvalidArgument, "nil")
	}
}
