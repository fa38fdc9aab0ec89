{{- /* SPDX-License-Identifier: GPL-3.0-or-later */ -}}
{{- define "variantd.remove" -}}
# A Job cannot run once on every node. These pods undo the set-up, and stay, so that the DaemonSet is
# ready when all nodes are done.
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: {{ .Release.Name }}-remove
  namespace: {{ .Release.Namespace }}
  labels:
    app.kubernetes.io/name: variantd-remove
    app.kubernetes.io/instance: {{ .Release.Name }}
spec:
  selector:
    matchLabels:
      app.kubernetes.io/name: variantd-remove
      app.kubernetes.io/instance: {{ .Release.Name }}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: variantd-remove
        app.kubernetes.io/instance: {{ .Release.Name }}
    spec:
      automountServiceAccountToken: false
      hostNetwork: true
      dnsPolicy: Default
      terminationGracePeriodSeconds: 5
      securityContext:
        seccompProfile: {type: RuntimeDefault}
      {{- include "variantd.placement" . | trim | nindent 6 }}
      {{- with .Values.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      initContainers:
        - name: remove
          image: {{ include "variantd.image" . }}
          imagePullPolicy: {{ .Values.image.pullPolicy }}
          command: [/usr/libexec/ocivariant/ocivariant-node-setup]
          args: [--root=/host, --remove]
          securityContext:
            {{- include "variantd.setupSecurity" . | nindent 12 }}
          volumeMounts:
            {{- include "variantd.setupMounts" . | trim | nindent 12 }}
      containers:
        - name: done
          image: {{ include "variantd.image" . }}
          imagePullPolicy: {{ .Values.image.pullPolicy }}
          command: [/usr/libexec/ocivariant/ocivariant-node-setup]
          args: [--stay]
          securityContext:
            runAsNonRoot: true
            runAsUser: 65532
            runAsGroup: 65532
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities:
              drop: [ALL]
      volumes:
        {{- include "variantd.setupVolumes" . | trim | nindent 8 }}
{{- end }}
