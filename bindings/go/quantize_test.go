package tensorlib

import (
	"bytes"
	"math"
	"testing"
)

func TestQuantize(t *testing.T) {
	b := newCPU(t)
	values, ones := make([]float32, 3*512), make([]float32, 512)
	var whole float64
	for i := range values {
		values[i] = float32(math.Sin(float64(i)))
		whole += float64(values[i]) * float64(values[i])
	}
	for i := range ones {
		ones[i] = 1
	}
	for _, typ := range []Type{F16, Q8_0, Q4_K, IQ2_XXS} {
		blocks := must(typ.Quantize(values, 512, nil))
		if len(blocks) != len(values)/typ.BlockSize()*typ.Size() {
			t.Errorf("%v: %d bytes", typ, len(blocks))
		}
		if !bytes.Equal(blocks, must(b.Quantize(typ, values, 512, ones))) {
			t.Errorf("%v: other bytes with weights of one and two threads", typ)
		}
		var off float64
		for i, value := range must(typ.Dequantize(blocks)) {
			off += math.Pow(float64(value-values[i]), 2)
		}
		if off > 0.2*whole {
			t.Errorf("%v: squared error %g of %g", typ, off, whole)
		}
	}
	values[512+17] = float32(math.NaN())
	_, err := b.Quantize(Q4_K, values, 512, nil)
	wantError(t, err, StatusInvalidArgument, "value 17 of row 1 is nan", "finite numbers")
	_, err = Q4_K.Quantize(values[:300], 300, nil)
	wantError(t, err, StatusInvalidArgument, "multiple of 256")
	_, err = Q4_K.Quantize(values, 500, nil)
	wantError(t, err, StatusInvalidArgument, "no whole rows of 500")
	_, err = Q4_K.Quantize(values, 512, ones[:2])
	wantError(t, err, StatusInvalidArgument, "2 weights")
	_, err = Q4_K.Dequantize(make([]byte, 143))
	wantError(t, err, StatusInvalidArgument, "multiple of 144")
	_, err = Type(99).Quantize(values, 512, nil)
	wantError(t, err, StatusInvalidArgument, "no type 99")
}
