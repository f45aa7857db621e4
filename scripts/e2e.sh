#!/usr/bin/env bash
# Runs a scenario against real components on loopback: etcd, kube-apiserver and a scheduler: Volcano's with our plugin, stock
# Volcano, or a kube-scheduler that asks our extender. Builds what it needs in build/e2e, keeps state in a folder of its own
# and takes everything away at the end.
# Usage: scripts/e2e.sh [OPTIONS] SCENARIO [flags of the scenario: -pods 1000, -seed 7, …]
#   SCENARIO         mixed, kill, throughput, soak, faults (-help after it lists its flags), or
#                    "extender": kill and mixed with kube-scheduler and our extender, whatever --scheduler says;
#                    "all": mixed and kill, as CI runs them; "rights": ours with the chart's rights only;
#                    "kubectl": kubectl's plugin as a user who may only get and list; "build": only builds;
#                    "rules": random pods (-pods 500, -clusters 12, -seed 1) with node rules, pod affinity and topology spread: the
#                    nodes that fit are those that kube-scheduler finds (-rules host,affinity,spread: which are drawn);
#                    "policies": random quotas, limit ranges, priority classes and disruption budgets (-clusters 6, -seed 1): the pods
#                    that are made, and those that are evicted, are those of kube-apiserver and its controllers;
#                    "kueue": random queues, cohorts and flavors (-setups 300, -seed 1): the jobs that are let in are those that Kueue admits;
#                    "volcano": random queues and PodGroups (-setups 120, -seed 1): the pods that start are those that Volcano's own scheduler binds;
#                    "node": pods of every way of sharing on a real node: kubelet, containerd, runc and our device plugin on the fake
#                    NVML, in namespaces and control groups of their own (root, Debian's packages unpacked, a C compiler);
#                    "node --churn": pods come and go on two such nodes while layouts change, GPUs fall ill and programs are killed;
#                    "switch": pods of stock Volcano on such nodes, then our scheduler in its place while they run, and back;
#                    "hami": pods in HAMi's spelling on such a node, with kube-scheduler and our extender
#   --build DIR      a build of the library that our scheduler links (default: build/release, or else build/ci-release)
#   --scheduler WHO  ours (default); stock: Volcano's own with its plugin deviceshare; extender: kube-scheduler with our
#                    extender (mixed, kill, throughput, soak)
#   --conf FILE      another scheduler configuration than adapters/scheduler/e2e/conf/WHO.conf
#   --out DIR        where summaries go, and logs of a run that failed (default: build/e2e/out)
# Exit code 0: no rule was broken; 1: one was, or something failed; 2: usage; 77: no Go here, unless CI=true.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() { sed -n '2,/^set /{/^# /s/^# //p}' "${BASH_SOURCE[0]}"; }
wrong() { printf 'e2e.sh: %s\n' "$*" >&2; exit 2; }

work=$root/build/e2e
kueue_wanted=v0.17.0 # of tests/data/kueue_admissions too
scheduler=ours build="" conf="" out=$work/out
while [ $# -gt 0 ]; do
    case $1 in
        --build | --scheduler | --conf | --out)
            [ $# -ge 2 ] || wrong "$1 without a value"
            case $1 in
                --build) build=$2 ;;
                --scheduler) scheduler=$2 ;;
                --conf) conf=$2 ;;
                --out) out=$2 ;;
            esac
            shift 2
            ;;
        -h | --help) usage; exit 0 ;;
        -*) wrong "option '$1', expected --build, --scheduler, --conf or --out" ;;
        *) break ;;
    esac
done
[ $# -ge 1 ] || wrong "no scenario, expected mixed, kill, extender, throughput, soak, faults, node, switch, hami, all, rights, rules, policies, kueue, volcano, kubectl or build"
scenario=$1
shift
if [ "$scenario" = node ] && [ "${1:-}" = --churn ]; then
    scenario=churn
    shift
fi
case $scenario in mixed | kill | extender | throughput | soak | faults | node | churn | switch | hami | all | rights | rules | policies | kueue | volcano | kubectl | build) ;; *) wrong "scenario '$scenario' is not known" ;; esac
if [ "$scenario" = extender ] || [ "$scenario" = hami ]; then scheduler=extender; fi
case $scheduler in ours | stock | extender) ;; *) wrong "--scheduler '$scheduler', expected ours, stock or extender" ;; esac
if [ "$scenario" = faults ] && [ "$scheduler" = extender ]; then wrong "faults are those of Volcano's scheduler"; fi
# Pods on a real node, which is what the node's programs do to a machine.
is_real=false
if [ "$scenario" = node ] || [ "$scenario" = churn ] || [ "$scenario" = switch ] || [ "$scenario" = hami ]; then
    is_real=true
    [ "$scheduler" = ours ] || [ "$scenario" = hami ] || wrong "$scenario is a scenario of our scheduler"
    if [ "$(id -u)" != 0 ]; then
        say "e2e.sh $scenario DOES NOT RUN: it takes root for namespaces and control groups of its own"
        if [ "${CI:-}" = true ]; then exit 1; else exit 77; fi
    fi
