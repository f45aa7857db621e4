package plugin

import (
	"testing"

	"volcano.sh/volcano/pkg/scheduler/framework"
)

func TestTheLimitOfTheDecisionLog(t *testing.T) {
	for _, each := range []struct {
		arguments framework.Arguments
		bytes     int64
	}{{nil, 1 << 30}, {framework.Arguments{logLimitArgument: 0}, 0}, {framework.Arguments{logLimitArgument: "7"}, 7 << 20}} {
		if read, err := readArguments(each.arguments, nil); err != nil || read.logLimit != each.bytes {
			t.Error(each, read.logLimit, err)
		}
	}
}
