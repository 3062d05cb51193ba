import { z } from "zod";
import { ENGINE_NAMES } from "../core/profile.ts";
import { err, ok } from "../core/result.ts";
import { parseSource } from "../core/source.ts";
import { webAddress } from "./addresses.ts";
import { duration, integer, type Leaf, leaf, number, oneOf, path, setting, show, size, text } from "./fields.ts";
import { secretFile } from "./secret-file.ts";

const objectName = (): Leaf<string> =>
  text({
    type: "name",
    phrase: "at most 63 small letters, digits, hyphens and dots, with a letter or digit at both ends",
    pattern: /^(?=.{1,63}$)[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/,
  });

/** What clients write into "model": repository names with a slash are common there. */
const servedName = (): Leaf<string> =>
  text({
    type: "name",
    phrase: "a model name of letters, digits and . _ : / @ + -",
    pattern: /^(?=.{1,255}$)[A-Za-z0-9][A-Za-z0-9._:/@+-]*$/,
  });

/** A profile, an upstream with one model, or one of an upstream's models after a slash, which is in no profile's name. */
const answererName = (): Leaf<string> =>
  text({
    type: "name",
    phrase: "a profile's name, an upstream's, or UPSTREAM/MODEL",
    pattern: /^(?=.{1,319}$)[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?(\/[A-Za-z0-9][A-Za-z0-9._:/@+-]*)?$/,
  });

const modelSource = (): Leaf<string> =>
  leaf({ type: "model source", phrase: "a model source such as hf:ORG/REPO", takes: ["string"] }, (raw) => {
    const parsed = parseSource(String(raw));
    return parsed.ok ? ok(String(raw)) : err(`cannot be used: ${parsed.error}`);
  });

const relativeFile = (phrase: string): Leaf<string> =>
  text({ type: "file name", phrase, pattern: /^(?!\/)(?!(.*\/)?\.\.(\/|$))[^\\]+$/ });

const sha256 = (): Leaf<string> =>
  leaf({ type: "SHA-256", phrase: "64 hexadecimal digits", takes: ["string"] }, (raw) =>
    /^[0-9a-fA-F]{64}$/.test(String(raw))
      ? ok(String(raw).toLowerCase())
      : err(`must be 64 hexadecimal digits, but is ${show(raw)}`),
  );

const variableName = (): Leaf<string> =>
  text({
    type: "name",
    phrase: "the name of an environment variable",
    pattern: /^[A-Za-z_][A-Za-z0-9_]*$/,
  });

const label = (phrase: string): Leaf<string> => text({ phrase });

const replicaRange = z.strictObject({
  min: setting(
    integer({ min: 0, max: 10_000 }).prefault(1),
    "Replicas that are always there. With 0 the first request waits for a start.",
  ),
  max: setting(integer({ min: 1, max: 10_000 }), "Replicas there are at most."),
  target_in_flight: setting(
    integer({ min: 1, max: 100_000 }).prefault(8),
    "Requests in flight for each replica that are aimed at.",
  ),
  idle: setting(duration().prefault("10m"), "Time without a request after which a replica above min is stopped."),
});

const model = z.strictObject({
  source: setting(modelSource(), "Where the weights come from."),
  files: setting(
    z.array(relativeFile("a file name or pattern inside the source")).prefault([]),
    "Patterns for the files to fetch.",
    "what the engine needs",
  ),
  sha256: setting(
    z.record(relativeFile("a file name inside the source"), sha256()).prefault({}),
    "Checksums that files must have, by name. A file that differs is refused.",
    "what the source publishes",
  ),
});

const resources = z.strictObject({
  gpus: setting(integer({ min: 0, max: 1024 }).optional(), "GPUs on each node.", "estimated from the weights"),
  gpu_memory: setting(size().optional(), "Memory on each GPU.", "estimated from the weights"),
  memory: setting(size().optional(), "Main memory on each node.", "estimated from the weights"),
  nodes: setting(integer({ min: 1, max: 1024 }).prefault(1), "Nodes that a replica spans."),
});

const parallel = z.strictObject({
  tensor: setting(
    integer({ min: 1, max: 1024 }).optional(),
    "GPUs that each layer is split over.",
    "every GPU that pipeline leaves",
  ),
  pipeline: setting(integer({ min: 1, max: 1024 }).optional(), "Stages that the layers are split into.", "1"),
});

const rollout = z.strictObject({
  surge: setting(
    integer({ min: 0, max: 1000 }).prefault(1),
    "Replicas above the wanted number while a change is carried out.",
  ),
  unavailable: setting(
    integer({ min: 0, max: 1000 }).prefault(0),
    "Replicas that may be missing while a change is carried out.",
  ),
  drain: setting(
    duration({ min: 0 }).prefault("5m"),
    "How long requests in flight may take to end before a replica is stopped.",
  ),
});

const kind = <const K extends string>(word: K): Leaf<K> => setting(oneOf([word]), "What the document describes.");

export const profileSchema = z.strictObject({
  kind: kind("Profile"),
  name: setting(objectName(), "The profile's name, one of a kind."),
  serves: setting(z.array(servedName()).min(1).optional(), "Model names that clients ask for.", "the profile's name"),
  model: setting(model, "The weights."),
  engine: setting(
    oneOf(["auto", ...ENGINE_NAMES]).prefault("auto"),
    "The program that serves the model; auto goes by the kind of weights.",
  ),
  replicas: setting(
    z.union([integer({ min: 0, max: 10_000 }), replicaRange]).prefault(1),
    "How many copies run: a number, or limits between which load decides.",
  ),
  resources: setting(resources.prefault({}), "What each replica needs."),
  parallel: setting(parallel.prefault({}), "How a replica is split; tensor × pipeline = gpus × nodes."),
  node_selector: setting(
    z.record(label("a label's name"), text({ allowEmpty: true })).prefault({}),
    "Labels that a node must carry.",
  ),
  context: setting(
    integer({ min: 1, max: 100_000_000 }).optional(),
    "Tokens of context for each request.",
    "what the model was made for",
  ),
  adapters: setting(
    z.record(servedName(), modelSource()).prefault({}),
    "LoRA adapters and where they come from, by the name clients ask for.",
  ),
  args: setting(
    z.array(text({ allowEmpty: true, manyLines: true })).prefault([]),
    "Further arguments for the engine. Each item is one argument, spaces and all; no shell sees them.",
  ),
  env: setting(
    z.record(variableName(), text({ allowEmpty: true, manyLines: true })).prefault({}),
    "Further environment variables for the engine.",
  ),
  start_timeout: setting(duration().prefault("30m"), "How long a replica may take from its start to its first answer."),
  rollout: setting(rollout.prefault({}), "How a change replaces running replicas."),
});

export const aliasSchema = z.strictObject({
  kind: kind("Alias"),
  name: setting(servedName(), "The model name that clients ask for."),
  targets: setting(
    z
      .array(
        z.strictObject({
          profile: setting(
            answererName(),
            "A profile that answers, or an upstream: UPSTREAM/MODEL where it has several.",
          ),
          weight: setting(
            number({ min: 0, max: 1_000_000 }).prefault(1),
            "Its share of the requests, against the other targets' weights.",
          ),
        }),
      )
      .min(1),
    "Profiles and upstreams that share the requests.",
  ),
  fallback: setting(
    z.array(answererName()).prefault([]),
    "Profiles and upstreams that answer, in this order, when no target can.",
  ),
});

export const upstreamSchema = z.strictObject({
  kind: kind("Upstream"),
  name: setting(objectName(), "The upstream's name, one of a kind."),
  url: setting(
    webAddress("an http:// or https:// address"),
    "Base URL of an OpenAI-compatible endpoint that runs elsewhere. A path stands for /v1; without one it is /v1.",
  ),
  api_key: setting(
    secretFile().optional(),
    "The key that it asks for, as the file that holds it on the control plane's machine.",
    "none",
  ),
  ca: setting(
    path().optional(),
    "File of the authorities that its certificate may be of, on the control plane's machine.",
    "those that the runtime trusts",
  ),
  models: setting(
    z.union([
      z.array(servedName()).min(1),
      z.record(servedName(), text({ phrase: "what the endpoint calls the model" })),
    ]),
    "Model names that clients ask for: a list, or a map to what the endpoint calls each.",
  ),
  concurrency: setting(
    integer({ min: 1, max: 1_000_000 }).optional(),
    "Requests that each router sends to it at once; more wait in the router's queue.",
    "no limit",
  ),
});
