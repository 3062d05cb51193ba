import type { EngineFile, Launch } from "../engine.ts";

/** The class below, as the program imports it. */
const MODULE = "llmgw_key_guard";
const CLASS = "KeyGuard";

/**
 * The program asks for its key below /v1 and a few paths more, and answers whoever reaches it on all others: /tokenize,
 * /pooling, /score, /invocations, /metrics, /docs. What it lets a user put in front of all of its paths closes them.
 */
const SOURCE = `"""Put in front of every path of the server: whoever does not show the key of this replica gets 401."""
import hmac
import os


class ${CLASS}:
    def __init__(self, app):
        self.app = app
        self.expected = b"Bearer " + os.environ["VLLM_API_KEY"].encode()

    def _is_shown(self, scope):
        shown = [value for name, value in scope["headers"] if name.lower() == b"authorization"]
        return len(shown) == 1 and hmac.compare_digest(shown[0], self.expected)

    async def __call__(self, scope, receive, send):
        # Other kinds are the server's own, such as its start and its end.
        if scope["type"] not in ("http", "websocket") or self._is_shown(scope):
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            body = b'{"error":"Unauthorized"}'
            headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body", "body": body})
`;

interface KeyGuard {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly files: readonly EngineFile[];
}

/** Nothing for a process that answers nobody, or that has no key. */
export function keyGuard({ workDir, apiKey, gang, env }: Launch): KeyGuard {
  if (apiKey === "" || (gang !== undefined && gang.rank > 0)) return { args: [], env: {}, files: [] };
  const folder = `${workDir}/python`;
  const { PYTHONPATH: own = "" } = env;
  return {
    args: ["--middleware", `${MODULE}.${CLASS}`],
    env: { PYTHONPATH: own === "" ? folder : `${folder}:${own}` },
    files: [{ path: `${folder}/${MODULE}.py`, text: SOURCE }],
  };
}
