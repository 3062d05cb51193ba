import { createServer, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { Http1Answer } from "./http1-answer.ts";

type Handler = (answer: Http1Answer, req: IncomingMessage) => void;

const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

async function listening(handler: Handler): Promise<number> {
  const server = createServer((req, res) => {
    handler(new Http1Answer(res), req);
  });
  stops.push(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return address !== null && typeof address === "object" ? address.port : 0;
}

/** Everything that comes back on one connection, which closes when all is sent. */
async function answered(handler: Handler, request: string): Promise<string> {
  const port = await listening(handler);
  const socket = connect({ port, host: "127.0.0.1" });
  stops.push(() => socket.destroy());
  let text = "";
  socket.setEncoding("latin1").on("data", (part: string) => (text += part));
  socket.write(request);
  await new Promise((resolve) => socket.once("close", resolve));
  return text;
}

const GET = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
const bodyOf = (answer: string): string => answer.slice(answer.indexOf("\r\n\r\n") + 4);
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** One write in each turn of the loop, so that each finds the socket idle. */
const writing =
  (parts: readonly (string | Buffer)[], last?: string): Handler =>
  (answer) => {
    void (async () => {
      answer.writeHead(200, ["content-type", "text/plain"]);
      for (const part of parts) {
        answer.write(part);
        await turn();
      }
      answer.end(last);
    })();
  };

describe("an answer without a length", () => {
  const LARGE = "z".repeat(20_000);

  test.each<{ name: string; parts: readonly (string | Buffer)[]; last?: string; want: string }>([
    { name: "is one chunk a write", parts: ["ab", "c"], want: "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n" },
    { name: "ends with its last bytes", parts: ["ab"], last: "cd", want: "2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n" },
    { name: "does not end with no bytes", parts: ["", "ab", ""], want: "2\r\nab\r\n0\r\n\r\n" },
    { name: "counts bytes, not characters", parts: ["é"], want: "2\r\n\xc3\xa9\r\n0\r\n\r\n" },
    { name: "keeps every byte", parts: [Buffer.from([0, 0xff, 0x80])], want: "3\r\n\x00\xff\x80\r\n0\r\n\r\n" },
    {
      name: "may have large ones among small",
      parts: ["a", LARGE, "b"],
      last: LARGE,
      want: `1\r\na\r\n4e20\r\n${LARGE}\r\n1\r\nb\r\n4e20\r\n${LARGE}\r\n0\r\n\r\n`,
    },
    { name: "may be empty", parts: [], want: "0\r\n\r\n" },
  ])("$name", async ({ parts, last, want }) => {
    const text = await answered(writing(parts, last), GET);
    expect(text).toContain("Transfer-Encoding: chunked");
    expect(bodyOf(text)).toBe(want);
  });

  test("goes to a client of HTTP/1.0 as it is", async () => {
    const text = await answered(writing(["ab", "c"], "d"), "GET / HTTP/1.0\r\n\r\n");
    expect(text).not.toContain("chunked");
    expect(bodyOf(text)).toBe("abcd");
  });

  test("has no body for HEAD", async () => {
    expect(bodyOf(await answered(writing(["ab"], "c"), GET.replace("GET", "HEAD")))).toBe("");
  });
});

test("an answer with a length is its bytes", async () => {
  const handler: Handler = (answer) => {
    answer.writeHead(200, ["content-length", "4"]);
    answer.write("ab");
    answer.end("cd");
  };
  expect(bodyOf(await answered(handler, GET))).toBe("abcd");
});

test("an answer that is ready before its turn waits for it", async () => {
  const first = Promise.withResolvers<Http1Answer>();
  const handler: Handler = (answer, req) => {
    if (req.url === "/first") {
      first.resolve(answer);
      return;
    }
    answer.writeHead(200, []);
    answer.write("2a");
    answer.write("2b");
    answer.end();
    void first.promise.then(async (earlier) => {
      earlier.writeHead(200, []);
      earlier.write("1a");
      await turn();
      earlier.write("1b");
      earlier.end();
    });
  };
  const text = await answered(handler, `GET /first HTTP/1.1\r\nHost: a\r\n\r\n${GET}`);
  expect([...text.matchAll(/[12][ab]/g)].map(([one]) => one)).toEqual(["1a", "1b", "2a", "2b"]);
});

test("a client that does not read is noticed, and so is when it reads again", async () => {
  const held = Promise.withResolvers<undefined>();
  const drained = Promise.withResolvers<undefined>();
  const port = await listening((answer) => {
    void (async () => {
      answer.writeHead(200, []);
      answer.write("begin");
      await turn();
      while (answer.write("x".repeat(16_000))) await turn();
      expect(answer.writableNeedDrain).toBe(true);
      answer.once("drain", () => {
        drained.resolve(undefined);
      });
      held.resolve(undefined);
    })();
  });
  const socket = connect({ port, host: "127.0.0.1" });
  stops.push(() => socket.destroy());
  socket.pause();
  socket.write(GET);
  await held.promise;
  socket.resume();
  await drained.promise;
});
