package measure

import "github.com/prometheus/procfs"

// Use is what a process has used.
type Use struct {
	CPUSeconds  float64 `json:"cpu_s"`
	RSSMiB      float64 `json:"rss_mib"`
	RSSPeakMiB  float64 `json:"rss_peak_mib"`
	ThreadCount int     `json:"threads"`
}

// Process reads what the process has used so far.
func Process(pid int) (Use, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return Use{}, err
	}
	stat, err := process.Stat()
	if err != nil {
		return Use{}, err
	}
	status, err := process.NewStatus()
	if err != nil {
		return Use{}, err
	}
	const mebibyte = 1 << 20
	return Use{CPUSeconds: stat.CPUTime(), RSSMiB: float64(status.VmRSS) / mebibyte, RSSPeakMiB: float64(status.VmHWM) / mebibyte,
		ThreadCount: stat.NumThreads}, nil
}
