package plugin

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// devicesConfig lets MIG GPUs be cut into instances of half a GPU only.
func devicesConfig(count int) *v1.ConfigMap {
	return &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "volcano-vgpu-device-config", Namespace: "kube-system"},
		Data: map[string]string{"device-config.yaml": fmt.Sprintf(`
nvidia:
  resourceCountName: volcano.sh/vgpu-number
  resourceMemoryName: volcano.sh/vgpu-memory
  resourceMemoryPercentageName: volcano.sh/vgpu-memory-percentage
  resourceCoreName: volcano.sh/vgpu-cores
  knownMigGeometries:
  - models: ["A100-SXM4-40GB"]
    allowedGeometries:
    - group: mine
      geometries:
      - name: 3g.20gb
        memory: 20480
        count: %d
`, count)}}
}

// fitting is how many pods of a small MIG instance one A100 takes.
func fitting(t *testing.T, e *Engine) int {
	t.Helper()
	node := `{"kind":"Node","metadata":{"name":"a","annotations":{"volcano.sh/node-vgpu-register":
		"GPU-a-0,10,40960,NVIDIA-A100-SXM4-40GB,true,mig:"}},"status":{"allocatable":{"cpu":"64","memory":"256Gi","pods":"110",
		"volcano.sh/vgpu-number":"10","volcano.sh/vgpu-memory":"40960","volcano.sh/vgpu-cores":"100"}}}`
	if _, err := e.cluster.Tell([]byte(node)); err != nil {
		t.Fatal(err)
	}
	for placed := 0; ; placed++ {
		uid := fmt.Sprint("p", placed)
		pod := fmt.Sprintf(`{"kind":"Pod","metadata":{"name":%q,"namespace":"ns","uid":%q,"annotations":{
			"volcano.sh/vgpu-mode":"mig"}},"spec":{"containers":[{"name":"main","resources":{"limits":{
			"volcano.sh/vgpu-number":"1","volcano.sh/vgpu-memory":"3000"}}}]}}`, uid, uid)
		if _, err := e.cluster.Tell([]byte(pod)); err != nil {
			t.Fatal(err)
		}
		if _, err := e.cluster.Reserve(uid, "ns/"+uid, "a", nil, time.Now()); err != nil {
			for gone := range placed + 1 {
				_ = e.cluster.RemovePod(fmt.Sprint("p", gone))
			}
			return placed
		}
	}
}

func TestTheDevicesConfigurationIsFollowed(t *testing.T) {
	client := kubefake.NewClientset(devicesConfig(1))
	maps := client.CoreV1().ConfigMaps("kube-system")
	engine := NewEngine()
	follow := func(until func() bool) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			if err := engine.configure(framework.Arguments{}, nil, client); err != nil {
				t.Fatal(err)
			}
			if until() {
				return
			}
		}
		t.Fatal("it is not followed")
	}
	follow(func() bool { return true })
	if count := fitting(t, engine); count != 1 {
		t.Error("what is there at the start holds at once", count)
	}
	if _, err := maps.Update(context.Background(), devicesConfig(2), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	follow(func() bool { return fitting(t, engine) == 2 })

	bad := devicesConfig(2)
	bad.Data["device-config.yaml"] = "nvidia:\n  knownMigGeometries:\n  - models: 7\n"
	if _, err := maps.Update(context.Background(), bad, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	follow(func() bool { return engine.ConfigFailure() != nil })
	if why := engine.ConfigFailure().Error(); !strings.Contains(why, "models") || !strings.Contains(why, "7") {
		t.Error(why)
	}
	if count := fitting(t, engine); count != 2 {
		t.Error("the last that was good stays", count)
	}
	if err := maps.Delete(context.Background(), bad.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	follow(func() bool { return engine.ConfigFailure() == nil && fitting(t, engine) > 2 }) // upstream's default
	if err := engine.Close(); err != nil {
		t.Error(err)
	}
}

// Arguments that were refused at first: the cluster that is made when they are good has to know what the other one was told.
func TestNodesDevicesAreKnownWhenArgumentsBecomeGood(t *testing.T) {
	client := kubefake.NewClientset(configMap("mindx-dl", "mindx-dl-deviceinfo-a", "DeviceInfoCfg", "{}"))
	engine := NewEngine()
	defer func() { _ = engine.Close() }()
	session := sessionOf(nil, nil, nil)
	arguments := framework.Arguments{"deviceshare.AscendMindClusterVNPUEnable": true, policyArgument: "none"}
	if err := engine.configure(arguments, nil, client); err == nil {
		t.Error("no policy is called so")
	}
	engine.follow(session)
	arguments[policyArgument] = "binpack"
	if err := engine.configure(arguments, nil, client); err != nil {
		t.Fatal(err)
	}
	engine.follow(session)
	if err := engine.cluster.RemoveConfigMap("mindx-dl/mindx-dl-deviceinfo-a"); err != nil {
		t.Error(err)
	}
}
