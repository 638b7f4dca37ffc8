package tensorlib

import (
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
)

// The grammar of the language-neutral cases is in tests/cases/README.md.

type testCase struct {
	name  string
	steps []step // leafs and operations in order
	outs  []expected
	code  string // the code of the error that the last operation must return; "" if none
	fails string // the tensor whose computing must return it; "" if the operation must
	words []string
	cpu   bool // only for the CPU: elsewhere computing must be unsupported
}

type step struct {
	id    string
	leaf  *leaf // nil: an operation, or blocks
	raw   *blocks
	op    string
	src   []string
	attrs map[string]string
}

type leaf struct {
	typ  string
	ne   []int64
	seed uint32
	set  map[int64]float32
}

// blocks is a leaf of a quantised type, given byte by byte.
type blocks struct {
	typ   string
	ne    []int64
	bytes []byte
}

type expected struct {
	id, typ  string
	ne       []int64
	abs, rel float64
	at       map[int64]float64
}

// parseCases reads one file of cases; an unknown line is an error and is never
// skipped.
func parseCases(path string) ([]testCase, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var cases []testCase
	var open *testCase
	for i, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		keyword, rest, _ := strings.Cut(line, " ")
		switch {
		case keyword == "case" && open == nil:
			open = &testCase{name: rest}
		case keyword == "end" && open != nil:
			cases = append(cases, *open)
			open = nil
		case open == nil:
			err = fmt.Errorf("%q outside of a case", keyword)
		default:
			err = open.add(keyword, rest)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, i+1, err)
		}
	}
	if open != nil {
		return nil, fmt.Errorf("%s: case %s has no end", path, open.name)
	}
	return cases, nil
}

func (c *testCase) add(keyword, rest string) error {
	f := &fields{words: strings.Fields(rest)}
	switch keyword {
	case "leaf":
		id := f.word()
		l := &leaf{typ: f.word(), ne: f.ints(4), set: map[int64]float32{}}
		l.seed = uint32(f.int())
		c.steps = append(c.steps, step{id: id, leaf: l})
	case "blocks":
		id := f.word()
		c.steps = append(c.steps, step{id: id, raw: &blocks{typ: f.word(), ne: f.ints(4)}})
	case "hex":
		return c.addHex(f.word(), f.word())
	case "cpu_only":
		c.cpu = true
	case "fails":
		c.fails, c.code = f.word(), f.word()
	case "set":
		l := c.leaf(f.word())
		if l == nil {
			return fmt.Errorf("set: no such leaf")
		}
		index := f.int()
		l.set[index] = float32(f.number())
	case "op":
		c.steps = append(c.steps, f.operation())
	case "out":
		c.outs = append(c.outs, expected{id: f.word(), typ: f.word(), ne: f.ints(4), at: map[int64]float64{}})
	case "tol", "at":
		if len(c.outs) == 0 {
			return fmt.Errorf("%s before out", keyword)
		}
		out := &c.outs[len(c.outs)-1]
		if keyword == "tol" {
			out.abs, out.rel = f.number(), f.number()
			break
		}
		for i := f.int(); len(f.words) > 0; i++ {
			out.at[i] = f.number()
		}
	case "error":
		c.code = f.word()
	case "word":
		c.words = append(c.words, rest)
		return nil
	default:
		return fmt.Errorf("unknown line %q", keyword)
	}
	if f.err == nil && len(f.words) > 0 {
		return fmt.Errorf("%s: %d words too many", keyword, len(f.words))
	}
	return f.err
}

// addHex appends bytes to the blocks of a leaf.
func (c *testCase) addHex(id, digits string) error {
	bytes, err := hex.DecodeString(digits)
	for _, s := range c.steps {
		if s.id == id && s.raw != nil {
			s.raw.bytes = append(s.raw.bytes, bytes...)
			return err
		}
	}
	return fmt.Errorf("hex: no such leaf")
}

func (c *testCase) leaf(id string) *leaf {
	for _, s := range c.steps {
		if s.id == id {
			return s.leaf
		}
	}
	return nil
}

// fields takes words from a line and keeps the first error.
type fields struct {
	words []string
	err   error
}

// operation takes an operation's names, operands and attributes.
func (f *fields) operation() step {
	s := step{id: f.word(), op: f.word(), attrs: map[string]string{}}
	for len(f.words) > 0 {
		if key, value, isAttr := strings.Cut(f.word(), "="); isAttr {
			s.attrs[key] = value
		} else {
			s.src = append(s.src, key)
		}
	}
	return s
}

func (f *fields) word() string {
	if len(f.words) == 0 {
		if f.err == nil {
			f.err = fmt.Errorf("the line is too short")
		}
		return ""
	}
	word := f.words[0]
	f.words = f.words[1:]
	return word
}

func (f *fields) int() int64 {
	value, err := strconv.ParseInt(f.word(), 10, 64)
	if f.err == nil && err != nil {
		f.err = err
	}
	return value
}

func (f *fields) ints(n int) []int64 {
	values := make([]int64, n)
	for i := range values {
		values[i] = f.int()
	}
	return values
}

func (f *fields) number() float64 {
	value, err := strconv.ParseFloat(f.word(), 64)
	if f.err == nil && err != nil {
		f.err = err
	}
	return value
}

// values runs the generator of the grammar and then the set lines.
func (l *leaf) values(n int64, typ Type) []float32 {
	data := make([]float32, n)
	for i := range data {
		x := uint32(i) ^ l.seed*0x9E3779B1
		x = (x ^ x>>16) * 0x7FEB352D
		x = (x ^ x>>15) * 0x846CA68B
		x ^= x >> 16
		x >>= 8
		switch typ {
		case Bool:
			data[i] = float32(x % 2)
		case U8:
			data[i] = float32(x % 200)
		case I8, I16, I32, I64:
			data[i] = float32(int32(x%200) - 100)
		default:
			data[i] = float32(int32(x%4096)-2048) / 512
		}
	}
	for i, v := range l.set {
		data[i] = v
	}
	return data
}

// differs says how got is wrong; "" if it passes.
func (e *expected) differs(got []float32) string {
	for i, want := range e.at {
		if i < 0 || i >= int64(len(got)) {
			return fmt.Sprintf("an at line reaches element %d of %d", i, len(got))
		}
		g := float64(got[i])
		same := g == want || math.IsNaN(g) && math.IsNaN(want)
		finite := !math.IsInf(g, 0) && !math.IsInf(want, 0)
		if !same && !(finite && math.Abs(g-want) <= e.abs+e.rel*math.Abs(want)) {
			return fmt.Sprintf("%s[%d] is %.9g, want %.9g (tol %g %g)", e.id, i, g, want, e.abs, e.rel)
		}
	}
	return ""
}