fi
if [ -z "$build" ]; then
    build=$root/build/release
    if [ ! -d "$build/lib" ]; then build=$root/build/ci-release; fi
fi
conf=${conf:-$root/adapters/scheduler/e2e/conf/$scheduler.conf}
[ -f "$conf" ] || wrong "--conf '$conf', expected a file"
if [ "$scheduler" != stock ] || [ "$scenario" = build ]; then
    for needed in lib/libvgpualloc_c_api.a bin/vgpusim; do
        [ -f "$build/$needed" ] || wrong "--build '$build' has no $needed, expected a folder in which library and vgpusim are built"
    done
    build=$(realpath "$build")
fi
conf=$(realpath "$conf")
mkdir -p "$work/bin" "$out"
out=$(realpath "$out")

if ! go=$(find_go); then
    say "no Go $go_wanted or newer: nothing is run"
    if [ "${CI:-}" = true ]; then exit 1; else exit 77; fi
fi

go_settings "$build"
cd "$root/adapters/scheduler"

# unpack PACKAGE FOLDER PROGRAM: Debian's package is unpacked and not installed, because installing it may start it as a service.
unpack() {
    if [ -x "$2/$3" ]; then return; fi
    say "unpacking package $1"
    mkdir -p "$2"
    (cd "$2" && apt-get download -qq "$1" 2>/dev/null && dpkg -x "$1"_*.deb . && rm "$1"_*.deb) ||
        die "apt-get download $1 failed (apt-get update may help)"
}

etcd=$(command -v etcd || true)
if [ -z "$etcd" ]; then
    etcd=$work/etcd/usr/bin/etcd
    unpack etcd-server "$work/etcd" usr/bin/etcd
fi
if $is_real; then
    unpack containerd "$work/debs" usr/bin/containerd
    unpack runc "$work/debs" usr/sbin/runc
fi

kubernetes=$("$go" list -m -f '{{.Version}}' k8s.io/kubernetes)
volcano=$("$go" list -m -f '{{.Dir}}' volcano.sh/volcano)
if [ -z "$volcano" ]; then
    "$go" mod download volcano.sh/volcano
    volcano=$("$go" list -m -f '{{.Dir}}' volcano.sh/volcano)
fi
# of_kubernetes PROGRAM: one that says which version it is.
of_kubernetes() {
    "$go" build -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$kubernetes" -o "$work/bin/$1" "k8s.io/kubernetes/cmd/$1"
}

# stock_volcano: Volcano's own scheduler, with its plugin deviceshare.
stock_volcano() { "$go" build -ldflags "-s -w" -o "$work/bin/vc-scheduler" volcano.sh/volcano/cmd/scheduler; }

# with_library PROGRAM MODULE: one of ours, which links the library.
with_library() {
    "$go" build -C "$root/adapters/$2" -ldflags "-s -w $(library_link "$build")" -o "$work/bin/$1" .
}

if [ "$scenario" = kubectl ]; then
    say "building kube-apiserver $kubernetes and kubectl-vgpu"
    of_kubernetes kube-apiserver
    "$go" build -C "$root/adapters/kubectl" -ldflags "-s -w $(facade_link "$build")" -o "$work/bin/kubectl-vgpu" .
    if kubectl=$(command -v kubectl); then set -- --kubectl "$kubectl" "$@"; fi
    exec python3 "$root/tests/e2e/kubectl.py" --etcd "$etcd" --kube-apiserver "$work/bin/kube-apiserver" \
        --kubectl-vgpu "$work/bin/kubectl-vgpu" --vgpusim "$build/bin/vgpusim" "$@"
