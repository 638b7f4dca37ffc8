package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	tensorlib "tensorlib/bindings/go"
)

const data = "../../data/digits.csv"

// The known answer, and each distance against the plain sum of squares.
func TestDistances(t *testing.T) {
	known, asked, err := readImages(data)
	if err != nil {
		t.Fatal(err)
	}
	backend, err := tensorlib.NewBackend("cpu", tensorlib.WithThreads(2))
	if err != nil {
		t.Fatal(err)
	}
	defer backend.Close()
	distances, err := squaredDistances(backend, known, asked)
	if err != nil {
		t.Fatal(err)
	}
	right := 0
	for i, digit := range asked.digits {
		row := distances[i*references : (i+1)*references]
		for j, got := range row {
			var want float32
			for p := 0; p < pixels; p++ {
				d := asked.pixels[i*pixels+p] - known.pixels[j*pixels+p]
				want += d * d
			}
			if got != want {
				t.Fatalf("the distance of %d from %d is %v, want %v", i, j, got, want)
			}
		}
		if known.digits[smallest(row)] == digit {
			right++
		}
	}
	if right != 767 || len(asked.digits) != 797 {
		t.Errorf("%d of %d are right, want 767 of 797", right, len(asked.digits))
	}
}

func TestBadFiles(t *testing.T) {
	text, err := os.ReadFile(data)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	change := func(line int, to string) string {
		changed := append([]string(nil), lines...)
		changed[line-1] = to
		return strings.Join(changed, "")
	}
	image := lines[4]
	for name, bad := range map[string]struct{ text, want string }{
		"empty":      {"", "line 0"},
		"too short":  {strings.Join(lines[:1001], ""), "line 1001 after 1000 images"},
		"few values": {change(5, "1,2,3\n"), "line 5: 3 values"},
		"no number":  {change(900, strings.Replace(image, ",", ",x", 1)), "line 900: value 2"},
		"pixel":      {change(7, "17"+image[1:]), "line 7: value 1"},
		"digit":      {change(1500, strings.TrimSpace(image)+"0\n"), "line 1500: value 65"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "bad.csv")
			if err := os.WriteFile(file, []byte(bad.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, _, err := readImages(file)
			if err == nil || !strings.Contains(err.Error(), bad.want) {
				t.Errorf("the error is %v, want %q in it", err, bad.want)
			}
		})
	}
	if err := run("cpu", 0, "no such file.csv"); err == nil {
		t.Error("a missing file is no error")
	}
	if err := run("abacus", 0, data); err == nil {
		t.Error("a missing device is no error")
	}
}
