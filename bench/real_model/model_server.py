"""Serves a GGUF model as an OpenAI-compatible endpoint, for `real_model.py` alone: one request at a time, greedy.

    python model_server.py MODEL [--port N] [--threads N] [--context N] [--no-grammar]

Run it with the Python of the runtime that `fetch_model.py` installs. A JSON schema in the request becomes a grammar
unless `--no-grammar` is given. The common beginning of two successive prompts is read only once.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cyllama.llama import llama_cpp  # type: ignore[import-not-found]

BATCH = 512
MOST_TOKENS = 1024


class Model:
    """A loaded model, with the tokens in its cache."""

    def __init__(self, path: Path, threads: int, context: int, *, grammar: bool) -> None:
        llama_cpp.disable_logging()
        llama_cpp.ggml_backend_load_all()
        chosen = llama_cpp.LlamaModelParams()
        chosen.n_gpu_layers = 0
        self._model = llama_cpp.LlamaModel(str(path), chosen)
        sizes = llama_cpp.LlamaContextParams()
        sizes.n_ctx, sizes.n_batch = context, BATCH
        sizes.n_threads = sizes.n_threads_batch = threads
        self._context = llama_cpp.LlamaContext(self._model, sizes)
        self._words = self._model.get_vocab() if hasattr(self._model, "get_vocab") else self._model.vocab
        self._size = context
        self._grammar = grammar
        self._grammars: dict[str, Any] = {}
        self._held: list[int] = []
        self.lock = threading.Lock()

    def answer(self, messages: list[dict[str, Any]], schema: object, most: int) -> dict[str, Any] | None:
        """Return the completion of a chat, None if the prompt is longer than the context."""
        prompt = "".join(f"<|im_start|>{m['role']}\n{m['content']}<|im_end|>\n" for m in messages)
        tokens = self._words.tokenize(f"{prompt}<|im_start|>assistant\n", add_special=False, parse_special=True)
        if len(tokens) >= self._size:
            return None
        known = 0
        while known < min(len(self._held), len(tokens) - 1) and self._held[known] == tokens[known]:
            known += 1
        self._context.memory_seq_rm(0, known, -1)
        for begin in range(known, len(tokens), BATCH):
            self._context.decode(llama_cpp.llama_batch_get_one(tokens[begin : begin + BATCH], begin))
        sampler = self._sampler(schema)
        written: list[int] = []
        finish = "length"
        for place in range(len(tokens), min(len(tokens) + most, self._size - 1)):
            token = sampler.sample(self._context, -1)
            if self._words.is_eog(token):
                finish = "stop"
                break
            written.append(token)
            self._context.decode(llama_cpp.llama_batch_get_one([token], place))
        self._held = [*tokens, *written]
        return {
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": self._words.detokenize(written)},
                    "finish_reason": finish,
                }
            ],
            "usage": {"prompt_tokens": len(tokens), "completion_tokens": len(written)},
        }

    def _sampler(self, schema: object) -> Any:  # noqa: ANN401 - the runtime has no types
        sampler = llama_cpp.LlamaSampler(llama_cpp.LlamaSamplerChainParams())
        if schema is not None and self._grammar:
            key = json.dumps(schema)
            if key not in self._grammars:
                self._grammars[key] = llama_cpp.json_schema_to_grammar(key)
            sampler.add_grammar(self._words, self._grammars[key], "root")
        sampler.add_greedy()
        return sampler


def handler(model: Model) -> type[BaseHTTPRequestHandler]:
    """Return the class that answers requests with a model."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_arguments: object) -> None:
            """Log nothing, because the caller prints."""

        def do_GET(self) -> None:
            self._send(200, {"object": "list", "data": [{"id": "local", "object": "model"}]})

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            form = asked.get("response_format") or {}
            schema = (form.get("json_schema") or {}).get("schema")
            with model.lock:
                found = model.answer(asked["messages"], schema, asked.get("max_tokens") or MOST_TOKENS)
            if found is None:
                self._send(400, {"error": {"message": "the prompt is too long", "code": "context_length_exceeded"}})
            else:
                self._send(200, {"id": "local", "object": "chat.completion", "created": int(time.time()), **found})

        def _send(self, status: int, document: object) -> None:
            body = json.dumps(document, ensure_ascii=False).encode()
            try:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except OSError:
                pass  # the caller gave up waiting

    return Handler


def main() -> None:
    """Serve until ended."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--port", type=int, default=18461)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--context", type=int, default=6144)
    parser.add_argument("--no-grammar", action="store_true")
    chosen = parser.parse_args()
    model = Model(chosen.model, chosen.threads, chosen.context, grammar=not chosen.no_grammar)
    ThreadingHTTPServer(("127.0.0.1", chosen.port), handler(model)).serve_forever()


if __name__ == "__main__":
    main()
