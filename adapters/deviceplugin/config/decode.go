package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Read reads YAML into a struct, as its json tags say. An error names the key, its value and what was expected; a key that is twice
// there is one, and so is one that is nearly a known one. Other keys that are not known are in the answer, with what they stand in.
func Read(text []byte, into any) (unknown []string, err error) {
	data, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, err
	}
	return Decode("", data, into)
}

// Decode is Read of JSON that stands at a key of something larger.
func Decode(at string, data []byte, into any) (unknown []string, err error) {
	reading := decoding{}
	err = reading.value(at, data, reflect.ValueOf(into).Elem())
	return reading.unknown, err
}

// Section is one of the sections of a YAML file, of which others belong to other programs.
func Section(text []byte, name string) (json.RawMessage, error) {
	data, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, err
	}
	sections := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &sections); err != nil {
		return nil, fmt.Errorf("expected a mapping with section %s", name)
	}
	section, has := sections[name]
	if !has || string(section) == "null" {
		return nil, fmt.Errorf("expected section %s, there is none", name)
	}
	return section, nil
}

// NotKnown are the warnings of keys that a file may have for other programs.
func NotKnown(unknown []string) []string {
	warnings := make([]string, len(unknown))
	for i, key := range unknown {
		warnings[i] = key + " is not known and has no effect"
	}
	return warnings
}

// noSuchKey is the error of the first of such keys, in a file that has none for other programs.
func noSuchKey(unknown []string, err error) error {
	if err == nil && len(unknown) > 0 {
		return fmt.Errorf("%s: no such key", unknown[0])
	}
	return err
}

// decoding is one Decode.
type decoding struct{ unknown []string }

func (d *decoding) value(at string, data json.RawMessage, into reflect.Value) error {
	_, isRaw := into.Interface().(json.RawMessage)
	switch {
	case isRaw:
	case string(data) == "null": // as if the key were not there
		return nil
	case into.Kind() == reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		return d.value(at, data, into.Elem())
	case into.Kind() == reflect.Struct:
		return d.mapping(at, data, into)
	case into.Kind() == reflect.Slice:
		return d.list(at, data, into)
	}
	if err := json.Unmarshal(data, into.Addr().Interface()); err != nil {
		return wrongType(at, data, into.Type())
	}
	return nil
}

func (d *decoding) mapping(at string, data json.RawMessage, into reflect.Value) error {
	keys := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &keys); err != nil {
		return wrongType(at, data, into.Type())
	}
	fields := map[string]int{}
	for i := range into.NumField() {
		name, _, _ := strings.Cut(into.Type().Field(i).Tag.Get("json"), ",")
		fields[name] = i
	}
	known := slices.Sorted(maps.Keys(fields))
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		place := join(at, key)
		if field, isKnown := fields[key]; isKnown {
			if err := d.value(place, keys[key], into.Field(field)); err != nil {
				return err
			}
			continue
		}
		if near := slices.IndexFunc(known, func(other string) bool { return isNear(key, other) }); near >= 0 {
			return fmt.Errorf("%s: no such key, expected %s", place, known[near])
		}
		d.unknown = append(d.unknown, place)
	}
	return nil
}

func (d *decoding) list(at string, data json.RawMessage, into reflect.Value) error {
	items := []json.RawMessage{}
	if err := json.Unmarshal(data, &items); err != nil {
		return wrongType(at, data, into.Type())
	}
	list := reflect.MakeSlice(into.Type(), len(items), len(items))
	for i, item := range items {
		if err := d.value(fmt.Sprintf("%s[%d]", at, i), item, list.Index(i)); err != nil {
			return err
		}
	}
	into.Set(list)
	return nil
}

func join(at, key string) string {
	if at == "" {
		return key
	}
	return at + "." + key
}

// shownMax is how much of a wrong value an error shows.
const shownMax = 60

// wrongType is the error of a value that is not what its key takes.
func wrongType(at string, data json.RawMessage, expected reflect.Type) error {
	shown := string(data)
	if len(shown) > shownMax {
		shown = strings.ToValidUTF8(shown[:shownMax], "") + "…"
	}
	if at != "" {
		shown = at + " " + shown
	}
	return fmt.Errorf("%s: expected %s", shown, kindOf(expected))
}

// kindOf is what a value of a type is called in a file.
func kindOf(expected reflect.Type) string {
	switch expected.Kind() {
	case reflect.Struct:
		return "a mapping"
	case reflect.Slice:
		return "a list"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.String:
		return "a text"
	case reflect.Int32:
		return fmt.Sprintf("a whole number of at most %d", math.MaxInt32)
	case reflect.Uint, reflect.Uint32, reflect.Uint64:
		return "a whole number of at least 0"
	}
	return "a whole number"
}

// isNear: two letters differ at most, whatever the case.
func isNear(left, right string) bool {
	left, right = strings.ToLower(left), strings.ToLower(right)
	row := make([]int, len(right)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(left) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(right) {
			cost := diagonal
			if left[i] != right[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(right)] <= 2
}
