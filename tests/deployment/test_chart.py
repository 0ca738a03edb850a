"""What the chart renders, with the real helm and against the schemas of Kubernetes."""

from __future__ import annotations

import importlib.metadata
import json
import re
import shutil
from base64 import b64decode
from typing import TYPE_CHECKING, Any

import kubernetes_validate
import pytest
import yaml
from deployment.rendering import CHART, NAMESPACE, RELEASE, environment, of_kind, pods, rendered, run
from deployment.values import EVERYTHING, MINIMAL, MODELS, NOTHING_OPTIONAL, PRODUCTION, SETS, laid_over
from support.settings_names import unknown

from mnemolog.settings import from_environment

if TYPE_CHECKING:
    from pathlib import Path

DEFAULTS: dict[str, Any] = {"tls": {"elsewhere": False}}
OLDEST = "1.27"
"""From here on Kubernetes has everything that the chart uses."""


@pytest.mark.parametrize("name", SETS)
def test_helm_finds_nothing_wrong_with_the_chart(helm: str, name: str):
    done = run(helm, ["lint", "--strict"], SETS[name])
    assert done.returncode == 0, done.stdout
    assert "[WARNING]" not in done.stdout


@pytest.mark.parametrize("version", [OLDEST, kubernetes_validate.latest_version()])
@pytest.mark.parametrize("name", SETS)
def test_every_manifest_is_valid_to_kubernetes(helm: str, name: str, version: str):
    for manifest in rendered(helm, SETS[name]):
        if manifest["apiVersion"] in ("cert-manager.io/v1", "monitoring.coreos.com/v1"):
            continue  # no kind of Kubernetes; it is compared below
        kubernetes_validate.validate(manifest, version, strict=True)


def test_what_is_no_field_of_kubernetes_is_found(helm: str):
    """So that the test above means something."""
    (workers,) = of_kind(rendered(helm, MINIMAL), "StatefulSet")
    workers["spec"]["template"]["spec"]["containers"][0]["startupProbes"] = {}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(workers, OLDEST, strict=True)


def test_the_chart_renders_what_a_cluster_of_workers_needs(helm: str):
    kinds = sorted(manifest["kind"] for manifest in rendered(helm, MINIMAL))
    assert kinds == [
        *("Job", "NetworkPolicy", "PodDisruptionBudget", "Secret", "Service", "Service", "ServiceAccount"),
        "StatefulSet",
    ]
    kinds = sorted(manifest["kind"] for manifest in rendered(helm, NOTHING_OPTIONAL))
    assert kinds == ["Service", "Service", "StatefulSet"]


def test_the_version_of_the_chart_is_the_version_of_the_package():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    assert chart["version"] == chart["appVersion"] == importlib.metadata.version("mnemolog")


@pytest.mark.parametrize("name", SETS)
def test_every_variable_of_ours_is_a_setting(helm: str, name: str):
    for pod in pods(rendered(helm, SETS[name])):
        assert unknown(set(environment(pod))) == set()


@pytest.mark.parametrize("name", SETS)
def test_the_values_of_the_variables_can_be_used(helm: str, name: str):
    for pod in pods(rendered(helm, SETS[name])):
        assert from_environment(usable_text(pod)).broker.startswith("kafka://")


@pytest.mark.parametrize("name", [name for name, values in SETS.items() if not values["encryption"]["enabled"]])
def test_a_worker_accepts_all_that_the_chart_tells_it(helm: str, name: str):
    (workers,) = of_kind(rendered(helm, SETS[name]), "StatefulSet")
    told = environment(workers["spec"]["template"]["spec"])
    settings = from_environment({name: value or "from a Secret" for name, value in told.items()})
    assert (settings.host, settings.tls, settings.port_for_workers) == ("0.0.0.0", "elsewhere", 8421)  # noqa: S104
    assert settings.url_for_workers == "http://$(POD_NAME).demo-mnemolog-workers.memory.svc:8421"


