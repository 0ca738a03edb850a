"""Sets of values for the chart: the least that it takes, one for production, and one with every option."""

from __future__ import annotations

from typing import Any, Final

MINIMAL: Final[dict[str, Any]] = {
    "image": {"repository": "registry.example/mnemolog"},
    "kafka": {"brokers": ["kafka:9092"]},
    "encryption": {"enabled": False},
    "apiKeys": {"existingSecret": "callers"},
    "tls": {"elsewhere": True},
}

PRODUCTION: Final[dict[str, Any]] = {
    "image": {"repository": "registry.example/mnemolog", "digest": f"sha256:{'a' * 64}"},
    "replicas": 6,
    "partitions": 24,
    "kafka": {
        "brokers": ["kafka-0.kafka:9093", "kafka-1.kafka:9093"],
        "securityProtocol": "SASL_SSL",
        "saslMechanism": "SCRAM-SHA-512",
        "existingSecret": "kafka-user",
        "existingFilesSecret": "kafka-certificates",
        "caFile": "ca.crt",
    },
    "weaviate": {"address": "weaviate.search:443", "tls": True, "existingSecret": "weaviate"},
    "schemaRegistry": {"url": "https://schemas.example/apis/ccompat/v7"},
    "llm": {"baseUrl": "https://models.example/v1", "model": "large", "existingSecret": "models"},
    "encryption": {"enabled": True, "existingSecret": "master"},
    "apiKeys": {"existingSecret": "callers"},
    "tls": {"certManager": {"enabled": True, "issuer": "private"}},
    "resources": {"requests": {"cpu": 2, "memory": "4Gi"}, "limits": {"cpu": "4", "memory": "8Gi"}},
    "topologyKey": "topology.kubernetes.io/zone",
    "priorityClassName": "high",
}

EVERYTHING: Final[dict[str, Any]] = PRODUCTION | {
    "nameOverride": "memory",
    "fullnameOverride": "a-name-of-exactly-forty-six-characters-long-xx",
    "image": {"repository": "registry.example/mnemolog", "tag": "1.2.3", "pullPolicy": "Always", "pullSecrets": ["p"]},
    "weaviate": {
        "address": "weaviate.search:8080",
        "grpcPort": 50052,
        "existingSecret": "weaviate",
        "existingSecretKey": "key",
    },
    "llm": {"baseUrl": "https://models.example/v1", "existingSecret": "models", "existingSecretKey": "llm"},
    "embedding": {
        "baseUrl": "https://models.example/v1",
        "model": "small",
        "existingSecret": "models",
        "existingSecretKey": "embedding",
    },
    "encryption": {"enabled": True, "existingSecret": "master", "existingSecretKey": "fernet"},
    "apiKeys": {"existingSecret": "callers", "existingSecretKey": "file"},
    "tls": {
        "elsewhere": False,
        "existingSecret": "certificate",
        "caFile": "authority.crt",
        "clientCaFile": "workers.crt",
        "certManager": {
            "enabled": False,
            "issuer": "everybody",
            "issuerKind": "ClusterIssuer",
            "dnsNames": ["memory.example"],
            "duration": "24h",
            "annotations": {"a.example/d": "1"},
        },
    },
    "cluster": {"existingSecret": "proof", "existingSecretKey": "words", "port": 9001},
    "networkPolicy": {"enabled": True, "from": [{"namespaceSelector": {"matchLabels": {"team": "agents"}}}]},
    "settings": {"DECAY_POLICY": "ebbinghaus", "MAX_EPISODES": 1000000, "IDLE_SECONDS": 2.5, "MEMORIZE": False},
    "logLevel": "debug",
    "logFormat": "text",
    "persistence": {
        "storageClass": "fast",
        "size": "1.5Ti",
        "accessModes": ["ReadWriteOncePod"],
        "whenScaled": "Delete",
    },
    "service": {"type": "LoadBalancer", "port": 9000, "annotations": {"a.example/b": "true"}},
    "terminationGracePeriodSeconds": 90,
    "kafka": PRODUCTION["kafka"]
    | {
        "existingSecretUsernameKey": "user",
        "existingSecretPasswordKey": "word",
        "certFile": "tls.crt",
        "keyFile": "tls.key",
    },
    "topics": {"backoffLimit": 1, "activeDeadlineSeconds": 60, "replicationFactor": 3},
    "probes": {"startupMinutes": 1, "periodSeconds": 120, "timeoutSeconds": 9},
    "podDisruptionBudget": {"maxUnavailable": "20%"},
    "metrics": {
        "serviceMonitor": {
            "enabled": True,
            "existingSecret": "scraper",
            "existingSecretKey": "word",
            "interval": "15s",
            "labels": {"release": "prometheus"},
        },
        "prometheusRule": {"enabled": True, "labels": {"release": "prometheus"}},
        "dashboard": {"enabled": True, "labels": {"grafana_dashboard": "1"}},
    },
    "serviceAccount": {"name": "worker", "annotations": {"a.example/role": "r"}},
    "podAnnotations": {"a.example/c": "1"},
    "podLabels": {"team": "memory"},
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "memory", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
}

NOTHING_OPTIONAL: Final[dict[str, Any]] = MINIMAL | {
    "replicas": 1,
    "topologyKey": "",
    "podDisruptionBudget": {"enabled": False},
    "serviceAccount": {"create": False},
    "topics": {"create": False},
    "metrics": {"annotations": False},
    "networkPolicy": {"enabled": False},
    "cluster": {"existingSecret": "proof"},
}

MODELS: Final[dict[str, Any]] = MINIMAL | {
    "embedding": {
        "model": "fastembed:BAAI/bge-small-zh-v1.5?folder=/models/zh",
        "volume": {"persistentVolumeClaim": {"claimName": "models", "readOnly": True}},
    },
}
"""An encoder on the workers, its files in a volume."""

SETS: Final = {
    "minimal": MINIMAL,
    "production": PRODUCTION,
    "everything": EVERYTHING,
    "nothing optional": NOTHING_OPTIONAL,
    "models": MODELS,
}


def laid_over(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Return values laid over others, key by key as Helm does."""
    merged = dict(below)
    for key, value in above.items():
        under = below.get(key)
        merged[key] = laid_over(under, value) if isinstance(under, dict) and isinstance(value, dict) else value
    return merged
