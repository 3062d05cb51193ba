import { describe, expect, test } from "vitest";
import { MIB, seeded, sha256Of, TWELVE, TWELVE_SHA, useDownloads } from "../../../test/fakes/download-fixture.ts";
import { serveContent } from "../../../test/fakes/file-server.ts";

const fix = useDownloads();

describe("B59 an error page does not become the model", () => {
  test.each([401, 403])("%i is auth: asked once, nothing left, the token not told", async (status) => {
    const server = await fix.serve((_request, response) => {
      response.writeHead(status, { "content-type": "application/json" }).end('{"error":"restricted"}');
    });
    const headers = { authorization: "Bearer hf_secret" };
    const got = await fix.downloader().file({ url: `${server.origin}/org/gated/f`, target: fix.target(), headers });
    expect(got).toMatchObject({ ok: false, error: { kind: "auth" } });
    expect(got.ok ? "" : got.error.message).toContain("/org/gated/f");
    expect(JSON.stringify(got)).not.toContain("hf_secret");
    expect(server.requests).toHaveLength(1);
    expect(await fix.filesLeft()).toEqual([]);
  });

  test.each([
    { name: "where 4 GiB were announced", known: { bytes: 4 * 1024 * MIB }, kind: "checksum" },
    { name: "where nothing is known", known: {}, kind: "http" },
    { name: "where a hash is known", known: { sha256: TWELVE_SHA }, kind: "checksum" },
  ])("a login page with status 200 $name is refused", async ({ known, kind }) => {
    const server = await fix.serve((_request, response) => {
      response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end("<html>".padEnd(1200));
    });
    const got = await fix.downloader().file({ url: `${server.origin}/f`, target: fix.target(), ...known });
    expect(got).toMatchObject({ ok: false, error: { kind } });
    expect(await fix.filesLeft()).toEqual([]);
  });
});

describe("redirects", () => {
  test("lead to other hosts, the token does not", async () => {
    const cdn = await fix.serve((request, response) => {
      serveContent(request, response, { bytes: TWELVE });
    });
    const hub = await fix.serve((_request, response) => {
      response.writeHead(302, { location: `${cdn.origin}/signed?sig=secret` }).end();
    });
    const headers = { authorization: "Bearer hf_secret", cookie: "a=b" };
    const got = await fix.downloader().file({ url: `${hub.origin}/f`, target: fix.target(), headers });
    expect(got.ok).toBe(true);
    expect(hub.requests[0]?.headers).toMatchObject(headers);
    expect(cdn.requests[0]?.headers).not.toHaveProperty("authorization");
    expect(cdn.requests[0]?.headers).not.toHaveProperty("cookie");
  });

  test("to a signed address that expires are asked for again, and the download goes on", async () => {
    const content = { bytes: seeded(40 * MIB), etag: '"v1"' };
    let valid = 0;
    const cdn = await fix.serve((request, response) => {
      const isValid = request.url === `/signed?n=${String(valid)}`;
      // Each address is good for two ranges.
      if (isValid && cdn.requests.filter(({ path }) => path === request.url).length <= 2) {
        serveContent(request, response, content);
      } else {
        response.writeHead(403).end("<Error>expired</Error>");
      }
    });
    const hub = await fix.serve((_request, response) => {
      valid += 1;
      response.writeHead(302, { location: `${cdn.origin}/signed?n=${String(valid)}` }).end();
    });
    const got = await fix
      .downloader({ parts: 2 })
      .file({ url: `${hub.origin}/f`, target: fix.target(), sha256: sha256Of(content.bytes) });
    expect(got).toMatchObject({ ok: true, value: { sha256: sha256Of(content.bytes) } });
    expect(hub.requests.length).toBeGreaterThanOrEqual(3);
  });

  test("in a circle end", async () => {
    const server = await fix.serve((_request, response) => {
      response.writeHead(302, { location: "/f" }).end();
    });
    const got = await fix.downloader().file({ url: `${server.origin}/f`, target: fix.target() });
    expect(got).toMatchObject({ ok: false, error: { kind: "http" } });
  });

  test.each(["file:///etc/passwd", "ftp://h.example/f"])("to %s are refused", async (location) => {
    const server = await fix.serve((_request, response) => {
      response.writeHead(302, { location }).end();
    });
    const got = await fix.downloader().file({ url: `${server.origin}/f`, target: fix.target() });
    expect(got).toMatchObject({ ok: false, error: { kind: "refused" } });
  });
});

