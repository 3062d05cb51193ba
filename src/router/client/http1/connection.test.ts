import { describe, expect, test } from "vitest";
import { answering, echoing, Http1Line, LINE_LIMITS, type Take, Waiting } from "../../../../test/fakes/http1-line.ts";
import { millis } from "../../../core/ids.ts";
import type { HttpExchange } from "../http-exchange.ts";

const GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const post = (body: string, ...lines: readonly string[]): string =>
  `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${String(body.length)}\r\n${lines.map((line) => `${line}\r\n`).join("")}\r\n${body}`;
const statuses = (text: string): readonly (string | undefined)[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);

describe("one request behind another", () => {
  test.each([
    ["at once", (text: string) => [text]],
    ["byte by byte", (text: string) => Array.from(text)],
  ])("sent %s, each has its answer in its turn", async (_name, pieces) => {
    const { line } = await Http1Line.open(echoing);
    const chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    for (const piece of pieces(`${post("12345")}\r\n${GET}${chunked}${GET}`)) await line.send(piece);
    expect([...line.written.matchAll(/\r\n\r\n(\d)/g)].map(([, length]) => length)).toEqual(["5", "0", "3", "0"]);
  });

  test("the next one is not looked at before the answer has ended", async () => {
    const opened = await Http1Line.open(new Waiting().take);
    await opened.line.send(GET + GET);
    expect(opened.requests).toHaveLength(1);
    const res = opened.requests[0]?.res;
    res?.writeHead(204, []);
    res?.end();
    // Whoever has written the answer is to go on before.
    expect(opened.requests).toHaveLength(1);
    await opened.line.send("");
    expect(opened.requests).toHaveLength(2);
  });

  test("of a flood no more is read than is kept", async () => {
    const opened = await Http1Line.open(new Waiting().take);
    await opened.line.send(GET);
    await opened.line.send(GET.repeat(3_000));
    expect(opened.line.isPaused()).toBe(true);
    opened.requests[0]?.res.writeHead(204, []);
    opened.requests[0]?.res.end();
    await opened.line.send("");
    expect([opened.requests.length, opened.line.isPaused()]).toEqual([2, true]);
  });

  test.each([
    ["the client says so", GET.replace("Host", "Connection: close\r\nHost")],
    ["it speaks HTTP/1.0", GET.replace("1.1", "1.0")],
  ])("there is none when %s", async (_name, request) => {
    const opened = await Http1Line.open(answering("ok"));
    await opened.line.send(request + GET);
    expect(opened.requests).toHaveLength(1);
    expect(opened.line.written).toContain("Connection: close\r\n");
    expect(opened.line.destroyed).toBe(true);
  });

  test("there is none when the router takes no more", async () => {
    const opened = await Http1Line.open((http) => {
      http.res.closeAfter?.();
      return answering("ok")(http);
    });
    await opened.line.send(GET + GET);
    expect([opened.requests.length, opened.line.destroyed]).toEqual([1, true]);
  });

  test("there is none behind CONNECT, and no answer", async () => {
    const opened = await Http1Line.open(answering("ok"));
    await opened.line.send(`CONNECT / HTTP/1.1\r\nHost: a\r\n\r\n${GET}`);
    expect([opened.requests.length, opened.line.written, opened.line.destroyed]).toEqual([0, "", true]);
  });
});

