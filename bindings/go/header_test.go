package tensorlib

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Functions that the package leaves out on purpose.
var leftOut = map[string]string{
	"tl_tensor_new_1d": "NewTensor takes any number of dimensions",
	"tl_tensor_new_2d": "NewTensor takes any number of dimensions",
	"tl_tensor_new_3d": "NewTensor takes any number of dimensions",
	"tl_tensor_new_4d": "NewTensor takes any number of dimensions",
	"tl_tensor_data":   "a raw pointer outside all locks; Map holds them",

	"tl_tensor_to_dlpack":   "for libraries that share C memory; Go programs exchange slices",
	"tl_tensor_from_dlpack": "for libraries that share C memory; Go programs exchange slices",

	"tl_custom_op_number":         "Custom takes the operation itself",
	"tl_gguf_open_memory":         "C may not keep Go's memory; ParseGGUF copies it",
	"tl_gguf_array_u64":           "Value gives whole arrays",
	"tl_gguf_array_i64":           "Value gives whole arrays",
	"tl_gguf_array_f64":           "Value gives whole arrays",
	"tl_gguf_array_bool":          "Value gives whole arrays",
	"tl_gguf_array_read":          "Value gives whole arrays",
	"tl_tensor_name":              "Name copies it: another goroutine may name the tensor anew",
	"tl_join_params_init":         "there is nothing to set yet",
	"tl_context_busy_timeout":     "goroutines wait in Go: see patience",
	"tl_context_set_busy_timeout": "goroutines wait in Go: see patience",
	"tl_gguf_tensor_offset":       "for who reads the file without the library; TensorBytes gives the data",
}

// Every function of the C header is either used here or left out for a reason.
// The header is that of the source tree, or TENSORLIB_HEADER.
func TestHeaderIsCovered(t *testing.T) {
	header := os.Getenv("TENSORLIB_HEADER")
	if header == "" {
		header = filepath.Join("..", "..", "capi", "include", "tensorlib", "tensorlib.h")
	}
	text, err := os.ReadFile(header)
	if err != nil {
		t.Fatalf("set TENSORLIB_HEADER to tensorlib.h: %v", err)
	}
	var sources strings.Builder
	for _, pattern := range []string{"*.go", "*.c", "*.h"} {
		for _, name := range must(filepath.Glob(pattern)) {
			if !strings.HasSuffix(name, "_test.go") {
				sources.Write(must(os.ReadFile(name)))
			}
		}
	}
	prototypes := regexp.MustCompile(`(?m)^TL_API [^;(]*\b(tl_\w+)\(`).FindAllStringSubmatch(string(text), -1)
	if len(prototypes) < 60 {
		t.Fatalf("%s has only %d functions: did its form change?", header, len(prototypes))
	}
	for _, prototype := range prototypes {
		name := prototype[1]
		used := regexp.MustCompile(`\b` + name + `\(`).MatchString(sources.String())
		if _, out := leftOut[name]; used == out {
			t.Errorf("%s: used %v, left out on purpose %v", name, used, out)
		}
	}
}
