package config

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
	kubernetesyaml "sigs.k8s.io/yaml"
)

// firstGeometries is the text of a first list knownMigGeometries.
//
//go:embed geometries.yaml
var firstGeometries []byte

// FirstGeometries are those of the MIG cards that this plugin knows. geometries.yaml names their sources.
func FirstGeometries() []Geometries {
	read := deviceConfig{}
	err := kubernetesyaml.UnmarshalStrict(firstGeometries, &read)
	if err != nil {
		panic(err) // a text of the program itself, which a test reads
	}
	lists, _, err := read.geometries()
	if err != nil {
		panic(err)
	}
	return lists
}

// HasGeometries: the text of device-config.yaml has a list knownMigGeometries that is not empty.
func HasGeometries(text []byte) bool {
	read, _, err := readDeviceConfig(text)
	return err == nil && len(read.Geometries) > 0
}

// WithFirstGeometries is the text of device-config.yaml with FirstGeometries as its list knownMigGeometries, which must be absent or
// empty. Everything else stays, comments too.
func WithFirstGeometries(text []byte) ([]byte, error) {
	document, first := yaml.Node{}, yaml.Node{}
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	if err := yaml.Unmarshal(firstGeometries, &first); err != nil {
		return nil, err
	}
	if len(document.Content) == 0 {
		return nil, errors.New("expected section nvidia, the text is empty")
	}
	section := valueOf(document.Content[0], "nvidia")
	if section == nil || section.Kind != yaml.MappingNode {
		return nil, errors.New("expected section nvidia as a mapping, there is none")
	}
	key, list := first.Content[0].Content[0], first.Content[0].Content[1]
	if present := valueOf(section, key.Value); present != nil {
		if len(present.Content) > 0 {
			return nil, fmt.Errorf("nvidia.%s is not empty: expected no list, so that one is written", key.Value)
		}
		*present = *list
	} else {
		section.Content = append(section.Content, key, list)
	}
	written := bytes.Buffer{}
	encoder := yaml.NewEncoder(&written)
	encoder.SetIndent(2)
	if err := encoder.Encode(&document); err != nil {
		return nil, err
	}
	return written.Bytes(), encoder.Close()
}

func valueOf(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; mapping.Kind == yaml.MappingNode && i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}