describe("a body", () => {
  test("that is not asked for waits, and so does what is behind it", async () => {
    const opened = await Http1Line.open(new Waiting().take);
    await opened.line.send(`${post("abc")}${GET}`);
    const [first] = opened.requests;
    const read: string[] = [];
    first?.body.on("data", (chunk) => read.push(chunk.toString()));
    expect(read).toEqual([]);
    await opened.line.send("");
    expect([read, first?.req.complete, first?.body.readableEnded]).toEqual([["abc"], true, true]);
  });

  test("of no bytes ends for whoever listens later, too", async () => {
    const opened = await Http1Line.open(new Waiting().take);
    await opened.line.send(GET);
    let ends = 0;
    opened.requests[0]?.body.on("end", () => (ends += 1));
    opened.requests[0]?.body.on("data", () => undefined);
    expect(ends).toBe(0);
    await opened.line.send("");
    expect(ends).toBe(1);
  });

  test("that is paused is told again from where it was, and its client held up", async () => {
    const opened = await Http1Line.open(new Waiting().take);
    const read: number[] = [];
    await opened.line.send(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n`);
    const body = opened.requests[0]?.body;
    body?.on("data", (chunk) => {
      read.push(chunk.length);
      body.pause();
    });
    await opened.line.send("a".repeat(50_000));
    await opened.line.send("a".repeat(50_000));
    expect([read, opened.line.isPaused()]).toEqual([[50_000], false]);
    await opened.line.send("a".repeat(50_000));
    expect([read, opened.line.isPaused()]).toEqual([[50_000], true]);
    body?.resume();
    await opened.line.send("a".repeat(50_000));
    expect([read, opened.line.isPaused()]).toEqual([[50_000, 100_000], false]);
    body?.resume();
    await opened.line.send("");
    expect(read).toEqual([50_000, 100_000, 50_000]);
  });

  test("of which a large read brings little is copied out of it", async () => {
    const opened = await Http1Line.open(echoing);
    const kept: Buffer[] = [];
    await opened.line.send(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n`);
    opened.requests[0]?.body.on("data", (chunk) => kept.push(chunk));
    await opened.line.send("a".repeat(10) + GET.repeat(1_000));
    expect(kept[0]?.buffer.byteLength).toBe(10);
  });

  test("behind its answer is read over, and the next request read", async () => {
    const opened = await Http1Line.open(answering("ok"));
    await opened.line.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab");
    expect(statuses(opened.line.written)).toEqual(["200"]);
    await opened.line.send(`c\r\n0\r\n\r\n${GET}`);
    expect(statuses(opened.line.written)).toEqual(["200", "200"]);
  });

  test("whose framing is broken is told to whoever answers it", async () => {
    const waiting = new Waiting();
    const { line, malformed } = await Http1Line.open((http) => {
      http.body.on("data", () => undefined);
      return waiting;
    });
    await line.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n");
    expect([waiting.refusals, malformed]).toMatchObject([[{ code: "BAD_REQUEST" }], []]);
  });

  test("whose framing is broken behind the beginning of its answer ends the connection", async () => {
    const waiting = new Waiting();
    waiting.isOpen = false;
    const { line } = await Http1Line.open((http) => {
      http.body.on("data", () => undefined);
      return waiting;
    });
    await line.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n");
    expect([waiting.refusals, line.destroyed]).toEqual([[], true]);
  });
});

describe("a client that waits to be told to send its body", () => {
  const expecting = (what: string): string =>
    `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: ${what}\r\n\r\n`;

  test("is told", async () => {
    const opened = await Http1Line.open((http) => {
      http.res.writeContinue();
      return echoing(http);
    });
    await opened.line.send(expecting("100-continue"));
    expect(opened.line.written).toBe("HTTP/1.1 100 Continue\r\n\r\n");
    await opened.line.send("ab");
    expect(statuses(opened.line.written)).toEqual(["100", "200"]);
    expect(opened.requests[0]?.waitsForContinue).toBe(true);
  });

  test("and has its answer instead may not ask again: what it sends could be the body", async () => {
    const opened = await Http1Line.open(answering("no"));
    await opened.line.send(expecting("100-continue"));
    expect(opened.line.written).toContain("Connection: close\r\n");
    expect(opened.line.destroyed).toBe(true);
  });

  test("and for something else is refused", async () => {
    const opened = await Http1Line.open(echoing);
    await opened.line.send(`${expecting("a miracle")}ab${GET}`);
    expect(statuses(opened.line.written)).toEqual(["417", "200"]);
    expect(opened.requests).toHaveLength(1);
  });
});