fi

if [ "$scenario" = rules ]; then
    say "building kube-apiserver and kube-scheduler $kubernetes"
    of_kubernetes kube-apiserver
    of_kubernetes kube-scheduler
    cd "$OLDPWD" # which a folder in the flags may be relative to
    exec python3 "$root/tests/e2e/rules.py" --etcd "$etcd" --kube-apiserver "$work/bin/kube-apiserver" \
        --kube-scheduler "$work/bin/kube-scheduler" --vgpusim "$build/bin/vgpusim" --out "$out" "$@"
fi

if [ "$scenario" = policies ]; then
    say "building kube-apiserver $kubernetes and its controllers of quotas and budgets"
    of_kubernetes kube-apiserver
    "$go" build -ldflags "-s -w" -o "$work/bin/controllers" ./e2e/cmd/controllers
    cd "$OLDPWD" # which a folder in the flags may be relative to
    exec python3 "$root/tests/e2e/policies.py" --etcd "$etcd" --kube-apiserver "$work/bin/kube-apiserver" \
        --controllers "$work/bin/controllers" --vgpusim "$build/bin/vgpusim" --out "$out" "$@"
fi

if [ "$scenario" = kueue ]; then
    # A module of its own: it is built as its authors build it, with the Kubernetes that it asks for.
    say "building kube-apiserver $kubernetes and Kueue $kueue_wanted"
    of_kubernetes kube-apiserver
    module=$work/kueue-$kueue_wanted
    if [ ! -x "$module/kueue" ]; then
        mkdir -p "$module"
        printf 'module kueue\n\ngo 1.25.0\n\nrequire sigs.k8s.io/kueue %s\n\ntool sigs.k8s.io/kueue/cmd/kueue\n' "$kueue_wanted" >"$module/go.mod"
        "$go" -C "$module" mod tidy
        "$go" build -C "$module" -ldflags "-s -w" -o kueue sigs.k8s.io/kueue/cmd/kueue
    fi
    crds=$("$go" list -C "$module" -m -f '{{.Dir}}' sigs.k8s.io/kueue)/config/components/crd/bases
    cd "$OLDPWD" # which a folder in the flags may be relative to
    exec python3 "$root/tests/e2e/kueue.py" --etcd "$etcd" --kube-apiserver "$work/bin/kube-apiserver" --kueue "$module/kueue" \
        --crds "$crds" --vgpusim "$build/bin/vgpusim" --out "$out" "$@"
fi

if [ "$scenario" = volcano ]; then
    say "building kube-apiserver $kubernetes and stock Volcano"
    of_kubernetes kube-apiserver
    stock_volcano
    cd "$OLDPWD" # which a folder in the flags may be relative to
    exec python3 "$root/tests/e2e/volcano.py" --etcd "$etcd" --kube-apiserver "$work/bin/kube-apiserver" --scheduler "$work/bin/vc-scheduler" \
        --crds "$volcano/config/crd/volcano/bases" --vgpusim "$build/bin/vgpusim" --out "$out" "$@"
fi

say "building kube-apiserver $kubernetes, the scheduler ($scheduler) and the scenarios"
of_kubernetes kube-apiserver
flags=(-ledger -explain)
if [ "$scheduler" = extender ] || [ "$scenario" = build ]; then
    of_kubernetes kube-scheduler
    with_library vgpualloc-extender extender
fi
case $scheduler in
    ours)
        program=$work/bin/vgpualloc-scheduler
        with_library vgpualloc-scheduler scheduler
        ;;
    extender)
        program=$work/bin/kube-scheduler
        flags+=(-kinds "hami-core,mig,mps,ascend,310p,cce,gpushare,hami" -extender "$work/bin/vgpualloc-extender")
        ;;
    stock)
        program=$work/bin/vc-scheduler
        stock_volcano
        # What it does not serve is left out. Without the others it reads no device configuration and sees no device.
        flags=(-kinds "hami-core,mig,ascend,310p" -in-cluster -nudge)
        ;;
esac
"$go" build -o "$work/bin/e2e" ./e2e/cmd/e2e
if $is_real || [ "$scenario" = build ]; then
    say "building kubelet $kubernetes and the device plugin"
    of_kubernetes kubelet
    with_library vgpualloc-device-plugin deviceplugin
