import { createServer as createPlain } from "node:net";
import { connect, createServer, type TlsOptions } from "node:tls";
import { beforeAll, describe, expect, test } from "vitest";
import { DAY, issuing, type Issuing } from "../../test/fakes/issuing.ts";
import { millis } from "../core/ids.ts";
import type { Issued } from "./make.ts";
import { troubleWithClient, troubleWithServer, withOwnClock } from "./tls-words.ts";

const now = millis(Date.now());
let ours: Issuing;
let other: Issuing;

beforeAll(async () => {
  ours = await issuing(now);
  other = await issuing(now);
});

/** How a client's try to connect to the server fails. */
async function failure(server: TlsOptions | "plain", trusted: Issued): Promise<unknown> {
  const listening =
    server === "plain"
      ? createPlain((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"))
      : createServer(server).on("tlsClientError", () => undefined);
  await new Promise<void>((resolve) => listening.listen(0, "127.0.0.1", resolve));
  const address = listening.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  try {
    return await new Promise((resolve) => {
      const socket = connect({ host: "127.0.0.1", port, ca: trusted.certificate, servername: "cp.example" });
      socket.once("error", resolve).once("secureConnect", () => {
        socket.destroy();
        resolve(undefined);
      });
    });
  } finally {
    listening.close();
  }
}

const server = async (by: Issuing, changes = {}): Promise<TlsOptions> => {
  const names = [{ kind: "dns", value: "cp.example" }] as const;
  const { certificate, key } = await by.leaf("cp.example", { names, usage: "server", ...changes });
  return { cert: certificate, key };
};

describe("what a client says of a server", () => {
  test.each<{ readonly name: string; readonly serve: () => Promise<TlsOptions | "plain">; readonly why: RegExp }>([
    {
      name: "another authority's",
      serve: () => server(other),
      why: /not of an authority that this machine trusts: is tls\.ca/,
    },
    {
      name: "one that is over",
      serve: () => server(ours, { now: millis(now - 900 * DAY) }),
      why: /has expired, and this machine's clock says 20\d\d-/,
    },
    {
      name: "one from the future",
      serve: () => server(ours, { notBefore: millis(now + DAY) }),
      why: /is not valid yet, and this machine's clock says .*: is the clock right/,
    },
    {
      name: "another name's",
      serve: () => server(ours, { names: [{ kind: "dns", value: "other.example" }] }),
      why: /does not carry the name that it was called by \(.*cp\.example.*other\.example/,
    },
    { name: "a node's", serve: () => server(ours, { usage: "client" }), why: /is not one for servers/ },
    { name: "no TLS at all", serve: () => Promise.resolve("plain"), why: /does not speak https there: write http:/ },
  ])("$name", async ({ serve, why }) => {
    const error = await failure(await serve(), ours.texts);
    expect(troubleWithServer(new Error("wrapped", { cause: error }), now)).toMatch(why);
  });

  test("nothing, when TLS is not the trouble", async () => {
    expect(await failure(await server(ours), ours.texts)).toBeUndefined();
    expect(troubleWithServer(Object.assign(new Error("refused"), { code: "ECONNREFUSED" }), now)).toBeUndefined();
    expect(troubleWithServer(undefined, now)).toBeUndefined();
  });
});

test.each([
  ["ssl/tls alert unknown ca", /does not trust this server's certificate/],
  ["ERR_SSL_TLSV1_ALERT_UNKNOWN_CA", /does not trust this server's certificate/],
  ["sslv3 alert certificate expired", /finds this server's certificate expired/],
  ["ERR_SSL_HTTP_REQUEST", /speaks plain http to this https port/],
  ["ERR_SSL_UNSUPPORTED_PROTOCOL", /older than 1\.2/],
])("what a server says of a client: %s", (words, want) => {
  expect(troubleWithClient(new Error(words))).toMatch(want);
  expect(troubleWithClient({ code: words })).toMatch(want);
});

test("what is of no use is not told", () => {
  expect(troubleWithClient(new Error("read ECONNRESET"))).toBeUndefined();
});

test("one's own clock stands beside the other's", () => {
  expect(withOwnClock("the control plane's clock says X", millis(0))).toBe(
    "the control plane's clock says X; this machine's clock says 1970-01-01 00:00:00 UTC",
  );
  expect(withOwnClock("no", now)).toBe("no");
});
