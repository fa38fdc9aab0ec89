# SPDX-License-Identifier: GPL-3.0-or-later
# docker buildx bake: the same build with BuildKit. It writes all platforms into an OCI layout, as
# contrib/ci/publish.sh has buildah do; afterwards
#
#   variantctl lint app.yaml
#   variantctl index create --from app.yaml registry.example/app:1.0
#
# with `image: oci:images:app` in app.yaml. Needs a builder of the docker-container driver
# (docker buildx create --use).
variable "PLATFORMS" {
  # x-LABEL, with the label's dots as dashes: the Dockerfile sees it as TARGETVARIANT
  default = "linux/amd64,linux/arm64,linux/amd64/x-cuda12-8,linux/amd64/x-rocm7-1"
}

group "default" {
  targets = ["app"]
}

target "app" {
  context    = "."
  dockerfile = "Dockerfile"
  platforms  = split(",", PLATFORMS)
  # name=...:app is the layout's tag
  output = ["type=oci,dest=images,tar=false,name=build:app"]
}
