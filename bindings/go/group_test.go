package tensorlib

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// onRanks calls f for each rank on a goroutine and returns its errors.
func onRanks(ranks []*Group, f func(g *Group) error) []error {
	failures := make([]error, len(ranks))
	var all sync.WaitGroup
	for i, g := range ranks {
		all.Add(1)
		go func() {
			defer all.Done()
			defer g.Close()
			failures[i] = f(g)
		}()
	}
	all.Wait()
	return failures
}

func groupValues(outputs ...*Tensor) ([]float32, error) {
	b, err := NewBackend("cpu", WithThreads(1))
	if err != nil {
		return nil, err
	}
	defer b.Close()
	if err := b.Compute(outputs...); err != nil {
		return nil, err
	}
	return ReadAll[float32](outputs[len(outputs)-1])
}

func TestEachRankGetsItsResult(t *testing.T) {
	for n := 1; n <= 4; n++ {
		for _, err := range onRanks(must(NewLocalGroup(n, nil)), func(g *Group) error {
			c, err := NewContext()
			if err != nil {
				return err
			}
			defer c.Close()
			rank := g.Rank()
			of := func(rank int) []float32 { return []float32{float32(10 * rank), float32(10*rank + 1)} }
			var sum, all []float32 = []float32{0, 0}, nil
			for r := range n {
				sum[0], sum[1] = sum[0]+of(r)[0], sum[1]+of(r)[1]
				all = append(all, of(r)...)
			}
			a := must(NewTensorFrom(c, of(rank), 2))
			next, before := int64((rank+1)%n), (rank+n-1)%n
			sent, received := must(c.Send(a, next, g)), must(c.Receive(a, int64(before), g))
			for _, one := range []struct {
				nodes []*Tensor
				want  []float32
			}{
				{[]*Tensor{must(c.AllSum(a, g))}, sum},
				{[]*Tensor{must(c.AllMax(a, g))}, of(n - 1)},
				{[]*Tensor{must(c.AllGather(a, 0, g))}, all},
				{[]*Tensor{must(c.Broadcast(a, int64(n-1), g))}, of(n - 1)},
				{[]*Tensor{must(c.AllToAll(must(c.AllGather(a, 1, g)), 1, g))}, slices.Repeat(of(rank), n)},
				{[]*Tensor{must(c.SumScatter(must(c.AllGather(a, 1, g)), 1, g))}, []float32{float32(n) * of(rank)[0], float32(n) * of(rank)[1]}},
				{[]*Tensor{sent, received}, of(before)},
				{[]*Tensor{must(c.AllSum(must(c.CopyToGroup(a, g)), g))}, sum},
			} {
				got, err := groupValues(one.nodes...)
				if err != nil {
					return err
				}
				if !slices.Equal(got, one.want) {
					t.Errorf("rank %d of %d: %v, not %v", rank, n, got, one.want)
				}
			}
			return nil
		}) {
			if err != nil {
				t.Error(err)
			}
		}
	}
}

func isGroupError(err error, words string) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == StatusGroup && strings.Contains(e.Message, words)
}

func TestRanksThatDifferLeaveOrDoNotCome(t *testing.T) {
	failures := onRanks(must(NewLocalGroup(2, nil)), func(g *Group) error {
		c := must(NewContext())
		defer c.Close()
		a := must(NewTensorFrom(c, make([]float32, 2+g.Rank()), int64(2+g.Rank())))
		_, err := groupValues(must(c.AllSum(a, g)))
		return err
	})
	for _, err := range failures {
		if !isGroupError(err, "all_sum of [2] f32 on rank 0, all_sum of [3] f32 on rank 1") {
			t.Error(err)
		}
	}
	failures = onRanks(must(NewLocalGroup(2, nil)), func(g *Group) error {
		if g.Rank() == 0 {
			return nil
		}
		c := must(NewContext())
		defer c.Close()
		_, err := groupValues(must(c.AllSum(vector(c, 1), g)))
		return err
	})
	if !isGroupError(failures[1], "rank 0 has left the group") {
		t.Error(failures[1])
	}
	ranks := must(NewLocalGroup(2, &GroupOptions{Timeout: 50 * time.Millisecond}))
	c := newContext(t)
	if _, err := groupValues(must(c.AllSum(vector(c, 1), ranks[0]))); !isGroupError(err, "has waited 50 ms for rank 1") {
		t.Error(err)
	}
	for _, g := range ranks {
		g.Close()
	}
}

func TestSharesAreWholeBlocks(t *testing.T) {
	for rank, want := range [][2]int64{{0, 512}, {512, 256}, {768, 232}} {
		if first, count, err := ShardRange(1000, 256, rank, 3); err != nil || [2]int64{first, count} != want {
			t.Error(rank, first, count, err)
		}
	}
	for _, bad := range [][4]int64{{-1, 8, 0, 2}, {5, 0, 0, 2}, {5, 8, 2, 2}, {5, 8, -1, 2}, {5, 8, 0, 0}, {5, 8, 1 << 40, 2}} {
		if _, _, err := ShardRange(bad[0], bad[1], int(bad[2]), int(bad[3])); err == nil || !strings.Contains(err.Error(), "valid") {
			t.Error(bad, err)
		}
	}
}

func TestGroupsSplitAndRefuse(t *testing.T) {
	parts := make([]*Group, 3)
	for _, err := range onRanks(must(NewLocalGroup(3, nil)), func(g *Group) error {
		colour := 7
		if g.Rank() == 1 {
			colour = -1
		}
		part, err := g.Split(colour, -g.Rank())
		parts[g.Rank()] = part
		return err
	}) {
		if err != nil {
			t.Error(err)
		}
	}
	if parts[1] != nil || parts[0].Rank() != 1 || parts[2].Rank() != 0 || parts[0].Size() != 2 {
		t.Error("wrong parts")
	}
	for _, name := range []string{"", "selv", "local:0", "local:x", "a\x00b"} {
		if g, err := NewGroup(name, nil); err == nil || g != nil {
			t.Errorf("%q: no error", name)
		}
	}
	if _, err := NewGroup("self", &GroupOptions{Timeout: -1}); err == nil {
		t.Error("a negative timeout: no error")
	}
	if _, err := NewLocalGroup(0, nil); err == nil {
		t.Error("no ranks: no error")
	}
	own := must(NewGroup("auto", nil))
	if !strings.HasPrefix(own.String(), "self: one rank, because no launcher") || own.Size() != 1 {
		t.Error(own)
	}
	if _, err := own.Split(1<<40, 0); err == nil {
		t.Error("a colour of 40 bits: no error")
	}
	c := newContext(t)
	sum := must(c.AllSum(vector(c, 1, 2), own))
	own.Close()
	own.Close()
	// The node keeps the group, but the handle makes no more.
	if got := must(groupValues(sum)); !slices.Equal(got, []float32{1, 2}) {
		t.Error(got)
	}
	if _, err := c.AllSum(vector(c, 1), own); err == nil || !strings.Contains(err.Error(), "Close") {
		t.Error(err)
	}
	if _, err := c.AllSum(vector(c, 1), nil); err == nil || !strings.Contains(err.Error(), "group is nil") {
		t.Error(err)
	}
	var none *Group
	if none.Rank() != 0 || none.Size() != 0 || !strings.Contains(none.String(), "nil") {
		t.Error("a nil group")
	}
	none.Close()
}
