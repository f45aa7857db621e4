package live

import (
	"maps"
	"time"
)

// decisionTimes is how many bounds Counts has: 10 microseconds, doubled up to 0.33 s.
const decisionTimes = 16

// Counts are of what has happened to a cluster, for metrics.
type Counts struct {
	Decisions uint64        // pods that were booked
	Took      time.Duration // to ask all nodes about them and to book them, in sum
	// Within is how many of them took at most DecisionBound of that index.
	Within [decisionTimes]uint64
	// Rejections are of nodes that refused a pod which fits nowhere, by reason; once for each pod until it changes.
	Rejections map[string]uint64
}

// DecisionBound is a bound of Counts.Within.
func DecisionBound(index int) time.Duration { return 10 * time.Microsecond << index }

// Counts are those of now.
func (c *Cluster) Counts() Counts {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	result := c.counts
	result.Rejections = maps.Clone(c.counts.Rejections)
	return result
}

func (c *Counts) decide(took time.Duration) {
	c.Decisions++
	c.Took += took
	for index := range c.Within {
		if took <= DecisionBound(index) {
			c.Within[index]++
		}
	}
}

func (c *Counts) refuse(reasons map[string]int) {
	if c.Rejections == nil {
		c.Rejections = map[string]uint64{}
	}
	for reason, nodes := range reasons {
		c.Rejections[reason] += uint64(nodes)
	}
}
