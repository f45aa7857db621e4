package vga

/*
#include <stdlib.h>
#include "vgpualloc/c_api.h"
*/
import "C"

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

const (
	whyMax  = 1024 // bytes that are kept of the words of an error
	nameMax = 512  // of a name; Kubernetes has none above 253
)

// callMemory is what one call into C brings along, in memory of C, so that a call takes none of Go.
type callMemory struct {
	why    C.vga_text
	answer C.vga_answer
	words  [whyMax]C.char
	name   [nameMax]C.char
}

// call is one call into C, from calls.get() to end().
type call struct {
	*callMemory
	long *C.char // a name that is longer than nameMax
}

// callPool spares the calls a malloc each.
type callPool struct{ pool sync.Pool }

var calls = callPool{pool: sync.Pool{New: func() any {
	made := &call{callMemory: (*callMemory)(C.calloc(1, C.size_t(unsafe.Sizeof(callMemory{}))))}
	made.why.data = &made.words[0]
	made.why.capacity = whyMax
	runtime.SetFinalizer(made, func(c *call) { C.free(unsafe.Pointer(c.callMemory)) })
	return made
}}}

func (p *callPool) get() *call { return p.pool.Get().(*call) }

// text is a name as C reads it, until the call ends; one for each call. What stands behind a NUL is cut off, as no name
// has one.
func (c *call) text(name string) *C.char {
	if len(name) >= nameMax {
		c.long = C.CString(name)
		return c.long
	}
	to := unsafe.Slice((*byte)(unsafe.Pointer(&c.name[0])), nameMax)
	to[copy(to, name)] = 0
	return &c.name[0]
}

// end gives the memory back. It returns the error of a status, with the words that the call wrote; nil for Ok.
func (c *call) end(status C.vga_status) error {
	var err error
	if status != C.VGA_OK {
		length := min(c.why.length, whyMax-1)
		err = &Error{Status: Status(status), Message: C.GoStringN(c.why.data, C.int(length))}
	}
	if c.long != nil {
		C.free(unsafe.Pointer(c.long))
		c.long = nil
	}
	calls.pool.Put(c)
	return err
}

// endWithAnswer does so for a call that wrote into c.answer.
func (c *call) endWithAnswer(status C.vga_status) (Answer, error) {
	answer := *(*Answer)(unsafe.Pointer(&c.answer))
	return answer, c.end(status)
}

// resultMin is the buffer for a result whose length nobody knows.
const resultMin = 4096

// resultText asks for a result of any length: with a buffer, and again with one that is large enough. A result that takes long
// to make would be made twice then: with `last`, the length of the last one, the first buffer is as large as that and some more.
func resultText(last *atomic.Uint64, ask func(call *call, to *C.vga_text) C.vga_status) (string, error) {
	call := calls.get()
	var to C.vga_text
	to.capacity = resultMin
	if last != nil {
		to.capacity += C.size_t(last.Load() + last.Load()/8)
	}
	to.data = (*C.char)(C.malloc(to.capacity))
	defer func() { C.free(unsafe.Pointer(to.data)) }()
	status := ask(call, &to)
	for status == C.VGA_TOO_SMALL {
		C.free(unsafe.Pointer(to.data))
		to.capacity = to.length + to.length/8 + 1 // it may have grown meanwhile
		to.data = (*C.char)(C.malloc(to.capacity))
		status = ask(call, &to)
	}
	if err := call.end(status); err != nil {
		return "", err
	}
	if last != nil {
		last.Store(uint64(to.length))
	}
	return C.GoStringN(to.data, C.int(to.length)), nil
}

// list is an array of texts in memory of C, as Go's may hold no pointers to Go's.
type list struct {
	texts **C.char
	items []*C.char
}

func newList(texts []string) list {
	result := list{}
	if len(texts) == 0 {
		return result
	}
	size := C.size_t(unsafe.Sizeof(result.texts))
	result.texts = (**C.char)(C.malloc(size * C.size_t(len(texts))))
	result.items = unsafe.Slice(result.texts, len(texts))
	for i, text := range texts {
		result.items[i] = C.CString(text)
	}
	return result
}

func (l list) free() {
	for _, item := range l.items {
		C.free(unsafe.Pointer(item))
	}
	C.free(unsafe.Pointer(l.texts))
}

// cOptions are Options in memory of C.
type cOptions struct{ options *C.vga_options }

func newOptions(from Options) cOptions {
	options := (*C.vga_options)(C.calloc(1, C.size_t(unsafe.Sizeof(C.vga_options{}))))
	options.struct_size = C.size_t(unsafe.Sizeof(*options))
	options.policy = textOrNull(from.Policy)
	options.device_policy = textOrNull(from.DevicePolicy)
	options.catalog = textOrNull(from.Catalog)
	options.device_config = textOrNull(from.DeviceConfig)
	options.scheduler_config = textOrNull(from.SchedulerConfig)
	return cOptions{options}
}

func textOrNull(text string) *C.char {
	if text == "" {
		return nil
	}
	return C.CString(text)
}

func (o cOptions) free() {
	for _, text := range []*C.char{o.options.policy, o.options.device_policy, o.options.catalog, o.options.device_config,
		o.options.scheduler_config} {
		C.free(unsafe.Pointer(text))
	}
	C.free(unsafe.Pointer(o.options))
}
