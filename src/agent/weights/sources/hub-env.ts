import { join } from "node:path";

type Env = Readonly<Record<string, string | undefined>>;

const DEFAULT_ENDPOINT = "https://huggingface.co";

export interface HubSettings {
  /** Without a slash at the end. */
  readonly endpoint: string;
  readonly isOffline: boolean;
  /** The token itself, when the environment has it. */
  readonly token: string | undefined;
  /** Where the token is otherwise. */
  readonly tokenPath: string | undefined;
  /** What the Hub's own tools fetched for this user lies here. */
  readonly cache: string | undefined;
}

/** The Hub's own variables, with the defaults that its own tools have. */
export function readHubSettings(env: Env): HubSettings {
  const cacheHome = filled(env["XDG_CACHE_HOME"]) ?? below(filled(env["HOME"]), ".cache");
  const home = filled(env["HF_HOME"]) ?? below(cacheHome, "huggingface");
  return {
    endpoint: (filled(env["HF_ENDPOINT"]) ?? DEFAULT_ENDPOINT).replace(/\/+$/, ""),
    isOffline: isOn(env["HF_HUB_OFFLINE"]) || isOn(env["TRANSFORMERS_OFFLINE"]),
    token: filled(env["HF_TOKEN"]) ?? filled(env["HUGGING_FACE_HUB_TOKEN"]),
    tokenPath: filled(env["HF_TOKEN_PATH"]) ?? below(home, "token"),
    cache: filled(env["HF_HUB_CACHE"]) ?? filled(env["HUGGINGFACE_HUB_CACHE"]) ?? below(home, "hub"),
  };
}

function filled(value: string | undefined): string | undefined {
  // A token that was pasted with its line end would be refused as a header.
  const text = value?.trim();
  return text === "" ? undefined : text;
}

const below = (folder: string | undefined, name: string): string | undefined =>
  folder === undefined ? undefined : join(folder, name);

const isOn = (value: string | undefined): boolean => /^(1|true|yes|on)$/i.test(value?.trim() ?? "");
