package assignment

import (
	"math"
	"strconv"
	"strings"
)

const (
	fields      = 4 // uuid, type, memory, cores; what follows is the scheduler's own
	coresMax    = 100
	positionMax = 255 // more instances than any card has
)

// ParseVolcano reads an annotation volcano.sh/devices-to-allocate. Where something in it cannot be read the error is the first
// *Error; the slots then have all entries that are there, with those fields that could be read, so that they can be counted. A text
// without any entry (no comma) has slots without entries and is no error.
func ParseVolcano(text string) (Slots, error) { return parse(strings.Split(text, ";")) }

// ParseHAMi reads an annotation hami.io/…-devices-to-allocate. What stands behind the last `;` is a slot only if it is not empty.
// Errors are those of ParseVolcano.
func ParseHAMi(text string) (Slots, error) {
	parts := strings.Split(text, ";")
	if parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1]
	}
	return parse(parts)
}

func parse(parts []string) (Slots, error) {
	result := make(Slots, len(parts))
	var problem *Error
	hasEntries := false
	for slot, part := range parts {
		for _, text := range strings.Split(part, ":") {
			if text == "" {
				continue
			}
			entry, failure := read(text)
			if failure != nil && problem == nil {
				failure.Slot, failure.Entry = slot, len(result[slot])
				problem = failure
			}
			if strings.Contains(text, ",") {
				hasEntries = true
				result[slot] = append(result[slot], entry)
			}
		}
	}
	if problem != nil && hasEntries {
		return result, problem
	}
	return result, nil
}

// read reads one entry; what it returns beside an error has the fields before the one that it names.
func read(text string) (Entry, *Error) {
	entry := Entry{Text: text}
	values := strings.Split(text, ",")
	if len(values) < fields {
		entry.UUID = values[0]
		return entry, &Error{Field: "entry", Value: text, Expected: "uuid,type,memory,cores"}
	}
	entry.UUID, entry.Type = values[0], values[1]
	failure := entry.readID(values[0])
	if failure != nil {
		return entry, failure
	}
	if entry.Memory, failure = number("memory", values[2], math.MaxInt32); failure != nil {
		return entry, failure
	}
	entry.Cores, failure = number("cores", values[3], coresMax)
	return entry, failure
}

// readID reads `uuid` or `uuid[group-position]`.
func (e *Entry) readID(id string) *Error {
	const expected = "uuid or uuid[group-position]"
	if id == "" || strings.ContainsAny(id, " \t\r\n") {
		return &Error{Field: "uuid", Value: id, Expected: expected}
	}
	uuid, inside, isInstance := strings.Cut(id, "[")
	if !isInstance {
		if strings.Contains(id, "]") {
			return &Error{Field: "uuid", Value: id, Expected: expected}
		}
		return nil
	}
	inside, closed := strings.CutSuffix(inside, "]")
	dash := strings.LastIndexByte(inside, '-')
	if uuid == "" || !closed || dash < 1 || strings.ContainsAny(inside, "[]") {
		return &Error{Field: "uuid", Value: id, Expected: expected}
	}
	position, failure := number("uuid", inside[dash+1:], positionMax)
	if failure != nil {
		return &Error{Field: "uuid", Value: id, Expected: expected + ", with a position from 0 to " + strconv.Itoa(positionMax)}
	}
	e.UUID, e.Group, e.Position = uuid, inside[:dash], int(position)
	return nil
}

// number reads decimal digits and nothing else.
func number(field, text string, most int64) (int64, *Error) {
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil || value < 0 || value > most || text[0] == '+' || text[0] == '-' {
		return 0, &Error{Field: field, Value: text, Expected: "a whole number from 0 to " + strconv.FormatInt(most, 10)}
	}
	return value, nil
}