describe("a client that leaves", () => {
  const waits = (flow: (http: HttpExchange) => void, waiting: Waiting): Take => {
    return (http) => {
      flow(http);
      return waiting;
    };
  };

  test.each<[name: string, sent: string, flow: (http: HttpExchange) => void]>([
    ["while it waits for its answer", GET, ({ body }) => void body.on("data", () => undefined)],
    ["within its body", post("abc").slice(0, -1), ({ body }) => void body.on("data", () => undefined)],
    ["within a body that nobody takes", post("abc").slice(0, -1), ({ body }) => void body.pause()],
    ["with a body that nobody takes", post("abc"), ({ body }) => void body.pause()],
    [
      "within its answer",
      GET,
      ({ res }) => {
        res.writeHead(200, []);
        res.write("a");
      },
    ],
    ["with more asked", GET + GET, ({ body }) => void body.on("data", () => undefined)],
  ])("%s is noticed at once, by its half and by its whole", async (_name, sent, flow) => {
    for (const how of ["finish", "destroy"] as const) {
      const waiting = new Waiting();
      const { line } = await Http1Line.open(waits(flow, waiting));
      await line.send(sent);
      expect(waiting.gone).toBe(0);
      if (how === "finish") await line.finish();
      else line.destroy();
      await line.send("");
      expect(waiting.gone).toBeGreaterThan(0);
    }
  });

  test("is written to without harm", async () => {
    const opened = await Http1Line.open(new Waiting().take);
    await opened.line.send(GET);
    opened.line.destroy();
    await opened.line.send("");
    const res = opened.requests[0]?.res;
    res?.writeHead(200, []);
    expect(res?.write("a")).toBe(true);
    res?.end("b");
    expect([opened.line.written, opened.isGone]).toEqual(["", true]);
  });

  test("between two requests is let go, and within a head is told", async () => {
    const between = await Http1Line.open(answering("ok"));
    await between.line.send(GET);
    await between.line.finish();
    const within = await Http1Line.open(answering("ok"));
    await within.line.send(GET.slice(0, -4));
    await within.line.finish();
    expect([between.malformed, between.isGone, within.isGone]).toEqual([[], true, true]);
    expect(within.malformed).toMatchObject([{ detail: "the connection ended within its head" }]);
  });
});

describe("while streams run", () => {
  const held = async (take: Take): Promise<Http1Line> => {
    const opened = await Http1Line.open(take);
    opened.starts.streams = 2;
    return opened;
  };

  test("a request waits for a later turn, and is answered", async () => {
    for (const [streams, atOnce] of [
      [0, 1],
      [2, 0],
    ] as const) {
      const opened = await Http1Line.open(echoing);
      opened.starts.streams = streams;
      const sent = opened.line.send(post("abc"));
      expect(opened.requests).toHaveLength(atOnce);
      await sent;
      await opened.line.send("");
      expect(statuses(opened.line.written)).toEqual(["200"]);
    }
  });

  test.each([2, 40, 60])("one in two pieces, cut at %s, is read once and whole", async (at) => {
    const opened = await held(echoing);
    const request = post("abc");
    const sent = [opened.line.send(request.slice(0, at)), opened.line.send(request.slice(at))];
    await Promise.all(sent);
    await opened.line.send("");
    expect([opened.requests.length, statuses(opened.line.written)]).toEqual([1, ["200"]]);
  });

  test("a client that leaves behind its request is told of, and one that is gone asks nothing", async () => {
    const waiting = new Waiting();
    const [leaves, gone] = [await held(waiting.take), await held(waiting.take)];
    const sent = [leaves.line.send(post("abc")), leaves.line.finish(), gone.line.send(post("abc"))];
    gone.line.destroy();
    await Promise.all(sent);
    await leaves.line.send("");
    expect(waiting.gone).toBeGreaterThan(0);
    expect([leaves.requests.length, gone.requests.length]).toEqual([1, 0]);
    expect([leaves.malformed, gone.malformed]).toEqual([[], []]);
  });

  test("a head that ends within itself is told", async () => {
    const opened = await held(echoing);
    await Promise.all([opened.line.send(GET.slice(0, -4)), opened.line.finish()]);
    expect(opened.malformed).toMatchObject([{ detail: "the connection ended within its head" }]);
  });
});

