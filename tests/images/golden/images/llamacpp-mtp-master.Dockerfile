# syntax=docker/dockerfile:1
# docker.io/aamsellem/llama-cpp-mtp:master-ad27757
# Written by `olapps image render llamacpp-mtp-master` from images/llamacpp-mtp-master.yaml; edit that file, not this one.

FROM docker.io/nvidia/cuda:13.1.0-devel-ubuntu22.04 AS build
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
# No versions: the distribution drops old ones, so a pin would break the build later.
# hadolint ignore=DL3008
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends build-essential ca-certificates cmake git ninja-build \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
RUN git init -q . \
    && git fetch -q --depth 1 "https://github.com/ggml-org/llama.cpp" ad277572619fcfb6ddd38f4c6437283a4b2b8636 \
    && git checkout -q --detach FETCH_HEAD
RUN cmake -S . -B build -G Ninja \
      "-DCMAKE_BUILD_TYPE=Release" \
      "-DCMAKE_CUDA_ARCHITECTURES=120" \
      "-DCMAKE_EXE_LINKER_FLAGS=-Wl,-rpath-link,/usr/local/cuda/lib64/stubs" \
      "-DGGML_CUDA=ON" \
      "-DGGML_CUDA_NO_VMM=ON" \
      "-DGGML_NATIVE=OFF" \
      "-DLLAMA_BUILD_COMMIT=ad27757" \
      "-DLLAMA_BUILD_NUMBER=9261" \
      "-DLLAMA_BUILD_TESTS=OFF"

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
LABEL org.opencontainers.image.source="https://github.com/ggml-org/llama.cpp" \
      org.opencontainers.image.revision="ad277572619fcfb6ddd38f4c6437283a4b2b8636" \
      org.opencontainers.image.version="b9261" \
      org.opencontainers.image.licenses="MIT"
WORKDIR /app
ENTRYPOINT ["/app/llama-server"]
