package ask

import (
	"strings"
	"sync"
	"testing"
)

const cluster = `{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "labels": {"nvidia.com/gpu.product": "Tesla-T4",
"nvidia.com/gpu.memory": "15360", "nvidia.com/gpu.count": "2"}}, "status": {"allocatable": {"cpu": "8", "memory": "64Gi", "pods": "110",
"nvidia.com/gpu": "2"}, "conditions": [{"type": "Ready", "status": "True"}]}}`

func TestAnswersOfManyAtOnce(t *testing.T) {
	var group sync.WaitGroup
	for range 8 {
		group.Add(1)
		go func() {
			defer group.Done()
			question := Question{Command: "show", Options: []Option{{"cluster", "c.json"}}, Texts: []Text{{"c.json", []byte(cluster)}}}
			reply, err := Ask(question)
			if err != nil || reply.Code != 0 || reply.Errors != "" || !strings.HasPrefix(reply.Text, "2 GPUs on 1 node") ||
				!strings.Contains(reply.JSON, "vgpualloc.show/1") {
				t.Errorf("%v, %+v", err, reply)
			}
		}()
	}
	group.Wait()
}

func TestBadQuestionsAreCode2InOneLine(t *testing.T) {
	for _, example := range []struct {
		question Question
		named    string
	}{
		{Question{Command: "shwo"}, "shwo"},
		{Question{Command: "show", Options: []Option{{"colour", "red"}}}, "colour"},
		{Question{Command: "show", Options: []Option{{"cluster", "nothing.json"}}}, "nothing.json"},
		{Question{Command: "show", Options: []Option{{"cluster", "c.json"}}, Texts: []Text{{"c.json", nil}}}, "c.json"},
	} {
		reply, err := Ask(example.question)
		if err != nil || reply.Code != 2 || reply.Text != "" || strings.Count(reply.Errors, "\n") != 1 || !strings.Contains(reply.Errors, example.named) {
			t.Errorf("%+v: %v, %+v", example.question, err, reply)
		}
	}
}
