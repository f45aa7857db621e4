package vga

/*
#include <stdlib.h>
#include "vgpualloc/c_api.h"
*/
import "C"

import (
	"errors"
	"unsafe"
)

// LayoutStep is one step as the driver wants it: nvmlDeviceCreateGpuInstanceWithPlacement takes ProfileID, Start and Size.
type LayoutStep struct {
	Kind      StepKind
	Profile   string // its name
	ProfileID uint32
	Start     uint32 // in memory slices
	Size      uint32 // likewise
	Micros    int64  // what the plan takes it to last
}

// LayoutRequest is what a GPU is to be cut into: one of Want and Group.
type LayoutRequest struct {
	Want  string // PROFILE: a free instance of it; PROFILE@START: this one, as of a pod that was given it
	Group string // PROFILE=COUNT,…: exactly these instances, on a GPU that nobody uses
	Anew  bool   // of a group: no instance of the old one stays
}

// SetService takes a device, named by its uuid, out of service or puts it back.
func (c *Cluster) SetService(node Node, device string, service Service) error {
	return c.do(func(call *call) C.vga_status {
		return C.vga_set_service(c.handle, C.uint32_t(node), call.text(device), C.uint32_t(service), &call.why)
	})
}

// ServiceOf is whether a device is in service.
func (c *Cluster) ServiceOf(node Node, device string) (Service, error) {
	var service C.vga_service
	err := c.do(func(call *call) C.vga_status {
		return C.vga_get_service(c.handle, C.uint32_t(node), call.text(device), &service, &call.why)
	})
	return Service(service), err
}

// NoteLayout says what the driver has cut a MIG GPU into: instances as PROFILE@START, and of these the ones in use.
func (c *Cluster) NoteLayout(node Node, device string, instances, busy []string) error {
	existing, used := newList(instances), newList(busy)
	defer existing.free()
	defer used.free()
	return c.do(func(call *call) C.vga_status {
		return C.vga_note_layout(c.handle, C.uint32_t(node), call.text(device), existing.texts,
			C.size_t(len(instances)), used.texts, C.size_t(len(busy)), &call.why)
	})
}

// Layout is what is known of a MIG GPU: JSON, docs/embedding.md has its members.
func (c *Cluster) Layout(node Node, device string) (string, error) {
	return c.text(nil, func(call *call, to *C.vga_text) C.vga_status {
		return C.vga_layout(c.handle, C.uint32_t(node), call.text(device), to, &call.why)
	})
}

// PlanLayout is the cheapest way to a layout, step after step; false if there is none. Nothing has happened afterwards.
func (c *Cluster) PlanLayout(node Node, device string, request LayoutRequest) (steps []LayoutStep, found bool, err error) {
	var wanted C.vga_layout_request
	wanted.struct_size = C.size_t(unsafe.Sizeof(wanted))
	wanted.want, wanted.group = textOrNull(request.Want), textOrNull(request.Group)
	defer C.free(unsafe.Pointer(wanted.want))
	defer C.free(unsafe.Pointer(wanted.group))
	if request.Anew {
		wanted.anew = 1
	}
	room := make([]C.vga_layout_step, 16)
	for {
		var count C.size_t
		var is C.int
		err = c.do(func(call *call) C.vga_status {
			return C.vga_plan_layout(c.handle, C.uint32_t(node), call.text(device), &wanted, unsafe.SliceData(room),
				C.size_t(unsafe.Sizeof(room[0])), C.size_t(len(room)), &count, &is, &call.why)
		})
		if errors.Is(err, TooSmall) {
			room = make([]C.vga_layout_step, int(count))
			continue
		}
		if err != nil {
			return nil, false, err
		}
		for _, step := range room[:int(count)] {
			steps = append(steps, LayoutStep{Kind: StepKind(step.kind), Profile: C.GoString(&step.profile[0]),
				ProfileID: uint32(step.profile_id), Start: uint32(step.start), Size: uint32(step.size), Micros: int64(step.takes_us)})
		}
		return steps, is != 0, nil
	}
}

// NoteStep says what became of a step. After one that failed, nothing is known of the GPU until NoteLayout.
func (c *Cluster) NoteStep(node Node, device string, step LayoutStep, done bool) error {
	noted := C.vga_layout_step{kind: C.uint32_t(step.Kind), profile_id: C.uint32_t(step.ProfileID),
		start: C.uint32_t(step.Start), size: C.uint32_t(step.Size), takes_us: C.int64_t(step.Micros)}
	name := unsafe.Slice((*byte)(unsafe.Pointer(&noted.profile[0])), len(noted.profile)-1)
	copy(name, step.Profile) // a longer one is no profile's
	outcome := C.int(0)
	if done {
		outcome = 1
	}
	return c.do(func(call *call) C.vga_status {
		return C.vga_note_step(c.handle, C.uint32_t(node), call.text(device), &noted, C.size_t(unsafe.Sizeof(noted)), outcome,
			&call.why)
	})
}

// PlanRoom says which pods would have to move, at most so many times, so that one that waits fits: JSON, docs/embedding.md has
// its members.
func (c *Cluster) PlanRoom(uid string, movesMax int) (string, error) {
	var options C.vga_room_options
	options.struct_size = C.size_t(unsafe.Sizeof(options))
	options.moves_max, options.downtime_max_us, options.steps_max = C.int64_t(movesMax), -1, -1
	return c.text(nil, func(call *call, to *C.vga_text) C.vga_status {
		return C.vga_plan_room(c.handle, call.text(uid), &options, to, &call.why)
	})
}
