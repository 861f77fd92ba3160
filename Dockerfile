# docker build -t softground . && docker run --rm softground
# runs `make demo`. CPU only: leave UV_TORCH_BACKEND out, and run with --gpus all, for a GPU.
FROM python:3.11-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git make \
    && rm -rf /var/lib/apt/lists/* \
    && pip install --no-cache-dir uv==0.13.7
ENV UV_TORCH_BACKEND=cpu UV_LINK_MODE=copy
WORKDIR /softground
COPY . .
RUN make .venv/.installed && rm -rf /root/.cache/uv
CMD ["make", "demo"]
