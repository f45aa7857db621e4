package model

import "vgpualloc.example/adapters/deviceplugin/testbed"

// faults are what the API server refuses.
type faults struct{ left []testbed.Fault }

func newFaults(of []testbed.Fault) *faults { return &faults{append([]testbed.Fault(nil), of...)} }

// refused counts a request and says whether it is refused.
func (f *faults) refused(verb, resource string) bool {
	for i := range f.left {
		fault := &f.left[i]
		if fault.Verb != verb || fault.Resource != resource {
			continue
		}
		if fault.Skip > 0 {
			fault.Skip--
			continue
		}
		if fault.Times > 0 {
			fault.Times--
			return true
		}
	}
	return false
}

// concerns says whether faults of a verb on a resource are left.
func (f *faults) concerns(verb, resource string) bool {
	for _, fault := range f.left {
		if fault.Verb == verb && fault.Resource == resource && fault.Times > 0 {
			return true
		}
	}
	return false
}
