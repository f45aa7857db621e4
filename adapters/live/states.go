package live

import (
	"errors"
	"time"

	"vgpualloc.example/adapters/vga"
)

// states gives the states of a cluster numbers. A scheduler books a gang to see whether it can be had, takes that back and
// books it again, as Volcano does for every job that is to be near to itself in the network's topology. So what was answered holds whenever the cluster
// is in that state again, and what is taken back stays booked in the core until something else happens: most often it is
// booked again, and nothing had to be done.
type states struct {
	now          uint64
	last         uint64 // that was given
	reservations []reservation
	held         int // of reservations; the others are taken back, but the core still has them
	after        map[step]uint64
}

// step is a reservation from a state.
type step struct {
	before uint64
	uid    string
	node   vga.Node
}

// reservation is one that can be taken back so that the cluster is as before it.
type reservation struct {
	step
	after    uint64
	decision *Decision
	decided  time.Time
}

// begin is a change that cannot be taken back, after settle().
func (s *states) begin() {
	if s.held < len(s.reservations) {
		panic("the core has changed before it was told of what is taken back")
	}
	s.last++
	s.now = s.last
	s.reservations, s.held = s.reservations[:0], 0
	clear(s.after)
}

// reserve is a new reservation: from one state it always leads to the same one.
func (s *states) reserve(taken step, decision *Decision, decided time.Time) {
	after, known := s.after[taken]
	if !known {
		s.last++
		after = s.last
		if s.after == nil {
			s.after = map[step]uint64{}
		}
		s.after[taken] = after
	}
	s.reservations = append(s.reservations[:s.held], reservation{taken, after, decision, decided})
	s.held++
	s.now = after
}

// again is a reservation that was taken back and that the core still has; nil if this is not the next of them.
func (s *states) again(taken step) *reservation {
	if s.held == len(s.reservations) || s.reservations[s.held].step != taken {
		return nil
	}
	result := &s.reservations[s.held]
	s.held++
	s.now = result.after
	return result
}

// takeBack is a rollback. False if the reservation is not the last thing that happened: the state is another one then.
func (s *states) takeBack(uid string) bool {
	last := s.held - 1
	if last < 0 || s.reservations[last].uid != uid || s.reservations[last].after != s.now {
		return false
	}
	s.held = last
	s.now = s.reservations[last].before
	return true
}

// isTakenBack is whether the core has a pod's reservation that does not hold.
func (s *states) isTakenBack(uid string) bool {
	for _, taken := range s.reservations[s.held:] {
		if taken.uid == uid {
			return true
		}
	}
	return false
}

// settle has the core take back what is taken back, the last first. Everything that asks the core about bookings, or
// changes it, comes after this. The mutex is held.
func (c *Cluster) settle() error {
	s := &c.state
	for len(s.reservations) > s.held {
		last := len(s.reservations) - 1
		if err := c.core.Rollback(s.reservations[last].uid); err != nil {
			return err
		}
		s.reservations = s.reservations[:last]
	}
	return nil
}

// unlocked asks the core without the mutex, so that decisions need not wait for a long answer. What is taken back meanwhile is
// taken back in the core at once.
func (c *Cluster) unlocked(ask func() (string, error)) (string, error) {
	if err := c.count(+1); err != nil {
		return "", err
	}
	answer, err := ask()
	return answer, errors.Join(err, c.count(-1))
}

// count counts those who ask without the mutex.
func (c *Cluster) count(change int) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.readers += change
	return c.settle()
}
