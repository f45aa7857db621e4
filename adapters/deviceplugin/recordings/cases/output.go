package cases

// Output is what a plugin answered. A nil map or pointer: not recorded, as the recordings leave out what did not change.
type Output struct {
	Startup         string                `json:"startup"`
	StartError      string                `json:"start_error"`
	Exit            *Exit                 `json:"exit"`
	Registers       []Register            `json:"kubelet_register"`
	Devices         map[string]DeviceList `json:"kubelet_devices"`
	NodeAnnotations map[string]string     `json:"node_annotations"`
	Unhealthy       map[string][][]string `json:"unhealthy_after_each_update"`
	Dirs            map[string]string     `json:"dirs"`
	Warning         string                `json:"warning"`
	VendorCalls     []string              `json:"vendor_calls"`
	Patches         []Patch               `json:"patches"`
	API             []string              `json:"api"`
	Exec            []Exec                `json:"exec"`
	Steps           []StepOutput          `json:"steps"`

	isAscend bool // what reaches the vendor's library and programs is compared
}

// OfAscend says that an output is of ascend-device-plugin: other plugins reach the hardware in another way than upstream.
func (o *Output) OfAscend() { o.isAscend = true }

// Exit is how the process ended.
type Exit struct {
	Code  int    `json:"code"`
	Fatal string `json:"fatal"`
	Panic string `json:"panic"`
	Error string `json:"error"`
}

// Register is a request to the kubelet.
type Register struct {
	Resource  string `json:"resource"`
	Endpoint  string `json:"endpoint"`
	Version   string `json:"version"`
	Preferred bool   `json:"get_preferred_allocation_available"`
	PreStart  bool   `json:"pre_start_required"`
}

// DeviceList is the first message of ListAndWatch, by card.
type DeviceList struct {
	Total     int       `json:"total"`
	PerDevice []Devices `json:"per_device"`
	IDFormat  string    `json:"id_format"`
	Raw       []string  `json:"raw"`
	Error     string    `json:"kubelet_error"`
}

// Devices are those of one card.
type Devices struct {
	UUID   string `json:"uuid"`
	Count  int    `json:"count"`
	Health string `json:"health"`
}

// Patch is a PATCH request.
type Patch struct {
	Object         string   `json:"object"`
	Type           string   `json:"type"`
	Body           any      `json:"body"`
	AnnotationKeys []string `json:"annotation_keys"`
}

// Exec is a run of a helper program.
type Exec struct {
	Argv   []string `json:"argv"`
	Code   int      `json:"code"`
	File   string   `json:"file"`
	Stdin  string   `json:"stdin"`
	Stdout string   `json:"stdout"`
	Stderr string   `json:"stderr"`
}

// StepOutput is what came of one step.
type StepOutput struct {
	Responses       []Response                    `json:"container_responses"`
	Error           *RPCError                     `json:"error"`
	PodAnnotations  map[string]map[string]*string `json:"pod_annotations"` // nil text: removed
	NodeAnnotations map[string]string             `json:"node_annotations"`
	Dirs            map[string]string             `json:"dirs"`
	Mig             [][]any                       `json:"mig"` // gpu, gi, profile id, start, size, busy, uuid
	MigGone         bool                          `json:"-"`   // ours alone: the last instance is gone
	Startup         string                        `json:"startup"`
	StartError      string                        `json:"start_error"`
	Exit            *Exit                         `json:"exit"`
	Unhealthy       map[string][][]string         `json:"unhealthy_after_each_update"`
	Registers       []Register                    `json:"kubelet_register"`
	Devices         map[string]DeviceList         `json:"kubelet_devices"`
	Alive           bool                          `json:"alive"`
	SocketsLeft     []string                      `json:"sockets_left"`
	Options         string                        `json:"GetDevicePluginOptions"`
	Preferred       string                        `json:"GetPreferredAllocation"`
	PreStart        string                        `json:"PreStartContainer"`
	Patches         []Patch                       `json:"patches"`
	API             []string                      `json:"api"`
	Exec            []Exec                        `json:"exec"`
	VendorCalls     []string                      `json:"vendor_calls"`
}

// Response is what one container is given.
type Response struct {
	Envs        map[string]string `json:"envs"`
	Mounts      []Mount           `json:"mounts"`
	Devices     []string          `json:"devices"` // "host|container|permissions"
	Annotations map[string]string `json:"annotations"`
	CDIDevices  []string          `json:"cdi_devices"`
}

// Mount is a folder or file in a container.
type Mount struct {
	HostPath      string `json:"host_path"`
	ContainerPath string `json:"container_path"`
	ReadOnly      bool   `json:"read_only"`
}

// RPCError is a gRPC status.
type RPCError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Trim takes out what is not recorded of the start of a case with steps: of one that serves, only that it does.
func (o *Output) Trim() {
	o.Registers, o.Devices, o.Unhealthy, o.Dirs = nil, nil, nil, nil
	if o.Startup != "exit" {
		o.NodeAnnotations = nil
	}
}
