package cases

import (
	"fmt"
	"strings"
)

// Malformed is what of an output contradicts itself, whoever answered; empty: nothing. A code of an exit says which kind it is, and
// the patches of a step are what its pods' annotations became.
func (o *Output) Malformed() string {
	if problem := o.Exit.malformed(); problem != "" {
		return "exit: " + problem
	}
	for i := range o.Steps {
		if problem := o.Steps[i].malformed(); problem != "" {
			return fmt.Sprintf("steps[%d].%s", i, problem)
		}
	}
	return o.malformedMIG()
}

// malformedMIG: an instance has a MIG device's uuid or none, and the same one each time.
func (o *Output) malformedMIG() string {
	uuids, owners := map[string]string{}, map[string]string{}
	for i := range o.Steps {
		for j, row := range o.Steps[i].Mig {
			if len(row) != 7 {
				return fmt.Sprintf("steps[%d].mig[%d]: %d values, expected gpu, gi, profile, start, size, busy, uuid", i, j, len(row))
			}
			uuid, _ := row[6].(string)
			if uuid == "" || !strings.HasPrefix(uuid, "MIG(") && migUUID.FindString(uuid) != uuid {
				if uuid == "" {
					continue
				}
				return fmt.Sprintf("steps[%d].mig[%d]: uuid %q, expected MIG-… of version 5", i, j, uuid)
			}
			key := fmt.Sprint(row[:3])
			if known, ok := uuids[key]; ok && known != uuid {
				return fmt.Sprintf("steps[%d].mig[%d]: uuid %q, which was %q before", i, j, uuid, known)
			}
			if owner, ok := owners[uuid]; ok && owner != key {
				return fmt.Sprintf("steps[%d].mig[%d]: uuid %q is another instance's", i, j, uuid)
			}
			uuids[key], owners[uuid] = uuid, key
		}
	}
	return ""
}

func (e *Exit) malformed() string {
	if e == nil {
		return ""
	}
	expected := 0
	switch {
	case e.Fatal != "":
		expected = 255
	case e.Panic != "":
		expected = 2
	case e.Error != "":
		expected = 1
	}
	if e.Code != expected {
		return fmt.Sprintf("code %d, expected %d beside its text", e.Code, expected)
	}
	return ""
}

func (s *StepOutput) malformed() string {
	if problem := s.Exit.malformed(); problem != "" {
		return "exit: " + problem
	}
	written := map[string]map[string]any{}
	for _, patch := range s.Patches {
		body, _ := patch.Body.(map[string]any)
		metadata, _ := body["metadata"].(map[string]any)
		annotations, _ := metadata["annotations"].(map[string]any)
		if written[patch.Object] == nil {
			written[patch.Object] = map[string]any{}
		}
		for key, value := range annotations {
			written[patch.Object][key] = value
		}
	}
	if s.Patches == nil {
		return ""
	}
	for pod, changes := range s.PodAnnotations {
		for key, value := range changes {
			text, isText := written["pod "+pod][key].(string)
			if value != nil && (!isText || text != *value) {
				return fmt.Sprintf("pod_annotations.%s.%s: %q, but no patch writes that", pod, key, *value)
			}
		}
	}
	return ""
}

// numbers are the rows of instances without their uuids.
func numbers(rows [][]any) string {
	var result []string
	for _, row := range rows {
		result = append(result, fmt.Sprint(row[:min(len(row), 6)]...))
	}
	return sorted(result)
}

// Words compares what is upstream's own words alone: recorded texts of errors and of the warning with those that its specification
// has, and the numbers of instances. A predicted text that ends with "…" is the beginning of one; an empty one says nothing. The answer is the first difference.
func (o *Output) Words(predicted *Output) string {
	if o.Warning != predicted.Warning && predicted.Startup != "exit" {
		return fmt.Sprintf("warning: recorded %q, upstream writes %q", o.Warning, predicted.Warning)
	}
	for i := range min(len(o.Steps), len(predicted.Steps)) {
		if known, expected := numbers(o.Steps[i].Mig), numbers(predicted.Steps[i].Mig); known != expected {
			return fmt.Sprintf("steps[%d].mig: recorded %s, upstream has %s", i, known, expected)
		}
		recorded, expected := o.Steps[i].Error, predicted.Steps[i].Error
		if recorded == nil || expected == nil || expected.Message == "" {
			continue
		}
		beginning, isBeginning := strings.CutSuffix(expected.Message, "…")
		if isBeginning && strings.HasPrefix(recorded.Message, beginning) || recorded.Message == expected.Message {
			continue
		}
		return fmt.Sprintf("steps[%d].error.message: recorded %q, upstream says %q", i, recorded.Message, expected.Message)
	}
	return ""
}
