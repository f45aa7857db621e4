# vgpualloc-scheduler: Volcano's scheduler with the plugin vgpualloc, built from the checkout.
#   docker build -f adapters/delivery/docker/scheduler.Dockerfile -t vgpualloc-scheduler:0.1.0 .
# The build context is the root of the checkout. Base images and Go modules come from the network.

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

# The scheduler in Go, which links the library. go.mod and go.sum are copied first, so that a change of the code alone does
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
COPY adapters/deviceplugin/go.mod adapters/deviceplugin/go.mod
COPY adapters/scheduler/go.mod adapters/scheduler/go.sum adapters/scheduler/
RUN cd adapters/scheduler && go mod download
COPY adapters adapters
RUN cd adapters/scheduler && go build -ldflags="-s -w" -o /out/vgpualloc-scheduler .

# What runs: libyaml-cpp and libstdc++ are the only libraries of ours that are not linked statically.
FROM debian:bookworm-slim AS runtime
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates libstdc++6 libyaml-cpp0.7 \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /out/vgpualloc-scheduler /usr/local/bin/vgpualloc-scheduler
COPY LICENSE THIRD_PARTY_LICENSES /usr/share/doc/vgpualloc/
USER 65532:65532
# Metrics and /explain; health.
EXPOSE 8080 11251
ENTRYPOINT ["/usr/local/bin/vgpualloc-scheduler"]
