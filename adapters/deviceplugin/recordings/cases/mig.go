package cases

import (
	"fmt"
	"regexp"
	"strings"
)

var migUUID = regexp.MustCompile("MIG-[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")

// NameInstances replaces the uuids of MIG devices by where they are, as the rows of `mig` say: uuids are hashes that only the fake
// library of the recordings knows. One that no row has stays as it is.
func (o *Output) NameInstances() {
	names := map[string]string{}
	for i := range o.Steps {
		for _, row := range o.Steps[i].Mig {
			if uuid, ok := row[len(row)-1].(string); ok && len(row) == 7 {
				names[uuid] = fmt.Sprintf("MIG(gpu %v, profile %v at %v)", row[0], row[2], row[3])
			}
		}
	}
	name := func(text string) string {
		if !strings.Contains(text, "MIG-") {
			return text
		}
		return migUUID.ReplaceAllStringFunc(text, func(uuid string) string {
			if known, ok := names[uuid]; ok {
				return known
			}
			return uuid
		})
	}
	for i := range o.Steps {
		for j := range o.Steps[i].Responses {
			response := &o.Steps[i].Responses[j]
			for key, value := range response.Envs {
				response.Envs[key] = name(value)
			}
			for k := range response.Mounts {
				response.Mounts[k].HostPath, response.Mounts[k].ContainerPath = name(response.Mounts[k].HostPath), name(response.Mounts[k].ContainerPath)
			}
		}
	}
}

var migPlace = regexp.MustCompile(`MIG\(gpu \d+, profile \d+ at \d+\)`)

// Places are the uuids that no row of a case names, and where the instances are that they must be.
type Places map[string]string

// Same says whether a recorded text is the one that another answer has: a uuid that is not listed stands for one place all the time.
func (p Places) Same(recorded, other string) bool {
	if recorded == other {
		return true
	}
	uuids, places := migUUID.FindAllStringIndex(recorded, -1), migPlace.FindAllString(other, -1)
	if len(uuids) == 0 || len(places) == 0 {
		return false
	}
	for _, at := range migUUID.FindAllString(recorded, -1) {
		if p[at] == "" {
			prefix, _, _ := strings.Cut(recorded, at)
			if !strings.HasPrefix(other, prefix) {
				return false
			}
			place := migPlace.FindString(other[len(prefix):])
			if place == "" || !strings.HasPrefix(other[len(prefix):], place) || p.has(place) {
				return false
			}
			p[at] = place
		}
		recorded = strings.Replace(recorded, at, p[at], 1)
	}
	return recorded == other
}

func (p Places) has(place string) bool {
	for _, known := range p {
		if known == place {
			return true
		}
	}
	return false
}

// ReplaceMIG replaces the uuids of MIG devices in a text.
func ReplaceMIG(text string, name func(uuid string) string) string {
	if !strings.Contains(text, "MIG-") {
		return text
	}
	return migUUID.ReplaceAllStringFunc(text, name)
}
