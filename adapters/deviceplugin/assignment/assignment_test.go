package assignment

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestTextsOfVolcanoAreReadAndWrittenAlike(t *testing.T) {
	cases := []struct {
		text   string
		counts []int
	}{
		{"", []int{0}},
		{"GPU-1,NVIDIA,100,50:", []int{1}},
		{"GPU-1,NVIDIA,100,50:GPU-2,NVIDIA,0,0:;GPU-1,NVIDIA,1,100:", []int{2, 1}},
		{";GPU-1,NVIDIA,1,1:;", []int{0, 1, 0}},
		{"GPU-1[group1-0],NVIDIA,1,1,extra:", []int{1}},
		{"garbage", []int{0}},
	}
	for _, c := range cases {
		slots, err := ParseVolcano(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		var counts []int
		for _, entries := range slots {
			counts = append(counts, len(entries))
		}
		if !reflect.DeepEqual(counts, c.counts) {
			t.Errorf("%q has entries %v, expected %v", c.text, counts, c.counts)
		}
		if written := slots.Volcano(); written != c.text && c.text != "garbage" {
			t.Errorf("%q is written as %q", c.text, written)
		}
	}
}

func TestErasingKeepsTheSlots(t *testing.T) {
	slots, err := ParseVolcano(":::A,NVIDIA,1,1:;B,NVIDIA,2,2")
	if err != nil {
		t.Fatal(err)
	}
	if text := slots.Erased(0).Volcano(); text != ";B,NVIDIA,2,2:" {
		t.Errorf("Volcano's without slot 0: %q", text)
	}
	text := "A,Ascend910B,1,1:;B,Ascend910B,2,2:;"
	for _, expected := range []string{";B,Ascend910B,2,2:;", ";;"} {
		slots, err := ParseHAMi(text)
		if err != nil || len(slots) != 2 {
			t.Fatalf("%q: %v, %v", text, slots, err)
		}
		if text = slots.Erased(slots.Next("Ascend910B")).HAMi(); text != expected {
			t.Errorf("erased: %q, expected %q", text, expected)
		}
	}
	if slots, _ := ParseHAMi(text); slots.Next("") != -1 || slots.HAMi() != text {
		t.Errorf("%q: next %d, written %q", text, slots.Next(""), slots.HAMi())
	}
}

func TestFieldsOfAnEntry(t *testing.T) {
	slots, err := ParseVolcano("GPU-ab[my-group-12],NVIDIA,3000,30:GPU-cd,MLU,1,2:")
	if err != nil {
		t.Fatal(err)
	}
	expected := Entry{UUID: "GPU-ab", Group: "my-group", Position: 12, Type: "NVIDIA", Memory: 3000, Cores: 30, Text: "GPU-ab[my-group-12],NVIDIA,3000,30"}
	if slots[0][0] != expected {
		t.Errorf("%+v, expected %+v", slots[0][0], expected)
	}
	if slots.Next("MLU") != 0 || slots.Next("other") != -1 || Count(slots[0], "NVIDIA") != 1 || Count(slots[0], "") != 2 {
		t.Error("entries are not counted by their types")
	}
	expected.Text = ""
	if text := (Slots{{expected}}).Volcano(); text != "GPU-ab[my-group-12],NVIDIA,3000,30:" {
		t.Errorf("written from values: %q", text)
	}
}

func TestWhatCannotBeReadNamesItsField(t *testing.T) {
	cases := []struct{ text, field, value string }{
		{"G,NVIDIA,5:", "entry", "G,NVIDIA,5"},
		{"G,:", "entry", "G,"},
		{"G::1,NVIDIA,512,25:", "entry", "G"},
		{"G,NVIDIA,,5:", "memory", ""},
		{"G,NVIDIA,x,5:", "memory", "x"},
		{"G,NVIDIA,1.5,5:", "memory", "1.5"},
		{"G,NVIDIA,-1,5:", "memory", "-1"},
		{"G,NVIDIA,+1,5:", "memory", "+1"},
		{"G,NVIDIA, 1,5:", "memory", " 1"},
		{"G,NVIDIA,2147483648,5:", "memory", "2147483648"},
		{"G,NVIDIA,1,101:", "cores", "101"},
		{"G,NVIDIA,1,-1:", "cores", "-1"},
		{"G,NVIDIA,1,:", "cores", ""},
		{",NVIDIA,1,1:", "uuid", ""},
		{"G[group1],NVIDIA,1,1:", "uuid", "G[group1]"},
		{"G[group1-0,NVIDIA,1,1:", "uuid", "G[group1-0"},
		{"G[-0],NVIDIA,1,1:", "uuid", "G[-0]"},
		{"G[ group1 -0],NVIDIA,1,1:", "uuid", "G[ group1 -0]"},
		{"G[group1-x],NVIDIA,1,1:", "uuid", "G[group1-x]"},
		{"G[group1-],NVIDIA,1,1:", "uuid", "G[group1-]"},
		{"[group1-0],NVIDIA,1,1:", "uuid", "[group1-0]"},
		{"G[a-1][b-2],NVIDIA,1,1:", "uuid", "G[a-1][b-2]"},
		{"G],NVIDIA,1,1:", "uuid", "G]"},
	}
	for _, c := range cases {
		slots, err := ParseVolcano("A,NVIDIA,1,1:;" + c.text)
		var problem *Error
		if !errors.As(err, &problem) {
			t.Errorf("%q: %v, expected an *Error", c.text, err)
			continue
		}
		if problem.Slot != 1 || problem.Entry != 0 || problem.Field != c.field || problem.Value != c.value {
			t.Errorf("%q: %+v, expected field %s with value %q of slot 1, entry 0", c.text, problem, c.field, c.value)
		}
		if !strings.Contains(err.Error(), "expected ") || !strings.Contains(err.Error(), "invalid "+c.field+" field") {
			t.Errorf("%q: %v", c.text, err)
		}
		if len(slots) != 2 || len(slots[0]) != 1 || len(slots[1]) != 1 {
			t.Errorf("%q: entries are not counted: %v", c.text, slots)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("GPU-1[g-0],NVIDIA,1,1:;;x,y:")
	formats := []struct {
		read  func(string) (Slots, error)
		write func(Slots) string
	}{{ParseVolcano, Slots.Volcano}, {ParseHAMi, Slots.HAMi}}
	f.Fuzz(func(t *testing.T, text string) {
		for _, format := range formats {
			slots, err := format.read(text)
			if err != nil {
				continue
			}
			written := format.write(slots)
			again, err := format.read(written)
			if err != nil {
				t.Fatalf("%q was written as %q: %v", text, written, err)
			}
			if format.write(again) != written {
				t.Fatalf("%q becomes %q", written, format.write(again))
			}
		}
	})
}