def usable_text(pod: dict[str, Any]) -> dict[str, str]:
    """Return the variables, those of Secrets with some text."""
    return {name: value or "from a Secret" for name, value in environment(pod).items()}


def test_further_settings_reach_the_workers_as_they_were_written(helm: str):
    (workers,) = of_kind(rendered(helm, EVERYTHING), "StatefulSet")
    settings = from_environment(usable_text(workers["spec"]["template"]["spec"]))
    assert (settings.decay_policy, settings.max_episodes) == ("ebbinghaus", 1_000_000)
    assert (settings.idle_seconds, settings.memorize) == (2.5, False)


@pytest.mark.parametrize("name", SETS)
def test_each_worker_advertises_a_name_of_its_own_that_the_headless_service_gives(helm: str, name: str):
    manifests = rendered(helm, SETS[name])
    (workers,) = of_kind(manifests, "StatefulSet")
    headless = next(one for one in of_kind(manifests, "Service") if one["spec"].get("clusterIP") == "None")
    assert workers["spec"]["serviceName"] == headless["metadata"]["name"]
    pod = workers["spec"]["template"]
    assert headless["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    variables = pod["spec"]["containers"][0]["env"]
    port, _ = pod["spec"]["containers"][0]["ports"]
    scheme = "http" if laid_over(DEFAULTS, SETS[name])["tls"]["elsewhere"] else "https"
    url = f"{scheme}://$(POD_NAME).{headless['metadata']['name']}.{NAMESPACE}.svc:{port['containerPort']}"
    names = [variable["name"] for variable in variables]
    assert variables[names.index("MNEMOLOG_ADVERTISED_URL")]["value"] == url
    pod_name = variables[names.index("POD_NAME")]
    assert pod_name["valueFrom"] == {"fieldRef": {"fieldPath": "metadata.name"}}
    assert names.index("POD_NAME") < names.index("MNEMOLOG_ADVERTISED_URL"), "Kubernetes expands what stands before"


@pytest.mark.parametrize("name", SETS)
def test_no_name_is_given_twice(helm: str, name: str):
    manifests = rendered(helm, SETS[name])
    named = [(manifest["kind"], manifest["metadata"]["name"]) for manifest in manifests]
    assert len(set(named)) == len(named)
    for pod in pods(manifests):
        variables = [variable["name"] for variable in pod["containers"][0]["env"]]
        assert len(set(variables)) == len(variables)


@pytest.mark.parametrize("name", SETS)
def test_pods_are_bound_as_tightly_as_kubernetes_can(helm: str, name: str):
    for pod in pods(rendered(helm, SETS[name])):
        assert pod["automountServiceAccountToken"] is False
        assert pod["enableServiceLinks"] is False, "a service named mnemolog would set MNEMOLOG_PORT=tcp://..."
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        (container,) = pod["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert {"requests", "limits"} <= set(container["resources"])
        mounted = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        assert mounted["tmp"] == "/tmp"  # noqa: S108 - the container's own


def test_the_user_of_the_pods_is_the_user_of_the_image(helm: str):
    (user,) = re.findall(r"^USER (\d+):(\d+)$", (CHART.parents[1] / "Dockerfile").read_text("utf-8"), re.MULTILINE)
    for pod in pods(rendered(helm, MINIMAL)):
        context = pod["securityContext"]
        assert (str(context["runAsUser"]), str(context["runAsGroup"])) == user


def test_secrets_come_by_reference_only(helm: str):
    manifests = rendered(helm, EVERYTHING)
    assert of_kind(manifests, "Secret") == []
    (workers,) = of_kind(manifests, "StatefulSet")
    pod = workers["spec"]["template"]["spec"]
    secret = {
        variable["name"]: variable["valueFrom"]["secretKeyRef"]
        for variable in pod["containers"][0]["env"]
        if "secretKeyRef" in variable.get("valueFrom", {})
    }
    assert secret == {
        "MNEMOLOG_KAFKA_SASL_USERNAME": {"name": "kafka-user", "key": "user"},
        "MNEMOLOG_KAFKA_SASL_PASSWORD": {"name": "kafka-user", "key": "word"},
        "MNEMOLOG_WEAVIATE_API_KEY": {"name": "weaviate", "key": "key"},
        "MNEMOLOG_LLM_API_KEY": {"name": "models", "key": "llm"},
        "MNEMOLOG_EMBEDDING_API_KEY": {"name": "models", "key": "embedding"},
    }
    volumes = {volume["secret"]["secretName"] for volume in pod["volumes"] if "secret" in volume}
    assert volumes == {"callers", "master", "kafka-certificates", "proof", "certificate"}
    assert {volume["secret"]["defaultMode"] for volume in pod["volumes"] if "secret" in volume} == {0o440}
    (job,) = of_kind(manifests, "Job")
    for one in (pod, job["spec"]["template"]["spec"]):
        references = {variable["name"] for variable in one["containers"][0]["env"] if "valueFrom" in variable}
        assert {"MNEMOLOG_KAFKA_SASL_USERNAME", "MNEMOLOG_KAFKA_SASL_PASSWORD"} <= references
        assert environment(one)["MNEMOLOG_KAFKA_SSL_CAFILE"] == "/etc/mnemolog/kafka/ca.crt"
        assert environment(one)["MNEMOLOG_KAFKA_SSL_KEYFILE"] == "/etc/mnemolog/kafka/tls.key"
        assert environment(one)["MNEMOLOG_REPLICATION_FACTOR"] == "3"
        assert environment(one)["MNEMOLOG_MASTER_KEY_FILE"] == "/etc/mnemolog/master/fernet"
        assert "MNEMOLOG_ENCRYPTION" not in environment(one)


@pytest.mark.parametrize("name", SETS)
def test_the_port_for_workers_is_in_the_headless_service_alone_and_open_to_workers_alone(helm: str, name: str):
    manifests = rendered(helm, SETS[name])
    ports = {one["spec"].get("clusterIP"): one["spec"]["ports"] for one in of_kind(manifests, "Service")}
    assert [port["name"] for port in ports[None]] == ["http"]
    assert [port["name"] for port in ports["None"]] == ["http", "workers"]
    for policy in of_kind(manifests, "NetworkPolicy"):
        (workers,) = of_kind(manifests, "StatefulSet")
        selected = policy["spec"]["podSelector"]["matchLabels"]
        assert selected.items() <= workers["spec"]["template"]["metadata"]["labels"].items()
        callers, peers = policy["spec"]["ingress"]
        assert (callers["ports"], peers["ports"]) == ([{"port": "http"}], [{"port": "workers"}])
        assert peers["from"] == [{"podSelector": {"matchLabels": selected}}]
        assert callers.get("from", []) == SETS[name].get("networkPolicy", {}).get("from", [])


@pytest.mark.parametrize("name", SETS)
def test_probes_speak_as_the_worker_does(helm: str, name: str):
    (workers,) = of_kind(rendered(helm, SETS[name]), "StatefulSet")
    pod = workers["spec"]["template"]["spec"]
    scheme = "HTTPS" if "MNEMOLOG_TLS_CERT_FILE" in environment(pod) else "HTTP"
    (container,) = pod["containers"]
    probes = [container[f"{kind}Probe"]["httpGet"] for kind in ("startup", "liveness", "readiness")]
    assert {(probe["port"], probe["scheme"]) for probe in probes} == {("http", scheme)}
    assert str(environment(pod)["MNEMOLOG_ADVERTISED_URL"]).startswith(f"{scheme.lower()}://")


def test_every_file_that_a_worker_is_told_of_lies_in_a_mounted_secret(helm: str):
    (workers,) = of_kind(rendered(helm, EVERYTHING), "StatefulSet")
    pod = workers["spec"]["template"]["spec"]
    mounts = {mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]}
    told = {name: value for name, value in environment(pod).items() if (value or "").startswith("/etc/")}
    assert {name.removeprefix("MNEMOLOG_") for name in told} == {
        *("API_KEYS_FILE", "CLUSTER_SECRET_FILE", "TLS_CERT_FILE", "TLS_KEY_FILE", "TLS_CLIENT_CA_FILE", "CA_FILE"),
        *("MASTER_KEY_FILE", "KAFKA_SSL_CAFILE", "KAFKA_SSL_CERTFILE", "KAFKA_SSL_KEYFILE"),
    }
    assert {value.rpartition("/")[0] for value in told.values() if value} <= mounts


def test_a_cluster_secret_is_made_where_none_is_named(helm: str):
    [secret], [other] = (of_kind(rendered(helm, MINIMAL), "Secret") for _ in range(2))
    assert secret["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    assert len(b64decode(secret["data"]["cluster-secret"])) == 64
    assert secret["data"] != other["data"], "without a cluster nothing is looked up"
    (workers,) = of_kind(rendered(helm, MINIMAL), "StatefulSet")
    mounted = [one["secret"]["secretName"] for one in workers["spec"]["template"]["spec"]["volumes"] if "secret" in one]
    assert secret["metadata"]["name"] in mounted


def test_a_certificate_has_the_names_by_which_workers_are_reached(helm: str):
    manifests = rendered(helm, PRODUCTION)
    (certificate,) = of_kind(manifests, "Certificate")
    (workers,) = of_kind(manifests, "StatefulSet")
    spec = workers["spec"]["template"]["spec"]
    assert certificate["spec"]["dnsNames"][0] == environment(spec)["MNEMOLOG_PEERS"]
    assert "demo-mnemolog.memory.svc" in certificate["spec"]["dnsNames"]
    assert certificate["spec"]["issuerRef"] == {"name": "private", "kind": "Issuer"}
    mounted = [one["secret"]["secretName"] for one in spec["volumes"] if "secret" in one]
    assert certificate["spec"]["secretName"] in mounted


def test_the_topics_are_created_before_the_workers_of_an_installation_and_of_an_upgrade(helm: str):
    (job,) = of_kind(rendered(helm, PRODUCTION), "Job")
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    pod = job["spec"]["template"]["spec"]
    assert pod["containers"][0]["args"] == ["topics", "create"]
    assert "serviceAccountName" not in pod, "the chart's own account is not there yet"


def test_a_worker_has_an_hour_to_catch_up_before_it_is_started_again(helm: str):
    (workers,) = of_kind(rendered(helm, MINIMAL), "StatefulSet")
    (container,) = workers["spec"]["template"]["spec"]["containers"]
    probe = container["startupProbe"]
    assert probe["httpGet"]["path"] == container["readinessProbe"]["httpGet"]["path"] == "/health/ready"
    assert probe["periodSeconds"] * probe["failureThreshold"] == 3600
    assert container["livenessProbe"]["httpGet"]["path"] == "/health/live"


def test_shards_lie_on_a_volume_of_each_worker(helm: str):
    (workers,) = of_kind(rendered(helm, EVERYTHING), "StatefulSet")
    (claim,) = workers["spec"]["volumeClaimTemplates"]
    assert claim["spec"]["resources"]["requests"]["storage"] == "1.5Ti"
    mounted = {
        one["name"]: one["mountPath"] for one in workers["spec"]["template"]["spec"]["containers"][0]["volumeMounts"]
    }
    assert mounted[claim["metadata"]["name"]] == "/data"


def test_what_watches_the_workers_comes_where_it_is_asked_for(helm: str):
    manifests = rendered(helm, EVERYTHING)
    (monitor,) = of_kind(manifests, "ServiceMonitor")
    wanted = monitor["spec"]["selector"]["matchLabels"].items()
    found = [one for one in of_kind(manifests, "Service") if wanted <= one["metadata"]["labels"].items()]
    assert [one["spec"]["clusterIP"] for one in found] == ["None"]  # each worker once
    (endpoint,) = monitor["spec"]["endpoints"]
    assert endpoint["authorization"]["credentials"] == {"name": "scraper", "key": "word"}
    assert (endpoint["scheme"], endpoint["tlsConfig"]["ca"]["secret"]["key"]) == ("https", "authority.crt")
    (rule,) = of_kind(manifests, "PrometheusRule")
    assert rule["spec"] == yaml.safe_load((CHART / "monitoring" / "alerts.yaml").read_text("utf-8"))
    (dashboard,) = of_kind(manifests, "ConfigMap")
    assert dashboard["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert json.loads(dashboard["data"]["mnemolog.json"])["title"] == "mnemolog"
    assert all(one["metadata"]["labels"].get("release") == "prometheus" for one in (monitor, rule))
    kinds = {one["kind"] for one in rendered(helm, MINIMAL)}
    assert kinds.isdisjoint({"ServiceMonitor", "PrometheusRule", "ConfigMap"})


def test_the_notes_name_what_was_installed(helm: str, tmp_path: Path):
    """Helm shows them only where there is a cluster, so they are rendered in a copy, as a value of a manifest."""
    chart = shutil.copytree(CHART, tmp_path / "mnemolog")
    (chart / "templates" / "NOTES.txt").rename(chart / "notes.txt")
    (chart / "templates" / "notes.yaml").write_text('notes: {{ tpl (.Files.Get "notes.txt") . | toJson }}', "utf-8")
    done = run(helm, ["template", RELEASE, "--show-only", "templates/notes.yaml"], MINIMAL, chart)
    assert done.returncode == 0, done.stderr
    notes = yaml.safe_load(done.stdout)["notes"]
    assert "2 workers of mnemolog 0.1.0 share 8 partitions." in notes
    assert f"kubectl --namespace {NAMESPACE} rollout status statefulset/demo-mnemolog" in notes
    assert "Memories are stored in clear" in notes


def test_files_of_models_are_mounted_for_the_workers_alone_and_can_be_read_only(helm: str):
    manifests = rendered(helm, MODELS)
    (workers,) = of_kind(manifests, "StatefulSet")
    pod = workers["spec"]["template"]["spec"]
    (mount,) = [one for one in pod["containers"][0]["volumeMounts"] if one["name"] == "models"]
    (volume,) = [one for one in pod["volumes"] if one["name"] == "models"]
    assert mount == {"name": "models", "mountPath": "/models", "readOnly": True}
    assert volume == {"name": "models", **MODELS["embedding"]["volume"]}
    variables = environment(pod)
    assert variables["MNEMOLOG_EMBEDDING_MODEL"] == MODELS["embedding"]["model"]
    assert variables["FASTEMBED_CACHE_PATH"] == "/data/fastembed"  # what it downloads outlasts the container
    (job,) = of_kind(manifests, "Job")
    assert "models" not in [one["name"] for one in job["spec"]["template"]["spec"]["volumes"]]
    (plain,) = of_kind(rendered(helm, MINIMAL), "StatefulSet")
    assert "FASTEMBED_CACHE_PATH" not in environment(plain["spec"]["template"]["spec"])


@pytest.mark.parametrize(
    "embedding",
    [
        {"model": "fastembed:BAAI/bge-small-en-v1.5"},
        {"model": "builtin"},
        {"model": "small", "baseUrl": "https://models.example/v1"},
    ],
)
def test_every_spelling_of_an_encoder_that_a_worker_can_have_is_taken(helm: str, embedding: dict[str, Any]):
    (workers,) = of_kind(rendered(helm, MINIMAL | {"embedding": embedding}), "StatefulSet")
    variables = environment(workers["spec"]["template"]["spec"])
    assert variables["MNEMOLOG_EMBEDDING_MODEL"] == embedding["model"]
