package model

import "vgpualloc.example/adapters/deviceplugin/testbed"

// faults are what the API server refuses.
type faults struct{ left []testbed.Fault }

func newFaults(of []testbed.Fault) *faults { return &faults{append([]testbed.Fault(nil), of...)} }

// refused counts a request and says whether it is refused.
func (f *faults) refused(verb, resource string) bool { return f.code(verb, resource) != 0 }

// code counts a request and is the code that it is refused with; 0: it is not.
func (f *faults) code(verb, resource string) int {
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
			return fault.Code
		}
	}
	return 0
}

// concerns says whether refusals of a verb on a resource are left.
func (f *faults) concerns(verb, resource string) bool {
	for _, fault := range f.left {
		if fault.Verb == verb && fault.Resource == resource && fault.Times > 0 {
			return true
		}
	}
	return false
}
