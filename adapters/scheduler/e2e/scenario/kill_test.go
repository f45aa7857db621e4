package scenario

import "testing"

// 900 pods in three rounds are more than the cluster holds; what waits for room would count as forgotten.
func TestARoundOfKillingFitsIntoTheCluster(t *testing.T) {
	kinds := make([]string, 7)
	for _, each := range []struct{ kills, pods, nodes, expected int }{{30, 900, 4, 30}, {3, 900, 4, 32}, {3, 900, 100, 300},
		{30, 10, 4, 1}, {3, 900, 2, 16}} {
		options := Options{Kinds: kinds, Kills: each.kills, Nodes: each.nodes, Devices: 4}
		if pods := options.podsOfRound(each.pods); pods != each.expected {
			t.Error(each, pods)
		}
	}
}
