{{- /* SPDX-License-Identifier: GPL-3.0-or-later */ -}}
{{- define "variantd.labels" -}}
app.kubernetes.io/name: variantd
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- define "variantd.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* what variantd and the set-up read */}}
{{- define "variantd.config" -}}
{{- $choose := .Values.choose -}}
{{- if kindIs "bool" $choose -}}{{- $choose = ternary "on" "off" $choose -}}{{- end -}}
{{- $registries := dict -}}
{{- range $host, $settings := .Values.registries -}}{{- $_ := set $registries $host ($settings | default dict) -}}{{- end -}}
{{- if not $registries -}}{{- fail "registries: name at least one, whose tags containerd is to ask variantd for" -}}{{- end -}}
{{- $config := merge (dict "choose" $choose "registries" $registries) .Values.config -}}
{{- if .Values.credentialsSecret -}}
{{- $config = merge $config (dict "credentials" "/etc/ocivariant-credentials/config.json") -}}
{{- end -}}
{{- toYaml $config -}}
{{- end }}

{{/* containerd's configuration, where it is not the usual one */}}
{{- define "variantd.engineConfig" -}}
{{- if eq .Values.engine "custom" -}}
{{- if not .Values.acceptUntested -}}{{- fail "engine: custom is not tested: acceptUntested: true says that you know" -}}{{- end -}}
{{- required "engine: custom needs custom.config" .Values.custom.config -}}
{{- else if eq .Values.engine "k3s" -}}/var/lib/rancher/k3s/agent/etc/containerd/config.toml
{{- else if eq .Values.engine "rke2" -}}/var/lib/rancher/rke2/agent/etc/containerd/config.toml
{{- end -}}
{{- end }}

{{/* directories of the node that the set-up may write to */}}
{{- define "variantd.directories" -}}
{{- if eq .Values.engine "custom" -}}{{ toJson .Values.custom.directories }}
{{- else if eq .Values.engine "k3s" -}}["/var/lib/rancher/k3s/agent/etc/containerd"]
{{- else if eq .Values.engine "rke2" -}}["/var/lib/rancher/rke2/agent/etc/containerd"]
{{- else -}}["/etc/containerd"]
{{- end -}}
{{- end }}

{{/* of a container that changes the node: root, without its powers */}}
{{- define "variantd.setupSecurity" -}}
runAsUser: 0
runAsGroup: 0
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- define "variantd.setupMounts" -}}
{{- range $i, $directory := fromJsonArray (include "variantd.directories" .) }}
- {name: engine-{{ $i }}, mountPath: /host{{ $directory }}}
{{- end }}
- {name: setup, mountPath: /host/var/lib/ocivariant-setup}
{{- end }}

{{- define "variantd.setupVolumes" -}}
{{- range $i, $directory := fromJsonArray (include "variantd.directories" .) }}
- {name: engine-{{ $i }}, hostPath: {path: {{ $directory }}, type: DirectoryOrCreate}}
{{- end }}
- {name: setup, hostPath: {path: /var/lib/ocivariant-setup, type: DirectoryOrCreate}}
{{- end }}

{{- define "variantd.placement" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
