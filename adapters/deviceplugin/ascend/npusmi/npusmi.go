// Package npusmi is a chips.Library over the driver's tool npu-smi. What the tool writes is read by the names of its fields and columns,
// so that another order or other spaces do not matter; what cannot be read is an error with the line.
//
// It was written from the tool's documentation and was not tried on hardware.
package npusmi

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"vgpualloc.example/adapters/deviceplugin/ascend/chips"
)

// Library asks npu-smi. New makes one.
type Library struct {
	programs chips.Exec

	mutex  sync.Mutex
	boards map[chips.Chip]board // by a chip without vdie: it does not change while the machine runs
}

// board is what npu-smi says of a chip once and for all.
type board struct {
	vdie  string
	model chips.Model
}

var _ chips.Library = (*Library)(nil)

// New is a library that runs npu-smi through `programs`.
func New(programs chips.Exec) *Library {
	return &Library{programs: programs, boards: map[chips.Chip]board{}}
}

// run runs npu-smi; what it wrote is in the error too.
func (l *Library) run(ctx context.Context, stdin string, arguments ...string) (string, error) {
	argv := append([]string{"npu-smi"}, arguments...)
	output, err := l.programs.Run(ctx, argv, stdin)
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, strings.TrimSpace(output))
	}
	return output, nil
}

// of are the arguments that name a chip.
func of(chip chips.Chip) []string {
	return []string{"-i", strconv.Itoa(int(chip.CardID)), "-c", strconv.Itoa(int(chip.DeviceID))}
}

// fields asks for what npu-smi says of a chip as `name : value`.
func (l *Library) fields(ctx context.Context, kind string, chip chips.Chip) (map[string]string, error) {
	output, err := l.run(ctx, "", append([]string{"info", "-t", kind}, of(chip)...)...)
	if err != nil {
		return nil, err
	}
	return fieldsOf(output), nil
}

// Chips are those with a logic id in `npu-smi info -m`, with the vdie of `npu-smi info -t board`. Where the list has no column for the
// physical id, it is the logic id, as on a machine without a container or virtual machine in between.
func (l *Library) Chips(ctx context.Context) ([]chips.Chip, error) {
	listed, err := l.list(ctx)
	if err != nil {
		return nil, err
	}
	for i, chip := range listed {
		known, err := l.board(ctx, chip)
		if err != nil {
			return nil, err
		}
		listed[i].VDie = known.vdie
	}
	return listed, nil
}

// Model is that of the first chip.
func (l *Library) Model(ctx context.Context) (chips.Model, error) {
	listed, err := l.list(ctx)
	if err != nil {
		return chips.Model{}, err
	}
	if len(listed) == 0 {
		return chips.Model{}, errors.New("npu-smi info -m: no chip with a logic id, expected at least one")
	}
	known, err := l.board(ctx, listed[0])
	return known.model, err
}

// list are the chips without their vdie.
func (l *Library) list(ctx context.Context) ([]chips.Chip, error) {
	output, err := l.run(ctx, "", "info", "-m")
	if err != nil {
		return nil, err
	}
	return chipsOf(output)
}

// board is what is known of a chip, asked for once.
func (l *Library) board(ctx context.Context, chip chips.Chip) (board, error) {
	l.mutex.Lock()
	known, is := l.boards[chip]
	l.mutex.Unlock()
	if is {
		return known, nil
	}
	fields, err := l.fields(ctx, "board", chip)
	if err != nil {
		return board{}, err
	}
	known = board{vdie: vdieOf(fields["vdie id"]), model: chips.Model{Type: fields["chip type"], Name: fields["chip name"]}}
	if known.vdie == "" {
		return board{}, fmt.Errorf("npu-smi info -t board of card %d, chip %d: VDie ID: %q, expected hexadecimal words", chip.CardID,
			chip.DeviceID, fields["vdie id"])
	}
	if kind, name, is := strings.Cut(known.model.Name, " "); is && (known.model.Type == "" || kind == known.model.Type) {
		known.model = chips.Model{Type: kind, Name: strings.TrimSpace(name)} // "Ascend 910B3"
	}
	l.mutex.Lock()
	l.boards[chip] = known
	l.mutex.Unlock()
	return known, nil
}

// healthCodes are the driver's.
var healthCodes = map[string]uint32{"ok": 0, "warning": 1, "alarm": 2, "critical": 3}

// Health is that of `npu-smi info -t health`: 0 for OK, 1 for a warning, 2 for an alarm, 3 for a critical fault.
func (l *Library) Health(ctx context.Context, chip chips.Chip) (uint32, error) {
	fields, err := l.fields(ctx, "health", chip)
	if err != nil {
		return 0, err
	}
	value, is := fields["health"]
	if !is {
		value = fields["health status"]
	}
	code, is := healthCodes[strings.ToLower(value)]
	if !is {
		return 0, fmt.Errorf("npu-smi info -t health of card %d, chip %d: Health: %q, expected OK, Warning, Alarm or Critical", chip.CardID,
			chip.DeviceID, value)
	}
	return code, nil
}

// VNPUs are those of `npu-smi info -t info-vnpu`. A container has one unless its status is 0 and its container is none.
func (l *Library) VNPUs(ctx context.Context, chip chips.Chip) ([]chips.VNPU, error) {
	output, err := l.run(ctx, "", append([]string{"info", "-t", "info-vnpu"}, of(chip)...)...)
	if err != nil {
		return nil, err
	}
	return vnpusOf(output)
}

// DestroyVNPU is `npu-smi set -t destroy-vnpu`.
func (l *Library) DestroyVNPU(ctx context.Context, chip chips.Chip, id uint32) error {
	arguments := append([]string{"set", "-t", "destroy-vnpu"}, of(chip)...)
	output, err := l.run(ctx, "Y\n", append(arguments, "-v", strconv.FormatUint(uint64(id), 10))...)
	if err != nil {
		return err
	}
	if status, is := fieldsOf(output)["status"]; is && !strings.EqualFold(status, "ok") {
		return fmt.Errorf("npu-smi set -t destroy-vnpu: Status: %q, expected OK: %s", status, strings.TrimSpace(output))
	}
	return nil
}
