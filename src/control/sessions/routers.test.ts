import { create } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { millis, profileName } from "../../core/ids.ts";
import type { RouteTable } from "../../core/route.ts";
import {
  type RouterSessionRequest,
  RouterSessionRequestSchema,
  type RouterSessionResponse,
} from "../../wire/gen/llmgw/v1/router_pb.js";
import { Outbox } from "../outbox.ts";
import type { RouterLine, RouterPart } from "./router-part.ts";
import { Routers } from "./routers.ts";

class Lines implements RouterPart {
  readonly open: RouterLine[] = [];

  get ids(): readonly string[] {
    return this.open.map(({ id }) => id);
  }

  opened(line: RouterLine): void {
    this.open.push(line);
  }

  closed(line: RouterLine): void {
    this.open.splice(this.open.indexOf(line), 1);
  }

  heard(): void {
    // Nothing is said here.
  }

  keysChanged(): void {
    // There are no keys.
  }
}

function bench() {
  const time = { now: 0, goneAfter: 1_000 };
  const lines = new Lines();
  const routers = new Routers({
    clock: { now: () => millis(time.now), monotonic: () => millis(time.now), after: () => () => undefined },
    table: { revision: 1, models: [] },
    goneAfter: () => millis(time.goneAfter),
    wake: () => undefined,
    parts: [lines],
  });
  return { time, lines, routers };
}

/** A router's stream, once its hello was heard. */
async function opened(routers: Routers, routerId: string, more: { ended?: string[]; takesChanges?: boolean } = {}) {
  const requests = new Outbox<RouterSessionRequest>();
  const stream = routers.session(requests, { signal: new AbortController().signal });
  requests.push(create(RouterSessionRequestSchema, { body: { case: "hello", value: { routerId, ...more } } }));
  await stream.next();
  return { requests, stream };
}

async function drained(stream: AsyncIterator<unknown>): Promise<void> {
  while ((await stream.next()).done !== true);
}

describe("routers that are gone", () => {
  test("one whose stream broke counts as there for as long as the present configuration says", async () => {
    const { time, routers } = bench();
    const { requests, stream } = await opened(routers, "r1");
    requests.end();
    await drained(stream);
    time.now = 1_500;
    time.goneAfter = 2_000;
    expect(routers.reports()).toMatchObject([{ router: "r1" }]);
    time.now = 2_000;
    expect(routers.reports()).toEqual([]);
  });

  test("one that is said to have ended has its line closed, though its stream has not ended here", async () => {
    const { lines, routers } = bench();
    const old = await opened(routers, "r1");
    await opened(routers, "r2", { ended: ["r1", "r2", "never heard of"] });
    expect(lines.ids).toEqual(["r2"]);
    expect(routers.reports()).toMatchObject([{ router: "r2" }]);
    const end = await drained(old.stream).catch((error: unknown) => error as ConnectError);
    expect(end?.message).toMatch(/ended/);
    expect(lines.ids).toEqual(["r2"]);
  });

  test("one that opens another stream has one line", async () => {
    const { lines, routers } = bench();
    await opened(routers, "r1");
    const second = await opened(routers, "r1");
    expect(lines.ids).toEqual(["r1"]);
    second.requests.end();
    await drained(second.stream);
    expect(lines.ids).toEqual([]);
  });
});

describe("tables", () => {
  const table = (revision: number): RouteTable => {
    const rest = { profile: profileName("m"), replicas: [], created: revision, waitingFor: "", waitSeconds: 0 };
    return { revision, models: [{ name: "m", ...rest }] };
  };

  const next = async (stream: AsyncIterator<RouterSessionResponse>): Promise<RouterSessionResponse["body"]> => {
    const { value } = (await stream.next()) as { value: RouterSessionResponse };
    return value.body;
  };

  test("go whole to a router that says nothing of changes", async () => {
    const { routers } = bench();
    const { stream } = await opened(routers, "r1");
    expect(await next(stream)).toMatchObject({ case: "table", value: { revision: 1 } });
    routers.publish(table(2));
    expect(await next(stream)).toMatchObject({ case: "table", value: { revision: 2 } });
  });

  test("go once whole to a router that takes changes; what it has not read yet comes as one change", async () => {
    const { routers } = bench();
    const { stream } = await opened(routers, "r1", { takesChanges: true });
    expect(await next(stream)).toMatchObject({ case: "table", value: { revision: 1, models: [] } });
    routers.publish(table(2));
    routers.publish(table(3));
    expect(await next(stream)).toMatchObject({
      case: "changes",
      value: { base: 1, revision: 3, put: [{ name: "m", created: 3 }], drop: [] },
    });
    routers.publish({ revision: 4, models: [] });
    expect(await next(stream)).toMatchObject({
      case: "changes",
      value: { base: 3, revision: 4, put: [], drop: ["m"] },
    });
  });

  test("that were never sent are no base: the newest goes whole", async () => {
    const { routers } = bench();
    const { stream } = await opened(routers, "r1", { takesChanges: true });
    routers.publish(table(2));
    expect(await next(stream)).toMatchObject({ case: "table", value: { revision: 2 } });
  });
});
