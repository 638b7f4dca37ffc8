package main

import (
	"bufio"
	"fmt"
	"math"
	"math/bits"
	"os"
	"strconv"
	"strings"
)

// images holds the pixels of all images, 64 each, from 0 to 1, and their digits.
type images struct {
	pixels []float32
	digits []int32
}

// readImages reads lines of 64 pixels of 0 to 16 and a digit. Lines that are empty or
// begin with # are skipped; an error names the line.
func readImages(file string) (im images, err error) {
	f, err := os.Open(file)
	if err != nil {
		return im, err
	}
	defer f.Close()
	lines, number := bufio.NewScanner(f), 0
	for lines.Scan() {
		number++
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.Split(line, ",")
		if len(words) != nPixels+1 {
			return im, fmt.Errorf("%s, line %d: %d values: 64 pixels and a digit are valid", file, number, len(words))
		}
		for i, word := range words {
			value, err := strconv.Atoi(word)
			if err != nil || value < 0 || value > 16 || i == nPixels && value > 9 {
				return im, fmt.Errorf("%s, line %d: value %d is %q: pixels of 0 to 16 and a digit are valid", file, number, i+1, word)
			}
			if i < nPixels {
				im.pixels = append(im.pixels, float32(value)/16)
			} else {
				im.digits = append(im.digits, int32(value))
			}
		}
	}
	if err := lines.Err(); err != nil {
		return im, fmt.Errorf("%s, after line %d: %w", file, number, err)
	}
	if len(im.digits) <= train {
		return im, fmt.Errorf("%s, line %d: %d images: more than %d are needed", file, number, len(im.digits), train)
	}
	return im, nil
}

// shuffled gives the numbers below n in the order of an epoch (Durstenfeld, 1964).
func shuffled(n, epoch int) []int {
	ofEpochs := sequence(seed, uint64(epoch))
	state := sequence(ofEpochs.next(), math.MaxUint64)
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = i
	}
	for i := n - 1; i > 0; i-- {
		j, _ := bits.Mul64(state.next(), uint64(i)+1) // from 0 to i, each as likely but for 2^-53
		numbers[i], numbers[j] = numbers[j], numbers[i]
	}
	return numbers
}

// random is SplitMix64 (Steele, Lea, Flood, 2014).
type random uint64

const gamma = 0x9e3779b97f4a7c15

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// sequence is where the sequence of a seed with a number begins.
func sequence(seed, number uint64) random { return random(mix(seed+gamma) ^ mix(number*gamma+1)) }

func (r *random) next() uint64 {
	*r += gamma
	return mix(uint64(*r))
}
