package measure

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Linux counts a process's time in hundredths of a second in /proc, whatever the kernel's own tick is.
const ticksPerSecond = 100

// Use is what a process has used.
type Use struct {
	CPUSeconds  float64 `json:"cpu_s"`
	RSSMiB      float64 `json:"rss_mib"`
	RSSPeakMiB  float64 `json:"rss_peak_mib"`
	ThreadCount int     `json:"threads"`
}

// Process reads what the process has used so far.
func Process(pid int) (Use, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Use{}, err
	}
	// The program's name, in parentheses, may have blanks; fields are counted after it, utime and stime being 14 and 15.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 13 {
		return Use{}, fmt.Errorf("/proc/%d/stat: %d fields after the name, expected 13 or more", pid, len(fields))
	}
	var ticks int
	for _, field := range fields[11:13] {
		amount, err := strconv.Atoi(field)
		if err != nil {
			return Use{}, fmt.Errorf("/proc/%d/stat: %q, expected a number of ticks", pid, field)
		}
		ticks += amount
	}
	result := Use{CPUSeconds: float64(ticks) / ticksPerSecond}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Use{}, err
	}
	for _, line := range strings.Split(string(status), "\n") {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		amount, _ := strconv.Atoi(words[1])
		switch words[0] {
		case "VmRSS:":
			result.RSSMiB = float64(amount) / 1024
		case "VmHWM:":
			result.RSSPeakMiB = float64(amount) / 1024
		case "Threads:":
			result.ThreadCount = amount
		}
	}
	return result, nil
}
