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

{{/* Helm reads on, off, yes and no as booleans, and numbers as floating-point ones. In this dictionary, at every depth, a
boolean becomes the word that variantd reads, unless its key is one of true or false, a whole number is written as one, and
a key without a value is as if it were not there. */}}
{{- define "variantd.words" -}}
{{- range $key, $value := . -}}
{{- if kindIs "invalid" $value -}}{{- $_ := unset $ $key -}}
{{- else if kindIs "map" $value -}}{{- include "variantd.words" $value -}}
{{- else if and (kindIs "bool" $value) (not (has $key (list "insecure" "serve_private"))) -}}{{- $_ := set $ $key (ternary "on" "off" $value) -}}
{{- else if kindIs "float64" $value -}}{{- if eq $value (floor $value) -}}{{- $_ := set $ $key (int64 $value) -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* what variantd and the set-up read */}}
{{- define "variantd.config" -}}
{{- $registries := dict -}}
{{- range $host, $settings := .Values.registries -}}{{- $_ := set $registries $host ($settings | default dict) -}}{{- end -}}
{{- if not $registries -}}{{- fail "registries: name at least one, whose tags containerd is to ask variantd for" -}}{{- end -}}
{{- $config := merge (dict "choose" .Values.choose "registries" $registries) (deepCopy .Values.config) -}}
{{- if .Values.credentialsSecret -}}
{{- $config = merge $config (dict "credentials" "/etc/ocivariant-credentials/config.json") -}}
{{- end -}}
{{- include "variantd.words" $config -}}
{{- toYaml $config -}}
{{- end }}

{{/* where the mirror listens: what probes ask */}}
{{- define "variantd.port" -}}
{{- get .Values.config "listen" | default "127.0.0.1:340" | splitList ":" | last -}}
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

{{/* containerd's socket */}}
{{- define "variantd.engineSocket" -}}
{{- if eq .Values.engine "custom" -}}{{ required "verify: with engine: custom it needs custom.socket" .Values.custom.socket }}
{{- else if has .Values.engine (list "k3s" "rke2") -}}/run/k3s/containerd/containerd.sock
{{- else -}}/run/containerd/containerd.sock
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

{{/* pods of this priority, where the cluster allows them only with a quota (GKE, outside of kube-system) */}}
{{- define "variantd.quota" -}}
apiVersion: v1
kind: ResourceQuota
metadata:
  name: {{ .Release.Name }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "variantd.labels" . | nindent 4 }}
spec:
  hard: {pods: {{ .Values.priorityQuota | int64 | quote }}}
  scopeSelector:
    matchExpressions:
      - {scopeName: PriorityClass, operator: In, values: [{{ required "priorityQuota: needs priorityClassName" .Values.priorityClassName }}]}
{{- end }}

{{/* affinity of variantd's own pods: away from the control plane, unless asked otherwise */}}
{{- define "variantd.affinity" -}}
{{- $affinity := deepCopy .Values.affinity -}}
{{- if not (or .Values.controlPlane (get $affinity "nodeAffinity")) -}}
{{- $away := dict "key" "node-role.kubernetes.io/control-plane" "operator" "DoesNotExist" -}}
{{- $terms := list (dict "matchExpressions" (list $away)) -}}
{{- $_ := set $affinity "nodeAffinity" (dict "requiredDuringSchedulingIgnoredDuringExecution" (dict "nodeSelectorTerms" $terms)) -}}
{{- end -}}
{{- with $affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* of a policy: whoever may change a node takes the startup taint away, and changes nothing else of its spec */}}
{{- define "variantd.taintVariables" -}}
- {name: taints, expression: 'object.spec.?taints.orValue([])'}
- {name: oldTaints, expression: 'oldObject.spec.?taints.orValue([])'}
{{- end }}
{{- define "variantd.taintRules" -}}
- expression: >-
    variables.taints.all(t, t in variables.oldTaints) &&
    variables.oldTaints.all(t, t.key == '{{ .Values.startupTaint }}' || t in variables.taints)
  message: only the taint {{ .Values.startupTaint }} may be taken away
# what else a node's spec has
- expression: >-
    object.spec.?podCIDR == oldObject.spec.?podCIDR && object.spec.?podCIDRs == oldObject.spec.?podCIDRs &&
    object.spec.?providerID == oldObject.spec.?providerID && object.spec.?unschedulable == oldObject.spec.?unschedulable &&
    object.spec.?configSource == oldObject.spec.?configSource && object.spec.?externalID == oldObject.spec.?externalID
  message: nothing of the node's spec but a taint may change
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
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
