package allocate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// CheckpointPath is where the kubelet writes down which containers have which devices.
const CheckpointPath = "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint"

// Checkpoint reads what the kubelet has handed out from its file. A file that is not there says that nothing was.
func Checkpoint(file string) func() (Holds, error) {
	return func() (Holds, error) {
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			return func(string, string, string) bool { return false }, nil
		}
		if err != nil {
			return nil, err
		}
		var content struct {
			Data struct {
				PodDeviceEntries []struct{ PodUID, ContainerName, ResourceName string }
			}
		}
		if err := json.Unmarshal(text, &content); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		held := map[[3]string]bool{}
		for _, entry := range content.Data.PodDeviceEntries {
			held[[3]string{entry.PodUID, entry.ContainerName, entry.ResourceName}] = true
		}
		return func(podUID, container, resource string) bool { return held[[3]string{podUID, container, resource}] }, nil
	}
}
