import { once } from "node:events";
import { type AddressInfo, createServer as createPlain } from "node:net";
import { createServer, type Server } from "node:tls";
import { afterEach, beforeAll, expect, test } from "vitest";
import { millis } from "../core/ids.ts";
import { createSelfSigned } from "../pki/self-signed.ts";
import { certificateSha256 } from "./pinned-tls.ts";
import { TcpConnection, type TcpListener } from "./tcp.ts";

type Made = Awaited<ReturnType<typeof createSelfSigned>>;

const make = (): Promise<Made> => {
  const now = millis(Date.now());
  return createSelfSigned({ commonName: "x", names: [{ kind: "dns", value: "x" }], now, lifetime: millis(86_400_000) });
};
let own: Made;
let other: Made;
beforeAll(async () => {
  [own, other] = await Promise.all([make(), make()]);
});

const servers: Server[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
});

/** Answers each byte with one. */
async function serve(heard: string[]): Promise<number> {
  const server = createServer({ cert: own.certificate, key: own.key }, (socket) => {
    socket.on("error", () => undefined);
    socket.on("data", (data) => {
      heard.push(data.toString());
      socket.end(data);
    });
  });
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** What a connection to it said, in words, when it is over. */
function talk(port: number, tlsSha256: string): Promise<readonly string[]> {
  const said: string[] = [];
  return new Promise((resolve) => {
    const listener: TcpListener = {
      onConnect: () => said.push("connected"),
      onData: (shared, length) => said.push(`data ${shared.toString("latin1", 0, length)}`),
      onEnd: () => undefined,
      onClose: (code) => {
        resolve([...said, `closed ${code ?? ""}`.trim()]);
      },
    };
    const connection = new TcpConnection({ host: "127.0.0.1", port, tlsSha256 }, listener);
    connection.send("key ", [Buffer.from("secret")]);
  });
}

test("the server that has the certificate hears what was sent before it had shown it", async () => {
  const heard: string[] = [];
  const port = await serve(heard);
  const said = await talk(port, certificateSha256(own.der));
  expect(said).toEqual(["connected", "data key secret", "closed"]);
  expect(heard).toEqual(["key secret"]);
});

test("one that shows another certificate hears nothing, and the reason is in words", async () => {
  const heard: string[] = [];
  const port = await serve(heard);
  const said = await talk(port, certificateSha256(other.der));
  expect(said).toEqual([expect.stringMatching(/^closed it shows another TLS certificate than the one .* nothing was/)]);
  expect(heard).toEqual([]);
});

test("one without TLS is no such server", async () => {
  const server = createPlain((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")).listen(0, "127.0.0.1");
  await once(server, "listening");
  const said = await talk((server.address() as AddressInfo).port, certificateSha256(own.der));
  server.close();
  expect(said).toEqual([expect.stringMatching(/^closed ERR_SSL/)]);
});
