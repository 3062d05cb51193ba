import { afterEach, describe, expect, test } from "vitest";
import { millis } from "../../src/core/ids.ts";
import { freePort } from "../e2e/cluster.ts";
import { until } from "../e2e/wait.ts";
import { chunk, json, LAST_CHUNK, RawUpstream, STREAM_HEAD, type UpstreamConnection } from "../fakes/raw-upstream.ts";
import { errorOf, RouterHarness } from "../fakes/router-harness.ts";

let harness: RouterHarness;

afterEach(async () => {
  await harness.idle();
  await harness.stop();
});

const LIMITS = { tick: millis(10), connect: millis(2_000), firstByte: millis(800), idle: millis(800) };
const begin = async (): Promise<void> => {
  harness = await RouterHarness.start({ limits: LIMITS });
};

type Fault = (connection: UpstreamConnection) => Promise<void> | void;

const untilClosed: Fault = (connection) => connection.closed;

/** What an engine can do wrong before the client has a byte; one attempt, one replica. */
const FAULTS: readonly {
  readonly name: string;
  readonly fault: Fault;
  readonly status: number;
  readonly says: string;
}[] = [
  {
    name: "resets before its head",
    fault: (c) => {
      c.reset();
    },
    status: 502,
    says: "broke off before it answered",
  },
  {
    name: "closes before its head",
    fault: (c) => {
      c.end();
    },
    status: 502,
    says: "broke off before it answered",
  },
  {
    name: "closes inside its head",
    fault: (c) => {
      c.end("HTTP/1.1 200 OK\r\nContent-");
    },
    status: 502,
    says: "broke off before it answered",
  },
  {
    name: "dies in prefill",
    fault: async (c) => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      c.reset();
    },
    status: 502,
    says: "broke off before it answered",
  },
  { name: "never answers", fault: untilClosed, status: 504, says: "did not answer in time" },
  {
    name: "sends half a head and no more",
    fault: async (c) => {
      await c.write("HTTP/1.1 200 OK\r\n");
      await c.closed;
    },
    status: 504,
    says: "did not answer in time",
  },
  {
    name: "speaks another protocol",
    fault: (c) => {
      c.end("SSH-2.0-OpenSSH_9.2\r\n");
    },
    status: 502,
    says: "does not speak HTTP/1.1",
  },
  {
    name: "sends a garbage status line",
    fault: (c) => {
      c.end("HTTP/1.1 OK\r\n\r\n");
    },
    status: 502,
    says: "its status line is no HTTP/1.1",
  },
  {
    name: "sends two lengths",
    fault: (c) => {
      c.end("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab");
    },
    status: 502,
    says: "it states two lengths",
  },
  {
    name: "sends a head without end",
    fault: (c) => {
      c.end(`HTTP/1.1 200 OK\r\nX: ${"x".repeat(200_000)}`);
    },
    status: 502,
    says: "does not end",
  },
  {
    name: "redirects",
    fault: (c) => {
      c.end("HTTP/1.1 301 Moved\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n");
    },
    status: 502,
    says: "redirects",
  },
  {
    name: "answers with nothing",
    fault: (c) => {
      c.end("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 0\r\n\r\n");
    },
    status: 502,
    says: "its answer is empty",
  },
  {
    name: "answers with nothing, in chunks",
    fault: (c) => {
      c.end("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    },
    status: 502,
    says: "its answer is empty",
  },
  {
    name: "does not take the key",
    fault: (c) => {
      c.end("HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\n{}");
    },
    status: 502,
    says: "does not accept this router's key",
  },
];

describe("an engine that, before the client has a byte,", () => {
  test.each(FAULTS)("$name: $status", async ({ fault, status, says }) => {
    await begin();
    const upstream = harness.adopt(await RawUpstream.onRequest(fault));
    await harness.serve({ m: [upstream] });
    const response = await harness.post({ model: "m", stream: true });
    expect(response.status).toBe(status);
    const error = await errorOf(response);
    expect(error.message).toContain(says);
    expect(error.message).not.toContain(String(upstream.port));
    expect(error.code).toBe(status === 504 ? "engine_timeout" : "engine_unavailable");
    expect(response.headers.get("x-llmgw-replica")).toBe("m-0");
    expect(await harness.metric(`llmgw_router_requests_total{model="m",code="${String(status)}"}`)).toBe(1);
    await until("the engine's connection gone", () => upstream.openConnections === 0);
  });

  const repeatable = FAULTS.filter(({ status }) => status === 502);
  test.each(repeatable)("$name: another replica answers", async ({ fault }) => {
    await begin();
    const bad = harness.adopt(await RawUpstream.onRequest(fault));
    const good = harness.adopt(await RawUpstream.answering(json('{"ok":true}')));
    await harness.serve({ m: [bad, good] });
    // Whichever is picked first, the second request meets the other.
    for (let n = 0; n < 2; n++) expect((await harness.post({ model: "m" })).status).toBe(200);
    const lines = harness.logs.filter((line) => line["msg"] === "request");
    expect(lines.map((line) => line["attempts"])).toContain(2);
    expect(await harness.metric('llmgw_router_requests_total{model="m",code="200"}')).toBe(2);
  });

  test("refuses the connection: 502, and with another replica 200", async () => {
    await begin();
    const dead = await freePort();
    await harness.serve({ m: [dead] });
    const response = await harness.post({ model: "m" });
    expect([response.status, (await errorOf(response)).message]).toEqual([
      502,
      "The engine cannot be reached (replica m-0: ECONNREFUSED).",
    ]);
    const good = harness.adopt(await RawUpstream.answering(json('{"ok":true}')));
    await harness.serve({ m: [await freePort(), good] });
    for (let n = 0; n < 4; n++) expect((await harness.post({ model: "m" })).status).toBe(200);
  });

  test.each([429, 503])(
    "is too busy (%d): another replica is asked; without one the client sees it",
    async (status) => {
      await begin();
      const busy = harness.adopt(
        await RawUpstream.answering(`HTTP/1.1 ${String(status)} Busy\r\nRetry-After: 7\r\nContent-Length: 2\r\n\r\n{}`),
      );
      await harness.serve({ m: [busy] });
      const response = await harness.post({ model: "m" });
      expect([response.status, response.headers.get("retry-after"), await response.text()]).toEqual([
        status,
        "7",
        "{}",
      ]);
      const good = harness.adopt(await RawUpstream.answering(json('{"ok":true}')));
      await harness.serve({ m: [busy, good] });
      for (let n = 0; n < 4; n++) expect((await harness.post({ model: "m" })).status).toBe(200);
    },
  );
});

describe("an engine that, after its head,", () => {
  test("ends too early: the client can see that its answer is not whole", async () => {
    await begin();
    const upstream = harness.adopt(
      await RawUpstream.onRequest((connection) => {
        connection.end("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{");
      }),
    );
    await harness.serve({ m: [upstream] });
    const response = await harness.post({ model: "m" });
    await expect(response.text()).rejects.toThrow();
    expect(await harness.logged({ outcome: "broke" })).toMatchObject({ code: 502 });
  });

  test.each([
    ["with the first", "2\r\n{}garbage", 502],
    ["later", "2\r\n{}\r\n", 200],
  ])("sends a chunk that is none, %s", async (_name, first, status) => {
    await begin();
    const upstream = harness.adopt(
      await RawUpstream.onRequest(async (connection) => {
        const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
        await connection.write(head + first);
        await until("the first piece at the client", () => status === 502 || hasHead);
        connection.end("garbage");
      }),
    );
    await harness.serve({ m: [upstream] });
    let hasHead = false;
    const response = await harness.post({ model: "m" });
    hasHead = true;
    expect(response.status).toBe(status);
    if (status === 200) await expect(response.text()).rejects.toThrow();
    const line = await harness.logged({ model: "m", code: 502 });
    expect(JSON.stringify(line)).toContain("its chunks are malformed");
  });

  test("B98 stops for longer than the idle limit: an error event, 504", async () => {
    await begin();
    const upstream = harness.adopt(
      await RawUpstream.onRequest(async (connection) => {
        await connection.write(Buffer.concat([Buffer.from(STREAM_HEAD), chunk("data: 1\n\n")]));
        await connection.closed;
      }),
    );
    await harness.serve({ m: [upstream] });
    const text = await (await harness.post({ model: "m", stream: true })).text();
    expect(text).toMatch(/^data: 1\n\ndata: \{"error":\{.*"code":"engine_timeout"\}\}\n\n$/);
    expect(await harness.logged({ outcome: "idleTimeout" })).toMatchObject({ code: 504 });
    await until("the engine's request aborted", () => upstream.openConnections === 0);
  });

  test("is silent for less than the limits, many times: nothing is cut", async () => {
    await begin();
    const wait = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 250));
    const upstream = harness.adopt(
      await RawUpstream.onRequest(async (connection) => {
        await wait();
        await connection.write(STREAM_HEAD);
        for (let n = 0; n < 5; n++) {
          await wait();
          await connection.write(chunk("data: 1\n\n"));
        }
        await connection.write(Buffer.concat([chunk("data: [DONE]\n\n"), Buffer.from(LAST_CHUNK)]));
      }),
    );
    await harness.serve({ m: [upstream] });
    expect(await (await harness.post({ model: "m", stream: true })).text()).toContain("[DONE]");
  });

  test("says more than its answer: the answer is good, the connection is not used again", async () => {
    await begin();
    const upstream = harness.adopt(await RawUpstream.answering(`${json("{}")}HTTP/1.1 200 OK\r\n`));
    await harness.serve({ m: [upstream] });
    for (let n = 0; n < 3; n++) expect(await (await harness.post({ model: "m" })).text()).toBe("{}");
    expect(upstream.connections).toHaveLength(3);
  });
});