describe("a host that wants no more requests", () => {
  test.each([
    { name: "429", status: 429, headers: { "retry-after": "60" } },
    { name: "403 with nothing left", status: 403, headers: { "x-ratelimit-remaining": "0" } },
  ])("B66 $name is not called again before the stated time, by anyone", async ({ status, headers }) => {
    const server = await fix.serve((_request, response) => {
      response.writeHead(status, headers).end();
    });
    const one = fix.downloader();
    const before = Date.now();
    const answers = [
      await one.text({ url: `${server.origin}/a` }),
      await one.text({ url: `${server.origin}/b` }),
      await one.file({ url: `${server.origin}/c`, target: fix.target() }),
    ];
    for (const answer of answers) {
      expect(answer).toMatchObject({ ok: false, error: { kind: "rate-limited" } });
      if (!answer.ok && answer.error.kind === "rate-limited") {
        expect(answer.error.retryAt).toBeGreaterThanOrEqual(before + 59_000);
      }
    }
    expect(server.requests).toHaveLength(1);
  });

  test("for a moment only is waited for", async () => {
    const server = await fix.serve((request, response, number) => {
      if (number === 1) response.writeHead(429, { "retry-after": "0" }).end();
      else serveContent(request, response, { bytes: TWELVE });
    });
    expect(await fix.downloader().file({ url: `${server.origin}/f`, target: fix.target() })).toMatchObject({
      ok: true,
    });
  });
});

describe("proxies", () => {
  test("B41 downloads go through HTTP_PROXY, but not to what NO_PROXY names", async () => {
    const seen: string[] = [];
    const proxy = await fix.serve((request, response) => {
      seen.push(request.url ?? "");
      serveContent(request, response, { bytes: TWELVE });
    });
    const direct = await fix.serve((request, response) => {
      serveContent(request, response, { bytes: TWELVE });
    });
    const env = { HTTP_PROXY: proxy.origin, NO_PROXY: direct.origin.replace("http://", "") };
    const one = fix.downloader({ env });
    expect(await one.file({ url: "http://files.invalid/f", target: fix.target() })).toMatchObject({ ok: true });
    expect(await one.file({ url: `${direct.origin}/f`, target: `${fix.target()}2` })).toMatchObject({ ok: true });
    expect(seen).toEqual(["http://files.invalid/f"]);
    expect(direct.requests).toHaveLength(1);
  });
});

describe("text", () => {
  test("any status is an answer, and what may pass by itself is tried again", async () => {
    const server = await fix.serve((request, response, number) => {
      if (request.url === "/gated") response.writeHead(401, { "x-error-code": "GatedRepo" }).end("no");
      else if (number === 1) response.writeHead(503).end();
      else response.writeHead(200, { "x-repo-commit": "abc" }).end("hello");
    });
    const one = fix.downloader();
    expect(await one.text({ url: `${server.origin}/x` })).toMatchObject({
      ok: true,
      value: { status: 200, body: "hello", headers: { "x-repo-commit": "abc" } },
    });
    expect(await one.text({ url: `${server.origin}/gated` })).toMatchObject({
      ok: true,
      value: { status: 401, headers: { "x-error-code": "GatedRepo" } },
    });
  });

  test("a redirect to another host can be the answer itself", async () => {
    const server = await fix.serve((request, response) => {
      if (request.url === "/old") response.writeHead(307, { location: "/new" }).end();
      else response.writeHead(302, { location: "http://cdn.invalid/x", "x-linked-size": "12" }).end();
    });
    const got = await fix.downloader().text({ url: `${server.origin}/old`, method: "HEAD", follow: "same-origin" });
    expect(got).toMatchObject({ ok: true, value: { status: 302, headers: { "x-linked-size": "12" } } });
  });

  test.each([
    { name: "nobody listens", url: "http://127.0.0.1:9/x", kind: "network" },
    { name: "the name does not exist", url: "http://host.invalid/x", kind: "network" },
    { name: "no address at all", url: "::", kind: "refused" },
  ])("$name: said in words", async ({ url, kind }) => {
    const got = await fix.downloader().text({ url });
    expect(got).toMatchObject({ ok: false, error: { kind } });
    expect(got.ok ? "" : got.error.message).not.toContain("undefined");
  });
});
