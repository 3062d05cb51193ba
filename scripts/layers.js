// Who may import whom, and what from outside. The one table: eslint.config.js makes the lint rules from it and
// scripts/generate-reference.ts prints it into ARCHITECTURE.md.

const PURE_GLOBALS = ["process", "console", "setTimeout", "setInterval", "setImmediate", "fetch", "performance"];

/** @type {readonly {folder: string, pure: boolean, imports: readonly string[], packages: readonly string[], why: string}[]} */
export const LAYERS = [
  { folder: "core", pure: true, imports: [], packages: [], why: "the words of the domain" },
  { folder: "scheduler", pure: true, imports: ["core"], packages: ["zod"], why: "which node and which GPUs" },
  { folder: "routing", pure: true, imports: ["core"], packages: ["zod"], why: "which replica gets a request" },
  { folder: "reconcile", pure: true, imports: ["core"], packages: [], why: "desired and observed in, actions out" },
  { folder: "engines", pure: true, imports: ["core"], packages: ["zod"], why: "how an engine is started and read" },
  {
    folder: "wire",
    pure: true,
    imports: ["core"],
    packages: ["@bufbuild/protobuf", "zod"],
    why: "messages and core values",
  },
  {
    folder: "config",
    pure: true,
    imports: ["core", "scheduler", "routing", "engines"],
    packages: ["zod", "yaml"],
    why: "texts in, configuration or every problem out",
  },
  {
    folder: "platform",
    pure: false,
    imports: ["core"],
    packages: ["node:", "pino", "pino-pretty", "undici", "tar", "koffi"],
    why: "the machine: processes, files, sockets, clock",
  },
  {
    folder: "pki",
    pure: false,
    imports: ["core", "platform"],
    packages: ["@peculiar/x509", "reflect-metadata"],
    why: "certificates: made, read, judged",
  },
  {
    folder: "store",
    pure: false,
    imports: ["core"],
    packages: ["kysely", "node:sqlite"],
    why: "what the control plane remembers",
  },
  {
    folder: "control",
    pure: false,
    imports: ["core", "scheduler", "routing", "reconcile", "engines", "wire", "config", "platform", "pki", "store"],
    packages: ["@connectrpc/connect", "@bufbuild/protobuf", "prom-client"],
    why: "the control plane",
  },
  {
    folder: "router",
    pure: false,
    imports: ["core", "routing", "engines", "wire", "config", "platform"],
    packages: ["@connectrpc/connect", "@bufbuild/protobuf", "undici", "prom-client"],
    why: "the data plane",
  },
  {
    folder: "agent",
    pure: false,
    imports: ["core", "reconcile", "engines", "wire", "config", "platform", "pki"],
    packages: ["@connectrpc/connect", "@bufbuild/protobuf"],
    why: "a node's hands",
  },
  {
    folder: "cli",
    pure: false,
    imports: ["core", "wire", "config", "platform", "pki", "run"],
    packages: ["commander", "@connectrpc/connect", "@bufbuild/protobuf", "picocolors", "yaml"],
    why: "a person's hands",
  },
  {
    folder: "run",
    pure: false,
    imports: [
      "core",
      "scheduler",
      "routing",
      "reconcile",
      "engines",
      "wire",
      "config",
      "platform",
      "pki",
      "store",
      "control",
      "router",
      "agent",
    ],
    packages: [
      "@connectrpc/connect",
      "@connectrpc/connect-node",
      "@bufbuild/protobuf",
      "@opentelemetry",
      "prom-client",
    ],
    why: "composition roots: the only folder that knows more than one implementation",
  },
];

/** Node's modules that touch the machine: platform/ alone. The others (crypto, path, events, stream, http …) are free outside pure folders. */
export const MACHINE_MODULES = [
  "child_process",
  "fs",
  "fs/promises",
  "os",
  "net",
  "dgram",
  "worker_threads",
  "cluster",
];

export { PURE_GLOBALS };
