{{- /* What the workers and the topics job have in common: who they run as, the log, and the decision on encryption. */ -}}
{{- define "mnemolog.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "mnemolog.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "mnemolog.logEnvironment" -}}
- name: MNEMOLOG_BROKER
  value: {{ printf "kafka://%s" (join "," .Values.kafka.brokers) | quote }}
{{- with .Values.kafka }}
- name: MNEMOLOG_KAFKA_SECURITY_PROTOCOL
  value: {{ .securityProtocol | quote }}
{{- if hasPrefix "SASL_" .securityProtocol }}
- name: MNEMOLOG_KAFKA_SASL_MECHANISM
  value: {{ .saslMechanism | quote }}
- name: MNEMOLOG_KAFKA_SASL_USERNAME
  valueFrom:
    secretKeyRef:
      name: {{ .existingSecret | quote }}
      key: {{ .existingSecretUsernameKey | quote }}
- name: MNEMOLOG_KAFKA_SASL_PASSWORD
  valueFrom:
    secretKeyRef:
      name: {{ .existingSecret | quote }}
      key: {{ .existingSecretPasswordKey | quote }}
{{- end }}
{{- range $name, $file := dict "CAFILE" .caFile "CERTFILE" .certFile "KEYFILE" .keyFile }}
{{- with $file }}
- name: MNEMOLOG_KAFKA_SSL_{{ $name }}
  value: {{ printf "/etc/mnemolog/kafka/%s" . | quote }}
{{- end }}
{{- end }}
{{- end }}
- name: MNEMOLOG_REPLICATION_FACTOR
  value: {{ .Values.topics.replicationFactor | int | quote }}
- name: MNEMOLOG_PARTITIONS
  value: {{ .Values.partitions | int | quote }}
- name: MNEMOLOG_LOG_LEVEL
  value: {{ .Values.logLevel | quote }}
- name: MNEMOLOG_LOG_FORMAT
  value: {{ .Values.logFormat | quote }}
{{- if .Values.encryption.enabled }}
- name: MNEMOLOG_MASTER_KEY_FILE
  value: {{ printf "/etc/mnemolog/master/%s" .Values.encryption.existingSecretKey | quote }}
{{- else }}
- name: MNEMOLOG_ENCRYPTION
  value: "off"
{{- end }}
{{- range $name, $value := .Values.settings }}
- name: MNEMOLOG_{{ $name }}
  {{- /* A whole number of a values file is a float to Helm, and a million of them would be 1e+06. */}}
  value: {{ and (kindIs "float64" $value) (eq (floor $value) $value) | ternary (int64 $value) $value | toString | quote }}
{{- end }}
{{- end -}}

{{- define "mnemolog.logMounts" -}}
- name: tmp
  mountPath: /tmp
{{- if .Values.kafka.existingFilesSecret }}
- name: kafka-files
  mountPath: /etc/mnemolog/kafka
  readOnly: true
{{- end }}
{{- if .Values.encryption.enabled }}
- name: master-key
  mountPath: /etc/mnemolog/master
  readOnly: true
{{- end }}
{{- end -}}

{{- define "mnemolog.logVolumes" -}}
- name: tmp
  emptyDir: {}
{{- with .Values.kafka.existingFilesSecret }}
- name: kafka-files
  secret:
    secretName: {{ . | quote }}
    defaultMode: 0440
{{- end }}
{{- if .Values.encryption.enabled }}
- name: master-key
  secret:
    secretName: {{ .Values.encryption.existingSecret | quote }}
    defaultMode: 0440
{{- end }}
{{- end -}}
