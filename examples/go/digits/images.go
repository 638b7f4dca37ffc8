package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
)

const pixels = 64

// images holds the pixels of all images, one after the other, and their digits.
type images struct {
	pixels []float32
	digits []int
}

// norms gives the squared length of each image.
func (im images) norms() []float32 {
	norms := make([]float32, len(im.digits))
	for i, v := range im.pixels {
		norms[i/pixels] += v * v
	}
	return norms
}

// readImages reads the references and the others from a file. Lines that are
// empty or begin with # are skipped; any other must be 64 pixels of 0 to 16 and a
// digit, and an error names the line.
func readImages(file string) (known, asked images, err error) {
	f, err := os.Open(file)
	if err != nil {
		return known, asked, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	number := 0
	for lines.Scan() {
		number++
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		to := &known
		if len(known.digits) == references {
			to = &asked
		}
		if err := to.add(line); err != nil {
			return known, asked, fmt.Errorf("%s, line %d: %w", file, number, err)
		}
	}
	if err := lines.Err(); err != nil {
		return known, asked, fmt.Errorf("%s, after line %d: %w", file, number, err)
	}
	if len(asked.digits) == 0 {
		return known, asked, fmt.Errorf("%s ends at line %d after %d images: more than %d are needed",
			file, number, len(known.digits), references)
	}
	return known, asked, nil
}

func (im *images) add(line string) error {
	values := strings.Split(line, ",")
	if len(values) != pixels+1 {
		return fmt.Errorf("%d values, want %d pixels and the digit", len(values), pixels)
	}
	for i, text := range values {
		most, what := 16, "pixel"
		if i == pixels {
			most, what = 9, "digit"
		}
		v, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || v < 0 || v > most {
			return fmt.Errorf("value %d is %q, want a %s of 0 to %d", i+1, text, what, most)
		}
		if i == pixels {
			im.digits = append(im.digits, v)
		} else {
			im.pixels = append(im.pixels, float32(v))
		}
	}
	return nil
}
