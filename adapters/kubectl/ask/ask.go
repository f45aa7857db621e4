// Package ask is what vgpusim answers, in Go: the C interface of the facade (vgpufacade/ask.h).
package ask

/*
#cgo pkg-config: --static vgpufacade
#include <stdlib.h>
#include "vgpufacade/ask.h"

// Texts of Go go in one by one, so that no pointer of Go's lies in memory of C's.
static vgpu_named_text* new_texts(size_t count) { return calloc(count + 1, sizeof(vgpu_named_text)); }
static vgpu_option* new_options(size_t count) { return calloc(count + 1, sizeof(vgpu_option)); }
static void set_text(vgpu_named_text* texts, size_t number, const char* name, const char* data, size_t size) {
    texts[number].name = name;
    texts[number].data = data;
    texts[number].size = size;
}
static void set_option(vgpu_option* options, size_t number, const char* name, const char* value) {
    options[number].name = name;
    options[number].value = value;
}
static vgpu_reply* ask(const char* command, const vgpu_option* options, size_t option_count, const vgpu_named_text* texts,
                       size_t text_count) {
    vgpu_question question = {sizeof(vgpu_question), command, options, option_count, texts, text_count, NULL, NULL};
    return vgpu_ask(&question);
}
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"
)

// Text is an input: what options call it, and its bytes.
type Text struct {
	Name string
	Data []byte
}

// Option is an option of a command as the header names it. One that may be repeated comes several times.
type Option struct{ Name, Value string }

// Question is a command with its options and inputs.
type Question struct {
	Command string
	Options []Option
	Texts   []Text
}

// Reply is what vgpusim would print, and its exit code.
type Reply struct {
	Code               int
	Errors, Text, JSON string
	Files              []Text // what it would write
}

// Ask answers. An error is a library that does not go with its header, or too little memory.
func Ask(question Question) (Reply, error) {
	if version := uint(C.vgpu_ask_version()); version != C.VGPU_ASK_VERSION {
		return Reply{}, fmt.Errorf("the library answers version %d of ask.h, expected %d", version, uint(C.VGPU_ASK_VERSION))
	}
	var strings []unsafe.Pointer
	defer func() {
		for _, text := range strings {
			C.free(text)
		}
	}()
	text := func(value string) *C.char {
		result := C.CString(value)
		strings = append(strings, unsafe.Pointer(result))
		return result
	}
	options := C.new_options(C.size_t(len(question.Options)))
	defer C.free(unsafe.Pointer(options))
	for i, option := range question.Options {
		C.set_option(options, C.size_t(i), text(option.Name), text(option.Value))
	}
	texts := C.new_texts(C.size_t(len(question.Texts)))
	defer C.free(unsafe.Pointer(texts))
	var pinned runtime.Pinner // a cluster may be a gigabyte, which is not copied
	defer pinned.Unpin()
	for i, input := range question.Texts {
		data := unsafe.SliceData(input.Data)
		if data != nil {
			pinned.Pin(data)
		}
		C.set_text(texts, C.size_t(i), text(input.Name), (*C.char)(unsafe.Pointer(data)), C.size_t(len(input.Data)))
	}
	reply := C.ask(text(question.Command), options, C.size_t(len(question.Options)), texts, C.size_t(len(question.Texts)))
	if reply == nil {
		return Reply{}, errors.New("no memory for an answer")
	}
	defer C.vgpu_reply_free(reply)
	var errorsSize, textSize, jsonSize C.size_t
	errorsData, textData, jsonData := C.vgpu_reply_errors(reply, &errorsSize), C.vgpu_reply_text(reply, &textSize), C.vgpu_reply_json(reply, &jsonSize)
	return Reply{Code: int(C.vgpu_reply_code(reply)), Errors: C.GoStringN(errorsData, C.int(errorsSize)),
		Text: C.GoStringN(textData, C.int(textSize)), JSON: C.GoStringN(jsonData, C.int(jsonSize)), Files: filesOf(reply)}, nil
}

func filesOf(reply *C.vgpu_reply) []Text {
	var files []Text
	for number := range C.vgpu_reply_file_count(reply) {
		var size C.size_t
		data := C.vgpu_reply_file(reply, number, &size)
		files = append(files, Text{C.GoString(C.vgpu_reply_file_name(reply, number)), C.GoBytes(unsafe.Pointer(data), C.int(size))})
	}
	return files
}
