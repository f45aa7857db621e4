package hardware

// Profile is a kind of GPU instances that a card can be cut into.
type Profile struct {
	ID              uint32 // NVML's, as Library.CreateInstance takes it
	MemoryMiB       int64
	Slices          int // of compute
	Instances       int // at most, where there are no others
	Multiprocessors int
	Places          []Place
}

// Place is where an instance may be, in memory slices.
type Place struct{ Start, Size uint32 }

// Profiler is a Library that knows the profiles of a card. MIG has to be on; an ErrUnsupported is of a driver that does not say.
type Profiler interface {
	Profiles(uuid string) ([]Profile, error)
}
