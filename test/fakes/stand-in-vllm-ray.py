"""STAND-IN for vLLM on Ray, for a test of ranks with the real Ray: it reads the real command line, takes a GPU of each node
from the cluster that it finds, and answers when a worker runs on all of them. It computes nothing: a token is a word that it
asks every worker for. Like the real one it ends when a worker dies."""

import argparse
import http.server
import json
import os
import sys
import threading

if sys.argv[1:] == ["--version"]:
    print("0.11.0")
    sys.exit()

parser = argparse.ArgumentParser()
parser.add_argument("serve")
parser.add_argument("model")
parser.add_argument("--host")
parser.add_argument("--port", type=int)
parser.add_argument("--served-model-name", nargs="+")
parser.add_argument("--tensor-parallel-size", type=int, default=1)
parser.add_argument("--pipeline-parallel-size", type=int, default=1)
parser.add_argument("--distributed-executor-backend", required=True, choices=["ray"])
parser.add_argument("--enable-prompt-tokens-details", action="store_true")
parser.add_argument("--middleware", action="append")
args = parser.parse_args()

import ray  # noqa: E402: asking for the version needs no cluster

ray.init(address=os.environ["RAY_ADDRESS"], log_to_driver=False)
print("stand-in: connected to Ray", flush=True)


@ray.remote(num_gpus=1)
class Worker:
    def node(self):
        return ray.util.get_node_ip_address()


workers = [Worker.remote() for _ in range(args.tensor_parallel_size * args.pipeline_parallel_size)]


def token():
    """The nodes that took part. Waits for nodes that have not joined yet."""
    return sorted(ray.get([worker.node.remote() for worker in workers]))


print("stand-in: workers on", *token(), flush=True)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        if self.path == "/v1/models":
            self.send(200, {"data": [{"id": args.served_model_name[0], "max_model_len": 4096}]})
        else:
            self.send(200 if self.path == "/health" else 404, {})

    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.headers.get("authorization") != f"Bearer {os.environ['VLLM_API_KEY']}":
            return self.send(401, {"error": "Unauthorized"})
        words = f"from {len(set(token()))} nodes"
        choice = {"index": 0, "finish_reason": "stop"}
        if self.path == "/v1/completions":
            return self.send(200, {"choices": [{**choice, "text": words}]})
        self.send(200, {"choices": [{**choice, "message": {"role": "assistant", "content": words}}]})


def watch():
    """Ends everything when a worker does."""
    while True:
        try:
            token()
        except ray.exceptions.RayError as error:
            print("stand-in: a worker died:", type(error).__name__, flush=True)
            os._exit(1)
        threading.Event().wait(0.5)


threading.Thread(target=watch, daemon=True).start()
print("stand-in: Application startup complete.", flush=True)
http.server.ThreadingHTTPServer((args.host, args.port), Handler).serve_forever()
