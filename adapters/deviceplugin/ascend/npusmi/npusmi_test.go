package npusmi

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"vgpualloc.example/adapters/deviceplugin/ascend/chips"
)

// tool answers as npu-smi, by its arguments.
type tool struct {
	answers map[string]string
	ran     []string
}

func (t *tool) Run(_ context.Context, argv []string, stdin string) (string, error) {
	line := strings.Join(argv, " ") + stdin
	t.ran = append(t.ran, line)
	answer, is := t.answers[line]
	if !is {
		return "This device does not support it.", errors.New("exit status 1")
	}
	return answer, nil
}

const list = `
	NPU ID                         Chip ID                        Chip Logic ID                  Chip Name
	2                              0                              0                              Ascend 310P3
	2                              1                              1                              Ascend 310P3
	2                              2                              -                              Mcu
`

const boardText = `
	NPU ID                         : 2
	Chip ID                        : 0
	Chip Type                      : Ascend
	Chip Name                      : 310P3
	Chip Version                   : V1
	VDie ID                        : 3c3a1a10 20609c21 55b1a4e0 44180485 c3103003
	NDie ID                        : 00000000 00000000 00000000 00000000 00000000
	PCIe Bus Info                  : 0000:01:00.0
`

const vnpus = `
+-------------------------------------------------------------------------------+
| NPU resource static info as follow:                                           |
| Format:Free/Total                   NA: Currently, query is not supported.    |
| AICORE    Memory    AICPU    VPC    VENC    VDEC    JPEGD    JPEGE    PNGD    |
|            GB                                                                 |
|===============================================================================|
| 4/8       9/21      3/7      6/12   3/3     6/12    8/16     4/8      NA/NA   |
+-------------------------------------------------------------------------------+
| Total number of vnpu: 3                                                       |
+-------------------------------------------------------------------------------+
|  Vnpu ID  |  Vgroup ID     |  Container ID  |  Status  |  Template Name        |
+-------------------------------------------------------------------------------+
|  100      |  2             |  ffffffffffff  |  0       |  vir02                |
+-------------------------------------------------------------------------------+
|  101      |  1             |  1f2e3d4c5b6a  |  0       |  vir01                |
+-------------------------------------------------------------------------------+
|  102      |  1             |  ffffffffffff  |  1       |  vir01                |
+-------------------------------------------------------------------------------+
`

func newTool() *tool {
	second := strings.ReplaceAll(boardText, "3c3a1a10", "4D3A1A10")
	return &tool{answers: map[string]string{"npu-smi info -m": list, "npu-smi info -t board -i 2 -c 0": boardText,
		"npu-smi info -t board -i 2 -c 1": second, "npu-smi info -t health -i 2 -c 0": "\tHealth                         : OK\n\tError Code                     : NA\n",
		"npu-smi info -t health -i 2 -c 1":                "\tHealth Status : Alarm\n",
		"npu-smi info -t info-vnpu -i 2 -c 0":             vnpus,
		"npu-smi set -t destroy-vnpu -i 2 -c 0 -v 100Y\n": "\tStatus : OK\n\tMessage : Destroy vnpu 100 success\n",
		"npu-smi set -t destroy-vnpu -i 2 -c 0 -v 101Y\n": "\tStatus : Fail\n\tMessage : it is used\n",
		"npu-smi info -t info-vnpu -i 2 -c 1":             "| Total number of vnpu: 0    |\n",
		"npu-smi info -t health -i 9 -c 0":                "\tHealth : perhaps\n",
		"npu-smi info -t board -i 9 -c 0":                 "\tVDie ID : NA\n"}}
}

func TestChipsAreReadFromTheirTables(t *testing.T) {
	programs := newTool()
	library, ctx := New(programs), context.Background()
	listed, err := library.Chips(ctx)
	if err != nil {
		t.Fatal(err)
	}
	want := []chips.Chip{{LogicID: 0, PhyID: 0, CardID: 2, DeviceID: 0, VDie: "3C3A1A10-20609C21-55B1A4E0-44180485-C3103003"},
		{LogicID: 1, PhyID: 1, CardID: 2, DeviceID: 1, VDie: "4D3A1A10-20609C21-55B1A4E0-44180485-C3103003"}}
	if !reflect.DeepEqual(listed, want) {
		t.Errorf("chips %+v, expected %+v", listed, want)
	}
	if model, err := library.Model(ctx); err != nil || model != (chips.Model{Type: "Ascend", Name: "310P3"}) {
		t.Errorf("model %+v: %v", model, err)
	}
	if _, err = library.Chips(ctx); err != nil {
		t.Error(err)
	}
	looks := strings.Count(strings.Join(programs.ran, "\n"), "-t board")
	if looks != 2 {
		t.Errorf("npu-smi was asked for boards %d times, expected once for each of 2 chips", looks)
	}
	for i, code := range []uint32{0, 2} {
		if got, err := library.Health(ctx, listed[i]); err != nil || got != code {
			t.Errorf("health of chip %d is %d (%v), expected %d", i, got, err, code)
		}
	}
}

func TestAColumnForPhysicalIDsCounts(t *testing.T) {
	listed, err := chipsOf("NPU ID  Chip ID  Chip Logic ID  Chip Phy-ID  Chip Name\n0  0  0  5  Ascend910\n")
	if err != nil || len(listed) != 1 || listed[0].PhyID != 5 {
		t.Errorf("chips %+v: %v", listed, err)
	}
}

func TestPartsOfChips(t *testing.T) {
	library, ctx := New(newTool()), context.Background()
	chip := chips.Chip{CardID: 2}
	parts, err := library.VNPUs(ctx, chip)
	want := []chips.VNPU{{ID: 100, Template: "vir02"}, {ID: 101, Template: "vir01", ContainerUsed: true}, {ID: 102, Template: "vir01", ContainerUsed: true}}
	if err != nil || !reflect.DeepEqual(parts, want) {
		t.Errorf("parts %+v (%v), expected %+v", parts, err, want)
	}
	if parts, err = library.VNPUs(ctx, chips.Chip{CardID: 2, DeviceID: 1}); err != nil || len(parts) != 0 {
		t.Errorf("parts %+v (%v), expected none", parts, err)
	}
	if err = library.DestroyVNPU(ctx, chip, 100); err != nil {
		t.Error(err)
	}
	if err = library.DestroyVNPU(ctx, chip, 101); err == nil || !strings.Contains(err.Error(), "it is used") {
		t.Errorf("error %v, expected the tool's words", err)
	}
}

func TestWhatCannotBeReadIsAnError(t *testing.T) {
	library, ctx := New(newTool()), context.Background()
	strange := chips.Chip{CardID: 9}
	if _, err := library.Health(ctx, strange); err == nil || !strings.Contains(err.Error(), "perhaps") {
		t.Errorf("health: %v", err)
	}
	if _, err := library.board(ctx, strange); err == nil || !strings.Contains(err.Error(), "VDie ID") {
		t.Errorf("board: %v", err)
	}
	if _, err := library.VNPUs(ctx, strange); err == nil || !strings.Contains(err.Error(), "does not support") {
		t.Errorf("parts: %v", err)
	}
	if _, err := chipsOf("dcmi module initialize failed. ret is -8005\n"); err == nil {
		t.Error("a message is no list of chips")
	}
	if _, err := vnpusOf("Message\n"); err == nil {
		t.Error("a message is no list of parts")
	}
	if _, err := chipsOf("NPU ID  Chip ID  Chip Logic ID\nx  0  0\n"); err == nil {
		t.Error("x is no card")
	}
}
