// Package pause waits between attempts.
package pause

import (
	"context"
	"time"
)

// For waits so long, or until the context ends. It returns false if the context has ended.
func For(ctx context.Context, length time.Duration) bool {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
