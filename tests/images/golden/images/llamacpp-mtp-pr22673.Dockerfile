# syntax=docker/dockerfile:1
# docker.io/aamsellem/llamacpp-mtp:0.1.0
# Written by `olapps image render llamacpp-mtp-pr22673` from images/llamacpp-mtp-pr22673.yaml; edit that file, not this one.

FROM docker.io/nvidia/cuda:13.1.0-devel-ubuntu22.04 AS build
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
# No versions: the distribution drops old ones, so a pin would break the build later.
# hadolint ignore=DL3008
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends build-essential ca-certificates cmake git ninja-build \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
RUN git init -q . \
    && git fetch -q --depth 1 "https://github.com/am17an/llama.cpp" f8c6b03dad698152d0b98d786b80e47a9bc73d01 \
    && git checkout -q --detach FETCH_HEAD
RUN cmake -S . -B build -G Ninja \
      "-DCMAKE_BUILD_TYPE=Release" \
      "-DCMAKE_CUDA_ARCHITECTURES=120" \
      "-DCMAKE_EXE_LINKER_FLAGS=-Wl,-rpath-link,/usr/local/cuda/lib64/stubs" \
      "-DGGML_CUDA=ON" \
      "-DGGML_CUDA_NO_VMM=ON" \
      "-DGGML_NATIVE=OFF" \
      "-DLLAMA_BUILD_COMMIT=f8c6b03" \
      "-DLLAMA_BUILD_NUMBER=9026"

ARG JOBS
RUN cmake --build build --parallel "${JOBS:-$(nproc)}" --target llama-server

RUN mkdir /out \
    && cp build/bin/llama-server /out/ \
    && find build -name '*.so*' -exec cp -P {} /out/ \;

FROM docker.io/nvidia/cuda:13.1.0-runtime-ubuntu22.04
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
# No versions: the distribution drops old ones, so a pin would break the build later.
# hadolint ignore=DL3008
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends ca-certificates curl libgomp1 \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /out/ /app/
ENV LD_LIBRARY_PATH=/app:/usr/local/cuda/lib64
LABEL org.opencontainers.image.source="https://github.com/am17an/llama.cpp" \
      org.opencontainers.image.revision="f8c6b03dad698152d0b98d786b80e47a9bc73d01" \
      org.opencontainers.image.version="pr22673" \
      org.opencontainers.image.licenses="MIT"
WORKDIR /app
ENTRYPOINT ["/app/llama-server"]
