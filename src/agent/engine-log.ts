import { limitLog } from "./log-limit.ts";
import type { NodeContext } from "./node-context.ts";

interface EngineLogOptions {
  readonly node: Pick<NodeContext, "clock" | "logLimit" | "machine">;
  /** Ends the looks at its size. */
  readonly signal: AbortSignal;
  /** It begins anew: what is in it is the launch's of now. */
  readonly onCut: () => void;
  /** It cannot be kept small. */
  readonly onFailure: (error: unknown) => void;
}

/** The one log that all launches of a replica write to. */
export class EngineLog {
  readonly path: string;
  readonly #options: EngineLogOptions;
  #isLimited = false;
  #wasCut = false;

  constructor(path: string, options: EngineLogOptions) {
    this.path = path;
    this.#options = options;
  }

  /** Keeps it from growing over the node's limit from now on; a second call adds nothing. */
  keepSmall(): void {
    if (this.#isLimited) return;
    this.#isLimited = true;
    const { node, signal, onCut, onFailure } = this.#options;
    const { logLimit: limit, clock, machine } = node;
    const told = (): void => {
      this.#wasCut = true;
      onCut();
    };
    limitLog(this.path, { limit, clock, machine, signal, onCut: told }).catch((error: unknown) => {
      this.#isLimited = false;
      onFailure(error);
    });
  }

  /** At most `count` lines, of the launch whose output begins at that byte. */
  lastLines(count: number, from: number): Promise<readonly string[]> {
    const { machine } = this.#options.node;
    const isCut = this.#wasCut && from === 0;
    return isCut ? machine.readTailAcrossCut(this.path, count) : machine.readTail(this.path, count, from);
  }
}
