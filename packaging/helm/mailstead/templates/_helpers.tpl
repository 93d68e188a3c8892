{{- define "mailstead.labels" -}}
app.kubernetes.io/name: mailstead
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* Labels that select the pods of a role. Argument: a list of the context and the role. */}}
{{- define "mailstead.selector" -}}
app.kubernetes.io/name: mailstead
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "mailstead.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{- define "mailstead.podSecurity" -}}
runAsNonRoot: true
runAsUser: 61100
runAsGroup: 61100
fsGroup: 61100
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "mailstead.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/* The settings of every role. */}}
{{- define "mailstead.environment" -}}
env:
  - { name: MODE, value: {{ .Values.mode | quote }} }
  {{- with .Values.hostname }}
  - { name: MAILSTEAD_HOSTNAME, value: {{ . | quote }} }
  {{- end }}
  {{- with .Values.bounceDomain }}
  - { name: BOUNCE_DOMAIN, value: {{ . | quote }} }
  {{- end }}
  {{- with .Values.publicUrl }}
  - { name: PUBLIC_URL, value: {{ . | quote }} }
  {{- end }}
  {{- if .Values.tlsSecret }}
  - { name: TLS_CERT_FILE, value: /etc/mailstead/tls/tls.crt }
  - { name: TLS_KEY_FILE, value: /etc/mailstead/tls/tls.key }
  {{- end }}
  {{- if .Values.https.enabled }}
  - { name: HTTPS_PORT, value: '3443' }
  - { name: HTTP_REDIRECT_PORT, value: '3080' }
  {{- if not .Values.tlsSecret }}
  - { name: ACME_CHALLENGE, value: {{ .Values.https.acmeChallenge }} }
  {{- with .Values.https.acmeEmail }}
  - { name: ACME_EMAIL, value: {{ . | quote }} }
  {{- end }}
  {{- end }}
  {{- end }}
  {{- range $name, $value := .Values.settings }}
  - { name: {{ $name }}, value: {{ $value | toString | quote }} }
  {{- end }}
envFrom:
  - secretRef: { name: {{ .Values.existingSecret }} }
{{- end }}

{{/* Whether the role works, for roles without HTTP. */}}
{{- define "mailstead.probes" -}}
startupProbe:
  exec: { command: [/opt/mailstead/packaging/container/healthcheck] }
  periodSeconds: 5
  failureThreshold: 60
livenessProbe:
  exec: { command: [/opt/mailstead/packaging/container/healthcheck] }
  periodSeconds: 20
  timeoutSeconds: 5
  failureThreshold: 3
{{- end }}

{{/* Time to leave the Service before SIGTERM. The role then finishes within 30 s. */}}
{{- define "mailstead.drain" -}}
lifecycle:
  preStop:
    exec: { command: [/bin/sleep, '5'] }
{{- end }}

{{- define "mailstead.spread" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "mailstead.selector" . | nindent 8 }}
{{- end }}

{{/* What the pods of all roles have in common. Argument: a list of the context and the role. */}}
{{- define "mailstead.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
terminationGracePeriodSeconds: 45
securityContext: {{- include "mailstead.podSecurity" (index . 0) | nindent 2 }}
{{- with (index . 0).Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
