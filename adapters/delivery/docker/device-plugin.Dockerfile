# vgpualloc-device-plugin: what registers a node's GPUs, or with --vendor=ascend its NPUs, and gives them to containers, built from
# the checkout.
#   docker build -f adapters/delivery/docker/device-plugin.Dockerfile -t vgpualloc-device-plugin:0.1.0 .
# The build context is the root of the checkout. Base images and Go modules come from the network.
#
# Not in the image, and not of this project:
# - libnvidia-ml.so.1, the driver's management library: NVIDIA's container runtime puts the node's into the container
#   (NVIDIA_VISIBLE_DEVICES=all, NVIDIA_DRIVER_CAPABILITIES=utility in the chart). npu-smi is mounted from the node.
# - HAMi-core's libvgpu.so and its ld.so.preload: from https://github.com/Project-HAMi/HAMi-core, or out of the image of
#   volcano-vgpu-device-plugin (/k8s-vgpu/lib/nvidia). The chart's init container copies them to the node
#   (devicePlugin.hamiCore.image).

FROM golang:1.26-bookworm AS go

# The library in C++. Debian 12 has all that it needs (scripts/packages.txt); the simulator and the tests are left out.
FROM debian:bookworm AS library
RUN apt-get update && apt-get install -y --no-install-recommends \
        build-essential ca-certificates cmake ninja-build pkg-config \
        libboost-graph-dev libeigen3-dev libexpected-dev libfmt-dev nlohmann-json3-dev libyaml-cpp-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY CMakeLists.txt CMakeLists.txt
COPY cmake cmake
COPY formats formats
COPY libvgpualloc libvgpualloc
RUN cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release \
        -DVGA_BUILD_SIMULATOR=OFF -DVGA_BUILD_TESTS=OFF -DVGA_FETCH=OFF \
    && cmake --build build --target vgpualloc_c_api

# The plugin in Go, which links the library. go.mod and go.sum are copied first, so that a change of the code alone does
# not fetch the modules again.
FROM library AS build
COPY --from=go /usr/local/go /usr/local/go
ENV PATH=/usr/local/go/bin:$PATH \
    CGO_ENABLED=1 \
    GOTOOLCHAIN=local \
    GOFLAGS="-buildvcs=false -trimpath" \
    CGO_CFLAGS=-O2 \
    PKG_CONFIG_PATH=/src/build/lib
COPY adapters/go.mod adapters/go.mod
COPY adapters/deviceplugin/go.mod adapters/deviceplugin/go.sum adapters/deviceplugin/
RUN cd adapters/deviceplugin && go mod download
COPY adapters adapters
RUN cd adapters/deviceplugin && go build -ldflags="-s -w" -o /out/vgpualloc-device-plugin .

# What runs: libyaml-cpp and libstdc++ are the only libraries of ours that are not linked statically.
FROM debian:bookworm-slim AS runtime
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates libstdc++6 libyaml-cpp0.7 \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /out/vgpualloc-device-plugin /usr/local/bin/vgpualloc-device-plugin
COPY LICENSE THIRD_PARTY_LICENSES /usr/share/doc/vgpualloc/
# root, because kubelet.sock and the driver's device files belong to it; the chart takes root's capabilities away.
USER 0:0
# Metrics and /healthz.
EXPOSE 9394
ENTRYPOINT ["/usr/local/bin/vgpualloc-device-plugin"]
