package measure

import (
	"os"
	"syscall"
	"testing"
	"time"
)

func TestQuantilesAreNearestRank(t *testing.T) {
	var sorted []time.Duration
	for i := 1; i <= 100; i++ {
		sorted = append(sorted, time.Duration(i)*time.Second)
	}
	for share, expected := range map[float64]float64{0.5: 50, 0.9: 90, 0.99: 99, 1: 100} {
		if value := quantile(sorted, share); value != expected {
			t.Errorf("quantile %v of 1 to 100 s: %v, expected %v", share, value, expected)
		}
	}
	if value := quantile(sorted[:1], 0.99); value != 1 {
		t.Errorf("quantile of one: %v, expected 1", value)
	}
}

// spent is this process's CPU time as the kernel tells it.
func spent(t *testing.T) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func TestWhatThisProcessUses(t *testing.T) {
	before, err := Process(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for began := spent(t); spent(t)-began < 100*time.Millisecond; { // others may have the CPU meanwhile
	}
	after, err := Process(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if rise := after.CPUSeconds - before.CPUSeconds; rise < 0.08 || rise > 5 {
		t.Errorf("a tenth of a second of CPU is %v s", rise)
	}
	if after.RSSMiB <= 0 || after.RSSPeakMiB < after.RSSMiB || after.ThreadCount < 1 {
		t.Errorf("memory %v of %v MiB, %d threads", after.RSSMiB, after.RSSPeakMiB, after.ThreadCount)
	}
	if _, err := Process(-1); err == nil {
		t.Error("there is no process -1, and no error")
	}
}
