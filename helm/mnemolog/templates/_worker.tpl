{{- /* The environment that only workers have: the index, the models, and where they listen. */ -}}
{{- define "mnemolog.secretEnvironment" -}}
- name: {{ .name }}
  valueFrom:
    secretKeyRef:
      name: {{ .from.existingSecret | quote }}
      key: {{ .from.existingSecretKey | quote }}
{{- end -}}

{{- define "mnemolog.workerEnvironment" -}}
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
- name: MNEMOLOG_ADVERTISED_URL
  value: {{ include "mnemolog.scheme" . }}://$(POD_NAME).{{ include "mnemolog.workersDomain" . }}:{{ .Values.service.port }}
- name: MNEMOLOG_INTERNAL_PORT
  value: {{ .Values.cluster.port | int | quote }}
- name: MNEMOLOG_PEERS
  value: "*.{{ include "mnemolog.workersDomain" . }}"
- name: MNEMOLOG_CLUSTER_SECRET_FILE
  value: {{ printf "/etc/mnemolog/cluster/%s" .Values.cluster.existingSecretKey | quote }}
{{- if include "mnemolog.tlsSecret" . }}
- name: MNEMOLOG_TLS_CERT_FILE
  value: /etc/mnemolog/tls/tls.crt
- name: MNEMOLOG_TLS_KEY_FILE
  value: /etc/mnemolog/tls/tls.key
{{- with .Values.tls.caFile }}
- name: MNEMOLOG_CA_FILE
  value: {{ printf "/etc/mnemolog/tls/%s" . | quote }}
{{- end }}
{{- with .Values.tls.clientCaFile }}
- name: MNEMOLOG_TLS_CLIENT_CA_FILE
  value: {{ printf "/etc/mnemolog/tls/%s" . | quote }}
{{- end }}
{{- else }}
- name: MNEMOLOG_TLS
  value: elsewhere
{{- end }}
- name: MNEMOLOG_HOST
  value: 0.0.0.0
- name: MNEMOLOG_PORT
  value: {{ .Values.service.port | int | quote }}
- name: MNEMOLOG_DATA_DIR
  value: /data
- name: MNEMOLOG_API_KEYS_FILE
  value: {{ printf "/etc/mnemolog/api-keys/%s" .Values.apiKeys.existingSecretKey | quote }}
{{- with .Values.weaviate }}
{{- if not $.Values.settings.INDEX }}
- name: MNEMOLOG_INDEX
  {{- if .address }}
  value: {{ printf "%s://%s?grpc=%d" (ternary "weaviates" "weaviate" .tls) .address (int .grpcPort) | quote }}
  {{- else }}
  value: embedded
  {{- end }}
{{- end }}
{{- if .existingSecret }}
{{ include "mnemolog.secretEnvironment" (dict "name" "MNEMOLOG_WEAVIATE_API_KEY" "from" .) }}
{{- end }}
{{- end }}
{{- with .Values.schemaRegistry.url }}
- name: MNEMOLOG_SCHEMA_REGISTRY_URL
  value: {{ . | quote }}
{{- end }}
{{- if contains "fastembed:" .Values.embedding.model }}
- name: FASTEMBED_CACHE_PATH
  value: /data/fastembed
{{- end }}
{{- range $prefix, $model := dict "LLM" .Values.llm "EMBEDDING" .Values.embedding }}
{{- with $model.baseUrl }}
- name: MNEMOLOG_{{ $prefix }}_BASE_URL
  value: {{ . | quote }}
{{- end }}
{{- with $model.model }}
- name: MNEMOLOG_{{ $prefix }}_MODEL
  value: {{ . | quote }}
{{- end }}
{{- if $model.existingSecret }}
{{ include "mnemolog.secretEnvironment" (dict "name" (printf "MNEMOLOG_%s_API_KEY" $prefix) "from" $model) }}
{{- end }}
{{- end }}
{{- end -}}
