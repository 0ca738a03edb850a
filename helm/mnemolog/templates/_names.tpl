{{- /* Names and labels. */ -}}
{{- define "mnemolog.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 46 | trimSuffix "-" -}}
{{- end -}}

{{- /* At most 46 characters: what is put behind it must fit into 63 too. */ -}}
{{- define "mnemolog.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains (include "mnemolog.name" .) .Release.Name -}}
{{- .Release.Name | trunc 46 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "mnemolog.name" .) | trunc 46 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "mnemolog.headless" -}}
{{- include "mnemolog.fullname" . }}-workers
{{- end -}}

{{- /* The hosts by which workers reach each other: one label for the pod, then this. */ -}}
{{- define "mnemolog.workersDomain" -}}
{{ include "mnemolog.headless" . }}.{{ .Release.Namespace }}.svc
{{- end -}}

{{- define "mnemolog.clusterSecret" -}}
{{- default (printf "%s-cluster" (include "mnemolog.fullname" .)) .Values.cluster.existingSecret -}}
{{- end -}}

{{- /* The Secret with the certificate; empty where TLS is elsewhere. */ -}}
{{- define "mnemolog.tlsSecret" -}}
{{- if .Values.tls.certManager.enabled -}}
{{- include "mnemolog.fullname" . }}-tls
{{- else -}}
{{- .Values.tls.existingSecret -}}
{{- end -}}
{{- end -}}

{{- define "mnemolog.scheme" -}}
{{- ternary "https" "http" (ne (include "mnemolog.tlsSecret" .) "") -}}
{{- end -}}

{{- define "mnemolog.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "mnemolog.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "mnemolog.image" -}}
{{- if .Values.image.digest -}}
{{- .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{- .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end -}}

{{- define "mnemolog.selector" -}}
app.kubernetes.io/name: {{ include "mnemolog.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "mnemolog.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{ include "mnemolog.selector" . }}
{{- end -}}
