import { execFileSync } from "node:child_process";

/** Of RFC 2544: for tests of networks, and used by nobody else. */
const NETWORK = "198.18.77";

/** Machines on one network, as far as programs can tell: each a network namespace, all plugged into one bridge. */
export class Hosts {
  readonly #bridge: string;
  readonly #names: string[] = [];

  private constructor(tag: string) {
    this.#bridge = `lg${tag}br`;
  }

  /** Why this machine's user may make none; undefined: they can be made. */
  static whyNot(): string | undefined {
    const hosts = new Hosts("try");
    try {
      hosts.#plugBridge();
      hosts.add("probe");
      return undefined;
    } catch (error) {
      return String(error).split("\n").slice(0, 2).join(" ");
    } finally {
      hosts.remove();
    }
  }

  static make(): Hosts {
    // A name of an interface has 15 characters at most.
    const hosts = new Hosts(String(process.pid % 100_000));
    hosts.#plugBridge();
    return hosts;
  }

  /** Of this process, on the bridge. */
  get ownAddress(): string {
    return `${NETWORK}.1`;
  }

  /** Makes one more host. Answers with its address and the words that start a program there. */
  add(name: string): { readonly address: string; readonly starter: readonly [string, ...string[]] } {
    const space = `${this.#bridge}-${name}`;
    this.#names.push(name);
    const address = `${NETWORK}.${String(10 + this.#names.length)}`;
    const [outside, inside] = [this.#plug(name), `${this.#plug(name)}i`];
    ip("netns", "add", space);
    ip("link", "add", outside, "type", "veth", "peer", "name", inside);
    ip("link", "set", inside, "netns", space);
    ip("link", "set", outside, "master", this.#bridge);
    ip("link", "set", outside, "up");
    ip("-n", space, "link", "set", "lo", "up");
    ip("-n", space, "address", "add", `${address}/24`, "dev", inside);
    ip("-n", space, "link", "set", inside, "up");
    return { address, starter: ["nsenter", `--net=/var/run/netns/${space}`] };
  }

  /** Pulls the host's plug, or puts it in again. */
  setPlugged(name: string, plugged: boolean): void {
    ip("link", "set", this.#plug(name), plugged ? "up" : "down");
  }

  /** Whatever there is of it. */
  remove(): void {
    for (const name of this.#names) attempt("netns", "delete", `${this.#bridge}-${name}`);
    attempt("link", "delete", this.#bridge);
  }

  #plugBridge(): void {
    ip("link", "add", this.#bridge, "type", "bridge");
    ip("address", "add", `${this.ownAddress}/24`, "dev", this.#bridge);
    ip("link", "set", this.#bridge, "up");
  }

  readonly #plug = (name: string): string => `${this.#bridge.slice(0, -2)}${name.slice(-4)}`;
}

function ip(...words: readonly string[]): void {
  execFileSync("ip", words, { stdio: ["ignore", "ignore", "pipe"] });
}

function attempt(...words: readonly string[]): void {
  try {
    ip(...words);
  } catch {
    // It was never made, or went with something else.
  }
}