fi
if $is_real; then
    programs=$work/container
    nvml=$build/lib/fake_nvml/libnvidia-ml.so.1
    [ -f "$nvml" ] || wrong "--build '$build' has no lib/fake_nvml/libnvidia-ml.so.1, expected target fake_nvml to be built"
    mkdir -p "$programs"
    sources=$root/adapters/scheduler/e2e/node/container
    # in_container NAME ARGUMENTS: a program or library of the pods; another run may be using the one that is there.
    in_container() {
        cc -std=gnu11 -O2 -Wall -Wextra -Werror -o "$programs/$1.new" "${@:2}"
        mv "$programs/$1.new" "$programs/$1"
    }
    in_container show -static "$sources/show.c"
    in_container pause -static "$sources/pause.c"
    in_container nvidia-smi "$sources/nvidia_smi.c" "$nvml" -Wl,-rpath,/driver/lib
    in_container cuda "$sources/cuda.c"
    in_container libvgpu.so -shared -fPIC "$sources/libvgpu.c" -ldl
    say "rendering the rights that the chart gives the device plugin"
    VGA_BUILD_DIR=$work/bin python3 "$root/tests/e2e/plugin_rights.py" >"$work/plugin-rights.jsonl" || {
        status=$?
        cat "$work/plugin-rights.jsonl" # why not
        exit "$status"
    }
    flags+=(-kinds "hami-core,mig,mps" -plugin-rights "$work/plugin-rights.jsonl" -kubelet "$work/bin/kubelet" -device-plugin "$work/bin/vgpualloc-device-plugin" -debs "$work/debs"
        -container-programs "$programs" -fake-nvml "$nvml" -keep-visible "$work")
fi
if [ "$scenario" = switch ] || [ "$scenario" = build ]; then
    say "building stock Volcano"
    stock_volcano
    flags+=(-stock "$work/bin/vc-scheduler" -stock-conf "$(realpath "$root/adapters/scheduler/e2e/conf/stock.conf")")
fi
if [ "$scenario" = hami ]; then flags+=(-kinds hami); fi
if [ "$scenario" = build ]; then exit 0; fi

if [ "$scenario" = rights ]; then
    [ "$scheduler" = ours ] || wrong "rights are those of our scheduler"
    VGA_BUILD_DIR=$build exec python3 "$root/tests/e2e/rights.py" --etcd "$etcd" --kube-apiserver "$work/bin/kube-apiserver" \
        --scheduler "$program" "$@"
fi

if $is_real; then state=$(mktemp -d "$work/state-XXXXXX"); else state=$(mktemp -d); fi
log=$state/decisions.jsonl
finish() {
    local status=$?
    trap - EXIT
    if [ "$status" != 0 ] && [ -d "$state/plane" ]; then
        mkdir -p "$out/logs"
        cp "$state"/plane/*.log "$log" "$out/logs/" 2>/dev/null || true
        for node in "$state"/plane/real-*; do
            if [ -d "$node" ]; then
                mkdir -p "$out/logs/${node##*/}"
                cp -r "$node"/*.log "$node"/var-log/pods "$node"/var-lib/driver/gpus.json* "$out/logs/${node##*/}/" 2>/dev/null || true
            fi
        done
        say "logs are in $out/logs"
    fi
    rm -rf "$state"
    exit "$status"
}
trap finish EXIT

sed "s|@LOG@|$log|" "$conf" >"$state/scheduler.conf"
if [ "$scheduler" = extender ]; then flags+=(-extender-args "--decision-log=$log"); fi

# play SCENARIO [flags]: the programs it starts end with it, however it ends.
play() {
    local name=$1
    shift
    rm -rf "$state/plane" "$log"
    "$work/bin/e2e" "$name" -etcd "$etcd" -kube-apiserver "$work/bin/kube-apiserver" -scheduler "$program" -scheduler-conf "$state/scheduler.conf" \
        -crds "$volcano/config/crd/volcano/bases" -dir "$state/plane" -out "$out" -label "$scheduler" "${flags[@]}" "$@"
    if [ -f "$log" ]; then # what it decided, decided again
        "$build/bin/vgpusim" replay --decisions "$log" | tee "$out/$name-replay.txt"
    fi
}

if [ "$scenario" = all ]; then
    play mixed -pods 400 "$@"
    play kill "$@"
else
    play "$scenario" "$@"
fi
