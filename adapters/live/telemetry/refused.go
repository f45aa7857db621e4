package telemetry

import "github.com/prometheus/client_golang/prometheus"

// NewRefusedGauge shows whether the present text of a configuration is refused, so that an older one holds, or none.
func NewRefusedGauge(configuration string, failure func() error) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "vgpualloc_configuration_refused",
		Help:        "1 while the present text of a configuration is invalid; the last valid one stays active, if there is one",
		ConstLabels: prometheus.Labels{"configuration": configuration},
	}, func() float64 {
		if failure() != nil {
			return 1
		}
		return 0
	})
}
