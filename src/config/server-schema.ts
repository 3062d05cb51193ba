import { z } from "zod";
import { err, ok, type Result } from "../core/result.ts";
import { listen, listenOrOff, parseWebAddress, webAddress } from "./addresses.ts";
import { duration, flag, integer, type Leaf, leaf, number, path, setting, show, text } from "./fields.ts";
import { routerKeys } from "./router-keys.ts";

/** What the control plane remembers, and where. */
export type StoreLocation =
  | { readonly kind: "sqlite"; readonly path: string }
  /** The URL may hold a password. */
  | { readonly kind: "postgres"; readonly url: string };

const store = (): Leaf<StoreLocation> =>
  leaf(
    {
      type: "store",
      phrase: "sqlite:/PATH or postgres://USER@HOST/DATABASE",
      takes: ["string"],
      write: (value: StoreLocation) => (value.kind === "sqlite" ? `sqlite:${value.path}` : withoutPassword(value.url)),
    },
    (raw) => parseStore(String(raw)),
  );

function parseStore(raw: string): Result<StoreLocation, string> {
  if (raw.startsWith("sqlite:")) {
    const file = raw.slice("sqlite:".length).replace(/^\/\/(?=\/)/, "");
    return file.startsWith("/")
      ? ok({ kind: "sqlite", path: file })
      : err(`needs an absolute path, but is ${show(raw)}`);
  }
  if (/^postgres(ql)?:\/\//.test(raw) && URL.canParse(raw)) return ok({ kind: "postgres", url: raw });
  return err("must be sqlite:/PATH or postgres://USER@HOST/DATABASE");
}

function withoutPassword(url: string): string {
  const shown = new URL(url);
  if (shown.password !== "") shown.password = "hidden";
  shown.searchParams.delete("password");
  return shown.href;
}

const engineVersion = (phrase: string, pattern: RegExp): Leaf<string> => text({ type: "version", phrase, pattern });

function engineSource(words: readonly string[], { folder = false } = {}): Leaf<string> {
  const more = folder
    ? ", the address of a mirror's index or the folder of wheels on the nodes"
    : " or the base URL of a mirror";
  const phrase = `${words.join(", ")}${more}`;
  const type = `${words.join(" or ")} or URL${folder ? " or folder" : ""}`;
  return leaf({ type, phrase, takes: ["string"] }, (raw) => {
    const written = String(raw);
    if (words.includes(written) || (folder && isFolder(written))) return ok(written);
    return parseWebAddress(written, phrase);
  });
}

/** Of a node, not of this machine: that it is there cannot be looked at here. */
const isFolder = (written: string): boolean => /^(file:\/\/)?\/\S/.test(written) && !written.includes("\0");

const pypiEngine = z.strictObject({
  version: setting(engineVersion("a version such as 0.33.0", /^\d+(\.\d+)+([a-z0-9.+-]*)$/), "Release to install."),
  source: setting(
    engineSource(["pypi"], { folder: true }).prefault("pypi"),
    "Where it is fetched from. {backend} in a mirror's address or a folder stands for cu130, cu129 or cpu, by the node's driver.",
  ),
});

const engines = z.strictObject({
  "llama.cpp": setting(
    z
      .strictObject({
        version: setting(
          engineVersion("a build such as b11669", /^b\d+$/).prefault("b11669"),
          "Build to install. Debian's archive gives the build that it has.",
        ),
        source: setting(engineSource(["github", "debian"]).prefault("github"), "Where it is fetched from first."),
      })
      .optional(),
    "The build of llama.cpp that every node installs. Unnamed, a node takes the llama-server that it has and installs one when it has none.",
    "the node's choice",
  ),
  vllm: setting(pypiEngine.optional(), "vLLM on the nodes.", "not installed"),
  sglang: setting(pypiEngine.optional(), "SGLang on the nodes.", "not installed"),
});

const router = z.strictObject({
  listen: setting(
    listenOrOff("0.0.0.0").prefault("0.0.0.0:8080"),
    'Where clients ask; "" for no router in this process.',
  ),
  ...routerKeys,
});

const DAY = 86_400_000;

export const serverSchema = z.strictObject({
  listen: setting(listen("0.0.0.0").prefault("0.0.0.0:7443"), "The one port for agents, routers and operators."),
  tls: setting(
    z
      .strictObject({
        ca: setting(
          path(),
          "The authority that certificates of nodes must come from. A crl.pem beside it lists those that were revoked.",
        ),
        cert: setting(path(), "The control plane's certificate."),
        key: setting(path(), "Its private key, readable by nobody else."),
      })
      .optional(),
    "With it the port speaks https, and agents must show a certificate.",
    "plain HTTP",
  ),
  store: setting(
    store().optional(),
    "Where the cluster's state is kept.",
    "sqlite:/var/lib/llmgw/server.db, or below --data-dir",
  ),
  public_url: setting(
    webAddress("an http:// or https:// address").optional(),
    "How the control plane is reached from outside.",
    "made from listen",
  ),
  router: setting(router.prefault({}), "The router that runs inside the control plane."),
  engines: setting(engines.prefault({}), "What nodes install, by the engine's name."),
  weights: setting(
    z
      .strictObject({
        concurrency: setting(
          integer({ min: 1, max: 64 }).prefault(4),
          "Files of weights that a node fetches at the same time.",
        ),
        peers: setting(
          flag().prefault(true),
          "Whether nodes fetch weights from each other before they go to the source.",
        ),
      })
      .prefault({}),
    "How weights get to the nodes.",
  ),
  nodes: setting(
    z
      .strictObject({
        unreachable_after: setting(
          duration().prefault("15s"),
          "Silence after which a node is called unreachable. Its replicas go on.",
        ),
        lost_after: setting(
          duration().prefault("5m"),
          "Silence after which a node is given up and its replicas are placed elsewhere.",
        ),
        brake: setting(
          number({ min: 0, max: 1 }).prefault(0.5),
          "When more than this share of the nodes is silent at once, the network is to blame and nothing is moved.",
        ),
      })
      .prefault({}),
    "When a silent node counts as gone.",
  ),
  usage: setting(
    z
      .strictObject({
        retain: setting(
          duration({ min: 3_600_000, max: 36_500 * DAY }).prefault("400d"),
          "How long counts of tokens and requests are kept.",
        ),
      })
      .prefault({}),
    "Accounts of who used what.",
  ),
});
