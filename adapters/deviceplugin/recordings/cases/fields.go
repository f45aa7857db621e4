package cases

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Fields are the values of an answer that two answers are compared by, each under its path: "steps[2].envs.NVIDIA_VISIBLE_DEVICES".
type Fields map[string]string

// Loose is what the input of a case leaves open.
type Loose struct {
	// Order: cards become unhealthy in any order, because one cause hits several of them.
	Order bool
	// Health: the node's annotation may be written before or after cards became unhealthy.
	Health bool
}

// Fields of an output. Lists that have no order are sorted. What a step does not change is not there.
func (o *Output) Fields(loose Loose) Fields {
	result := Fields{}
	result.set("startup", o.Startup)
	result.exit("exit", o.Exit)
	result.registers("kubelet_register", o.Registers)
	result.devices("kubelet_devices", o.Devices)
	result.texts("node_annotations", o.NodeAnnotations)
	result.unhealthy("unhealthy_after_each_update", o.Unhealthy, loose)
	result.texts("dirs", o.Dirs)
	if o.isAscend {
		result.set("vendor_calls", strings.Join(o.VendorCalls, "; "))
		runs := []string{}
		for _, run := range o.Exec {
			if run.Code != 0 {
				continue // which one fails first is a matter of its order
			}
			runs = append(runs, fmt.Sprintf("%v < %q: %d %q", run.Argv, run.Stdin, run.Code, run.Stdout))
		}
		result.set("exec", sorted(runs))
	}
	for i := range o.Steps {
		o.Steps[i].fields(result, loose, fmt.Sprintf("steps[%d].", i))
	}
	if loose.Health {
		result.maskHealth()
	}
	return result
}

// maskHealth takes the health out of the registrations in nodes' annotations.
func (f Fields) maskHealth() {
	for path, text := range f {
		if strings.HasSuffix(path, "node_annotations.volcano.sh/node-vgpu-register") {
			f[path] = strings.NewReplacer(",true,", ",?,", ",false,", ",?,").Replace(text)
		}
	}
}

func (s *StepOutput) fields(result Fields, loose Loose, at string) {
	result.set(at+"startup", s.Startup)
	result.exit(at+"exit", s.Exit)
	if s.Error != nil {
		result[at+"error"] = s.Error.Code
	}
	for i := range s.Responses {
		s.Responses[i].fields(result, fmt.Sprintf("%scontainer_responses[%d]", at, i))
	}
	for pod, changes := range s.PodAnnotations {
		for key, value := range changes {
			text := "removed"
			if value != nil {
				text = "=" + *value
			}
			result[at+"pod_annotations."+pod+"."+key] = text
		}
	}
	result.texts(at+"node_annotations", s.NodeAnnotations)
	result.texts(at+"dirs", s.Dirs)
	if s.Mig != nil {
		rows := []string{}
		for _, row := range s.Mig {
			if len(row) == 7 {
				rows = append(rows, fmt.Sprintf("gpu %v profile %v at %v+%v busy %v", row[0], row[2], row[3], row[4], row[5]))
			}
		}
		result[at+"mig"] = sorted(rows)
	}
	result.registers(at+"kubelet_register", s.Registers)
	result.devices(at+"kubelet_devices", s.Devices)
	result.unhealthy(at+"unhealthy_after_each_update", s.Unhealthy, loose)
	if s.SocketsLeft != nil {
		result[at+"sockets_left"] = sorted(s.SocketsLeft)
		result[at+"alive"] = fmt.Sprint(s.Alive)
	}
	result.set(at+"GetDevicePluginOptions", s.Options)
	result.set(at+"GetPreferredAllocation", s.Preferred)
	result.set(at+"PreStartContainer", s.PreStart)
}

func (r *Response) fields(result Fields, at string) {
	result[at] = "given"
	for key, value := range r.Envs {
		result[at+".envs."+key] = value
	}
	for key, value := range r.Annotations {
		result[at+".annotations."+key] = value
	}
	for i, mount := range r.Mounts {
		result[fmt.Sprintf("%s.mounts[%d]", at, i)] = fmt.Sprintf("%s -> %s, read-only %v", mount.HostPath, mount.ContainerPath, mount.ReadOnly)
	}
	if r.Devices != nil {
		result[at+".devices"] = sorted(r.Devices)
	}
	if r.CDIDevices != nil {
		result[at+".cdi_devices"] = strings.Join(r.CDIDevices, " ")
	}
}

func (f Fields) set(path, value string) {
	if value != "" {
		f[path] = value
	}
}

func (f Fields) exit(path string, exit *Exit) {
	if exit == nil {
		return
	}
	f[path] = "in order"
	if exit.Code != 0 {
		f[path] = "failed"
	}
}

func (f Fields) texts(path string, values map[string]string) {
	if values == nil {
		return
	}
	for key, value := range values {
		f[path+"."+key] = value
	}
	f[path] = "there"
}

func (f Fields) registers(path string, registers []Register) {
	for _, register := range registers {
		f[path+"."+register.Resource] += fmt.Sprintf("%s %s preferred=%v prestart=%v;", register.Endpoint, register.Version, register.Preferred, register.PreStart)
	}
}

func (f Fields) devices(path string, lists map[string]DeviceList) {
	for resource, list := range lists {
		at := path + "." + resource
		f[at] = fmt.Sprintf("%d in all", list.Total)
		f.set(at+".id_format", list.IDFormat)
		f.set(at+".kubelet_error", list.Error)
		for _, of := range list.PerDevice {
			f[at+"."+of.UUID] += fmt.Sprintf("%d %s;", of.Count, of.Health)
		}
		if list.Raw != nil {
			f[at+".raw"] = sorted(list.Raw)
		}
	}
}

// unhealthy notes each list; where the order is open, the first and the last one, and of the others whether they grow.
func (f Fields) unhealthy(path string, updates map[string][][]string, loose Loose) {
	for resource, lists := range updates {
		at := path + "." + resource
		f[at] = fmt.Sprintf("%d lists", len(lists))
		for i, list := range lists {
			text := sorted(list)
			if loose.Order && i > 0 && i < len(lists)-1 {
				text = fmt.Sprintf("grows: %v", includes(lists[i], lists[i-1]) && includes(lists[len(lists)-1], lists[i]))
			}
			f[fmt.Sprintf("%s[%d]", at, i)] = text
		}
	}
}

func includes(list, part []string) bool {
	for _, text := range part {
		if !slices.Contains(list, text) {
			return false
		}
	}
	return true
}

func sorted(list []string) string {
	list = slices.Clone(list)
	sort.Strings(list)
	return strings.Join(list, " ")
}
