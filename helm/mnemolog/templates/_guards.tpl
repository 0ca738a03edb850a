{{- /* Every refusal of the chart, each a sentence that says what to do. Included by the workers' template. */ -}}
{{- define "mnemolog.guards" -}}
{{- with .Values -}}
{{- if not .image.repository -}}
{{- fail "image.repository is empty: build the image with the Dockerfile of the repository, push it where the cluster can pull it, and name it here (no image is published)" -}}
{{- end -}}
{{- if not .kafka.brokers -}}
{{- fail "kafka.brokers is empty: name the bootstrap servers of your Kafka, such as --set kafka.brokers={kafka:9092}" -}}
{{- end -}}
{{- $sasl := hasPrefix "SASL_" .kafka.securityProtocol -}}
{{- if and $sasl (not .kafka.existingSecret) -}}
{{- fail (printf "kafka.securityProtocol is %s without a user: put user and password into a Secret and name it in kafka.existingSecret" .kafka.securityProtocol) -}}
{{- end -}}
{{- if and .kafka.existingSecret (not $sasl) -}}
{{- fail (printf "kafka.existingSecret names a user, and kafka.securityProtocol %s uses none: set SASL_SSL, or empty kafka.existingSecret" .kafka.securityProtocol) -}}
{{- end -}}
{{- $files := or .kafka.caFile .kafka.certFile .kafka.keyFile -}}
{{- if and $files (not .kafka.existingFilesSecret) -}}
{{- fail "kafka.caFile, certFile or keyFile is set without kafka.existingFilesSecret: put the files into a Secret and name it there" -}}
{{- end -}}
{{- if and $files (not (hasSuffix "SSL" .kafka.securityProtocol)) -}}
{{- fail (printf "kafka.caFile, certFile or keyFile is set, and kafka.securityProtocol %s uses no TLS: set SSL or SASL_SSL, or empty them" .kafka.securityProtocol) -}}
{{- end -}}
{{- if and .kafka.keyFile (not .kafka.certFile) -}}
{{- fail "kafka.keyFile is set without kafka.certFile: name the certificate that the key is of" -}}
{{- end -}}
{{- if gt (int .replicas) (int .partitions) -}}
{{- fail (printf "replicas (%d) is more than partitions (%d), and a worker without a partition stands idle: lower replicas, or create the topics with more partitions" (int .replicas) (int .partitions)) -}}
{{- end -}}
{{- if kindIs "invalid" .encryption.enabled -}}
{{- fail "encryption.enabled is not decided: set it to true and put a master key into encryption.existingSecret, or to false to store everything in clear" -}}
{{- end -}}
{{- if and .encryption.enabled (not .encryption.existingSecret) -}}
{{- fail "encryption.enabled is true without a master key: create a Secret with one (openssl rand -base64 32) and name it in encryption.existingSecret" -}}
{{- end -}}
{{- if and (not .encryption.enabled) .encryption.existingSecret -}}
{{- fail "encryption.enabled is false, yet encryption.existingSecret names a master key: set encryption.enabled to true, or empty encryption.existingSecret" -}}
{{- end -}}
{{- if not .apiKeys.existingSecret -}}
{{- fail "apiKeys.existingSecret is empty: without API keys mnemolog listens on loopback only, and the workers could not reach each other; put the file of API keys into a Secret and name it here" -}}
{{- end -}}
{{- $files := or .tls.existingSecret .tls.certManager.enabled -}}
{{- if not (or $files .tls.elsewhere) -}}
{{- fail "tls is not decided: name a Secret with a certificate in tls.existingSecret, set tls.certManager.enabled, or set tls.elsewhere to true where something else encrypts" -}}
{{- end -}}
{{- if and $files .tls.elsewhere -}}
{{- fail "tls.elsewhere is true, and there is a certificate: set it to false, or empty tls.existingSecret and tls.certManager" -}}
{{- end -}}
{{- if and .tls.existingSecret .tls.certManager.enabled -}}
{{- fail "tls.existingSecret and tls.certManager.enabled name two certificates: empty one of them" -}}
{{- end -}}
{{- if and .tls.certManager.enabled (not .tls.certManager.issuer) -}}
{{- fail "tls.certManager.enabled is true without tls.certManager.issuer: name an Issuer of cert-manager" -}}
{{- end -}}
{{- if and .metrics.serviceMonitor.enabled (not .metrics.serviceMonitor.existingSecret) -}}
{{- fail "metrics.serviceMonitor.enabled is true without a key: put an API key with the role metrics into a Secret and name it in metrics.serviceMonitor.existingSecret" -}}
{{- end -}}
{{- if eq (int .cluster.port) (int .service.port) -}}
{{- fail (printf "cluster.port and service.port are both %d: give workers another port than callers" (int .cluster.port)) -}}
{{- end -}}
{{- if and .weaviate.existingSecret (not .weaviate.address) -}}
{{- fail "weaviate.existingSecret is set without weaviate.address: name the Weaviate that the key is for, or empty weaviate.existingSecret" -}}
{{- end -}}
{{- if and (or .embedding.baseUrl .embedding.existingSecret) (not .embedding.model) -}}
{{- fail "embedding.baseUrl or embedding.existingSecret is set without embedding.model: name the model, or empty both to use the one that is built in" -}}
{{- end -}}
{{- $encoder := .embedding.model -}}
{{- $local := false -}}
{{- $asked := false -}}
{{- if regexMatch "^(onnx|fastembed):" $encoder -}}
{{- $local = true -}}
{{- $folder := ternary (regexFind "^onnx:[^?]*" $encoder | trimPrefix "onnx:") (regexFind "folder=[^&]*" $encoder | trimPrefix "folder=") (hasPrefix "onnx:" $encoder) -}}
{{- if and (or $folder (hasPrefix "onnx:" $encoder)) (not (hasPrefix "/models/" $folder)) -}}
{{- fail (printf "embedding.model names the folder %q, and files of models are mounted at /models: name a folder below it, such as onnx:/models/bge-small" $folder) -}}
{{- end -}}
{{- if and $folder (not $.Values.embedding.volume) -}}
{{- fail (printf "embedding.model names the folder %s without embedding.volume: name the volume that has it" $folder) -}}
{{- end -}}
{{- else if and $encoder (ne $encoder "builtin") -}}
{{- $asked = true -}}
{{- end -}}
{{- if and $asked (not (or .embedding.baseUrl .embedding.existingSecret .llm.existingSecret)) -}}
{{- fail "embedding.model is set without an endpoint: set embedding.baseUrl or embedding.existingSecret, or empty embedding.model to use the one that is built in" -}}
{{- end -}}
{{- if and $local (not $asked) (or .embedding.baseUrl .embedding.existingSecret) -}}
{{- fail "embedding.model runs on the workers, and embedding.baseUrl or embedding.existingSecret is of an endpoint: empty these" -}}
{{- end -}}
{{- if and .embedding.volume (not $local) -}}
{{- fail "embedding.volume is set, and embedding.model reads no file of it: set it to onnx:/models/... or fastembed:NAME?folder=/models/..., or empty embedding.volume" -}}
{{- end -}}
{{- $own := list "BROKER" "INDEX" "SCHEMA_REGISTRY_URL" "DATA_DIR" "PARTITIONS" "HOST" "PORT" "ADVERTISED_URL" "ENCRYPTION" "MASTER_KEY_FILE" "API_KEYS_FILE" "TLS" "TLS_CERT_FILE" "TLS_KEY_FILE" "TLS_CLIENT_CA_FILE" "CA_FILE" "CLUSTER_SECRET_FILE" "INTERNAL_PORT" "PEERS" "LOG_LEVEL" "LOG_FORMAT" "LLM_BASE_URL" "LLM_MODEL" "EMBEDDING_BASE_URL" "EMBEDDING_MODEL" "REPLICATION_FACTOR" "KAFKA_SECURITY_PROTOCOL" "KAFKA_SASL_MECHANISM" "KAFKA_SSL_CAFILE" "KAFKA_SSL_CERTFILE" "KAFKA_SSL_KEYFILE" -}}
{{- $secret := list "MASTER_KEY" "CLUSTER_SECRET" "LLM_API_KEY" "EMBEDDING_API_KEY" "WEAVIATE_API_KEY" "KAFKA_SASL_USERNAME" "KAFKA_SASL_PASSWORD" -}}
{{- $further := list "EXTRACTOR" "LLM_TEMPERATURE" "LLM_MAX_TOKENS" "LLM_TIMEOUT_SECONDS" "LLM_CONTEXT_TOKENS" "KNOWN_TOKENS" "LLM_SECOND_MODEL" "LLM_VISION" "IMAGE_HOSTS" "LLM_CONCURRENCY" "MEMORIZE" "USER_PROFILE" "SAVE_EVERY_TURNS" "IDLE_SECONDS" "TIMEZONE" "EPISODE_MERGE_HOURS" "KEYWORD_OVERLAP" "TURN_VECTORS" "PROFILE_CONFLICT" "DECAY_POLICY" "DECAY_EVERY_HOURS" "MIN_EPISODE_GRADE" "MAX_EPISODES" "EPISODE_MIN_STRENGTH" "KEEP_IMPORTANT" "SIMILARITY_THRESHOLD" "INTIMACY_LEVELS" "GREETING_TIMEOUT_SECONDS" "HEADS_TO" "HEADS_EVERY_HOURS" "RETENTION_DAYS" "CLOCK_GAP_DAYS" "WAKE_TEXT" "WAKE_EVERY_SECONDS" "WAKE_MEMORY_LIMIT" "WAKE_QUERY" "REMINDER_TEMPLATE" "REDACTION" "SESSION_SECONDS" "WEBHOOK_HOSTS" -}}
{{- /* The schemes of indexes that settings.INDEX may name: those of projections/index/registry.py that no value above writes. */ -}}
{{- $indexes := list -}}
{{- range $name, $value := .settings -}}
{{- $isIndex := and (eq $name "INDEX") (has (first (splitList "://" (toString $value))) $indexes) -}}
{{- if and $isIndex $.Values.weaviate.address -}}
{{- fail "settings.INDEX and weaviate.address name two indexes: remove one of them" -}}
{{- end -}}
{{- if and (has $name $own) (not $isIndex) -}}
{{- fail (printf "settings.%s is set by a value of the chart itself: use that one (see values.yaml)" $name) -}}
{{- end -}}
{{- if has $name $secret -}}
{{- fail (printf "settings.%s is a secret: put it into a Secret and name that (see existingSecret in values.yaml)" $name) -}}
{{- end -}}
{{- if not (or (has $name $further) $isIndex) -}}
{{- fail (printf "settings.%s is no setting of mnemolog, and no worker would start: remove it or correct its name" $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
