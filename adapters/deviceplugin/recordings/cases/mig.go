package cases

import (
	"fmt"
	"regexp"
	"strings"
)

var migUUID = regexp.MustCompile("MIG-[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")

// NameInstances replaces the uuids of MIG devices by where they are, as the rows of `mig` say: uuids are hashes that only the fake
// library of the recordings knows. One that no row has becomes "MIG(unlisted)".
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
			return "MIG(unlisted)"
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
