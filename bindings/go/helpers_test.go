package tensorlib

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

// must is for calls that a test needs but does not test.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func newContext(t *testing.T, options ...ContextOption) *Context {
	t.Helper()
	c := must(NewContext(options...))
	t.Cleanup(c.Close)
	return c
}

func newCPU(t *testing.T) *Backend {
	t.Helper()
	b := must(NewBackend("cpu", WithThreads(2)))
	t.Cleanup(b.Close)
	return b
}

// wantError checks that err is an *Error of the code whose message has all words.
func wantError(t *testing.T, err error, code Status, words ...string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Errorf("error is %v, want an *Error of %v", err, code)
		return
	}
	if e.Code != code {
		t.Errorf("status is %v (%q), want %v", e.Code, e.Message, code)
	}
	for _, word := range words {
		if !strings.Contains(e.Message, word) {
			t.Errorf("message %q lacks %q", e.Message, word)
		}
	}
}

func wantValues[T Element](t *testing.T, tensor *Tensor, want ...T) {
	t.Helper()
	got, err := ReadAll[T](tensor)
	if err != nil {
		t.Errorf("reading %v: %v", tensor, err)
	} else if !reflect.DeepEqual(got, want) {
		t.Errorf("%v is %v, want %v", tensor, got, want)
	}
}

// f32 makes a leaf of 0, 1, 2, ... with the shape ne.
func f32(c *Context, ne ...int64) *Tensor {
	n, _ := countElements(ne)
	data := make([]float32, n)
	for i := range data {
		data[i] = float32(i)
	}
	return must(NewTensorFrom(c, data, ne...))
}

// vector makes a leaf of one dimension with these values.
func vector(c *Context, values ...float32) *Tensor {
	return must(NewTensorFrom(c, values, int64(len(values))))
}
