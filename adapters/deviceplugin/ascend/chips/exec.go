package chips

import "vgpualloc.example/adapters/deviceplugin/programs"

// Exec runs the driver's tool.
type Exec = programs.Runner

// Programs runs that of this machine.
type Programs = programs.OfMachine