describe("time", () => {
  const { headTime, clientIdle, uploadIdle } = LINE_LIMITS;
  const later = millis(1_100);

  test("is given for a first head, and no longer", async () => {
    const opened = await Http1Line.open(answering("ok"));
    await opened.pass(millis(headTime - 1));
    expect(opened.line.destroyed).toBe(false);
    await opened.pass(headTime);
    expect(opened.line.destroyed).toBe(true);
  });

  test("for a head is counted from its begin, however it goes on", async () => {
    const opened = await Http1Line.open(answering("ok"));
    await opened.line.send(GET);
    await opened.pass(millis(headTime - 1));
    await opened.line.send("GET / HTTP/1.1\r\n");
    await opened.pass(millis(headTime - 1));
    await opened.line.send("X: y\r\n");
    expect(opened.malformed).toEqual([]);
    await opened.pass(millis(2));
    expect(opened.malformed).toMatchObject([{ refusal: { code: "REQUEST_TIMEOUT" } }]);
    await opened.pass(millis(2_000));
    expect(opened.line.destroyed).toBe(true);
  });

  test("between two requests is what clients are told, and a little more", async () => {
    const opened = await Http1Line.open(answering("ok"));
    await opened.line.send(GET);
    await opened.pass(clientIdle);
    expect(opened.line.destroyed).toBe(false);
    await opened.line.send(GET);
    await opened.pass(clientIdle);
    expect(opened.line.destroyed).toBe(false);
    await opened.pass(later);
    expect(opened.line.destroyed).toBe(true);
  });

  test("is no matter while a request is answered", async () => {
    const opened = await Http1Line.open(new Waiting().take);
    await opened.line.send(GET);
    await opened.pass(millis(10 * clientIdle));
    expect(opened.line.destroyed).toBe(false);
  });

  test("is given to whoever takes its answer slowly, as long as it takes any", async () => {
    const opened = await Http1Line.open(answering("a", "b"));
    opened.line.isHeld = true;
    await opened.line.send(GET);
    await opened.pass(millis(clientIdle - 10));
    opened.line.letGo();
    opened.line.isHeld = true;
    await opened.line.send(GET);
    await opened.pass(millis(clientIdle - 10));
    expect(opened.line.destroyed).toBe(false);
    await opened.pass(later);
    expect(opened.line.destroyed).toBe(true);
  });

  test("is given to a body that has its answer, and no longer", async () => {
    const opened = await Http1Line.open(answering("ok"));
    await opened.line.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    await opened.pass(millis(uploadIdle - 2));
    await opened.line.send("1\r\na\r\n");
    expect(opened.line.destroyed).toBe(false);
    await opened.pass(millis(10));
    expect(opened.line.destroyed).toBe(true);
  });
});

test("what is idle is closed when it is to be, and nothing else is", async () => {
  const idle = await Http1Line.open(answering("ok"));
  await idle.line.send(GET);
  const busy = await Http1Line.open(new Waiting().take);
  await busy.line.send(GET);
  const asking = await Http1Line.open(answering("ok"));
  await asking.line.send("GET /");
  const slow = await Http1Line.open(answering("ok"));
  slow.line.isHeld = true;
  await slow.line.send(GET);
  const all = [idle, busy, asking, slow];
  for (const opened of all) opened.closeIfIdle();
  expect(all.map(({ line }) => line.destroyed)).toEqual([true, false, false, false]);
});
