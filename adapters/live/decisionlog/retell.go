package decisionlog

import (
	"fmt"

	"vgpualloc.example/adapters/vga"
)

// Retell makes an empty core what another one is, which was told of these objects, and writes down how. It returns the pods that
// were told as bound before their objects say so.
func Retell(from, core *vga.Cluster, options vga.Options, objects *Objects, to *Log) (map[string][]byte, error) {
	to.Add(Start(options))
	tell := func(text []byte) error {
		to.Add(Tell(text))
		_, err := core.Upsert(text)
		return err
	}
	for _, kind := range []string{ConfigMap, Node} {
		for _, name := range objects.Of(kind) {
			if err := tell(objects.objects[name].text); err != nil {
				return nil, fmt.Errorf("%s %s: %w", kind, name.Name, err)
			}
		}
	}
	early := map[string][]byte{}
	for _, name := range objects.Of(Pod) {
		uid, text := name.Name, objects.objects[name].text
		of, err := HeadOf(text)
		if err != nil {
			return nil, err
		}
		state, node := from.Pod(uid)
		if state == vga.PodCommitted && of.Spec.NodeName == "" {
			early[uid] = text
			if text, err = Bound(from, uid, node, text); err != nil {
				return nil, fmt.Errorf("pod %s: %w", uid, err)
			}
		}
		if err := tell(text); err != nil {
			return nil, fmt.Errorf("pod %s: %w", uid, err)
		}
	}
	if err := matchPods(from, core, objects, to); err != nil {
		return nil, err
	}
	learned, err := core.LearnWorkload()
	if learned {
		to.Add(Line{Event: "learn"})
	}
	return early, err
}

// matchPods has pods give back what their objects say and a scheduler took back, and makes sure that all have what they
// had.
func matchPods(from, core *vga.Cluster, objects *Objects, to *Log) error {
	for _, name := range objects.Of(Pod) {
		uid := name.Name
		state, node := from.Pod(uid)
		now, where := core.Pod(uid)
		if state == vga.PodWaiting && now == vga.PodCommitted {
			if err := core.Release(uid); err != nil {
				return err
			}
			to.Add(Line{Event: "release", UID: uid})
			now, where = core.Pod(uid)
		}
		if now != state {
			return fmt.Errorf("pod %s is in state %d and would be in state %d", uid, state, now)
		}
		if state != vga.PodCommitted {
			continue
		}
		has, err := from.NodeName(node)
		if err != nil {
			return err
		}
		if would, err := core.NodeName(where); err != nil || would != has {
			return fmt.Errorf("pod %s is on node %s and would be on node %q (%v)", uid, has, would, err)
		}
	}
	return nil
}
