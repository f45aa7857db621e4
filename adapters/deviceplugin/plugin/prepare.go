package plugin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"

	"vgpualloc.example/adapters/deviceplugin/config"
)

// offer is a resource that the kubelet is offered.
type offer struct {
	resource string
	endpoint string // the name of its socket
	of       kind
}

// prepared is all that is known before anything is served.
type prepared struct {
	conf      *config.Config
	inventory *inventory
	offers    []offer
}

// prepare reads the configuration and the GPUs, and refuses what cannot work.
func (p *Plugin) prepare(ctx context.Context) (*prepared, error) {
	read, err := p.load(ctx)
	if err != nil {
		return nil, err
	}
	conf, err := read.build()
	if err != nil {
		return nil, err
	}
	gpus, err := p.library.GPUs()
	if err != nil {
		return nil, fmt.Errorf("the GPUs cannot be read: %w", err)
	}
	result := &prepared{conf: conf, offers: offersOf(conf)}
	if result.inventory, err = newInventory(p.options.Root, conf, gpus); err != nil {
		return nil, config.Wrong(err)
	}
	if len(conf.Geometries) == 0 && result.inventory.needsGeometries() {
		if err := p.writeGeometries(ctx, read.device); err != nil {
			klog.ErrorS(err, "A first MIG configuration could not be written; it holds on this node alone")
			p.event(v1.EventTypeWarning, "NoMIGConfiguration", err.Error())
		}
		if result.conf, err = read.build(); err != nil {
			return nil, err
		}
		result.inventory.conf = result.conf
	}
	for _, reason := range result.inventory.leftOut {
		klog.ErrorS(nil, reason)
		p.event(v1.EventTypeWarning, "GPULeftOut", reason)
	}
	for _, warning := range result.conf.Warnings {
		klog.InfoS("The configuration may not do what it says", "warning", warning)
	}
	if len(result.conf.Warnings) > 0 {
		p.event(v1.EventTypeWarning, "DevicePluginConfiguration", strings.Join(result.conf.Warnings, "; "))
	}
	for _, offer := range result.offers {
		if err := result.inventory.checkLength(offer.resource, offer.of); err != nil {
			return nil, config.Wrong(err)
		}
	}
	return result, nil
}

// offersOf are the resources of the schedulers. A socket is named as upstream's, after what follows the slash.
func offersOf(conf *config.Config) []offer {
	offers := []offer{}
	if conf.Schedulers.Volcano {
		offers = append(offers, offer{resource: conf.Resources.Number, of: ofCount}, offer{resource: conf.Resources.Memory, of: ofMemory},
			offer{resource: conf.Resources.Cores, of: ofCores})
	}
	if conf.Schedulers.HAMi && !(conf.Schedulers.Volcano && conf.HAMiResource == conf.Resources.Number) {
		offers = append(offers, offer{resource: conf.HAMiResource, of: ofCount})
	}
	for i := range offers {
		domain, name, _ := strings.Cut(offers[i].resource, "/")
		offers[i].endpoint = "nvidia-" + name + ".sock"
		if slices.ContainsFunc(offers[:i], func(other offer) bool { return other.endpoint == offers[i].endpoint }) {
			offers[i].endpoint = "nvidia-" + domain + "-" + name + ".sock"
		}
	}
	return offers
}

// needsGeometries: some card is to be cut, and there is data for its model.
func (i *inventory) needsGeometries() bool {
	first := config.Config{Geometries: config.FirstGeometries()}
	return slices.ContainsFunc(i.cards, func(card card) bool {
		return card.conf.Mode == config.MIG && first.GeometriesOf(card.gpu.Name) != nil
	})
}

// writeGeometries writes a first MIG configuration into the ConfigMap, which has none. The text of `into` has it afterwards, also
// where it could not be written. Another node may have written one meanwhile: that one holds.
func (p *Plugin) writeGeometries(ctx context.Context, into *v1.ConfigMap) error {
	text, err := config.WithFirstGeometries([]byte(into.Data[config.DeviceConfigKey]))
	if err != nil {
		return err
	}
	into.Data[config.DeviceConfigKey] = string(text)
	maps := p.options.Client.CoreV1().ConfigMaps(into.Namespace)
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		latest, err := maps.Get(ctx, into.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		now := latest.Data[config.DeviceConfigKey]
		if config.HasGeometries([]byte(now)) {
			into.Data[config.DeviceConfigKey] = now
			return nil
		}
		written, err := config.WithFirstGeometries([]byte(now))
		if err != nil {
			return err
		}
		latest.Data[config.DeviceConfigKey] = string(written)
		if _, err := maps.Update(ctx, latest, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("writing key %s of ConfigMap %s/%s: %w", config.DeviceConfigKey, into.Namespace, into.Name, err)
		}
		p.event(v1.EventTypeNormal, "MIGConfigurationWritten", "a first list knownMigGeometries was written into ConfigMap "+
			into.Namespace+"/"+into.Name+"; a scheduler that reads it only once must be restarted")
		return nil
	})
}
