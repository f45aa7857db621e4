package main

import (
	"errors"
	"strings"
	"testing"
)

func TestFlagsThatMakeNoSenseStartNothing(t *testing.T) {
	for flags, words := range map[string]string{
		"":                            "expected a scenario",
		"nosuch":                      "expected a scenario",
		"mixed -kinds hami-core,nope": `-kinds: kind "nope", expected one of [hami-core`,
		"mixed -pods 0":               "-pods 0, expected a number from 1 on",
		"mixed -pods -5":              "-pods -5, expected",
		"mixed -devices 0":            "-devices 0, expected",
		"soak -nodes 0":               "-nodes 0, expected",
		"kill -kills 0":               "-kills 0, expected",
		"kill -nodes 1 -devices 4":    "-nodes 1 with -devices 4: expected at least 8 devices",
		"mixed -rate -1":              "-rate -1, expected",
		"mixed -ending -1s":           "-ending -1s, expected",
		"mixed -profile 5s":           "-profile 5s of scenario mixed, expected",
		"throughput -profile 10ms":    "-profile 10ms of scenario throughput, expected a second or more",
		"extender":                    "-extender is needed",
		"hami":                        "-extender is needed",
		"switch":                      "-stock and -stock-conf are needed",
		"node":                        "-plugin-rights is needed",
		"faults":                      "-scheduler, -scheduler-conf and -crds are needed",
		"mixed more":                  "expected flags only",
	} {
		var usage usageError
		if err := run(strings.Fields(flags)); !errors.As(err, &usage) || !strings.Contains(usage.text, words) {
			t.Error(flags, err)
		}
	}
}
