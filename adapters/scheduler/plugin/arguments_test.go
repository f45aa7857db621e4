package plugin

import (
	"strings"
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

// Arguments are a map of Go, whose order is another one each time.
func TestOfSeveralThatAreWrongTheSameOneIsAlwaysNamed(t *testing.T) {
	wrong := framework.Arguments{"b": nil, "a": nil, "d": nil, "c": nil}
	locks := map[string]string{"hami.io/Ascend910B-devices-to-allocate": "", "hami.io/Ascend310P-devices-to-allocate": ""}
	for range 50 {
		if _, err := readArguments(wrong, nil); err == nil || !strings.Contains(err.Error(), "argument a of plugin") {
			t.Fatal(err)
		}
		if lock := lockNameOf(locks); lock != "Ascend310P" {
			t.Fatal(lock)
		}
	}
}