describe("kept connections", () => {
  test("are used again", async () => {
    await begin();
    const upstream = harness.adopt(await RawUpstream.answering(json("{}")));
    await harness.serve({ m: [upstream] });
    for (let n = 0; n < 5; n++) expect((await harness.post({ model: "m" })).status).toBe(200);
    expect(upstream.connections).toHaveLength(1);
  });

  test("that the engine closes as the next request is sent cost nothing but a new connection", async () => {
    await begin();
    // Each connection takes one request and breaks at the second: the race of every keep-alive, lost each time.
    const upstream = await harness.upstream(async (connection) => {
      if ((await connection.request()) !== undefined) await connection.write(json("{}"));
      if ((await connection.request()) !== undefined) connection.reset();
    });
    await harness.serve({ m: [upstream] });
    for (let n = 0; n < 5; n++) {
      const response = await harness.post({ model: "m" });
      expect([response.status, response.headers.get("x-llmgw-attempts")]).toEqual([200, "1"]);
    }
    expect(await harness.metric('llmgw_router_retries_total{reason="stale"}')).toBeGreaterThan(0);
  });

  test("that were lost at one engine, which is gone, leave the next engine its own new connection", async () => {
    await begin();
    let isGone = false;
    const going = await harness.upstream(async (connection) => {
      if (isGone) connection.reset();
      while ((await connection.request()) !== undefined) {
        if (isGone) connection.reset();
        else await connection.write(json("{}"));
      }
    });
    const racing = await harness.upstream(async (connection, upstream) => {
      const request = await connection.request();
      if (request !== undefined) upstream.requests.push(request);
      if (request !== undefined) await connection.write(json("{}"));
      if ((await connection.request()) !== undefined) connection.reset();
    });
    await harness.serve({ m: [going, racing] });
    const ask = (n: number) => harness.post({ model: "m", messages: [{ role: "user", content: String(n) }] });
    for (let n = 0; going.connections.length === 0 || racing.connections.length === 0; n++) {
      expect((await ask(n)).status).toBe(200);
    }
    isGone = true;
    for (let n = 0; n < 8; n++) expect((await ask(n)).status).toBe(200);
  });

  test("that an engine closed while they were idle are not used", async () => {
    await begin();
    const upstream = await harness.upstream(async (connection) => {
      if ((await connection.request()) !== undefined) connection.end(json("{}"));
    });
    await harness.serve({ m: [upstream] });
    for (let n = 0; n < 3; n++) {
      expect((await harness.post({ model: "m" })).status).toBe(200);
      await until("the connection gone", () => upstream.openConnections === 0);
    }
    expect(await harness.metric('llmgw_router_retries_total{reason="stale"}')).toBe(0);
  });
});
