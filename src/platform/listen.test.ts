import { once } from "node:events";
import { Agent, request as http1Request } from "node:http";
import { connect as http2Connect } from "node:http2";
import { connect as tcpConnect } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { millis } from "../core/ids.ts";
import { type Listening, listen, type WebHandler } from "./listen.ts";

const open: Listening[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close(millis(100))));
});

async function serve(handler: WebHandler): Promise<Listening> {
  const server = await listen({ host: "127.0.0.1", port: 0, tls: undefined, handler });
  open.push(server);
  return server;
}

const echo: WebHandler = (request, response) => {
  response.end(`${request.httpVersion} ${request.url ?? ""}`);
};

function get(port: number, path: string, agent?: Agent): Promise<string> {
  return new Promise((resolve, reject) => {
    const call = http1Request({ host: "127.0.0.1", port, path, agent }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (part: string) => (text += part));
      response.on("end", () => {
        resolve(text);
      });
    });
    call.on("error", reject);
    call.end();
  });
}

async function getHttp2(port: number, path: string): Promise<string> {
  const session = http2Connect(`http://127.0.0.1:${String(port)}`);
  session.on("error", () => undefined);
  const stream = session.request({ ":path": path });
  let text = "";
  stream.setEncoding("utf8");
  stream.on("data", (part: string) => (text += part));
  await once(stream, "end");
  session.close();
  return text;
}

test("a client of HTTP/2 that is killed has left", async () => {
  const came = Promise.withResolvers<undefined>();
  const left = Promise.withResolvers<undefined>();
  const { port } = await serve((request) => {
    request.on("close", () => {
      left.resolve(undefined);
    });
    came.resolve(undefined);
  });
  const socket = tcpConnect(port, "127.0.0.1");
  const session = http2Connect(`http://127.0.0.1:${String(port)}`, { createConnection: () => socket });
  session.on("error", () => undefined);
  session.request({ ":path": "/", ":method": "POST" }, { endStream: false }).on("error", () => undefined);
  await came.promise;
  // As the system does it for a process that ends: without a word of HTTP/2.
  socket.destroy();
  await left.promise;
});

describe("one port", () => {
  test("speaks HTTP/1.1 and HTTP/2 without TLS", async () => {
    const { port } = await serve(echo);
    expect(await get(port, "/a")).toBe("1.1 /a");
    expect(await getHttp2(port, "/b")).toBe("2.0 /b");
  });

  test.each([
    {
      name: "byte by byte, a method that begins like HTTP/2",
      head: "PUT /x HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n",
    },
    { name: "byte by byte, another method", head: "GET /x HTTP/1.1\r\nhost: x\r\n\r\n" },
  ])("waits for enough bytes to tell: $name", async ({ head }) => {
    const { port } = await serve(echo);
    const socket = tcpConnect({ port, host: "127.0.0.1", noDelay: true });
    await once(socket, "connect");
    for (const char of head) {
      socket.write(char);
      await new Promise(setImmediate);
    }
    const [answer] = (await once(socket, "data")) as [Buffer];
    expect(answer.toString()).toContain("200 OK");
    socket.destroy();
  });

  test("a client that leaves before it says a word harms nobody", async () => {
    const { port } = await serve(echo);
    const socket = tcpConnect({ port, host: "127.0.0.1" });
    await once(socket, "connect");
    socket.end();
    await once(socket, "close");
    expect(await get(port, "/a")).toBe("1.1 /a");
  });

  test("the same port twice is refused with the system's code", async () => {
    const { port } = await serve(echo);
    await expect(listen({ host: "127.0.0.1", port, tls: undefined, handler: echo })).rejects.toMatchObject({
      code: "EADDRINUSE",
    });
  });
});

describe("closing", () => {
  test("B100 idle connections go at once, a request in flight ends first", async () => {
    const arrived = Promise.withResolvers<() => void>();
    const server = await serve((request, response) => {
      if (request.url === "/idle") response.end("done");
      else arrived.resolve(() => response.end("late"));
    });
    const agent = new Agent({ keepAlive: true });
    await get(server.port, "/idle", agent);
    const slow = get(server.port, "/slow");
    const finish = await arrived.promise;
    let isClosed = false;
    const closed = server.close(millis(60_000)).then(() => (isClosed = true));
    await expect.poll(() => Object.values(agent.freeSockets).flat().length).toBe(0);
    expect(isClosed).toBe(false);
    finish();
    expect(await slow).toBe("late");
    await closed;
    agent.destroy();
  });

  test.each(["http1", "http2"])("what does not end is cut at the deadline: %s", async (protocol) => {
    const arrived = Promise.withResolvers<undefined>();
    const server = await serve(() => {
      arrived.resolve(undefined);
    });
    const answer = (protocol === "http1" ? get(server.port, "/") : getHttp2(server.port, "/")).catch(() => "cut");
    await arrived.promise;
    await server.close(millis(50));
    expect(["cut", ""]).toContain(await answer);
  });

  test("a session of HTTP/2 that ends in the same moment is no trouble", async () => {
    const arrived = Promise.withResolvers<() => void>();
    const server = await serve((request) => {
      if ("stream" in request) arrived.resolve(() => request.stream.session?.destroy());
    });
    const answer = getHttp2(server.port, "/").catch(() => "cut");
    const end = await arrived.promise;
    end();
    await expect(server.close(millis(60_000))).resolves.toBeUndefined();
    expect(["cut", ""]).toContain(await answer);
  });
});
