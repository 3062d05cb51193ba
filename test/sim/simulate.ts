import { Checks } from "./checks.ts";
import { FAULTS, heal } from "./faults.ts";
import { Operator } from "./operations.ts";
import type { Violation } from "./rules.ts";
import { whatIsMissing } from "./settled.ts";
import { quiesce } from "./sim-clock.ts";
import { type Planted, World } from "./world.ts";

/** How one seed went. */
export interface Outcome {
  readonly seed: number;
  readonly violations: readonly Violation[];
  /** Of everything that happened. */
  readonly hash: string;
  readonly trace: readonly string[];
  /** Simulated milliseconds from the end of all faults until everything was as it is wanted. */
  readonly settledAfter: number | undefined;
  readonly steps: number;
}

/** Everything comes up first, in ms. */
const QUIET_START = 20_000;
const TROUBLE = 120_000;
/** From the end of all faults on. A back-off of a minute and a drain of another may be under way. */
const BOUND = 300_000;
/** It stays as it is wanted for so long. */
const STAYS = 10_000;

/** Plays one seed to its end, or to the first thing that must not be. */
export async function simulate(seed: number, planted: Planted = {}): Promise<Outcome> {
  const play = new Play(seed, planted);
  await play.run();
  const { world, checks } = play;
  await world.plane.close();
  const { violations } = checks;
  const { settledAfter, steps } = play;
  return { seed, violations, hash: world.trace.hash(), trace: world.trace.lines, settledAfter, steps };
}

class Play {
  readonly world: World;
  readonly checks: Checks;
  steps = 0;
  settledAfter: number | undefined;
  readonly #operator: Operator;
  readonly #onlyFault: Planted["onlyFault"];

  constructor(seed: number, planted: Planted) {
    this.#onlyFault = planted.onlyFault;
    this.world = new World(seed, planted);
    this.checks = new Checks(this.world);
    this.#operator = new Operator(this.world);
  }

  async run(): Promise<void> {
    await this.world.start();
    this.#operator.begin();
    await this.#pass(QUIET_START);
    await this.#trouble();
    await this.#settle();
  }

  get #isOver(): boolean {
    return this.checks.violations.length > 0;
  }

  async #trouble(): Promise<void> {
    const { world } = this;
    const { clock, dice } = world;
    const end = clock.now + TROUBLE;
    while (clock.now < end && !this.#isOver) {
      await this.#pass(dice.between(500, 7_500));
      if (this.#onlyFault === undefined && dice.chance(0.45)) this.#operator.orderSomething();
      else this.#strike();
    }
  }

  #strike(): void {
    const faults = FAULTS.filter(({ name }) => this.#onlyFault === undefined || name === this.#onlyFault);
    const fault = this.world.dice.draw(faults);
    if (fault === undefined) return;
    this.world.trace.add(`fault: ${fault.name}`);
    fault.strike(this.world);
  }

  async #settle(): Promise<void> {
    const { world } = this;
    const { clock } = world;
    // What harms are under way undo themselves meanwhile, at the latest now.
    heal(world);
    await world.plane.start();
    for (const router of world.routers) router.rest();
    void this.#operator.finish();
    const healed = clock.now;
    let since: number | undefined;
    let missing: readonly string[] = [];
    while (clock.now - healed < BOUND && !this.#isOver) {
      await this.#pass(500);
      missing = whatIsMissing(world);
      since = missing.length === 0 ? (since ?? clock.now) : undefined;
      if (since !== undefined && clock.now - since >= STAYS) {
        this.settledAfter = since - healed;
        return;
      }
    }
    if (!this.#isOver) {
      this.checks.fail({ rule: "what is wanted is reached once faults end", what: missing.join("; ") });
    }
  }

  /** So many milliseconds, step by step. */
  async #pass(time: number): Promise<void> {
    const { clock } = this.world;
    const end = clock.now + time;
    await this.#step();
    while (!this.#isOver && (clock.next ?? Infinity) <= end) {
      clock.runNext();
      await this.#step();
    }
    if (!this.#isOver) clock.skipTo(end);
  }

  async #step(): Promise<void> {
    this.steps += 1;
    await quiesce();
    this.checks.look();
  }
}
