import { createClient } from "@connectrpc/connect";
import { messageOf } from "../../src/core/errors.ts";
import { AdminService } from "../../src/wire/gen/llmgw/v1/admin_pb.js";
import { COUNTED, LAST_COUNTS, manifestOf, type ProfileForm, PROFILES } from "./forms.ts";
import { ADMIN_TOKEN } from "./sim-plane.ts";
import type { Lifetime } from "./sim-clock.ts";
import type { World } from "./world.ts";

type Admin = ReturnType<typeof adminOf>;

const adminOf = (world: World, life: Lifetime) =>
  createClient(AdminService, world.network.wayOf("operator", life, { authorization: `Bearer ${ADMIN_TOKEN}` }));

interface Order {
  readonly name: string;
  readonly weight: number;
  /** Undefined: there is nothing of the kind to order now. */
  readonly give: (operator: Operator) => Promise<unknown> | undefined;
}

/** Somebody who orders this and that by the admin API. */
export class Operator {
  readonly world: World;
  readonly admin: Admin;
  /** As they were last applied. */
  readonly forms = new Map<string, ProfileForm>();
  #variants = 1;

  constructor(world: World) {
    this.world = world;
    this.admin = adminOf(world, world.clock.lifetime({ offset: 0 }));
  }

  /** Everything that there is to run, at first. */
  begin(): void {
    const { dice } = this.world;
    for (const name of dice.shuffled(PROFILES).slice(0, dice.whole(2, PROFILES.length))) {
      void this.#tell(`apply ${name}`, this.apply(name, {}));
    }
  }

  orderSomething(): void {
    const order = this.world.dice.draw(ORDERS);
    const given = order?.give(this);
    if (order !== undefined && given !== undefined) void this.#tell(order.name, given);
  }

  apply(name: string, more: Partial<ProfileForm>): Promise<unknown> {
    const { dice } = this.world;
    const known = this.forms.get(name);
    const replicas = name === "tidal" ? {} : { replicas: known?.replicas ?? dice.whole(1, name === "big" ? 1 : 3) };
    const form: ProfileForm = { name, variant: known?.variant ?? 1, ...replicas, ...more };
    this.forms.set(name, { ...form, isBad: false });
    return this.admin.apply({ manifest: manifestOf(form) });
  }

  newVariant(): number {
    this.#variants += 1;
    return this.#variants;
  }

  /** What certainly fits, on nodes that are all open. */
  async finish(): Promise<void> {
    for (const { form } of this.world.nodes) {
      await this.#tell(`uncordon ${form.id}`, this.admin.cordon({ node: form.id, cordoned: false }));
    }
    for (const name of this.forms.keys()) {
      const replicas = LAST_COUNTS[name];
      await this.#tell(
        `last form of ${name}`,
        this.apply(name, { variant: this.newVariant(), ...(replicas === undefined ? {} : { replicas }) }),
      );
    }
  }

  async #tell(what: string, order: Promise<unknown>): Promise<void> {
    this.world.trace.add(`order: ${what}`);
    await order.catch((error: unknown) => {
      this.world.trace.add(`order refused: ${what}: ${messageOf(error)}`);
    });
  }
}

const someProfile = ({ world, forms }: Operator): string | undefined => world.dice.pick([...forms.keys()]);

const ofProfile =
  (give: (operator: Operator, name: string) => Promise<unknown> | undefined): Order["give"] =>
  (operator) => {
    const name = someProfile(operator);
    return name === undefined ? undefined : give(operator, name);
  };

const ofNode =
  (give: (operator: Operator, node: string) => Promise<unknown>): Order["give"] =>
  (operator) =>
    give(operator, operator.world.dice.pick(operator.world.nodes)?.form.id ?? "");

const ORDERS: readonly Order[] = [
  {
    name: "scale",
    weight: 4,
    give: ofProfile((operator, name) => {
      if (!COUNTED.includes(name)) return undefined;
      const replicas = operator.world.dice.whole(0, name === "big" ? 2 : 5);
      const form = operator.forms.get(name);
      if (form !== undefined) operator.forms.set(name, { ...form, replicas });
      return operator.admin.scale({ profile: name, replicas });
    }),
  },
  {
    name: "apply another form",
    weight: 4,
    give: ofProfile((operator, name) => operator.apply(name, { variant: operator.newVariant() })),
  },
  {
    name: "apply a form that does not start",
    weight: 1,
    give: ofProfile((operator, name) => operator.apply(name, { variant: operator.newVariant(), isBad: true })),
  },
  { name: "restart", weight: 2, give: ofProfile(({ admin }, name) => admin.restart({ name })) },
  { name: "undo", weight: 1, give: ofProfile(({ admin }, profile) => admin.undoRollout({ profile })) },
  {
    name: "delete",
    weight: 1,
    give: ofProfile(({ admin, forms }, name) => {
      return admin.delete({ kind: "profile", name }).then(() => forms.delete(name));
    }),
  },
  {
    name: "apply one more",
    weight: 2,
    give: (operator) => {
      const name = operator.world.dice.pick(PROFILES.filter((one) => !operator.forms.has(one)));
      return name === undefined ? undefined : operator.apply(name, {});
    },
  },
  { name: "cordon", weight: 2, give: ofNode(({ admin }, node) => admin.cordon({ node, cordoned: true })) },
  { name: "uncordon", weight: 3, give: ofNode(({ admin }, node) => admin.cordon({ node, cordoned: false })) },
  {
    name: "drain",
    weight: 2,
    give: ofNode(({ admin, world }, node) => admin.drain({ node, withinSeconds: world.dice.whole(10, 120) })),
  },
];
