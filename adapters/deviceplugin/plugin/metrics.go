package plugin

import "context"

// startMetrics serves what --metrics-listen names.
func (s *session) startMetrics(run func(func(context.Context)), failures chan<- error) error {
	return nil
}
