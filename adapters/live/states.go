package live

import "vgpualloc.example/adapters/vga"

// states gives the states of a cluster numbers. A scheduler books a pod, or a gang, to see whether it can be had, takes
// that back and books it again: what was answered holds whenever the cluster is in that state again.
type states struct {
	now          uint64
	last         uint64 // that was given
	reservations []reservation
	after        map[step]uint64
}

// step is a reservation from a state.
type step struct {
	before uint64
	uid    string
	node   vga.Node
}

// reservation is one that can still be taken back so that the cluster is as before it.
type reservation struct {
	step
	after uint64
}

// begin is a change that cannot be taken back.
func (s *states) begin() {
	s.last++
	s.now = s.last
	s.reservations = s.reservations[:0]
	clear(s.after)
}

// reserve is the reservation of a pod on a node: from one state it always leads to the same one.
func (s *states) reserve(uid string, node vga.Node) {
	taken := step{s.now, uid, node}
	after, known := s.after[taken]
	if !known {
		s.last++
		after = s.last
		if s.after == nil {
			s.after = map[step]uint64{}
		}
		s.after[taken] = after
	}
	s.reservations = append(s.reservations, reservation{taken, after})
	s.now = after
}

// rollback is that of a reservation. False if it is not the last thing that happened: the state is another one then.
func (s *states) rollback(uid string) bool {
	last := len(s.reservations) - 1
	if last < 0 || s.reservations[last].uid != uid || s.reservations[last].after != s.now {
		return false
	}
	s.now = s.reservations[last].before
	s.reservations = s.reservations[:last]
	return true
}
